"""The filter of a line search: a step may make the motion cheaper or nearer to its constraints, but not both worse.

Source: Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming (2006), section 2.3, with the constants proposed there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
_MARGIN = 1e-5
_ARMIJO = 1e-4
_SWITCH_SLOPE, _SWITCH_VIOLATION = 2.3, 1.1
_LARGEST, _SMALLEST = 1e4, 1e-4
_ROUNDING = 10.0 * np.finfo(np.float64).eps
#: Pairs for which there is room at first.
_PAIRS = 16


class Merit(NamedTuple):
    """Violation θ of the constraints and cost φ with barriers, of each problem: a step should lower them."""

    violation: Floats
    cost: Floats


class Filter:
    """Pairs of violation and cost, of each of a batch of problems, that a step must improve on."""

    def __init__(self, problems: int) -> None:
        self._violations, self._costs = np.full((2, problems, _PAIRS), np.inf)
        self._count = np.zeros(problems, dtype=int)
        self._first = np.full(problems, np.nan)

    def clear(self, which: NDArray[np.intp] | Flags) -> None:
        """Forget all of some problems, as a new barrier begins another problem."""
        self._violations[which] = self._costs[which] = np.inf
        self._count[which], self._first[which] = 0, np.nan

    def map(self, function: Callable[[Floats], Floats]) -> None:
        """Replace all arrays by what a function makes of them."""
        self._violations, self._costs = function(self._violations), function(self._costs)
        self._count, self._first = function(self._count), function(self._first)

    def accepts(self, who: NDArray[np.intp], now: Merit, trial: Merit, share: Floats, slope: Floats) -> Flags:
        """Whether shares of some problems' steps are good, given the slopes of φ; if so, remember where they began."""
        first = self._first[who]
        first = np.where(np.isnan(first), np.maximum(1.0, now.violation), first)
        self._first[who] = first
        higher = trial.violation[:, None] >= self._violations[who]
        dominated = (higher & (trial.cost[:, None] >= self._costs[who])).any(axis=1)
        allowed = np.isfinite(trial.cost) & (trial.violation <= _LARGEST * first) & ~dominated
        rounding = _ROUNDING * np.abs(now.cost)
        descends = (slope < 0.0) & (share * np.abs(slope) ** _SWITCH_SLOPE > now.violation**_SWITCH_VIOLATION)
        by_cost = descends & (now.violation <= _SMALLEST * first)
        nearer = trial.violation <= (1.0 - _MARGIN) * now.violation
        lower = Merit((1.0 - _MARGIN) * now.violation, now.cost - _MARGIN * now.violation)
        progress = nearer | (trial.cost <= lower.cost + rounding)
        good = allowed & np.where(by_cost, trial.cost <= now.cost + _ARMIJO * share * slope + rounding, progress)
        self._remember(who[good & ~by_cost], lower, good & ~by_cost)
        return np.asarray(good)

    def _remember(self, who: NDArray[np.intp], pairs: Merit, which: Flags) -> None:
        if not len(who):
            return
        if self._count[who].max() == self._costs.shape[1]:
            room = np.full_like(self._costs, np.inf)
            self.map(lambda array: np.concatenate([array, room], axis=1) if array.ndim > 1 else array)
        self._violations[who, self._count[who]] = pairs.violation[which]
        self._costs[who, self._count[who]] = pairs.cost[which]
        self._count[who] += 1
