"""Tasks of the whole body: centre of mass, posture, small rates."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.function import inlined
from chasles.engine.validators import reals
from chasles.geometry import inverse_left_jacobian_pose, inverse_left_jacobian_rotation
from chasles.geometry.elementary import Array
from chasles.inverse_kinematics.differential.task import (
    Equation,
    FormulaTask,
    finite_number,
    goal_of_task,
    row_weights,
)
from chasles.mechanics import Mechanics
from chasles.model import build_tree


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
        return (
            goal_of_task(self.p_world_goal, "p_world_goal", (3,)),
            row_weights(self.cost),
            finite_number(self.gain, "gain"),
        )

    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return the equation for the velocity of the centre of mass, in world axes."""
        goal, weight, gain = numbers
        J = inlined(robot.centroidal.matrix.specialize(), q)[3:] / _moving_mass(robot)
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
        """Whether one cost holds for all joints."""
        return (self.cost.__class__ is float or np.ndim(self.cost) == 0,)

    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Posture, cost, () or (n,), and gain."""
        (one_for_all,) = self.form
        cost = finite_number(self.cost, "cost") if one_for_all else reals(self.cost, "cost", (robot.n,), broadcast=True)
        return goal_of_task(self.posture, "posture", (robot.nq,)), cost, finite_number(self.gain, "gain")

    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return one row for each degree of freedom."""
        posture, cost, gain = numbers
        weight = cost * cost * (1.0 - free_velocities(robot) if self.form[0] else np.ones(robot.n))
        error = inlined(robot.difference.specialize(), q, posture)
        J: Any = np.eye(robot.n)
        for joint in robot.description.coordinates:
            block = robot.description.velocity_places(joint.name)
            if joint.has_quaternion and block.stop:  # as in `_pose_equation`
                inverse = inverse_left_jacobian_pose if joint.kind == "free" else inverse_left_jacobian_rotation
                J = J.astype(error.dtype)
                J[block, block] = inverse(error[block])
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
        return (row_weights(self.cost, count=robot.n),)

    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return one row for each degree of freedom."""
        return Equation(np.eye(robot.n), np.zeros(robot.n), numbers[0])


def _moving_mass(robot: Mechanics) -> float:
    """Mass of all moving links, kg."""
    mass = sum(body.mass for body in build_tree(robot.description).bodies)
    if not mass > 0.0:
        raise ArgumentError(f"the moving links of robot '{robot.name}' have no mass, and so no centre of mass")
    return float(mass)


def free_velocities(robot: Mechanics) -> NDArray[np.bool_]:
    """Whether each degree of freedom belongs to a free joint, such as a floating base, (n,)."""
    known: NDArray[np.bool_] | None = robot.__dict__.get("_free_velocities")
    if known is None:
        known = np.zeros(robot.n, dtype=bool)
        for joint in robot.description.coordinates:
            if joint.kind == "free":
                known[robot.description.velocity_places(joint.name)] = True
        if robot.description.loops and robot.description.actuated:  # motors of other joints may move it
            motors = robot.loops.velocity_map(robot.home)[list(robot.description.actuated_indices)]
            known &= ~(np.abs(motors) > 1e-9).any(axis=0)
        known.flags.writeable = False
        known = robot.__dict__.setdefault("_free_velocities", known)
    return known
