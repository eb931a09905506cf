"""Figures of runs as plotly's plain dictionaries: what notebooks show and reports embed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.visual.encoding import plot_text, typed_array
from chasles.visual.summary import by_run, joint_units, require_run

if TYPE_CHECKING:
    import xarray

COLORS = ("#0f6fb4", "#e07b00", "#1f9d6b", "#b0468f", "#c2402f", "#7a68c9", "#8a6d3b", "#2aa7c4", "#6b7785", "#a3a300")
_SAMPLES = 4000  # drawn of each line of a single run
_SAMPLES_OF_BATCH = 300
_QUIET: dict[str, Any] = {"hoverinfo": "skip", "hovertemplate": None, "showlegend": False}
_PANEL_HEIGHT = 230
_GAP = 46


@dataclass(frozen=True)
class _Panel:
    """One diagram: some joints of one variable, in the unit that reads best."""

    variable: str
    title: str
    unit: str
    scale: float
    joints: tuple[int, ...]


def tracking_figure(run: xarray.Dataset) -> dict[str, Any]:
    """Positions with their reference, tracking errors and torques over time, as a plotly figure in plain dictionaries.

    A batch shows the band between the lowest and the highest of all runs and the lines of some (see `shown_runs`).

    Parameters
    ----------
    run
        Result of `chasles.simulate`.

    Returns
    -------
    dict
        With "data" and "layout". One click on a joint's name in the legend hides it in all diagrams.

    Raises
    ------
    ArgumentError
        The dataset is no such result.
    """
    require_run(run)
    panels = _panels(joint_units(run))
    names = [plot_text(str(name)) for name in run["joint"].values]
    data: list[dict[str, Any]] = []
    for number, panel in enumerate(panels):
        lines = _batch_lines if by_run(run, "q").shape[0] > 1 else _single_lines
        for joint in panel.joints:
            style = {
                "name": names[joint],
                "legendgroup": str(joint),
                "xaxis": _axis("x", number),
                "yaxis": _axis("y", number),
                "type": "scatter",
                "mode": "lines",
                "showlegend": panel.variable == "q",
                "hovertemplate": "%{y:.4g} " + panel.unit,
            }
            data.extend(lines(run, panel, joint, style, COLORS[joint % len(COLORS)]))
    return {"data": data, "layout": _layout(panels, float(run["time"].values[0]), float(run["time"].values[-1]))}


def _panels(units: Sequence[str]) -> list[_Panel]:
    panels = []
    for variable, per_unit in (
        ("q", {"rad": ("Joint angle", "rad", 1.0), "m": ("Joint travel", "m", 1.0)}),
        ("error", {"rad": ("Tracking error", "mrad", 1e3), "m": ("Tracking error", "mm", 1e3)}),
        ("tau", {"rad": ("Torque", "N m", 1.0), "m": ("Force", "N", 1.0)}),
    ):
        for unit, (title, shown, scale) in per_unit.items():
            joints = tuple(k for k, own in enumerate(units) if own == unit)
            if joints:
                panels.append(_Panel(variable, title, shown, scale, joints))
    return panels


def _single_lines(
    run: xarray.Dataset, panel: _Panel, joint: int, style: dict[str, Any], color: str
) -> list[dict[str, Any]]:
    samples = _drawn_samples(run.sizes["time"], _SAMPLES)
    x = typed_array(run["time"].values[samples])
    y = by_run(run, panel.variable)[0, samples, joint] * panel.scale
    traces = [style | {"x": x, "y": typed_array(y), "line": {"color": color, "width": 1.8}}]
    if panel.variable == "q":
        reference = by_run(run, "q_reference")[0, samples, joint] * panel.scale
        traces.append(_reference_line(style, x, reference, color))
    return traces


def _reference_line(style: dict[str, Any], x: Any, reference: NDArray[np.float64], color: str) -> dict[str, Any]:
    dashed = {"color": color, "width": 1.4, "dash": "dash"}
    return style | _QUIET | {"x": x, "y": typed_array(reference), "line": dashed, "opacity": 0.75}


def _batch_lines(
    run: xarray.Dataset, panel: _Panel, joint: int, style: dict[str, Any], color: str
) -> list[dict[str, Any]]:
    samples = _drawn_samples(run.sizes["time"], _SAMPLES_OF_BATCH)
    time = run["time"].values[samples]
    values = by_run(run, panel.variable)[:, samples, joint] * panel.scale
    some = values[shown_runs(len(values))]
    gap = np.full((len(some), 1), np.nan)
    lines = np.concatenate([some, gap], axis=1).ravel()
    times = typed_array(np.tile(np.append(time, np.nan), len(some)))
    lowest, highest = np.fmin.reduce(values), np.fmax.reduce(values)
    x = typed_array(time)
    clear, band, thin = {"color": color, "width": 0}, color + "26", {"color": color, "width": 1}
    traces = [
        style | _QUIET | {"x": x, "y": typed_array(lowest), "line": clear},
        style | _QUIET | {"x": x, "y": typed_array(highest), "line": clear, "fill": "tonexty", "fillcolor": band},
        style | {"x": times, "y": typed_array(lines), "line": thin, "opacity": 0.6, "showlegend": False},
    ]
    if panel.variable == "q":
        reference = by_run(run, "q_reference")[:, samples, joint] * panel.scale
        if (reference == reference[0]).all():
            traces.append(_reference_line(style, x, reference[0], color))
        # The thin lines would make a faint entry in the legend.
        traces.append(style | {"x": [None], "y": [None], "line": {"color": color, "width": 2}})
    return traces


def _drawn_samples(count: int, limit: int) -> NDArray[np.intp]:
    """Indices of evenly spaced samples, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(np.intp))


def shown_runs(count: int) -> NDArray[np.intp]:
    """Indices of the runs of a batch that are drawn one by one: 20 at most, evenly spaced, with the first and the last.

    Examples
    --------
    >>> shown_runs(3)
    array([0, 1, 2])
    """
    return np.unique(np.linspace(0, count - 1, min(count, 20)).round().astype(np.intp))


def _axis(letter: str, number: int) -> str:
    return letter if number == 0 else f"{letter}{number + 1}"


def _layout(panels: Sequence[_Panel], first: float, last: float) -> dict[str, Any]:
    inner = len(panels) * _PANEL_HEIGHT + (len(panels) - 1) * _GAP
    layout: dict[str, Any] = {
        "height": inner + 86,
        "margin": {"l": 64, "r": 16, "t": 30, "b": 56},
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13, "color": "#33414e"},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "#ffffff",
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "rgba(255,255,255,0.94)", "bordercolor": "#d5dce3", "font": {"size": 12}},
        "legend": {"groupclick": "togglegroup", "tracegroupgap": 2, "font": {"size": 12}},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "#b3bec8", "activecolor": "#0f6fb4"},
        "annotations": [],
    }
    for number, panel in enumerate(panels):
        top = 1.0 - number * (_PANEL_HEIGHT + _GAP) / inner
        bottom = max(0.0, top - _PANEL_HEIGHT / inner)
        is_last = number == len(panels) - 1
        lines = {"gridcolor": "#e8edf1", "zerolinecolor": "#c3ccd4", "linecolor": "#c3ccd4"}
        layout["xaxis" + _axis("x", number)[1:]] = lines | {
            "anchor": _axis("y", number),
            "matches": "x" if number else None,
            "range": [first, last if last > first else first + 1.0],
            "showticklabels": is_last,
            "title": {"text": "time [s]"} if is_last else None,
            "hoverformat": ".3f",
        }
        layout["yaxis" + _axis("y", number)[1:]] = lines | {
            "domain": [bottom, top],
            "anchor": _axis("x", number),
            "exponentformat": "power",
            "title": {"text": f"[{panel.unit}]", "standoff": 6},
        }
        layout["annotations"].append(
            {
                "text": f"<b>{panel.title}</b>" + (" (reference dashed)" if panel.variable == "q" else ""),
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": top,
                "xanchor": "left",
                "yanchor": "bottom",
                "yshift": 3,
                "showarrow": False,
            }
        )
    return layout
