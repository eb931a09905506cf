"""Tasks of frames: poses, positions and orientations to reach, in the world or in another frame."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine.function import inlined
from chasles.geometry import (
    inverse_left_jacobian_pose,
    inverse_left_jacobian_rotation,
    log_pose,
    log_rotation,
    relative_pose,
)
from chasles.geometry.elementary import Array, ReferenceFrame, adjoint
from chasles.inverse_kinematics.differential.task import (
    Equation,
    FormulaTask,
    finite_number,
    goal_of_task,
    row_weights,
    twist_weights,
)
from chasles.mechanics import Mechanics


@dataclass
class FrameTask(FormulaTask):
    """Bring a frame to a pose.

    Parameters
    ----------
    T_world_goal
        Pose to reach, shape (4, 4); it may be replaced between steps.
    target
        Name of the frame.
    position_cost, orientation_cost
        Costs per 1 m/s and 1 rad/s of twist error; one number or three for the frame's axes. 0 leaves a
        direction free; see also `PositionTask` and `OrientationTask`.
    gain
        Rate at which the error decays, 1/s.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> FrameTask(arm.forward_kinematics([0.0, 0.0]), orientation_cost=0.0).equation(arm, np.zeros(2)).b
    array([0., 0., 0., 0., 0., 0.])
    """

    T_world_goal: ArrayLike
    target: str = "tool"
    position_cost: float | ArrayLike = 1.0
    orientation_cost: float | ArrayLike = 1.0
    gain: float = 10.0

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Name of the frame."""
        return (self.target,)

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Goal, weights (6,) and gain."""
        goal = goal_of_task(self.T_world_goal, "T_world_goal", (4, 4))
        return goal, twist_weights(self.orientation_cost, self.position_cost), finite_number(self.gain, "gain")

    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return the equation for the frame's error in its own axes."""
        goal, weight, gain = numbers
        T, J = _motion(robot, q, "body", self.target)
        return _pose_equation(T, J, goal, weight, gain)


@dataclass
class RelativeFrameTask(FormulaTask):
    """Bring a frame to a pose that is given in another frame of the robot, such as one hand in the axes of the other.

    Parameters
    ----------
    T_reference_goal
        Pose to reach, in the axes of the reference, shape (4, 4); it may be replaced between steps.
    target
        Name of the frame.
    reference
        Name of the frame in whose axes the goal is given.
    position_cost, orientation_cost, gain
        See `FrameTask`.

    Examples
    --------
    The tool relative to the first rod moves with the second joint alone:

    >>> import chasles as ch
    >>> task = RelativeFrameTask(np.eye(4), target="tool", reference="link1")
    >>> task.equation(ch.load("planar2r"), np.zeros(2)).J.round(9)[5] + 0.0
    array([0., 0.])
    """

    T_reference_goal: ArrayLike
    target: str
    reference: str
    position_cost: float | ArrayLike = 1.0
    orientation_cost: float | ArrayLike = 1.0
    gain: float = 10.0

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Names of the frames."""
        return self.target, self.reference

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Goal, weights (6,) and gain."""
        goal = goal_of_task(self.T_reference_goal, "T_reference_goal", (4, 4))
        return goal, twist_weights(self.orientation_cost, self.position_cost), finite_number(self.gain, "gain")

    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return the equation for the frame's error in its own axes."""
        goal, weight, gain = numbers
        T_world_target, J_target = _motion(robot, q, "body", self.target)
        T_world_reference, J_reference = _motion(robot, q, "body", self.reference)
        T_target_reference = np.asarray(relative_pose(T_world_target, T_world_reference))
        # Twist of the target relative to the reference, in the target's axes.
        J = J_target - adjoint(T_target_reference) @ J_reference
        return _pose_equation(np.asarray(relative_pose(T_world_reference, T_world_target)), J, goal, weight, gain)


@dataclass
class PositionTask(FormulaTask):
    """Bring a frame's origin to a place, whatever its orientation.

    Parameters
    ----------
    p_world_goal
        Place to reach, shape (3,), m; it may be replaced between steps.
    target
        Name of the frame.
    cost
        Cost per 1 m/s of velocity error; one number or three for the world's axes.
    gain
        Rate at which the error decays, 1/s.

    Examples
    --------
    >>> import chasles as ch
    >>> PositionTask([0.75, 0.1, 0.0], gain=2.0).equation(ch.load("planar2r"), np.zeros(2)).b
    array([0. , 0.2, 0. ])
    """

    p_world_goal: ArrayLike
    target: str = "tool"
    cost: float | ArrayLike = 1.0
    gain: float = 10.0

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Name of the frame."""
        return (self.target,)

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Goal, weights (3,) and gain."""
        return (
            goal_of_task(self.p_world_goal, "p_world_goal", (3,)),
            row_weights(self.cost),
            finite_number(self.gain, "gain"),
        )

    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return the equation for the velocity of the frame's origin, in world axes."""
        goal, weight, gain = numbers
        T, J = _motion(robot, q, "world-aligned", self.target)
        return Equation(J[3:], gain * (goal - T[:3, 3]), weight)


@dataclass
class OrientationTask(FormulaTask):
    """Bring a frame to an orientation, wherever it is.

    Parameters
    ----------
    R_world_goal
        Rotation to reach, shape (3, 3); it may be replaced between steps.
    target
        Name of the frame.
    cost
        Cost per 1 rad/s of angular velocity error; one number or three for the frame's axes.
    gain
        Rate at which the error decays, 1/s.

    Examples
    --------
    >>> import chasles as ch
    >>> OrientationTask(np.eye(3)).equation(ch.load("planar2r"), np.array([0.1, 0.0])).b.round(6) + 0.0
    array([ 0.,  0., -1.])
    """

    R_world_goal: ArrayLike
    target: str = "tool"
    cost: float | ArrayLike = 1.0
    gain: float = 10.0

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Name of the frame."""
        return (self.target,)

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Goal, weights (3,) and gain."""
        return (
            goal_of_task(self.R_world_goal, "R_world_goal", (3, 3)),
            row_weights(self.cost),
            finite_number(self.gain, "gain"),
        )

    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return the equation for the frame's angular velocity, in its own axes."""
        goal, weight, gain = numbers
        T, J = _motion(robot, q, "body", self.target)
        error = np.asarray(log_rotation(T[:3, :3].T @ goal))
        # The rotation vector e of Rᵀ goal changes by -J_l⁻¹(e) ω with the body's angular velocity ω.
        return Equation(inverse_left_jacobian_rotation(error) @ J[:3], gain * error, weight)


def _motion(robot: Mechanics, q: Array, frame: ReferenceFrame, target: str) -> tuple[Array, Array]:
    """Pose and Jacobian of a frame."""
    T, J = inlined(robot.pose_and_jacobian.specialize(frame=frame, target=target), q)
    return np.asarray(T), np.asarray(J)


def _pose_equation(T: Array, J: Array, goal: Array, weight: Array, gain: Array) -> Equation:
    """Equation for the body twist J q̇ that takes the pose T to a goal in the same axes."""
    error = np.asarray(log_pose(relative_pose(T, goal)))
    # T⁻¹ goal = exp(e): a body twist V of the frame changes it to exp(-V dt) exp(e), whose logarithm is
    # e - J_l⁻¹(e) V dt.
    return Equation(np.asarray(inverse_left_jacobian_pose(error)) @ J, gain * error, weight)
