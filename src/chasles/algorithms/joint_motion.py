"""What a joint does: position, rate and acceleration of every joint, and the pose of a body seen from its parent.

Every body frame has its joint axis along z, so a joint of any kind moves its body by the screw
`(angular * z, pitch * z)` per unit of joint position: turning (1, 0), sliding (0, 1) or helical (1, pitch).
A mimic joint follows a coordinate: joint position = ratio * q[coordinate] + offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from chasles.algorithms.spatial import Twist, Wrench
from chasles.geometry.elementary import Z_AXIS, Array, rotation_z

if TYPE_CHECKING:
    from chasles.model.tree import Body, Tree

WORLD = -1
"""Parent of the bodies that a joint holds to the fixed base."""

Pose: TypeAlias = tuple[Array, Array]
"""Rotation (3, 3) and origin (3,) of a frame seen from another."""


def joint_positions(tree: Tree, q: Array) -> list[Any]:
    """Position of every body's joint (rad, or m for a sliding joint) at the coordinates q (n,)."""
    return [body.ratio * q[body.coordinate] + body.offset for body in tree.bodies]


def joint_rates(tree: Tree, qd: Array) -> list[Any]:
    """Rate of every body's joint for the coordinate rates qd (n,); accelerations from qdd alike."""
    return [body.ratio * qd[body.coordinate] for body in tree.bodies]


def rotation_in_parent(body: Body, position: Any) -> Array:
    """R_parent_body (3, 3) at a joint position."""
    R_parent_body: Array = body.R_parent_body @ rotation_z(body.angular * position)
    return R_parent_body


def origin_in_parent(body: Body, position: Any) -> Array:
    """p_parent_body (3,), metres, at a joint position."""
    p_parent_body: Array = body.p_parent_body + body.R_parent_body[:, 2] * (body.pitch * position)
    return p_parent_body


def poses_in_parent(tree: Tree, positions: Sequence[Any]) -> list[Pose]:
    """(R_parent_body, p_parent_body) of every body at the joint positions."""
    return [
        (rotation_in_parent(body, position), origin_in_parent(body, position))
        for body, position in zip(tree.bodies, positions, strict=True)
    ]


def screw(body: Body) -> Twist:
    """Twist of a body per unit rate of its joint, about its origin in its axes: the constant motion subspace S."""
    return Twist(body.angular * Z_AXIS, body.pitch * Z_AXIS)


def along_joint(body: Body, wrench: Wrench) -> Any:
    """Joint torque (N m, or N) of a wrench about the body's origin: its power per unit joint rate."""
    return body.angular * wrench.moment[2] + body.pitch * wrench.force[2]


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
