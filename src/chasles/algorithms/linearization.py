"""Exact linearisation of the dynamics, by recursion instead of differentiation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.algorithms.composite_motion import CompositeMotion, composite_motion, torques_of
from chasles.algorithms.configuration import transport_of_displacement
from chasles.algorithms.drives import (
    at_joints,
    at_motors,
    between_joints,
    motor_positions,
    motor_rates,
    rotor_of_joint,
    with_rotors,
)
from chasles.algorithms.forward_dynamics import accelerations_by_mass_matrix
from chasles.algorithms.inverse_dynamics import armature_torque, transmitted_torque
from chasles.algorithms.joint_friction import (
    has_load_friction,
    joint_friction_derivative,
    joint_position_stiffness,
    load_share_slope,
    load_shares,
)
from chasles.algorithms.joint_motion import (
    WORLD,
    along_joint,
    continues_joint,
    matrix_of_coordinates,
)
from chasles.algorithms.mass_matrix import couple_of_drag, factor_mass_matrix
from chasles.algorithms.mass_moments import inertia_times
from chasles.algorithms.newton_euler import (
    NO_WRENCHES,
)
from chasles.algorithms.spatial import carried_along
from chasles.base.comparable import comparable
from chasles.engine import absolute, sign
from chasles.engine.linear.symmetric import inverse, product
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


@comparable
class TorqueDerivatives(NamedTuple):
    """Derivatives of the joint torques with respect to q, qd and qdd, each of shape (..., n, n)."""

    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array


@comparable
class Linearization(NamedTuple):
    """Matrices of dx/dt = A x + B u for deviations x of (q, qd), shapes (..., 2n, 2n) and (..., 2n, n)."""

    A: Array
    B: Array


def inverse_dynamics_derivatives(
    tree: Tree, q: Array, qd: Array, qdd: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> TorqueDerivatives:
    """Return the derivatives of the inverse dynamics with respect to q, qd and qdd.

    Where q holds quaternions, the derivative with respect to q is taken along the displacement v of `integrate(q, v)`,
    at v = 0.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd, wrenches
        See `inverse_dynamics`, also for the errors. The wrenches are constant in the axes of their frames, so they
        rotate with them.

    Returns
    -------
    dtau_dq, dtau_dqd, dtau_dqdd
        Shape (n, n) each, row i for torque i; the last is the mass matrix. Friction of the load multiplies the rows of
        all three: by 1 + s sign(x) where it takes the share s of the transmitted torque x. The derivative of friction
        ignores the jump of sign(qd).

    Notes
    -----
    Singh, Russo & Wensing, "Efficient Analytical Derivatives of Rigid-Body Dynamics Using Spatial Vector Algebra"
    (RA-L 7(2), 2022), in body frames and with moments of mass and momentum for I and B. With the screw S of a joint,
    its rates dS = v x S and ddS = a x S + v x dS by the motion (v, a) before the joint, its rate dS' = v' x S by the
    velocity v' after it, composite I and B of the bodies beyond joint i, the wrench f_i that the joint transmits, and i
    beyond j:

    - dtau_i/dq_j = S_i (2 B_i dS_j + I_i ddS_j) and dtau_j/dq_i = S_j (2 B_i dS_i + I_i ddS_i + S_i x* f_i);
    - dtau_i/dqd_j = S_i (2 B_i S_j + I_i (dS_j + dS'_j)) and dtau_j/dqd_i = S_j (2 B_i S_i + I_i (dS_i + dS'_i)).

    Between the velocity coordinates of one spherical or free joint the term S_i x* f_i is missing: its screws move
    together.

    Examples
    --------
    The hanging arm: its weight pulls it back with 5.625 kg·m and 0.625 kg·m times 9.80621 m/s² per rad.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> rest = np.zeros(2)
    >>> inverse_dynamics_derivatives(tree, np.array([-np.pi / 2, 0.0]), rest, rest).dtau_dq.round(5)
    array([[55.15993,  6.12888],
           [ 6.12888,  6.12888]])
    """
    motion = composite_motion(tree, q, qd, qdd, wrenches)
    load = torques_of(tree, motion.transmitted) + armature_torque(tree, qdd)
    return with_joint_torques(tree, transmitted_derivatives(tree, motion), q, qd, load)


def transmitted_derivatives(tree: Tree, motion: CompositeMotion) -> TorqueDerivatives:
    """Derivatives of the torques of bodies and rotors, without friction and position torques."""
    poses, screws = motion.poses, motion.screws
    count = len(tree.bodies)
    zeros: list[Real] = [0.0] * count
    by_q, by_qd, by_qdd = ([zeros.copy() for _ in range(count)] for _ in range(3))
    for i, body in enumerate(tree.bodies):
        S_inertia = inertia_times(motion.inertia[i], screws[i].S)
        S_drag = 2.0 * couple_of_drag(motion.momentum[i], screws[i].S)
        change_in_joint = motion.change_in_joint(i)
        change = change_in_joint + carried_along(screws[i].S, motion.transmitted[i])
        rate_change = motion.rate_change(i)
        by_q[i][i] = along_joint(body, change_in_joint)
        by_qd[i][i] = along_joint(body, rate_change)
        by_qdd[i][i] = along_joint(body, S_inertia) + rotor_of_joint(tree, body)
        j, same_joint = i, True
        while tree.bodies[j].parent != WORLD:
            R, p = poses[j]
            S_inertia, S_drag = S_inertia.seen_from(R, p), R @ S_drag
            change, rate_change = change.seen_from(R, p), rate_change.seen_from(R, p)
            same_joint = same_joint and continues_joint(tree.bodies[j])
            if same_joint:
                change_in_joint = change_in_joint.seen_from(R, p)
            j = tree.bodies[j].parent
            carrier = tree.bodies[j]
            by_q[i][j] = S_drag @ screws[j].dS.angular + S_inertia.power(screws[j].ddS)
            by_q[j][i] = along_joint(carrier, change_in_joint if same_joint else change)
            by_qd[i][j] = S_drag @ screws[j].S.angular + S_inertia.power(screws[j].rates)
            by_qd[j][i] = along_joint(carrier, rate_change)
            by_qdd[i][j] = by_qdd[j][i] = along_joint(carrier, S_inertia)
    of_joints = [matrix_of_coordinates(tree, by) for by in (by_q, by_qd, by_qdd)]
    return TorqueDerivatives(of_joints[0], of_joints[1], with_rotors(tree, of_joints[2]))


def with_joint_torques(
    tree: Tree, transmitted: TorqueDerivatives, q: Array, qd: Array, load: Array
) -> TorqueDerivatives:
    """Add the derivatives of friction and position torques to those of what joints transmit, the `load` (n,)."""
    (by_q, by_qd, by_qdd), of_motors = transmitted, at_motors(tree, load)
    if has_load_friction(tree):
        factors = (1.0 + load_shares(tree, qd) * sign(of_motors))[:, None]
        by_q, by_qd, by_qdd = (at_joints(tree, factors * at_motors(tree, by)) for by in (by_q, by_qd, by_qdd))
    stiffness: list[Real] = [0.0] * tree.n
    damping: list[Real] = [0.0] * tree.n
    for body, position, rate in zip(tree.bodies, motor_positions(tree, q), motor_rates(tree, qd), strict=True):
        k, squared = body.coordinate, body.ratio * body.ratio
        slope = squared * joint_friction_derivative(body, rate) + load_share_slope(body, rate) * absolute(of_motors[k])
        damping[k] = damping[k] + slope
        stiffness[k] = stiffness[k] + squared * joint_position_stiffness(body, position)
    return TorqueDerivatives(by_q + between_joints(tree, stiffness), by_qd + between_joints(tree, damping), by_qdd)


def linearize(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Linearization:
    """Return the exact linear model of the dynamics, δẋ = A δx + B δτ with x = (q, q̇).

    The model follows from M δq̈ = δτ - ∂τ/∂q δq - ∂τ/∂q̇ δq̇, at the acceleration that tau causes. Where q holds
    quaternions, the state's displacement is that of `difference`, which rotates with the motion: δq' = δq̇ - q̇ x δq.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, tau, wrenches
        State and torques to linearise about, as for `forward_dynamics`, with the same errors.

    Returns
    -------
    A
        Shape (2n, 2n).
    B
        Shape (2n, n).

    Examples
    --------
    The first rod is held level and the second balanced upright. It falls as a rod of length l = 0.25 m does, with
    3 g / (2 l) = 6 · 9.80621 / s², and the torques act by the inverse mass matrix.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> A, B = linearize(tree, np.array([0.0, np.pi / 2]), np.zeros(2), np.array([5.0 * 9.80621, 0.0]))
    >>> A[3, :2].round(5), B[3].round(5)
    (array([58.83726, 58.83726]), array([-0.48, 10.08]))
    """
    qdd = accelerations_by_mass_matrix(tree, q, qd, tau, wrenches)
    by_q, by_qd, by_qdd = inverse_dynamics_derivatives(tree, q, qd, qdd, wrenches)
    transport = transport_of_displacement(tree, qd)
    if not has_load_friction(tree):
        return linear_model(transport, inverse(factor_mass_matrix(tree, by_qdd)), by_q, by_qd)
    factors = 1.0 + load_shares(tree, qd) * sign(at_motors(tree, transmitted_torque(tree, q, qd, tau)))
    by_q, by_qd, M = (at_joints(tree, at_motors(tree, rows) / factors[:, None]) for rows in (by_q, by_qd, by_qdd))
    M_inverse = inverse(factor_mass_matrix(tree, M))
    A, _ = linear_model(transport, M_inverse, by_q, by_qd)
    if tree.drive_coupling is None:
        by_torque = M_inverse / factors
    else:
        by_torque = product(M_inverse, at_joints(tree, at_motors(tree, np.eye(tree.n)) / factors[:, None]))
    return Linearization(A, np.concatenate([np.zeros_like(M_inverse), by_torque]))


def linear_model(transport: Array, M_inverse: Array, by_q: Array, by_qd: Array) -> Linearization:
    """Linear model from the inverse mass matrix and the derivatives of the torques, each (n, n)."""
    zero, one = np.zeros_like(M_inverse), np.eye(len(M_inverse))
    lower = product(-M_inverse, np.concatenate([by_q, by_qd], axis=1))
    A = np.concatenate([np.concatenate([transport, one], axis=1), lower])
    return Linearization(A, np.concatenate([zero, M_inverse]))
