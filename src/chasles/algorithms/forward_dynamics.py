"""Forward dynamics: the accelerations that torques cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chasles.algorithms.articulated_body import articulated_body_accelerations
from chasles.algorithms.inverse_dynamics import bias
from chasles.algorithms.joint_motion import WORLD, has_mimic_joints
from chasles.algorithms.mass_matrix import factor_mass_matrix, mass_matrix
from chasles.algorithms.wrenches import NO_WRENCHES
from chasles.engine.linear_solve import inverse, solve
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

ARTICULATED_BODY_FROM_DEPTH = 6.0
"""Mean number of joints from base to body at which the articulated-body algorithm begins to take fewer operations."""


def forward_dynamics(tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Accelerations under torques, the inverse of inverse dynamics.

    By the mass matrix where the tree is shallow (a serial arm of up to ten joints) or has mimic joints, else by the
    articulated-body algorithm.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).
    tau
        Torques of the motors (n,), N m (N for sliding joints).
    wrenches
        As for `inverse_dynamics`, and with its error.

    Returns
    -------
    ndarray
        qdd (n,), rad/s^2 (m/s^2 for sliding joints).

    Raises
    ------
    ArgumentError
        If a joint moves nothing that has mass or motor inertia, so that the mass matrix is singular.

    Examples
    --------
    With the rods at a right angle M = [[21, 1], [1, 1]] * 5/48, so that 1 N m at the second joint, beyond what holds
    the weight, causes -0.48 and 21 * 0.48 rad/s^2.

    >>> import numpy as np
    >>> from chasles.algorithms import gravity_torque
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> q = np.array([0.0, np.pi / 2])
    >>> forward_dynamics(tree, q, np.zeros(2), gravity_torque(tree, q) + [0.0, 1.0]).round(6)
    array([-0.48, 10.08])
    """
    if not has_mimic_joints(tree) and mean_depth(tree) >= ARTICULATED_BODY_FROM_DEPTH:
        return articulated_body_accelerations(tree, q, qd, tau, wrenches)
    return accelerations_by_mass_matrix(tree, q, qd, tau, wrenches)


def accelerations_by_mass_matrix(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Accelerations by solving M qdd = tau - bias.

    Parameters
    ----------
    tree, q, qd, tau, wrenches
        As for `forward_dynamics`, and with its errors.

    Returns
    -------
    ndarray
        qdd (n,), rad/s^2 (m/s^2 for sliding joints).

    Notes
    -----
    Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 6, Forward Dynamics - Inertia Matrix Methods.

    Examples
    --------
    1 N m at the first joint beyond what holds the weight: the first column of the inverse of
    M = [[21, 1], [1, 1]] * 5/48.

    >>> import numpy as np
    >>> from chasles.algorithms import gravity_torque
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> q = np.array([0.0, np.pi / 2])
    >>> accelerations_by_mass_matrix(tree, q, np.zeros(2), gravity_torque(tree, q) + [1.0, 0.0]).round(6)
    array([ 0.48, -0.48])
    """
    return solve(factor_mass_matrix(tree, mass_matrix(tree, q)), tau - bias(tree, q, qd, wrenches))


def mean_depth(tree: Tree) -> float:
    """Mean number of joints between a body and the base.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> mean_depth(tree)  # one joint to the first rod, two to the second
    1.5
    """
    depths: list[int] = []
    for body in tree.bodies:
        depths.append(1 if body.parent == WORLD else depths[body.parent] + 1)
    return sum(depths) / max(1, len(depths))


def inverse_mass_matrix(tree: Tree, q: Array) -> Array:
    """Inverse of the mass matrix: accelerations per unit torque.

    Parameters
    ----------
    tree, q
        The robot and its coordinates (n,), rad (m for sliding joints).

    Returns
    -------
    ndarray
        Shape (n, n), 1/(kg m^2) (1/kg for sliding joints), exactly symmetric.

    Raises
    ------
    ArgumentError
        If a joint moves nothing that has mass or motor inertia.

    Examples
    --------
    The inverse of M = [[21, 1], [1, 1]] * 5/48, the arm at a right angle:

    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> inverse_mass_matrix(tree, np.array([0.0, np.pi / 2])).round(6)
    array([[ 0.48, -0.48],
           [-0.48, 10.08]])
    """
    return inverse(factor_mass_matrix(tree, mass_matrix(tree, q)))
