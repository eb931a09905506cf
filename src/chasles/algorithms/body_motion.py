"""Velocities and accelerations of the bodies, from the base outward, and how the joints' screws change with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.joint_motion import WORLD, Pose
from chasles.algorithms.spatial import NO_TWIST, Twist
from chasles.geometry.elementary import Z_AXIS, Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import Body, Tree


class Acceleration(NamedTuple):
    """Acceleration of a body in its axes: its point r accelerates by `linear + matrix @ r`."""

    omega: Array
    """Angular velocity (3,)."""
    omega_dot: Array
    """Angular acceleration (3,)."""
    matrix: Array
    """U (3, 3) = [omega_dot]x + [omega]x [omega]x."""
    linear: Array
    """Acceleration (3,) of the body's origin."""


def body_velocities(tree: Tree, poses: Sequence[Pose], rates: Sequence[Any]) -> list[Twist]:
    """Angular velocity and velocity of the origin of every body, in its axes."""
    velocities: list[Twist] = []
    for body, (R, p), rate in zip(tree.bodies, poses, rates, strict=True):
        parent = NO_TWIST if body.parent == WORLD else velocities[body.parent]
        omega = R.T @ parent.angular + body.angular * rate * Z_AXIS
        v = R.T @ (parent.linear + cross(parent.angular, p)) + body.pitch * rate * Z_AXIS
        velocities.append(Twist(omega, v))
    return velocities


def body_accelerations(
    tree: Tree, poses: Sequence[Pose], rates: Sequence[Any], accelerations: Sequence[Any], gravity: Array
) -> list[Acceleration]:
    """Accelerations of every body for the joints' rates and accelerations.

    The base accelerates by -gravity, which stands for the weight of every body (Luh, Walker & Paul 1980).
    """
    base = Acceleration(np.zeros(3), np.zeros(3), np.zeros((3, 3)), -gravity)
    result: list[Acceleration] = []
    for body, (R, p), rate, acceleration in zip(tree.bodies, poses, rates, accelerations, strict=True):
        parent = base if body.parent == WORLD else result[body.parent]
        omega_of_parent = R.T @ parent.omega
        swing = cross(omega_of_parent, Z_AXIS * rate)
        omega = omega_of_parent + body.angular * rate * Z_AXIS
        omega_dot = R.T @ parent.omega_dot + body.angular * (acceleration * Z_AXIS + swing)
        linear = R.T @ (parent.linear + parent.matrix @ p) + body.pitch * (acceleration * Z_AXIS + 2.0 * swing)
        result.append(Acceleration(omega, omega_dot, skew(omega_dot) + skew(omega) @ skew(omega), linear))
    return result


def screw_rate(body: Body, velocity: Twist) -> Twist:
    """Rate v x S of a joint's screw S = (angular z, pitch z), which the body's twist v carries along."""
    swing = cross(velocity.angular, Z_AXIS)
    return Twist(body.angular * swing, body.angular * cross(velocity.linear, Z_AXIS) + body.pitch * swing)


def screw_acceleration(body: Body, velocity: Twist, acceleration: Acceleration) -> Twist:
    """Second rate a x S + v x (v x S) of a joint's screw, for the spatial acceleration a (gravity included).

    With the matrix U of the body, U z is the second rate of the unit vector z along the joint.
    """
    U = acceleration.matrix
    swing = cross(velocity.angular, Z_AXIS)
    turning = cross(acceleration.linear, Z_AXIS) + 2.0 * cross(velocity.linear, swing)
    return Twist(body.angular * U[:, 2], body.angular * turning + body.pitch * U[:, 2])
