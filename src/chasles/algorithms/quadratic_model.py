"""The dynamics to second order: accelerations with their first derivatives and weighted second derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.algorithms.forward_dynamics import accelerations_by_mass_matrix
from chasles.algorithms.inverse_dynamics_hessian import TorqueHessian, inverse_dynamics_hessian
from chasles.algorithms.linearization import Linearization, linearize
from chasles.algorithms.newton_euler import NO_WRENCHES
from chasles.base.comparable import comparable
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


@comparable
class QuadraticModel(NamedTuple):
    """Accelerations (..., n), A and B of `linearize`, and second derivatives of weighted accelerations (..., n, n)."""

    qdd: Array
    A: Array
    B: Array
    by_q_q: Array
    by_q_qd: Array
    by_q_tau: Array
    by_qd_qd: Array
    by_qd_tau: Array


def quadratic_model(
    tree: Tree, q: Array, qd: Array, tau: Array, weights: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> QuadraticModel:
    """Return accelerations with their derivatives, and the second derivatives of weights · forward_dynamics.

    Methods of second order, such as differential dynamic programming, need the second derivatives of the dynamics times
    a costate, the weights here.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, tau, wrenches
        State and torques, as for `forward_dynamics`, with the same errors.
    weights
        Weights w of the accelerations, shape (n,).

    Returns
    -------
    qdd
        Accelerations, shape (n,).
    A, B
        Matrices of `linearize`, shapes (2n, 2n) and (2n, n).
    by_q_q, by_q_qd, by_q_tau, by_qd_qd, by_qd_tau
        Shape (n, n) each, the row for the first of the two; see `inverse_dynamics_hessian`. Those by tau twice are
        zero. Those by qd and tau are zero without friction of the load.

    Notes
    -----
    Second derivatives need no tensors: ID(q, q̇, FD(q, q̇, τ)) = τ, differentiated twice and multiplied by y = Bᵀ w,
    gives

        ∂² (wᵀ FD) / ∂(q, q̇, τ)² = - Sᵀ [∂² (yᵀ ID) / ∂(q, q̇, q̈)²] S,    S = ∂(q, q̇, q̈) / ∂(q, q̇, τ),

    with the rows B of the accelerations, the inverse mass matrix where friction does not depend on the load.

    Examples
    --------
    The arm hangs. To first order its weight pulls it back, to second order nothing does.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> rest = np.zeros(2)
    >>> model = quadratic_model(tree, np.array([-np.pi / 2, 0.0]), rest, rest, np.array([1.0, 0.0]))
    >>> model.A[2:, 0].round(3) + 0.0, np.abs(model.by_q_q).max().round(9)
    (array([-26.744,  48.14 ]), np.float64(0.0))
    """
    qdd = accelerations_by_mass_matrix(tree, q, qd, tau, wrenches)
    model = linearize(tree, q, qd, tau, wrenches)
    y = model.B[tree.n :].T @ weights
    return with_curvature(qdd, model, inverse_dynamics_hessian(tree, q, qd, qdd, y, wrenches))


def with_curvature(qdd: Array, model: Linearization, of_torques: TorqueHessian) -> QuadraticModel:
    """Quadratic model of the second derivatives of torques weighted by Bᵀ w."""
    n, (q_q, q_qd, q_qdd, qd_qd, qd_qdd) = len(qdd), of_torques
    (by_q, by_qd), by_tau = np.split(model.A[n:], 2, axis=1), model.B[n:]
    twice_q, twice_qd = q_qdd @ by_q, qd_qdd @ by_qd
    return QuadraticModel(
        qdd,
        *model,
        -(q_q + twice_q + twice_q.T),
        -(q_qd + q_qdd @ by_qd + (qd_qdd @ by_q).T),
        -(q_qdd @ by_tau),
        -(qd_qd + twice_qd + twice_qd.T),
        -(qd_qdd @ by_tau),
    )
