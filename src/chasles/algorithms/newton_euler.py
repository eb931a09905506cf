"""The Newton-Euler recursion: accelerations from the base outward, wrenches from the tips back to the base.

Sources: Luh, Walker & Paul, "On-line computational scheme for mechanical manipulators" (1980), with frames fixed in the
bodies, first moments and the acceleration matrix U as in Khalil & Dombre, Modeling, Identification and Control of
Robots (2002), chapter "Dynamic modeling of serial robots", Newton-Euler formulation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.joint_motion import (
    WORLD,
    Pose,
    along_joint,
    continues_joint,
    joint_positions,
    joint_rates,
    poses_in_parent,
    vector_of_coordinates,
)
from chasles.algorithms.kinematics import placement_of
from chasles.algorithms.mass_moments import MassMoments, grouped_mass_moments
from chasles.algorithms.spatial import NO_WRENCH, Wrench, is_number_zero
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Z_AXIS, Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import Tree

NO_WRENCHES: Mapping[str, Array] = MappingProxyType({})


def newton_euler(
    tree: Tree, q: Array, qd: Array, qdd: Array, gravity: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Torques of the rigid bodies alone, without friction and armature: M qdd + c + g - Jᵀ w.

    Parameters
    ----------
    tree, q, qd, qdd, wrenches
        See `inverse_dynamics`.
    gravity
        Acceleration of gravity (3,) in the world, m/s²; zeros leave out the weight.

    Returns
    -------
    ndarray
        Shape (n,), N·m (N for prismatic joints).

    Notes
    -----
    Luh, Walker & Paul, "On-line computational scheme for mechanical manipulators" (1980), with frames fixed in the
    bodies, first moments and the acceleration matrix U as in Khalil & Dombre, Modeling, Identification and Control of
    Robots (2002), chapter "Dynamic modeling of serial robots", Newton-Euler formulation.

    Examples
    --------
    Without gravity, from rest: the first column M_11 = 2.8125, M_21 = 0.416667 of the mass matrix.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> newton_euler(tree, np.zeros(2), np.zeros(2), np.array([1.0, 0.0]), np.zeros(3)).round(6)
    array([2.8125  , 0.416667])
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    accelerations = body_accelerations(tree, poses, joint_rates(tree, qd), joint_rates(tree, qdd), gravity)
    net = net_wrenches(tree, grouped_mass_moments(tree), accelerations, wrenches)
    transmitted = transmitted_wrenches(tree, poses, net)
    return vector_of_coordinates(
        tree, [along_joint(body, wrench) for body, wrench in zip(tree.bodies, transmitted, strict=True)]
    )


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


def body_accelerations(
    tree: Tree, poses: Sequence[Pose], rates: Sequence[Any], accelerations: Sequence[Any], gravity: Array
) -> list[Acceleration]:
    """Accelerations of every body for the joints' rates and accelerations.

    The base accelerates by -gravity, which stands for the weight of every body (Luh, Walker & Paul 1980).
    """
    base = accelerating_base(gravity)
    result: list[Acceleration] = []
    before: list[Array] = []  # angular velocity before each joint
    for body, (R, p), rate, acceleration in zip(tree.bodies, poses, rates, accelerations, strict=True):
        parent = base if body.parent == WORLD else result[body.parent]
        omega_of_parent = R.T @ parent.omega
        before.append(R.T @ before[body.parent] if continues_joint(body) else omega_of_parent)
        swing = cross(before[-1], Z_AXIS * rate)
        swing_of_point = swing + cross(omega_of_parent, Z_AXIS * rate)
        omega = omega_of_parent + body.angular * rate * Z_AXIS
        omega_dot = R.T @ parent.omega_dot + body.angular * (acceleration * Z_AXIS + swing)
        linear = R.T @ (parent.linear + parent.matrix @ p) + body.pitch * (acceleration * Z_AXIS + swing_of_point)
        result.append(Acceleration(omega, omega_dot, skew(omega_dot) + skew(omega) @ skew(omega), linear))
    return result


def accelerating_base(gravity: Array) -> Acceleration:
    """The base at rest, accelerated by -gravity."""
    return Acceleration(np.zeros(3), np.zeros(3), np.zeros((3, 3)), -gravity)


def net_wrenches(
    tree: Tree, moments: Sequence[MassMoments], accelerations: Sequence[Acceleration], wrenches: Mapping[str, Array]
) -> list[Wrench]:
    """Wrench that every body needs from its joints: its inertial wrench less what the environment gives."""
    external = wrenches_on_bodies(tree, wrenches)
    return [
        inertial_wrench(of_body, acceleration) - given
        for of_body, acceleration, given in zip(moments, accelerations, external, strict=True)
    ]


def inertial_wrench(moments: MassMoments, acceleration: Acceleration) -> Wrench:
    """Wrench about its origin that gives a body its acceleration (Newton and Euler).

    Source: Khalil & Dombre, Modeling, Identification and Control of Robots (2002), chapter "Dynamic modeling of serial
    robots", Newton-Euler formulation, with the second moment in place of the inertia matrix.
    """
    U, a = acceleration.matrix, acceleration.linear
    return Wrench(
        moment_of_acceleration(acceleration, moments.second) + cross(moments.first, a),
        moments.mass * a + U @ moments.first,
    )


def moment_of_acceleration(acceleration: Acceleration, J: Array) -> Array:
    """Sum of m r x (U r) for a body's acceleration and second moment J: the vector of U J - (U J)ᵀ.

    The moments on the diagonal of J act on U[k, j] = omega_dot_i + omega_j omega_k and on -U[j, k]. Their sum and their
    difference act on omega_dot_i and omega_j omega_k, which asks for fewer elements of U; for one alone U is shorter.
    """
    omega, omega_dot, U, _ = acceleration

    def of_diagonal(i: int, j: int, k: int) -> Real:
        if is_number_zero(J[k, k]):
            return U[k, j] * J[j, j]
        if is_number_zero(J[j, j]):
            return -U[j, k] * J[k, k]
        return (J[j, j] + J[k, k]) * omega_dot[i] + (J[j, j] - J[k, k]) * (omega[j] * omega[k])

    return np.array(
        [
            U[k, i] * J[i, j] - U[j, i] * J[i, k] + (U[k, k] - U[j, j]) * J[j, k] + of_diagonal(i, j, k)
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        ]
    )


def wrenches_on_bodies(tree: Tree, wrenches: Mapping[str, Array]) -> list[Wrench]:
    """Sum of the environment's wrenches on every body, about its origin in its axes.

    `wrenches` maps names of frames to (m, f) (6,) about the frame's origin in its axes. Those on the base do nothing.
    Raises UnknownNameError for a frame that does not exist.
    """
    total = [NO_WRENCH] * len(tree.bodies)
    for frame, wrench in wrenches.items():
        placement = placement_of(tree, frame)
        if placement.body != WORLD:
            felt = Wrench(wrench[:3], wrench[3:]).seen_from(placement.R_body_frame, placement.p_body_frame)
            total[placement.body] = total[placement.body] + felt
    return total


def transmitted_wrenches(tree: Tree, poses: Sequence[Pose], net: Sequence[Wrench]) -> list[Wrench]:
    """Wrench that every joint passes to its body: the body's own and all that the body passes on, from tips to base."""
    passed = list(net)
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            passed[parent] = passed[parent] + passed[i].seen_from(*poses[i])
    return passed
