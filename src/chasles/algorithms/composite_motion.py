"""What the derivatives of the inverse dynamics are made of: screws with their rates, and the composites beyond joints.

A composite is a joint's body with all that it carries, as in the mass matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from chasles.algorithms.joint_motion import (
    WORLD,
    Pose,
    along_joint,
    continues_joint,
    is_ordinary,
    joint_positions,
    joint_rates,
    poses_in_parent,
    screw,
    vector_of_coordinates,
)
from chasles.algorithms.kinematics import body_velocities, screw_rate, velocities_after, velocities_before
from chasles.algorithms.mass_matrix import MomentumMoments, composite_momentum_moments, drag
from chasles.algorithms.mass_moments import MassMoments, composite_mass_moments, grouped_mass_moments, inertia_times
from chasles.algorithms.newton_euler import (
    Acceleration,
    accelerating_base,
    body_accelerations,
    net_wrenches,
    transmitted_wrenches,
)
from chasles.algorithms.spatial import Twist, Wrench
from chasles.geometry.elementary import Z_AXIS, Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree


class MovingScrew(NamedTuple):
    """Screw S of a joint with its rates, about the body's origin in its axes.

    Attributes
    ----------
    S
        Screw.
    dS, ddS
        Its rates v x S and a x S + v x dS by the motion (v, a) before the joint.
    rates
        Sum of dS and the rate v' x S by the velocity v' after the joint.
    """

    S: Twist
    dS: Twist
    ddS: Twist
    rates: Twist


class CompositeMotion(NamedTuple):
    """Motion of all joints, and the composites beyond them, in the frames of their bodies.

    Attributes
    ----------
    poses
        Poses of the bodies in their parents.
    velocities
        Velocities of the bodies.
    screws
        Screws of the joints.
    inertia
        Moments of mass I.
    momentum
        Moments of momentum B.
    transmitted
        Wrenches f that the joints transmit.
    """

    poses: list[Pose]
    velocities: list[Twist]
    screws: list[MovingScrew]
    inertia: list[MassMoments]
    momentum: list[MomentumMoments]
    transmitted: list[Wrench]

    def change_in_joint(self, i: int) -> Wrench:
        """Change 2 B dS + I ddS of the wrench of composite i, in its axes, with joint i."""
        _, dS, ddS, _ = self.screws[i]
        return drag(self.momentum[i], dS).times(2.0) + inertia_times(self.inertia[i], ddS)

    def rate_change(self, i: int) -> Wrench:
        """Change 2 B S + I (dS + dS') of the wrench of composite i with the velocity of joint i."""
        S, _, _, rates = self.screws[i]
        return drag(self.momentum[i], S).times(2.0) + inertia_times(self.inertia[i], rates)


def composite_motion(tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array]) -> CompositeMotion:
    """Motion of joints and composites; for the arguments see `inverse_dynamics`."""
    positions, rates, masses = joint_positions(tree, q), joint_rates(tree, qd), grouped_mass_moments(tree)
    poses = poses_in_parent(tree, positions)
    velocities = body_velocities(tree, poses, rates)
    accelerations = body_accelerations(tree, poses, rates, joint_rates(tree, qdd), tree.gravity)
    transmitted = transmitted_wrenches(tree, poses, net_wrenches(tree, masses, accelerations, wrenches))
    inertia = composite_mass_moments(tree, positions)
    momentum = composite_momentum_moments(tree, positions, masses, velocities)
    motions = zip(
        tree.bodies,
        velocities_before(tree, poses, velocities),
        accelerations_before(tree, poses, accelerations),
        velocities_after(tree, poses, velocities),
        strict=True,
    )
    screws = [_moving_screw(*of_joint) for of_joint in motions]
    return CompositeMotion(poses, velocities, screws, inertia, momentum, transmitted)


def torques_of(tree: Tree, transmitted: Sequence[Wrench]) -> Array:
    """Torques (n,) of the coordinates for the wrenches that joints transmit."""
    return vector_of_coordinates(tree, [along_joint(*pair) for pair in zip(tree.bodies, transmitted, strict=True)])


def accelerations_before(
    tree: Tree, poses: Sequence[Pose], accelerations: Sequence[Acceleration]
) -> list[Acceleration]:
    """Acceleration of what carries each joint, as `velocities_before` has the velocities."""
    before: list[Acceleration] = []
    for i, (body, (R, p)) in enumerate(zip(tree.bodies, poses, strict=True)):
        if is_ordinary(body):
            before.append(accelerations[i])
            continue
        if body.parent == WORLD:
            motion = accelerating_base(tree.gravity)
        else:
            motion = before[body.parent] if continues_joint(body) else accelerations[body.parent]
        omega, omega_dot = R.T @ motion.omega, R.T @ motion.omega_dot
        matrix = skew(omega_dot) + skew(omega) @ skew(omega)
        before.append(Acceleration(omega, omega_dot, matrix, R.T @ (motion.linear + motion.matrix @ p)))
    return before


def _moving_screw(body: MovingBody, before: Twist, acceleration: Acceleration, after: Twist) -> MovingScrew:
    dS = screw_rate(body, before)
    return MovingScrew(screw(body), dS, screw_acceleration(body, before, acceleration), dS + screw_rate(body, after))


def screw_acceleration(body: MovingBody, velocity: Twist, acceleration: Acceleration) -> Twist:
    """Second rate a x S + v x (v x S) of a joint's screw, for the spatial acceleration a (gravity included).

    With the matrix U of the body, U z is the second rate of the unit vector z along the joint.
    """
    U = acceleration.matrix
    swing = cross(velocity.angular, Z_AXIS)
    turning = cross(acceleration.linear, Z_AXIS) + 2.0 * cross(velocity.linear, swing)
    return Twist(body.angular * U[:, 2], body.angular * turning + body.pitch * U[:, 2])
