"""Linear models of a robot along a motion, and their discrete-time equivalents for held torques."""

from __future__ import annotations

import math
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, absolute, maximum, sqrt, trace
from chasles.engine.program.scalar import Array, Real
from chasles.engine.validators import doubles, real
from chasles.robot.robot import Robot
from chasles.trajectories import Motion

Floats = NDArray[np.float64]

_UNIT_ROUNDOFF = 2.0**-53
#: Largest norm of A h that is summed as it is; the series of larger ones would lose digits.
_LARGEST_NORM = 1.0


class LinearModel(NamedTuple):
    """δẋ = A δx + B δu with x = (q, q̇) and u = τ, or x[k+1] = A x[k] + B u[k]: A (..., 2n, 2n) and B (..., 2n, n)."""

    A: Floats
    B: Floats


def linear_model(robot: Robot, motion: Motion) -> LinearModel:
    """Exact linear models A(t), B(t) of a robot along a motion, at the torques that cause it.

    The report of Mazure, "An adaptive linearization and control strategy for mechanical manipulators" (1987), section
    4.2, derives them from the Newton–Euler recursion. Here `Robot.linearize` does.

    Parameters
    ----------
    robot
        The model.
    motion
        Positions, velocities and accelerations, each (..., n).

    Returns
    -------
    LinearModel
        A (..., 2n, 2n) and B (..., 2n, n), of δẋ = A δx + B δτ.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> A, B = linear_model(arm, motion([0.0, 0.25, 0.5]))
    >>> A.shape, B.shape
    ((3, 4, 4), (3, 4, 2))
    """
    tau = robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    return LinearModel(*robot.linearize(motion.q, motion.qd, tau))


def discretize(A: ArrayLike, B: ArrayLike, period: float) -> LinearModel:
    """Exact models of sampled systems whose input is held for a period: a zero-order hold.

    A_d = exp(A h) and B_d = ∫₀ʰ exp(A s) ds B, by Taylor's series of the integral, scaled and squared where A h is
    large. Truncation is below rounding. Models of mechanical systems, whose A is [[0, 1], [K, C]] and B [[0], [M⁻¹]],
    take a compiled path.

    Parameters
    ----------
    A, B
        Shapes (..., n, n) and (..., n, m).
    period
        h, s.

    Returns
    -------
    LinearModel
        Model of the same shapes, for x[k+1] = A x[k] + B u[k].

    Raises
    ------
    ArgumentError
        If shapes do not fit, or the period is not positive.

    Examples
    --------
    A mass of 2 kg, pushed with 1 N for 0.1 s, moves 0.1²/4 m and gains 0.05 m/s:

    >>> A, B = discretize([[0.0, 1.0], [0.0, 0.0]], [[0.0], [0.5]], 0.1)
    >>> A, B.ravel()
    (array([[1. , 0.1],
           [0. , 1. ]]), array([0.0025, 0.05  ]))
    """
    A, B = as_system(A, B)
    real(period, "period", above=0.0)
    n = B.shape[-1]
    halves, norms = False, np.zeros(())
    if A.shape[-1] == 2 * n > 0:
        norms, strangeness = _survey(n)(A, B)
        halves = not np.any(strangeness)
    if not halves:
        norms = np.abs(A).sum(axis=-1).max(axis=-1, initial=0.0)
    norm = float(norms.max(initial=0.0, where=np.isfinite(norms)))  # samples that are not finite stay so by themselves
    size = norm * period
    doublings = max(0, math.ceil(math.log2(size / _LARGEST_NORM))) if size > 0.0 else 0
    h = period / 2.0**doublings
    order = _order(norm * h)
    A_d, B_d = (_mechanical_hold if halves else _general_hold)(A, B, h, order)
    for _ in range(doublings):
        B_d = B_d + A_d @ B_d
        A_d = A_d @ A_d
    return LinearModel(A_d, B_d)


def as_system(A: ArrayLike, B: ArrayLike) -> LinearModel:
    """Return matrices as arrays of fitting shapes (..., n, n) and (..., n, m), or say what does not fit."""
    A, B = doubles(A, "A"), doubles(B, "B")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ArgumentError(f"A must have shape (..., n, n), not {A.shape}")
    if B.ndim < 2 or B.shape[-2] != A.shape[-1]:
        raise ArgumentError(f"B must have shape (..., {A.shape[-1]}, m), not {B.shape}")
    return LinearModel(A, B)


@cache
def _survey(n: int) -> Function:
    """Compiled: (A, B) -> a norm of A = [[0, 1], [K, C]] and by how much A and B = [[0], [M⁻¹]] differ from that form.

    The norm is a bound of that in the unit of time that makes it least.
    """

    def survey(A: Array, B: Array) -> tuple[Any, Any]:
        K, C = absolute(A[n:, :n]).sum(axis=1), absolute(A[n:, n:]).sum(axis=1)
        norm = sqrt(reduce(maximum, K)) + reduce(maximum, C)
        upper = np.concatenate([A[:n, :n], A[:n, n:] - np.eye(n), B[:n]], axis=1)
        return norm, absolute(upper).sum(axis=0).sum()

    inputs = {"A": (2 * n, 2 * n), "B": (2 * n, n)}
    return Function(trace(survey, inputs, name="hold_survey", outputs=["norm", "strangeness"]))


def _order(norm: float) -> int:
    """Number of terms after which the rest of the series of ∫ exp is below rounding, of its smallest block too."""
    order, term = 2, norm
    while term > _UNIT_ROUNDOFF:
        order += 1
        term *= norm / (order - 1)
    return order


def _general_hold(A: Floats, B: Floats, h: float, order: int) -> tuple[Floats, Floats]:
    identity = np.eye(A.shape[-1])
    series = np.broadcast_to(identity, A.shape)
    for k in range(order + 1, 1, -1):
        series = identity + (h / k) * (A @ series)
    integral = h * series
    return identity + A @ integral, integral @ B


def _mechanical_hold(A: Floats, B: Floats, h: float, order: int) -> tuple[Floats, Floats]:
    n = B.shape[-1]
    series, completion = _hold_functions(n)
    lower = A[..., n:, :]
    factors = h / np.arange(order + 1, 1, -1.0)
    columns = series(_unit_columns(n), factors[None, :], lower)
    A_d, B_d = completion(columns, lower, B[..., n:, :], h)
    return A_d, B_d


def _unit_columns(n: int) -> Floats:
    return np.concatenate([np.zeros((n, n)), np.eye(n)]).ravel()


@cache
def _hold_functions(n: int) -> tuple[Function, Function]:
    """Compiled steps for A = [[0, 1], [K, C]], of whose integral of exp the right half S = (S₁, S₂) is enough.

    Horner's rule on S is a scan: S ← (0, 1) + (h/k) A S. With the integral written once as 1 + A ∫exp and once as
    1 + ∫exp A, the blocks of exp(A h) = [[1 + S₁ K, S₂], [S₂ K, 1 + S₁ K + S₂ C]].
    """

    def step(state: Array, factor: Real, lower: Array) -> Array:
        upper_rows, lower_rows = state.reshape(2, n, n)
        product = lower[:, :n] @ upper_rows + lower[:, n:] @ lower_rows
        return np.concatenate([factor * lower_rows, np.eye(n) + factor * product]).ravel()

    def complete(state: Array, lower: Array, M_inverse: Array, h: Array) -> tuple[Any, Any]:
        S_1, S_2 = (h * state).reshape(2, n, n)
        K, C = lower[:, :n], lower[:, n:]
        first = np.eye(n) + S_1 @ K
        upper = np.concatenate([first, S_2], axis=1)
        A_d = np.concatenate([upper, np.concatenate([S_2 @ K, first + S_2 @ C], axis=1)])
        return A_d, np.concatenate([S_1 @ M_inverse, S_2 @ M_inverse])

    size = 2 * n * n
    scan = trace(step, {"state": (size,), "factor": (), "lower": (n, 2 * n)}, name="hold_series", outputs=["state"])
    inputs = {"state": (size,), "lower": (n, 2 * n), "M_inverse": (n, n), "period": ()}
    return Function(scan, shape="scan"), Function(trace(complete, inputs, name="hold", outputs=["A_d", "B_d"]))


def transposed(M: NDArray[Any]) -> Floats:
    """Matrices (..., n, m) as (..., m, n)."""
    return np.swapaxes(M, -1, -2)
