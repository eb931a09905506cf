"""Inverse dynamics: the joint torques of a motion, by the Newton-Euler recursion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.body_motion import body_accelerations
from chasles.algorithms.friction import friction_torque
from chasles.algorithms.joint_motion import (
    along_joint,
    joint_positions,
    joint_rates,
    poses_in_parent,
    vector_of_coordinates,
)
from chasles.algorithms.mass_moments import grouped_mass_moments
from chasles.algorithms.wrenches import NO_WRENCHES, net_wrenches, transmitted_wrenches
from chasles.geometry.vectors import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def newton_euler(
    tree: Tree, q: Array, qd: Array, qdd: Array, gravity: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Torques (n,) of the rigid bodies alone, without friction and armature: M qdd + c + g - J^T w.

    Source: Luh, Walker & Paul (1980), with frames fixed in the bodies, first moments and the acceleration matrix U as
    in Khalil & Dombre, Modeling, Identification and Control of Robots (2002), section 9.5.
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    accelerations = body_accelerations(tree, poses, joint_rates(tree, qd), joint_rates(tree, qdd), gravity)
    net = net_wrenches(tree, grouped_mass_moments(tree), accelerations, wrenches)
    transmitted = transmitted_wrenches(tree, poses, net)
    return vector_of_coordinates(
        tree, [along_joint(body, wrench) for body, wrench in zip(tree.bodies, transmitted, strict=True)]
    )


def inverse_dynamics(tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Torques tau (n,) of the motion q, qd, qdd (n,): M qdd + c + g + friction + armature * qdd - J^T w.

    `wrenches` maps names of frames to wrenches (m, f) (6,) that act on the robot there, about the frame's origin and in
    its axes (N m, N). Raises UnknownNameError for a frame that does not exist.
    """
    rigid = newton_euler(tree, q, qd, qdd, tree.gravity, wrenches)
    return rigid + friction_torque(tree, qd) + armature_torque(tree, qdd)


def bias(tree: Tree, q: Array, qd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Inverse dynamics at zero acceleration (n,): c + g + friction - J^T w."""
    return inverse_dynamics(tree, q, qd, np.zeros(tree.n), wrenches)


def gravity_torque(tree: Tree, q: Array) -> Array:
    """Torques g(q) (n,) that hold the robot against gravity."""
    return newton_euler(tree, q, np.zeros(tree.n), np.zeros(tree.n), tree.gravity)


def coriolis_vector(tree: Tree, q: Array, qd: Array) -> Array:
    """Centrifugal and Coriolis torques C(q, qd) qd (n,), without gravity and friction."""
    return newton_euler(tree, q, qd, np.zeros(tree.n), np.zeros(3))


def armature_torque(tree: Tree, qdd: Array) -> Array:
    """Torques (n,) that accelerate the motors' rotors."""
    accelerations = joint_rates(tree, qdd)
    return vector_of_coordinates(tree, [b.armature * a for b, a in zip(tree.bodies, accelerations, strict=True)])
