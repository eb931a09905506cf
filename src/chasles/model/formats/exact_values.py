"""Values that were computed from others and differ from those once written by rounding only."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from chasles.model.placement import FloatArray

_NEIGHBOURS = 4
_DIGITS = (12, 13, 14, 15, 16)
_SHORT = 12  # letters of a value that is taken as it is if it fits
_RIGHT_ANGLE = 0.5 * math.pi


def exact_values(
    values: Mapping[str, float], build: Callable[[Mapping[str, float]], FloatArray], target: FloatArray
) -> dict[str, float]:
    """Return values within rounding of those given that build the target to the last bit, and short ones of these.

    Parameters
    ----------
    values
        Values, right but for rounding.
    build
        Function of the values.
    target
        Wanted result; where no values near those given yield it, these are returned.

    Examples
    --------
    >>> exact_values({"d": -0.4428999999999999}, lambda values: np.array([2 * values["d"]]), np.array([-0.8858]))
    {'d': -0.4429}
    """
    chosen = dict(values)
    for name, value in values.items():
        if value == round(value / _RIGHT_ANGLE) * _RIGHT_ANGLE:
            continue  # whose sines are exact, for neighbours too
        if len(repr(value)) <= _SHORT and np.array_equal(build(chosen), target):
            continue
        ranks = {
            candidate: (int(np.count_nonzero(build(chosen | {name: candidate}) != target)), len(repr(candidate)))
            for candidate in _candidates(value)
        }
        chosen[name] = min(ranks, key=lambda candidate: (*ranks[candidate], abs(candidate - value)))
    return chosen if np.array_equal(build(chosen), target) else dict(values)


def _candidates(value: float) -> list[float]:
    """The value, those next to it and those with fewer digits."""
    candidates = [value, *(float(f"{value:.{digits}g}") for digits in _DIGITS)]
    below = above = value
    for _ in range(_NEIGHBOURS):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
        candidates += [below, above]
    return [candidate for candidate in candidates if abs(candidate - value) <= 1e-15 * max(abs(value), 1.0)]
