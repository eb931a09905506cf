"""Motion of the joints: position, rate and acceleration of every joint, and the pose of a body seen from its parent.

Every body frame has its joint axis along z, so a joint of any kind moves its body by the screw
`(angular * z, pitch * z)` per unit of joint position: revolute (1, 0), prismatic (0, 1) or helical (1, pitch).
A mimic joint follows a coordinate: joint position = ratio * q[position] + offset.

The position of a spherical or free joint is a pose, which its first body takes; the other bodies of its chain are at
rest in their parents, at position zero, and only their rates matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from chasles.algorithms.spatial import Twist, Wrench
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Z_AXIS, Array, rotation_z

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree

WORLD = -1
"""Parent of the bodies that a joint holds to the fixed base."""

Pose: TypeAlias = tuple[Array, Array]
"""Rotation (3, 3) and origin (3,) of a frame seen from another."""


def joint_positions(tree: Tree, q: Array) -> list[Any]:
    """Position of every body's joint at the coordinates q (nq,): rad, m for a prismatic joint, or a `Pose`."""
    return [_position(body, q) for body in tree.bodies]


def _position(body: MovingBody, q: Array) -> Real:
    if body.placed == "coordinate":
        return body.ratio * q[body.position] + body.offset
    if body.placed == "nothing":
        return 0.0
    start = body.position
    rotation = rotation_from_any_quaternion(q[start : start + 4])
    return rotation, q[start + 4 : start + 7] if body.placed == "quaternion and position" else np.zeros(3)


def rotation_from_any_quaternion(quaternion: Array) -> Array:
    """Rotation (3, 3) of a quaternion (w, x, y, z) of any length, so that one that has drifted still gives a rotation.

    NaN for zero.

    Examples
    --------
    >>> rotation_from_any_quaternion(np.array([2.0, 0.0, 0.0, 2.0])).round(12)  # a right angle about z
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  1.]])
    """
    w, x, y, z = quaternion
    s = 2.0 / (w * w + x * x + y * y + z * z)
    xs, ys, zs = s * x, s * y, s * z
    wx, wy, wz = w * xs, w * ys, w * zs
    xx, xy, xz, yy, yz, zz = x * xs, x * ys, x * zs, y * ys, y * zs, z * zs
    return np.array(
        [[1.0 - (yy + zz), xy - wz, xz + wy], [xy + wz, 1.0 - (xx + zz), yz - wx], [xz - wy, yz + wx, 1.0 - (xx + yy)]]
    )


def joint_rates(tree: Tree, qd: Array) -> list[Any]:
    """Rate of every body's joint for the coordinate rates qd (n,); accelerations from qdd alike."""
    return [body.ratio * qd[body.coordinate] for body in tree.bodies]


def turn_in_parent(body: MovingBody, position: Real) -> tuple[Array, Any]:
    """R (3, 3) and an angle about z: R_parent_body is R @ Rz(angle) at a joint position."""
    if isinstance(position, tuple):
        return body.R_parent_body @ position[0], 0.0
    return body.R_parent_body, body.angular * position


def rotation_in_parent(body: MovingBody, position: Real) -> Array:
    """R_parent_body (3, 3) at a joint position."""
    R, angle = turn_in_parent(body, position)
    R_parent_body: Array = R @ rotation_z(angle)
    return R_parent_body


def origin_in_parent(body: MovingBody, position: Real) -> Array:
    """p_parent_body (3,), metres, at a joint position."""
    if isinstance(position, tuple):
        p_parent_body: Array = body.p_parent_body + body.R_parent_body @ position[1]
    else:
        p_parent_body = body.p_parent_body + body.R_parent_body[:, 2] * (body.pitch * position)
    return p_parent_body


def poses_in_parent(tree: Tree, positions: Sequence[Any]) -> list[Pose]:
    """(R_parent_body, p_parent_body) of every body at the joint positions."""
    return [
        (rotation_in_parent(body, position), origin_in_parent(body, position))
        for body, position in zip(tree.bodies, positions, strict=True)
    ]


def screw(body: MovingBody) -> Twist:
    """Twist of a body per unit rate of its joint, about its origin in its axes: the constant motion subspace S."""
    return Twist(body.angular * Z_AXIS, body.pitch * Z_AXIS)


def along_joint(body: MovingBody, wrench: Wrench) -> Real:
    """Joint torque (N·m, or N) of a wrench about the body's origin: its power per unit joint rate."""
    return body.angular * wrench.moment[2] + body.pitch * wrench.force[2]


def continues_joint(body: MovingBody) -> bool:
    """Whether a body moves by the same spherical or free joint as its parent."""
    return body.placed == "nothing"


def is_ordinary(body: MovingBody) -> bool:
    """Whether a body's rate is that of its own coordinate."""
    return body.placed == "coordinate"


def has_mimic_joints(tree: Tree) -> bool:
    """Whether several joints follow one coordinate."""
    return len({body.coordinate for body in tree.bodies}) < len(tree.bodies)


def vector_of_coordinates(tree: Tree, per_joint: Sequence[Any]) -> Array:
    """Generalised forces (n,) from joint torques: a mimic joint adds ratio * torque to its coordinate."""
    total: list[Any] = [0.0] * tree.n
    for body, value in zip(tree.bodies, per_joint, strict=True):
        total[body.coordinate] = total[body.coordinate] + body.ratio * value
    return np.array(total)


def matrix_of_coordinates(tree: Tree, per_joint: Sequence[Sequence[Any]]) -> Array:
    """Matrix G.T @ A @ G (n, n) of the coordinates from A of the joints, whose rates are G @ qd."""
    total: list[list[Any]] = [[0.0] * tree.n for _ in range(tree.n)]
    for body, row in zip(tree.bodies, per_joint, strict=True):
        for other, value in zip(tree.bodies, row, strict=True):
            i, j = body.coordinate, other.coordinate
            total[i][j] = total[i][j] + body.ratio * other.ratio * value
    return np.array(total).reshape(tree.n, tree.n)
