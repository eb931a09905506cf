"""Shortest paths in graphs and grids by A*. Modern Robotics, algorithm 10.1; Hart, Nilsson and Raphael (1968)."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import truth

Node = TypeVar("Node", bound=Hashable)
#: Nodes that can be reached from a node in one step, with the costs of the steps.
Neighbors = Mapping[Node, Mapping[Node, float]] | Callable[[Node], Iterable[tuple[Node, float]]]
Cell = tuple[int, ...]


class GraphPath(NamedTuple, Generic[Node]):
    """Result of a search.

    Attributes
    ----------
    nodes
        Nodes from the start to the goal; empty if there is no path.
    cost
        Sum of the costs of the steps; infinite if there is no path.
    expanded
        Number of nodes whose neighbors were examined.
    """

    nodes: list[Node]
    cost: float
    expanded: int

    @property
    def success(self) -> bool:
        """Whether there is a path."""
        return bool(self.nodes)


def a_star(
    neighbors: Neighbors[Node],
    start: Node,
    goal: Node | Callable[[Node], bool],
    cost_to_go: Mapping[Node, float] | Callable[[Node], float] | None = None,
) -> GraphPath[Node]:
    """Find the cheapest path from one node to another.

    The path is optimal if `cost_to_go` never exceeds the true cost. Without it, the search is Dijkstra's algorithm.

    Parameters
    ----------
    neighbors
        Costs of the steps from each node, {node: {next node: cost}}; or a function of a node that returns pairs of a
        next node and a cost. Costs must not be negative.
    start
        Node at which the path starts.
    goal
        Node at which the path ends, or a function that returns whether a node is a goal.
    cost_to_go
        Estimate of the cost from each node to the goal, as a mapping or a function; default zero.

    Raises
    ------
    ArgumentError
        A cost is negative or not a number.

    Examples
    --------
    >>> steps = {"a": {"b": 2.0, "c": 5.0}, "b": {"c": 1.0, "d": 6.0}, "c": {"d": 2.0}, "d": {}}
    >>> a_star(steps, "a", "d")
    GraphPath(nodes=['a', 'b', 'c', 'd'], cost=5.0, expanded=3)
    >>> a_star(steps, "d", "a").success
    False
    """
    steps = neighbors if callable(neighbors) else _steps_of(neighbors)
    reached = goal if callable(goal) else (lambda node: node == goal)
    estimate = cost_to_go if callable(cost_to_go) else (cost_to_go or {}).get

    def guess(node: Node) -> float:
        return _cost(estimate(node) or 0.0, "the cost to go from", node)

    order = itertools.count()  # nodes need not be comparable
    past_cost, parent = {start: 0.0}, dict[Node, Node]()
    candidates, expanded = [(guess(start), next(order), start, 0.0)], 0
    while candidates:
        _, _, node, cost = heapq.heappop(candidates)
        if cost > past_cost[node]:  # a cheaper way was found since
            continue
        if reached(node):
            return GraphPath(list(_back(parent, node))[::-1], cost, expanded)
        expanded += 1
        for other, step in steps(node):
            through = cost + _cost(step, "the step from", node)
            if through < past_cost.get(other, np.inf):
                past_cost[other], parent[other] = through, node
                heapq.heappush(candidates, (through + guess(other), next(order), other, through))
    return GraphPath([], np.inf, expanded)


def grid_neighbors(occupied: ArrayLike, *, diagonal: bool = True) -> Callable[[Cell], Iterator[tuple[Cell, float]]]:
    """Return a function from a cell to its free neighbor cells and the distances to them.

    Parameters
    ----------
    occupied
        Whether each cell of the grid, of any number of axes, is occupied.
    diagonal
        Whether steps along several axes at once are allowed; they may not cut the corner of an occupied cell.

    Examples
    --------
    >>> grid = [[0, 0, 0], [1, 1, 0], [0, 0, 0]]
    >>> a_star(grid_neighbors(grid, diagonal=False), (0, 0), (2, 0)).cost
    6.0
    """
    cells = np.asarray(occupied)
    if not cells.size or cells.dtype.kind not in "biu":
        raise ArgumentError("occupied must be an array of True and False with at least one cell")
    blocked = cells.astype(bool)
    several = truth(diagonal, "diagonal")
    moves = [move for move in itertools.product((-1, 0, 1), repeat=blocked.ndim) if any(move)]
    if not several:
        moves = [move for move in moves if sum(map(abs, move)) == 1]

    def neighbors(cell: Cell) -> Iterator[tuple[Cell, float]]:
        for move in moves:
            other = tuple(at + by for at, by in zip(cell, move, strict=True))
            if all(0 <= at < size for at, size in zip(other, blocked.shape, strict=True)):
                box = tuple(slice(min(a, b), max(a, b) + 1) for a, b in zip(cell, other, strict=True))
                if not blocked[box].any():
                    yield other, float(np.sqrt(sum(map(abs, move))))

    return neighbors


def _steps_of(graph: Mapping[Node, Mapping[Node, float]]) -> Callable[[Node], Iterable[tuple[Node, float]]]:
    return lambda node: graph.get(node, {}).items()


def _cost(value: float, label: str, node: Hashable) -> float:
    if not value >= 0.0:
        raise ArgumentError(f"{label} node {node!r} costs {value!r}; costs must not be negative")
    return float(value)


def _back(parent: Mapping[Node, Node], node: Node) -> Iterator[Node]:
    """Nodes from one back to the start."""
    yield node
    while node in parent:
        node = parent[node]
        yield node
