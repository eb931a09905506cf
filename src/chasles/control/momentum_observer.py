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
from scipy.stats import chi2, norm

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, IdentificationError
from chasles.engine.function import Function, function
from chasles.engine.validators import real, reals, truth
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

LEAST_RESIDUALS = 200
HIGHEST_THRESHOLD = 30.0
"""Largest threshold in standard deviations."""
LOST = 0.05
"""Autocorrelation below which residuals are taken to be independent."""
QUANTILES = 32
"""Quantiles of the deviation's distribution that stand for it."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(100)


class MomentumObserver:
    """Observer of external joint torques.

    Parameters
    ----------
    robot
        Model, preferably identified: unmodelled torques appear as external torques.
    bandwidth
        Bandwidth K, 1/s: a scalar or shape (n,). Residuals follow external torques with the time constant 1/K.
    period
        Sample period, s; K · period must be below 1.
    commanded
        Whether torques are commands, held from each sample to the next. By default, torques are measured at the
        samples, like positions.

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

    def __init__(self, robot: Robot, *, bandwidth: ArrayLike, period: float, commanded: bool = False) -> None:
        self.robot = robot
        self.commanded = truth(commanded, "commanded")
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
        robot, K, n = self.robot, self.bandwidth, self.robot.n

        @function(integral=(n,), q=(robot.nq,), qd=(n,), tau=(n,), outputs=["next_integral", "residual"])
        def momentum_observer(integral: Any, q: Any, qd: Any, tau: Any) -> Any:
            momentum, drift = robot.regressors.momentum_and_drift(q, qd)
            before, after = self._impulses(tau, drift - self._load_friction(q, qd, tau))
            residual = K * (momentum - integral - before)
            return integral + before + after + self.period * residual, residual

        return momentum_observer

    def _impulses(self, tau: FloatArray, drift: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Impulses of the half periods before and after a sample: the trapezoidal rule, but for held torques."""
        half = 0.5 * self.period
        return half * drift + (0.0 if self.commanded else half) * tau, half * drift + (
            self.period if self.commanded else half
        ) * tau

    def _load_friction(self, q: Any, qd: Any, tau: Any) -> Any:
        """Friction that the load adds, which the torques determine, whatever pushes the robot."""
        robot = self.robot
        if not any(joint.load_friction for joint in robot.description.joints):
            return 0.0
        load = robot.transmitted_torque(q, qd, tau)
        return robot.loaded_friction_torque(q, qd, load) - robot.loaded_friction_torque(q, qd, 0.0 * load)

    def start(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike | None = None) -> FloatArray:
        """Return the integral for which the initial residual is zero, shape (n,).

        Without `tau`, the torques are assumed to hold the robot at rest.
        """
        momentum, drift = (np.asarray(part) for part in self.robot.regressors.momentum_and_drift(q, qd))
        if tau is None:
            return momentum
        torques = reals(tau, "tau", momentum.shape)
        return momentum - self._impulses(torques, drift - self._load_friction(q, qd, torques))[0]

    def residuals(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> FloatArray:
        """External torques over a log at the observer's period, shape (k, n), N·m; q, qd and tau have shape (k, n)."""
        positions = reals(q, "q", ("k", self.robot.nq))
        rates = reals(qd, "qd", (len(positions), self.robot.n))
        torques = reals(tau, "tau", rates.shape)
        momenta, drifts = (np.asarray(part) for part in self.robot.regressors.momentum_and_drift(positions, rates))
        before, after = self._impulses(torques, drifts - self._load_friction(positions, rates, torques))
        integral = momenta[0] - before[0]
        estimates = np.empty_like(rates)
        for k in range(len(rates)):  # the law, with the robot's part computed in one call
            estimates[k] = self.bandwidth * (momenta[k] - integral - before[k])
            integral = integral + before[k] + after[k] + self.period * estimates[k]
        return estimates

    def alarm(self, residuals: ArrayLike, *, false_alarms_per_hour: float = 1.0) -> CollisionAlarm:
        """Return alarm thresholds from residuals, shape (k, n), of a motion without contact.

        The thresholds allow for the uncertainty of standard deviations estimated from k residuals.

        Raises
        ------
        IdentificationError
            If there are too few residuals.
        """
        quiet = reals(residuals, "residuals", ("k", self.robot.n))
        rate = real(false_alarms_per_hour, "false_alarms_per_hour", above=0.0)
        if len(quiet) < LEAST_RESIDUALS:
            raise IdentificationError(f"{len(quiet)} residuals are too few; at least {LEAST_RESIDUALS} are needed")
        centred = quiet - quiet.mean(axis=0)
        deviation = np.maximum(centred.std(axis=0), 1e-12)
        probability = rate * self.period / (3600.0 * self.robot.n)
        factor = np.array([_threshold(_autocorrelation(column), len(quiet), probability) for column in centred.T])
        return CollisionAlarm(quiet.mean(axis=0), factor * deviation, rate)


@dataclass(frozen=True)
class CollisionAlarm:
    """Thresholds of a collision detector.

    Attributes
    ----------
    mean, threshold
        Mean residual without contact, and distance from it that raises the alarm, shape (n,), N·m.
    false_alarms_per_hour
        Expected number of alarms without contact, for residuals that are a Gaussian process with one time constant.
    """

    mean: FloatArray
    threshold: FloatArray
    false_alarms_per_hour: float

    def __call__(self, residuals: ArrayLike) -> NDArray[np.bool_]:
        """Whether residuals (..., n) are an alarm, shape (...)."""
        return np.asarray((np.abs(np.asarray(residuals, dtype=np.float64) - self.mean) > self.threshold).any(axis=-1))


def crossing_probability(threshold: ArrayLike, correlation: float) -> FloatArray:
    """Probability that a unit Gaussian sequence goes beyond ±threshold from one sample to the next.

    Examples
    --------
    Without correlation: it is outside with 0.0455, and was inside before.

    >>> float(crossing_probability(2.0, 0.0).round(4))
    0.0434
    """
    a = np.asarray(threshold, dtype=np.float64)[..., None]
    rho = min(max(correlation, -0.999999), 0.999999)
    width = np.sqrt(1.0 - rho**2)  # deviation of the next sample from the mean that this one, x, tells
    middle = np.maximum(a - 10.0 * width / max(abs(rho), 0.1), -a)
    total = np.zeros(a.shape[:-1])
    for low, high in ((-a, middle), (middle, a)):
        x = 0.5 * (low + high) + 0.5 * (high - low) * _NODES
        leaves = norm.sf((a - abs(rho) * x) / width)
        total += np.sum(0.5 * (high - low) * _WEIGHTS * norm.pdf(x) * leaves, axis=-1)
    return np.asarray(2.0 * total)


def _autocorrelation(centred: FloatArray) -> FloatArray:
    """Autocorrelation from lag 1 to the first lag where it is lost, at least one."""
    power = np.abs(np.fft.rfft(centred, 2 * len(centred))) ** 2
    rho = np.fft.irfft(power)[1 : len(centred) // 2] / max(float(np.sum(centred**2)), 1e-300)
    lost = np.flatnonzero(rho < LOST)
    return np.asarray(rho[: max(int(lost[0]) if len(lost) else len(rho), 1)])


def _threshold(autocorrelation: FloatArray, count: int, probability: float) -> float:
    """Threshold, in estimated standard deviations, that is expected to be crossed with this probability in each step.

    The expectation is over the true deviation, of which the estimate from `count` correlated residuals is as good as
    one from `freedom` independent ones. The error of their mean makes that estimate too small, and adds to the
    distance from it.
    """
    correlation = float(autocorrelation[0])
    freedom = count / (1.0 + 2.0 * float(np.sum(autocorrelation**2)))
    ratios = np.sqrt(freedom / chi2.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES, freedom))
    ratios *= np.sqrt(1.0 + 2.0 * (1.0 + 2.0 * float(np.sum(autocorrelation))) / count)

    def excess(threshold: float) -> float:
        crossing = float(np.mean(crossing_probability(threshold / ratios, correlation)))
        return float(np.log(max(crossing, 1e-300)) - np.log(probability))

    if excess(0.5) < 0.0:
        return 0.5
    return float(brentq(excess, 0.5, HIGHEST_THRESHOLD))
