"""Sampled models of systems whose torques are held for a period and act late."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.linear_model import discretize

Floats = NDArray[np.float64]

#: Longest delay, in sample periods.
MOST_DELAY = 10.0
_ROUNDING = 1e-6  # of a period, which counts as none


class DelayedHold(NamedTuple):
    """x[k+1] = A x[k] + Σ B_late[i] u[k-i] for torques that act late: A (..., 2n, 2n), each B (..., 2n, n)."""

    A: Floats
    B_late: tuple[Floats, ...]


def delayed_hold(A: Floats, B: Floats, period: float, delay: float) -> DelayedHold:
    """Sample a continuous model whose torques are held for a period and act `delay` periods after their call.

    Source: Åström and Wittenmark, Computer-Controlled Systems (3rd ed., 1997), section 2.3.

    Examples
    --------
    A mass of 1 kg feels for half of a period of 1 s the force of the call before:

    >>> model = delayed_hold(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), 1.0, 0.5)
    >>> [part.ravel().tolist() for part in model.B_late]
    [[0.125, 0.5], [0.375, 0.5]]
    """
    late = pending_count(delay)
    if not late:
        A_d, B_d = discretize(A, B, period)
        return DelayedHold(A_d, (B_d,))
    older = (delay - (late - 1)) * period  # of the period under the older torque
    first = discretize(A, B, older)
    nothing = np.zeros_like(first.B)
    if period - older <= _ROUNDING * period:
        return DelayedHold(first.A, (*[nothing] * late, first.B))
    second = discretize(A, B, period - older)
    return DelayedHold(second.A @ first.A, (*[nothing] * (late - 1), second.B, second.A @ first.B))


def pending_count(delay: float) -> int:
    """Number of torques that wait to take effect, for a delay in sample periods.

    >>> pending_count(0.0), pending_count(0.5), pending_count(1.0), pending_count(1.2)
    (0, 1, 1, 2)
    """
    return math.ceil(delay - _ROUNDING)
