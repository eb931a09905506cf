"""Mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chasles.algorithms.joint_motion import (
    WORLD,
    along_joint,
    joint_positions,
    matrix_of_coordinates,
    poses_in_parent,
    screw,
)
from chasles.algorithms.mass_moments import composite_mass_moments, inertia_times
from chasles.engine.linear_solve import Factor, SingularMatrixError, factor
from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def mass_matrix(tree: Tree, q: Array) -> Array:
    """Mass matrix, symmetric and full, with the motors' armature on its diagonal.

    Column i is the wrench that gives the bodies beyond joint i a unit acceleration of that joint, felt at the joints
    that carry it.

    Parameters
    ----------
    tree, q
        The robot and its coordinates (n,), rad (m for sliding joints).

    Returns
    -------
    ndarray
        M (n, n), kg m^2 (kg for sliding joints).

    Notes
    -----
    Walker & Orin, "Efficient dynamic computer simulation of robotic mechanisms" (1982); Featherstone, Rigid Body
    Dynamics Algorithms (2008), section 6.2, The Composite-Rigid-Body Algorithm.

    Examples
    --------
    Rods of m_1 = 10 kg, l_1 = 0.5 m and m_2 = 5 kg, l_2 = 0.25 m at a right angle: M_22 = M_12 = m_2 l_2^2 / 3 and
    M_11 = m_1 l_1^2 / 3 + m_2 l_1^2 + M_22.

    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> mass_matrix(tree, np.array([0.0, np.pi / 2])).round(4)
    array([[2.1875, 0.1042],
           [0.1042, 0.1042]])
    """
    positions = joint_positions(tree, q)
    poses = poses_in_parent(tree, positions)
    composite = composite_mass_moments(tree, positions)
    M: list[list[Any]] = [[0.0] * len(tree.bodies) for _ in tree.bodies]
    for i, body in enumerate(tree.bodies):
        wrench = inertia_times(composite[i], screw(body))
        M[i][i] = along_joint(body, wrench) + body.armature
        j = i
        while tree.bodies[j].parent != WORLD:
            wrench = wrench.seen_from(*poses[j])
            j = tree.bodies[j].parent
            M[i][j] = M[j][i] = along_joint(tree.bodies[j], wrench)
    return matrix_of_coordinates(tree, M)


def factor_mass_matrix(tree: Tree, M: Array) -> Factor:
    """Factor a mass matrix for `solve` and `inverse`.

    Parameters
    ----------
    tree, M
        The robot and its mass matrix (n, n).

    Raises
    ------
    ArgumentError
        If a joint is known to move no mass, so that M is singular; the message names it.
    """
    try:
        return factor(M)
    except SingularMatrixError as singular:
        joint = next(body.joint for body in tree.bodies if body.coordinate == singular.row)
        raise massless(joint) from None


def massless(joint: str) -> ArgumentError:
    """Return the error of a joint without inertia, for which no acceleration exists."""
    return ArgumentError(
        f"the mass matrix is singular: joint '{joint}' moves no mass; give its links mass or the joint motor inertia"
    )
