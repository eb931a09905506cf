"""Power balance: where the work of motors and environment goes at one moment of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.body_motion import body_accelerations, body_velocities
from chasles.algorithms.forward_dynamics import forward_dynamics
from chasles.algorithms.friction import joint_friction
from chasles.algorithms.joint_motion import joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.kinematics import body_poses
from chasles.algorithms.mass_moments import mass_moments
from chasles.algorithms.wrenches import NO_WRENCHES, inertial_wrench, wrenches_on_bodies
from chasles.geometry.elementary import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


class PowerBalance(NamedTuple):
    """Powers in W: motors + environment = kinetic + potential + friction."""

    motors: Any
    """Work of the torques per time."""
    environment: Any
    """Work of the wrenches per time."""
    kinetic: Any
    """Rate of change of the kinetic energy of bodies and rotors."""
    potential: Any
    """Rate of change of the potential energy."""
    friction: Any
    """What friction turns into heat; never negative."""


def power_balance(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> PowerBalance:
    """Powers at one moment, for the acceleration that the torques cause.

    The energies' rates are summed up body by body, and the work of the torques joint by joint: that the two are equal
    is a check on everything between.

    Parameters
    ----------
    tree, q, qd, tau, wrenches
        As for `forward_dynamics`, and with its errors.

    Returns
    -------
    PowerBalance
        Powers in W.

    Examples
    --------
    The arm falls from the level at 2 rad/s: its weight of 5.625 kg m gives up 5.625 * 9.80621 * 2 W.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> balance = power_balance(tree, np.zeros(2), np.array([-2.0, 0.0]), np.zeros(2))
    >>> round(float(balance.potential), 5), round(float(balance.kinetic), 5)
    (-110.31986, 110.31986)
    """
    qdd = forward_dynamics(tree, q, qd, tau, wrenches)
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, rates_of_change = joint_rates(tree, qd), joint_rates(tree, qdd)
    velocities = body_velocities(tree, poses, rates)
    accelerations = body_accelerations(tree, poses, rates, rates_of_change, np.zeros(3))
    external = wrenches_on_bodies(tree, wrenches)
    environment: Any = 0.0
    kinetic: Any = 0.0
    potential: Any = 0.0
    friction: Any = 0.0
    for i, (body, (R, _)) in enumerate(zip(tree.bodies, body_poses(tree, q), strict=True)):
        environment = environment + external[i].power(velocities[i])
        kinetic = kinetic + inertial_wrench(mass_moments(body), accelerations[i]).power(velocities[i])
        kinetic = kinetic + body.armature * rates[i] * rates_of_change[i]
        momentum = body.mass * velocities[i].linear + cross(velocities[i].angular, body.first_moment)
        potential = potential - tree.gravity @ (R @ momentum)
        friction = friction + joint_friction(body, rates[i]) * rates[i]
    return PowerBalance(tau @ qd, environment, kinetic, potential, friction)
