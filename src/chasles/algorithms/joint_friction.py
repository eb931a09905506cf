"""Joint friction, viscous, Coulomb and of the load, and the torques that depend on the position of a joint.

Friction of the load belongs to a velocity coordinate, whose torque is known from the motion of all that it moves. Where
drives are coupled all of these are of motors; see `drives`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.drives import at_joints, at_motors, motor_positions, motor_rates, torques_of_motors
from chasles.algorithms.spatial import is_number_zero
from chasles.engine import absolute, cos, sign, sin, tanh
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree


def joint_friction(body: MovingBody, rate: Real) -> Real:
    """Friction torque that opposes one joint's rate, without load: viscous + Coulomb.

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
    """Torque of a Coulomb friction of 1 N·m: a sum of sign(rate) or tanh(rate / velocity) with the Coulomb shares.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> float(coulomb_direction(build_tree(load("planar2r")).bodies[0], -4.0))
    -1.0
    """
    shares = zip(body.coulomb_shares, body.coulomb_velocities, strict=True)
    parts = [share * direction(rate, velocity) for share, velocity in shares]
    return sum(parts[1:], start=parts[0])


def direction(rate: Real, velocity: Real) -> Real:
    """Smoothed sign of a rate: tanh(rate / velocity), or sign(rate) where the velocity is the number zero."""
    return sign(rate) if is_number_zero(velocity) else tanh(rate / velocity)


def joint_friction_derivative(body: MovingBody, rate: Real) -> Real:
    """Derivative of `joint_friction` by the rate; the jump of sign(rate) at zero is left out.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0, coulomb_velocity=0.1))
    >>> float(joint_friction_derivative(tree.bodies[0], 0.0))  # 0.5 + 2 / 0.1
    20.5
    """
    slope = body.viscous_friction
    for share, velocity in zip(body.coulomb_shares, body.coulomb_velocities, strict=True):
        if not is_number_zero(velocity):
            turning = tanh(rate / velocity)
            slope = slope + share * body.coulomb_friction * (1.0 - turning * turning) / velocity
    return slope


def joint_friction_curvature(body: MovingBody, rate: Real) -> Real:
    """Second derivative of `joint_friction` by the rate; the jump of sign(rate) at zero is left out.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, coulomb=2.0, coulomb_velocity=0.1))
    >>> float(joint_friction_curvature(tree.bodies[0], 0.0)) + 0.0  # steepest there
    0.0
    """
    curvature: Real = 0.0
    for share, velocity in zip(body.coulomb_shares, body.coulomb_velocities, strict=True):
        if not is_number_zero(velocity):
            curvature = curvature + share * body.coulomb_friction * _curvature_of_tanh(rate, velocity)
    return curvature


def _curvature_of_tanh(rate: Real, velocity: Real) -> Real:
    """Second derivative of tanh(rate / velocity) by the rate."""
    turning = tanh(rate / velocity)
    return -2.0 * turning * (1.0 - turning * turning) / (velocity * velocity)


def unloaded_friction_torque(tree: Tree, qd: Array) -> Array:
    """Viscous and Coulomb friction of all joints, shape (n,), at the velocities qd (n,)."""
    rates = motor_rates(tree, qd)
    return torques_of_motors(tree, [joint_friction(b, rate) for b, rate in zip(tree.bodies, rates, strict=True)])


def loaded_friction_torque(tree: Tree, q: Array, qd: Array, load: Array) -> Array:
    """Return the torques that overcome friction of the joints while they transmit given torques.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).
    load
        Torques that the joints transmit, without friction, shape (n,), N·m (N for prismatic joints); see
        `transmitted_torque`.

    Returns
    -------
    tau_friction
        Shape (n,), N·m (N for prismatic joints), in the direction of qd: viscous friction, Coulomb friction and
        ``load_friction * |load| * tanh(qd / load_velocity)``.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), viscous=0.5, load=0.1))
    >>> loaded_friction_torque(tree, np.zeros(2), np.array([1.0, -4.0]), np.array([-20.0, 5.0]))
    array([ 2.5, -2.5])
    """
    unloaded = unloaded_friction_torque(tree, qd)
    return unloaded + load_friction_torque(tree, qd, load) if has_load_friction(tree) else unloaded


def load_friction_torque(tree: Tree, qd: Array, load: Array) -> Array:
    """Friction (n,) of motors that transmit the torques `load` (n,) of the joints, at the joints."""
    return at_joints(tree, load_shares(tree, qd) * absolute(at_motors(tree, load)))


def load_shares(tree: Tree, qd: Array) -> Array:
    """Share of each motor's transmitted torque that friction takes, signed as the motion: shape (n,), at most 0.99."""
    shares: list[Any] = [0.0] * tree.n
    for body, rate in zip(tree.bodies, motor_rates(tree, qd), strict=True):
        if not is_number_zero(body.load_friction):
            shares[body.coordinate] = body.load_friction * direction(rate, body.load_velocity)
    return np.array(shares)


def load_share_slope(body: MovingBody, rate: Real) -> Real:
    """Derivative of a joint's share by its rate; the jump of sign(rate) at zero is left out."""
    if is_number_zero(body.load_friction) or is_number_zero(body.load_velocity):
        return 0.0
    turning = tanh(rate / body.load_velocity)
    return body.load_friction * (1.0 - turning * turning) / body.load_velocity


def load_share_curvature(body: MovingBody, rate: Real) -> Real:
    """Second derivative of a joint's share by its rate; the jump of sign(rate) at zero is left out."""
    if is_number_zero(body.load_friction) or is_number_zero(body.load_velocity):
        return 0.0
    return body.load_friction * _curvature_of_tanh(rate, body.load_velocity)


def has_load_friction(tree: Tree) -> bool:
    """Whether friction of a joint depends on its load; traced values may be such."""
    return not all(is_number_zero(body.load_friction) for body in tree.bodies)


def has_position_torques(tree: Tree) -> bool:
    """Whether a joint has torques that depend on its position; traced values may be such."""
    return not all(is_free_of_position_torques(body) for body in tree.bodies)


def is_free_of_position_torques(body: MovingBody) -> bool:
    """Whether a joint has no torques that depend on its position."""
    return all(is_number_zero(value) for value in (body.torque_offset, body.torque_sine, body.torque_cosine))


def position_torque(tree: Tree, q: Array) -> Array:
    """Return the torques that the motors must overcome at a position, whatever the links weigh.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    tau
        Shape (n,), N·m (N for prismatic joints): ``torque_offset + torque_sine * sin(q) + torque_cosine * cos(q)``, of
        cables, springs and eccentric gears. It is part of `gravity_torque`.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_friction
    >>> tree = build_tree(with_friction(load("planar2r"), torque_offset=2.0, torque_cosine={"joint1": 0.5}))
    >>> position_torque(tree, np.zeros(2))
    array([2.5, 2. ])
    """
    positions = motor_positions(tree, q)
    torques = [joint_position_torque(body, s) for body, s in zip(tree.bodies, positions, strict=True)]
    return torques_of_motors(tree, torques)


def joint_position_torque(body: MovingBody, position: Any) -> Real:
    """Torque of one joint at a position, N·m (N for a prismatic joint)."""
    torque = body.torque_offset
    if not is_number_zero(body.torque_sine):
        torque = torque + body.torque_sine * sin(position)
    if not is_number_zero(body.torque_cosine):
        torque = torque + body.torque_cosine * cos(position)
    return torque


def joint_position_stiffness(body: MovingBody, position: Any) -> Real:
    """Derivative of `joint_position_torque` by the position, N·m/rad."""
    stiffness: Real = 0.0
    if not is_number_zero(body.torque_sine):
        stiffness = stiffness + body.torque_sine * cos(position)
    if not is_number_zero(body.torque_cosine):
        stiffness = stiffness - body.torque_cosine * sin(position)
    return stiffness


def joint_position_curvature(body: MovingBody, position: Any) -> Real:
    """Second derivative of `joint_position_torque` by the position, N·m/rad²."""
    if is_free_of_position_torques(body):
        return 0.0
    return body.torque_offset - joint_position_torque(body, position)


def joint_position_energy(body: MovingBody, position: Any) -> Real:
    """Integral of `joint_position_torque` from the position zero, J."""
    energy: Real = 0.0
    if not is_number_zero(body.torque_offset):
        energy = energy + body.torque_offset * position
    if not is_number_zero(body.torque_sine):
        energy = energy + body.torque_sine * (1.0 - cos(position))
    if not is_number_zero(body.torque_cosine):
        energy = energy + body.torque_cosine * sin(position)
    return energy
