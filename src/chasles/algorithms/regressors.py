"""Regressors: torques, momenta and energies as products with inertial and friction parameters.

The parameters of a body are m, m c (3) and xx, xy, xz, yy, yz, zz of the inertia about the origin. The frame of a
body's columns is that of its first link, the one that the joint moves. Bodies without links have no columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.drives import motor_rates, shares_of_motor
from chasles.algorithms.joint_friction import coulomb_direction
from chasles.algorithms.joint_motion import WORLD, Pose, joint_positions, joint_rates, poses_in_parent, screw
from chasles.algorithms.kinematics import body_poses, body_velocities, frame_pose
from chasles.algorithms.newton_euler import Acceleration, body_accelerations
from chasles.algorithms.spatial import Twist
from chasles.base.comparable import comparable
from chasles.geometry.elementary import Array, skew

if TYPE_CHECKING:
    from chasles.model.tree import Tree


@comparable
class EnergyRegressors(NamedTuple):
    """Regressors of the kinetic and the potential energy, each of shape (..., parameters)."""

    kinetic: Array
    potential: Array


def torque_regressor(tree: Tree, q: Array, qd: Array, qdd: Array, columns: tuple[int, ...] | None = None) -> Array:
    """Return the regressor Y with tau = Y π for the torques of `inverse_dynamics`: one column for each parameter.

    By the principle of virtual power, the torque of a joint is the power, per unit joint rate, of the wrenches on the
    bodies beyond it.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd
        Configuration, shape (nq,), velocity and acceleration, shape (n,), rad, rad/s, rad/s² (m, m/s, m/s² for
        prismatic joints).
    columns
        Indices of the parameters to compute columns for, such as those of base parameters; default all.

    Returns
    -------
    Y
        Shape (n, parameters), columns in the order of the robot's `inertial.names`: ten for each body that
        carries links, m, m c (3) and xx, xy, xz, yy, yz, zz of the inertia, about the origin and in the axes of its
        first link; then viscous friction, Coulomb friction and armature of each velocity coordinate. With `columns`,
        these only.

    Notes
    -----
    Atkeson, An & Hollerbach, "Estimation of inertial parameters of manipulator loads and links" (Int. J. Robotics
    Research 5(3), 1986); Khalil & Dombre, Modeling, Identification and Control of Robots (2002), chapter
    "Identification of the dynamic parameters".

    Examples
    --------
    Stretched out level and at rest, 1 kg at the origin of link2, 0.75 m and 0.25 m from the joints, weighs
    9.80621 m/s² times that.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> rest = np.zeros(2)
    >>> torque_regressor(tree, rest, rest, rest)[:, 10].round(5)
    array([7.35466, 2.45155])
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, rates_of_change = joint_rates(tree, qd), joint_rates(tree, qdd)
    accelerations = body_accelerations(tree, poses, rates, rates_of_change, tree.gravity)
    wrenches = [wrench_columns(acceleration_seen_from_link(tree, i, a)) for i, a in enumerate(accelerations)]
    speeds, speed_rates = motor_rates(tree, qd), motor_rates(tree, qdd)
    directions = [coulomb_direction(body, speed) for body, speed in zip(tree.bodies, speeds, strict=True)]
    Y = matrix_of_rows(tree, wrenches, poses, [np.array(x) for x in (speeds, directions, speed_rates)])
    return Y if columns is None else Y[:, list(columns)]


def momentum_regressor(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the regressor Y with M qd = Y π for the generalised momenta: one column for each parameter.

    Identification from momenta needs no measured accelerations: the momenta change by the impulse of the torques, up to
    terms in q and qd.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    Y
        Shape (n, parameters), columns as those of `torque_regressor`; those of friction are zero. The momenta are in
        kg·m²/s (kg·m/s for prismatic joints).

    Notes
    -----
    Middleton & Goodwin, "Adaptive computed torque control for rigid link manipulators" (Systems & Control
    Letters 10(1), 1988) avoid accelerations in this way, with filters.

    Examples
    --------
    1 kg at the origin of link2, 0.75 m and 0.25 m from the joints, turning about the first with 2 rad/s: it has
    1.5 kg·m/s.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> momentum_regressor(tree, np.zeros(2), np.array([2.0, 0.0]))[:, 10].round(6)
    array([1.125, 0.375])
    """
    poses, rates = poses_in_parent(tree, joint_positions(tree, q)), joint_rates(tree, qd)
    velocities = body_velocities(tree, poses, rates)
    columns = [momentum_columns(seen_from_link(tree, index, velocity)) for index, velocity in enumerate(velocities)]
    nothing = np.zeros(len(tree.bodies))
    return matrix_of_rows(tree, columns, poses, [nothing, nothing, np.array(motor_rates(tree, qd))])


def energy_regressor(tree: Tree, q: Array, qd: Array) -> EnergyRegressors:
    """Return the vectors k and u with kinetic energy k·π and potential energy u·π.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

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
    1.5²/2 J, and 0.75 · 9.80621 J.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> k, u = energy_regressor(tree, np.array([np.pi / 2, 0.0]), np.array([2.0, 0.0]))
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
    of_joints = [x for rate in motor_rates(tree, qd) for x in (0.0, 0.0, 0.5 * rate * rate)]
    return EnergyRegressors(np.array(kinetic + of_joints), np.array(potential + [0.0] * len(of_joints)))


Columns = tuple[Array, Array]
"""Moments (3, 10) and forces (3, 10), or angular and linear momenta, for unit values of the parameters."""


def wrench_columns(acceleration: Acceleration) -> Columns:
    """Wrench that gives a body its acceleration, about its origin.

    The force is m a + U m c; the moment is m c x a and what the inertia asks for: I omega_dot + omega x I omega.

    Source: Atkeson, An & Hollerbach, "Estimation of inertial parameters of manipulator loads and links" (Int. J.
    Robotics Research 5(3), 1986), with the acceleration matrix U.
    """
    p, q, r = acceleration.omega
    products = np.array([q * r, p * r, p * q])
    return columns_of_accelerations(acceleration.matrix, acceleration.linear, acceleration.omega_dot, products)


def columns_of_accelerations(U: Array, a: Array, turning: Array, products: Array) -> Columns:
    """Wrench about the origin that gives the points r of a body the accelerations a + U r.

    `turning` (3,) is the vector of the skew part of U, `products` (3,) are the elements yz, xz, xy of its symmetric
    part.
    """
    force = np.concatenate([a[:, None], U, np.zeros((3, 6))], axis=1)
    moment = np.concatenate([np.zeros((3, 1)), -skew(a), _moments_of_inertia(U, turning, products)], axis=1)
    return moment, force


def momentum_columns(velocity: Twist) -> Columns:
    """Momentum of a body about its origin: I omega + m c x v, and m v + omega x m c."""
    omega, v = velocity.angular, velocity.linear
    linear = np.concatenate([v[:, None], skew(omega), np.zeros((3, 6))], axis=1)
    angular = np.concatenate([np.zeros((3, 1)), -skew(v), _inertia_times(omega)], axis=1)
    return angular, linear


def power_columns(columns: Columns, twist: Twist) -> Array:
    """Power of the wrenches on a twist, or twice the energy of the momenta with it, shape (10,)."""
    moment, force = columns
    power: Array = twist.angular @ moment + twist.linear @ force
    return power


def seen_from_link(tree: Tree, index: int, twist: Twist) -> Twist:
    """Twist of a body about the origin and in the axes of its first link."""
    R, p = link_in_body(tree, index)
    return Twist(R.T @ twist.angular, R.T @ (twist.linear + skew(twist.angular) @ p))


def acceleration_seen_from_link(tree: Tree, index: int, acceleration: Acceleration) -> Acceleration:
    """Acceleration of a body about the origin and in the axes of its first link."""
    R, p = link_in_body(tree, index)
    omega, omega_dot, U, a = acceleration
    return Acceleration(R.T @ omega, R.T @ omega_dot, R.T @ U @ R, R.T @ (a + U @ p))


def screws_in_bodies(tree: Tree, poses: Sequence[Pose], screws_of_bodies: Sequence[Twist]) -> list[dict[int, Twist]]:
    """For every body the screws, in its frame, of the joints that move it, by the joint's number.

    `own` are the screws, or their rates, of every joint in the frame of its own body.
    """
    screws: list[dict[int, Twist]] = []
    for index, (body, (R, p)) in enumerate(zip(tree.bodies, poses, strict=True)):
        seen = {} if body.parent == WORLD else screws[body.parent]
        here = {
            joint: Twist(R.T @ twist.angular, R.T @ (twist.linear + skew(twist.angular) @ p))
            for joint, twist in seen.items()
        }
        screws.append(here | {index: screws_of_bodies[index]})
    return screws


def matrix_of_rows(
    tree: Tree,
    columns: Sequence[Columns],
    poses: Sequence[Pose],
    joint_columns: Sequence[Array],
    screws: Sequence[Twist] | None = None,
) -> Array:
    """Regressor (n, parameters): the powers of every body's columns on the screws of the joints that carry it.

    `joint_columns` holds viscous friction, Coulomb friction and armature, each (bodies,), of the motors.
    `screws` takes the place of the joints' screws, each in the frame of its body.
    """
    screws_of_bodies = [screw(body) for body in tree.bodies] if screws is None else screws
    inertial = 10 * len(tree.carriers)
    width = inertial + 3 * len(tree.bodies)
    first_columns = {index: 10 * k for k, index in enumerate(tree.carriers)}
    rows: list[list[Any]] = [[0.0] * width for _ in range(tree.n)]

    def add(coordinate: int, ratio: Any, first_column: int, values: Sequence[Any]) -> None:
        row = rows[coordinate]
        for column, value in enumerate(values, start=first_column):
            row[column] = row[column] + ratio * value

    for index, seen in enumerate(screws_in_bodies(tree, poses, screws_of_bodies)):
        for joint, twist in seen.items():
            if index in first_columns:
                powers = power_columns(columns[index], seen_from_link(tree, index, twist))
                body = tree.bodies[joint]
                add(body.coordinate, body.ratio, first_columns[index], list(powers))
        for coordinate, share in shares_of_motor(tree, tree.bodies[index]):
            add(coordinate, share, inertial + 3 * index, [column[index] for column in joint_columns])
    return np.array(rows).reshape(tree.n, width)


def link_in_body(tree: Tree, index: int) -> Pose:
    """Rotation and origin of a body's first link in the body; of a body without links its own frame."""
    if not tree.bodies[index].carries:
        return np.eye(3), np.zeros(3)
    place = tree.frames[tree.bodies[index].name]
    return place.R_body_frame, place.p_body_frame


def _inertia_times(omega: Array) -> Array:
    """The product of an inertia matrix with a vector, for unit values of xx, xy, xz, yy, yz, zz: shape (3, 6)."""
    x, y, z = omega
    return np.array([[x, y, z, 0.0, 0.0, 0.0], [0.0, x, 0.0, y, z, 0.0], [0.0, 0.0, x, 0.0, y, z]])


def _moments_of_inertia(U: Array, turning: Array, products: Array) -> Array:
    """I omega_dot + omega x I omega for unit values of xx, xy, xz, yy, yz, zz: shape (3, 6)."""
    (x, y, z), (qr, pr, pq) = turning, products
    return np.array(
        [
            [x, -U[2, 0], U[1, 0], -qr, U[1, 1] - U[2, 2], qr],
            [pr, U[2, 1], U[2, 2] - U[0, 0], y, -U[0, 1], -pr],
            [-pq, U[0, 0] - U[1, 1], -U[1, 2], pq, U[0, 2], z],
        ]
    )
