"""Velocities from encoders alone, for any law: filtered differences, a Kalman filter, an observer of momenta.

All begin with the first position that they see and the velocity 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.now import MotorReading, Now
from chasles.control.pid import saturated
from chasles.control.python_law import as_controller
from chasles.control.robot_controller import RobotController
from chasles.engine import exp, maximum, where
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, POSITIVE, Bound, reals
from chasles.robot.robot import Robot

#: r of `KalmanVelocity` at which its two poles, the roots of z² + (1 + r² - 4 r) z + r², meet.
_FASTEST = 3.0 - math.sqrt(8.0)


class VelocityEstimate(RobotController):
    """Base of the wrappers: an inner law that gets estimated velocities in place of those of the call.

    The estimate belongs to the loop: `chasles.control.loop_margins` and `chasles.control.loop_response` include it.

    Parameters
    ----------
    robot
        Model of the robot.
    inner
        Controller or function that reads velocities; its gains are ``inner.kp``, ….
    values
        Parameters of the estimate by name, each (n,).
    memory
        Parts of its memory, each (n,).

    Raises
    ------
    ArgumentError
        The robot has spherical or free joints, or loops.
    """

    estimate_name: ClassVar[str]
    inner: Controller

    def __init__(
        self,
        robot: Robot,
        inner: Controller | Callable[..., Any],
        values: Mapping[str, ArrayLike],
        memory: tuple[str, ...],
    ) -> None:
        if robot.nq != robot.n:
            raise ArgumentError(
                f"{type(self).__name__} estimates velocities of revolute and prismatic joints only; robot "
                f"'{robot.name}' has spherical or free joints, or loops"
            )
        law = as_controller(inner)
        settings = {name: reals(value, name, (robot.n,), broadcast=True) for name, value in values.items()}
        states = {name: np.zeros(robot.n) for name in memory}
        super().__init__(robot, settings, {**states, "started": np.zeros(()), "inner": law.memory})
        self.inner = law
        self.name = f"{law.name}, {self.estimate_name}"
        self.reference_kind, self.follows_reference = law.reference_kind, law.follows_reference
        self.measured_wrench, self.traceable = law.measured_wrench, law.traceable

    @abstractmethod
    def corrected(self, now: Now, running: Any) -> tuple[Array, ...]:
        """Return velocity (n,) and further estimates from the position and the memory; `running` after the first call.

        In traceable arithmetic.
        """

    def motors(self, now: Now) -> MotorReading | None:
        """Return the motor sides of elastic joints that the inner law gets: those of the call."""
        return now.motors

    def predict(self, now: Now, estimates: tuple[Array, ...], tau: Array) -> None:
        """Assign the memory for the next call, from the estimates and the torques (n,) until then."""

    def law(self, now: Now) -> Any:
        """Return the inner law's torques at the estimated velocities."""
        estimates = self.corrected(now, now.memory.started > 0.5)
        tau = self.inner.law(now.of("inner", qd=estimates[0], motors=self.motors(now)))
        self.predict(now, estimates, tau)
        now.memory.started = 1.0
        return tau

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={getattr(self, name).tolist()}" for name in self.varies)
        return f"{type(self).__name__}({self.inner!r}, {values})"


class DifferencedVelocity(VelocityEstimate):
    """v[k] = v[k-1] + T / (T + T_f) ((q[k] - q[k-1]) / T - v[k-1]): differences behind a first-order filter.

    Half a period late, and the filter's time constant later. It requires no model. Laws that measure the motor sides of
    elastic joints get the speeds of these in the same way.

    Source: Franklin, Powell and Workman, Digital Control of Dynamic Systems (1998), section 6.1, backward rectangular
    rule, for s / (T_f s + 1).

    Parameters
    ----------
    robot
        Robot to control.
    inner
        Controller or function that reads velocities; its gains are ``inner.kp``, ….
    filter_time
        Time constant T_f, s, a scalar or one value per joint; 0 for plain differences.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> law = DifferencedVelocity(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), filter_time=0.002)
    >>> law.name
    'computed torque, differenced velocity'
    """

    estimate_name = "differenced velocity"
    filter_time: Array
    bounds: Mapping[str, Bound] = {"filter_time": NOT_NEGATIVE}

    def __init__(self, robot: Robot, inner: Controller | Callable[..., Any], *, filter_time: ArrayLike = 0.0) -> None:
        law = as_controller(inner)
        motors = ("motor_last", "motor_velocity") if law.reads_motors else ()
        super().__init__(robot, law, {"filter_time": filter_time}, ("last", "velocity", *motors))

    def corrected(self, now: Now, running: Any) -> tuple[Array, ...]:
        """Return the filtered difference."""
        memory = now.memory
        velocity = self._filtered(now, now.q, memory.last, memory.velocity, running)
        memory.last, memory.velocity = now.q, velocity
        return (velocity,)

    def motors(self, now: Now) -> MotorReading | None:
        """Return the motor sides with filtered differences of their positions as speeds."""
        if now.motors is None:
            return None
        memory, q = now.memory, now.motors.q
        velocity = self._filtered(now, q, memory.motor_last, memory.motor_velocity, memory.started > 0.5)
        memory.motor_last, memory.motor_velocity = q, velocity
        return MotorReading(q, velocity)

    def _filtered(self, now: Now, q: Array, last: Array, velocity: Array, running: Any) -> Any:
        share = now.period / (now.period + self.filter_time)
        filtered = velocity + share * ((q - last) / now.period - velocity)
        return np.asarray(where(running, filtered, 0.0))


class KalmanVelocity(VelocityEstimate):
    """Stationary Kalman filter of positions: the model predicts with the torques sent, encoders correct.

    With the model's accelerations a from the estimates, q⁻ = q̂ + h v̂ + h² a / 2 and v⁻ = v̂ + h a, and from the position
    q that is read q̂ = q⁻ + (1 - r²)(q - q⁻), v̂ = v⁻ + 2 (1 - r)² (q - q⁻) / h with r = exp(-bandwidth h / √2). They are
    the gains of the Kalman filter of a mass under an unknown acceleration, constant for a period and independent
    between periods; `bandwidth` stands for the ratio of its deviation to that of the encoder. The errors decay as
    those of a second-order system of this natural frequency and the damping ratio 1/√2. The filter is no faster than
    with r = 3 - √8, its fastest decay: beyond it the errors alternate, and end in those of a pole at -1.

    A constant unknown torque d leaves the velocity wrong by about √2 M⁻¹ d / bandwidth: `MomentumVelocity` estimates
    it. It requires the full dynamic model and the torques that act; the model's effort limits are taken into account,
    a delay is not.

    Source: Kalata, "The tracking index: a generalized parameter for α-β and α-β-γ target trackers", IEEE Trans.
    Aerospace and Electronic Systems 20(2), 1984, for the gains in closed form.

    Parameters
    ----------
    robot
        Model of the robot.
    inner
        Controller or function that reads velocities; its gains are ``inner.kp``, ….
    bandwidth
        Natural frequency of the filter, rad/s, a scalar or one value per joint; well above that of the law.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = KalmanVelocity(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), bandwidth=200.0)
    >>> bool(abs(ch.simulate(arm, law, motion, period=0.005).error).max() < 2e-3)
    True
    """

    estimate_name = "Kalman filter for velocities"
    bandwidth: Array
    bounds: Mapping[str, Bound] = {"bandwidth": POSITIVE}

    def __init__(self, robot: Robot, inner: Controller | Callable[..., Any], *, bandwidth: ArrayLike) -> None:
        super().__init__(robot, inner, {"bandwidth": bandwidth}, ("position", "velocity"))

    def corrected(self, now: Now, running: Any) -> tuple[Array, ...]:
        """Return velocity and position."""
        memory, r = now.memory, maximum(exp(-self.bandwidth * now.period / math.sqrt(2.0)), _FASTEST)
        miss = now.q - memory.position
        velocity = memory.velocity + 2.0 * (1.0 - r) ** 2 * miss / now.period
        position = memory.position + (1.0 - r**2) * miss
        return where(running, velocity, 0.0), where(running, position, now.q)

    def motors(self, now: Now) -> MotorReading | None:
        """Return the motor sides of elastic joints that the inner law gets: those of the call."""
        return now.motors

    def predict(self, now: Now, estimates: tuple[Array, ...], tau: Array) -> None:
        """Predict position and velocity by the model."""
        velocity, position = estimates
        acting = saturated(tau, self.robot.effort_limits)
        now.memory.position, now.memory.velocity = _predicted(self.robot, now.period, position, velocity, acting)


class MomentumVelocity(VelocityEstimate):
    """Observer of the momenta p = M q̇ with the unknown torques d as states: velocities without a lasting error.

    The prediction is that of `KalmanVelocity` with the torques tau + d̂. From the position q that is read,
    q̂ = q⁻ + (1 - r³)(q - q⁻), M v̂ = M v⁻ + 1.5 (1 - r)² (1 + r) M (q - q⁻) / h and d̂ = d⁻ + (1 - r)³ M (q - q⁻) / h²
    with r = exp(-bandwidth h): all three errors of each joint decay with the pole r. Constant unknown torques, such as
    a payload's weight, leave no error. It requires the full dynamic model and the torques that act; the model's effort
    limits are taken into account, a delay is not.

    Source: Brookner, Tracking and Kalman Filtering Made Easy (1998), critically damped g-h-k filter, for the gains;
    De Luca and Mattone, ICRA 2005, for unknown torques from momenta.

    Parameters
    ----------
    robot
        Model of the robot.
    inner
        Controller or function that reads velocities; its gains are ``inner.kp``, ….
    bandwidth
        Rate at which the errors decay, 1/s, a scalar or one value per joint; well above the frequency of the law.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = MomentumVelocity(arm, ch.ComputedTorque(arm, kp=400.0, kd=40.0), bandwidth=200.0)
    >>> run = ch.simulate(arm.with_payload(1.0), law, motion, duration=1.5, record=ch.Recording(memory=True))
    >>> float(abs(run.error.isel(time=-1)).max()) < 0.15
    True
    """

    estimate_name = "momentum observer for velocities"
    bandwidth: Array
    bounds: Mapping[str, Bound] = {"bandwidth": POSITIVE}

    def __init__(self, robot: Robot, inner: Controller | Callable[..., Any], *, bandwidth: ArrayLike) -> None:
        super().__init__(robot, inner, {"bandwidth": bandwidth}, ("position", "velocity", "disturbance"))

    def corrected(self, now: Now, running: Any) -> tuple[Array, ...]:
        """Return velocity, position and unknown torques."""
        memory, r, h = now.memory, exp(-self.bandwidth * now.period), now.period
        miss = np.asarray(now.q - memory.position)
        velocity = memory.velocity + 1.5 * (1.0 - r) ** 2 * (1.0 + r) * miss / h
        position = memory.position + (1.0 - r**3) * miss
        disturbance = memory.disturbance + self.robot.mass_matrix(now.q) @ ((1.0 - r) ** 3 * miss / h**2)
        return where(running, velocity, 0.0), where(running, position, now.q), where(running, disturbance, 0.0)

    def motors(self, now: Now) -> MotorReading | None:
        """Return the motor sides of elastic joints that the inner law gets: those of the call."""
        return now.motors

    def predict(self, now: Now, estimates: tuple[Array, ...], tau: Array) -> None:
        """Predict position and velocity by the model; the unknown torques stay."""
        velocity, position, disturbance = estimates
        acting = saturated(tau, self.robot.effort_limits) + disturbance
        now.memory.position, now.memory.velocity = _predicted(self.robot, now.period, position, velocity, acting)
        now.memory.disturbance = disturbance


def _predicted(robot: Robot, period: float, position: Array, velocity: Array, tau: Array) -> tuple[Array, Array]:
    """Position and velocity (n,) a period later, at a constant acceleration."""
    acceleration = np.asarray(robot.forward_dynamics(position, velocity, tau))
    return position + period * velocity + 0.5 * period**2 * acceleration, velocity + period * acceleration
