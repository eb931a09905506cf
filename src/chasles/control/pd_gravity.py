"""PD control with gravity compensation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from chasles.control.floating_base import motor_gains, tracking_error
from chasles.control.robot_controller import RobotController
from chasles.control.supports import Supports
from chasles.robot import Robot
from chasles.trajectories import Motion


class PDGravity(RobotController):
    """tau = Kp (q_ref - q) + Kd (qd_ref - qd) + g(q).

    It needs to know the robot's gravity torques only. Source: Takegaki and Arimoto, "A new feedback method for dynamic
    control of manipulators" (1981).

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd
        Stiffness (N·m/rad) and damping (N·m·s/rad), not negative, one number or one for each joint (sliding joints:
        N/m, N·s/m).
    supports
        Frames on which a floating base stands. Forces at their origins carry its weight, and act as springs and dampers
        on it where gains (n,) say so; see `Supports`.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.PDGravity(ch.load("planar2r"), kp=400.0, kd=40.0)
    """

    name = "PD + gravity"

    def __init__(self, robot: Robot, *, kp: ArrayLike, kd: ArrayLike, supports: Sequence[str] = ()) -> None:
        super().__init__(robot, motor_gains(robot, bool(supports), kp=kp, kd=kd))
        self.supports = Supports(robot, supports)

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law; there is no memory."""
        error = tracking_error(self.robot, q, qd, reference)
        feedback = parameters["kp"] * error.position + parameters["kd"] * error.velocity
        return feedback + self.supports.carried(q, self.robot.gravity_torque(q)), state
