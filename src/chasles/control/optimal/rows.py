"""Constraints as rows of one vector: limits of w, distances to keep, and ends to reach.

Each node has w = (u, x), and all nodes together W, (N + 1, m + 2n); no torque acts at the last node. Inequalities are
c(W) ≥ 0, the rows after them, the ends, e(x_N) = 0. All are scaled to be of the order of one: torques and velocities by
their limits, distances by 0.1 m.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property

Floats = NDArray[np.float64]
#: Distance, m, that counts as much as a radian or the whole torque of a joint.
DISTANCE_SCALE = 0.1


class Jacobians(NamedTuple):
    """Derivatives of the rows that are no limits of w.

    Attributes
    ----------
    clearance
        Scaled distances to x, at nodes 1 … N, (N, distances, 2n).
    ends
        Ends to x_N, (ends, 2n).
    """

    clearance: Floats
    ends: Floats


@dataclass(frozen=True)
class Place:
    """What a row is about: its kind, the element within that kind, and its node."""

    kind: str
    element: int
    node: int


@dataclass(frozen=True)
class ConstraintRows:
    """The rows of a problem, and products with their Jacobian J.

    Attributes
    ----------
    lower, upper
        Limits of w, (m + 2n,), infinite where there are none.
    scale
        Scale of each element of w, (m + 2n,).
    nodes
        Number of steps N.
    inputs
        Number of torques m.
    distances, ends
        Numbers of distances at a node and of ends.
    """

    lower: Floats
    upper: Floats
    scale: Floats
    nodes: int
    inputs: int
    distances: int
    ends: int

    @cached_property
    def _limited(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        """Nodes and elements of w that have a lower limit, and those that have an upper one."""
        acts = np.ones((self.nodes + 1, len(self.lower)), dtype=bool)
        acts[-1, : self.inputs] = acts[0, self.inputs :] = False  # no torque at the end; the start is given
        low, high = (np.argwhere(acts & np.isfinite(limit)).T for limit in (self.lower, self.upper))
        return (low[0], low[1]), (high[0], high[1])

    @cached_property
    def _starts(self) -> NDArray[np.intp]:
        """Index of the first row of each kind but the first: upper limits, distances, ends."""
        low, high = self._limited
        return np.cumsum([len(low[0]), len(high[0]), self.nodes * self.distances])

    @property
    def count(self) -> int:
        """Number of all rows."""
        return int(self._starts[-1]) + self.ends

    @cached_property
    def are_ends(self) -> NDArray[np.bool_]:
        """Whether each row is an end, an equality."""
        return np.asarray(np.arange(self.count) >= self._starts[-1])

    @cached_property
    def are_rigid(self) -> NDArray[np.bool_]:
        """Whether each row is a limit of a torque, which can be kept whatever the motion."""
        low, high = self._limited
        result = np.zeros(self.count, dtype=bool)
        result[: len(low[1]) + len(high[1])] = np.concatenate([low[1], high[1]]) < self.inputs
        return result

    def values(self, W: Floats, distances: Floats, ends: Floats) -> Floats:
        """Return all rows, from scaled distances (N, distances) and ends (ends,)."""
        low, high = self._limited
        above = (W[low] - self.lower[low[1]]) * self.scale[low[1]]
        below = (self.upper[high[1]] - W[high]) * self.scale[high[1]]
        return np.concatenate([above, below, distances.ravel(), ends])

    def split(self, v: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the parts of a vector of rows: lower limits, upper limits, distances (N, distances), and ends."""
        low, high, distances, ends = np.split(v, self._starts)
        return low, high, distances.reshape(self.nodes, self.distances), ends

    def times(self, J: Jacobians, dW: Floats) -> Floats:
        """Return J dW."""
        low, high = self._limited
        dx = dW[:, self.inputs :]
        return np.concatenate(
            [
                dW[low] * self.scale[low[1]],
                -dW[high] * self.scale[high[1]],
                (J.clearance @ dx[1:, :, None]).ravel(),
                J.ends @ dx[-1],
            ]
        )

    def transposed(self, J: Jacobians, v: Floats) -> Floats:
        """Return Jᵀ v, (N + 1, m + 2n)."""
        low, high = self._limited
        of_low, of_high, of_distances, of_ends = self.split(v)
        result = np.zeros((self.nodes + 1, len(self.lower)))
        result[low] = of_low * self.scale[low[1]]
        result[high] -= of_high * self.scale[high[1]]
        result[1:, self.inputs :] += (of_distances[:, None, :] @ J.clearance)[:, 0]
        result[-1, self.inputs :] += of_ends @ J.ends
        return result

    def squared(self, J: Jacobians, D: Floats) -> Floats:
        """Return Jᵀ D J for a diagonal D, (N + 1, m + 2n, m + 2n)."""
        low, high = self._limited
        of_low, of_high, of_distances, of_ends = self.split(D)
        diagonal = np.zeros((self.nodes + 1, len(self.lower)))
        diagonal[low] = of_low * self.scale[low[1]] ** 2
        diagonal[high] += of_high * self.scale[high[1]] ** 2
        result = diagonal[:, :, None] * np.eye(len(self.lower))
        states = result[:, self.inputs :, self.inputs :]
        states[1:] += np.swapaxes(J.clearance, -1, -2) @ (of_distances[..., None] * J.clearance)
        states[-1] += J.ends.T @ (of_ends[:, None] * J.ends)
        return result

    def place(self, row: int) -> Place:
        """Return what a row is about."""
        low, high = self._limited
        first, second, third = (int(start) for start in self._starts)
        if row < second:
            kind, index, (nodes, elements) = ("lower", row, low) if row < first else ("upper", row - first, high)
            return Place(kind, int(elements[index]), int(nodes[index]))
        if row < third:
            node, index = divmod(row - second, self.distances)
            return Place("distance", index, node + 1)
        return Place("end", row - third, self.nodes)
