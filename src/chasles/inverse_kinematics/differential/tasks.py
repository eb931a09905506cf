"""Tasks: what a step of the robot should do, as linear equations for the joint rates, with a cost for missing them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import reals
from chasles.engine import Function
from chasles.engine.runner import holds_traced
from chasles.engine.tracing import call_traced
from chasles.errors import ArgumentError
from chasles.geometry import (
    inverse_left_jacobian_pose,
    inverse_left_jacobian_rotation,
    log_pose,
    log_rotation,
    relative_pose,
)
from chasles.geometry.elementary import Array, ReferenceFrame, adjoint
from chasles.mechanics import Mechanics
from chasles.model import build_tree
from chasles.sealed import CheckedMembers

Vector = NDArray[np.float64]


class Equation(NamedTuple):
    """Rows J and values b of ``J q̇ = b``, each row with its weight."""

    J: Array
    b: Array
    weight: Array


class Task(Protocol):
    """Anything that gives an equation for the joint rates at a configuration."""

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation, for rates (n,) in rad/s (m/s for prismatic joints)."""
        ...


class FormulaTask(metaclass=CheckedMembers):
    """Base of tasks that are compiled together with others: the equation is a formula of q and of the task's numbers.

    A formula may use methods of the robot, operators and functions of `chasles.engine` and `chasles.geometry`, and what
    `form` returns; everything else that may differ from task to task is one of its `numbers`.
    """

    @property
    @abstractmethod
    def form(self) -> tuple[Hashable, ...]:
        """What the formula depends on besides its numbers, such as names of frames."""

    @abstractmethod
    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Numbers of the formula, checked."""

    @abstractmethod
    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
        """Return the equation, of numbers or traced scalars."""

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation for rates (n,) in rad/s (m/s for prismatic joints)."""
        numbers = [reals(number, f"a number of {type(self).__name__}") for number in self.numbers(robot)]
        return Equation(*map(np.asarray, self.formula(robot, q, *numbers)))


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
        goal = _goal(self.T_world_goal, "T_world_goal", (4, 4))
        return goal, _six_weights(self.orientation_cost, self.position_cost), _gain(self.gain)

    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
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
        As for `FrameTask`.

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
        goal = _goal(self.T_reference_goal, "T_reference_goal", (4, 4))
        return goal, _six_weights(self.orientation_cost, self.position_cost), _gain(self.gain)

    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
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
        return _goal(self.p_world_goal, "p_world_goal", (3,)), _weights(self.cost), _gain(self.gain)

    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
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
        return _goal(self.R_world_goal, "R_world_goal", (3, 3)), _weights(self.cost), _gain(self.gain)

    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
        """Return the equation for the frame's angular velocity, in its own axes."""
        goal, weight, gain = numbers
        T, J = _motion(robot, q, "body", self.target)
        error = np.asarray(log_rotation(T[:3, :3].T @ goal))
        # The rotation vector e of Rᵀ goal changes by -J_l⁻¹(e) ω with the body's angular velocity ω.
        return Equation(inverse_left_jacobian_rotation(error) @ J[:3], gain * error, weight)


@dataclass
class CenterOfMassTask(FormulaTask):
    """Bring the centre of mass of all moving links to a place.

    Parameters
    ----------
    p_world_goal
        Place to reach, shape (3,), m; it may be replaced between steps.
    cost
        Cost per 1 m/s of velocity error; one number or three for the world's axes, such as ``[1, 1, 0]`` for its
        projection on the ground.
    gain
        Rate at which the error decays, 1/s.

    Examples
    --------
    >>> import chasles as ch
    >>> CenterOfMassTask([0.375, 0.1, 0.0], gain=2.0).equation(ch.load("planar2r"), np.zeros(2)).b.round(9)
    array([0. , 0.2, 0. ])
    """

    p_world_goal: ArrayLike
    cost: float | ArrayLike = 1.0
    gain: float = 10.0

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Nothing: the formula is always the same."""
        return ()

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Goal, weights (3,) and gain."""
        return _goal(self.p_world_goal, "p_world_goal", (3,)), _weights(self.cost), _gain(self.gain)

    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
        """Return the equation for the velocity of the centre of mass, in world axes."""
        goal, weight, gain = numbers
        J = inlined(robot.centroidal_momentum_matrix.specialize(), q)[3:] / _moving_mass(robot)
        return Equation(J, gain * (goal - inlined(robot.center_of_mass.specialize(), q)), weight)


@dataclass
class PostureTask(FormulaTask):
    """Bring the joints to a posture (nq,), at a gain (1/s) and a cost of missing 1 rad/s.

    One cost for all leaves free joints alone, such as a floating base; (n,) costs weigh every degree of freedom. Errors
    of spherical and free joints are displacements, see `Robot.difference`.

    >>> import chasles as ch
    >>> PostureTask([1.0, 0.0], gain=2.0).equation(ch.load("planar2r"), np.zeros(2)).b
    array([2., 0.])
    """

    posture: ArrayLike
    cost: float | ArrayLike = 1e-2
    gain: float = 1.0

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Nothing: the formula is always the same."""
        return ()

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Posture, weights (n,) and gain."""
        weights = _weights(self.cost, count=robot.n)
        if robot.nq > robot.n and np.ndim(self.cost) == 0:
            weights = weights * ~free_velocities(robot)
        return _goal(self.posture, "posture", (robot.nq,)), weights, _gain(self.gain)

    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
        """Return one row for each degree of freedom."""
        posture, weight, gain = numbers
        error = inlined(robot.difference.specialize(), q, posture)
        J: Any = np.eye(robot.n)
        for joint in robot.description.coordinates:
            own = robot.description.velocity_places(joint.name)
            if joint.has_quaternion and own.stop:  # as in `_pose_equation`
                inverse = inverse_left_jacobian_pose if joint.kind == "free" else inverse_left_jacobian_rotation
                J = J.astype(error.dtype)
                J[own, own] = inverse(error[own])
        return Equation(J, gain * error, weight)


@dataclass
class DampingTask(FormulaTask):
    """Move the joints as little as possible, at a cost for 1 rad/s.

    >>> import chasles as ch
    >>> DampingTask(0.1).equation(ch.load("planar2r"), np.zeros(2)).weight
    array([0.01, 0.01])
    """

    cost: float = 1e-3

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Nothing: the formula is always the same."""
        return ()

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Weights (n,)."""
        return (_weights(self.cost, count=robot.n),)

    def formula(self, robot: Mechanics, q: Array, *numbers: Any) -> Equation:
        """Return one row for each degree of freedom."""
        return Equation(np.eye(robot.n), np.zeros(robot.n), numbers[0])


def free_velocities(robot: Mechanics) -> NDArray[np.bool_]:
    """Whether each degree of freedom belongs to a free joint, such as a floating base, (n,)."""
    known: NDArray[np.bool_] | None = robot.__dict__.get("_free_velocities")
    if known is None:
        known = np.zeros(robot.n, dtype=bool)
        for joint in robot.description.coordinates:
            if joint.kind == "free":
                known[robot.description.velocity_places(joint.name)] = True
        if robot.description.loops and robot.description.actuated:  # motors of other joints may move it
            motors = robot.velocity_map(robot.home)[list(robot.description.actuated_indices)]
            known &= ~(np.abs(motors) > 1e-9).any(axis=0)
        known.flags.writeable = False
        known = robot.__dict__.setdefault("_free_velocities", known)
    return known


def inlined(function: Function, *arguments: Any) -> Any:
    """Value of a function; inside a trace its operations join the caller's, and fold with them, however many they are.

    Tasks share the poses of the bodies in this way, and keep the zeros of Jacobians.
    """
    if holds_traced(arguments):
        return call_traced(function.program, arguments, inline=True)
    return function(*arguments)


def _motion(robot: Mechanics, q: Array, frame: ReferenceFrame, target: str) -> tuple[Array, Array]:
    """Pose and Jacobian of a frame."""
    T, J = inlined(robot.pose_and_jacobian.specialize(frame=frame, target=target), q)
    return np.asarray(T), np.asarray(J)


def _moving_mass(robot: Mechanics) -> float:
    """Mass of all moving links, kg."""
    mass = sum(body.mass for body in build_tree(robot.description).bodies)
    if not mass > 0.0:
        raise ArgumentError(f"the moving links of robot '{robot.name}' have no mass, and so no centre of mass")
    return float(mass)


def _pose_equation(T: Array, J: Array, goal: Array, weight: Array, gain: Any) -> Equation:
    """Equation for the body twist J q̇ that takes the pose T to a goal in the same axes."""
    error = np.asarray(log_pose(relative_pose(T, goal)))
    # T⁻¹ goal = exp(e): a body twist V of the frame changes it to exp(-V dt) exp(e), whose logarithm is
    # e - J_l⁻¹(e) V dt.
    return Equation(np.asarray(inverse_left_jacobian_pose(error)) @ J, gain * error, weight)


def _goal(goal: ArrayLike, name: str, shape: tuple[int, ...]) -> Vector:
    """Goal as an array; one that already is an array of doubles is looked at when the equation is not finite."""
    if goal.__class__ is np.ndarray and goal.dtype == np.float64 and goal.shape == shape:
        return goal
    return reals(goal, name, shape)


def _six_weights(orientation_cost: float | ArrayLike, position_cost: float | ArrayLike) -> Vector:
    """Weights (6,) of the rows of a twist."""
    if orientation_cost.__class__ is position_cost.__class__ is float:
        return _constant_weights(("orientation_cost", "position_cost"), (orientation_cost, position_cost), 3)
    return np.concatenate([_weights(orientation_cost, "orientation_cost"), _weights(position_cost, "position_cost")])


def _weights(cost: float | ArrayLike, name: str = "cost", count: int = 3) -> Vector:
    """Weights of rows: squared costs."""
    if cost.__class__ is float:
        return _constant_weights((name,), (cost,), count)
    return reals(cost, name, (count,), broadcast=True) ** 2


@lru_cache(maxsize=256)
def _constant_weights(names: tuple[str, ...], costs: tuple[float, ...], count: int) -> Vector:
    weights = np.concatenate(
        [reals(cost, name, (count,), broadcast=True) for name, cost in zip(names, costs, strict=True)]
    )
    weights **= 2
    weights.flags.writeable = False
    return weights


def _gain(gain: float) -> float | Vector:
    return gain if gain.__class__ is float and isfinite(gain) else reals(gain, "gain", ())
