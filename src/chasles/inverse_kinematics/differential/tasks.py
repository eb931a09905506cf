"""Tasks: what a step of the robot should do, as linear equations for the joint rates, with a cost for missing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import reals
from chasles.geometry import (
    inverse_left_jacobian_pose,
    inverse_left_jacobian_rotation,
    log_pose,
    log_rotation,
    relative_pose,
)
from chasles.mechanics import Mechanics

Vector = NDArray[np.float64]


class Equation(NamedTuple):
    """Rows J and values b of ``J q̇ = b``, each row with its weight."""

    J: Vector
    b: Vector
    weight: Vector


class Task(Protocol):
    """Anything that gives an equation for the joint rates at a configuration."""

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation, for rates in rad/s (m/s for prismatic joints)."""
        ...


@dataclass
class FrameTask:
    """Bring a frame to a pose.

    Parameters
    ----------
    T_world_goal
        Pose to reach, shape (4, 4); it may be replaced between steps.
    target
        Name of the frame.
    position_cost, orientation_cost
        Costs of missing 1 m/s and 1 rad/s of the wanted twist; one number or three for the frame's axes. 0 leaves a
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

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation for the frame's error in its own axes."""
        goal = reals(self.T_world_goal, "T_world_goal", (4, 4))
        T, J = robot.pose_and_jacobian(q, frame="body", target=self.target)
        error = log_pose(relative_pose(T, goal))
        # T⁻¹ goal = exp(e): a body twist V of the frame changes it to exp(-V dt) exp(e), whose logarithm is
        # e - J_l⁻¹(e) V dt.
        weight = np.concatenate([_costs(self.orientation_cost), _costs(self.position_cost)])
        return Equation(inverse_left_jacobian_pose(error) @ J, self.gain * error, weight)


@dataclass
class PositionTask:
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

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation for the velocity of the frame's origin, in world axes."""
        goal = reals(self.p_world_goal, "p_world_goal", (3,))
        T, J = robot.pose_and_jacobian(q, frame="world-aligned", target=self.target)
        return Equation(J[3:], self.gain * (goal - T[:3, 3]), _costs(self.cost))


@dataclass
class OrientationTask:
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

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation for the frame's angular velocity, in its own axes."""
        goal = reals(self.R_world_goal, "R_world_goal", (3, 3))
        T, J = robot.pose_and_jacobian(q, frame="body", target=self.target)
        error = log_rotation(T[:3, :3].T @ goal)
        # The rotation vector e of Rᵀ goal changes by -J_l⁻¹(e) ω with the body's angular velocity ω.
        return Equation(inverse_left_jacobian_rotation(error) @ J[:3], self.gain * error, _costs(self.cost))


@dataclass
class PostureTask:
    """Bring the joints to a posture (n,), at a gain (1/s) and a cost of missing 1 rad/s.

    >>> import chasles as ch
    >>> PostureTask([1.0, 0.0], gain=2.0).equation(ch.load("planar2r"), np.zeros(2)).b
    array([2., 0.])
    """

    posture: ArrayLike
    cost: float = 1e-2
    gain: float = 1.0

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return one row for each joint."""
        posture = reals(self.posture, "posture", q.shape)
        return Equation(np.eye(len(q)), self.gain * (posture - q), np.full(len(q), self.cost**2))


@dataclass
class DampingTask:
    """Move the joints as little as possible, at a cost for 1 rad/s.

    >>> import chasles as ch
    >>> DampingTask(0.1).equation(ch.load("planar2r"), np.zeros(2)).weight
    array([0.01, 0.01])
    """

    cost: float = 1e-3

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return one row for each joint."""
        return Equation(np.eye(len(q)), np.zeros(len(q)), np.full(len(q), self.cost**2))


def _costs(cost: float | ArrayLike) -> Vector:
    """Weights (3,) of three rows: squared costs."""
    return reals(cost, "cost", (3,), broadcast=True) ** 2
