"""Velocities and accelerations of the bodies, from the base outward, and how the joints' screws change with them.

The rates of a spherical or free joint belong to one motion: each of its screws is fixed in the body that the whole
joint moves, and none carries another along. So where a screw's rate is wanted, the chain of bodies of such a joint is
left aside: what counts is the motion *before* the joint or that of the body *after* it (`motions_before`,
`velocities_after`). For a joint with one degree of freedom both give the same, as a screw does not change its own
direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from chasles.algorithms.joint_motion import WORLD, Pose, continues_joint, is_ordinary
from chasles.algorithms.newton_euler import Acceleration, accelerating_base
from chasles.algorithms.spatial import NO_TWIST, Twist
from chasles.geometry.elementary import Z_AXIS, Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import Body, Tree


def body_velocities(tree: Tree, poses: Sequence[Pose], rates: Sequence[Any]) -> list[Twist]:
    """Angular velocity and velocity of the origin of every body, in its axes."""
    velocities: list[Twist] = []
    for body, (R, p), rate in zip(tree.bodies, poses, rates, strict=True):
        parent = NO_TWIST if body.parent == WORLD else velocities[body.parent]
        omega = R.T @ parent.angular + body.angular * rate * Z_AXIS
        v = R.T @ (parent.linear + cross(parent.angular, p)) + body.pitch * rate * Z_AXIS
        velocities.append(Twist(omega, v))
    return velocities


def motions_before(
    tree: Tree,
    poses: Sequence[Pose],
    velocities: Sequence[Twist],
    accelerations: Sequence[Acceleration],
    gravity: Array,
) -> tuple[list[Twist], list[Acceleration]]:
    """Motion of what carries each joint, as if fixed to it, seen from the body; for ordinary joints the body's own."""
    twists: list[Twist] = []
    motions: list[Acceleration] = []
    for i, (body, (R, p)) in enumerate(zip(tree.bodies, poses, strict=True)):
        if is_ordinary(body):
            twists.append(velocities[i])
            motions.append(accelerations[i])
            continue
        if body.parent == WORLD:
            twist, motion = NO_TWIST, accelerating_base(gravity)
        elif continues_joint(body):
            twist, motion = twists[body.parent], motions[body.parent]
        else:
            twist, motion = velocities[body.parent], accelerations[body.parent]
        twists.append(Twist(R.T @ twist.angular, R.T @ (twist.linear + cross(twist.angular, p))))
        omega, omega_dot = R.T @ motion.omega, R.T @ motion.omega_dot
        matrix = skew(omega_dot) + skew(omega) @ skew(omega)
        motions.append(Acceleration(omega, omega_dot, matrix, R.T @ (motion.linear + motion.matrix @ p)))
    return twists, motions


def velocities_after(tree: Tree, poses: Sequence[Pose], velocities: Sequence[Twist]) -> list[Twist]:
    """Velocity of the body that each joint moves, as a whole, seen from the bodies of its chain."""
    after = list(velocities)
    for i in reversed(range(len(tree.bodies))):
        if continues_joint(tree.bodies[i]):
            R, p = poses[i]
            angular = R @ after[i].angular
            after[tree.bodies[i].parent] = Twist(angular, R @ after[i].linear + cross(p, angular))
    return after


def screw_rate(body: Body, velocity: Twist) -> Twist:
    """Rate v x S of a joint's screw S = (angular z, pitch z), which a twist v carries along."""
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
