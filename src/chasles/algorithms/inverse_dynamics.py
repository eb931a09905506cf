"""Inverse dynamics: the joint torques of a motion, their parts, and joint friction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.joint_motion import (
    joint_rates,
    vector_of_coordinates,
)
from chasles.algorithms.newton_euler import NO_WRENCHES, newton_euler
from chasles.algorithms.spatial import is_number_zero
from chasles.engine import sign, tanh
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree


def inverse_dynamics(tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Return the joint torques of a motion: M qdd + c + g + friction + armature qdd - Jᵀ w.

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
    return rigid + friction_torque(tree, q, qd) + armature_torque(tree, qdd)


def bias(tree: Tree, q: Array, qd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Return the torques of a motion without acceleration: c + g + friction - Jᵀ w.

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
    """Return the torques that hold the robot against gravity, the gradient of `potential_energy`.

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
    return newton_euler(tree, q, np.zeros(tree.n), np.zeros(tree.n), tree.gravity)


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
    accelerations = joint_rates(tree, qdd)
    return vector_of_coordinates(tree, [b.armature * a for b, a in zip(tree.bodies, accelerations, strict=True)])


def joint_friction(body: MovingBody, rate: Real) -> Real:
    """Friction torque that opposes one joint's rate: viscous + Coulomb.

    The Coulomb part is coulomb * sign(rate), or coulomb * tanh(rate / coulomb_velocity) where that velocity is not the
    number zero.

    Parameters
    ----------
    body
        Body whose joint has the friction.
    rate
        Rate of the joint, rad/s (m/s for a prismatic joint).

    Returns
    -------
    float
        N·m (N for a prismatic joint), in the direction of the rate.

    Notes
    -----
    For these models and what they leave out see Armstrong-Helouvry, Dupont & Canudas de Wit, "A survey of models,
    analysis tools and compensation methods for the control of machines with friction" (Automatica 30(7), 1994).

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0))
    >>> float(joint_friction(tree.bodies[0], -4.0))  # -0.5 * 4 - 2
    -4.0
    """
    return body.viscous_friction * rate + body.coulomb_friction * coulomb_direction(body, rate)


def coulomb_direction(body: MovingBody, rate: Real) -> Real:
    """Torque of a Coulomb friction of 1 N·m: sign(rate), or tanh(rate / coulomb_velocity).

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> float(coulomb_direction(build_tree(load("planar2r")).bodies[0], -4.0))
    -1.0
    """
    return sign(rate) if is_number_zero(body.coulomb_velocity) else tanh(rate / body.coulomb_velocity)


def joint_friction_derivative(body: MovingBody, rate: Real) -> Real:
    """Derivative of `joint_friction` by the rate; the jump of sign(rate) at zero is left out.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0, coulomb_velocity=0.1))
    >>> float(joint_friction_derivative(tree.bodies[0], 0.0))  # 0.5 + 2 / 0.1
    20.5
    """
    if is_number_zero(body.coulomb_velocity):
        return body.viscous_friction
    slope = tanh(rate / body.coulomb_velocity)
    return body.viscous_friction + body.coulomb_friction * (1.0 - slope * slope) / body.coulomb_velocity


def friction_torque(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the torques that overcome viscous and Coulomb friction of the joints.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    tau_friction
        Shape (n,), N·m (N for prismatic joints), in the direction of qd.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0))
    >>> friction_torque(tree, np.zeros(2), np.array([1.0, -4.0]))  # 0.5 · 1 + 2 and -0.5 · 4 - 2
    array([ 2.5, -4. ])
    """
    rates = joint_rates(tree, qd)
    return vector_of_coordinates(tree, [joint_friction(b, rate) for b, rate in zip(tree.bodies, rates, strict=True)])
