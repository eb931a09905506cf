"""Energy regressors: the vectors whose products with the inertial parameters are kinetic and potential energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.body_motion import body_velocities
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.kinematics import body_poses, frame_pose
from chasles.algorithms.parameter_columns import momentum_columns, power_columns, seen_from_link
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def energy_regressor(tree: Tree, q: Array, qd: Array) -> tuple[Array, Array]:
    """Vectors k and u: the kinetic energy is k pi, the potential energy u pi.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    kinetic, potential
        Shape (parameters,) each, elements as the columns of `torque_regressor`; those of friction are zero.

    Notes
    -----
    Gautier & Khalil, "On the identification of the inertial parameters of robots" (IEEE CDC 1988).

    Examples
    --------
    1 kg at the origin of link2, upright 0.75 m above the joint and turning about it with 2 rad/s:
    1.5^2 / 2 J, and 0.75 * 9.80621 J.

    >>> from chasles.model import build_tree, load
    >>> k, u = energy_regressor(build_tree(load("planar2r")), np.array([np.pi / 2, 0.0]), np.array([2.0, 0.0]))
    >>> float(k[10].round(5)), float(u[10].round(5))
    (1.125, 7.35466)
    """
    poses, rates = poses_in_parent(tree, joint_positions(tree, q)), joint_rates(tree, qd)
    kinetic, potential = [], []
    velocities = body_velocities(tree, poses, rates)
    for index in tree.carriers:
        seen = seen_from_link(tree, index, velocities[index])
        kinetic += list(0.5 * power_columns(momentum_columns(seen), seen))
    poses_in_world = body_poses(tree, q)
    for index in tree.carriers:
        R_world_link, p_world_link = frame_pose(tree.frames[tree.bodies[index].name], poses_in_world)
        potential += [-(tree.gravity @ p_world_link), *(-(tree.gravity @ R_world_link)), *[0.0] * 6]
    of_joints = [x for rate in rates for x in (0.0, 0.0, 0.5 * rate * rate)]
    return np.array(kinetic + of_joints), np.array(potential + [0.0] * len(of_joints))
