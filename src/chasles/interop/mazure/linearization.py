"""LLLIN.M and its subroutines: the recursion differentiated with respect to q, q̇ and q̈, equations (69) to (110).

``LR``, ``LLR`` and ``LLLR`` differentiate `R` with respect to q, q̇ and q̈ of joint j; ``LT``, ``LLT`` and ``LLLT``,
which the report calls and does not list, differentiate `T`. Frames and links are counted from 0, joints j from 1, as in
the report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.geometry.elementary import Z_AXIS, cross, skew
from chasles.interop.mazure.arm import ARM, Arm, Misprint
from chasles.interop.mazure.newton_euler import NE, Array, NewtonEuler, axis_torque, lever_arm, link_vectors

_ZERO = np.zeros(3)
#: The report's D: ∂R/∂q = D R for a revolute joint.
D = skew(Z_AXIS)


class LinearizedArm(NamedTuple):
    """Results that LLLIN.M prints last.

    Attributes
    ----------
    A, B
        Matrices of δẋ = A δx + B δu, (68), shape (2n, 2n) and (2n, n).
    M, C, K
        Derivatives of the torques with respect to q̈, q̇ and q, (66), shape (n, n).
    tau
        Torques, shape (n,).
    """

    A: Array
    B: Array
    M: Array
    C: Array
    K: Array
    tau: Array


def LR(
    D: Array, Q: Array, r: Array, VW: Array, LVW: Array, t: Array, i: int, j: int, *, as_printed: bool = False
) -> Array:
    """LR.M: return ∂/∂q_j of ω, ω̇, v, v̇ behind the revolute joint i + 1, as columns (3, 4): (101) to (104).

    R⁻¹ r does not depend on q, so that the listing leaves out its derivative. The printed equations have one half of
    it, (∂R⁻¹/∂q) r, without the other, R⁻¹ ∂r/∂q; `as_printed` computes these.
    """
    A, p, (w, wd, v, vd), (dw, dwd, dv, dvd), omega, omega_dot = _around(r, VW, LVW, t, i)
    if j > i + 1:
        return np.zeros((3, 4))
    qd, qdd = Z_AXIS * Q[i, 2], Z_AXIS * Q[i, 3]
    if j == i + 1:
        dA = A @ D.T
        first = dA @ (w + qd)
        second = dA @ (wd + qdd + cross(w, qd))
        third, fourth = dA @ v, dA @ vd
    else:
        first = A @ dw
        second = A @ (dwd + cross(dw, qd))
        third, fourth = A @ dv, A @ dvd
    third = third + cross(first, p)
    fourth = fourth + cross(second, p) + cross(first, cross(omega, p)) + cross(omega, cross(first, p))
    if as_printed and j == i + 1:
        half = A @ D.T @ r[:, i]
        third = third + cross(omega, half)
        fourth = fourth + cross(omega_dot, half) + cross(omega, cross(omega, half))
    return np.stack([first, second, third, fourth], axis=-1)


def LT(
    D: Array, Q: Array, r: Array, VW: Array, LVW: Array, t: Array, i: int, j: int, *, as_printed: bool = False
) -> Array:
    """Return ∂/∂q_j of ω, ω̇, v, v̇ behind the prismatic joint i + 1, as columns (3, 4): (97) to (100).

    R does not depend on q, so that `D` is not used; R⁻¹ ∂r/∂q = R⁻¹ z, which the printed equations omit.
    """
    A, p, _, (dw, dwd, dv, dvd), omega, omega_dot = _around(r, VW, LVW, t, i)
    if j > i + 1 or (j == i + 1 and as_printed):
        return np.zeros((3, 4))
    if j == i + 1:
        axis = A @ Z_AXIS
        fourth = cross(omega_dot, axis) + cross(omega, cross(omega, axis))
        return np.stack([_ZERO, _ZERO, cross(omega, axis), fourth], axis=-1)
    first, second = A @ dw, A @ dwd
    fourth = A @ dvd + cross(second, p) + cross(first, cross(omega, p)) + cross(omega, cross(first, p))
    fourth = fourth + 2.0 * cross(first, A @ Z_AXIS * Q[i, 2])
    return np.stack([first, second, A @ dv + cross(first, p), fourth], axis=-1)


def LLR(Q: Array, r: Array, VW: Array, LLVW: Array, t: Array, i: int, j: int) -> Array:
    """LLR.M: return ∂/∂q̇_j of ω, ω̇, v, v̇ behind the revolute joint i + 1, as columns (3, 4): (87) to (90)."""
    A, p, (w, _, _, _), (dw, dwd, dv, dvd), omega, _ = _around(r, VW, LLVW, t, i)
    if j > i + 1:
        return np.zeros((3, 4))
    if j == i + 1:
        first, second, third, fourth = A @ Z_AXIS, A @ cross(w, Z_AXIS), _ZERO, _ZERO
    else:
        first, second = A @ dw, A @ (dwd + cross(dw, Z_AXIS * Q[i, 2]))
        third, fourth = A @ dv, A @ dvd
    fourth = fourth + cross(second, p) + cross(first, cross(omega, p)) + cross(omega, cross(first, p))
    return np.stack([first, second, third + cross(first, p), fourth], axis=-1)


def LLT(Q: Array, r: Array, VW: Array, LLVW: Array, t: Array, i: int, j: int) -> Array:
    """Return ∂/∂q̇_j of ω, ω̇, v, v̇ behind the prismatic joint i + 1, as columns (3, 4): (83) to (86)."""
    A, p, _, (dw, dwd, dv, dvd), omega, _ = _around(r, VW, LLVW, t, i)
    if j > i + 1:
        return np.zeros((3, 4))
    axis = A @ Z_AXIS
    if j == i + 1:
        return np.stack([_ZERO, _ZERO, axis, 2.0 * cross(omega, axis)], axis=-1)
    first, second = A @ dw, A @ dwd
    fourth = A @ dvd + cross(second, p) + 2.0 * cross(first, axis * Q[i, 2])
    fourth = fourth + cross(first, cross(omega, p)) + cross(omega, cross(first, p))
    return np.stack([first, second, A @ dv + cross(first, p), fourth], axis=-1)


def LLLR(r: Array, LLLVW: Array, t: Array, i: int, j: int) -> Array:
    """LLLR.M: return ∂/∂q̈_j of ω, ω̇, v, v̇ behind the revolute joint i + 1, as columns (3, 4): (73) to (76)."""
    A, p, (_, dwd, _, dvd) = _differentiated(r, LLLVW, t, i)
    if j > i + 1:
        return np.zeros((3, 4))
    second, fourth = (A @ Z_AXIS, _ZERO) if j == i + 1 else (A @ dwd, A @ dvd)
    return np.stack([_ZERO, second, _ZERO, fourth + cross(second, p)], axis=-1)


def LLLT(r: Array, LLLVW: Array, t: Array, i: int, j: int) -> Array:
    """Return ∂/∂q̈_j of ω, ω̇, v, v̇ behind the prismatic joint i + 1, as columns (3, 4): (69) to (72)."""
    A, p, (_, dwd, _, dvd) = _differentiated(r, LLLVW, t, i)
    if j > i + 1:
        return np.zeros((3, 4))
    second, fourth = (_ZERO, A @ Z_AXIS) if j == i + 1 else (A @ dwd, A @ dvd)
    return np.stack([_ZERO, second, _ZERO, fourth + cross(second, p)], axis=-1)


def MAKEA(n: int, *rows: ArrayLike) -> Array:
    """MAKEA.M: return A of (68), shape (2n, 2n), from the derivatives of the torques.

    Parameters
    ----------
    n
        Number of joints.
    *rows
        ∂τ/∂q_1 … ∂τ/∂q_n, then ∂τ/∂q̇_1 …, then ∂τ/∂q̈_1 …, each (n,): for two joints the six of the report.

    Examples
    --------
    A pendulum of 2 kg·m² whose torque grows by 6 N·m/rad and 4 N·m·s/rad:

    >>> MAKEA(1, [6.0], [4.0], [2.0])
    array([[ 0.,  1.],
           [-3., -2.]])
    """
    K, C, M = _matrices(n, rows)
    lower = np.linalg.solve(M, np.concatenate([K, C], axis=1))
    return np.concatenate([np.concatenate([np.zeros((n, n)), np.eye(n)], axis=1), -lower])


def MAKEB(n: int, *rows: ArrayLike) -> Array:
    """MAKEB.M: return B of (68), shape (2n, n), from the arguments of `MAKEA`.

    Examples
    --------
    >>> MAKEB(1, [6.0], [4.0], [2.0]).ravel()
    array([0. , 0.5])
    """
    _, _, M = _matrices(n, rows)
    return np.concatenate([np.zeros((n, n)), np.linalg.inv(M)])


def LLLIN(
    Q: Array,
    arm: Arm = ARM,
    force: ArrayLike = (0.0, 0.0, 0.0),
    torque: ArrayLike = (0.0, 0.0, 0.0),
    misprints: Misprint = Misprint.NONE,
) -> LinearizedArm:
    """LLLIN.M: return A(t) and B(t) of the linear model about a motion, and the matrices M, C and K they are made of.

    Parameters
    ----------
    Q, arm, force, torque, misprints
        See `NE`.

    Raises
    ------
    ArgumentError
        Q does not fit the arm.

    Examples
    --------
    >>> from chasles.interop.mazure import MAKEQ
    >>> result = LLLIN(MAKEQ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0]))
    >>> result.M.round(4)
    array([[2.8125, 0.4167],
           [0.4167, 0.1042]])
    >>> result.A.shape, result.B.shape
    ((4, 4), (4, 2))
    """
    state, K, C, M = torque_derivatives(Q, arm, force, torque, misprints)
    rows = [*K.T, *C.T, *M.T]
    return LinearizedArm(MAKEA(arm.n, *rows), MAKEB(arm.n, *rows), M, C, K, state.tau)


def torque_derivatives(
    Q: Array, arm: Arm, force: ArrayLike, torque: ArrayLike, misprints: Misprint
) -> tuple[NewtonEuler, Array, Array, Array]:
    """Return the recursion's results and K, C, M = ∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈, each (n, n), of floats or traced scalars."""
    state = NE(Q, arm, force, torque, misprints)
    r, printed = link_vectors(state.t), Misprint.LEVER in misprints

    def by_position(VW: Array, LVW: Array, i: int, j: int) -> Array:
        return (LR if Q[i, 0] == 1 else LT)(D, Q, r, VW, LVW, state.t, i, j, as_printed=printed)

    def by_velocity(VW: Array, LLVW: Array, i: int, j: int) -> Array:
        return (LLR if Q[i, 0] == 1 else LLT)(Q, r, VW, LLVW, state.t, i, j)

    def by_acceleration(VW: Array, LLLVW: Array, i: int, j: int) -> Array:
        return (LLLR if Q[i, 0] == 1 else LLLT)(r, LLLVW, state.t, i, j)

    K, C, M = (
        np.stack([_torque_column(Q, arm, state, step, j, step is by_position) for j in range(1, arm.n + 1)], axis=-1)
        for step in (by_position, by_velocity, by_acceleration)
    )
    return state, K, C, M


def _torque_column(Q: Array, arm: Arm, state: NewtonEuler, step: Callable[..., Array], j: int, moves: bool) -> Array:
    """Return the derivative of the torques, shape (n,), with respect to one number of joint j, of a kind of `step`.

    Forward (105), (106), backward (107) to (110). The position of joint j (`moves`) changes its rotation matrix and its
    lever arm as well.
    """
    t, VW, F, N = state.t, state.VW, state.F, state.N
    r = link_vectors(t)
    LVW = np.zeros((3, 6))
    for i in range(arm.n):
        moved = step(VW, LVW, i, j)
        dw, dwd, dv, dvd = moved.T
        w, rc = VW[3 * i + 3 : 3 * i + 6, 0], arm.rc[:, i]
        center = [dv + cross(dw, rc), dvd + cross(dwd, rc) + cross(dw, cross(w, rc)) + cross(w, cross(dw, rc))]
        LVW = np.concatenate([LVW, np.concatenate([moved, np.stack(center, axis=-1)], axis=-1)])
    dF, dN, rows = _ZERO, _ZERO, []
    for i in reversed(range(arm.n)):
        A, rc, tensor = t[4 * i + 4 : 4 * i + 7, :3], arm.rc[:, i], arm.I[3 * i : 3 * i + 3]
        F_next, N_next, F_own = F[:, arm.n - 1 - i], N[:, arm.n - 1 - i], F[:, arm.n - i]
        w = VW[3 * i + 3 : 3 * i + 6, 0]
        dw, dwd, _, _, _, d_acceleration = LVW[3 * i + 3 : 3 * i + 6].T
        passed, turned = A @ dF, A @ dN
        if moves and j == i + 2 and Q[i + 1, 0] == 1:
            passed, turned = passed + D @ A @ F_next, turned + D @ A @ N_next
        dF = passed + arm.M[i] * d_acceleration
        gyroscopic = tensor @ dwd + cross(dw, tensor @ w) + cross(w, tensor @ dw)
        dN = turned - cross(rc, passed) + cross(lever_arm(t, r, arm, i), dF) + gyroscopic
        if moves and j == i + 1 and Q[i, 0] != 1:
            dN = dN + cross(t[4 * i : 4 * i + 3, :3].T @ Z_AXIS, F_own)
        rows.append(axis_torque(Q, t, dF, dN, i))
    return np.array(rows[::-1])


def _differentiated(r: Array, LVW: Array, t: Array, i: int) -> tuple[Array, Array, Array]:
    """Return R⁻¹ of joint i + 1, the link's vector in its own frame, and derivatives of the frame before it, (4, 3)."""
    A = t[4 * i : 4 * i + 3, :3].T
    return A, A @ r[:, i], LVW[3 * i : 3 * i + 3, :4].T


def _around(r: Array, VW: Array, LVW: Array, t: Array, i: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Return what `_differentiated` does, velocities before joint i + 1, (4, 3), and ω and ω̇ behind it."""
    A, p, derivatives = _differentiated(r, LVW, t, i)
    omega, omega_dot = VW[3 * i + 3 : 3 * i + 6, :2].T
    return A, p, VW[3 * i : 3 * i + 3, :4].T, derivatives, omega, omega_dot


def _matrices(n: int, rows: tuple[Any, ...]) -> tuple[Array, Array, Array]:
    table = reals(rows, "rows", (3 * n, n))
    K, C, M = table[:n].T, table[n : 2 * n].T, table[2 * n :].T
    if np.linalg.matrix_rank(M) < n:
        raise ArgumentError("the mass matrix ∂τ/∂q̈ is singular: a joint of the arm moves no mass")
    return K, C, M
