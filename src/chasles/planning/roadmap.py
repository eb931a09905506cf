"""Probabilistic roadmaps: one graph of free configurations for many queries.

Modern Robotics, section 10.5.2, algorithm 10.4; Kavraki, Švestka, Latombe, Overmars, Probabilistic roadmaps for path
planning in high-dimensional configuration spaces, IEEE Transactions on Robotics and Automation 12 (1996).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.sealed import Sealed
from chasles.engine.validators import reals, whole_number
from chasles.planning.graph_search import a_star
from chasles.planning.space import TURN, ConfigurationSpace, Floats

_MOST_SAMPLES = 10_000_000


class Roadmap(Sealed):
    """Free configurations connected to their nearest neighbors by edges proven free.

    Parameters
    ----------
    space
        The configuration space.
    samples
        Number of configurations drawn; configurations in collision are discarded.
    neighbors
        Number of nearest configurations to connect each one to.
    seed
        Seed of the samples: the same seed gives the same roadmap.
    include
        Given configurations, shape (k, nq), placed first; configurations in collision get no edges.

    Attributes
    ----------
    q
        Configurations, shape (k, nq).
    edges
        Indices of the two configurations of each edge, shape (m, 2).
    costs
        Lengths of the edges, shape (m,), m; see `ConfigurationSpace.weights`.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.distances import Body
    >>> rods = [Body("link1", end=[-0.5, 0.0, 0.0], radius=0.05), Body("link2", end=[-0.25, 0.0, 0.0], radius=0.05)]
    >>> apart = ch.clearance(ch.load("planar2r"), bodies=rods, obstacles=[Body(None, [0.5, 0.4, 0.0], radius=0.1)])
    >>> roadmap = Roadmap(ConfigurationSpace(apart), samples=200)
    >>> way = roadmap.path([0.0, 0.0], [1.5, 0.0])
    >>> bool(roadmap.space.free_edges(way[:-1], way[1:]).all())
    True
    """

    def __init__(
        self,
        space: ConfigurationSpace,
        samples: int = 1000,
        *,
        neighbors: int = 10,
        seed: int = 0,
        include: ArrayLike | None = None,
    ) -> None:
        self.space = space
        count = whole_number(samples, "samples", 1, _MOST_SAMPLES)
        self.neighbors = whole_number(neighbors, "neighbors", 1, 1000)
        drawn = space.sample(np.random.default_rng(seed), count)
        included = (
            np.empty((0, space.robot.nq)) if include is None else reals(include, "include", ("k", space.robot.nq))
        )
        self.q: Floats = np.concatenate([included, drawn[space.free(drawn)]])
        self.edges, self.costs = self._joined(np.arange(len(self.q)), self.q)

    @property
    def graph(self) -> dict[int, dict[int, float]]:
        """The graph for `a_star`: {index: {index of a neighbor: cost}}."""
        return _graph(self.edges, self.costs)

    def path(self, start: ArrayLike, goal: ArrayLike) -> Floats:
        """Return the shortest path (k, nq) on the roadmap from a start to a goal; empty if they are not connected.

        Parameters
        ----------
        start, goal
            Configurations, shape (nq,). They are connected to the roadmap for this query only.
        """
        ends = np.stack([reals(q, name, (self.space.robot.nq,)) for q, name in ((start, "start"), (goal, "goal"))])
        first, last = len(self.q), len(self.q) + 1
        q = np.concatenate([self.q, ends])
        edges, costs = self._joined(np.array([first, last]), q)
        graph = _graph(np.concatenate([self.edges, edges]), np.concatenate([self.costs, costs]))
        to_go = self.space.lengths(self.space.way(q, q[last]))
        shortest = a_star(graph, first, last, lambda node: float(to_go[node]))
        return q[shortest.nodes]

    def _joined(self, nodes: NDArray[np.intp], q: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Free edges (m, 2) from some nodes to their nearest configurations, and their lengths (m,)."""
        from scipy.spatial import KDTree

        if len(q) < 2:
            return np.empty((0, 2), dtype=np.intp), np.empty(0)
        space = self.space
        coordinates = np.where(space.turns, np.mod(q, TURN) % TURN, np.maximum(q - space.lower, 0.0)) * space.weights
        around = np.where(space.turns, TURN * space.weights, 0.0)
        coordinates = np.where(space.turns & (coordinates >= around), 0.0, coordinates)  # a whole turn, by rounding
        _, near = KDTree(coordinates, boxsize=around).query(coordinates[nodes], min(self.neighbors + 1, len(q)))
        pairs = np.sort(np.stack([np.repeat(nodes, near.shape[1]), near.ravel()], axis=-1), axis=-1)
        edges = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
        if len(edges):
            edges = edges[space.free_edges(q[edges[:, 0]], q[edges[:, 1]])]
        return edges, space.lengths(space.way(q[edges[:, 0]], q[edges[:, 1]]))


def _graph(edges: NDArray[np.intp], costs: Floats) -> dict[int, dict[int, float]]:
    graph: dict[int, dict[int, float]] = {}
    for (a, b), cost in zip(edges.tolist(), costs.tolist(), strict=True):
        graph.setdefault(a, {})[b] = graph.setdefault(b, {})[a] = cost
    return graph
