"""How far a motion is from satisfying the equations of the barrier problem, and what that says of barrier and end.

All is a formula of numbers, known or traced: an iteration asks the same in machine code as Python does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array

#: Scaled violation above which a motion is not within its constraints.
FEASIBLE = 1e-6
TOLERANCE = 1e-8
#: Multipliers of this size on average leave the errors unscaled.
_USUAL_MULTIPLIER = 100.0
#: Price from which a motion may count as stationary for the violations alone, and price that is never passed.
HIGH_PRICE, _LAST_PRICE = 1e5, 1e10
#: The barrier falls to a fifth or to its power 3/2 once the error is below ten times itself.
_BARRIER_ERROR, _BARRIER_FACTOR, _BARRIER_POWER, _LAST_BARRIER = 10.0, 0.2, 1.5, 1e-13
#: What the barriers may add to the cost, as a share of it.
_GAP = 1e-8
#: Share of the last value at which the barrier ends: that value is a share of the cost, and follows its rounding.
_BELOW_LAST = 0.5
#: Share of the price from which a multiplier presses on it, and error, as a share of the price, of a stationary motion.
_PRESSES, _STATIONARY = 0.9, 1e-8
#: What stands for the first violation of a filter that holds nothing yet: another barrier is another problem.
EMPTY = -1.0
_FINITE = np.finfo(np.float64).max


class Merit(NamedTuple):
    """Violation θ of the constraints and cost φ with barriers: a step should lower them."""

    violation: Any
    cost: Any


class Errors:
    """Errors of a motion.

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
    theta, cost
        Violation of all, and the cost.
    """

    #: Quantities that are summed over the nodes, and those whose largest counts.
    SUMS, LARGEST = 7, 6

    def __init__(self, totals: Array, sizes: Array) -> None:
        """Take the nodes' quantities in one, and the numbers of equations of motion and of rows that count."""
        costates, multipliers, finite, self.theta, self.cost, self._priced, self._logarithms = totals[: self.SUMS]
        self.stationarity, self.feasibility, self.violation, self._most, least, self.pressure = totals[self.SUMS :]
        equations, self._rows = sizes
        self._least = -least
        self.is_finite = (np.abs(finite) <= _FINITE) & (np.abs(self.cost) <= _FINITE)
        rows = np.maximum(1.0, self._rows)
        mean = (costates + multipliers) / (equations + self._rows)
        self._of_gradient = np.maximum(mean, _USUAL_MULTIPLIER) / _USUAL_MULTIPLIER
        self._of_products = np.maximum(multipliers / rows, _USUAL_MULTIPLIER) / _USUAL_MULTIPLIER

    def total(self, mu: Any) -> Any:
        """Largest error, those of gradients and products relative to the size of multipliers, at a barrier μ."""
        products = np.where(self._rows > 0.0, np.maximum(self._most - mu, mu - self._least), 0.0)
        error = np.maximum(self.stationarity / self._of_gradient, self.feasibility)
        return np.maximum(error, products / self._of_products)

    def merit(self, price: Any, mu: Any) -> Merit:
        """Violation and cost with barriers, as the filter compares them."""
        return Merit(self.theta, self.cost + price * self._priced - mu * self._logarithms)

    def last_barrier(self, fixed: Any) -> Any:
        """Barrier at which the cost is right: each row with its slack and excess adds at most about 2 μ to it."""
        gap = _GAP * np.abs(self.cost) / np.maximum(1.0, 2.0 * self._rows)
        return np.where(fixed > 0.0, fixed, np.minimum(0.1 * TOLERANCE, np.maximum(gap, _LAST_BARRIER)))

    @property
    def is_pressed(self) -> Any:
        """Whether the motion violates constraints and multipliers press on the price of that."""
        return (self.violation > FEASIBLE) & (self.pressure > _PRESSES)

    def has_converged(self, mu: Any, fixed: Any) -> Any:
        """Whether the motion is the best one, up to the barriers."""
        small = (self.total(fixed) <= TOLERANCE) & (self.violation <= FEASIBLE)
        return small & (mu <= self.last_barrier(fixed))

    def is_stuck(self, price: Any, fixed: Any) -> Any:
        """Whether the motion is stationary, and a high price has not brought it within the constraints."""
        is_stationary = self.total(fixed) <= np.maximum(TOLERANCE, _STATIONARY * price)
        return is_stationary & self.is_pressed & (price >= HIGH_PRICE)


def _totals(before: Array, at_node: Array) -> Array:
    sums = Errors.SUMS
    return np.concatenate([before[:sums] + at_node[:sums], np.maximum(before[sums:], at_node[sums:])])


def _judge(totals: Array, sizes: Array, mu: Any, price: Any, fixed: Any, left: Any) -> tuple[Any, ...]:
    """Whether the motion may be one to end at, the barrier is right, and multipliers press on the price."""
    errors = Errors(totals, sizes)
    ends = ~errors.is_finite | errors.has_converged(mu, fixed) | errors.is_stuck(price, fixed) | (left <= 0.0)
    stays = ~((mu > errors.last_barrier(fixed)) & (errors.total(mu) <= _BARRIER_ERROR * mu))
    pressed = ~stays & errors.is_pressed & (price < _LAST_PRICE)
    return tuple(np.where(flag, 1.0, 0.0) for flag in (ends, stays, pressed))


def _lower(totals: Array, sizes: Array, mu: Any, fixed: Any) -> tuple[Any, ...]:
    """Return the barrier that follows, its change, whether an even lower one may follow, and the filter's first θ."""
    errors = Errors(totals, sizes)
    last = errors.last_barrier(fixed)
    floor = np.where(fixed > 0.0, last, _BELOW_LAST * last)
    lower = np.maximum(floor, np.minimum(_BARRIER_FACTOR * mu, mu**_BARRIER_POWER))
    again = (lower > last) & (errors.total(lower) <= _BARRIER_ERROR * lower)
    return lower, lower - mu, np.where(again, 1.0, 0.0), EMPTY


_SIZES = {"totals": (Errors.SUMS + Errors.LARGEST,), "sizes": (2,)}
#: Scan over nodes that takes the quantities of `Errors` in one.
totals = Function(
    lambda: trace(
        _totals, {"before": _SIZES["totals"], "at_node": _SIZES["totals"]}, name="totals", outputs=["totals"]
    ),
    shape="scan",
)
judge = Function(
    lambda: trace(
        _judge,
        _SIZES | dict.fromkeys(("mu", "price", "fixed", "left"), ()),
        name="judge",
        outputs=["ends", "stays", "pressed"],
    )
)
lower_barrier = Function(
    lambda: trace(
        _lower, _SIZES | {"mu": (), "fixed": ()}, name="lower_barrier", outputs=["mu", "change", "again", "first"]
    )
)
