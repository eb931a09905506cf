"""External torques and collisions from the generalised momentum, without accelerations or force sensors.

The residual r = K (p(t) - p(0) - ∫ (τ + Cᵀq̇ - g - friction + r) dt) follows the external torques as a first-order lag
with the bandwidth K. Source: A. De Luca & R. Mattone, "Sensorless robot collision detection and hybrid force/motion
control" (ICRA 2005); S. Haddadin, A. De Luca & A. Albu-Schäffer, "Robot collisions: a survey on detection, isolation
and identification" (IEEE Trans. Robotics 33(6), 2017).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, IdentificationError
from chasles.control.collision_alarm import CollisionAlarm, alarm_from_residuals
from chasles.control.load_friction import load_friction
from chasles.engine.function import Function, function
from chasles.engine.validators import real, reals, truth
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

LEAST_RESIDUALS = 200
FAST = 1e6
"""Velocity, rad/s or m/s, at which dry friction has passed all transitions."""


class IdentifiedModel(Protocol):
    """Model with the uncertainty of its torques, such as `chasles.identification.Identification`."""

    @property
    def model(self) -> Robot:
        """Identified robot."""

    def torque_deviation(self, q: FloatArray, qd: FloatArray, qdd: FloatArray) -> FloatArray:
        """Standard deviations of the predicted torques along a motion (k, n), shape (k, n)."""


class MomentumObserver:
    """Observer of external joint torques.

    Parameters
    ----------
    robot
        Model, preferably identified: unmodelled torques appear as external torques. A robot, or the result of
        `chasles.identify`, whose covariance then tells how far residuals may be off.
    bandwidth
        Bandwidth K, 1/s: a scalar or shape (n,). Residuals follow external torques with the time constant 1/K.
    period
        Sample period, s; K · period must be below 1.
    commanded
        Whether torques are commands, held from each sample to the next. By default, torques are measured at the
        samples, like positions.

    Attributes
    ----------
    robot, identified
        Model, and the identification that it comes from, or None.
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

    def __init__(
        self, robot: Robot | IdentifiedModel, *, bandwidth: ArrayLike, period: float, commanded: bool = False
    ) -> None:
        self.identified = None if isinstance(robot, Robot) else robot
        self.robot = robot = robot if isinstance(robot, Robot) else robot.model
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
            before, after = self._impulses(tau, drift - load_friction(self.robot, q, qd, tau))
            residual = K * (momentum - integral - before)
            return integral + before + after + self.period * residual, residual

        return momentum_observer

    def _impulses(self, tau: FloatArray, drift: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Impulses of the half periods before and after a sample: the trapezoidal rule, but for held torques."""
        half = 0.5 * self.period
        return half * drift + (0.0 if self.commanded else half) * tau, half * drift + (
            self.period if self.commanded else half
        ) * tau

    def start(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike | None = None) -> FloatArray:
        """Return the integral for which the initial residual is zero, shape (n,).

        Without `tau`, the torques are assumed to hold the robot at rest.
        """
        momentum, drift = (np.asarray(part) for part in self.robot.regressors.momentum_and_drift(q, qd))
        if tau is None:
            return momentum
        torques = reals(tau, "tau", momentum.shape)
        before, _ = self._impulses(torques, drift - load_friction(self.robot, q, qd, torques))
        return momentum - before

    def residuals(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> FloatArray:
        """External torques over a log at the observer's period, shape (k, n), N·m; q, qd and tau have shape (k, n)."""
        positions = reals(q, "q", ("k", self.robot.nq))
        rates = reals(qd, "qd", (len(positions), self.robot.n))
        torques = reals(tau, "tau", rates.shape)
        momenta, drifts = (np.asarray(part) for part in self.robot.regressors.momentum_and_drift(positions, rates))
        before, after = self._impulses(torques, drifts - load_friction(self.robot, positions, rates, torques))
        integral = momenta[0] - before[0]
        estimates = np.empty_like(rates)
        for k in range(len(rates)):  # the law, with the robot's part computed in one call
            estimates[k] = self.bandwidth * (momenta[k] - integral - before[k])
            integral = integral + before[k] + after[k] + self.period * estimates[k]
        return estimates

    def model_deviation(self, q: ArrayLike, qd: ArrayLike) -> FloatArray:
        """Standard deviations of the residuals by the uncertainty of an identified model, shape (k, n), N·m.

        Deviations of the model's torques along the motion, from the covariance of the identification; zeros for a plain
        robot.

        Parameters
        ----------
        q, qd
            Motion at the observer's period, shapes (k, nq) and (k, n).
        """
        positions = reals(q, "q", ("k", self.robot.nq))
        rates = reals(qd, "qd", (len(positions), self.robot.n))
        if self.identified is None or len(rates) < 2:
            return np.zeros_like(rates)
        accelerations = np.gradient(rates, self.period, axis=0)
        return np.asarray(self.identified.torque_deviation(positions, rates, accelerations))

    def stiction_band(self, q: ArrayLike, tau: ArrayLike) -> FloatArray:
        """Largest torques that dry friction may hide while joints rest, shape (..., n), N·m.

        At rest, friction takes any value between minus and plus this band, and residuals may be off by as much: a
        contact that pushes less cannot be told from stiction.

        Parameters
        ----------
        q, tau
            Configurations and motor torques at rest, shapes (..., nq) and (..., n).
        """
        positions = reals(q, "q", (..., self.robot.nq))
        torques = reals(tau, "tau", (*positions.shape[:-1], self.robot.n))
        return self._stiction(positions, self.robot.transmitted_torque(positions, 0.0 * torques, torques))

    def _stiction(self, q: Any, load: Any) -> FloatArray:
        """Friction of fast joints without its viscous part, shape (..., n): the mean size of both directions."""
        sizes = []
        for velocity in (FAST, -FAST):
            once, twice = (
                np.asarray(self.robot.loaded_friction_torque(q, k * velocity + 0.0 * load, load)) for k in (1.0, 2.0)
            )
            sizes.append(np.abs(2.0 * once - twice))
        return np.asarray(0.5 * (sizes[0] + sizes[1]))

    def alarm(
        self,
        residuals: ArrayLike,
        qd: ArrayLike | None = None,
        *,
        q: ArrayLike | None = None,
        false_alarms_per_hour: float = 1.0,
    ) -> CollisionAlarm:
        """Return alarm thresholds from residuals of a motion without contact.

        Thresholds are extrapolated from the largest residuals, so they hold for whatever distribution these have, and
        allow for how few they are: the number of false alarms is what is to be expected. Alarms that follow each other
        within the correlation time of the residuals count as one.

        Parameters
        ----------
        residuals
            Residuals, shape (k, n), of motions as those in which the alarm is to watch.
        qd
            Joint velocities, shape (k, n). With them joints have thresholds of their own near rest, where friction is
            known least, if the record shows that 20 times.
        q
            Configurations, shape (k, nq). With them and `qd`, thresholds of an identified model allow for its
            covariance: they are higher in motions that its log did not determine.
        false_alarms_per_hour
            Expected number of alarms without contact, of all joints together.

        Raises
        ------
        IdentificationError
            If there are too few independent residuals.

        Notes
        -----
        S. Coles, "An introduction to statistical modeling of extreme values" (Springer, 2001), ch. 4, 5 and 9.
        """
        quiet = reals(residuals, "residuals", ("k", self.robot.n))
        rate = real(false_alarms_per_hour, "false_alarms_per_hour", above=0.0)
        rates = None if qd is None else reals(qd, "qd", quiet.shape)
        if len(quiet) < LEAST_RESIDUALS:
            raise IdentificationError(f"{len(quiet)} residuals are too few; at least {LEAST_RESIDUALS} are needed")
        deviation = np.zeros_like(quiet)
        if q is not None and rates is not None:
            deviation = self.model_deviation(q, rates)
        stiction = self._stiction(np.asarray(self.robot.home), np.zeros(self.robot.n))
        return alarm_from_residuals(
            quiet, rates, deviation, false_alarms_per_hour=rate, period=self.period,
            bandwidth=float(self.bandwidth.min()), friction=stiction,
        )  # fmt: skip
