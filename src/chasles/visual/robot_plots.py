"""Figures of robots: the workspace in space and in sections, manipulability and singularities over a plane."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.base.errors import ArgumentError
from chasles.base.progress import is_watched, progress_bar
from chasles.engine.validators import choice, reals, whole_number
from chasles.inverse_kinematics.jacobians import singular_values
from chasles.robot.robot import Robot
from chasles.visual.dexterity import ToolSpace, tool_space
from chasles.visual.encoding import as_plotly, plot_text, typed_array

Floats = NDArray[np.float64]
Plane = Literal["xy", "xz", "yz"]

_SIZE = 560
_CELLS = 70  # of a section's longer side
_MOST_POINTS = 6000  # drawn in space
_AT_ONCE = 20_000  # closed configurations between two advances of the progress bar
_SINGULAR = 0.02  # of the largest smallest singular value on the map
_SINGULAR_COLOR = "#c2402f"


@verbs.plot.register(Robot)
def robot_plot(
    robot: Robot,
    kind: Literal["workspace", "manipulability"] = "workspace",
    *,
    plane: Plane | None = None,
    q: ArrayLike | None = None,
    samples: int | None = None,
    seed: int = 0,
) -> Any:
    """Plot what a robot's tool reaches, or how well it moves there.

    Parameters
    ----------
    robot
        Robot to plot.
    kind
        ``"workspace"``: positions of the tool at random configurations within the limits. ``"manipulability"``: the
        manipulability of position over a plane through the tool, where the tool keeps its position only.
    plane
        Plane of a section, in world axes, through the tool at `q`; default for a workspace all of space, for
        manipulability ``"xz"``.
    q
        Configuration (nq,) that places the plane, and from which inverse kinematics starts; default `home`.
    samples
        Number of random configurations; default 20,000 in space, 400,000 for sections.
    seed
        Seed of the random configurations.

    Returns
    -------
    plotly.graph_objects.Figure
        Workspaces are coloured by the manipulability of position √det(J Jᵀ) (Yoshikawa, 1985), sections by the largest
        in each cell. Where the tool moves in a plane, on a surface or along a curve only, it is taken there, and the
        colour bar says so. Red lines of a manipulability map surround singular places.

    Raises
    ------
    ArgumentError
        The robot has no joints that move, or an argument does not fit.
    MissingExtraError
        Plotly is not installed.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("puma560")
    >>> [trace.type for trace in ch.plot(arm, samples=500).data]
    ['scatter3d']
    >>> [trace.type for trace in ch.plot(arm, plane="xz").data]
    ['heatmap']
    """
    if not isinstance(kind, str):
        raise ArgumentError("plot takes a kind of plot; view(q) and picture(path, q) show the robot at a configuration")
    choice(kind, "kind", ("workspace", "manipulability"))
    if plane is not None:
        choice(plane, "plane", get_args(Plane))
    if robot.n == 0:
        raise ArgumentError(f"robot '{robot.name}' has no joints that move: its workspace is one point")
    start = robot.home if q is None else reals(q, "q", (robot.nq,))
    if kind == "manipulability":
        return as_plotly(manipulability_figure(robot, plane or "xz", start))
    requested = (20_000 if plane is None else 400_000) if samples is None else samples
    count = whole_number(requested, "samples", 1, 10_000_000)
    configurations = _configurations(robot, whole_number(seed, "seed", 0, 2**63 - 1), count)
    space = tool_space(robot)
    if plane is None:
        return as_plotly(_cloud(robot, configurations, space))
    return as_plotly(_section(robot, configurations, plane, np.asarray(robot.forward_kinematics(start))[:3, 3], space))


def _configurations(robot: Robot, seed: int, count: int) -> Floats:
    """Random configurations (count, nq); those of linkages, which take longer, with a progress bar."""
    if not robot.description.loops:
        return np.asarray(robot.random_configuration(seed, (count,)))
    generator, chunks = np.random.default_rng(seed), []
    with progress_bar("closed configurations", count, show=is_watched() and count > _AT_ONCE) as advance:
        for start in range(0, count, _AT_ONCE):
            size = min(_AT_ONCE, count - start)
            chunks.append(np.asarray(robot.random_configuration(generator, (size,))))
            advance(size)
    return np.concatenate(chunks)


def _tools(robot: Robot, q: Floats, space: ToolSpace) -> tuple[Floats, Floats]:
    """Return positions (k, 3) of the tool, and manipulability of position (k,)."""
    T, J = robot.pose_and_jacobian(q, frame="world-aligned")
    return np.asarray(T)[..., :3, 3], space.manipulability(singular_values(np.asarray(J)[..., 3:, :])[1])


def _cloud(robot: Robot, q: Floats, space: ToolSpace) -> dict[str, Any]:
    drawn = np.unique(np.linspace(0, len(q) - 1, min(len(q), _MOST_POINTS)).astype(np.intp))
    p, size = _tools(robot, q[drawn], space)
    x, y, z = (typed_array(p[:, k]) for k in range(3))
    bar = {"title": {"text": f"manipulability{space.words}"}}
    marker = {"size": 2, "color": typed_array(size), "colorscale": "Viridis", "showscale": True, "colorbar": bar}
    hover = "%{x:.3f}, %{y:.3f}, %{z:.3f} m<extra></extra>"
    trace = {"type": "scatter3d", "mode": "markers", "x": x, "y": y, "z": z, "marker": marker, "hovertemplate": hover}
    scene = {f"{axis}axis": {"title": {"text": f"{axis} [m]"}} for axis in "xyz"} | {"aspectmode": "data"}
    return {"data": [trace], "layout": _layout(f"{robot.name}: workspace") | {"scene": scene}}


def _section(robot: Robot, q: Floats, plane: Plane, middle: Floats, space: ToolSpace) -> dict[str, Any]:
    """Return the map of a slice about two cells thick."""
    p = np.asarray(robot.forward_kinematics(q))[:, :3, 3]
    first, second = ("xyz".index(axis) for axis in plane)
    across = 3 - first - second
    low, high = p.min(axis=0), p.max(axis=0)
    cell = max(float((high - low)[[first, second]].max()) / _CELLS, 1e-9)
    near = np.abs(p[:, across] - middle[across]) <= max(cell, 0.015 * float((high - low).max()))
    counts = [int((high - low)[k] / cell) + 1 for k in (first, second)]
    cells = [
        np.minimum(((p[near, k] - low[k]) / cell).astype(np.intp), n - 1)
        for k, n in zip((first, second), counts, strict=True)
    ]
    best = np.full(counts, -np.inf)
    np.fmax.at(best, tuple(cells), _tools(robot, q[near], space)[1])  # NaN where motors lose a linkage
    axes = [low[k] + cell * (np.arange(n) + 0.5) for k, n in zip((first, second), counts, strict=True)]
    title = f"{robot.name}: workspace near {'xyz'[across]} = {middle[across]:.3g} m"
    return _map((axes[0], axes[1]), np.where(np.isfinite(best), best, np.nan), plane, title, space)


def manipulability_figure(robot: Robot, plane: Plane, q: Floats) -> dict[str, Any]:
    """Return the map of manipulability over a plane through the tool, in Plotly's plain dictionaries."""
    first, second = ("xyz".index(axis) for axis in plane)
    T = np.asarray(robot.forward_kinematics(q))
    space = tool_space(robot)
    reached_before = np.asarray(robot.forward_kinematics(robot.random_configuration(0, (2000,))))[:, :3, 3]
    low, high = reached_before.min(axis=0), reached_before.max(axis=0)
    cell = max(float((high - low)[[first, second]].max()) / _CELLS, 1e-9)
    axes = [np.arange(low[k], high[k] + cell, cell) for k in (first, second)]
    targets = np.broadcast_to(T, (len(axes[0]), len(axes[1]), 4, 4)).copy()
    targets[..., first, 3], targets[..., second, 3] = axes[0][:, None], axes[1]
    solutions = robot.inverse_kinematics(targets, q0=q, mask="position")
    J = np.asarray(robot.jacobian(np.nan_to_num(np.asarray(solutions.q)), frame="world-aligned"))[..., 3:, :]
    sigma = singular_values(J)[1]
    reached = np.asarray(solutions.success)
    size = np.where(reached, space.manipulability(sigma), np.nan)
    title = f"{robot.name}: manipulability of position{space.words}"
    figure = _map((axes[0], axes[1]), size, plane, title, space)
    smallest = np.where(reached, sigma[..., max(space.dimensions, 1) - 1], np.nan)
    level = _SINGULAR * float(np.nanmax(smallest)) if reached.any() else 0.0
    if level > 0.0 and min(smallest.shape) > 1:
        contour = {
            "type": "contour",
            "x": typed_array(axes[0]),
            "y": typed_array(axes[1]),
            "z": typed_array(smallest.T),
            "contours": {"coloring": "lines", "start": level, "end": level, "size": 1.0},
            "colorscale": [[0.0, _SINGULAR_COLOR], [1.0, _SINGULAR_COLOR]],
            "line": {"width": 2, "color": _SINGULAR_COLOR},
            "showscale": False,
            "hoverinfo": "skip",
        }
        figure["data"].append(contour)
    return figure


def _map(axes: tuple[Floats, Floats], values: Floats, plane: Plane, title: str, space: ToolSpace) -> dict[str, Any]:
    heat = {
        "type": "heatmap",
        "x": typed_array(axes[0]),
        "y": typed_array(axes[1]),
        "z": typed_array(values.T),
        "colorscale": "Viridis",
        "zmin": 0.0,
        "colorbar": {"title": {"text": f"manipulability{space.words}"}},
        "hovertemplate": f"{plane[0]} %{{x:.3f}} m, {plane[1]} %{{y:.3f}} m: %{{z:.3g}}<extra></extra>",
    }
    titles = {
        "xaxis": {"title": {"text": f"{plane[0]} [m]"}},
        "yaxis": {"title": {"text": f"{plane[1]} [m]"}, "scaleanchor": "x"},
    }
    return {"data": [heat], "layout": _layout(title) | titles}


def _layout(title: str) -> dict[str, Any]:
    return {"title": {"text": plot_text(title)}, "width": _SIZE + 140, "height": _SIZE, "template": "plotly_white"}
