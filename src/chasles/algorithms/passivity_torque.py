"""Torques of passivity-based control: M qdd_r + C qd_r + g + friction, for a reference motion beside the real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.friction import friction_torque
from chasles.algorithms.inverse_dynamics import armature_torque
from chasles.algorithms.joint_motion import (
    along_joint,
    joint_positions,
    joint_rates,
    poses_in_parent,
    vector_of_coordinates,
)
from chasles.algorithms.mass_moments import MassMoments, grouped_mass_moments
from chasles.algorithms.reference_motion import PointAccelerations, reference_accelerations
from chasles.algorithms.spatial import Wrench
from chasles.algorithms.wrenches import transmitted_wrenches
from chasles.geometry.elementary import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def passivity_torque(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Torques M qdd_r + C(q, qd) qd_r + g + friction(qd) + armature * qdd_r, with the C of `coriolis_matrix`.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).
    qd_reference, qdd_reference
        Reference rates and accelerations (n,), rad/s, rad/s^2.

    Returns
    -------
    ndarray
        Shape (n,), N m (N for sliding joints). With qd_reference = qd it is `inverse_dynamics`.

    Notes
    -----
    Slotine & Li, "On the adaptive control of robot manipulators" (Int. J. Robotics Research 6(3), 1987). The recursion
    is that of Luh, Walker & Paul with the accelerations of `reference_motion`.

    Examples
    --------
    With h = m_2 l_1 l_2 / 2 * sin(q_2) = 0.3125, C = [[-h qd_2, -h (qd_1 + qd_2)], [h qd_1, 0]] for the planar arm.

    >>> from chasles.model import build_tree, load
    >>> from dataclasses import replace
    >>> tree = replace(build_tree(load("planar2r")), gravity=np.zeros(3))
    >>> q, qd = np.array([0.0, np.pi / 2]), np.array([1.0, 2.0])
    >>> passivity_torque(tree, q, qd, np.array([4.0, 0.0]), np.zeros(2)).round(6)  # -h 2 * 4 and h 1 * 4
    array([-2.5 ,  1.25])
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, reference_rates = joint_rates(tree, qd), joint_rates(tree, qd_reference)
    accelerations = reference_accelerations(
        tree, poses, rates, reference_rates, joint_rates(tree, qdd_reference), tree.gravity
    )
    net = [_wrench(moments, field) for moments, field in zip(grouped_mass_moments(tree), accelerations, strict=True)]
    transmitted = transmitted_wrenches(tree, poses, net)
    rigid = vector_of_coordinates(
        tree, [along_joint(body, wrench) for body, wrench in zip(tree.bodies, transmitted, strict=True)]
    )
    return rigid + friction_torque(tree, qd) + armature_torque(tree, qdd_reference)


def _wrench(moments: MassMoments, accelerations: PointAccelerations) -> Wrench:
    """Wrench about its origin that gives the mass points of a body their accelerations."""
    U, a = accelerations
    J = moments.second
    spin = np.array(
        [
            U[k, i] * J[i, j]
            - U[j, i] * J[i, k]
            + (U[k, k] - U[j, j]) * J[j, k]
            + (U[k, j] * J[j, j] - U[j, k] * J[k, k])
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        ]
    )
    return Wrench(spin + cross(moments.first, a), moments.mass * a + U @ moments.first)
