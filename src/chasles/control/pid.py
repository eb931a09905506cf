"""PID control of the joints, with limited torques and an integral that does not wind up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.arguments import reals
from chasles.control.floating_base import motor_gains, tracking_error
from chasles.control.integral_action import next_integral, saturated
from chasles.control.robot_controller import RobotController
from chasles.robot import Robot
from chasles.trajectories import Motion


class PID(RobotController):
    """tau = Kp (q_ref - q) + Ki ∫(q_ref - q) dt + Kd (qd_ref - qd), within the joints' torque limits.

    It needs to know nothing of the robot but its torque limits: the integral finds out what holds the weight. While a
    joint's torque stands at its limit and the error would drive it further, that joint's integral waits (conditional
    integration). Without this it would grow through a long saturation, and the joint would overshoot until it has
    unwound. Back-calculation, the other remedy, has one more gain to tune for each joint; this one has none, and leaves
    the law as it is wherever the limits are not reached.

    Errors of spherical joints are rotation vectors. Free joints, such as a floating base, have no motors.

    Source: Åström and Hägglund, PID Controllers: Theory, Design, and Tuning (1995), on integrator windup.

    Parameters
    ----------
    robot
        Robot whose joints it moves.
    kp, ki, kd
        Gains in N·m/rad, N·m/(rad·s) and N·m·s/rad, not negative, one number or one for each joint (sliding joints:
        N/m, N/(m s), N·s/m). A joint of inertia m by itself is stable for ``ki < kp * kd / m``.
    torque_limits
        Largest torques, N·m (N), positive, one number or one for each joint; infinite for none. Default: the robot's
        `effort_limits`.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.control.PID(ch.load("planar2r"), kp=400.0, ki=400.0, kd=60.0, torque_limits=[100.0, 30.0])
    """

    name = "PID"

    def __init__(
        self, robot: Robot, *, kp: ArrayLike, ki: ArrayLike, kd: ArrayLike, torque_limits: ArrayLike | None = None
    ) -> None:
        parameters = motor_gains(robot, kp=kp, ki=ki, kd=kd)
        limits = robot.effort_limits if torque_limits is None else torque_limits
        parameters["torque_limits"] = reals(
            limits, "torque_limits", (robot.n,), broadcast=True, above=0.0, infinite=True
        )
        super().__init__(robot, parameters, np.zeros(robot.n))

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law; the memory is the integral of the error by the rectangle rule."""
        (error, rate, _), limits = tracking_error(self.robot, q, qd, reference), parameters["torque_limits"]
        proportional = parameters["kp"] * error + parameters["kd"] * rate
        wanted = proportional + parameters["ki"] * (state + period * error)
        integral = next_integral(state, error, wanted - saturated(wanted, limits), period)
        return saturated(proportional + parameters["ki"] * integral, limits), integral
