"""Points of a robot in contact with planes: when they touch, and the directions in which they can move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.optimal.contact import PhasedContact
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
#: Share of a point's largest movement below which it cannot move in a direction: rounding.
_CANNOT_MOVE = 1e-9


@dataclass(frozen=True)
class Point:
    """A contact with the directions in which its point can move.

    Attributes
    ----------
    contact
        The contact.
    axes
        Normal of the plane, and up to two directions along it, (1 to 3, 3).
    forces
        Places of the force's components along these axes among those of all contacts.
    """

    contact: PhasedContact
    axes: Floats
    forces: slice

    def in_contact(self, steps: NDArray[np.int_]) -> Flags:
        """Whether its force acts in each of the steps."""
        return np.asarray(np.any([(p.first <= steps) & (steps < p.last) for p in self.contact.phases], axis=0))

    def touches(self, nodes: NDArray[np.int_]) -> Flags:
        """Whether it is on the plane at each of the nodes."""
        return np.asarray(np.any([(p.first <= nodes) & (nodes <= p.last) for p in self.contact.phases], axis=0))

    @property
    def cone(self) -> Floats:
        """Rows of the force that must not be negative: an inscribed pyramid where it can slip in two directions."""
        along = len(self.axes) - 1
        if not along:
            return np.ones((1, 1))
        sides = np.concatenate([np.eye(along), -np.eye(along)])
        normal = np.full((2 * along, 1), self.contact.friction / np.sqrt(along))
        return np.concatenate([normal, sides], axis=1)


def point_slopes(robot: Robot, q: Array, frame: str) -> Array:
    """Derivatives of the velocity of a frame's origin, in world axes, to those of the joints, (..., 3, n)."""
    return np.asarray(robot.jacobian(q, target=frame, frame="world-aligned"))[..., 3:, :]


def axes_of(robot: Robot, contact: PhasedContact) -> Floats:
    """Normal and directions along the plane in which a point can move at all: a planar robot has one of these.

    Elsewhere a force would move nothing, and no cost would determine it. Directions are told from drawn configurations.
    """
    rng = np.random.default_rng(0)
    q = robot.integrate(robot.home, rng.normal(size=(8, robot.n)))
    J = point_slopes(robot, q, contact.frame)
    J = np.concatenate(J[np.isfinite(J).all(axis=(1, 2))], axis=1)
    most, normal = np.abs(J).max(initial=0.0), contact.normal
    if not np.abs(normal @ J).max(initial=0.0) > _CANNOT_MOVE * most:
        raise ArgumentError(
            f"the point '{contact.frame}' of robot '{robot.name}' cannot move along the normal of its contact"
        )
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    along = np.stack([first, np.cross(normal, first)])
    directions, sizes, _ = np.linalg.svd(along @ J, full_matrices=False)
    moving = sizes > _CANNOT_MOVE * most * np.sqrt(J.shape[1])
    chosen = along if moving.all() else (directions.T @ along)[moving]
    return np.concatenate([normal[None], chosen])
