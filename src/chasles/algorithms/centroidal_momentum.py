"""Momentum of the whole robot: about the centre of mass, and as a linear function of the velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.body_motion import body_accelerations
from chasles.algorithms.joint_motion import (
    WORLD,
    joint_positions,
    joint_rates,
    poses_in_parent,
    screw,
)
from chasles.algorithms.kinematics import body_poses, center_of_mass
from chasles.algorithms.mass_moments import added, inertia_times, mass_moments, seen_from_parent
from chasles.algorithms.spatial import NO_WRENCH, Wrench
from chasles.algorithms.wrenches import inertial_wrench
from chasles.geometry.elementary import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def centroidal_momentum_matrix(tree: Tree, q: Array) -> Array:
    """Matrix A with A qd = (angular momentum about the centre of mass, linear momentum), in world axes.

    Column i is the momentum of all bodies beyond joint i when that joint alone moves with unit rate.

    Parameters
    ----------
    tree, q
        The robot and its coordinates (nq,), rad (m for sliding joints).

    Returns
    -------
    ndarray
        Shape (6, n), kg m^2/s and kg m/s per unit of qd. Links of the fixed base and the motors' rotors have no part
        in it. NaN for a robot without mass.

    Notes
    -----
    Orin, Goswami & Lee, "Centroidal dynamics of a humanoid robot" (Autonomous Robots 35, 2013), with composite inertias
    as in Wensing & Orin, "Improved computation of the humanoid centroidal dynamics and application for whole-body
    control" (Int. J. Humanoid Robotics 13(1), 2016).

    Examples
    --------
    Stretched out, with its 15 kg centred at 0.375 m, the arm turns about its first joint: 15 * 0.375 kg m/s along y.

    >>> from chasles.model import build_tree, load
    >>> centroidal_momentum_matrix(build_tree(load("planar2r")), np.zeros(2))[4].round(6)
    array([5.625, 0.625])
    """
    positions = joint_positions(tree, q)
    composite = [mass_moments(body) for body in tree.bodies]
    for i in reversed(range(len(composite))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            composite[parent] = added(composite[parent], seen_from_parent(tree.bodies[i], positions[i], composite[i]))
    center = center_of_mass(tree, q)
    columns: list[Any] = [np.zeros(6)] * tree.n
    for body, moments, (R, p) in zip(tree.bodies, composite, body_poses(tree, q), strict=True):
        momentum = inertia_times(moments, screw(body)).seen_from(R, p - center)
        column = np.concatenate([momentum.moment, momentum.force])
        columns[body.coordinate] = columns[body.coordinate] + body.ratio * column
    return np.array([[column[row] for column in columns] for row in range(6)]).reshape(6, tree.n)


def centroidal_momentum(tree: Tree, q: Array, qd: Array) -> Array:
    """Angular momentum about the centre of mass and linear momentum of all moving bodies, in world axes.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates (nq,) and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    ndarray
        Shape (6,), kg m^2/s and kg m/s. NaN for a robot without mass.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> centroidal_momentum(build_tree(load("planar2r")), np.zeros(2), np.array([2.0, 0.0]))[4].round(6)
    np.float64(11.25)
    """
    momentum: Array = centroidal_momentum_matrix(tree, q) @ qd
    return momentum


def centroidal_momentum_rate(tree: Tree, q: Array, qd: Array, qdd: Array) -> Array:
    """Rate of change of `centroidal_momentum` along a motion.

    By Newton and Euler it is the sum, about the centre of mass, of all forces from outside: those of the fixed base on
    the first joints, of gravity and of the environment.

    Parameters
    ----------
    tree, q, qd, qdd
        The robot, its coordinates (nq,), their rates and accelerations (n,), rad, rad/s, rad/s^2 (m, ... for sliding
        joints).

    Returns
    -------
    ndarray
        Shape (6,), N m and N: A qdd + dA/dt qd with the `centroidal_momentum_matrix` A. NaN for a robot without mass.

    Examples
    --------
    Its centre at 0.375 m is accelerated towards the first joint with 2^2 * 0.375 m/s^2:

    >>> from chasles.model import build_tree, load
    >>> rest = np.zeros(2)
    >>> centroidal_momentum_rate(build_tree(load("planar2r")), rest, np.array([2.0, 0.0]), rest)[3].round(6)
    np.float64(-22.5)
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    accelerations = body_accelerations(tree, poses, joint_rates(tree, qd), joint_rates(tree, qdd), np.zeros(3))
    total: Wrench = NO_WRENCH
    for body, acceleration, (R, p) in zip(tree.bodies, accelerations, body_poses(tree, q), strict=True):
        total = total + inertial_wrench(mass_moments(body), acceleration).seen_from(R, p)
    # The centre of mass moves along with the linear momentum, so that the moment about it needs no further term.
    moment = total.moment - cross(center_of_mass(tree, q), total.force)
    return np.concatenate([moment, total.force])
