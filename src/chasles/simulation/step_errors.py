"""Estimates of what the steps of a run miss, from the stages of its method, at next to no cost."""

from __future__ import annotations

from typing import Any

from chasles.engine import sqrt, where
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.integrators import Integrator, Step

#: Parts: sums of the local errors of all velocities, and of the quaternions.
STEP_ERRORS: dict[str, Shapes] = {"velocities": (), "quaternions": ()}
#: Largest square of a rate times the step that two neighbouring differences may show.
_FASTEST = 4.0
#: Added to divisors that may be zero.
_TINY = 1e-200


def has_estimate(method: Integrator | str) -> bool:
    """Whether the steps of a method tell their error."""
    if isinstance(method, str):
        return False
    return method.embedded_order is not None or getattr(method, "differences", None) is not None


def local_error(step: Step, of: list[int]) -> Real:
    """Return the size of the error of a step in chosen elements of the state.

    Where the method has no estimate, it is that of a motion at one rate ω: its differences grow by z = ω h from one to
    the next, and the classical method misses z⁵ / 120 of its size, the third difference z² / 120 times. Of two rates
    that the differences tell, the larger one counts.
    """
    if step.error is not None:
        return sqrt(_square(step.error[of]))
    first, second, third, other = (_square(difference[of]) for difference in step.differences)
    largest = where(third > other, third, other)
    by_first, by_second = sqrt(largest / (first + _TINY)), largest / (second + _TINY)
    rate = where(by_first > by_second, by_first, by_second)
    return sqrt(largest) * where(rate < _FASTEST, rate, _FASTEST) / 120.0


def _square(vector: Array) -> Any:
    return vector @ vector
