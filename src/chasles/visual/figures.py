"""Figures of runs as Plotly's plain dictionaries, for notebooks and reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.engine.validators import choice
from chasles.simulation.energy_audit import energy_audit
from chasles.simulation.metrics import pose_errors, run_robot
from chasles.visual.encoding import as_plotly, plot_text, typed_array
from chasles.visual.energy import energy_figure
from chasles.visual.panels import (
    COLORS,
    MOST_LINES,
    Panel,
    curves,
    dashed_line,
    drawn_samples,
    line_style,
    panel_layout,
)
from chasles.visual.run_plots import phase_figure, torque_speed_figure
from chasles.visual.summary import by_run, joint_units, require_run

_SAMPLES = 4000  # drawn of each line of a single run
_SAMPLES_OF_BATCH = 300
_TOOL_COLOR = "#22303c"
_TOOL_GROUP = -1
_MANY = "shaded: range of all runs and of 90 % of them; lines: medians"


@verbs.plot.register(xarray.Dataset)
def run_plot(run: xarray.Dataset, kind: str = "tracking") -> Any:
    """Plot a run: joint positions, tracking errors and torques, or what `kind` says.

    Parameters
    ----------
    run
        Result of `chasles.simulate`.
    kind
        ``"tracking"``; ``"torque-speed"``: torque over speed of each joint, with its limits; ``"phase"``: speed over
        position; ``"energy"``: the energy balance of a run that was simulated with ``Recording(energies=True)``.

    Returns
    -------
    plotly.graph_objects.Figure
        Figure for notebooks; a click on a joint's name hides that joint in all diagrams.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    ArgumentError
        The dataset is not the result of a simulation.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.5)
    >>> figure = run_plot(ch.simulate(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion))
    >>> figure.layout.annotations[2].text
    '<b>Torque</b>'
    """
    require_run(run)
    return as_plotly(_KINDS[choice(kind, "kind", _KINDS)](run))


def tracking_figure(run: xarray.Dataset) -> dict[str, Any]:
    """Return the figure of positions and references, tracking errors, torques and tool errors over time.

    A batch of up to 20 runs shows the range of all runs and their lines; a larger batch shows the range, the band of
    90 % of the runs, and the median.

    Parameters
    ----------
    run
        Result of `chasles.simulate`. Tool errors need the robot's description in its attributes.

    Returns
    -------
    dict
        "data" and "layout" of a Plotly figure. A click on a joint's name in the legend hides it in all diagrams.

    Raises
    ------
    ArgumentError
        The dataset is not the result of a simulation.
    """
    require_run(run)
    single = by_run(run, "tau").shape[0] == 1
    samples = drawn_samples(run.sizes["time"], _SAMPLES if single else _SAMPLES_OF_BATCH)
    times = np.asarray(run["time"].values, dtype=float)
    panels: list[Panel] = []
    data: list[dict[str, Any]] = []
    named: set[int] = set()
    for panel, names, groups in _panels(run):
        values = by_run(run, panel.variable)[:, samples] * panel.scale
        for line in panel.lines:
            color = COLORS[line % len(COLORS)]
            style = line_style(panel, len(panels), names[line], groups[line], legend=groups[line] not in named)
            named.add(groups[line])
            data.extend(curves(style, times[samples], values[..., line], color))
            if panel.variable == "q" and "q_reference" in run:
                data.extend(_reference(style, times[samples], by_run(run, "q_reference")[:, samples, line], color))
        panels.append(panel)
    for name, unit, errors in tool_errors(run, samples):
        panel = Panel(name, f"Tool {name} error", unit, 1e3, (0,))
        style = line_style(panel, len(panels), "tool", _TOOL_GROUP, legend=name == "position")
        data.extend(curves(style, times[samples], errors * panel.scale, _TOOL_COLOR))
        panels.append(panel)
    return {"data": data, "layout": panel_layout(panels, float(times[0]), float(times[-1]))}


def tool_errors(run: xarray.Dataset, samples: NDArray[np.intp]) -> list[tuple[str, str, NDArray[np.float64]]]:
    """Return name, drawn unit, and errors (runs, samples) in m or rad of the tool's position and orientation."""
    name = "pose_reference" if "pose_reference" in run else "q_reference"
    if "robot_toml" not in run.attrs or name not in run or not np.isfinite(run[name].values).any():
        return []
    with np.errstate(all="ignore"):  # of numbers that are not finite, which make gaps
        q, reference = (by_run(run, variable)[:, samples] for variable in ("q", name))
        as_poses = name == "pose_reference"
        distance, angle = pose_errors(
            run_robot(run), q, None if as_poses else reference, pose_reference=reference if as_poses else None
        )
    return [("position", "mm", distance), ("orientation", "mrad", angle)]


def _panels(run: xarray.Dataset) -> list[tuple[Panel, list[str], list[int]]]:
    """Return panels of positions, errors and torques, with the names and legend groups of their lines."""
    joints = [plot_text(str(name)) for name in run["joint"].values]
    coordinates, position_units = joints, joint_units(run)
    shift = 0
    if "coordinate" in run["q"].dims:  # of joints with several freedoms
        coordinates = [plot_text(str(name)) for name in run["coordinate"].values]
        position_units = list(run_robot(run).description.coordinate_units)
        shift = len(coordinates)
    is_dense = by_run(run, "tau").shape[0] > MOST_LINES
    panels = []
    for variable, per_unit, note in (
        ("q", {"rad": ("Joint angle", "rad", 1.0), "m": ("Joint travel", "m", 1.0), "": ("Quaternion", "1", 1.0)}, ""),
        (
            "error",
            {"rad": ("Tracking error", "mrad", 1e3), "m": ("Tracking error", "mm", 1e3)},
            _MANY if is_dense else "",
        ),
        ("tau", {"rad": ("Torque", "N·m", 1.0), "m": ("Force", "N", 1.0)}, ""),
        ("tau_applied", {"rad": ("Torque of the motors", "N·m", 1.0), "m": ("Force of the motors", "N", 1.0)}, ""),
    ):
        if variable not in run:
            continue
        is_position = variable == "q"
        names, units = (coordinates, position_units) if is_position else (joints, joint_units(run))
        groups = [k + (0 if is_position else shift) for k in range(len(names))]
        noted = "reference dashed" if is_position and "q_reference" in run else note
        for unit, (title, shown_unit, scale) in per_unit.items():
            lines = tuple(k for k, unit_of_line in enumerate(units) if unit_of_line == unit)
            if lines:
                panels.append((Panel(variable, title, shown_unit, scale, lines, noted), names, groups))
    return panels


def _reference(
    style: dict[str, Any], time: NDArray[np.float64], values: NDArray[np.float64], color: str
) -> list[dict[str, Any]]:
    """Return the line of a reference (runs, samples), if all runs share it."""
    return [dashed_line(style, typed_array(time), values[0], color)] if (values == values[0]).all() else []


_KINDS: dict[str, Callable[[xarray.Dataset], dict[str, Any]]] = {
    "tracking": tracking_figure,
    "torque-speed": torque_speed_figure,
    "phase": phase_figure,
    "energy": lambda run: energy_figure(energy_audit(run).balance),
}
