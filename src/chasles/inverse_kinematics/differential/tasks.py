"""Tasks: what a step of the robot should do, as linear equations for the joint rates, with a cost for missing them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine import Function, trace
from chasles.errors import ArgumentError
from chasles.geometry import inverse_left_jacobian_pose, log_pose
from chasles.geometry.elementary import Array, inverse_pose
from chasles.robot import Robot

Vector = NDArray[np.float64]


class Equation(NamedTuple):
    """Rows J and values b of ``J q̇ = b``, each row with its weight."""

    J: Vector
    b: Vector
    weight: Vector


class Task(Protocol):
    """Anything that gives an equation for the joint rates at a configuration."""

    def equation(self, robot: Robot, q: Vector) -> Equation:
        """Return the equation, for rates in rad/s (m/s for sliding joints)."""
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
        direction free: position or orientation alone.
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
    _functions: dict[tuple[Robot, str], Function] = field(default_factory=dict, repr=False, compare=False)

    def equation(self, robot: Robot, q: Vector) -> Equation:
        """Return the equation for the frame's error in its own axes."""
        goal = np.asarray(self.T_world_goal, dtype=np.float64)
        if goal.shape != (4, 4) or not np.isfinite(goal).all():
            raise ArgumentError(f"T_world_goal must be a pose of shape (4, 4) without NaN, not of shape {goal.shape}")
        key = (robot, self.target)
        if key not in self._functions:
            self._functions[key] = _error_function(robot, self.target)
        error, J = self._functions[key](q, goal)
        costs = [np.broadcast_to(np.asarray(c, dtype=float), (3,)) for c in (self.orientation_cost, self.position_cost)]
        return Equation(J, self.gain * error, np.concatenate(costs) ** 2)


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

    def equation(self, robot: Robot, q: Vector) -> Equation:
        """Return one row for each joint."""
        posture = np.asarray(self.posture, dtype=np.float64)
        if posture.shape != q.shape or not np.isfinite(posture).all():
            raise ArgumentError(f"the posture must have shape {q.shape} and be finite, not {posture.shape}")
        return Equation(np.eye(len(q)), self.gain * (posture - q), np.full(len(q), self.cost**2))


@dataclass
class DampingTask:
    """Move the joints as little as possible, at a cost for 1 rad/s.

    >>> import chasles as ch
    >>> DampingTask(0.1).equation(ch.load("planar2r"), np.zeros(2)).weight
    array([0.01, 0.01])
    """

    cost: float = 1e-3

    def equation(self, robot: Robot, q: Vector) -> Equation:
        """Return one row for each joint."""
        return Equation(np.eye(len(q)), np.zeros(len(q)), np.full(len(q), self.cost**2))


def _error_function(robot: Robot, target: str) -> Function:
    """(q, T_world_goal) -> the body twist that leads to the goal in unit time, and minus its change with the joints."""
    motion = robot.pose_and_jacobian.specialize(frame="body", target=target)

    def compute(q: Array, goal: Array) -> tuple[Array, Array]:
        T, J = motion(q)
        error = log_pose(inverse_pose(T) @ goal)
        # T⁻¹ goal = exp(e): a body twist V of the frame changes it to exp(-V dt) exp(e), whose logarithm is
        # e - J_l⁻¹(e) V dt.
        return error, inverse_left_jacobian_pose(error) @ J

    return Function(
        trace(compute, {"q": (robot.n,), "T_world_goal": (4, 4)}, name="frame_task", outputs=["error", "J"])
    )
