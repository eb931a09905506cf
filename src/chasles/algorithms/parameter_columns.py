"""What each inertial parameter of a body contributes to wrenches, momenta and torques: columns of the regressors.

The parameters are m, m c (3) and xx, xy, xz, yy, yz, zz of the inertia about the origin. The frame of a body's columns
is that of its first link, the one that the joint moves. Bodies without links have no columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.body_motion import Acceleration
from chasles.algorithms.joint_motion import WORLD, Pose, screw
from chasles.algorithms.spatial import Twist
from chasles.geometry.elementary import Array, skew

if TYPE_CHECKING:
    from chasles.model.tree import Tree

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


def screws_in_bodies(tree: Tree, poses: Sequence[Pose], own: Sequence[Twist]) -> list[dict[int, Twist]]:
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
        screws.append(here | {index: own[index]})
    return screws


def matrix_of_rows(
    tree: Tree,
    columns: Sequence[Columns],
    poses: Sequence[Pose],
    joint_columns: Sequence[Array],
    screws: Sequence[Twist] | None = None,
) -> Array:
    """Regressor (n, parameters): the powers of every body's columns on the screws of the joints that carry it.

    `joint_columns` holds viscous friction, Coulomb friction and armature, each (bodies,), felt at the joint itself.
    `screws` takes the place of the joints' screws, each in the frame of its body.
    """
    own = [screw(body) for body in tree.bodies] if screws is None else screws
    inertial = 10 * len(tree.carriers)
    width = inertial + 3 * len(tree.bodies)
    first_columns = {index: 10 * k for k, index in enumerate(tree.carriers)}
    rows: list[list[Any]] = [[0.0] * width for _ in range(tree.n)]

    def add(joint: int, first_column: int, values: Sequence[Any]) -> None:
        body = tree.bodies[joint]
        row = rows[body.coordinate]
        for column, value in enumerate(values, start=first_column):
            row[column] = row[column] + body.ratio * value

    for index, seen in enumerate(screws_in_bodies(tree, poses, own)):
        for joint, twist in seen.items():
            if index in first_columns:
                powers = power_columns(columns[index], seen_from_link(tree, index, twist))
                add(joint, first_columns[index], list(powers))
        add(index, inertial + 3 * index, [column[index] for column in joint_columns])
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
