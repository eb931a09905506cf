"""The best motion by a primal-dual interior point method, whose Newton step is the regulator of `backward_pass`.

Costs and dynamics are taken to second order around the motion, the constraints are elastic rows (`elastic`), and one
backward and one forward pass over the nodes give the step of torques, states and costates. A filter accepts a share of
it. The barrier μ falls as the equations of the barrier problem hold; the price ρ of a violation rises while multipliers
press on it. There are no active sets, no inner problems, and no restoration phase.

Where the second derivatives have negative curvature in a direction that the dynamics allow, the recursion finds a pivot
that is not positive, and the step is computed again with more curvature: a shift, and if costs determine all positions,
after two shifts the second derivatives without the curvature of residuals, dynamics and constraints (Gauss–Newton).

Sources: Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming (2006); Gould, Orban and Toint (2003) for elastic constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.backward_pass import Direction, solve_chain
from chasles.control.optimal.elastic import Elastic
from chasles.control.optimal.filter import Filter, Merit
from chasles.control.optimal.nodes import Model, Nodes, Values

Floats = NDArray[np.float64]

#: Scaled violation above which a motion is not within its constraints.
FEASIBLE = 1e-6
TOLERANCE = 1e-8
_FIRST_BARRIERS, _FIRST_PRICE, _PRICE_FACTOR = (0.1, 0.01), 1e2, 10.0
#: Price from which a motion may count as stationary for the violations alone, and price that is never passed.
_HIGH_PRICE, _LAST_PRICE = 1e5, 1e10
#: Share of what violations contribute to a torque below which the cost does not matter beside them: one percent.
_OUTWEIGHED = 1e-2
#: The barrier falls to a fifth or to its power 3/2 once the error is below ten times itself.
_BARRIER_ERROR, _BARRIER_FACTOR, _BARRIER_POWER, _LAST_BARRIER = 10.0, 0.2, 1.5, 1e-13
#: What the barriers may add to the cost, as a share of it.
_GAP = 1e-8
#: Share of the price from which a multiplier presses on it, and error, as a share of the price, of a stationary motion.
_PRESSES, _STATIONARY = 0.9, 1e-8
_TRIALS, _MOST_FAILURES, _MOST_SWEEPS = 12, 5, 20
#: Shifts that are tried before the second derivatives of Gauss and Newton.
_SHIFTS = 2
_FIRST_SHIFT, _SHIFT_UP, _SHIFT_UP_AGAIN, _SHIFT_DOWN = 1e-4, 100.0, 8.0, 1.0 / 3.0
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
    """A motion on its way to the best one.

    Attributes
    ----------
    W
        Torques and states (u, x) at the nodes, (N + 1, m + 2n).
    costates
        Multipliers of the steps that end at each node, (N + 1, 2n).
    elastic
        Slacks, excesses and multipliers of the rows.
    mu
        Barrier μ.
    """

    W: Floats
    costates: Floats
    elastic: Elastic
    mu: float


@dataclass(frozen=True)
class SearchResult:
    """The last iterate, its gains (N, m, 2n), and how it was reached."""

    iterate: Iterate
    gains: Floats
    ending: Ending
    iterations: int
    sweeps: int


class Errors(NamedTuple):
    """How far an iterate is from satisfying the equations of the barrier problem.

    Attributes
    ----------
    stationarity
        Largest element of the Lagrangian's gradient.
    feasibility
        Largest defect of a step or miss of a row.
    violation
        Largest violation of a constraint.
    multipliers, row_multipliers
        Mean size of all multipliers and of those of the rows.
    """

    stationarity: float
    feasibility: float
    violation: float
    multipliers: float
    row_multipliers: float

    def total(self, complementarity: float) -> float:
        """Largest error, those of gradients and products relative to the size of multipliers."""
        gradient, products = (
            max(mean, _USUAL_MULTIPLIER) / _USUAL_MULTIPLIER for mean in (self.multipliers, self.row_multipliers)
        )
        return float(np.max([self.stationarity / gradient, self.feasibility, complementarity / products]))


def solve(
    nodes: Nodes,
    start: Iterate,
    *,
    iterations: int,
    barrier: float = 0.0,
    watch: Callable[[int, Values], None] | None = None,
) -> SearchResult:
    """Iterate from a motion to the best one.

    Parameters
    ----------
    nodes
        The problem.
    start
        The first iterate; see `first_iterate`.
    iterations
        Largest number of iterations.
    barrier
        Where the barrier stays: the motion then is the best one with that barrier; default falls as far as it counts.
    watch
        Called with the number of each iteration and the values of its motion.
    """
    search = _Search(nodes, start, barrier)
    for count in range(iterations + 1):
        ending = search.ending()
        if ending is not None or count == iterations:
            break
        if watch is not None:
            watch(count, search.values)
        search.lower_barrier()
        direction = search.newton_direction()
        if direction is None or not search.moved_along(direction):
            search.restore()
    return SearchResult(search.now, search.gains, ending or Ending.STOPPED, count, search.sweeps)


def solve_from(nodes: Nodes, W: Floats, *, iterations: int) -> SearchResult:
    """Iterate from a motion; where that ends without one that keeps the constraints, once more with a lower barrier.

    A high barrier leads far away from the first motion, a low one keeps near to it: that both find no motion is better
    evidence that there is none. The second result counts only if it converges.
    """
    first = solve(nodes, first_iterate(nodes, W, _FIRST_BARRIERS[0]), iterations=iterations)
    if first.ending not in (Ending.INFEASIBLE, Ending.STALLED):
        return first
    second = solve(nodes, first_iterate(nodes, W, _FIRST_BARRIERS[1]), iterations=iterations - first.iterations)
    best = second if second.ending is Ending.CONVERGED else first
    return replace(best, iterations=first.iterations + second.iterations, sweeps=first.sweeps + second.sweeps)


def first_iterate(nodes: Nodes, W: Floats, mu: float) -> Iterate:
    """Begin at a motion, with slacks and multipliers on the central path and no costates."""
    rows = nodes.values(W).rows
    elastic = Elastic.start(rows, nodes.rows.are_ends, nodes.rows.are_rigid, mu, _FIRST_PRICE)
    return Iterate(W, np.zeros((len(W), W.shape[1] - nodes.inputs)), elastic, mu)


@dataclass
class _Search:
    """The state of the iterations."""

    nodes: Nodes
    now: Iterate
    barrier: float = 0.0
    filter: Filter = field(default_factory=Filter)
    shift: float = 0.0
    failures: int = 0
    sweeps: int = 0

    def __post_init__(self) -> None:
        m = self.nodes.inputs
        self.gains = np.zeros((len(self.now.W) - 1, m, self.now.W.shape[1] - m))
        self._evaluate()
        positions = self.model.gauss_newton[0, m:, m:][: self.gains.shape[2] // 2, : self.gains.shape[2] // 2]
        self.determines_positions = bool(np.isfinite(positions).all()) and bool(
            np.linalg.matrix_rank(positions) == len(positions)
        )

    def _evaluate(self) -> None:
        self.values: Values = self.nodes.values(self.now.W)
        self._differentiate()

    def _differentiate(self) -> None:
        self.model: Model = self.nodes.model(self.now.W)
        self.errors = self._errors()

    def _errors(self) -> Errors:
        now, (slopes, gradient, jacobians, _), m = self.now, self.model, self.nodes.inputs
        defects, _, rows = self.values
        of_w = gradient - self.nodes.rows.transposed(jacobians, now.elastic.z)
        following = now.costates[1:, :, None]
        of_w[:-1, :m] += (np.swapaxes(slopes.B, -1, -2) @ following)[..., 0]
        of_w[:-1, m:] += (np.swapaxes(slopes.A, -1, -2) @ following)[..., 0]
        of_w[1:, m:] -= now.costates[1:]
        of_w[0, m:] = 0.0  # the initial state is given
        z = np.abs(now.elastic.z)
        misses = np.concatenate([defects.ravel(), now.elastic.missed(rows)])
        return Errors(
            float(np.abs(of_w).max()),
            float(np.abs(misses).max()),
            violation_of(rows, self.nodes.rows.are_ends),
            float((np.abs(now.costates).sum() + z.sum()) / (now.costates.size + z.size)),
            float(z.mean()) if z.size else 0.0,
        )

    def error(self, mu: float) -> float:
        """Error in the equations of the problem with a barrier."""
        return self.errors.total(self.now.elastic.complementarity(mu))

    def ending(self) -> Ending | None:
        """Why to end here, if so."""
        error, price = self.error(self.barrier), self.now.elastic.price
        if not np.isfinite(error):
            return Ending.NOT_FINITE
        is_close = error <= TOLERANCE and self.now.mu <= self.last_barrier
        if is_close and self.errors.violation <= FEASIBLE:
            return Ending.CONVERGED
        if error <= max(TOLERANCE, _STATIONARY * price) and self.is_pressed and self.outweighs_cost:
            return Ending.INFEASIBLE
        return Ending.STALLED if self.failures >= _MOST_FAILURES else None

    @property
    def last_barrier(self) -> float:
        """Barrier at which the cost is right: each row with its slack and excess adds at most about 2 μ to it."""
        gap = _GAP * abs(self.values.cost) / max(1, 2 * self.nodes.rows.count)
        return self.barrier or float(min(0.1 * TOLERANCE, max(gap, _LAST_BARRIER)))

    @property
    def is_pressed(self) -> bool:
        """Whether the motion violates constraints and multipliers press on the price of that."""
        return self.errors.violation > FEASIBLE and self.now.elastic.pressure > _PRESSES

    @property
    def outweighs_cost(self) -> bool:
        """Whether the price of violations is so high that torques would not change if the cost did not count.

        At a stationary motion the gradients of cost and violations add up to zero in each torque. Where the motion is
        stationary for the violations alone, what these contribute to a torque cancels to much less than its size.
        """
        if self.now.elastic.price < _HIGH_PRICE:
            return False
        m, B = self.nodes.inputs, self.model.slopes.B
        cost = self._costates(self.model.gradient)
        reduced = cost[:-1, :m] + (cost[1:, None, m:] @ B)[:, 0]
        rows = self._costates(self.nodes.rows.transposed(self.model.jacobians, self.now.elastic.z))
        sizes = np.abs(rows[:-1, :m]) + (np.abs(rows[1:, None, m:]) @ np.abs(B))[:, 0]
        return bool(np.abs(reduced).max() <= _OUTWEIGHED * sizes.max())

    def _costates(self, by_w: Floats) -> Floats:
        """Sum up a gradient from the end to each node along the linear model; elements of torques are left."""
        m, result = self.nodes.inputs, by_w.copy()
        for k in range(len(by_w) - 2, -1, -1):
            result[k, m:] += result[k + 1, m:] @ self.model.slopes.A[k]
        return result

    def lower_barrier(self) -> None:
        """Lower μ as far as the errors allow; where multipliers press on the price of a violation, raise that."""
        while (mu := self.now.mu) > self.last_barrier and self.error(mu) <= _BARRIER_ERROR * mu:
            elastic = self.now.elastic
            self.filter.clear()
            if self.is_pressed and elastic.price < _LAST_PRICE and not self.outweighs_cost:
                self.now = replace(self.now, elastic=elastic.raised(_PRICE_FACTOR, self.values.rows, mu))
                self.errors = self._errors()
                return
            self.now = replace(self.now, mu=max(self.last_barrier, min(_BARRIER_FACTOR * mu, mu**_BARRIER_POWER)))

    def newton_direction(self) -> Direction | None:
        """The regulator's step, with as much curvature added as it needs to be a minimum."""
        (slopes, gradient, jacobians, gauss_newton), (defects, _, r) = self.model, self.values
        now, rows = self.now, self.nodes.rows
        D, e = now.elastic.stiffness(), now.elastic.pull(r, now.mu)
        g = gradient - rows.transposed(jacobians, now.elastic.z + D * e)
        constraints = rows.squared(jacobians, D)
        H = self.nodes.curvature(now.W, now.costates, now.elastic.z, slopes) + constraints
        shift, identity = 0.0, np.eye(H.shape[-1])
        for sweep in range(_MOST_SWEEPS):
            direction = solve_chain(slopes.A, slopes.B, defects, H + shift * identity, g)
            self.sweeps += 1
            if direction is not None:
                self.shift = shift or self.shift
                self.gains = direction.K
                return direction
            if sweep == _SHIFTS and self.determines_positions:
                H, shift = gauss_newton + constraints, 0.0
            elif shift:
                shift *= _SHIFT_UP_AGAIN if self.shift else _SHIFT_UP
            else:
                shift = max(1e-12, _SHIFT_DOWN * self.shift) if self.shift else _FIRST_SHIFT
        return None

    def moved_along(self, direction: Direction) -> bool:
        """Move by the largest share of a step that the filter accepts; False if it accepts none."""
        now = self.now
        r, jacobians = self.values.rows, self.model.jacobians
        D, e = now.elastic.stiffness(), now.elastic.pull(r, now.mu)
        dz = D * (e - self.nodes.rows.times(jacobians, direction.dW))
        da, db = now.elastic.step(dz, now.mu)
        keep = max(0.99, 1.0 - now.mu)  # of the way to a bound
        share = min(_room(now.elastic.a, da, keep), _room(now.elastic.b, db, keep))
        share_of_multipliers = min(_room(now.elastic.above, dz, keep), _room(now.elastic.below, -dz, keep))
        before = merit(self.values, now.elastic, now.mu)
        slope = float((self.model.gradient * direction.dW).sum()) + now.elastic.barrier_slope(da, db, now.mu)
        for _ in range(_TRIALS):
            W, elastic = now.W + share * direction.dW, now.elastic.moved(da, db, share)
            values = self.nodes.values(W)
            if self.filter.accepts(before, merit(values, elastic, now.mu), share, slope):
                costates = now.costates + share * (direction.costates - now.costates)
                elastic = elastic.with_multipliers(now.elastic.z + share_of_multipliers * dz, now.mu)
                self.now, self.values, self.failures = Iterate(W, costates, elastic, now.mu), values, 0
                self._differentiate()
                return True
            share *= 0.5
        return False

    def restore(self) -> None:
        """Begin anew at this motion, with slacks that fit and more curvature; the second time with its torques only."""
        self.failures += 1
        self.filter.clear()
        self.shift = max(10.0 * self.shift, 1e-3)
        W = self.now.W
        if self.failures > 1 and np.isfinite(rolled := self.nodes.rolled_out(W)).all():
            W = rolled
        self.now = replace(self.now, W=W)
        self.values = self.nodes.values(W)
        self.now = replace(self.now, elastic=self.now.elastic.restored(self.values.rows, self.now.mu))
        self._differentiate()


def merit(values: Values, elastic: Elastic, mu: float) -> Merit:
    """Violation and cost of a motion with its slacks, as the filter compares them."""
    violation = np.abs(values.defects).sum() + np.abs(elastic.missed(values.rows)).sum()
    return Merit(float(violation), values.cost + elastic.barrier(mu))


def violation_of(rows: Floats, are_ends: NDArray[np.bool_]) -> float:
    """Largest violation of a constraint."""
    return float(np.where(are_ends, np.abs(rows), -rows).max(initial=0.0))


def _room(v: Floats, dv: Floats, keep: float) -> float:
    """Share of a step that uses up at most a part of the positive v."""
    shrinks = dv < 0.0
    return float(min(1.0, keep * (v[shrinks] / -dv[shrinks]).min(initial=np.inf)))
