"""Coupled drives: rates and positions of motors that turn with several joints, and what joints feel of their torques.

With motor rates C q̇, at the joint side of the reductions, torques f of motors are Cᵀ f at the joints, as their power is
the same. Rotors, friction and position torques are those of motors: joints feel the rotor inertia Cᵀ diag(armature) C
and the friction Cᵀ f(C q̇). Where no drives are coupled C is the identity, and nothing of this is computed.

Source: Craig, Introduction to Robotics (3rd ed., 2005), section 3.6, Actuator space, joint space, and Cartesian space.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.joint_motion import joint_positions, joint_rates, vector_of_coordinates
from chasles.algorithms.spatial import is_number_zero
from chasles.engine.linear.pivoted_elimination import solve
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chasles.model.tree import MovingBody, Tree


def motor_rates(tree: Tree, qd: Array) -> list[Any]:
    """Rates of every body's motor, in bodies' order, at the joint side of the reductions; of accelerations likewise.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_drive_coupling
    >>> tree = build_tree(with_drive_coupling(load("planar2r"), [[1.0, 0.0], [-0.5, 1.0]]))
    >>> [float(rate) for rate in motor_rates(tree, np.array([2.0, 3.0]))]
    [2.0, 2.0]
    """
    return joint_rates(tree, qd if tree.drive_coupling is None else tree.drive_coupling @ qd)


def motor_positions(tree: Tree, q: Array) -> list[Any]:
    """Positions of every body's motor, at the joint side of the reductions; of joints with a quaternion their pose."""
    positions = joint_positions(tree, q)
    if tree.drive_coupling is None:
        return positions
    of_coordinates: list[Any] = [0.0] * tree.n
    for body, position in zip(tree.bodies, positions, strict=True):
        if body.placed == "coordinate":
            of_coordinates[body.coordinate] = position
    turned = tree.drive_coupling @ np.array(of_coordinates)
    pairs = zip(tree.bodies, positions, strict=True)
    return [turned[body.coordinate] if is_coupled(tree, body) else position for body, position in pairs]


def is_coupled(tree: Tree, body: MovingBody) -> bool:
    """Whether a body's motor turns with other joints than its own."""
    return any(coordinate != body.coordinate for coordinate, _ in shares_of_motor(tree, body))


def shares_of_motor(tree: Tree, body: MovingBody) -> list[tuple[int, Any]]:
    """Coordinates with which a body's motor turns, and its rate per unit of each."""
    if tree.drive_coupling is None:
        return [(body.coordinate, body.ratio)]
    row = tree.drive_coupling[body.coordinate]
    return [(k, body.ratio * share) for k, share in enumerate(row) if not is_number_zero(share)]


def torques_of_motors(tree: Tree, per_body: Sequence[Any]) -> Array:
    """Torques (n,) that joints feel of each body's motor: Cᵀ f."""
    return at_joints(tree, vector_of_coordinates(tree, per_body))


def at_joints(tree: Tree, of_motors: Array) -> Array:
    """Torques (n,) at the joints, or columns of such, of torques of the motors: Cᵀ f."""
    return of_motors if tree.drive_coupling is None else tree.drive_coupling.T @ of_motors


def at_motors(tree: Tree, of_joints: Array) -> Array:
    """Torques (n,) of the motors, or columns of such, that are these at the joints: C⁻ᵀ τ."""
    if tree.drive_coupling is None:
        return of_joints
    torques: Array = solve(tree.drive_coupling, np.eye(tree.n)).T @ of_joints
    return torques


def between_joints(tree: Tree, of_motors: Sequence[Any] | Array) -> Array:
    """Symmetric matrix Cᵀ D C (n, n) that joints feel of inertias, slopes or stiffnesses D of the motors (n,)."""
    if (C := tree.drive_coupling) is None:
        return np.array([[value if i == j else 0.0 for j in range(tree.n)] for i, value in enumerate(of_motors)])
    half = C.T @ (np.array(of_motors)[:, None] * C)
    return np.array([[half[max(i, j), min(i, j)] for j in range(tree.n)] for i in range(tree.n)])


def with_rotors(tree: Tree, M: Array) -> Array:
    """Add the rotors of coupled drives to the mass matrix (n, n) of a tree; others are on its diagonal already."""
    if tree.drive_coupling is None:
        return M
    armatures = vector_of_coordinates(tree, [body.ratio * body.armature for body in tree.bodies])
    return M + between_joints(tree, armatures)


def rotor_of_joint(tree: Tree, body: MovingBody) -> Any:
    """Inertia of a body's motor where it turns as the joint does; 0 where drives are coupled, see `with_rotors`."""
    return body.armature if tree.drive_coupling is None else 0.0
