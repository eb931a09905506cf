"""Integral action that does not wind up where the motors can do no more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine import clip, where
from chasles.engine.scalar import Traced


def saturated(tau: Any, limits: Any) -> Any:
    """Return torques (n,) within limits (n,); a limit of 0 or infinity is none.

    Examples
    --------
    >>> saturated(np.array([30.0, -30.0, 30.0]), np.array([20.0, 20.0, np.inf]))
    array([ 20., -20.,  30.])
    """
    return np.array([clip(t, -limit, limit) if _is_limit(limit) else t for t, limit in zip(tau, limits, strict=True)])


def next_integral(integral: Any, error: Any, excess: Any, period: float) -> Any:
    """Return the integral of the error one period later, by the rectangle rule, with conditional anti-windup.

    A joint's integral is held while its torque is beyond its limit and its error would push it further.

    Source: Åström and Hägglund, PID Controllers: Theory, Design, and Tuning (1995), section 3.5, Integrator Windup.

    Parameters
    ----------
    integral, error
        Integral so far and error, (n,); a positive error makes a positive torque.
    excess
        Torques less the torques within the limits, (n,).
    period
        Time between two calls, s.

    Examples
    --------
    >>> next_integral(np.zeros(2), np.array([0.5, 0.5]), np.array([3.0, 0.0]), 0.01)
    array([0.   , 0.005])
    """
    following: NDArray[Any] = np.asarray(integral + period * error)
    rows = zip(excess, error, integral, following, strict=True)
    return np.array([where(beyond * e > 0.0, before, after) for beyond, e, before, after in rows])


def _is_limit(limit: Any) -> bool:
    return isinstance(limit, Traced) or 0.0 < limit < np.inf
