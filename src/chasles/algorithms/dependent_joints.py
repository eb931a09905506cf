"""How the joints of a closed chain move together: velocities and accelerations of all from the independent ones.

The constraints J q̇ = 0 of the loops give the dependent velocities in the least-squares sense, by Householder's
orthogonal elimination: q̇ = G ν and q̈ = G ν̇ + Ġ ν. Source: Featherstone, Rigid Body Dynamics Algorithms (2008), sections
3.2 and 8.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.loops import loop_constraints, loop_jacobian_derivative
from chasles.engine.least_squares import least_squares
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def velocity_map(tree: Tree, q: Array) -> Array:
    """Return the matrix G that takes the independent velocities to those of all joints.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), with closed loops.

    Returns
    -------
    G
        Shape (joint velocities, n): velocities of all joints per unit of each independent one, in the order of
        `Description.joint_velocity_names`. The identity without loops; not finite where the independent velocities do
        not determine the others.

    Examples
    --------
    A rod holds the arm's tip from above. Stretched out, the second joint turns back by (0.5 + 0.25) / 0.25 rad:

    >>> from chasles.model import build_tree, load, with_loop
    >>> arm = load("planar2r").replace(actuated=["joint1"])
    >>> tree = build_tree(with_loop(arm, "rod", "rod", "link0", "tool", T_first_joint=[0.75, 0.3, 0], length=0.3))
    >>> velocity_map(tree, np.zeros(2)).T
    array([[ 1., -3.]])
    """
    if not tree.loops:
        return np.eye(tree.n)
    J = loop_constraints(tree, q).J
    return _with_identity(tree, dependent_rates(tree, J, -J[:, list(tree.independent)]))


def velocity_map_rate(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the matrix Ġ, shape (joint velocities, n), along a motion; its product with qd accelerates the joints."""
    G = velocity_map(tree, q)
    J_rate = loop_jacobian_derivative(tree, q, G @ qd)
    return with_zeros(tree, dependent_rates(tree, loop_constraints(tree, q).J, -(J_rate @ G)))


def joint_accelerations(tree: Tree, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the accelerations of all joints, G q̈ + Ġ q̇.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd
        Configuration, shape (nq,), with closed loops; independent velocities and accelerations, shape (n,).

    Returns
    -------
    accelerations
        Shape (joint velocities,), in the order of `Description.joint_velocity_names`.

    Examples
    --------
    An arm on a rod, stretched out: its tip, 0.3 m below the rod's end, stays there while the first joint starts to
    turn at 1 rad/s, but the rod demands no acceleration across it.

    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "independent": ["joint1"]}
    >>> tree = build_tree(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod))
    >>> joint_accelerations(tree, np.zeros(2), np.array([1.0]), np.array([0.0])).round(9) + 0.0
    array([0., 0.])
    """
    if not tree.loops:
        return qdd
    return joint_acceleration_along(tree, q, qd, qd, qdd)


def joint_acceleration_along(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Return the rates of the joints' reference velocities G q̇ᵣ while the robot moves: G q̈ᵣ + Ġ q̇ᵣ."""
    G = velocity_map(tree, q)
    change = loop_jacobian_derivative(tree, q, G @ qd) @ (G @ qd_reference)
    own = with_zeros(tree, dependent_rates(tree, loop_constraints(tree, q).J, -change[:, None]))
    accelerations: Array = G @ qdd_reference + own[:, 0]
    return accelerations


def dependent_rates(tree: Tree, J: Array, right_side: Array) -> Array:
    """Velocities of the dependent joints that make the constraints change at the rates of the right side."""
    rows = list(tree.constraints)
    return least_squares(J[rows][:, _dependents(tree)], right_side[rows])


def _dependents(tree: Tree) -> list[int]:
    return [index for index in range(tree.n) if index not in tree.independent]


def _with_identity(tree: Tree, dependent: Array) -> Array:
    return _rows(tree, np.eye(len(tree.independent)), dependent)


def with_zeros(tree: Tree, dependent: Array) -> Array:
    """Rows of all joints' velocities from those of the dependent ones, with zeros for the independent ones."""
    return _rows(tree, np.zeros((len(tree.independent), dependent.shape[1])), dependent)


def _rows(tree: Tree, independent: Array, dependent: Array) -> Array:
    """Rows of all joints' velocities from those of the independent and of the dependent ones."""
    rows = dict(zip([*tree.independent, *_dependents(tree)], [*independent, *dependent], strict=True))
    return np.array([rows[index] for index in range(tree.n)]).reshape(tree.n, -1)
