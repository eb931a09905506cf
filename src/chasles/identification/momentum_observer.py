"""External torques and collisions from the generalised momentum, without accelerations or force sensors.

The residual r = K (p(t) - p(0) - ∫ (τ + Cᵀq̇ - g - friction + r) dt) follows the external torques as a first-order lag
with the bandwidth K. Source: A. De Luca & R. Mattone, "Sensorless robot collision detection and hybrid force/motion
control" (ICRA 2005); S. Haddadin, A. De Luca & A. Albu-Schäffer, "Robot collisions: a survey on detection, isolation
and identification" (IEEE Trans. Robotics 33(6), 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm

from chasles.arguments import real, reals
from chasles.cached import cached_property
from chasles.engine.function import Function, function
from chasles.errors import ArgumentError, IdentificationError
from chasles.robot import Robot

FloatArray = NDArray[np.float64]

LEAST_RESIDUALS = 200
HIGHEST_THRESHOLD = 12.0
"""Largest threshold in standard deviations."""


class MomentumObserver:
    """Observer of external joint torques.

    Parameters
    ----------
    robot
        Model, best an identified one: what it does not know appears as external torque.
    bandwidth
        K, 1/s: one number or shape (n,). Residuals follow external torques with the time constant 1/K.
    period
        Sample period, s; K · period must be below 1.

    Attributes
    ----------
    law
        Compiled step: ``(integral, q, qd, tau) -> (integral, residual)``, each (n,). ``law.to_c()`` is its C source and
        header.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("planar2r")
    >>> observer = MomentumObserver(arm, bandwidth=50.0, period=0.001)
    >>> q, qd = arm.home, np.zeros(2)
    >>> push = np.array([1.0, 0.0])  # what holds the arm at rest is less by an external torque
    >>> tau = np.tile(arm.gravity_torque(q) - push, (1000, 1))
    >>> r = observer.residuals(np.tile(q, (1000, 1)), np.zeros((1000, 2)), tau)
    >>> r[-1].round(3)
    array([1., 0.])
    """

    def __init__(self, robot: Robot, *, bandwidth: ArrayLike, period: float) -> None:
        self.robot = robot
        self.bandwidth = reals(bandwidth, "bandwidth", (robot.n,), broadcast=True, above=0.0)
        self.period = real(period, "period", above=0.0)
        if (self.bandwidth * self.period >= 1.0).any():
            raise ArgumentError(
                f"bandwidth {self.bandwidth.max():g} 1/s is too high for a period of {self.period:g} s; their "
                "product must "
                "be below 1"
            )

    @cached_property
    def law(self) -> Function:
        """Compiled step of the observer."""
        robot, K, h, n = self.robot, self.bandwidth, self.period, self.robot.n

        @function(integral=(n,), q=(robot.nq,), qd=(n,), tau=(n,), outputs=["next_integral", "residual"])
        def momentum_observer(integral: Any, q: Any, qd: Any, tau: Any) -> Any:
            momentum, drift = robot.momentum_and_drift(q, qd)
            residual = K * (momentum - integral)
            return integral + h * (tau + drift + residual), residual

        return momentum_observer

    def start(self, q: ArrayLike, qd: ArrayLike) -> FloatArray:
        """Integral with which the observer starts without a residual, shape (n,)."""
        return np.asarray(self.robot.momentum_and_drift(q, qd)[0])

    def residuals(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> FloatArray:
        """External torques over a log at the observer's period, shape (k, n), N·m; q, qd and tau have shape (k, n)."""
        positions = reals(q, "q", ("k", self.robot.nq))
        rates = reals(qd, "qd", (len(positions), self.robot.n))
        torques = reals(tau, "tau", rates.shape)
        momenta, drifts = (np.asarray(part) for part in self.robot.momentum_and_drift(positions, rates))
        integral = momenta[0]
        found = np.empty_like(rates)
        for k in range(len(rates)):  # the law, with the robot's part computed in one call
            found[k] = self.bandwidth * (momenta[k] - integral)
            integral = integral + self.period * (torques[k] + drifts[k] + found[k])
        return found

    def alarm(self, residuals: ArrayLike, *, false_alarms_per_hour: float = 1.0) -> CollisionAlarm:
        """Alarm thresholds from residuals of a motion without contact, shape (k, n).

        Raises
        ------
        IdentificationError
            If there are too few residuals.
        """
        own = reals(residuals, "residuals", ("k", self.robot.n))
        rate = real(false_alarms_per_hour, "false_alarms_per_hour", above=0.0)
        if len(own) < LEAST_RESIDUALS:
            raise IdentificationError(f"{len(own)} residuals are too few; at least {LEAST_RESIDUALS} are needed")
        centred = own - own.mean(axis=0)
        deviation = np.maximum(centred.std(axis=0), 1e-12)
        correlation = np.sum(centred[1:] * centred[:-1], axis=0) / np.sum(centred**2, axis=0)
        steps = 3600.0 / self.period
        factor = np.array([_threshold(rho, rate / (steps * self.robot.n)) for rho in correlation])
        return CollisionAlarm(own.mean(axis=0), factor * deviation, rate)


@dataclass(frozen=True)
class CollisionAlarm:
    """Thresholds of a collision detector.

    Attributes
    ----------
    mean, threshold
        Residuals without contact, and distance from them that raises the alarm, shape (n,), N·m.
    false_alarms_per_hour
        Expected number of alarms without contact, for residuals that are a Gaussian process with one time constant.
    """

    mean: FloatArray
    threshold: FloatArray
    false_alarms_per_hour: float

    def __call__(self, residuals: ArrayLike) -> NDArray[np.bool_]:
        """Whether residuals (..., n) are an alarm, shape (...)."""
        return np.asarray((np.abs(np.asarray(residuals, dtype=np.float64) - self.mean) > self.threshold).any(axis=-1))


def crossing_probability(threshold: float, correlation: float) -> float:
    """Probability that a unit Gaussian sequence goes beyond ±threshold from one sample to the next.

    Examples
    --------
    Without correlation: it is outside with 0.0455, and was inside before.

    >>> round(crossing_probability(2.0, 0.0), 4)
    0.0434
    """
    rho = min(max(correlation, -0.999999), 0.999999)
    both = multivariate_normal(mean=[0.0, 0.0], cov=[[1.0, rho], [rho, 1.0]])
    a = threshold
    inside = float(both.cdf([a, a]) - 2.0 * both.cdf([a, -a]) + both.cdf([-a, -a]))
    return max(float(1.0 - 2.0 * norm.sf(a)) - inside, 0.0)


def _threshold(correlation: float, probability: float) -> float:
    """Threshold in standard deviations that is crossed with this probability in each step."""

    def excess(threshold: float) -> float:
        # far out, where differences of distributions lose their digits, the chance is that of being outside
        crossing = crossing_probability(threshold, correlation) if threshold < 4.5 else tail(threshold)
        return float(np.log(max(crossing, 1e-300)) - np.log(probability))

    def tail(threshold: float) -> float:
        scale = crossing_probability(4.5, correlation) / (2.0 * norm.sf(4.5))
        return float(min(max(scale, 1e-6), 1.0) * 2.0 * norm.sf(threshold))

    if excess(0.5) < 0.0:
        return 0.5
    return float(brentq(excess, 0.5, HIGHEST_THRESHOLD))
