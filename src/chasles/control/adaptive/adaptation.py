"""Adaptation in continuous time: laws given by the rates of their estimates, and bounds that the estimates keep.

Source: Slotine & Li, Applied Nonlinear Control (1991), chapter 8, on parameters with known bounds. With a gain for each
parameter by itself and true values within the bounds, projection never lengthens the parameters' error, so that no
proof of stability is lost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.now import Now
from chasles.control.robot_controller import RobotController
from chasles.engine import clip, where
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import reals


class ContinuousLaw(RobotController):
    """Controller given by its torques and the rate of change of its memory.

    Sampled, the memory takes steps of Euler's rule, unless a law overrides `law` with something better.
    """

    @abstractmethod
    def flow(self, now: Now) -> tuple[Any, dict[str, Any]]:
        """Return torques (n,) and the rate of change of each part of the memory, 1/s, in traceable arithmetic."""

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory moves by a step of Euler's rule."""
        tau, rates = self.flow(now)
        for name, rate in rates.items():
            setattr(now.memory, name, now.memory[name] + now.period * rate)
        return tau


def estimate_bounds(lower: ArrayLike | None, upper: ArrayLike | None, count: int) -> dict[str, Any]:
    """Return the given ones of ``lower`` and ``upper``, each (count,), as parameters of a controller."""
    return {
        name: reals(value, name, (count,), broadcast=True, infinite=True)
        for name, value in (("lower", lower), ("upper", upper))
        if value is not None
    }


def projected_rate(estimate: Array, rate: Array, lower: Array | None, upper: Array | None) -> Array:
    """Return the rate of change of the estimates, without what would take them over their bounds."""
    if lower is not None:
        rate = _where_not(zip(lower, estimate, rate, strict=True), lambda low, x, v: (x <= low) & (v < 0.0))
    if upper is not None:
        rate = _where_not(zip(upper, estimate, rate, strict=True), lambda up, x, v: (x >= up) & (v > 0.0))
    return rate


def projected(estimate: Array, lower: Array | None, upper: Array | None) -> Real:
    """Return the nearest estimates between their bounds."""
    if lower is None and upper is None:
        return estimate
    return clip(estimate, -np.inf if lower is None else lower, np.inf if upper is None else upper)


def _where_not(rows: Iterable[tuple[Any, Any, Any]], stops: Callable[[Any, Any, Any], Any]) -> Array:
    return np.array([where(stops(bound, x, rate), 0.0, rate) for bound, x, rate in rows])
