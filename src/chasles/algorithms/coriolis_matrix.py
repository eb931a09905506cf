"""Coriolis matrix C(q, qd): C qd are the centrifugal and Coriolis torques, and dM/dt - 2 C is skew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chasles.algorithms.body_motion import body_velocities, screw_rate, velocities_after
from chasles.algorithms.joint_motion import (
    WORLD,
    along_joint,
    joint_positions,
    joint_rates,
    matrix_of_coordinates,
    poses_in_parent,
    screw,
)
from chasles.algorithms.mass_moments import composite_mass_moments, grouped_mass_moments, inertia_times
from chasles.algorithms.momentum_moments import composite_momentum_moments, drag, drag_along_joint
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def coriolis_matrix(tree: Tree, q: Array, qd: Array) -> Array:
    """Coriolis matrix of the Christoffel symbols; friction has no part in it.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    ndarray
        C (n, n): C qd is `coriolis_vector`, and dM/dt - 2 C is skew-symmetric.

    Notes
    -----
    With the screw S of a joint, its rate dS = v x S, and composite inertia I and B of the bodies beyond i, where i is
    beyond j or equal to it: C_ij = S_i (B_i S_j + I_i dS_j) and C_ji = S_j (B_i S_i + I_i dS_i).
    Echeandia & Wensing, "Numerical Methods to Compute the Coriolis Matrix and Christoffel Symbols for Rigid-Body
    Systems" (J. Comput. Nonlinear Dynam. 16(9), 2021).

    Examples
    --------
    With h = m_2 l_1 l_2 / 2 * sin(q_2) = 0.3125 of the planar arm: [[-h qd_2, -h (qd_1 + qd_2)], [h qd_1, 0]].

    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> coriolis_matrix(tree, np.array([0.0, np.pi / 2]), np.array([1.0, 2.0])).round(6) + 0.0
    array([[-0.625 , -0.9375],
           [ 0.3125,  0.    ]])
    """
    positions, rates = joint_positions(tree, q), joint_rates(tree, qd)
    poses = poses_in_parent(tree, positions)
    velocities = body_velocities(tree, poses, rates)
    inertia = composite_mass_moments(tree, positions)
    momentum = composite_momentum_moments(tree, positions, grouped_mass_moments(tree), velocities)
    after = velocities_after(tree, poses, velocities)
    dS = [screw_rate(body, velocity) for body, velocity in zip(tree.bodies, after, strict=True)]
    C: list[list[Any]] = [[0.0] * len(tree.bodies) for _ in tree.bodies]
    for i, body in enumerate(tree.bodies):
        S_inertia = inertia_times(inertia[i], screw(body))
        S_drag = drag_along_joint(body, momentum[i])
        column = drag(momentum[i], screw(body)) + inertia_times(inertia[i], dS[i])
        C[i][i] = along_joint(body, column)
        j = i
        while tree.bodies[j].parent != WORLD:
            R, p = poses[j]
            S_inertia, S_drag, column = S_inertia.seen_from(R, p), R @ S_drag, column.seen_from(R, p)
            j = tree.bodies[j].parent
            C[i][j] = S_drag @ screw(tree.bodies[j]).angular + S_inertia.power(dS[j])
            C[j][i] = along_joint(tree.bodies[j], column)
    return matrix_of_coordinates(tree, C)
