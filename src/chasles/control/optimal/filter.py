"""The filter of a line search: a step may make the motion cheaper or nearer to its constraints, but not both worse.

Source: Wächter and Biegler, On the implementation of an interior-point filter line-search algorithm for large-scale
nonlinear programming (2006), section 2.3, with the constants proposed there.
"""

from __future__ import annotations

from math import isfinite
from typing import NamedTuple

import numpy as np

_MARGIN = 1e-5
_ARMIJO = 1e-4
_SWITCH_SLOPE, _SWITCH_VIOLATION = 2.3, 1.1
_LARGEST, _SMALLEST = 1e4, 1e-4
_ROUNDING = 10.0 * np.finfo(np.float64).eps


class Merit(NamedTuple):
    """What a step should lower: the violation θ of the constraints, and the cost with barriers φ."""

    violation: float
    cost: float


class Filter:
    """Pairs of violation and cost that a step must improve on."""

    def __init__(self) -> None:
        self._pairs: list[Merit] = []
        self._first: float | None = None

    def clear(self) -> None:
        """Forget all, as a new barrier begins another problem."""
        self._pairs, self._first = [], None

    def accepts(self, now: Merit, trial: Merit, share: float, slope: float) -> bool:
        """Whether a share of a step is good, given the slope of φ along it; if so, remember where it began."""
        if self._first is None:
            self._first = max(1.0, now.violation)
        if not (isfinite(trial.cost) and isfinite(trial.violation)) or trial.violation > _LARGEST * self._first:
            return False
        if any(trial.violation >= pair.violation and trial.cost >= pair.cost for pair in self._pairs):
            return False
        rounding = float(_ROUNDING * abs(now.cost))
        descends = slope < 0.0 and share * abs(slope) ** _SWITCH_SLOPE > now.violation**_SWITCH_VIOLATION
        if descends and now.violation <= _SMALLEST * self._first:
            return trial.cost <= now.cost + _ARMIJO * share * slope + rounding
        nearer = trial.violation <= (1.0 - _MARGIN) * now.violation
        if not nearer and trial.cost > now.cost - _MARGIN * now.violation + rounding:
            return False
        self._pairs.append(Merit((1.0 - _MARGIN) * now.violation, now.cost - _MARGIN * now.violation))
        return True
