"""Dynamics for adaptive and robust control: torques along a reference motion, momenta, and their regressors.

The joints' reference rates qd_r give every point of a body a reference velocity J(q) qd_r. As the robot moves with qd,
this velocity changes by J qdd_r + dJ/dt qd_r. Summed over mass points, Jᵀ m of it is M qdd_r + C qd_r, with the one C
of the Christoffel symbols, for which dM/dt - 2 C is skew: Jᵀ m dJ/dt is that C, point by point. So the Newton-Euler
recursion gives these torques in one pass, once its accelerations are replaced by the `reference_accelerations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.drives import motor_rates
from chasles.algorithms.inverse_dynamics import armature_torque, gravity_torque, motor_torque
from chasles.algorithms.joint_friction import coulomb_direction, unloaded_friction_torque
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
from chasles.algorithms.kinematics import body_velocities, screw_rate, velocities_after
from chasles.algorithms.mass_moments import MassMoments, grouped_mass_moments, inertia_times
from chasles.algorithms.newton_euler import body_accelerations, transmitted_wrenches
from chasles.algorithms.regressors import (
    Columns,
    acceleration_seen_from_link,
    columns_of_accelerations,
    link_in_body,
    matrix_of_rows,
    momentum_columns,
    seen_from_link,
    wrench_columns,
)
from chasles.algorithms.spatial import Wrench
from chasles.base.comparable import comparable
from chasles.geometry.elementary import Z_AXIS, Array, cross, skew

if TYPE_CHECKING:
    from chasles.model.tree import Tree


class PointAccelerations(NamedTuple):
    """Accelerations of the points r of a body, `linear + matrix @ r`, in its axes."""

    matrix: Array
    """U (3, 3)."""
    linear: Array
    """Acceleration (3,) of the body's origin."""


def reference_accelerations(
    tree: Tree,
    poses: Sequence[Pose],
    rates: Sequence[Any],
    reference_rates: Sequence[Any],
    reference_rates_of_change: Sequence[Any],
    gravity: Array,
) -> list[PointAccelerations]:
    """Rates of change, along the motion, of every body's reference velocities; the base accelerates by -gravity.

    With the angular velocities omega and omega_r in the body's axes and the rate of change alpha_r of omega_r seen from
    the world, a point r changes its reference velocity by a + U r with U = [alpha_r]x + [omega_r]x [omega]x. The screws
    of a joint with several degrees of freedom are fixed in the body that the whole joint moves; see `kinematics`.
    """
    nothing = np.zeros(3)
    velocities = velocities_after(tree, poses, body_velocities(tree, poses, rates))
    before: list[Array] = []  # reference angular velocity before each joint
    references: list[Array] = []
    turnings: list[Array] = []
    result: list[PointAccelerations] = []
    for body, (R, p), velocity, rate, reference_rate, acceleration in zip(
        tree.bodies, poses, velocities, rates, reference_rates, reference_rates_of_change, strict=True
    ):
        fixed = body.parent == WORLD
        reference_of_parent = R.T @ (nothing if fixed else references[body.parent])
        turning_of_parent = R.T @ (nothing if fixed else turnings[body.parent])
        carried = R.T @ (-gravity if fixed else result[body.parent].linear + result[body.parent].matrix @ p)
        before.append(R.T @ before[body.parent] if continues_joint(body) else reference_of_parent)
        swing = cross(velocity.angular, Z_AXIS * reference_rate)
        swing_of_point = swing + cross(before[-1], Z_AXIS * rate)
        reference = reference_of_parent + body.angular * reference_rate * Z_AXIS
        turning = turning_of_parent + body.angular * (acceleration * Z_AXIS + swing)
        linear = carried + body.pitch * (acceleration * Z_AXIS + swing_of_point)
        references.append(reference)
        turnings.append(turning)
        result.append(PointAccelerations(skew(turning) + skew(reference) @ skew(velocity.angular), linear))
    return result


def passivity_torque(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Return M qdd_r + C(q, qd) qd_r + g + friction(qd) + armature qdd_r, with the C of `coriolis_matrix`.

    Friction of the load is that of the other terms' load; g includes `position_torque`.
    This is the torque of passivity-based control, for which dM/dt - 2 C must be skew-symmetric.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).
    qd_reference, qdd_reference
        Reference velocity and acceleration, shape (n,), rad/s, rad/s² (m/s, m/s² for prismatic joints).

    Returns
    -------
    tau
        Shape (n,), N·m (N for prismatic joints). With qd_reference = qd it is `inverse_dynamics`.

    Notes
    -----
    Slotine & Li, "On the adaptive control of robot manipulators" (Int. J. Robotics Research 6(3), 1987). The recursion
    is that of Luh, Walker & Paul with the accelerations of `reference_accelerations`.

    Examples
    --------
    With h = m₂ l₁ l₂/2 sin q₂ = 0.3125, C = [[-h qd₂, -h (qd₁ + qd₂)], [h qd₁, 0]]; without gravity:

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r").with_gravity(np.zeros(3)))
    >>> q, qd = np.array([0.0, np.pi / 2]), np.array([1.0, 2.0])
    >>> passivity_torque(tree, q, qd, np.array([4.0, 0.0]), np.zeros(2)).round(6)  # -h 2 · 4 and h 1 · 4
    array([-2.5 ,  1.25])
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, reference_rates = joint_rates(tree, qd), joint_rates(tree, qd_reference)
    accelerations = reference_accelerations(
        tree, poses, rates, reference_rates, joint_rates(tree, qdd_reference), tree.gravity
    )
    net = [_wrench(moments, field) for moments, field in zip(grouped_mass_moments(tree), accelerations, strict=True)]
    transmitted = transmitted_wrenches(tree, poses, net)
    rigid = vector_of_coordinates(
        tree, [along_joint(body, wrench) for body, wrench in zip(tree.bodies, transmitted, strict=True)]
    )
    return motor_torque(tree, q, qd, rigid, qdd_reference)


def _wrench(moments: MassMoments, accelerations: PointAccelerations) -> Wrench:
    """Wrench about its origin that gives the mass points of a body their accelerations."""
    U, a = accelerations
    J = moments.second
    spin = np.array(
        [
            U[k, i] * J[i, j]
            - U[j, i] * J[i, k]
            + (U[k, k] - U[j, j]) * J[j, k]
            + (U[k, j] * J[j, j] - U[j, k] * J[k, k])
            for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        ]
    )
    return Wrench(spin + cross(moments.first, a), moments.mass * a + U @ moments.first)


def passivity_regressor(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Return the regressor Y with Y π = `passivity_torque`: one column for each parameter.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).
    qd_reference, qdd_reference
        Reference velocity and acceleration, shape (n,), rad/s, rad/s² (m/s, m/s² for prismatic joints).

    Returns
    -------
    Y
        Shape (n, parameters), columns as in `torque_regressor`; with qd_reference = qd it equals that regressor.

    Notes
    -----
    Slotine & Li, "On the adaptive control of robot manipulators" (Int. J. Robotics Research 6(3), 1987), with the
    `reference_accelerations`, which cost little more than the `torque_regressor`.

    Examples
    --------
    Coulomb friction opposes the real motion, whatever the reference.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> Y = passivity_regressor(tree, np.zeros(2), np.array([-2.0, 3.0]), np.array([1.0, 1.0]), np.zeros(2))
    >>> Y[:, 21], Y[:, 24]
    (array([-1.,  0.]), array([0., 1.]))
    """
    poses = poses_in_parent(tree, joint_positions(tree, q))
    rates, accelerations = joint_rates(tree, qd), joint_rates(tree, qdd_reference)
    fields = reference_accelerations(tree, poses, rates, joint_rates(tree, qd_reference), accelerations, tree.gravity)
    columns = [_columns(tree, index, field) for index, field in enumerate(fields)]
    speeds, speed_rates = motor_rates(tree, qd), motor_rates(tree, qdd_reference)
    directions = [coulomb_direction(body, speed) for body, speed in zip(tree.bodies, speeds, strict=True)]
    return matrix_of_rows(tree, columns, poses, [np.array(x) for x in (speeds, directions, speed_rates)])


def _columns(tree: Tree, index: int, accelerations: PointAccelerations) -> Columns:
    """Wrench of a body, about the origin and in the axes of its first link, for unit values of its parameters."""
    R, p = link_in_body(tree, index)
    U = R.T @ accelerations.matrix @ R
    a = R.T @ (accelerations.linear + accelerations.matrix @ p)
    lower, upper = np.array([U[2, 1], U[0, 2], U[1, 0]]), np.array([U[1, 2], U[2, 0], U[0, 1]])
    return columns_of_accelerations(U, a, 0.5 * (lower - upper), 0.5 * (lower + upper))


@comparable
class MomentumAndDrift(NamedTuple):
    """Generalised momenta M qd and their rate of change without torques, each of shape (..., n)."""

    momentum: Array
    drift: Array


def momentum_and_drift(tree: Tree, q: Array, qd: Array) -> MomentumAndDrift:
    """Return the generalised momenta p = M qd, and the drift with dp/dt = tau + Jᵀ w + drift.

    Friction of the load depends on tau, and is not in the drift: where there is such, dp/dt is less by what it adds to
    `loaded_friction_torque` for the load `transmitted_torque(q, qd, tau)`.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    momentum
        Shape (n,), kg·m²/s (kg·m/s for prismatic joints), armature included.
    drift
        Shape (n,), N·m (N for prismatic joints): C(q, qd)ᵀ qd - g - friction, the rate at which the momenta change if
        no torques act.

    Notes
    -----
    A joint's momentum is the product of its screw S with the momentum H of all that it carries; so the momenta change
    by S H' and by S' H, which is the part Cᵀ qd. Neither needs accelerations. The relation is that of De Luca &
    Mattone, "Actuator failure detection and isolation using generalized momenta" (IEEE Int. Conf. Robotics and
    Automation, 2003).

    Examples
    --------
    The stretched arm turns like one body of 2.8125 kg·m²; its tip rod alone has 5 (0.25²/3 + 0.5 · 0.125).

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> momentum_and_drift(tree, np.zeros(2), np.array([2.0, 0.0])).momentum.round(5)
    array([5.625  , 0.83333])
    """
    rates = joint_rates(tree, qd)
    poses = poses_in_parent(tree, joint_positions(tree, q))
    velocities = body_velocities(tree, poses, rates)
    of_bodies = [
        inertia_times(mass, velocity) for mass, velocity in zip(grouped_mass_moments(tree), velocities, strict=True)
    ]
    carried = transmitted_wrenches(tree, poses, of_bodies)  # momenta add up and change frame as wrenches do
    pairs = list(zip(tree.bodies, carried, velocities_after(tree, poses, velocities), strict=True))
    momenta = vector_of_coordinates(tree, [along_joint(body, H) for body, H, _ in pairs])
    turned = vector_of_coordinates(tree, [H.power(screw_rate(body, velocity)) for body, H, velocity in pairs])
    drift = turned - gravity_torque(tree, q) - unloaded_friction_torque(tree, qd)
    return MomentumAndDrift(momenta + armature_torque(tree, qd), drift)


def momentum_drift_regressor(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the regressor D with D π = drift of `momentum_and_drift`: one column for each parameter.

    With the momentum regressor P, the torques of every motion are tau = (dP/dt - D) π, which a filter can use without
    accelerations.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).

    Returns
    -------
    D
        Shape (n, parameters), columns as those of `torque_regressor`; those of armature are zero.

    Notes
    -----
    Middleton & Goodwin, "Adaptive computed torque control for rigid link manipulators" (Systems & Control Letters
    10(1), 1988).

    Examples
    --------
    1 kg at the origin of link2, 0.75 m and 0.25 m from the joints, at rest and level: it falls.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> momentum_drift_regressor(tree, np.zeros(2), np.zeros(2))[:, 10].round(5)
    array([-7.35466, -2.45155])
    """
    poses, rates = poses_in_parent(tree, joint_positions(tree, q)), joint_rates(tree, qd)
    nothing = [0.0] * len(tree.bodies)
    velocities = body_velocities(tree, poses, rates)
    momenta = [momentum_columns(seen_from_link(tree, index, velocity)) for index, velocity in enumerate(velocities)]
    after = velocities_after(tree, poses, velocities)
    screw_rates = [screw_rate(body, velocity) for body, velocity in zip(tree.bodies, after, strict=True)]
    at_rest = body_accelerations(tree, poses, nothing, nothing, tree.gravity)
    weights = [wrench_columns(acceleration_seen_from_link(tree, i, a)) for i, a in enumerate(at_rest)]
    speeds = motor_rates(tree, qd)
    directions = np.array([coulomb_direction(body, speed) for body, speed in zip(tree.bodies, speeds, strict=True)])
    no_columns = np.array(nothing)
    turned = matrix_of_rows(tree, momenta, poses, [no_columns, no_columns, no_columns], screw_rates)
    return turned - matrix_of_rows(tree, weights, poses, [np.array(speeds), directions, no_columns])
