"""Regressor of what changes the momenta without torques: with it the equation of motion needs no accelerations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.body_motion import body_accelerations, body_velocities, screw_rate, velocities_after
from chasles.algorithms.friction import coulomb_direction
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.parameter_columns import (
    acceleration_seen_from_link,
    matrix_of_rows,
    momentum_columns,
    seen_from_link,
    wrench_columns,
)
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def momentum_drift_regressor(tree: Tree, q: Array, qd: Array) -> Array:
    """Matrix D with D pi = drift of `momentum_and_drift`: what each parameter adds to C^T qd - g - friction.

    With the momentum regressor P, the torques of every motion are tau = (dP/dt - D) pi, which a filter can use without
    accelerations.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    ndarray
        Shape (n, parameters), columns as those of `torque_regressor`; those of armature are zero.

    Notes
    -----
    Middleton & Goodwin, "Adaptive computed torque control for rigid link manipulators" (Systems & Control Letters
    10(1), 1988).

    Examples
    --------
    1 kg at the origin of link2, 0.75 m and 0.25 m from the joints, at rest and level: it falls.

    >>> from chasles.model import build_tree, load
    >>> momentum_drift_regressor(build_tree(load("planar2r")), np.zeros(2), np.zeros(2))[:, 10].round(5)
    array([-7.35466, -2.45155])
    """
    poses, rates = poses_in_parent(tree, joint_positions(tree, q)), joint_rates(tree, qd)
    nothing = [0.0] * len(tree.bodies)
    velocities = body_velocities(tree, poses, rates)
    momenta = [momentum_columns(seen_from_link(tree, index, velocity)) for index, velocity in enumerate(velocities)]
    after = velocities_after(tree, poses, velocities)
    screw_rates = [screw_rate(body, velocity) for body, velocity in zip(tree.bodies, after, strict=True)]
    at_rest = body_accelerations(tree, poses, nothing, nothing, tree.gravity)
    weights = [wrench_columns(acceleration_seen_from_link(tree, i, a)) for i, a in enumerate(at_rest)]
    directions = np.array([coulomb_direction(body, rate) for body, rate in zip(tree.bodies, rates, strict=True)])
    no_columns = np.array(nothing)
    turned = matrix_of_rows(tree, momenta, poses, [no_columns, no_columns, no_columns], screw_rates)
    return turned - matrix_of_rows(tree, weights, poses, [np.array(rates), directions, no_columns])
