"""Computed-torque control, with integral action if wanted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.control.integral_action import next_integral, saturated
from chasles.control.robot_controller import RobotController, gains
from chasles.robot import Robot
from chasles.trajectories import Motion


class ComputedTorque(RobotController):
    """tau = ID(q, qd, qdd_ref + Kd (qd_ref - qd) + Kp (q_ref - q) + Ki ∫(q_ref - q) dt).

    The inverse dynamics ID of the model cancels the robot's own, so that each joint's error obeys the linear equation
    e''' + Kd e'' + Kp e' + Ki e = 0 (without integral e'' + Kd e' + Kp e = 0). It needs to know the whole dynamics. The
    feed-forward variant computes ID(q_ref, qd_ref, …), at the planned motion instead of the measured one: noise of the
    measurements does not enter the model, and the error's equation holds for small errors only. While a joint's torque
    is beyond the model's effort limit and its error drives it further, its integral waits.

    Source: Lynch and Park, Modern Robotics, section 11.4, Motion Control with Torque or Force Inputs.

    Parameters
    ----------
    robot
        The model that the controller believes in; it may differ from the plant.
    kp, kd, ki
        Gains of the error's equation in 1/s², 1/s and 1/s³, not negative, one number or one for each joint. A natural
        frequency w and damping ratio z give ``kp = w**2``, ``kd = 2 * z * w``. Stable for ``ki < kp * kd``.
    feedforward
        Whether the inverse dynamics are those of the planned motion.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.ComputedTorque(ch.load("planar2r"), kp=400.0, kd=40.0)
    """

    name = "computed torque"

    def __init__(
        self, robot: Robot, *, kp: ArrayLike, kd: ArrayLike, ki: ArrayLike = 0.0, feedforward: bool = False
    ) -> None:
        super().__init__(robot, gains(robot.n, kp=kp, kd=kd, ki=ki), np.zeros(robot.n))
        self.feedforward = bool(feedforward)
        if feedforward:
            self.name = "computed torque, feed-forward"

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law; the memory is the integral of the error by the rectangle rule."""
        error = reference.q - q
        integral = state + period * error
        feedback = parameters["kd"] * (reference.qd - qd) + parameters["kp"] * error + parameters["ki"] * integral
        at = (reference.q, reference.qd) if self.feedforward else (q, qd)
        tau = self.robot.inverse_dynamics(*at, reference.qdd + feedback)
        excess = tau - saturated(tau, self.robot.effort_limits)
        return tau, next_integral(state, error, excess, period)
