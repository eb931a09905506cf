"""Forward dynamics by the articulated-body algorithm: work that grows with the number of joints only.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), section 7.3, The Articulated-Body Algorithm, with the 6 x 6
articulated inertia in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.body_motion import body_accelerations
from chasles.algorithms.friction import joint_friction
from chasles.algorithms.joint_motion import (
    WORLD,
    Pose,
    along_joint,
    has_mimic_joints,
    joint_positions,
    joint_rates,
    origin_in_parent,
    poses_in_parent,
    turn_in_parent,
)
from chasles.algorithms.known_values import is_number_zero
from chasles.algorithms.mass_matrix import massless
from chasles.algorithms.mass_moments import MassMoments, grouped_mass_moments, mirrored, turned_matrix
from chasles.algorithms.spatial import NO_TWIST, NO_WRENCH, Twist, Wrench
from chasles.algorithms.wrenches import NO_WRENCHES, net_wrenches
from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import Body, Tree


class ArticulatedInertia(NamedTuple):
    """Symmetric inertia [[angular, coupling], [coupling^T, linear]] in 3 x 3 blocks: wrench per acceleration."""

    angular: Array
    coupling: Array
    linear: Array


def articulated_body_accelerations(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Accelerations under torques, for trees without mimic joints.

    The velocity terms are those of the Newton-Euler recursion at zero joint acceleration, so that the articulated
    recursion deals only with accelerations beyond that motion.

    Parameters
    ----------
    tree, q, qd, tau, wrenches
        As for `forward_dynamics`, and with its errors.

    Returns
    -------
    ndarray
        qdd (n,), rad/s^2 (m/s^2 for sliding joints).

    Raises
    ------
    ArgumentError
        For a tree with mimic joints.

    Examples
    --------
    The arm stretched out level, where M = [[27, 4], [4, 1]] * 5/48. Its weight, 5.625 kg m and 0.625 kg m times
    9.80621 m/s^2, is held, and 1 N m more at the first joint causes 48/55 and -4 * 48/55 rad/s^2.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> held = 9.80621 * np.array([5.625, 0.625])
    >>> articulated_body_accelerations(tree, np.zeros(2), np.zeros(2), held + [1.0, 0.0]).round(6)
    array([ 0.872727, -3.490909])
    """
    if has_mimic_joints(tree):
        raise ArgumentError("the articulated-body algorithm takes no mimic joints: use accelerations_by_mass_matrix")
    positions, rates, masses = joint_positions(tree, q), joint_rates(tree, qd), grouped_mass_moments(tree)
    poses = poses_in_parent(tree, positions)
    unaccelerated = body_accelerations(tree, poses, rates, [0.0] * len(tree.bodies), tree.gravity)
    bias = net_wrenches(tree, masses, unaccelerated, wrenches)
    inertia = [articulated_inertia(moments) for moments in masses]
    gains = [NO_WRENCH] * len(tree.bodies)
    drives: list[Any] = [0.0] * len(tree.bodies)
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        needed = inertia_along_joint(body, inertia[i])
        felt_by_motor = along_joint(body, needed) + body.armature
        if is_number_zero(felt_by_motor):
            raise massless(body.joint)
        reciprocal = 1.0 / felt_by_motor
        gains[i] = needed.times(reciprocal)
        torque = tau[body.coordinate] / body.ratio - joint_friction(body, rates[i])
        drives[i] = reciprocal * (torque - along_joint(body, bias[i]))
        if body.parent != WORLD:
            bias[body.parent] = bias[body.parent] + (bias[i] + needed.times(drives[i])).seen_from(*poses[i])
            felt = seen_from_parent(body, positions[i], inertia_beyond_joint(body, inertia[i], needed, reciprocal))
            inertia[body.parent] = added(inertia[body.parent], felt)
    return _outward(tree, poses, gains, drives)


def _outward(tree: Tree, poses: Sequence[Pose], gains: Sequence[Wrench], drives: Sequence[Any]) -> Array:
    """Joint accelerations from the base outward, and with them the bodies' accelerations beyond the bias motion."""
    qdd: list[Any] = [0.0] * tree.n
    extra: list[Twist] = []
    for i, (body, (R, p)) in enumerate(zip(tree.bodies, poses, strict=True)):
        parent = NO_TWIST if body.parent == WORLD else extra[body.parent]
        carried = Twist(R.T @ parent.angular, R.T @ (parent.linear + cross(parent.angular, p)))
        acceleration = drives[i] - gains[i].power(carried)
        (ax, ay, az), (x, y, z) = carried.angular, carried.linear
        extra.append(
            Twist(
                np.array([ax, ay, az + body.angular * acceleration]),
                np.array([x, y, z + body.pitch * acceleration]),
            )
        )
        qdd[body.coordinate] = acceleration / body.ratio
    return np.array(qdd)


def articulated_inertia(moments: MassMoments) -> ArticulatedInertia:
    """Inertia of a single rigid body, in blocks.

    Examples
    --------
    A mass point of 2 kg at 0.5 m along x turns about y and z with 2 * 0.5^2 kg m^2:

    >>> point = MassMoments(2.0, np.array([1.0, 0.0, 0.0]), np.diag([0.5, 0.0, 0.0]))
    >>> np.diag(articulated_inertia(point).angular)
    array([0. , 0.5, 0.5])
    """
    J = moments.second
    angular = (J[0, 0] + J[1, 1] + J[2, 2]) * np.eye(3) - J
    return ArticulatedInertia(angular, skew(moments.first), moments.mass * np.eye(3))


def inertia_along_joint(body: Body, inertia: ArticulatedInertia) -> Wrench:
    """Wrench I S of a unit acceleration along the joint's screw S."""
    return Wrench(
        body.angular * inertia.angular[:, 2] + body.pitch * inertia.coupling[:, 2],
        body.angular * inertia.coupling[2, :] + body.pitch * inertia.linear[:, 2],
    )


def added(a: ArticulatedInertia, b: ArticulatedInertia) -> ArticulatedInertia:
    """Inertia of two bodies that move together."""
    return ArticulatedInertia(a.angular + b.angular, a.coupling + b.coupling, a.linear + b.linear)


def inertia_beyond_joint(
    body: Body, inertia: ArticulatedInertia, needed: Wrench, reciprocal: Any
) -> ArticulatedInertia:
    """Inertia that the parent feels through a joint, which yields along its screw S.

    It is I - u u^T / D with u = I S and D = S^T u + armature. Its product with S is u * armature / D: that fills the
    row and column of z, which are zeros without armature.
    """
    moment, force = needed.moment, needed.force
    angular = inertia.angular - np.outer(moment, reciprocal * moment)
    coupling = inertia.coupling - np.outer(moment, reciprocal * force)
    linear = inertia.linear - np.outer(force, reciprocal * force)
    along_z = needed.times(reciprocal * body.armature)
    if body.pitch == 0.0:
        angular = _with_column_z(_with_column_z(angular, along_z.moment).T, along_z.moment)
        coupling = _with_column_z(coupling.T, along_z.force).T
    elif body.angular == 0.0:
        coupling = _with_column_z(coupling, along_z.moment)
        linear = _with_column_z(_with_column_z(linear, along_z.force).T, along_z.force)
    return ArticulatedInertia(angular, coupling, linear)


def seen_from_parent(body: Body, position: Any, inertia: ArticulatedInertia) -> ArticulatedInertia:
    """The inertia about the parent's origin in the parent's axes."""
    (R, angle), shift = turn_in_parent(body, position), skew(origin_in_parent(body, position))
    angular, turned, linear = (R @ turned_matrix(angle, block) @ R.T for block in inertia)
    linear = mirrored(linear)
    coupling = turned + shift @ linear
    return ArticulatedInertia(mirrored(angular - turned @ shift + shift @ coupling.T), coupling, linear)


def _with_column_z(A: Array, column: Array) -> Array:
    return np.array([[row[0], row[1], entry] for row, entry in zip(A, column, strict=True)])
