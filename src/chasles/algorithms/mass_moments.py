"""Mass, first and second moments of mass: a rigid body's inertia in the form that makes dynamics short.

The second moment J = sum of m r rᵀ replaces the inertia matrix I = tr(J) 1 - J. The 4 x 4 matrix [[J, s], [sᵀ, m]] of
these moments is the pseudo-inertia of Wensing, Kim & Slotine, "Linear Matrix Inequalities for Physically-Consistent
Inertial Parameter Identification" (RA-L 2018), and the inertia matrix of Legnani et al., "A homogeneous matrix approach
to 3D kinematics and dynamics" (1996). It moves between frames by T [[J, s], [sᵀ, m]] Tᵀ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.joint_motion import WORLD, is_ordinary, origin_in_parent, turn_in_parent
from chasles.algorithms.spatial import Twist, Wrench
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cosine_sine, cross, mirrored

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree


class MassMoments(NamedTuple):
    """Mass (kg), first moment (3,) (kg·m), second moment (3, 3) (kg·m²) about the origin of a frame, in its axes."""

    mass: Real
    first: Array
    second: Array


def mass_moments(body: MovingBody) -> MassMoments:
    """Moments of a body about its own origin."""
    inertia = body.inertia
    half_trace = 0.5 * (inertia[0, 0] + inertia[1, 1] + inertia[2, 2])
    return MassMoments(body.mass, body.first_moment, mirrored(half_trace * np.eye(3) - inertia))


def grouped_mass_moments(tree: Tree) -> list[MassMoments]:
    """Moments of all bodies, regrouped so that many vanish while every joint torque stays what it is.

    A mass on the axis of a revolute joint moves alike on either side of it: it is moved to the parent, or away if the
    parent is the world. The second moment of a sliding body turns as its parent does: it too is moved; so is the second
    moment of a body on a screw, if it is spread along the axis only. What remains are the base parameters of Gautier &
    Khalil, "Direct calculation of minimum set of inertial parameters of serial robots" (IEEE Trans. Robotics and
    Automation 6(3), 1990), before linear relations between bodies are counted; see `regrouping` for these. Dynamics
    seen from the joints is the same; energy and centre of mass are not, so they do not use this.
    """
    grouped = [mass_moments(body) for body in tree.bodies]
    on_axis, off_axis, nowhere = np.diag([0.0, 0.0, 1.0]), np.diag([1.0, 1.0, 0.0]), np.zeros(3)
    for i in reversed(range(len(grouped))):
        body, (mass, first, second) = tree.bodies[i], grouped[i]
        if not is_ordinary(body):
            continue
        if body.pitch == 0.0:
            moved = MassMoments(mass, on_axis @ first, on_axis @ second @ on_axis)
            grouped[i] = MassMoments(0.0, off_axis @ first, second - moved.second)
        else:
            moved = MassMoments(0.0, nowhere, second if body.angular == 0.0 else on_axis @ second @ on_axis)
            grouped[i] = MassMoments(mass, first, second - moved.second)
        if body.parent != WORLD:
            grouped[body.parent] = added(grouped[body.parent], seen_from_parent(body, 0.0, moved))
    return grouped


def composite_mass_moments(tree: Tree, positions: Sequence[Any]) -> list[MassMoments]:
    """Moments of each body with all bodies that it carries, in its frame (grouped as above)."""
    composite = grouped_mass_moments(tree)
    for i in reversed(range(len(composite))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            composite[parent] = added(composite[parent], seen_from_parent(tree.bodies[i], positions[i], composite[i]))
    return composite


def added(a: MassMoments, b: MassMoments) -> MassMoments:
    """Moments of two bodies together."""
    return MassMoments(a.mass + b.mass, a.first + b.first, a.second + b.second)


def seen_from_parent(body: MovingBody, position: Real, moments: MassMoments) -> MassMoments:
    """Moments about the parent's origin in the parent's axes, from those in the body frame."""
    (R, angle), p, mass = turn_in_parent(body, position), origin_in_parent(body, position), moments.mass
    first = R @ turned_vector(angle, moments.first)
    second = mirrored(R @ turned_matrix(angle, moments.second) @ R.T)
    middle = first + 0.5 * mass * p
    return MassMoments(mass, first + mass * p, second + np.outer(p, middle) + np.outer(middle, p))


def turned_vector(angle: Real, a: Array) -> Array:
    """A vector (3,) turned about z."""
    c, s = cosine_sine(angle)
    return np.array([c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]])


def turned_matrix(angle: Real, A: Array) -> Array:
    """Rz A Rzᵀ for a turn Rz about z, by way of the two invariants of the xy block."""
    c, s = cosine_sine(angle)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = A
    left, right = c * xx - s * yx, c * xy - s * yy
    turned_xx, turned_xy = c * left - s * right, s * left + c * right
    return np.array(
        [
            [turned_xx, turned_xy, c * xz - s * yz],
            [turned_xy - (xy - yx), (xx + yy) - turned_xx, s * xz + c * yz],
            [c * zx - s * zy, s * zx + c * zy, zz],
        ]
    )


def inertia_times(moments: MassMoments, twist: Twist) -> Wrench:
    """Spatial inertia times a twist (w, v): the wrench (I w + s x v, m v + w x s) with I = tr(J) 1 - J."""
    J, (wx, wy, wz) = moments.second, twist.angular
    spin = np.array(
        [
            (J[1, 1] + J[2, 2]) * wx - J[0, 1] * wy - J[0, 2] * wz,
            (J[0, 0] + J[2, 2]) * wy - J[0, 1] * wx - J[1, 2] * wz,
            (J[0, 0] + J[1, 1]) * wz - J[0, 2] * wx - J[1, 2] * wy,
        ]
    )
    return Wrench(
        spin + cross(moments.first, twist.linear), moments.mass * twist.linear + cross(twist.angular, moments.first)
    )
