"""Momenta of the coordinates, p = M qd, and what changes them: p' = tau + J^T w + drift(q, qd)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chasles.algorithms.body_motion import body_velocities, screw_rate, velocities_after
from chasles.algorithms.friction import friction_torque
from chasles.algorithms.inverse_dynamics import armature_torque, gravity_torque
from chasles.algorithms.joint_motion import (
    along_joint,
    joint_positions,
    joint_rates,
    poses_in_parent,
    vector_of_coordinates,
)
from chasles.algorithms.mass_moments import grouped_mass_moments, inertia_times
from chasles.algorithms.wrenches import transmitted_wrenches
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


class Momentum(NamedTuple):
    """Momenta p (n,) of the coordinates, and their drift (n,): the rate at which they change without torques."""

    momentum: Array
    drift: Array


def momentum_and_drift(tree: Tree, q: Array, qd: Array) -> Momentum:
    """Momenta M qd, and C(q, qd)^T qd - g - friction: the rate at which they change if no torques act.

    Parameters
    ----------
    tree, q, qd
        The robot, its coordinates and their rates (n,), rad, rad/s (m, m/s for sliding joints).

    Returns
    -------
    Momentum
        momentum (n,) in kg m^2/s (kg m/s for sliding joints) and drift (n,) in N m (N).

    Notes
    -----
    A joint's momentum is the product of its screw S with the momentum H of all that it carries; so the momenta change
    by S H' and by S' H, which is the part C^T qd. Neither needs accelerations. The relation is that of De Luca &
    Mattone, "Actuator failure detection and isolation using generalized momenta" (IEEE Int. Conf. Robotics and
    Automation, 2003).

    Examples
    --------
    The stretched arm turns like one body of 2.8125 kg m^2; its tip rod alone has 5 * (0.25^2 / 3 + 0.5 * 0.125).

    >>> import numpy as np
    >>> from chasles.model import build_tree, load
    >>> momentum_and_drift(build_tree(load("planar2r")), np.zeros(2), np.array([2.0, 0.0])).momentum.round(5)
    array([5.625  , 0.83333])
    """
    rates = joint_rates(tree, qd)
    poses = poses_in_parent(tree, joint_positions(tree, q))
    velocities = body_velocities(tree, poses, rates)
    own = [inertia_times(mass, velocity) for mass, velocity in zip(grouped_mass_moments(tree), velocities, strict=True)]
    carried = transmitted_wrenches(tree, poses, own)  # momenta add up and change frame as wrenches do
    pairs = list(zip(tree.bodies, carried, velocities_after(tree, poses, velocities), strict=True))
    momenta = vector_of_coordinates(tree, [along_joint(body, H) for body, H, _ in pairs])
    turned = vector_of_coordinates(tree, [H.power(screw_rate(body, velocity)) for body, H, velocity in pairs])
    return Momentum(momenta + armature_torque(tree, qd), turned - gravity_torque(tree, q) - friction_torque(tree, qd))
