"""PD control of the joints, without and with gravity compensation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from chasles.control.floating_base import joint_gains, motor_gains, tracking_error
from chasles.control.knowledge import Knowledge
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.robot_controller import RobotController
from chasles.control.supports import Supports
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot


class PD(RobotController):
    """tau = Kp (q_ref - q) + Kd (qd_ref - qd): a spring and a damper in each joint.

    It requires no model, only the number of joints. Without gravity and dry friction, positive gains, equal stiffness
    kp for the axes of a spherical joint, bring every arm to rest at the goal, in continuous time; with gravity the arm
    sags by about Kp⁻¹ g. Source: Takegaki and Arimoto, "A new feedback method for dynamic control of manipulators"
    (1981), for its stability; Lynch and Park, Modern Robotics, section 11.4.

    Errors of spherical joints are rotation vectors. Free joints, such as a floating base, have no motors.

    Parameters
    ----------
    robot
        Robot to control.
    kp, kd
        Stiffness (N·m/rad) and damping (N·m·s/rad), not negative, a scalar or one value per joint (prismatic joints:
        N/m, N·s/m).

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.control.PD(ch.load("planar2r"), kp=400.0, kd=40.0)
    """

    name = "PD"
    kind = "pd"
    knows = Knowledge("nothing")
    designs_joints_alone = True
    design_damping = 0.6
    kp: Array
    kd: Array

    def __init__(self, robot: Robot, *, kp: ArrayLike, kd: ArrayLike) -> None:
        super().__init__(robot, motor_gains(robot, kp=kp, kd=kd))

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return gains that place the poles of each joint as if it moved alone."""
        return joint_gains(design)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        return self.kp * error.position + self.kd * error.velocity


class PDGravity(RobotController):
    """tau = Kp (q_ref - q) + Kd (qd_ref - qd) + g(q).

    It requires the gravity torques only. Source: Takegaki and Arimoto, "A new feedback method for dynamic control of
    manipulators" (1981).

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    kp, kd
        Stiffness (N·m/rad) and damping (N·m·s/rad), not negative, a scalar or one value per joint (prismatic joints:
        N/m, N·s/m).
    supports
        Frames on which a floating base stands. Forces at their origins carry its weight and, with gains (n,), act on it
        as springs and dampers; see `Supports`.

    Examples
    --------
    >>> import chasles as ch
    >>> controller = ch.PDGravity(ch.load("planar2r"), kp=400.0, kd=40.0)
    """

    name = "PD + gravity"
    kind = "pd-gravity"
    knows = Knowledge("gravity torques")
    designs_joints_alone = True
    design_damping = 0.6
    kp: Array
    kd: Array

    def __init__(self, robot: Robot, *, kp: ArrayLike, kd: ArrayLike, supports: Sequence[str] = ()) -> None:
        super().__init__(robot, motor_gains(robot, bool(supports), kp=kp, kd=kd))
        self.supports = Supports(robot, supports)

    @classmethod
    def gains(cls, design: PoleDesign) -> dict[str, Any]:
        """Return gains that place the poles of each joint as if it moved alone."""
        return joint_gains(design)

    def law(self, now: Now) -> Any:
        """Return the torques of the law."""
        error = tracking_error(self.robot, now.q, now.qd, now.reference)
        feedback = self.kp * error.position + self.kd * error.velocity
        return feedback + self.supports.carried(now.q, self.robot.gravity_torque(now.q))
