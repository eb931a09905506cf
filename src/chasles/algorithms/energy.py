"""Energy, power and momentum of the whole robot, body by body."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.drives import motor_positions, motor_rates
from chasles.algorithms.forward_dynamics import forward_dynamics
from chasles.algorithms.inverse_dynamics import armature_torque
from chasles.algorithms.joint_friction import (
    has_load_friction,
    has_position_torques,
    is_free_of_position_torques,
    joint_friction,
    joint_position_energy,
    joint_position_torque,
    load_friction_torque,
)
from chasles.algorithms.joint_motion import (
    WORLD,
    joint_positions,
    joint_rates,
    poses_in_parent,
    screw,
)
from chasles.algorithms.kinematics import body_poses, body_velocities, center_of_mass
from chasles.algorithms.mass_moments import added, inertia_times, mass_moments, seen_from_parent
from chasles.algorithms.newton_euler import (
    NO_WRENCHES,
    body_accelerations,
    inertial_wrench,
    newton_euler,
    wrenches_on_bodies,
)
from chasles.algorithms.spatial import NO_WRENCH, Wrench
from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def kinetic_energy(tree: Tree, q: Array, qd: Array) -> Real:
    """Return the kinetic energy of the links and of the motors' rotors: qdᵀ M(q) qd / 2, armature included.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    energy
        Shape (), J.

    Notes
    -----
    Half the twist times the momentum of every body (Featherstone, Rigid Body Dynamics Algorithms (2008), section on
    spatial inertia).

    Examples
    --------
    The stretched arm turns as one body of M₁₁ = 10 · 0.5²/3 + 5 (0.625² + 0.25²/12) = 2.8125 kg·m².

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> round(float(kinetic_energy(tree, np.zeros(2), np.array([2.0, 0.0]))), 6)  # 2² · 2.8125 / 2
    5.625
    """
    rates = joint_rates(tree, qd)
    energy: Real = 0.0
    velocities = body_velocities(tree, poses_in_parent(tree, joint_positions(tree, q)), rates)
    for body, velocity, rate in zip(tree.bodies, velocities, motor_rates(tree, qd), strict=True):
        omega, v = velocity.angular, velocity.linear
        momentum = body.mass * v + cross(omega, body.first_moment)
        spin = body.inertia @ omega + cross(body.first_moment, v)
        energy = energy + 0.5 * (momentum @ v + spin @ omega + body.armature * rate * rate)
    return energy


def potential_energy(tree: Tree, q: Array) -> Real:
    """Return the potential energy of the moving links' weight, zero at the height of the world's origin.

    Torques that depend on a joint's position (`position_torque`) add their energy, zero at the position zero.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    energy
        Shape (), J.

    Examples
    --------
    Upright, with the rods' centres 0.25 m and 0.625 m high: (10 · 0.25 + 5 · 0.625) · 9.80621.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> round(float(potential_energy(tree, np.array([np.pi / 2, 0.0]))), 5)
    55.15993
    """
    first = np.zeros(3)
    for body, (R_world_body, p_world_body) in zip(tree.bodies, body_poses(tree, q), strict=True):
        first = first + body.mass * p_world_body + R_world_body @ body.first_moment
    energy: Real = -(tree.gravity @ first)
    if has_position_torques(tree):
        for body, position in zip(tree.bodies, motor_positions(tree, q), strict=True):
            energy = energy + joint_position_energy(body, position)
    return energy


@comparable
class PowerBalance(NamedTuple):
    """Powers in W: motors + environment = kinetic + potential + friction."""

    motors: Real
    """Work of the torques per time."""
    environment: Real
    """Work of the wrenches per time."""
    kinetic: Real
    """Rate of change of the kinetic energy of bodies and rotors."""
    potential: Real
    """Rate of change of the potential energy."""
    friction: Real
    """Power that friction turns into heat; never negative, unless a `load_friction` is."""


def power_balance(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> PowerBalance:
    """Return the power balance of the robot, for the acceleration that the torques cause.

    The rates of the energies are summed body by body, and the power of the torques joint by joint, so their agreement
    checks the whole computation.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, tau, wrenches
        See `forward_dynamics`, also for the errors.

    Raises
    ------
    ArgumentError
        If the robot has loops: their forces are not among the torques of a tree. The energies that
        ``chasles.Recording(energies=True)`` records include them.

    Returns
    -------
    motors, environment, kinetic, potential, friction
        Shape () each, W: work of torques and of wrenches per time, rates of change of the energies, and heat of
        friction; motors + environment = kinetic + potential + friction.

    Examples
    --------
    The arm falls from the level at 2 rad/s: its weight of 5.625 kg·m gives up 5.625 · 9.80621 · 2 W.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> balance = power_balance(tree, np.zeros(2), np.array([-2.0, 0.0]), np.zeros(2))
    >>> round(float(balance.potential), 5), round(float(balance.kinetic), 5)
    (-110.31986, 110.31986)
    """
    if tree.loops:
        raise ArgumentError(
            "power_balance needs a robot without loops, whose forces are not among the torques of a tree; simulate the "
            "robot with record=chasles.Recording(energies=True)"
        )
    qdd = forward_dynamics(tree, q, qd, tau, wrenches)
    return powers_of_motion(tree, q, qd, qdd, wrenches)._replace(motors=tau @ qd)


def powers_of_motion(
    tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> PowerBalance:
    """Powers of a motion, with that of the motors as what the others need.

    Parameters
    ----------
    tree, q, qd, qdd, wrenches
        See `inverse_dynamics`, also for the errors.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> powers = powers_of_motion(tree, np.zeros(2), np.array([-2.0, 0.0]), np.zeros(2))
    >>> round(float(powers.potential), 5), round(float(powers.motors), 5)
    (-110.31986, -110.31986)
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, rates_of_change = joint_rates(tree, qd), joint_rates(tree, qdd)
    velocities = body_velocities(tree, poses, rates)
    accelerations = body_accelerations(tree, poses, rates, rates_of_change, np.zeros(3))
    external = wrenches_on_bodies(tree, wrenches)
    environment: Real = 0.0
    kinetic: Real = 0.0
    potential: Real = 0.0
    friction: Real = 0.0
    if has_load_friction(tree):
        load = newton_euler(tree, q, qd, qdd, tree.gravity, wrenches) + armature_torque(tree, qdd)
        friction = load_friction_torque(tree, qd, load) @ qd
    positions, speeds, speed_rates = motor_positions(tree, q), motor_rates(tree, qd), motor_rates(tree, qdd)
    for i, (body, (R, _)) in enumerate(zip(tree.bodies, body_poses(tree, q), strict=True)):
        environment = environment + external[i].power(velocities[i])
        kinetic = kinetic + inertial_wrench(mass_moments(body), accelerations[i]).power(velocities[i])
        kinetic = kinetic + body.armature * speeds[i] * speed_rates[i]
        momentum = body.mass * velocities[i].linear + cross(velocities[i].angular, body.first_moment)
        potential = potential - tree.gravity @ (R @ momentum)
        if not is_free_of_position_torques(body):
            potential = potential + joint_position_torque(body, positions[i]) * speeds[i]
        friction = friction + joint_friction(body, speeds[i]) * speeds[i]
    return PowerBalance(kinetic + potential + friction - environment, environment, kinetic, potential, friction)


def centroidal_momentum_matrix(tree: Tree, q: Array) -> Array:
    """Return the matrix that maps joint velocities to the momentum about the centre of mass.

    Column i is the momentum of all bodies beyond joint i when only that joint moves, at unit rate.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    A
        Shape (6, n): A qd is `centroidal_momentum`. Links of the fixed base and motor rotors are not included. NaN for
        a robot without mass.

    Notes
    -----
    Orin, Goswami & Lee, "Centroidal dynamics of a humanoid robot" (Autonomous Robots 35, 2013), with composite inertias
    as in Wensing & Orin, "Improved computation of the humanoid centroidal dynamics and application for whole-body
    control" (Int. J. Humanoid Robotics 13(1), 2016).

    Examples
    --------
    Stretched out, with its 15 kg centred at 0.375 m, the arm turns about its first joint: 15 · 0.375 kg·m/s along y.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> centroidal_momentum_matrix(tree, np.zeros(2))[4].round(6)
    array([5.625, 0.625])
    """
    positions = joint_positions(tree, q)
    composite = [mass_moments(body) for body in tree.bodies]
    for i in reversed(range(len(composite))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            composite[parent] = added(composite[parent], seen_from_parent(tree.bodies[i], positions[i], composite[i]))
    center = center_of_mass(tree, q)
    columns: list[Any] = [np.zeros(6)] * tree.n
    for body, moments, (R, p) in zip(tree.bodies, composite, body_poses(tree, q), strict=True):
        momentum = inertia_times(moments, screw(body)).seen_from(R, p - center)
        column = np.concatenate([momentum.moment, momentum.force])
        columns[body.coordinate] = columns[body.coordinate] + body.ratio * column
    return np.array([[column[row] for column in columns] for row in range(6)]).reshape(6, tree.n)


def centroidal_momentum(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the angular momentum about the centre of mass and the linear momentum, in world axes.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    momentum
        Shape (6,), kg·m²/s and kg·m/s, of all moving links. NaN for a robot without mass.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> float(centroidal_momentum(tree, np.zeros(2), np.array([2.0, 0.0]))[4].round(6))
    11.25
    """
    momentum: Array = centroidal_momentum_matrix(tree, q) @ qd
    return momentum


def centroidal_momentum_rate(tree: Tree, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the rate of change of `centroidal_momentum` along a motion.

    By the Newton-Euler equations, this is the sum, about the centre of mass, of all external forces: those of the fixed
    base on the first joints, of gravity and of the environment.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd
        Configuration, shape (nq,), velocity and acceleration, shape (n,), rad, rad/s, rad/s² (m, m/s, m/s² for
        prismatic joints).

    Returns
    -------
    momentum_rate
        Shape (6,), in world axes, N·m and N: A qdd + dA/dt qd with the `centroidal_momentum_matrix` A. NaN for a robot
        without mass.

    Examples
    --------
    The centre of mass at 0.375 m is accelerated towards the first joint with 2² · 0.375 m/s²:

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> rest = np.zeros(2)
    >>> float(centroidal_momentum_rate(tree, rest, np.array([2.0, 0.0]), rest)[3].round(6))
    -22.5
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    accelerations = body_accelerations(tree, poses, joint_rates(tree, qd), joint_rates(tree, qdd), np.zeros(3))
    total: Wrench = NO_WRENCH
    for body, acceleration, (R, p) in zip(tree.bodies, accelerations, body_poses(tree, q), strict=True):
        total = total + inertial_wrench(mass_moments(body), acceleration).seen_from(R, p)
    # The centre of mass moves along with the linear momentum, so that the moment about it needs no further term.
    moment = total.moment - cross(center_of_mass(tree, q), total.force)
    return np.concatenate([moment, total.force])
