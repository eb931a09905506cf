"""HTML page of an identification: predictions, residuals, parameters, friction and recommendations."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.base.findings import Weight, of_weight, text
from chasles.identification import Identification, Prediction, WrenchIdentification
from chasles.identification.identification import ERRORS
from chasles.identification.wrench_identification import ROWS
from chasles.visual.encoding import embedded_json, plot_text, shown_unit, typed_array
from chasles.visual.page import write_page
from chasles.visual.panels import COLORS, Panel, axis_name, drawn_samples, line_style, panel_layout
from chasles.visual.tables import quantity, table

MOST_POINTS = 1500
"""Number of samples in a plotted curve."""
BINS = 41
_MEASURED, _MODEL, _PRIOR, _DOTS = "#22303c", COLORS[0], COLORS[1], "#b7c2cc"

# Draws the figures of the page, one below another; on narrow pages their panels stand in one column.
_SCRIPT = """
function stacked(layout) {
  const axes = Object.keys(layout).filter(name => name.startsWith("yaxis"));
  const { t, b } = layout.margin, panel = 190, gap = layout.xaxis.showticklabels ? 64 : 42;
  const inner = axes.length * panel + (axes.length - 1) * gap;
  axes.forEach((name, row) => {
    const x = layout[name.replace("y", "x")], top = 1 - row * (panel + gap) / inner;
    x.domain = [0, 1];
    layout[name].domain = [Math.max(0, top - panel / inner), top];
    if (row < axes.length - 1) Object.assign(x, { showticklabels: gap > 42, title: null });
    Object.assign(layout.annotations[row], { x: 0, y: top });
  });
  layout.height = inner + t + b;
  layout.margin.l = 46;
}

for (const place of document.querySelectorAll(".identification-plot")) {
  const figure = JSON.parse(place.nextElementSibling.textContent);
  if (place.clientWidth < 640) stacked(figure.layout);
  drawPlot(place, figure, "chasles-identification");
}
"""
_STYLE = """
html { overflow-y: scroll; }
.facts li { overflow-wrap: anywhere; }
.plots.wide > div { min-width: 0; }
"""


@verbs.report.register(Identification)
def write_identification_report(
    result: Identification, path: str | PathLike[str], title: str = "Identification"
) -> Path:
    """Write a self-contained HTML page about an identification.

    Parameters
    ----------
    result
        Result of `chasles.identify`.
    path
        File to write; its folder must exist.
    title
        Title of the page.

    Returns
    -------
    Path
        Absolute path of the file.

    Raises
    ------
    MissingExtraError
        Plotly is not installed; the page contains its plotting code.
    ArgumentError
        The file cannot be written.
    """
    sections = [
        _facts(result),
        "<h2>Prediction of unseen data</h2>",
        _errors(result),
        _figure(_torques(result)),
        "<h2>Residuals of the model on unseen data</h2>",
        _figure(_spectra(result)),
        _figure(_histograms(result)),
        "<h2>Friction</h2>",
        _figure(_friction(result)),
        "<h2>Masses</h2>",
        _masses(result),
        "<h2>Parameters</h2>",
        _parameters(result),
        "<h2>Recommendations</h2>",
        _list(_sentences(result, "refusal", "caution") or ["Nothing to remark."]),
    ]
    return write_page(path, title, "<section>" + "\n".join(sections) + "</section>", scripts=[_SCRIPT], style=_STYLE)


@verbs.report.register(WrenchIdentification)
def write_wrench_report(
    result: WrenchIdentification, path: str | PathLike[str], title: str = "Identification from wrenches"
) -> Path:
    """Write a self-contained HTML page about an identification from external wrenches.

    Parameters
    ----------
    result
        Result of `chasles.identification.identify_from_wrenches`.
    path
        File to write; its folder must exist.
    title
        Title of the page.

    Returns
    -------
    Path
        Absolute path of the file.
    """
    training, shares = result.training, result.training.relative()
    sizes = np.sqrt(np.mean(training.measured**2, axis=0))
    body = [
        [name, quantity(float(size), unit), *(quantity(100.0 * float(share), "%") for share in (error, noise / size))]
        for (name, unit), size, error, noise in zip(ROWS.items(), sizes, shares, result.noise, strict=True)
    ]
    head = ["component", "RMS", "error of the model", "noise floor"]
    mass, deviation = result.mass
    determined = sum(parameter.determined for parameter in result.parameters)
    facts = {
        "robot": result.robot.name,
        "cut-off of the fit": f"{result.cutoff.frequency:.3g} Hz",
        "mass": f"{mass:.4g} kg, standard error {deviation:.2g} kg",
        "parameters determined": f"{determined} of {len(result.parameters)}",
    }
    panels = [Panel("wrench", name, unit, 1.0, (k,)) for k, (name, unit) in enumerate(ROWS.items())]
    sections = [
        _listed(facts),
        "<h2>External wrench, about the mean place of the base</h2>",
        f'<div class="table">{table(head, body)}</div>',
        _figure(_predicted(panels, {"identified model": (training, _MODEL)})),
        "<h2>Masses</h2>",
        _masses(result),
        "<h2>Parameters</h2>",
        _parameters(result),
        "<h2>Recommendations</h2>",
        _list(_sentences(result, "refusal", "caution") or ["Nothing to remark."]),
    ]
    return write_page(path, title, "<section>" + "\n".join(sections) + "</section>", scripts=[_SCRIPT], style=_STYLE)


def _facts(result: Identification) -> str:
    determined = sum(parameter.determined for parameter in result.parameters)
    facts = {
        "robot": result.robot.name,
        "log": result.log.name,
        "samples": f"{len(result.log.time):,} in {result.log.duration:.4g} s",
        "cut-off of the fit": f"{result.signals.cutoff.frequency:.3g} Hz",
        "errors below": f"{result.band:.3g} Hz",
        "moving mass": "{:.3g} kg (prior {:.3g} kg)".format(*np.sum(list(result.masses.values()), axis=0)[::-1]),
        "condition number": f"{result.condition:.3g}",
        "parameters determined": f"{determined} of {len(result.parameters)}",
    }
    return _listed(facts) + _list(_sentences(result, "note"))


def _listed(facts: Mapping[str, str]) -> str:
    items = "".join(f"<li>{name} <b>{html.escape(fact)}</b></li>" for name, fact in facts.items())
    return f'<ul class="facts">{items}</ul>'


def _sentences(result: Identification | WrenchIdentification, *weights: Weight) -> list[str]:
    return [text([finding]) for finding in of_weight(result.findings, *weights)]


def _list(sentences: Sequence[str]) -> str:
    return "".join(f'<p class="words">{html.escape(text)}</p>' for text in sentences)


def _errors(result: Identification) -> str:
    body = [
        [
            html.escape(one.joint),
            quantity(one.effort, one.unit),
            *(quantity(100.0 * share, "%") for share in one.shares),
            quantity(one.largest, one.unit),
            quantity(one.resting, one.unit),
        ]
        for one in result.unseen_errors()
    ]
    head = ["joint", "RMS effort, moving", *(f"{name} error" for name in ERRORS)]
    return f'<div class="table">{table(head, body)}</div>'


def _masses(result: Identification | WrenchIdentification) -> str:
    body = [
        [html.escape(link), quantity(before, "kg"), quantity(now, "kg")]
        for link, (before, now) in result.masses.items()
    ]
    return f'<div class="table">{table(["body", "prior", "identified"], body)}</div>'


def _parameters(result: Identification | WrenchIdentification) -> str:
    head = ["parameter", "estimate", "95 % interval", "prior", "determined"]
    body = [
        [
            html.escape(parameter.name),
            f"{parameter.value:.4g}",
            f"{parameter.interval[0]:.4g} … {parameter.interval[1]:.4g}",
            "–" if np.isnan(parameter.prior) else f"{parameter.prior:.4g}",
            "yes" if parameter.determined else "no",
        ]
        for parameter in result.parameters
    ]
    return f'<div class="table">{table(head, body)}</div>'


def _figure(figure: dict[str, Any]) -> str:
    container = '<div class="plots wide"><div class="identification-plot"></div>'
    return f'{container}<script type="application/json">{embedded_json(figure)}</script></div>'


def _panels(result: Identification, title: str, unit: str = "") -> list[Panel]:
    return [
        Panel(title, plot_text(name), unit or shown_unit(si_unit), 1.0, (k,))
        for k, (name, si_unit) in enumerate(
            zip(result.robot.velocity_names, result.robot.description.effort_units, strict=True)
        )
    ]


def _line(
    panel: Panel, number: int, name: str, x: NDArray[np.float64], y: NDArray[np.float64], color: str, width: float = 1.6
) -> dict[str, Any]:
    style = line_style(panel, number, name, 0, legend=number == 0) | {"legendgroup": name}
    return style | {"x": typed_array(x), "y": typed_array(y), "line": {"color": color, "width": width}}


def _times(prediction: Prediction) -> NDArray[np.float64]:
    """Times of a prediction's samples, shape (k,), s; their numbers where it has none."""
    return np.arange(len(prediction.measured), dtype=np.float64) if prediction.time is None else prediction.time


def _torques(result: Identification) -> dict[str, Any]:
    """Return plots of measured and predicted efforts over the unseen part of the log."""
    model, prior = (result.predictions[name, "unseen"] for name in ("model", "prior"))
    return _predicted(_panels(result, "effort"), {"prior model": (prior, _PRIOR), "identified model": (model, _MODEL)})


def _predicted(panels: Sequence[Panel], predictions: Mapping[str, tuple[Prediction, str]]) -> dict[str, Any]:
    """Return plots of measured values and of predictions, each with its colour."""
    measured = next(iter(predictions.values()))[0]
    rows = drawn_samples(len(measured.measured), MOST_POINTS)
    time = _times(measured)[rows]
    data = []
    for k, panel in enumerate(panels):
        data += [_line(panel, k, "measured", time, measured.measured[rows, k], _MEASURED, 2.2)]
        data += [
            _line(panel, k, name, time, one.predicted[rows, k], color) for name, (one, color) in predictions.items()
        ]
    return {"data": data, "layout": panel_layout(panels, float(time[0]), float(time[-1]), columns=2)}


def _spectra(result: Identification) -> dict[str, Any]:
    """Return amplitude spectra of measured efforts and residuals."""
    panels = _panels(result, "spectrum")
    model = result.predictions["model", "unseen"]
    step = float(np.median(np.diff(_times(model))))
    window = np.hanning(len(model.measured))[:, None]
    frequency = np.asarray(np.fft.rfftfreq(len(model.measured), step)[1:], dtype=np.float64)
    size = [
        np.asarray(2.0 * np.abs(np.fft.rfft(signal * window, axis=0))[1:] / window.sum(), dtype=np.float64)
        for signal in (model.measured, model.measured - model.predicted)
    ]
    rows = drawn_samples(len(frequency), MOST_POINTS)
    data = []
    for k, panel in enumerate(panels):
        data += [
            _line(panel, k, "measured", frequency[rows], size[0][rows, k], _MEASURED, 1.2),
            _line(panel, k, "residual", frequency[rows], size[1][rows, k], _MODEL),
        ]
    layout = panel_layout(panels, float(frequency[0]), float(frequency[-1]), columns=2)
    return {"data": data, "layout": _titled(layout, panels, "frequency [Hz]", log_y=True)}


def _histograms(result: Identification) -> dict[str, Any]:
    """Return histograms of residuals over their standard deviation, with the normal distribution."""
    panels = _panels(result, "residuals", "density")
    model = result.predictions["model", "unseen"]
    edges = np.linspace(-4.0, 4.0, BINS + 1)
    middle = 0.5 * (edges[1:] + edges[:-1])
    bell = np.exp(-0.5 * middle**2) / np.sqrt(2.0 * np.pi)
    data = []
    for k, panel in enumerate(panels):
        error = (model.predicted - model.measured)[model.moving[:, k], k]
        deviation = float(np.std(error)) if error.size else 0.0
        counts = np.zeros(BINS)
        if deviation:
            counts = np.histogram(error / deviation, edges)[0] / (error.size * (edges[1] - edges[0]))
        bars = _line(panel, k, "residuals", middle, counts, _MODEL) | {"type": "bar", "marker": {"color": _MODEL}}
        data += [{key: value for key, value in bars.items() if key not in ("mode", "line")}]
        data += [_line(panel, k, "normal distribution", middle, bell, _MEASURED, 1.4)]
    layout = panel_layout(panels, -4.0, 4.0, columns=2)
    return {"data": data, "layout": _titled(layout, panels, "residual / standard deviation")}


def _friction(result: Identification) -> dict[str, Any]:
    """Return the motors' friction curves without load, with what measured efforts leave beside all other torques."""
    panels = _panels(result, "friction")
    signals, terms, coupling = result.signals, result.terms, result.log.coupling
    chosen = signals.kept()[drawn_samples(len(signals.kept()), MOST_POINTS)]
    rates = signals.qd[chosen] @ coupling.T
    smooth = result.model.with_friction(viscous=0.0, coulomb=0.0)
    bodies = np.asarray(smooth.inverse_dynamics(signals.configuration[chosen], signals.qd[chosen], signals.qdd[chosen]))
    rest = np.asarray(np.linalg.solve(coupling.T, (signals.effort[chosen] - bodies).T).T, dtype=np.float64)
    data = []
    span = np.abs(rates).max(axis=0)
    grid = np.linspace(-1.0, 1.0, 201)[:, None] * span
    coefficients = result.values[-len(terms.names) * len(span) :].reshape(len(span), -1)
    odd = 1 + terms.transitions.shape[1]
    columns = terms.columns(grid, np.zeros_like(grid), np.zeros_like(grid))
    curves = np.sum(columns[..., :odd] * coefficients[:, :odd], axis=2)
    for k, panel in enumerate(panels):
        dots = _line(panel, k, "measured less bodies and load", rates[:, k], rest[:, k], _DOTS)
        data += [
            dots | {"mode": "markers", "marker": {"size": 3, "color": _DOTS}},
            _line(panel, k, "friction of the model", grid[:, k], curves[:, k], _MODEL, 2.2),
        ]
    largest = float(span.max(initial=1e-9))
    layout = panel_layout(panels, -largest, largest, columns=2)
    for k in range(len(panels)):
        axis = layout["xaxis" + axis_name("x", k)[1:]]
        axis.pop("matches", None)
        axis["range"] = [-float(span[k]), float(span[k])]
        axis["showticklabels"] = True
    return {"data": data, "layout": _titled(layout, panels, "rate [rad/s or m/s]")}


def _titled(layout: dict[str, Any], panels: Sequence[Panel], text: str, *, log_y: bool = False) -> dict[str, Any]:
    """Replace the titles of the time axes, and make the vertical axes logarithmic."""
    for k in range(len(panels)):
        axis = layout["xaxis" + axis_name("x", k)[1:]]
        axis["hoverformat"] = ".3g"
        if axis.get("title"):
            axis["title"] = {"text": text}
        if log_y:
            layout["yaxis" + axis_name("y", k)[1:]]["type"] = "log"
    return layout
