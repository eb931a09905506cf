"""Nominal torques of a planned motion, with optional PD feedback."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from chasles.control.floating_base import motor_gains, tracking_error
from chasles.control.now import Now
from chasles.control.robot_controller import RobotController
from chasles.control.supports import Supports
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot


class NominalTorque(RobotController):
    """tau = ID(q_ref, qd_ref, qdd_ref) + Kp (q_ref - q) + Kd (qd_ref - qd).

    The first term depends on the planned motion alone. Without feedback (the default gains are 0), the robot follows
    the motion only if it starts on it, matches the model and is not disturbed. It requires the full dynamic model, but
    only before the motion starts.

    Source: the feed-forward part of Mazure's strategy (nominal torques from the Newton–Euler recursion of Luh, Walker
    and Paul, and a regulator on the perturbations); with PD, feed-forward plus feedback control as in Lynch and Park,
    Modern Robotics, chapter 11.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd
        Stiffness (N·m/rad) and damping (N·m·s/rad), not negative, a scalar or one value per joint (prismatic joints:
        N/m, N·s/m).
    supports
        Frames on which a floating base stands; see `Supports`. Without supports the base moves in reaction to the
        joints.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> run = ch.simulate(arm, ch.control.NominalTorque(arm), motion)  # nothing in its way
    >>> float(abs(run.error).max()) < 0.01
    True
    """

    name = "nominal torque"
    kind = "nominal-torque"
    kp: Array
    kd: Array

    def __init__(self, robot: Robot, *, kp: ArrayLike = 0.0, kd: ArrayLike = 0.0, supports: Sequence[str] = ()) -> None:
        super().__init__(robot, motor_gains(robot, kp=kp, kd=kd))
        self.supports = Supports(robot, supports)
        if self.kp.any() or self.kd.any():
            self.name = "nominal torque + PD"

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        feedback = self.kp * error.position + self.kd * error.velocity
        return self.supports.torques(*now.reference) + feedback
