"""Figures of trajectories: joint motions over time, and motions of a frame in space."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from chasles.base import verbs
from chasles.geometry import quaternion_from_rotation
from chasles.mechanics.plain_coordinates import position_units
from chasles.robot.robot import Robot
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.joint.closed import on_manifold
from chasles.trajectories.joint.tangent import coordinates_of_velocities
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.limits.sampling import check_times
from chasles.trajectories.tables import along, continuous
from chasles.visual.encoding import as_plotly, plot_text, typed_array
from chasles.visual.panels import (
    COLORS,
    QUIET,
    Panel,
    band,
    dashed_line,
    legend_entry,
    line_style,
    panel_layout,
    shown_runs,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from chasles.trajectories.motion import PoseMotion

Floats = NDArray[np.float64]

_SAMPLES = 1000
_SAMPLES_OF_BATCH = 300
_MOST_SAMPLES = 20_000  # of a trajectory with many knots, where each knot is looked at
_MOST_KNOTS = 200  # that are marked
_SCENE_HEIGHT = 460
_FRAMES = 12
_AXES = {"x": "#c2402f", "y": "#1f9d6b", "z": "#0f6fb4", "w": "#6b7785"}


@verbs.plot.register(JointTrajectory)
def joint_plot(trajectory: JointTrajectory, dt: float | None = None) -> Figure:
    """Plot a joint trajectory: positions, velocities, accelerations and jerks over time.

    Parameters
    ----------
    trajectory
        Trajectory, drawn with its knots, or a batch, drawn as its range and 20 lines.
    dt
        Sample period, s; default a thousandth of the duration.

    Returns
    -------
    plotly.graph_objects.Figure
        A click on a joint's name hides that joint in all diagrams.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    ArgumentError
        dt is not positive.

    Examples
    --------
    >>> import chasles as ch
    >>> figure = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=2.0).plot()
    >>> [annotation.text for annotation in figure.layout.annotations]
    ['<b>Angle</b>', '<b>Velocity</b>', '<b>Acceleration</b>', '<b>Jerk</b>']
    """
    return as_plotly(joint_figure(trajectory, dt))


@verbs.plot.register(Robot, JointTrajectory)
def robot_motion_plot(robot: Robot, trajectory: JointTrajectory, dt: float | None = None) -> Figure:
    """Plot a robot's motion as `joint_plot` does, with its joints' names and units, its torques, and its limits.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    ArgumentError
        The robot has a different number of joints, or dt is not positive.
    """
    return as_plotly(joint_figure(trajectory, dt, robot))


def joint_figure(trajectory: JointTrajectory, dt: float | None = None, robot: Robot | None = None) -> dict[str, Any]:
    """Return the figure of `joint_plot` as Plotly's plain dictionaries."""
    trajectory = trajectory if robot is None else on_manifold(robot, trajectory)
    units = position_units(robot, trajectory.n)
    names = robot.coordinate_names if robot is not None else [f"joint {joint}" for joint in range(trajectory.n)]
    times = _times(trajectory, dt)
    derivatives = dict(zip(("q", "qd", "qdd", "jerk"), along(trajectory, times), strict=True))
    limits: dict[str, tuple[Floats, Floats]] = {}
    rate_units = units
    if robot is not None:
        rate_units, limits = _add_robot(robot, derivatives, units)
    panels = _joint_panels(units, rate_units, list(derivatives), dashed=limits)
    ends = times[[0, -1]]
    data: list[dict[str, Any]] = []
    for number, panel in enumerate(panels):
        values = derivatives[panel.variable].reshape(-1, len(times), trajectory.n)
        for joint in panel.lines:
            color = COLORS[joint % len(COLORS)]
            style = line_style(panel, number, plot_text(str(names[joint])), joint, legend=panel.variable == "q")
            if trajectory.batch:
                data.extend(band(style, times, values[..., joint], color))
                data.extend([legend_entry(style, color)] if panel.variable == "q" else [])
            else:
                line = {"color": color, "width": 1.8}
                data.append(style | {"x": typed_array(times), "y": typed_array(values[0, :, joint]), "line": line})
            reached = [limit[joint] for limit in limits.get(panel.variable, ()) if np.isfinite(limit[joint])]
            data.extend(dashed_line(style, typed_array(ends), np.full(2, limit), color) for limit in reached)
            if panel.variable == "q" and not trajectory.batch and len(trajectory.knots) <= _MOST_KNOTS:
                data.append(_knots(style, trajectory, joint, color))
    return {"data": data, "layout": panel_layout(panels, float(times[0]), float(times[-1]))}


def _add_robot(
    robot: Robot, derivatives: dict[str, Floats], units: tuple[str, ...]
) -> tuple[tuple[str, ...], dict[str, tuple[Floats, Floats]]]:
    """Add a robot's torques to the parts of a motion; return the units of the rates, and limits by part."""
    derivatives["tau"] = robot.inverse_dynamics(derivatives["q"], derivatives["qd"], derivatives["qdd"])
    limits = {
        "q": (robot.lower_limits, robot.upper_limits),
        "qd": (-robot.velocity_limits, robot.velocity_limits),
        "tau": (-robot.effort_limits, robot.effort_limits),
    }
    if robot.nq == robot.n:
        return units, limits
    coordinates = coordinates_of_velocities(robot)  # rates are drawn in the colour of a coordinate
    unit_of = {
        coordinate: unit.removesuffix("/s")
        for coordinate, unit in zip(coordinates, robot.description.velocity_units, strict=True)
    }
    for name in derivatives.keys() - {"q"}:
        derivatives[name] = _spread(derivatives[name], coordinates, robot.nq)
    for name in ("qd", "tau"):
        lower, upper = (_spread(side, coordinates, robot.nq) for side in limits[name])
        limits[name] = lower, upper
    return tuple(unit_of.get(coordinate, "") for coordinate in range(robot.nq)), limits


@verbs.plot.register(CartesianTrajectory)
def pose_plot(trajectory: CartesianTrajectory, dt: float | None = None) -> Figure:
    """Plot a motion in space: its path with moving frames, and position, orientation and their rates over time.

    Parameters
    ----------
    trajectory
        Trajectory, or a batch, drawn as its range and 20 paths.
    dt
        Sample period, s; default a thousandth of the duration.

    Returns
    -------
    plotly.graph_objects.Figure
        A click on an axis hides it in all diagrams.

    Raises
    ------
    MissingExtraError
        Plotly is not installed.
    ArgumentError
        dt is not positive.
    """
    return as_plotly(pose_figure(trajectory, dt))


def pose_figure(trajectory: CartesianTrajectory, dt: float | None = None) -> dict[str, Any]:
    """Return the figure of `pose_plot` as Plotly's plain dictionaries."""
    times = _pose_times(trajectory, dt)
    motion: PoseMotion = trajectory(times.reshape(-1, *(1,) * len(trajectory.batch)))
    poses, twists, accelerations = (
        np.moveaxis(part.reshape(len(times), -1, *part.shape[1 + len(trajectory.batch) :]), 0, 1) for part in motion
    )  # (b, k, ...)
    panels = [
        Panel("position", "Position", "m", 1.0, (0, 1, 2)),
        Panel("quaternion", "Orientation", "1", 1.0, (3, 0, 1, 2), "unit quaternion"),
        Panel("velocity", "Velocity", "m/s", 1.0, (0, 1, 2)),
        Panel("angular velocity", "Angular velocity", "rad/s", 1.0, (0, 1, 2)),
        Panel("acceleration", "Acceleration", "m/s²", 1.0, (0, 1, 2)),
        Panel("angular acceleration", "Angular acceleration", "rad/s²", 1.0, (0, 1, 2)),
    ]
    quaternions = continuous(quaternion_from_rotation(poses[..., :3, :3]))
    values = {
        "position": poses[..., :3, 3],
        "quaternion": np.roll(quaternions, -1, axis=-1),  # w last, so that x, y, z are 0, 1, 2 everywhere
        "velocity": twists[..., 3:],
        "angular velocity": twists[..., :3],
        "acceleration": accelerations[..., 3:],
        "angular acceleration": accelerations[..., :3],
    }
    data = _scene_traces(poses)
    for number, panel in enumerate(panels):
        for component in panel.lines:
            name, color = list(_AXES.items())[component]
            legend = panel.variable == "position" or (panel.variable == "quaternion" and name == "w")
            style = line_style(panel, number, name, component, legend=legend)
            lines = values[panel.variable][..., component]
            if trajectory.batch:
                data.extend(band(style, times, lines, color))
                data.extend([legend_entry(style, color)] if legend else [])
            else:
                line = {"color": color, "width": 1.8}
                data.append(style | {"x": typed_array(times), "y": typed_array(lines[0]), "line": line})
    layout = panel_layout(panels, float(times[0]), float(times[-1]), columns=2, above=_SCENE_HEIGHT)
    layout["scene"] = _scene_layout(poses, 1.0 - (_SCENE_HEIGHT - 40) / (layout["height"] - 86))
    return {"data": data, "layout": layout}


def _times(trajectory: JointTrajectory, dt: float | None) -> Floats:
    if trajectory.batch:
        return _even_times(trajectory, dt, _SAMPLES_OF_BATCH)
    times = check_times(trajectory, (), dt)[:, 0]
    return times if len(times) <= _MOST_SAMPLES else _even_times(trajectory, dt, _SAMPLES)


def _pose_times(trajectory: CartesianTrajectory, dt: float | None) -> Floats:
    if trajectory.batch:
        return _even_times(trajectory, dt, _SAMPLES_OF_BATCH)
    times = _even_times(trajectory, dt, _SAMPLES)
    knots = trajectory.knots if len(trajectory.knots) <= _SAMPLES else trajectory.knots[:0]
    before = np.maximum(np.nextafter(knots, -np.inf), times[0])
    return np.unique(np.concatenate([times, knots, before]))


def _even_times(trajectory: JointTrajectory | CartesianTrajectory, dt: float | None, count: int) -> Floats:
    if dt is not None:
        return np.asarray(trajectory.sample_times(dt))
    return np.linspace(*trajectory.span, count + 1)


def _spread(values: Floats, coordinates: NDArray[np.intp], count: int) -> Floats:
    """Values (..., n) at their places among (..., count); NaN elsewhere."""
    spread = np.full((*values.shape[:-1], count), np.nan)
    spread[..., coordinates] = values
    return spread


def _joint_panels(
    units: tuple[str, ...], rate_units: tuple[str, ...], variables: list[str], dashed: Collection[str]
) -> list[Panel]:
    titles = {
        "q": ({"rad": "Angle", "m": "Travel", "": "Quaternion"}, ""),
        "qd": ({"rad": "Velocity", "m": "Velocity"}, "/s"),
        "qdd": ({"rad": "Acceleration", "m": "Acceleration"}, "/s²"),
        "jerk": ({"rad": "Jerk", "m": "Jerk"}, "/s³"),
        "tau": ({"rad": "Torque", "m": "Force"}, None),
    }
    panels = []
    for variable in variables:
        names, suffix = titles[variable]
        for unit, title in names.items():
            units_of_variable = units if variable == "q" else rate_units
            joints = tuple(joint for joint, unit_of_joint in enumerate(units_of_variable) if unit_of_joint == unit)
            shown_unit = ("N" if unit == "m" else "N·m") if suffix is None else unit + suffix
            if joints:
                note = "limits dashed" if variable in dashed else ""
                panels.append(Panel(variable, title, shown_unit, 1.0, joints, note))
    return panels


def _knots(style: dict[str, Any], trajectory: JointTrajectory, joint: int, color: str) -> dict[str, Any]:
    q = trajectory(trajectory.knots).q[:, joint]
    marker = {"color": color, "size": 5, "line": {"color": "#ffffff", "width": 1}}
    return (
        style | QUIET | {"mode": "markers", "x": typed_array(trajectory.knots), "y": typed_array(q), "marker": marker}
    )


def _scene_traces(poses: Floats) -> list[dict[str, Any]]:
    """Return the paths in space, with the moving frame at some places of the first path."""
    space = {"type": "scatter3d", "scene": "scene", "showlegend": False}
    data: list[dict[str, Any]] = []
    for k in shown_runs(len(poses)):
        points = poses[k, :, :3, 3]
        line = {"color": "#33414e", "width": 4 if len(poses) == 1 else 2}
        coordinates = {axis: typed_array(points[:, j]) for j, axis in enumerate("xyz")}
        data.append(space | coordinates | {"mode": "lines", "line": line, "hoverinfo": "skip"})
    length = 0.22 * _extent(poses)[1]
    drawn = (
        np.unique(np.linspace(0, poses.shape[1] - 1, _FRAMES).round().astype(int)) if len(poses) else np.empty(0, int)
    )
    for axis, name in enumerate("xyz"):
        ends = []
        for k in drawn:
            origin = poses[0, k, :3, 3]
            ends += [origin, origin + length * poses[0, k, :3, axis], np.full(3, np.nan)]
        tips = np.array(ends).reshape(-1, 3)
        coordinates = {letter: typed_array(tips[:, j]) for j, letter in enumerate("xyz")}
        line = {"color": _AXES[name], "width": 5}
        data.append(
            space | coordinates | {"mode": "lines", "line": line, "hoverinfo": "skip", "legendgroup": str(axis)}
        )
    return data


def _extent(poses: Floats) -> tuple[Floats, float]:
    """Return the centre of the paths and half of their longest side; 0.1 m for paths that stay in one place."""
    points = poses[..., :3, 3].reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=-1)]
    if not len(points):
        return np.zeros(3), 0.1
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.5 * float((high - low).max())
    return 0.5 * (low + high), half if half > 1e-6 else 0.1


def _scene_layout(poses: Floats, bottom: float) -> dict[str, Any]:
    centre, half = _extent(poses)
    reach = 1.25 * half
    axis = {"backgroundcolor": "#f6f8fa", "gridcolor": "#dfe5ea", "showbackground": True, "zerolinecolor": "#c3ccd4"}
    camera = {"eye": {"x": 1.4, "y": -1.5, "z": 0.9}, "center": {"x": 0.0, "y": 0.0, "z": -0.14}}
    domain = {"x": [0.0, 1.0], "y": [bottom, 1.0]}
    layout: dict[str, Any] = {"domain": domain, "aspectmode": "cube", "camera": camera}
    for j, letter in enumerate("xyz"):
        span = [float(centre[j] - reach), float(centre[j] + reach)]
        layout[f"{letter}axis"] = axis | {"title": {"text": f"{letter} [m]"}, "range": span}
    return layout
