"""What the iterations of optimal control are about: batches of motions, their errors, and reasons to end."""

from __future__ import annotations

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

    def select(self, which: Any) -> Iterate:
        """Return some of the problems."""
        a, b, z, price = (part[which] for part in (self.elastic.a, self.elastic.b, self.elastic.z, self.elastic.price))
        elastic = replace(self.elastic, a=a, b=b, z=z, price=price)
        return Iterate(self.W[which], self.costates[which], elastic, self.mu[which])

    def put(self, which: Any, other: Iterate) -> Iterate:
        """Return the motions with some of them those of another."""
        mine, others = self._arrays(), other._arrays()
        W, costates, a, b, z, price, mu = (put(one, which, two) for one, two in zip(mine, others, strict=True))
        return Iterate(W, costates, replace(self.elastic, a=a, b=b, z=z, price=price), mu)

    def _arrays(self) -> tuple[Floats, ...]:
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


def put(array: Floats, which: Any, part: Floats) -> Floats:
    """Return an array with some of its first axis replaced."""
    result = array.copy()
    result[which] = part
    return result
