"""Curves of a study as plotly's plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.studies.results import StudyResults
from chasles.studies.summaries import ResponseCurve
from chasles.visual.encoding import plot_text, typed_array
from chasles.visual.panels import COLORS, QUIET, STYLE, axis_name, title_above

Floats = NDArray[np.float64]

_COLUMNS = 3
_PANEL_HEIGHT = 270
_ROW_GAP = 84
_COLUMN_GAP = 0.065
_TITLE = {"size": 13}
_FINE = {"showgrid": True, "gridcolor": "#f3f6f8"}
_LINES = {"gridcolor": "#e8edf1", "zerolinecolor": "#e8edf1", "linecolor": "#c3ccd4"}


@dataclass(frozen=True)
class Diagram:
    """One diagram."""

    title: str
    x_title: str
    curves: dict[str, ResponseCurve]
    markers: bool = False
    logarithmic: bool = False
    ticks: tuple[float, ...] | None = None


def robot_figure(results: StudyResults, robot: str) -> dict[str, Any]:
    """Errors of all controllers on a robot, against each factor and over time, as plotly's plain dictionaries.

    Lines are medians, within the bands lies half of the runs. Lost runs count as the largest error that is drawn.

    Parameters
    ----------
    results
        Results of a study.
    robot
        Title of the robot.

    Returns
    -------
    dict
        With "data" and "layout". One click on a controller in the legend hides it in all diagrams.
    """
    names = results.controllers(robot)
    ceiling = results.study.execution.lost_beyond
    panels = _panels(results, robot, names)
    titles = list(dict.fromkeys(choice.title for choice in results.study.controllers))
    data: list[dict[str, Any]] = []
    for number, panel in enumerate(panels):
        for name in names:
            color = COLORS[titles.index(name) % len(COLORS)]
            style = _style(number, name, titles.index(name))
            data += _band(style, panel, panel.curves[name], color, ceiling, legend=number == 0)
    number = len(panels)
    for name in names:
        color = COLORS[titles.index(name) % len(COLORS)]
        data.append(_distribution(_style(number, name, titles.index(name)), results, robot, name, color, ceiling))
    return {"data": data, "layout": _layout(panels, results, robot, _range(panels, ceiling))}


def _panels(results: StudyResults, robot: str, names: list[str]) -> list[Diagram]:
    panels = []
    for factor, values in results.runs.unknowns.items():
        if np.ptp(values) > 0.0:
            meaning, scale, unit = results.study.shown_unknown(factor)
            curves = {name: _scaled(results.curve(robot, name, factor), scale) for name in names}
            label = f"{meaning} [{unit}]" if unit else meaning
            panels.append(Diagram(plot_text(meaning[:1].upper() + meaning[1:]), plot_text(label), curves))
    rates = results.study.factors.rates
    if len(rates) > 1:
        curves = {name: results.curve(robot, name, "rate") for name in names}
        panels.append(Diagram("Sample rate", "sample rate [Hz]", curves, True, True, rates))
    if len(results.study.factors.delays) > 1:
        curves = {name: results.curve(robot, name, "delay") for name in names}
        panels.append(Diagram("Delay", "delay [sample periods]", curves, True))
    study_robot = results.study.robots[[candidate.title for candidate in results.study.robots].index(robot)]
    duration = study_robot.times[-1] + results.study.execution.rest
    curves = {name: _scaled(results.profile(robot, name), duration) for name in names}
    return [*panels, Diagram("Over time: largest joint error", "time [s]", curves)]


def _scaled(curve: ResponseCurve, scale: float) -> ResponseCurve:
    return ResponseCurve(curve.x * scale, curve.low, curve.median, curve.high, curve.lost)


def _style(number: int, name: str, group: int) -> dict[str, Any]:
    return {
        "name": plot_text(name),
        "legendgroup": str(group),
        "xaxis": axis_name("x", number),
        "yaxis": axis_name("y", number),
        "type": "scatter",
        "mode": "lines",
        "showlegend": False,
    }


def _band(
    style: dict[str, Any], panel: Diagram, curve: ResponseCurve, color: str, ceiling: float, *, legend: bool
) -> list[dict[str, Any]]:
    x = typed_array(curve.x)
    low, median, high = (1e3 * np.minimum(part, ceiling) for part in (curve.low, curve.median, curve.high))
    clear: dict[str, Any] = {"color": color, "width": 0}
    hover = np.stack([low, high, 100.0 * curve.lost], axis=-1)
    line = style | {
        "x": x,
        "y": typed_array(median),
        "line": {"color": color, "width": 2.2},
        "showlegend": legend,
        "customdata": typed_array(hover),
        "hovertemplate": "%{y:.3g} (%{customdata[0]:.3g} … %{customdata[1]:.3g}; %{customdata[2]:.3g} % lost)",
    }
    if panel.markers:
        line |= {"mode": "lines+markers", "marker": {"size": 6}}
    return [
        style | QUIET | {"x": x, "y": typed_array(low), "line": clear},
        style | QUIET | {"x": x, "y": typed_array(high), "line": clear, "fill": "tonexty", "fillcolor": color + "1c"},
        line,
    ]


def _distribution(
    style: dict[str, Any], results: StudyResults, robot: str, name: str, color: str, ceiling: float
) -> dict[str, Any]:
    """Share of the runs whose error is smaller; lost runs never are."""
    errors = np.sort(results.of_pair(robot, name)["rms_error"])
    shares = 100.0 * np.arange(1, len(errors) + 1) / len(errors)
    drawn = np.unique(np.linspace(0, len(errors) - 1, min(len(errors), 200)).round().astype(int))
    drawn = drawn[np.isfinite(errors[drawn])]
    return style | {
        "x": typed_array(1e3 * np.minimum(errors[drawn], ceiling)),
        "y": typed_array(shares[drawn]),
        "line": {"color": color, "width": 2.2},
        "hovertemplate": "%{y:.0f} % of the runs",
    }


def _range(panels: list[Diagram], ceiling: float) -> list[float]:
    """Range of the logarithmic axis of errors, in powers of ten of a thousandth: over all but the time panel."""
    values = np.concatenate(
        [part for panel in panels[:-1] or panels for curve in panel.curves.values() for part in (curve.low, curve.high)]
    )
    errors = np.minimum(values, ceiling)
    errors = errors[np.isfinite(errors) & (errors > 0.0)]
    if not errors.size:
        return [-3.0, 3.0]
    low, high = np.log10(1e3 * errors.min()), np.log10(1e3 * errors.max())
    return [float(low - 0.08), float(max(high, low + 0.5) + 0.08)]


def _layout(panels: list[Diagram], results: StudyResults, robot: str, span: list[float]) -> dict[str, Any]:
    count = len(panels) + 1
    rows = -(-count // _COLUMNS)
    inner = rows * _PANEL_HEIGHT + (rows - 1) * _ROW_GAP
    width = (1.0 - (_COLUMNS - 1) * _COLUMN_GAP) / _COLUMNS
    unit = "m" + results.unit(robot)
    layout: dict[str, Any] = {
        "height": inner + 152,
        "margin": {"l": 56, "r": 12, "t": 94, "b": 58},
        **STYLE,
        "legend": {
            "groupclick": "togglegroup",
            "orientation": "h",
            "x": 0,
            "y": 1.0 + 40.0 / inner,
            "yanchor": "bottom",
            "font": {"size": 13},
        },
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#b3bec8", "activecolor": "#0f6fb4"},
        "annotations": [],
    }
    for number in range(count):
        row, column = divmod(number, _COLUMNS)
        left = column * (width + _COLUMN_GAP)
        top = 1.0 - row * (_PANEL_HEIGHT + _ROW_GAP) / inner
        panel = panels[number] if number < len(panels) else None
        title = panel.title if panel else "Distribution over the runs"
        x_title = panel.x_title if panel else f"RMS joint error [{unit}]"
        x_axis: dict[str, Any] = _LINES | {
            "anchor": axis_name("y", number),
            "domain": [left, left + width],
            "title": {"text": x_title, "standoff": 6, "font": _TITLE},
            "hoverformat": ".4g",
        }
        if panel is None:
            x_axis |= {
                "type": "log",
                "range": span,
                "dtick": 1,
                "tickformat": "~g",
                "minor": _FINE,
            }
        elif panel.logarithmic:
            ticks = list(panel.ticks or ())
            x_axis |= {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
        y_axis: dict[str, Any] = _LINES | {
            "anchor": axis_name("x", number),
            "domain": [max(0.0, top - _PANEL_HEIGHT / inner), top],
        }
        if panel is None:
            y_axis |= {"range": [0, 101], "title": {"text": "runs with less [%]", "standoff": 4, "font": _TITLE}}
        else:
            y_axis |= {"type": "log", "dtick": 1, "tickformat": "~g"}
            y_axis |= {"minor": _FINE}
            y_axis |= {"title": {"text": f"[{unit}]", "standoff": 4, "font": _TITLE}}
            if number < len(panels) - 1:
                y_axis |= {"range": span}
            else:
                y_axis |= {"range": [span[0] - 0.5, min(span[1] + 0.4, 3.1)]}
        layout["xaxis" + axis_name("x", number)[1:]] = x_axis
        layout["yaxis" + axis_name("y", number)[1:]] = y_axis
        layout["annotations"].append(title_above(f"<b>{title}</b>", left, top))
    return layout
