"""Base of controllers in Cartesian space: the frame, its components, and the motion of redundant joints."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control.floating_base import ReducedDynamics, is_floating
from chasles.control.friction_rate import friction_feedback_warning
from chasles.control.now import Now
from chasles.control.pole_design import PoleDesign
from chasles.control.pose_feedback import OrientationError, acceleration_feedback, require_orientation_error
from chasles.control.robot_controller import RobotController
from chasles.control.task_space import TaskMotion, TaskSpace, pose_reference
from chasles.engine.program.scalar import Array
from chasles.engine.validators import NOT_NEGATIVE, Bound, reals
from chasles.robot.robot import Robot
from chasles.trajectories.motion import Motion, PoseMotion


class TaskOptions(TypedDict, total=False):
    """Keywords that all controllers in Cartesian space take; see `CartesianController`."""

    target: str
    components: tuple[str, ...] | list[str] | None
    nullspace_damping: ArrayLike
    nullspace_stiffness: ArrayLike
    posture: ArrayLike | None
    threshold: float
    largest_damping: float


class CartesianController(RobotController):
    """Base of controllers that move a frame; their reference is a Cartesian trajectory, or one of joints that moves it.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    gains
        Parameters of the controller itself, by name.
    memory
        Named parts of the memory at the start.
    target
        Name of the frame; default the tool.
    components
        Which of its components are controlled, out of ``"rx", "ry", "rz", "x", "y", "z"`` in world axes; default all.
        An arm with fewer joints chooses as many as it can move: ``components=("x", "y")`` for a planar arm.
    nullspace_damping, nullspace_stiffness
        Rate at which motion that the frame's components do not see dies out, 1/s, and gain with which it leads to a
        posture, 1/s². Redundant arms have such motion.
    posture
        Configuration that redundant joints lead to, (nq,); default the robot's home.
    threshold, largest_damping
        Singular value below which inverses are damped, and their largest damping; see `TaskSpace`.
    """

    #: Keywords that the constructor passes on, for those who ask for its signature.
    further_keywords: ClassVar[tuple[str, ...]] = tuple(TaskOptions.__annotations__)
    #: Kind of the reference; a joint motion is converted to that of the frame.
    reference_kind = "pose"
    nullspace_damping: Array
    nullspace_stiffness: Array
    posture: Array
    bounds: Mapping[str, Bound] = {
        **RobotController.bounds,
        "nullspace_damping": NOT_NEGATIVE,
        "nullspace_stiffness": NOT_NEGATIVE,
    }

    def __init__(
        self,
        robot: Robot,
        gains: Mapping[str, NDArray[np.float64]],
        memory: Mapping[str, Any] = MappingProxyType({}),
        *,
        target: str = "tool",
        components: tuple[str, ...] | list[str] | None = None,
        nullspace_damping: ArrayLike = 10.0,
        nullspace_stiffness: ArrayLike = 0.0,
        posture: ArrayLike | None = None,
        threshold: float = 0.06,
        largest_damping: float = 0.1,
    ) -> None:
        own_gains = {
            "nullspace_damping": reals(nullspace_damping, "nullspace_damping", ()),
            "nullspace_stiffness": reals(nullspace_stiffness, "nullspace_stiffness", ()),
            "posture": reals(robot.home if posture is None else posture, "posture", (robot.nq,)),
        }
        super().__init__(robot, {**gains, **own_gains}, memory)
        self.task = TaskSpace(robot, target, components, threshold=threshold, largest_damping=largest_damping)

    @property
    def target(self) -> str:
        """Name of the frame."""
        return self.task.target

    def period_warning(self, period: float) -> str | None:
        """Whether friction is fed back too strongly: Cartesian laws compensate it at the measured velocity."""
        instead = "shorten the period, or give the controller a model with less friction (robot.with_friction(…))"
        return friction_feedback_warning(self.robot, period, instead)

    def wanted(self, reference: Motion | PoseMotion) -> PoseMotion:
        """Motion of the frame that a reference asks for."""
        return pose_reference(self.robot, reference, self.task.target)

    def idle(self, now: Now) -> Any:
        """Joint accelerations (n,) where the frame's components leave them free."""
        return self.nullspace_stiffness * self.towards_posture(now.q) - self.nullspace_damping * now.qd

    def accelerating(self, now: Now, frame: TaskMotion, a: Array, wrench: Array | None = None) -> Any:
        """Torques (n,) that give the controlled components the acceleration a (6,), against a wrench (6,) on the frame.

        A floating base moves as the joints and the wrench make it move.
        """
        idle = self.idle(now)
        J, missing = self.task.select(frame.J), self.task.select(a - frame.drift)
        external = 0.0 if wrench is None else frame.J.T @ wrench
        if is_floating(self.robot):
            reduced = ReducedDynamics.at(self.robot, now.q, now.qd, external)
            relative = missing - reduced.drift(J)
            return reduced.torques(self.task.inverted(reduced.jacobian(J), relative, idle[reduced.motors]))
        return self.robot.inverse_dynamics(now.q, now.qd, self.task.inverted(J, missing, idle)) - external

    def towards_posture(self, q: Array) -> Any:
        """Displacement (n,) from q to the posture."""
        robot, posture = self.robot, self.posture
        return posture - q if robot.nq == robot.n else np.asarray(robot.difference(q, posture))


class AcceleratedFrame(CartesianController):
    """Base of laws that give the frame the acceleration with which the error of its pose decays.

    Parameters
    ----------
    robot
        Controller's model of the robot.
    kp, kd
        Gains of position and velocity: numbers or (3,), 1/s² and 1/s.
    kp_orientation, kd_orientation
        Gains of the orientation; default those of the position.
    orientation_error
        ``"quaternion"`` or ``"logarithm"``; see `ResolvedAcceleration`.
    **task
        See `CartesianController`.
    """

    kp: Array
    kd: Array

    def __init__(
        self,
        robot: Robot,
        *,
        kp: ArrayLike,
        kd: ArrayLike,
        kp_orientation: ArrayLike | None = None,
        kd_orientation: ArrayLike | None = None,
        orientation_error: OrientationError = "quaternion",
        **task: Unpack[TaskOptions],
    ) -> None:
        require_orientation_error(orientation_error)
        self.orientation_error = orientation_error
        super().__init__(robot, {"kp": six(kp_orientation, kp, "kp"), "kd": six(kd_orientation, kd, "kd")}, **task)

    def frame_acceleration(self, now: Now) -> tuple[TaskMotion, Any]:
        """Motion of the frame, and the acceleration (6,) that it shall have, angular part first."""
        frame, desired = self.task.motion(now.q, now.qd), self.wanted(now.reference)
        return frame, acceleration_feedback(frame.pose, frame.twist, desired, self.kp, self.kd, self.orientation_error)


def six(angular: ArrayLike | None, linear: ArrayLike, name: str) -> NDArray[np.float64]:
    """Gains (6,) of a frame, angular part first, from those of position and, if they differ, of orientation.

    >>> six(None, 4.0, "kp")
    array([4., 4., 4., 4., 4., 4.])
    """
    moving = reals(linear, name, (3,), broadcast=True, at_least=0.0)
    turning = moving if angular is None else reals(angular, f"{name}_orientation", (3,), broadcast=True, at_least=0.0)
    return np.concatenate([turning, moving])


def frame_gains(design: PoleDesign) -> dict[str, float]:
    """Gains kp and kd with which the error of a frame obeys the equation of a unit mass."""
    gains = design.gains(design.attainable)
    return {"kp": gains.kp, "kd": gains.kd}
