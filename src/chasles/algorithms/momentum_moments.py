"""Moments of momentum: what the Coriolis terms of a body need to know about its motion.

A mass point at r with velocity rdot has the momentum m rdot; its moments m rdot and m rdot r^T add up over points and
bodies. These 12 numbers are the contents of the 6 x 6 matrix B of Echeandia & Wensing, "Numerical Methods to Compute
the Coriolis Matrix and Christoffel Symbols for Rigid-Body Systems" (J. Comput. Nonlinear Dynam. 16(9), 2021): a point's
part of the Coriolis matrix is J^T m dJ/dt, so B takes a twist to the forces omega x m rdot and their moments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.joint_motion import WORLD, origin_in_parent, turn_in_parent
from chasles.algorithms.mass_moments import MassMoments, turned_matrix, turned_vector
from chasles.algorithms.spatial import Twist, Wrench
from chasles.geometry.elementary import Z_AXIS, Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import Body, Tree


class MomentumMoments(NamedTuple):
    """Moments of momentum: sum of m rdot (3,) and sum of m rdot r^T (3, 3), about a body's origin in its axes."""

    first: Array
    second: Array


def composite_momentum_moments(
    tree: Tree, positions: Sequence[Any], masses: Sequence[MassMoments], velocities: Sequence[Twist]
) -> list[MomentumMoments]:
    """Moments of momentum of each body with all bodies that it carries, in its frame."""
    composite = [momentum_moments(mass, velocity) for mass, velocity in zip(masses, velocities, strict=True)]
    for i in reversed(range(len(composite))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            carried = momentum_seen_from_parent(tree.bodies[i], positions[i], composite[i])
            first, second = composite[parent]
            composite[parent] = MomentumMoments(first + carried.first, second + carried.second)
    return composite


def momentum_moments(masses: MassMoments, velocity: Twist) -> MomentumMoments:
    """Moments of momentum of one rigid body: its points move with v + omega x r."""
    omega, v = velocity.angular, velocity.linear
    return MomentumMoments(
        masses.mass * v + cross(omega, masses.first), np.outer(v, masses.first) + skew(omega) @ masses.second
    )


def momentum_seen_from_parent(body: Body, position: Any, moments: MomentumMoments) -> MomentumMoments:
    """Moments of momentum about the parent's origin in the parent's axes."""
    (R, angle), p = turn_in_parent(body, position), origin_in_parent(body, position)
    first = R @ turned_vector(angle, moments.first)
    second = R @ turned_matrix(angle, moments.second) @ R.T
    return MomentumMoments(first, second + np.outer(first, p))


def drag(momentum: MomentumMoments, twist: Twist) -> Wrench:
    """Wrench B times a twist: the forces omega x m rdot of all mass points; only the twist's angular part counts."""
    K, (wx, wy, wz) = momentum.second, twist.angular
    moment = np.array(
        [
            (K[1, 1] + K[2, 2]) * wx - K[0, 1] * wy - K[0, 2] * wz,
            (K[0, 0] + K[2, 2]) * wy - K[1, 0] * wx - K[1, 2] * wz,
            (K[0, 0] + K[1, 1]) * wz - K[2, 0] * wx - K[2, 1] * wy,
        ]
    )
    return Wrench(moment, cross(twist.angular, momentum.first))


def drag_along_joint(body: Body, momentum: MomentumMoments) -> Array:
    """Couple (3,) B^T S of a joint's screw S: its scalar product with omega is the torque of `drag` at the joint."""
    K, p = momentum.second, momentum.first
    couple = np.array([-K[2, 0], -K[2, 1], K[0, 0] + K[1, 1]])
    return body.angular * couple + body.pitch * cross(p, Z_AXIS)
