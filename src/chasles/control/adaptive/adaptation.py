"""Adaptation in continuous time: laws given by the rates of their estimates, and bounds that the estimates keep.

Source: Slotine & Li, Applied Nonlinear Control (1991), chapter 8, on parameters with known bounds. With a gain for each
parameter by itself, projection never lengthens the parameters' error, so that no proof of stability is lost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.arguments import reals
from chasles.control.robot_controller import RobotController
from chasles.engine import clip, where
from chasles.engine.records import Memory
from chasles.engine.scalar import Array, Real
from chasles.trajectories import Motion


class ContinuousLaw(RobotController):
    """Controller given by its torques and the rate of change of its memory.

    Sampled, the memory takes steps of Euler's rule, unless a law overrides `law` with something better.
    """

    @abstractmethod
    def flow(
        self, t: Real, q: Array, qd: Array, reference: Motion, state: Memory, parameters: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Torques (n,) and rate of change of the memory in 1/s; arithmetic that can be traced."""

    def law(
        self,
        t: Real,
        q: Array,
        qd: Array,
        reference: Motion,
        state: Memory,
        parameters: Mapping[str, Any],
        period: float,
    ) -> tuple[Any, Any]:
        """Torques of the law and the memory one period later."""
        tau, rate = self.flow(t, q, qd, reference, state, parameters)
        return tau, state + period * rate


def estimate_bounds(lower: ArrayLike | None, upper: ArrayLike | None, count: int) -> dict[str, Any]:
    """Return the given ones of ``lower`` and ``upper``, each (count,), as parameters of a controller."""
    return {
        name: reals(value, name, (count,), broadcast=True, infinite=True)
        for name, value in (("lower", lower), ("upper", upper))
        if value is not None
    }


def projected_rate(estimate: Array, rate: Array, parameters: Mapping[str, Any]) -> Array:
    """Rate of change of the estimates, without what would take them over their bounds."""
    if "lower" in parameters:
        rate = _where_not(
            zip(parameters["lower"], estimate, rate, strict=True), lambda low, x, v: (x <= low) & (v < 0.0)
        )
    if "upper" in parameters:
        rate = _where_not(zip(parameters["upper"], estimate, rate, strict=True), lambda up, x, v: (x >= up) & (v > 0.0))
    return rate


def projected(estimate: Array, parameters: Mapping[str, Any]) -> Real:
    """The nearest estimates between their bounds."""
    if not {"lower", "upper"} & set(parameters):
        return estimate
    return clip(estimate, parameters.get("lower", -np.inf), parameters.get("upper", np.inf))


def _where_not(rows: Iterable[tuple[Any, Any, Any]], stops: Callable[[Any, Any, Any], Any]) -> Array:
    return np.array([where(stops(bound, x, rate), 0.0, rate) for bound, x, rate in rows])
