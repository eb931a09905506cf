"""PID control of the joints, with limited torques and an integral that does not wind up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.floating_base import joint_gains, motor_gains, tracking_error
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController
from chasles.engine import clip, where
from chasles.engine.program.scalar import Array, Number, Traced
from chasles.engine.validators import Bound, reals
from chasles.robot.robot import Robot


class PID(RobotController):
    """tau = Kp (q_ref - q) + Ki ∫(q_ref - q) dt + Kd (qd_ref - qd), within the joints' torque limits.

    It requires no model, only the torque limits: the integral finds the torque that holds the weight. Conditional
    anti-windup: a joint's integrator is held while its torque saturates and the error would push it further. Without
    it, the integral would grow during a long saturation and the joint would overshoot until it has unwound. Unlike
    back-calculation, this method has no gain to tune, and the law is unchanged where the limits are not reached.

    Errors of spherical joints are rotation vectors. Free joints, such as a floating base, have no motors.

    Source: Åström and Hägglund, PID Controllers: Theory, Design, and Tuning (1995), on integrator windup.

    Parameters
    ----------
    robot
        Robot to control.
    kp, ki, kd
        Gains in N·m/rad, N·m/(rad·s) and N·m·s/rad, not negative, a scalar or one value per joint (prismatic joints:
        N/m, N/(m s), N·s/m). A single joint of inertia m is stable for ``ki < kp * kd / m`` in continuous time.
    torque_limits
        Largest torques, N·m (N), positive, a scalar or one value per joint; infinite for no limit. Default: the robot's
        `effort_limits`.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.control.PID(ch.load("planar2r"), kp=400.0, ki=400.0, kd=60.0, torque_limits=[100.0, 30.0])
    """

    name = "PID"
    kind = "pid"
    knows = Knowledge("torque limits")
    designs_joints_alone = True
    design_damping = 0.9
    default_integral = 0.25
    kp: Array
    ki: Array
    kd: Array
    torque_limits: Array
    bounds: Mapping[str, Bound] = {**RobotController.bounds, "torque_limits": Bound(above=0.0, infinite=True)}

    def __init__(
        self, robot: Robot, *, kp: ArrayLike, ki: ArrayLike, kd: ArrayLike, torque_limits: ArrayLike | None = None
    ) -> None:
        parameters = motor_gains(robot, kp=kp, ki=ki, kd=kd)
        limits = robot.effort_limits if torque_limits is None else torque_limits
        parameters["torque_limits"] = reals(
            limits, "torque_limits", (robot.n,), broadcast=True, bound=self.bounds["torque_limits"]
        )
        super().__init__(robot, parameters, {"integral": np.zeros(robot.n)})

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return gains that place the poles of each joint as if it moved alone."""
        return joint_gains(design, integral=True)

    def carried(self, q: Array) -> Any:
        """Return torques (n,) that the law adds to those of the error: none."""
        return np.zeros(self.robot.n)

    @property
    def takes_over(self) -> bool:
        """Whether every joint has integral action."""
        return bool((self.ki > 0.0).all())

    def take_over(self, now: Now, tau: Any) -> None:
        """Set the integral for the torques tau."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        proportional = self.kp * error.position + self.kd * error.velocity
        now.memory.integral = (tau - proportional) / self.ki - now.period * error.position

    def law(self, now: Now) -> Any:
        """Return the torques of the law; the memory is the integral of the error by the rectangle rule."""
        (error, rate, _), limits = tracking_error(self.robot, now.q, now.qd, now.reference), self.torque_limits
        proportional = self.kp * error + self.kd * rate + self.carried(now.q)
        wanted = proportional + self.ki * (now.memory.integral + now.period * error)
        now.memory.integral = next_integral(now.memory.integral, error, wanted - saturated(wanted, limits), now.period)
        return saturated(proportional + self.ki * now.memory.integral, limits)


class PIDGravity(PID):
    """tau = Kp (q_ref - q) + Ki ∫(q_ref - q) dt + Kd (qd_ref - qd) + g(q), within the joints' torque limits.

    It requires the gravity torques only: the integral finds what is left of the weight, such as that of a payload.
    Anti-windup and parameters are those of `PID`.

    Source: Siciliano, Sciavicco, Villani and Oriolo, Robotics: Modelling, Planning and Control (2009), section 8.5.1,
    for PD with gravity compensation; Åström and Hägglund (1995) on integrator windup.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> law = ch.control.PIDGravity(arm, kp=400.0, ki=400.0, kd=60.0)
    >>> hold = ch.PointToPoint([0.0, 0.0], [0.0, 0.0], duration=1.0)
    >>> bool(np.allclose(law.evaluate([0.0, 0.0], [0.0, 0.0], hold).tau, arm.gravity_torque([0.0, 0.0])))
    True
    """

    name = "PID + gravity"
    kind = "pid-gravity"
    knows = Knowledge("gravity torques, torque limits")

    def carried(self, q: Array) -> Any:
        """Return the gravity torques (n,)."""
        return self.robot.gravity_torque(q)


def saturated(tau: Array, limits: Array) -> Any:
    """Return torques (n,) within limits (n,); limits of 0 or infinity do not act.

    Examples
    --------
    >>> saturated(np.array([30.0, -30.0, 30.0]), np.array([20.0, 20.0, np.inf]))
    array([ 20., -20.,  30.])
    """
    return np.array([clip(t, -limit, limit) if _is_limit(limit) else t for t, limit in zip(tau, limits, strict=True)])


def next_integral(integral: Array, error: Array, excess: Array, period: float) -> Any:
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


def _is_limit(limit: Number) -> bool:
    return isinstance(limit, Traced) or 0.0 < limit < np.inf
