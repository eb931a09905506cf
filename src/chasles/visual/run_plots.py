"""Figures of runs: torque over speed within the limits, phase portraits; and of loops: margins, Bode diagrams."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray

from chasles.base import verbs
from chasles.control import LoopMargins, LoopResponse
from chasles.simulation.metrics import run_robot
from chasles.visual.encoding import as_plotly, plot_text, typed_array
from chasles.visual.panels import COLORS, axis_name, drawn_samples, shown_runs, title_above
from chasles.visual.summary import by_run

_SAMPLES = 1500
_COLUMNS = 3
_PANEL = 230


def torque_speed_figure(run: xarray.Dataset) -> dict[str, Any]:
    """Return torque over speed of each joint, with the box of its limits, in Plotly's plain dictionaries."""
    robot = run_robot(run) if "robot_toml" in run.attrs else None
    names = [str(name) for name in run["velocity"].values] if "velocity" in run.dims else _joints(run)
    figure = _panels(names, "speed", "torque")
    tau, qd = by_run(run, "tau"), by_run(run, "qd")
    for k in range(len(names)):
        for trace in _lines(qd[..., k], tau[..., k], k):
            figure["data"].append(trace)
        if robot is not None and np.isfinite(robot.effort_limits[k]) and np.isfinite(robot.velocity_limits[k]):
            v, most = float(robot.velocity_limits[k]), float(robot.effort_limits[k])
            box = {"x": [-v, v, v, -v, -v], "y": [-most, -most, most, most, -most], "name": "limits"}
            style = {"color": "#c2402f", "width": 1.2, "dash": "dash"}
            figure["data"].append(_placed(k) | box | {"line": style, "showlegend": k == 0})
    return figure


def phase_figure(run: xarray.Dataset) -> dict[str, Any]:
    """Return speed over position of each joint, in Plotly's plain dictionaries."""
    names = _joints(run)
    figure = _panels(names, "position", "speed")
    q, qd = by_run(run, "q"), by_run(run, "qd")
    if q.shape != qd.shape:
        names = names[: min(q.shape[-1], qd.shape[-1])]
    for k in range(len(names)):
        figure["data"].extend(_lines(q[..., k], qd[..., k], k))
    return figure


@verbs.plot.register(LoopMargins)
def margins_plot(margins: LoopMargins) -> Any:
    """Plot disk, gain and phase margins of a loop along a motion."""
    names = ["Disk margin", "Gain margin", "Phase margin"]
    figure = _panels(names, "time [s]", "", columns=1)
    low, high = margins.gain_margin
    lines = [(0, margins.disk, "disk"), (1, high, "largest factor"), (1, low, "least factor")]
    lines.append((2, np.degrees(margins.phase_margin), "phase"))
    for number, (panel, values, name) in enumerate(lines):
        trace = _placed(panel) | {"x": typed_array(margins.time), "y": typed_array(values), "name": name}
        figure["data"].append(trace | {"line": {"color": COLORS[number], "width": 1.8}})
    for panel, unit in enumerate(("α", "factor", "°")):
        drawn = np.concatenate([values for panel_of_line, values, _ in lines if panel_of_line == panel])
        highest = np.max(drawn, where=np.isfinite(drawn), initial=0.0) or 1.0
        axis = figure["layout"]["yaxis" + axis_name("y", panel)[1:]]
        axis |= {"title": {"text": f"[{unit}]"}, "range": [0.0, 1.1 * float(highest)]}  # of margins zero is what counts
    return as_plotly(figure)


@verbs.plot.register(LoopResponse)
def bode_plot(response: LoopResponse) -> Any:
    """Plot magnitude and phase of the loops of all joints over frequency, with their crossings."""
    figure = _panels(["Magnitude", "Phase"], "", "", columns=1)
    for k, name in enumerate(response.names):
        color = {"color": COLORS[k % len(COLORS)], "width": 1.8}
        diagonal = response.response[:, k, k]
        phase = np.degrees(response.phase(k))
        label = plot_text(name)
        for panel, values in enumerate((20.0 * np.log10(np.maximum(np.abs(diagonal), 1e-300)), phase)):
            line = {"x": typed_array(response.frequency), "y": typed_array(values), "name": label, "line": color}
            figure["data"].append(_placed(panel) | line | {"legendgroup": label, "showlegend": panel == 0})
        gain, lag = response.margins(k)
        if np.isfinite(lag):
            figure["data"][-2]["name"] = f"{label}: {20.0 * np.log10(gain):.1f} dB, {np.degrees(lag):.0f}°"
    layout = figure["layout"]
    for panel, unit in enumerate(("dB", "°")):
        layout["yaxis" + axis_name("y", panel)[1:]]["title"] = {"text": f"[{unit}]"}
        layout["xaxis" + axis_name("x", panel)[1:]] |= {
            "type": "log",
            "title": {"text": "frequency [rad/s]"} if panel else None,
        }
    return as_plotly(figure)


def _joints(run: xarray.Dataset) -> list[str]:
    dim = run["q"].dims[-1]
    return [str(name) for name in run[dim].values]


def _placed(panel: int) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "xaxis": axis_name("x", panel), "yaxis": axis_name("y", panel)}


def _lines(x: Any, y: Any, panel: int) -> list[dict[str, Any]]:
    """Return the lines of some runs (run, time), and where each begins."""
    traces = []
    samples = drawn_samples(x.shape[-1], _SAMPLES)
    for number in shown_runs(len(x)):
        color = COLORS[int(number) % len(COLORS)]
        line = {"x": typed_array(x[number][samples]), "y": typed_array(y[number][samples])}
        traces.append(_placed(panel) | line | {"line": {"color": color, "width": 1.4}, "showlegend": False})
    return traces


def _panels(names: list[str], across: str, upward: str, columns: int = _COLUMNS) -> dict[str, Any]:
    """Return empty panels with a title each, row by row."""
    columns = min(columns, max(len(names), 1))
    rows = -(-len(names) // columns)
    width, height = 1.0 / columns, 1.0 / rows
    layout: dict[str, Any] = {
        "height": rows * _PANEL + 60,
        "margin": {"l": 64, "r": 16, "t": 40, "b": 56},
        "template": "plotly_white",
        "annotations": [],
    }
    for number, name in enumerate(names):
        row, column = divmod(number, columns)
        left, top = column * width, 1.0 - row * height
        layout["xaxis" + axis_name("x", number)[1:]] = {
            "domain": [left, left + (0.82 if columns > 1 else 1.0) * width],
            "anchor": axis_name("y", number),
            "title": {"text": across} if row == rows - 1 else None,
        }
        layout["yaxis" + axis_name("y", number)[1:]] = {
            "domain": [top - 0.76 * height, top],
            "anchor": axis_name("x", number),
            "title": {"text": upward} if column == 0 else None,
        }
        layout["annotations"].append(title_above(f"<b>{plot_text(name)}</b>", left, top))
    return {"data": [], "layout": layout}
