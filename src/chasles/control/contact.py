"""Contacts of a whole-body law: points of links on planes, and the constraints that keep the points in place."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine.function import inlined
from chasles.engine.validators import real, reals
from chasles.geometry.elementary import Array, rotation_taking_z_to, skew
from chasles.inverse_kinematics.differential.limits import Inequalities
from chasles.inverse_kinematics.differential.program import Feasible
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
#: Share of the largest singular value of the contacts' Jacobian below which a direction is left to itself: to hold it
#: would take a thousand times the joint acceleration of the others. Several points of one foot repeat directions.
_HELD_SHARE = 1e-3


class ContactWarning(UserWarning):
    """A whole-body law cannot keep its contacts within friction, motor torques and motions of the robot."""


class Contact(Sealed):
    """Contact points of a link on a plane.

    Parameters
    ----------
    frame
        Name of the frame.
    points
        Contact points in the frame's axes, (k, 3), m; default its origin. For a flat foot, its corners.
    friction
        Friction coefficient, positive. Forces stay in the pyramid inside the friction cone.
    normal
        Normal of the plane, out of the ground, (3,), in world axes.
    highest_force
        Largest normal force at each point, N.

    Examples
    --------
    >>> Contact("left_sole_link", points=[[0.1, 0.05, 0.0], [0.1, -0.05, 0.0]]).points.shape
    (2, 3)
    """

    def __init__(
        self,
        frame: str,
        *,
        points: ArrayLike = ((0.0, 0.0, 0.0),),
        friction: float = 0.7,
        normal: ArrayLike = (0.0, 0.0, 1.0),
        highest_force: float = np.inf,
    ) -> None:
        self.frame = frame
        self.points = reals(points, "points", ("points", 3))
        self.friction = real(friction, "friction", above=0.0)
        direction = reals(normal, "normal", (3,))
        if not np.linalg.norm(direction) > 0.0:
            raise ArgumentError("the normal of a contact must not be zero")
        self.normal = direction / np.linalg.norm(direction)
        self.highest_force = real(highest_force, "highest_force", above=0.0, infinite=True)

    @property
    def form(self) -> tuple[Hashable, ...]:
        """Properties on which the contact equations depend."""
        return self.frame, self.points.tobytes(), self.normal.tobytes()


def with_contacts(problem: Feasible, J: Floats, target: Floats) -> Feasible:
    """Constraints with those of the contacts, J q̈ = wanted in the directions that J tells apart."""
    U, sizes, _ = np.linalg.svd(J, full_matrices=False)
    held = U[:, sizes > _HELD_SHARE * sizes[0]].T
    rows = problem.rows
    A = np.pad(held @ J, ((0, 0), (0, len(problem.lower) - J.shape[1])))
    value = held @ target
    together = Inequalities(np.concatenate([rows.A, A]), np.append(rows.lower, value), np.append(rows.upper, value))
    return problem._replace(rows=together)


def contact_jacobian(robot: Robot, q: Array, contacts: Sequence[Contact]) -> Array:
    """Jacobian (3 k, n) of all contact points, in the axes of their planes."""
    rows = [np.zeros((0, robot.n))]
    for contact in contacts:
        motion = robot.pose_and_jacobian.specialize(frame="world-aligned", target=contact.frame)
        T, J = (np.asarray(part) for part in inlined(motion, q))
        R_plane_world = rotation_taking_z_to(contact.normal).T
        rows += [R_plane_world @ (J[3:] - skew(T[:3, :3] @ point) @ J[:3]) for point in contact.points]
    return np.concatenate(rows)
