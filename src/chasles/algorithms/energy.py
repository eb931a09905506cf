"""Kinetic and potential energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.body_motion import body_velocities
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.kinematics import body_poses
from chasles.geometry.vectors import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def kinetic_energy(tree: Tree, q: Array, qd: Array) -> Any:
    """Kinetic energy (J) of the bodies and of the motors' rotors: qd^T M(q) qd / 2, armature included.

    Source: half the twist times the momentum of every body (Featherstone, Rigid Body Dynamics Algorithms (2008),
    section 2.13).
    """
    rates = joint_rates(tree, qd)
    energy: Any = 0.0
    velocities = body_velocities(tree, poses_in_parent(tree, joint_positions(tree, q)), rates)
    for body, velocity, rate in zip(tree.bodies, velocities, rates, strict=True):
        omega, v = velocity.angular, velocity.linear
        momentum = body.mass * v + cross(omega, body.first_moment)
        spin = body.inertia @ omega + cross(body.first_moment, v)
        energy = energy + 0.5 * (momentum @ v + spin @ omega + body.armature * rate * rate)
    return energy


def potential_energy(tree: Tree, q: Array) -> Any:
    """Potential energy (J) of the moving bodies in the uniform gravity field, zero at the world's origin."""
    first = np.zeros(3)
    for body, (R_world_body, p_world_body) in zip(tree.bodies, body_poses(tree, q), strict=True):
        first = first + body.mass * p_world_body + R_world_body @ body.first_moment
    return -(tree.gravity @ first)
