"""Momentum regressor: the matrix that takes inertial parameters to the generalised momenta of a motion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.body_motion import body_velocities
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.parameter_columns import matrix_of_rows, momentum_columns, seen_from_link
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def momentum_regressor(tree: Tree, q: Array, qd: Array) -> Array:
    """Matrix Y with M qd = Y pi: what each parameter adds to the momenta that belong to the coordinates.

    Identification by momenta needs no measured accelerations: they change by the impulse of the torques, but for terms
    of q and qd.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    ndarray
        Shape (n, parameters), columns as those of `torque_regressor`; those of friction are zero.

    Notes
    -----
    Middleton & Goodwin, "Adaptive computed torque control for rigid link manipulators" (Systems & Control Letters
    10(1), 1988) avoid accelerations so, with filters.

    Examples
    --------
    1 kg at the origin of link2, 0.75 m and 0.25 m from the joints, turning about the first with 2 rad/s: it has
    1.5 kg m/s.

    >>> from chasles.model import build_tree, load
    >>> momentum_regressor(build_tree(load("planar2r")), np.zeros(2), np.array([2.0, 0.0]))[:, 10].round(6)
    array([1.125, 0.375])
    """
    poses, rates = poses_in_parent(tree, joint_positions(tree, q)), joint_rates(tree, qd)
    velocities = body_velocities(tree, poses, rates)
    columns = [momentum_columns(seen_from_link(tree, index, velocity)) for index, velocity in enumerate(velocities)]
    nothing = np.zeros(len(tree.bodies))
    return matrix_of_rows(tree, columns, poses, [nothing, nothing, np.array(rates)])
