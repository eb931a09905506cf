"""Motion planning of chapter 10 with the files of the book's course: graphs, disks as obstacles, paths.

In the projects of the course's part on motion planning, a point moves in the square from (-0.5, -0.5) to (0.5, 0.5).
Rows that begin with # are comments:

- ``nodes.csv``: ``ID, x, y, heuristic-cost-to-go``, IDs from 1;
- ``edges.csv``: ``ID1, ID2, cost``, in both directions;
- ``obstacles.csv``: ``x, y, diameter`` of disks;
- ``path.csv``: the IDs of a path in one row.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.writing import write_all
from chasles.distances import Body, clearance
from chasles.engine.validators import real, reals
from chasles.model import Description, Joint, Limits, Link
from chasles.planning import ConfigurationSpace, GraphPath, Roadmap, a_star
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

_START, _GOAL = (-0.5, -0.5), (0.5, 0.5)
_HALF_SQUARE = 0.5


class PlanarGraph(NamedTuple):
    """A graph of points in the plane.

    Attributes
    ----------
    positions
        Positions of the nodes 1, 2, …, shape (k, 2).
    cost_to_go
        Estimates of the cost from each node to the goal, shape (k,).
    costs
        Costs of the edges, {ID: {ID of a neighbor: cost}}, in both directions.
    """

    positions: FloatArray
    cost_to_go: FloatArray
    costs: dict[int, dict[int, float]]


def read_graph(folder: str | PathLike[str]) -> PlanarGraph:
    """Read ``nodes.csv`` and ``edges.csv`` of a folder.

    Raises
    ------
    ArgumentError
        A file is missing or damaged, or an edge leads to a node that is not there; the message says where.
    """
    nodes = _rows(Path(folder) / "nodes.csv", 4)
    if not np.array_equal(nodes[:, 0], np.arange(1, len(nodes) + 1)):
        raise ArgumentError(f"the nodes of {Path(folder) / 'nodes.csv'} must have the IDs 1, 2, 3, … in order")
    costs: dict[int, dict[int, float]] = {}
    for first, second, cost in _rows(Path(folder) / "edges.csv", 3).tolist():
        for node in (first, second):
            if not (node.is_integer() and 1 <= node <= len(nodes)):
                raise ArgumentError(
                    f"an edge of {Path(folder) / 'edges.csv'} leads to node {node:g}, which is not there"
                )
        costs.setdefault(int(first), {})[int(second)] = costs.setdefault(int(second), {})[int(first)] = cost
    return PlanarGraph(nodes[:, 1:3], nodes[:, 3], costs)


def read_obstacles(path: str | PathLike[str]) -> FloatArray:
    """Read the disks of an ``obstacles.csv``, shape (k, 3): x, y and diameter."""
    return _rows(Path(path), 3)


def shortest_path(graph: PlanarGraph, start: int = 1, goal: int | None = None) -> GraphPath[int]:
    """Find the cheapest path by A*, from the first node to the last one by default.

    Examples
    --------
    >>> graph = PlanarGraph(np.zeros((3, 2)), np.zeros(3), {1: {2: 1.0, 3: 3.0}, 2: {1: 1.0, 3: 1.0}})
    >>> shortest_path(graph).nodes
    [1, 2, 3]
    """
    last = len(graph.positions) if goal is None else goal
    for node in (start, last):
        if not 1 <= node <= len(graph.positions):
            raise ArgumentError(f"there is no node {node}; IDs go from 1 to {len(graph.positions)}")
    return a_star(graph.costs, start, last, lambda node: float(graph.cost_to_go[node - 1]))


def roadmap_among(
    obstacles: ArrayLike,
    *,
    start: ArrayLike = _START,
    goal: ArrayLike = _GOAL,
    radius: float = 0.0,
    samples: int = 300,
    seed: int = 0,
) -> PlanarGraph:
    """Return a probabilistic roadmap in the course's square; its first node is the start, its last one the goal.

    Parameters
    ----------
    obstacles
        Disks, shape (k, 3): x, y and diameter.
    start, goal
        Positions, shape (2,).
    radius
        Radius of the robot.
    samples, seed
        See `chasles.planning.Roadmap`.

    Examples
    --------
    >>> graph = roadmap_among([[0.0, 0.0, 0.4]])
    >>> shortest_path(graph).success
    True
    """
    disks = reals(obstacles, "obstacles", ("k", 3))
    if (disks[:, 2] < 0.0).any():
        raise ArgumentError("diameters of obstacles must not be negative")
    point = Body("point", radius=real(radius, "radius", at_least=0.0), name="robot")
    walls = [Body(None, [x, y, 0.0], radius=0.5 * diameter) for x, y, diameter in disks]
    space = ConfigurationSpace(clearance(_point_robot(), bodies=[point], obstacles=walls))
    ends = np.stack([reals(goal, "goal", (2,)), reals(start, "start", (2,))])
    roadmap = Roadmap(space, samples, seed=seed, include=ends)
    order = np.roll(np.arange(len(roadmap.q)), -1)  # start, samples, goal
    number = np.empty(len(order), dtype=int)
    number[order] = np.arange(1, len(order) + 1)
    positions = roadmap.q[order]
    lengths = np.linalg.norm(np.diff(roadmap.q[roadmap.edges], axis=1)[:, 0], axis=-1)
    costs: dict[int, dict[int, float]] = {}
    for (a, b), cost in zip(number[roadmap.edges].tolist(), lengths.tolist(), strict=True):
        costs.setdefault(a, {})[b] = costs.setdefault(b, {})[a] = cost
    return PlanarGraph(positions, np.linalg.norm(positions - positions[-1], axis=-1), costs)


def write_results(folder: str | PathLike[str], graph: PlanarGraph, nodes: list[int]) -> None:
    """Write ``nodes.csv``, ``edges.csv`` and ``path.csv`` for the course's simulator.

    Parameters
    ----------
    folder
        Folder to write to; it must exist.
    graph
        The graph.
    nodes
        IDs of the path. Without any, the row is that of a failed search: the start alone.
    """
    rows = {
        "nodes.csv": [
            f"{k},{x:.10g},{y:.10g},{to_go:.10g}"
            for k, ((x, y), to_go) in enumerate(zip(graph.positions, graph.cost_to_go, strict=True), 1)
        ],
        "edges.csv": [f"{b},{a},{graph.costs[a][b]:.10g}" for a in graph.costs for b in graph.costs[a] if a < b],
        "path.csv": [",".join(map(str, nodes or [1]))],
    }
    write_all({Path(folder) / name: "\n".join(lines) + "\n" for name, lines in rows.items()})


def _rows(path: Path, columns: int) -> FloatArray:
    """Rows of a CSV file of real numbers."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{path} cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                row = [float(cell) for cell in line.split(",")]
            except ValueError:
                raise ArgumentError(f"{path}, line {number}: {line.strip()!r} is not a row of numbers") from None
            if len(row) != columns or not np.isfinite(row).all():
                raise ArgumentError(f"{path}, line {number}: expected {columns} finite numbers, not {line.strip()!r}")
            rows.append(row)
    return np.array(rows).reshape(-1, columns)


def _point_robot() -> Robot:
    """A point that moves along x and y in the course's square."""
    limits = Limits(-_HALF_SQUARE, _HALF_SQUARE)
    joints = (
        Joint("x", "prismatic", "ground", "carriage", axis=np.array([1.0, 0.0, 0.0]), limits=limits),
        Joint("y", "prismatic", "carriage", "point", axis=np.array([0.0, 1.0, 0.0]), limits=limits),
    )
    return Robot(Description("point", (Link("ground"), Link("carriage"), Link("point")), joints))
