"""Second derivatives of weighted joint torques, in closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.algorithms.composite_motion import CompositeMotion, MovingScrew, composite_motion, torques_of
from chasles.algorithms.drives import at_joints, at_motors, between_joints, motor_positions, motor_rates
from chasles.algorithms.inverse_dynamics import armature_torque
from chasles.algorithms.joint_friction import (
    has_load_friction,
    joint_friction_curvature,
    joint_position_curvature,
    load_share_curvature,
    load_share_slope,
    load_shares,
)
from chasles.algorithms.joint_motion import (
    WORLD,
    continues_joint,
    joint_positions,
    joint_rates,
    matrix_of_coordinates,
)
from chasles.algorithms.kinematics import body_velocities, screw_rate, velocities_before
from chasles.algorithms.linearization import transmitted_derivatives
from chasles.algorithms.mass_matrix import (
    composite_momentum_moments,
    couple_of_drag,
    momentum_moments,
    wrench_of_momentum,
)
from chasles.algorithms.mass_moments import grouped_mass_moments, inertia_times
from chasles.algorithms.newton_euler import NO_WRENCHES
from chasles.algorithms.spatial import Twist, Wrench, carried_along
from chasles.base.comparable import comparable
from chasles.engine import absolute, sign
from chasles.engine.linear.pivoted_elimination import solve
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


@comparable
class TorqueHessian(NamedTuple):
    """Second derivatives of the sum of weighted torques, by pairs of q, qd and qdd, each of shape (..., n, n)."""

    by_q_q: Array
    by_q_qd: Array
    by_q_qdd: Array
    by_qd_qd: Array
    by_qd_qdd: Array


def inverse_dynamics_hessian(
    tree: Tree,
    q: Array,
    qd: Array,
    qdd: Array,
    weights: Array,
    wrenches: Mapping[str, Array] = NO_WRENCHES,
) -> TorqueHessian:
    """Return the second derivatives of weights · inverse_dynamics with respect to q, qd and qdd.

    The sum of torques with weights y is the power of the bodies' wrenches on the virtual motion y. Where q holds
    quaternions, derivatives with respect to q are taken along the displacement v of `integrate(q, v)`, at v = 0.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd, wrenches
        See `inverse_dynamics`, also for the errors. The wrenches are constant in the axes of their frames.
    weights
        Weights y of the torques, shape (n,).

    Returns
    -------
    by_q_q, by_q_qd, by_q_qdd, by_qd_qd, by_qd_qdd
        Shape (n, n) each, the row for the first of the two; those by q twice and by qd twice are symmetric, those by
        qdd twice are zero. Those by qd and qdd are zero without friction of the load. Jumps of friction are ignored.

    Notes
    -----
    The derivatives of Singh, Russo & Wensing (see `inverse_dynamics_derivatives`) once more, as in Singh, Russo &
    Wensing, "Second-Order Derivatives of Rigid-Body Dynamics", in body frames and contracted with y. To the screw S of
    a joint, its rates dS and ddS, and I, B and f of the composite beyond it come the rate S* = v* x S by the virtual
    velocity v* of y, the virtual moments of momentum B* with the wrench p* of momentum, and the couple c, the sum of
    m rdot x r* over mass points with velocities rdot and r*. A joint i turns all that is beyond it together: there v*,
    v and the acceleration change by S*_i, dS_i and ddS_i, less a rotation that no power feels. So with, for a joint j,

    - g = I S* + S x* p*, the change of the virtual momentum,
    - w = Bᵀ S* - B*ᵀ dS + S x c, a couple, and u = - 2 B*ᵀ S, another,

    the second derivatives are, for j beyond i or i itself,

    - by q_i and q_j: S*_i (2 B dS + I ddS + S x* f)_j + ddS_i g_j + 2 dS_i w_j;
    - by q_i and qd_j: S*_i (2 B S + I (dS + dS'))_j + dS_i u_j; by q_j and qd_i: (dS + dS')_i g_j + 2 S_i w_j;
    - by q_i and qdd_j: S*_i (I S)_j; by q_j and qdd_i: S_i g_j;
    - by qd_i and qd_j: S_i u_j, the Christoffel symbols.

    Couples act on the angular part. Between the velocity coordinates of one spherical or free joint i and j both are
    beyond each other, and a displacement has the mean of both orders.

    Examples
    --------
    The hanging arm: its weight gives the first torque the slope 5.625 · 9.80621 cos q, whose slope is zero here.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> rest = np.zeros(2)
    >>> inverse_dynamics_hessian(tree, rest, rest, rest, np.array([1.0, 0.0])).by_q_q.round(5)
    array([[-55.15993,  -6.12888],
           [ -6.12888,  -6.12888]])
    """
    transmitted = _with_load_friction if has_load_friction(tree) else transmitted_hessian
    return _plus(transmitted(tree, q, qd, qdd, weights, wrenches), _of_motors(tree, q, qd, weights))


class VirtualScrew(NamedTuple):
    """Twists of a joint by which the composites beyond it change: its screw with its rates, and its virtual rate."""

    moving: MovingScrew
    virtual: Twist

    def seen_from(self, R: Array, p: Array) -> VirtualScrew:
        """The same twists about the origin of another frame."""
        S, dS, ddS, rates = (twist.seen_from(R, p) for twist in self.moving)
        return VirtualScrew(MovingScrew(S, dS, ddS, rates), self.virtual.seen_from(R, p))


class Changes(NamedTuple):
    """What joint j changes in the wrenches of its composite, about the origin of a frame.

    Attributes
    ----------
    wrench, by_rate, by_acceleration
        2 B dS + I ddS + S x* f, 2 B S + I (dS + dS') and I S.
    momentum
        g = I S* + S x* p*.
    couple, rate_couple
        w and u.
    """

    wrench: Wrench
    by_rate: Wrench
    by_acceleration: Wrench
    momentum: Wrench
    couple: Array
    rate_couple: Array

    def seen_from(self, R: Array, p: Array) -> Changes:
        """The same about the origin of another frame."""
        wrench, by_rate, by_acceleration, momentum = (each.seen_from(R, p) for each in self[:4])
        return Changes(wrench, by_rate, by_acceleration, momentum, R @ self.couple, R @ self.rate_couple)

    def with_carrier(self, i: VirtualScrew) -> tuple[Real, Real, Real, Real]:
        """Second derivatives by (q_i, q_j), (q_i, qd_j), (q_i, qdd_j) and (qd_i, qd_j)."""
        S, dS, ddS, _ = i.moving
        by_q_q = self.wrench.power(i.virtual) + self.momentum.power(ddS) + 2.0 * (self.couple @ dS.angular)
        by_q_qd = self.by_rate.power(i.virtual) + self.rate_couple @ dS.angular
        return by_q_q, by_q_qd, self.by_acceleration.power(i.virtual), self.rate_couple @ S.angular

    def with_rate_of_carrier(self, i: VirtualScrew) -> tuple[Real, Real]:
        """Second derivatives by (q_j, qd_i) and (q_j, qdd_i)."""
        S, _, _, rates = i.moving
        return self.momentum.power(rates) + 2.0 * (self.couple @ S.angular), self.momentum.power(S)


def transmitted_hessian(
    tree: Tree, q: Array, qd: Array, qdd: Array, weights: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> TorqueHessian:
    """Second derivatives of the torques of the bodies alone; see `inverse_dynamics_hessian`."""
    motion = composite_motion(tree, q, qd, qdd, wrenches)
    virtual = body_velocities(tree, motion.poses, joint_rates(tree, weights))
    before = velocities_before(tree, motion.poses, virtual)
    rates = [screw_rate(body, twist) for body, twist in zip(tree.bodies, before, strict=True)]
    screws = [VirtualScrew(*pair) for pair in zip(motion.screws, rates, strict=True)]
    changes = _changes(tree, q, motion, virtual, screws)
    count = len(tree.bodies)
    by_q_q, by_q_qd, by_q_qdd, by_qd_qd, none = np.zeros((5, count, count), dtype=object)
    for j in range(count):
        by_q_q[j, j], by_q_qd[j, j], by_q_qdd[j, j], by_qd_qd[j, j] = changes[j].with_carrier(screws[j])
        i, same_joint = j, True
        of_j, seen_j = changes[j], screws[j]
        while tree.bodies[i].parent != WORLD:
            same_joint = same_joint and continues_joint(tree.bodies[i])
            R, p = motion.poses[i]
            i, of_j = tree.bodies[i].parent, of_j.seen_from(R, p)
            q_q, by_q_qd[i, j], by_q_qdd[i, j], qd_qd = of_j.with_carrier(screws[i])
            if same_joint:
                seen_j = seen_j.seen_from(R, p)
                other, by_q_qd[j, i], by_q_qdd[j, i], other_rates = changes[i].with_carrier(seen_j)
                q_q, qd_qd = 0.5 * (q_q + other), 0.5 * (qd_qd + other_rates)
            else:
                by_q_qd[j, i], by_q_qdd[j, i] = of_j.with_rate_of_carrier(screws[i])
            by_q_q[i, j] = by_q_q[j, i] = q_q
            by_qd_qd[i, j] = by_qd_qd[j, i] = qd_qd
    blocks = (matrix_of_coordinates(tree, list(by)) for by in (by_q_q, by_q_qd, by_q_qdd, by_qd_qd, none))
    return TorqueHessian(*blocks)


def _changes(
    tree: Tree, q: Array, motion: CompositeMotion, virtual: Sequence[Twist], screws: Sequence[VirtualScrew]
) -> list[Changes]:
    """What each joint changes, in the frame of its body."""
    masses = grouped_mass_moments(tree)
    momentum = composite_momentum_moments(tree, joint_positions(tree, q), masses, virtual)
    moving = zip(masses, motion.velocities, virtual, strict=True)
    couples = [couple_of_drag(momentum_moments(mass, v), of_virtual) for mass, v, of_virtual in moving]
    for i in reversed(range(len(couples))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            couples[parent] = couples[parent] + motion.poses[i][0] @ couples[i]
    result = []
    for i, ((S, dS, _, _), dS_virtual) in enumerate(screws):
        B, B_virtual, inertia = motion.momentum[i], momentum[i], motion.inertia[i]
        w = couple_of_drag(B, dS_virtual) - couple_of_drag(B_virtual, dS) + cross(S.angular, couples[i])
        result.append(
            Changes(
                motion.change_in_joint(i) + carried_along(S, motion.transmitted[i]),
                motion.rate_change(i),
                inertia_times(inertia, S),
                inertia_times(inertia, dS_virtual) + carried_along(S, wrench_of_momentum(B_virtual)),
                w,
                -2.0 * couple_of_drag(B_virtual, S),
            )
        )
    return result


def _of_motors(tree: Tree, q: Array, qd: Array, weights: Array) -> TorqueHessian:
    """Second derivatives of the weighted friction without load and position torques."""
    by_position: list[Real] = [0.0] * tree.n
    by_rate: list[Real] = [0.0] * tree.n
    motors = zip(tree.bodies, motor_positions(tree, q), motor_rates(tree, qd), motor_rates(tree, weights), strict=True)
    for body, position, rate, weight in motors:
        k, squared = body.coordinate, body.ratio * body.ratio
        by_position[k] = by_position[k] + squared * weight * joint_position_curvature(body, position)
        by_rate[k] = by_rate[k] + squared * weight * joint_friction_curvature(body, rate)
    none = np.zeros((tree.n, tree.n))
    return TorqueHessian(between_joints(tree, by_position), none, none, between_joints(tree, by_rate), none)


def _with_load_friction(
    tree: Tree, q: Array, qd: Array, qdd: Array, weights: Array, wrenches: Mapping[str, Array]
) -> TorqueHessian:
    """Second derivatives where friction takes shares s(qd) of the size of what motors transmit, x, of constant sign."""
    C = tree.drive_coupling
    of_motors = weights if C is None else C @ weights
    motion = composite_motion(tree, q, qd, qdd, wrenches)
    x = at_motors(tree, torques_of(tree, motion.transmitted) + armature_torque(tree, qdd))
    slopes, curvatures = np.zeros((2, tree.n), dtype=object)
    for body, rate in zip(tree.bodies, motor_rates(tree, qd), strict=True):
        slopes[body.coordinate] = slopes[body.coordinate] + load_share_slope(body, rate)
        curvatures[body.coordinate] = curvatures[body.coordinate] + load_share_curvature(body, rate)
    shares = load_shares(tree, qd) * sign(x) * of_motors
    rigid = transmitted_hessian(tree, q, qd, qdd, weights + (shares if C is None else solve(C, shares)), wrenches)
    by_share = (slopes * sign(x) * of_motors)[:, None]
    by_q, by_qd, by_qdd = (
        at_joints(tree, by_share * at_motors(tree, by)) for by in transmitted_derivatives(tree, motion)
    )
    twice = between_joints(tree, curvatures * absolute(x) * of_motors)
    none = np.zeros((tree.n, tree.n))
    return _plus(rigid, TorqueHessian(none, by_q.T, none, by_qd + by_qd.T + twice, by_qdd))


def _plus(a: TorqueHessian, b: TorqueHessian) -> TorqueHessian:
    return TorqueHessian(*(one + other for one, other in zip(a, b, strict=True)))
