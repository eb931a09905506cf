"""Kinetic and potential energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.body_motion import body_velocities
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.kinematics import body_poses
from chasles.geometry.elementary import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def kinetic_energy(tree: Tree, q: Array, qd: Array) -> Any:
    """Kinetic energy of the bodies and of the motors' rotors: qd^T M(q) qd / 2, armature included.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    float
        J.

    Notes
    -----
    Half the twist times the momentum of every body (Featherstone, Rigid Body Dynamics Algorithms (2008), section on
    spatial inertia).

    Examples
    --------
    The stretched arm turns as one body of M_11 = 10 * 0.5^2 / 3 + 5 * (0.625^2 + 0.25^2 / 12) = 2.8125 kg m^2.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> round(float(kinetic_energy(tree, np.zeros(2), np.array([2.0, 0.0]))), 6)  # 2^2 * 2.8125 / 2
    5.625
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
    """Potential energy of the moving bodies in the uniform gravity field, zero at the world's origin.

    Parameters
    ----------
    tree, q
        The robot and its coordinates (n,), rad (m for sliding joints).

    Returns
    -------
    float
        J.

    Examples
    --------
    Upright, with the rods' centres 0.25 m and 0.625 m high: (10 * 0.25 + 5 * 0.625) * 9.80621.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> round(float(potential_energy(tree, np.array([np.pi / 2, 0.0]))), 5)
    55.15993
    """
    first = np.zeros(3)
    for body, (R_world_body, p_world_body) in zip(tree.bodies, body_poses(tree, q), strict=True):
        first = first + body.mass * p_world_body + R_world_body @ body.first_moment
    return -(tree.gravity @ first)
