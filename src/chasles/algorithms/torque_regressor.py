"""Torque regressor: the matrix that takes inertial and friction parameters to the torques of a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.body_motion import body_accelerations
from chasles.algorithms.friction import coulomb_direction
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.parameter_columns import acceleration_seen_from_link, matrix_of_rows, wrench_columns
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def torque_regressor(tree: Tree, q: Array, qd: Array, qdd: Array) -> Array:
    """Matrix Y with tau = Y pi: what each parameter adds to the torques of `inverse_dynamics`.

    By the principle of virtual power: the torque of a joint is the power, per unit of its rate, of the wrenches that
    the bodies beyond it need.

    Parameters
    ----------
    tree, q, qd, qdd
        The robot, its coordinates, their rates and accelerations (n,), rad, rad/s, rad/s^2 (m, ... for sliding joints).

    Returns
    -------
    ndarray
        Shape (n, parameters). Columns: ten for each body that carries links, m, m c (3) and xx, xy, xz, yy, yz, zz of
        the inertia, about the origin and in the axes of its first link; then viscous friction, Coulomb friction and
        armature of each freedom.

    Notes
    -----
    Atkeson, An & Hollerbach, "Estimation of inertial parameters of manipulator loads and links" (Int. J. Robotics
    Research 5(3), 1986); Khalil & Dombre, Modeling, Identification and Control of Robots (2002), chapter
    "Identification of the dynamic parameters".

    Examples
    --------
    Stretched out level and at rest, 1 kg at the origin of link2, 0.75 m and 0.25 m from the joints, weighs
    9.80621 m/s^2 times that.

    >>> from chasles.model import build_tree, load
    >>> tree, rest = build_tree(load("planar2r")), np.zeros(2)
    >>> torque_regressor(tree, rest, rest, rest)[:, 10].round(5)
    array([7.35466, 2.45155])
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, rates_of_change = joint_rates(tree, qd), joint_rates(tree, qdd)
    accelerations = body_accelerations(tree, poses, rates, rates_of_change, tree.gravity)
    columns = [wrench_columns(acceleration_seen_from_link(tree, i, a)) for i, a in enumerate(accelerations)]
    directions = [coulomb_direction(body, rate) for body, rate in zip(tree.bodies, rates, strict=True)]
    return matrix_of_rows(tree, columns, poses, [np.array(x) for x in (rates, directions, rates_of_change)])
