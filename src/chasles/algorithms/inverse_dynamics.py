"""Inverse dynamics: the joint torques of a motion, and their parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.drives import at_joints, at_motors, motor_rates, torques_of_motors
from chasles.algorithms.joint_friction import (
    has_load_friction,
    has_position_torques,
    load_friction_torque,
    load_shares,
    loaded_friction_torque,
    position_torque,
    unloaded_friction_torque,
)
from chasles.algorithms.newton_euler import NO_WRENCHES, newton_euler
from chasles.engine import sign
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def inverse_dynamics(tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Return the joint torques of a motion: M qdd + c + g + friction + armature qdd - Jᵀ w.

    Friction includes that of the load, which the sum of the other terms is; g includes the torques that depend on a
    joint's position, which are no load.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd
        Configuration, shape (nq,), velocity and acceleration, shape (n,), rad, rad/s, rad/s² (m, m/s, m/s² for
        prismatic joints).
    wrenches
        Wrenches (m, f) of the environment on the robot, by the name of the frame at which they act: shape (6,), about
        the frame's origin and in its axes, N·m and N.

    Returns
    -------
    tau
        Shape (n,), N·m (N for prismatic joints).

    Raises
    ------
    UnknownNameError
        If `wrenches` names a frame that does not exist.

    Examples
    --------
    At rest and level, with 10 N downward at the tool, 0.75 m and 0.25 m from the joints. To the weight of 5.625 kg·m
    and 0.625 kg·m times 9.80621 m/s² this adds 7.5 N·m and 2.5 N·m.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> rest, load = np.zeros(2), np.array([0.0, 0.0, 0.0, 0.0, -10.0, 0.0])
    >>> inverse_dynamics(tree, rest, rest, rest, wrenches={"tool": load}).round(5)
    array([62.65993,  8.62888])
    """
    rigid = newton_euler(tree, q, qd, qdd, tree.gravity, wrenches)
    return motor_torque(tree, q, qd, rigid, qdd)


def motor_torque(tree: Tree, q: Array, qd: Array, rigid: Array, qdd: Array) -> Array:
    """Motor torques that give the bodies their torques `rigid` (n,): with friction, position torques and armature."""
    tau = rigid + unloaded_friction_torque(tree, qd)
    armature = armature_torque(tree, qdd)
    tau = tau + armature
    if has_load_friction(tree):
        tau = tau + load_friction_torque(tree, qd, rigid + armature)
    return tau + position_torque(tree, q) if has_position_torques(tree) else tau


def bias(tree: Tree, q: Array, qd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Return the torques of a motion without acceleration: c + g + friction - Jᵀ w.

    With friction that depends on the load, this is not the difference between the torques of an accelerated motion and
    those of its inertia.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, wrenches
        See `inverse_dynamics`, also for the errors.

    Returns
    -------
    h
        Shape (n,), N·m (N for prismatic joints).

    Examples
    --------
    With the rods at a right angle the second has no lever arm: (10 · 0.25 + 5 · 0.5) · 9.80621, and 0.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> bias(tree, np.array([0.0, np.pi / 2]), np.zeros(2)).round(5) + 0.0
    array([49.03105,  0.     ])
    """
    return inverse_dynamics(tree, q, qd, np.zeros(tree.n), wrenches)


def gravity_torque(tree: Tree, q: Array) -> Array:
    """Return the torques that hold the robot at rest, the gradient of `potential_energy`.

    They are those of gravity and, where joints have such, the torques that depend on a joint's position (of cables,
    springs or eccentric gears; see `position_torque`).

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    g
        Shape (n,), N·m (N for prismatic joints).

    Examples
    --------
    Stretched out level: (10 · 0.25 + 5 · 0.625) · 9.80621 and 5 · 0.125 · 9.80621.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> gravity_torque(tree, np.zeros(2)).round(5)
    array([55.15993,  6.12888])
    """
    weight = newton_euler(tree, q, np.zeros(tree.n), np.zeros(tree.n), tree.gravity)
    return weight + position_torque(tree, q) if has_position_torques(tree) else weight


def coriolis_vector(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the centrifugal and Coriolis torques, without gravity and friction.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    c
        C(q, qd) qd, shape (n,), N·m (N for prismatic joints).

    Examples
    --------
    With h = m₂ l₁ l₂/2 sin q₂ = 0.3125: -h (2 qd₁ qd₂ + qd₂²) and h qd₁².

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> coriolis_vector(tree, np.array([0.0, np.pi / 2]), np.array([1.0, 2.0])).round(6)
    array([-2.5   ,  0.3125])
    """
    return newton_euler(tree, q, qd, np.zeros(tree.n), np.zeros(3))


def armature_torque(tree: Tree, qdd: Array) -> Array:
    """Torques that accelerate the motors' rotors.

    Parameters
    ----------
    tree, qdd
        The robot and its coordinate accelerations (n,), rad/s² (m/s² for prismatic joints).

    Returns
    -------
    ndarray
        Shape (n,), N·m (N for prismatic joints).

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_values
    >>> motor = {"joints.joint1.motor_inertia": 0.01, "joints.joint1.gear_ratio": 10.0}
    >>> arm = with_values(load("planar2r"), motor)
    >>> armature_torque(build_tree(arm), np.array([2.0, 2.0]))  # 10^2 * 0.01 * 2
    array([2., 0.])
    """
    accelerations = motor_rates(tree, qdd)
    return torques_of_motors(tree, [b.armature * a for b, a in zip(tree.bodies, accelerations, strict=True)])


def friction_torque(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the torques that overcome friction of the joints, under the load of their weight.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    tau_friction
        Shape (n,), N·m (N for prismatic joints), in the direction of qd: viscous and Coulomb friction and, of friction
        that grows with the load, what the weight at q causes. `loaded_friction_torque` is that of other loads.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0))
    >>> friction_torque(tree, np.zeros(2), np.array([1.0, -4.0]))  # 0.5 · 1 + 2 and -0.5 · 4 - 2
    array([ 2.5, -4. ])
    """
    if not has_load_friction(tree):
        return unloaded_friction_torque(tree, qd)
    weight = newton_euler(tree, q, np.zeros(tree.n), np.zeros(tree.n), tree.gravity)
    return loaded_friction_torque(tree, q, qd, weight)


def transmitted_torque(tree: Tree, q: Array, qd: Array, tau: Array) -> Array:
    """Return what the joints transmit of the motors' torques: M qdd + c + g + armature qdd - Jᵀ w, without friction.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).
    tau
        Motor torques, shape (n,), N·m (N for prismatic joints).

    Returns
    -------
    load
        Shape (n,), N·m (N for prismatic joints); g is here that of the weight alone.

    Notes
    -----
    Friction of the load takes the share s = load_friction tanh(qd / load_velocity) of the size of the transmitted
    torque x. From x + s |x| = u, the torque that other friction and `position_torque` leave, x = u / (1 + s sign(u)).

    Examples
    --------
    10 N·m lift a load with a gear of 0.25; to let it down they hold more.

    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), load=0.25))
    >>> transmitted_torque(tree, np.zeros(2), np.array([1.0, -1.0]), np.array([10.0, 6.0]))  # 10 / 1.25, 6 / 0.75
    array([8., 8.])
    """
    free = tau - unloaded_friction_torque(tree, qd)
    free = free - position_torque(tree, q) if has_position_torques(tree) else free
    if not has_load_friction(tree):
        return free
    of_motors = at_motors(tree, free)
    return at_joints(tree, of_motors / (1.0 + load_shares(tree, qd) * sign(of_motors)))
