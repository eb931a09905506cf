"""Forward dynamics: the accelerations that torques cause, by the mass matrix or by the articulated-body algorithm.

Source of the latter, whose work grows with the number of joints only: Featherstone, Rigid Body Dynamics Algorithms
(2008), section 7.3, The Articulated-Body Algorithm, with the 6 x 6 articulated inertia in blocks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.drives import at_motors, motor_rates
from chasles.algorithms.inverse_dynamics import bias, transmitted_torque
from chasles.algorithms.joint_friction import (
    has_load_friction,
    joint_friction_derivative,
    load_share_slope,
    load_shares,
)
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
from chasles.algorithms.mass_matrix import factor_mass_matrix, mass_matrix, massless
from chasles.algorithms.mass_moments import MassMoments, grouped_mass_moments, turned_matrix
from chasles.algorithms.newton_euler import NO_WRENCHES, body_accelerations, net_wrenches, newton_euler
from chasles.algorithms.spatial import NO_TWIST, NO_WRENCH, Twist, Wrench, is_number_zero
from chasles.base.errors import ArgumentError
from chasles.engine import absolute, sign
from chasles.engine.linear.symmetric import inverse, solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross, mirrored, skew

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Tree

ARTICULATED_BODY_FROM_DEPTH = 6.0
"""Mean number of joints from base to body at which the articulated-body algorithm begins to take fewer operations."""


def forward_dynamics(
    tree: Tree,
    q: Array,
    qd: Array,
    tau: Array,
    wrenches: Mapping[str, Array] = NO_WRENCHES,
    step: float = 0.0,
) -> Array:
    """Return the accelerations that torques cause, the inverse of `inverse_dynamics`.

    Computed with the mass matrix where the tree is shallow (a serial arm of up to ten joints) or has mimic joints or
    coupled drives, else with the articulated-body algorithm.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).
    tau
        Motor torques, shape (n,), N·m (N for prismatic joints).
    wrenches
        See `inverse_dynamics`, also for the errors.
    step
        Time step, s: the accelerations are the mean ones over it, with joint friction taken at its end.

    Returns
    -------
    qdd
        Shape (n,), rad/s² (m/s² for prismatic joints); with a step, ``(qd_next - qd) / step``.

    Raises
    ------
    ArgumentError
        If a joint moves nothing that has mass or motor inertia, so that the mass matrix is singular, or if `step` is
        negative.

    Notes
    -----
    With friction much faster than the step, velocities do not overshoot zero, as they would in an explicit step. To
    first order, the slope of each joint's friction, times the step, adds to the joint's inertia; with D for the slopes,

        (M + step D) (qd_next - qd) / step = tau - bias.

    Viscous friction alone is taken exactly as the implicit Euler method takes it.

    Friction of the load depends on the accelerations, but not on their distribution: see `transmitted_torque`, whose
    result less gravity, centrifugal and external forces accelerates the robot.

    Examples
    --------
    With the rods at a right angle M = [[21, 1], [1, 1]] · 5/48, so that 1 N·m at the second joint, beyond what holds
    the weight, causes -0.48 and 21 · 0.48 rad/s².

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> q = np.array([0.0, np.pi / 2])
    >>> tau = [49.03105, 1.0]  # the weight is 49.03105 N·m and 0
    >>> forward_dynamics(tree, q, np.zeros(2), np.array(tau)).round(6)
    array([-0.48, 10.08])

    A wheel of 0.5 kg·m² with a friction of 1000 N·m·s/rad, which would throw it back in an explicit step of 0.1 s:

    >>> from chasles.model import Inertia, Joint, Link
    >>> from chasles.model.description import Description
    >>> wheel = Link("wheel", Inertia(1.0, matrix=np.eye(3) / 2.0))
    >>> axle = Joint("axle", "revolute", "wall", "wheel", viscous_friction=1000.0)
    >>> tree = build_tree(Description("wheel", links=(Link("wall"), wheel), joints=(axle,)))
    >>> qd = np.array([1.0])
    >>> qd + 0.1 * forward_dynamics(tree, np.zeros(1), qd, np.zeros(1), step=0.1)  # 1 / (1 + 0.1 · 1000 / 0.5)
    array([0.00497512])
    """
    if step:
        load = transmitted_torque(tree, q, qd, tau) if has_load_friction(tree) else None
        tree = with_implicit_friction(tree, qd, step, load)
    branches_of_one = tree.drive_coupling is None and not has_mimic_joints(tree)
    if branches_of_one and mean_depth(tree) >= ARTICULATED_BODY_FROM_DEPTH:
        return articulated_body_accelerations(tree, q, qd, tau, wrenches)
    return accelerations_by_mass_matrix(tree, q, qd, tau, wrenches)


def with_implicit_friction(tree: Tree, qd: Array, step: float, load: Array | None = None) -> Tree:
    """Return the tree whose joints have the slopes of their friction, times a step, as additional armature.

    The torques `load` that joints transmit, with the shares s of it that friction takes, add friction of the load, if
    there is such: from x + s(qd) |x| + f(qd) = tau the transmitted torque x changes with the velocity by
    -(f' + s' |x|) / (1 + s sign(x)).

    Source: Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.7, with the part of the Jacobian
    that the friction gives.
    """
    if not step >= 0.0:
        raise ArgumentError(f"step must be a duration of 0 s or more, not {step!r}")
    rates = motor_rates(tree, qd)
    slopes = [joint_friction_derivative(body, rate) for body, rate in zip(tree.bodies, rates, strict=True)]
    if load is not None:
        of_motors, shares = at_motors(tree, load), load_shares(tree, qd)
        slopes = [
            (slope + load_share_slope(body, rate) * absolute(of_motors[body.coordinate]))
            / (1.0 + shares[body.coordinate] * sign(of_motors[body.coordinate]))
            for body, rate, slope in zip(tree.bodies, rates, slopes, strict=True)
        ]
    added = [step * slope for slope in slopes]
    bodies = [replace(body, armature=body.armature + more) for body, more in zip(tree.bodies, added, strict=True)]
    return replace(tree, bodies=tuple(bodies))


def accelerations_by_mass_matrix(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Return the accelerations by solving M qdd = tau - bias.

    Parameters
    ----------
    tree, q, qd, tau, wrenches
        See `forward_dynamics`, also for the errors.

    Returns
    -------
    ndarray
        qdd (n,), rad/s² (m/s² for prismatic joints).

    Notes
    -----
    Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 6, Forward Dynamics - Inertia Matrix Methods.

    Examples
    --------
    1 N·m at the first joint beyond what holds the weight: the first column of the inverse of
    M = [[21, 1], [1, 1]] * 5/48.

    >>> import numpy as np
    >>> from chasles.algorithms import gravity_torque
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> q = np.array([0.0, np.pi / 2])
    >>> accelerations_by_mass_matrix(tree, q, np.zeros(2), gravity_torque(tree, q) + [1.0, 0.0]).round(6)
    array([ 0.48, -0.48])
    """
    M = factor_mass_matrix(tree, mass_matrix(tree, q))
    if not has_load_friction(tree):
        return solve(M, tau - bias(tree, q, qd, wrenches))
    without_acceleration = newton_euler(tree, q, qd, np.zeros(tree.n), tree.gravity, wrenches)
    return solve(M, transmitted_torque(tree, q, qd, tau) - without_acceleration)


def mean_depth(tree: Tree) -> float:
    """Mean number of joints between a body and the base.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> mean_depth(tree)  # one joint to the first rod, two to the second
    1.5
    """
    depths: list[int] = []
    for body in tree.bodies:
        depths.append(1 if body.parent == WORLD else depths[body.parent] + 1)
    return sum(depths) / max(1, len(depths))


def inverse_mass_matrix(tree: Tree, q: Array) -> Array:
    """Return the inverse of the mass matrix: accelerations per unit torque.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    M_inverse
        Shape (n, n), 1/(kg·m²) (1/kg for prismatic joints), exactly symmetric.

    Raises
    ------
    ArgumentError
        If a joint moves nothing that has mass or motor inertia.

    Examples
    --------
    The inverse of M = [[21, 1], [1, 1]] · 5/48, the arm at a right angle:

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> inverse_mass_matrix(tree, np.array([0.0, np.pi / 2])).round(6)
    array([[ 0.48, -0.48],
           [-0.48, 10.08]])
    """
    return inverse(factor_mass_matrix(tree, mass_matrix(tree, q)))


class ArticulatedInertia(NamedTuple):
    """Symmetric inertia [[angular, coupling], [couplingᵀ, linear]] in 3 x 3 blocks: wrench per acceleration."""

    angular: Array
    coupling: Array
    linear: Array


def articulated_body_accelerations(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Return the accelerations under torques, for trees without mimic joints and coupled drives.

    The velocity terms are those of the Newton-Euler recursion at zero joint acceleration, so that the articulated
    recursion deals only with accelerations beyond that motion.

    Parameters
    ----------
    tree, q, qd, tau, wrenches
        See `forward_dynamics`, also for the errors.

    Returns
    -------
    ndarray
        qdd (n,), rad/s² (m/s² for prismatic joints).

    Raises
    ------
    ArgumentError
        For a tree with mimic joints or coupled drives.

    Examples
    --------
    The arm stretched out level, where M = [[27, 4], [4, 1]] * 5/48. Its weight, 5.625 kg·m and 0.625 kg·m times
    9.80621 m/s², is held, and 1 N·m more at the first joint causes 48/55 and -4 * 48/55 rad/s².

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> held = 9.80621 * np.array([5.625, 0.625])
    >>> articulated_body_accelerations(tree, np.zeros(2), np.zeros(2), held + [1.0, 0.0]).round(6)
    array([ 0.872727, -3.490909])
    """
    if has_mimic_joints(tree) or tree.drive_coupling is not None:
        raise ArgumentError(
            "the articulated-body algorithm takes no mimic joints or coupled drives: use accelerations_by_mass_matrix"
        )
    positions, rates, masses = joint_positions(tree, q), joint_rates(tree, qd), grouped_mass_moments(tree)
    poses = poses_in_parent(tree, positions)
    unaccelerated = body_accelerations(tree, poses, rates, [0.0] * len(tree.bodies), tree.gravity)
    bias = net_wrenches(tree, masses, unaccelerated, wrenches)
    inertia = [articulated_inertia(moments) for moments in masses]
    load = transmitted_torque(tree, q, qd, tau)
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
        drives[i] = reciprocal * (load[body.coordinate] / body.ratio - along_joint(body, bias[i]))
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
    A mass point of 2 kg at 0.5 m along x turns about y and z with 2 · 0.5² kg·m²:

    >>> point = MassMoments(2.0, np.array([1.0, 0.0, 0.0]), np.diag([0.5, 0.0, 0.0]))
    >>> np.diag(articulated_inertia(point).angular)
    array([0. , 0.5, 0.5])
    """
    J = moments.second
    angular = (J[0, 0] + J[1, 1] + J[2, 2]) * np.eye(3) - J
    return ArticulatedInertia(angular, skew(moments.first), moments.mass * np.eye(3))


def inertia_along_joint(body: MovingBody, inertia: ArticulatedInertia) -> Wrench:
    """Wrench I S of a unit acceleration along the joint's screw S."""
    return Wrench(
        body.angular * inertia.angular[:, 2] + body.pitch * inertia.coupling[:, 2],
        body.angular * inertia.coupling[2, :] + body.pitch * inertia.linear[:, 2],
    )


def added(a: ArticulatedInertia, b: ArticulatedInertia) -> ArticulatedInertia:
    """Inertia of two bodies that move together."""
    return ArticulatedInertia(a.angular + b.angular, a.coupling + b.coupling, a.linear + b.linear)


def inertia_beyond_joint(
    body: MovingBody, inertia: ArticulatedInertia, needed: Wrench, reciprocal: Real
) -> ArticulatedInertia:
    """Inertia that the parent feels through a joint, which yields along its screw S.

    It is I - u uᵀ / D with u = I S and D = Sᵀ u + armature. Its product with S is u * armature / D: that fills the
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


def seen_from_parent(body: MovingBody, position: Real, inertia: ArticulatedInertia) -> ArticulatedInertia:
    """The inertia about the parent's origin in the parent's axes."""
    (R, angle), shift = turn_in_parent(body, position), skew(origin_in_parent(body, position))
    angular, turned, linear = (R @ turned_matrix(angle, block) @ R.T for block in inertia)
    linear = mirrored(linear)
    coupling = turned + shift @ linear
    return ArticulatedInertia(mirrored(angular - turned @ shift + shift @ coupling.T), coupling, linear)


def _with_column_z(A: Array, column: Array) -> Array:
    return np.array([[row[0], row[1], entry] for row, entry in zip(A, column, strict=True)])
