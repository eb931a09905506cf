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
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def newton_euler(
    tree: Tree, q: Array, qd: Array, qdd: Array, gravity: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Torques of the rigid bodies alone, without friction and armature: M qdd + c + g - J^T w.

    Parameters
    ----------
    tree, q, qd, qdd, wrenches
        As for `inverse_dynamics`.
    gravity
        Acceleration of gravity (3,) in the world, m/s^2; zeros leave out the weight.

    Returns
    -------
    ndarray
        Shape (n,), N m (N for sliding joints).

    Notes
    -----
    Luh, Walker & Paul, "On-line computational scheme for mechanical manipulators" (1980), with frames fixed in the
    bodies, first moments and the acceleration matrix U as in Khalil & Dombre, Modeling, Identification and Control of
    Robots (2002), chapter "Dynamic modeling of serial robots", Newton-Euler formulation.

    Examples
    --------
    Without gravity, from rest: the first column M_11 = 2.8125, M_21 = 0.416667 of the mass matrix.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> newton_euler(tree, np.zeros(2), np.zeros(2), np.array([1.0, 0.0]), np.zeros(3)).round(6)
    array([2.8125  , 0.416667])
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    accelerations = body_accelerations(tree, poses, joint_rates(tree, qd), joint_rates(tree, qdd), gravity)
    net = net_wrenches(tree, grouped_mass_moments(tree), accelerations, wrenches)
    transmitted = transmitted_wrenches(tree, poses, net)
    return vector_of_coordinates(
        tree, [along_joint(body, wrench) for body, wrench in zip(tree.bodies, transmitted, strict=True)]
    )


def inverse_dynamics(tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Torques of a motion: M qdd + c + g + friction + armature * qdd - J^T w.

    Parameters
    ----------
    tree, q, qd, qdd
        The robot, its coordinates, their rates and accelerations (n,), rad, rad/s, rad/s^2 (m, ... for sliding joints).
    wrenches
        Maps names of frames to wrenches (m, f) (6,) that act on the robot there, about the frame's origin and in its
        axes, N m and N.

    Returns
    -------
    ndarray
        tau (n,), N m (N for sliding joints).

    Raises
    ------
    UnknownNameError
        If `wrenches` names a frame that does not exist.

    Examples
    --------
    At rest and level, with 10 N downward at the tool, 0.75 m and 0.25 m from the joints. To the weight of 5.625 kg m
    and 0.625 kg m times 9.80621 m/s^2 this adds 7.5 N m and 2.5 N m.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> rest, load = np.zeros(2), np.array([0.0, 0.0, 0.0, 0.0, -10.0, 0.0])
    >>> inverse_dynamics(tree, rest, rest, rest, {"tool": load}).round(5)
    array([62.65993,  8.62888])
    """
    rigid = newton_euler(tree, q, qd, qdd, tree.gravity, wrenches)
    return rigid + friction_torque(tree, qd) + armature_torque(tree, qdd)


def bias(tree: Tree, q: Array, qd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Inverse dynamics at zero acceleration: c + g + friction - J^T w.

    Parameters
    ----------
    tree, q, qd, wrenches
        As for `inverse_dynamics`, and with its error.

    Returns
    -------
    ndarray
        Shape (n,), N m (N for sliding joints).

    Examples
    --------
    With the rods at a right angle the second has no lever arm: (10 * 0.25 + 5 * 0.5) * 9.80621, and 0.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> bias(tree, np.array([0.0, np.pi / 2]), np.zeros(2)).round(5)
    array([49.03105,  0.     ])
    """
    return inverse_dynamics(tree, q, qd, np.zeros(tree.n), wrenches)


def gravity_torque(tree: Tree, q: Array) -> Array:
    """Torques that hold the robot against gravity.

    Parameters
    ----------
    tree, q
        The robot and its coordinates (n,), rad (m for sliding joints).

    Returns
    -------
    ndarray
        g(q) (n,), N m (N for sliding joints).

    Examples
    --------
    Stretched out level: (10 * 0.25 + 5 * 0.625) * 9.80621 and 5 * 0.125 * 9.80621.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> gravity_torque(tree, np.zeros(2)).round(5)
    array([55.15993,  6.12888])
    """
    return newton_euler(tree, q, np.zeros(tree.n), np.zeros(tree.n), tree.gravity)


def coriolis_vector(tree: Tree, q: Array, qd: Array) -> Array:
    """Centrifugal and Coriolis torques, without gravity and friction.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    ndarray
        c = C(q, qd) qd (n,), N m (N for sliding joints).

    Examples
    --------
    With h = m_2 l_1 l_2 / 2 * sin(q_2) = 0.3125: -h (2 qd_1 qd_2 + qd_2^2) and h qd_1^2.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> coriolis_vector(tree, np.array([0.0, np.pi / 2]), np.array([1.0, 2.0])).round(6)
    array([-2.5   ,  0.3125])
    """
    return newton_euler(tree, q, qd, np.zeros(tree.n), np.zeros(3))


def armature_torque(tree: Tree, qdd: Array) -> Array:
    """Torques that accelerate the motors' rotors.

    Parameters
    ----------
    tree, qdd
        The robot and its coordinate accelerations (n,), rad/s^2 (m/s^2 for sliding joints).

    Returns
    -------
    ndarray
        Shape (n,), N m (N for sliding joints).

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_values
    >>> motor = {"joints.joint1.motor_inertia": 0.01, "joints.joint1.gear_ratio": 10.0}
    >>> arm = with_values(load("planar2r"), motor)
    >>> armature_torque(build_tree(arm), np.array([2.0, 2.0]))  # 10^2 * 0.01 * 2
    array([2., 0.])
    """
    accelerations = joint_rates(tree, qdd)
    return vector_of_coordinates(tree, [b.armature * a for b, a in zip(tree.bodies, accelerations, strict=True)])
