"""Figures of runs as plotly's plain dictionaries: what notebooks show and reports embed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.simulation.metrics import pose_errors, run_robot
from chasles.visual.encoding import plot_text, typed_array
from chasles.visual.panels import COLORS, Panel, curves, dashed_line, drawn_samples, line_style, panel_layout
from chasles.visual.summary import by_run, joint_units, require_run

if TYPE_CHECKING:
    import xarray

_SAMPLES = 4000  # drawn of each line of a single run
_SAMPLES_OF_BATCH = 300
_TOOL_COLOR = "#22303c"


def tracking_figure(run: xarray.Dataset) -> dict[str, Any]:
    """Positions with their reference, tracking errors, torques and the tool's error over time, in plain dictionaries.

    A batch shows the band between the lowest and the highest of all runs and, up to 20 runs, their lines, of more the
    median and the band that holds 90 % of them.

    Parameters
    ----------
    run
        Result of `chasles.simulate`. The tool's error is that of the robot in its attributes, if there is one.

    Returns
    -------
    dict
        With "data" and "layout" of a plotly figure. One click on a joint's name in the legend hides it in all diagrams.

    Raises
    ------
    ArgumentError
        The dataset is no such result.
    """
    require_run(run)
    single = by_run(run, "q").shape[0] == 1
    samples = drawn_samples(run.sizes["time"], _SAMPLES if single else _SAMPLES_OF_BATCH)
    times = np.asarray(run["time"].values, dtype=float)
    names = [plot_text(str(name)) for name in run["joint"].values]
    panels = _panels(joint_units(run), by_run(run, "q").shape[0])
    data: list[dict[str, Any]] = []
    for number, panel in enumerate(panels):
        values = by_run(run, panel.variable)[:, samples] * panel.scale
        for joint in panel.lines:
            color = COLORS[joint % len(COLORS)]
            style = line_style(panel, number, names[joint], joint, legend=panel.variable == "q")
            data.extend(curves(style, times[samples], values[..., joint], color))
            if panel.variable == "q":
                data.extend(_reference(style, times[samples], by_run(run, "q_reference")[:, samples, joint], color))
    for name, unit, errors in tool_errors(run, samples):
        panel = Panel(name, f"The tool's error of {name}", unit, 1e3, (0,))
        style = line_style(panel, len(panels), "tool", len(names), legend=name == "position")
        data.extend(curves(style, times[samples], errors * panel.scale, _TOOL_COLOR))
        panels.append(panel)
    return {"data": data, "layout": panel_layout(panels, float(times[0]), float(times[-1]))}


def tool_errors(run: xarray.Dataset, samples: NDArray[np.intp]) -> list[tuple[str, str, NDArray[np.float64]]]:
    """Name, unit to draw in, and errors (runs, samples) in m or rad, of the tool's position and orientation."""
    if "robot_toml" not in run.attrs or not np.isfinite(run["q_reference"].values).any():
        return []
    q, q_reference = (by_run(run, name)[:, samples] for name in ("q", "q_reference"))
    with np.errstate(all="ignore"):  # of numbers that are not finite, which make gaps
        distance, angle = pose_errors(run_robot(run), q, q_reference)
    return [("position", "mm", distance), ("orientation", "mrad", angle)]


def _panels(units: Sequence[str], runs: int) -> list[Panel]:
    panels = []
    notes = {
        "q": "reference dashed",
        "error": "shaded: all runs, and 90 % of them; lines: medians" if runs > 20 else "",
    }
    for variable, per_unit in (
        ("q", {"rad": ("Joint angle", "rad", 1.0), "m": ("Joint travel", "m", 1.0)}),
        ("error", {"rad": ("Tracking error", "mrad", 1e3), "m": ("Tracking error", "mm", 1e3)}),
        ("tau", {"rad": ("Torque", "N m", 1.0), "m": ("Force", "N", 1.0)}),
    ):
        for unit, (title, shown, scale) in per_unit.items():
            joints = tuple(k for k, own in enumerate(units) if own == unit)
            if joints:
                panels.append(Panel(variable, title, shown, scale, joints, notes.get(variable, "")))
    return panels


def _reference(
    style: dict[str, Any], time: NDArray[np.float64], values: NDArray[np.float64], color: str
) -> list[dict[str, Any]]:
    """The line of a reference (runs, samples), if all runs have the same."""
    return [dashed_line(style, typed_array(time), values[0], color)] if (values == values[0]).all() else []
