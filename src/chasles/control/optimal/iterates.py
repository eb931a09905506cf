"""What the iterations of optimal control are about: batches of motions, their errors, and reasons to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.elastic import Elastic
from chasles.control.optimal.filter import Merit
from chasles.control.optimal.nodes import Model, Nodes

Floats = NDArray[np.float64]
#: Multipliers of this size on average leave the errors unscaled.
_USUAL_MULTIPLIER = 100.0


class Ending(Enum):
    """Why the iterations ended."""

    CONVERGED = "converged"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped"
    STALLED = "stalled"
    NOT_FINITE = "not finite"


@dataclass(frozen=True)
class Iterate:
    """Motions of a batch of problems on their way to the best ones.

    Attributes
    ----------
    W
        Torques and states (u, x) at the nodes, (problems, N + 1, m + 2n).
    costates
        Multipliers of the steps that end at each node, (problems, N + 1, 2n).
    elastic
        Slacks, excesses and multipliers of the rows.
    mu
        Barriers μ, (problems,).
    """

    W: Floats
    costates: Floats
    elastic: Elastic
    mu: Floats

    def map(self, function: Callable[[Floats], Floats]) -> Iterate:
        """Return the arrays that a function makes of these."""
        W, costates, a, b, z, price, mu = (function(array) for array in self.arrays)
        return Iterate(W, costates, replace(self.elastic, a=a, b=b, z=z, price=price), mu)

    def select(self, which: Any) -> Iterate:
        """Return some of the problems."""
        return self.map(lambda array: array[which])

    def put(self, which: Any, other: Iterate) -> None:
        """Write the motions of another in place of some of these."""
        for array, part in zip(self.arrays, other.arrays, strict=True):
            array[which] = part

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All that is known of the problems."""
        elastic = self.elastic
        return self.W, self.costates, elastic.a, elastic.b, elastic.z, elastic.price, self.mu


@dataclass(frozen=True)
class SearchResult:
    """The last iterate, its gains (problems, N, m, 2n), and how each problem got there, (problems,)."""

    iterate: Iterate
    gains: Floats
    endings: list[Ending]
    iterations: NDArray[np.int_]
    sweeps: NDArray[np.int_]


class Errors:
    """How far iterates are from satisfying the equations of the barrier problem; arrays are (problems,).

    Attributes
    ----------
    stationarity
        Largest element of the Lagrangian's gradient.
    feasibility
        Largest defect of a step or miss of a row.
    violation
        Largest violation of a constraint.
    pressure
        Largest multiplier of an elastic row as a share of the price.
    merit
        Violation of all, and what the cost with barriers is made of: cost, priced rows, logarithms.
    """

    def __init__(self, model: Model, nodes: Nodes) -> None:
        stages, last = model
        sums = stages.sums.sum(axis=1) + last.sums
        largest = np.maximum(stages.largest.max(axis=1), last.largest)
        self.stationarity, self.feasibility, self.violation, self._most, least, self.pressure = largest.T
        self._least = -least
        costates, multipliers, finite, self.theta, self.cost, self._priced, self._logarithms = sums.T
        self.is_finite = np.isfinite(finite) & np.isfinite(self.cost)
        states = stages.A.shape[-1] - 1
        rows = int(nodes.rows.present.sum())
        count = (stages.A.shape[1] + 1) * states + rows
        self._of_gradient = np.maximum((costates + multipliers) / count, _USUAL_MULTIPLIER) / _USUAL_MULTIPLIER
        self._of_products = np.maximum(multipliers / max(1, rows), _USUAL_MULTIPLIER) / _USUAL_MULTIPLIER
        self._has_rows = rows > 0

    def total(self, mu: Floats | float) -> Floats:
        """Largest error, those of gradients and products relative to the size of multipliers, at a barrier μ."""
        products = np.maximum(self._most - mu, mu - self._least) if self._has_rows else np.zeros(1)
        error = np.maximum(self.stationarity / self._of_gradient, self.feasibility)
        return np.asarray(np.where(self.is_finite, np.maximum(error, products / self._of_products), np.nan))

    def merit(self, price: Floats, mu: Floats) -> Merit:
        """Violation and cost with barriers, as the filter compares them."""
        return Merit(self.theta, self.cost + price * self._priced - mu * self._logarithms)


class Slots:
    """Places in the first axis of arrays: those of problems that end are taken by others, or closed.

    Attributes
    ----------
    count
        Number of places that remain.
    """

    def __init__(self, ends: NDArray[np.bool_], waiting: int) -> None:
        free = np.flatnonzero(ends)
        self.taken, closed = free[:waiting], free[waiting:]
        self.count = len(ends) - len(closed)
        self._holes = closed[closed < self.count]
        stays = np.ones(len(ends), dtype=bool)
        stays[closed] = False
        self._fillers = self.count + np.flatnonzero(stays[self.count :])

    def close(self, array: Floats) -> Floats:
        """Return the places of an array that remain, the last ones moved to where others are free."""
        array[self._holes] = array[self._fillers]
        return array[: self.count]
