"""Regressor of passivity-based adaptive control: the matrix that takes parameters to `passivity_torque`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.friction import coulomb_direction
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.parameter_columns import Columns, columns_of_accelerations, link_in_body, matrix_of_rows
from chasles.algorithms.reference_motion import PointAccelerations, reference_accelerations
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def passivity_regressor(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Matrix Y with Y pi = M qdd_r + C(q, qd) qd_r + g + friction(qd): what each parameter adds to `passivity_torque`.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).
    qd_reference, qdd_reference
        Reference rates and accelerations (n,), rad/s, rad/s^2.

    Returns
    -------
    ndarray
        Shape (n, parameters), columns as those of `torque_regressor`, which it is for qd_reference = qd.

    Notes
    -----
    Slotine & Li, "On the adaptive control of robot manipulators" (Int. J. Robotics Research 6(3), 1987), with the
    recursion of `reference_motion`, which costs little more than that of `torque_regressor`.

    Examples
    --------
    Coulomb friction opposes the real motion, whatever the reference.

    >>> from chasles.model import build_tree, load
    >>> tree, q = build_tree(load("planar2r")), np.zeros(2)
    >>> Y = passivity_regressor(tree, q, np.array([-2.0, 3.0]), np.array([1.0, 1.0]), np.zeros(2))
    >>> Y[:, 21], Y[:, 24]
    (array([-1.,  0.]), array([0., 1.]))
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, accelerations = joint_rates(tree, qd), joint_rates(tree, qdd_reference)
    fields = reference_accelerations(tree, poses, rates, joint_rates(tree, qd_reference), accelerations, tree.gravity)
    columns = [_columns(tree, index, field) for index, field in enumerate(fields)]
    directions = [coulomb_direction(body, rate) for body, rate in zip(tree.bodies, rates, strict=True)]
    return matrix_of_rows(tree, columns, poses, [np.array(x) for x in (rates, directions, accelerations)])


def _columns(tree: Tree, index: int, accelerations: PointAccelerations) -> Columns:
    """Wrench of a body, about the origin and in the axes of its first link, for unit values of its parameters."""
    R, p = link_in_body(tree, index)
    U = R.T @ accelerations.matrix @ R
    a = R.T @ (accelerations.linear + accelerations.matrix @ p)
    lower, upper = np.array([U[2, 1], U[0, 2], U[1, 0]]), np.array([U[1, 2], U[2, 0], U[0, 1]])
    return columns_of_accelerations(U, a, 0.5 * (lower - upper), 0.5 * (lower + upper))
