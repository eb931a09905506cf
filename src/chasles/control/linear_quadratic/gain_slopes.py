"""How the gains of regulators and filters change with their weights and noises.

The gain K minimises the cost-to-go P = Q + KᵀRK + (A - BK)ᵀ P⁺ (A - BK), so that a change of K does not count to first
order: with the closed loop Φ = A - BK,

    dP = dQ + Kᵀ dR K + Φᵀ dP⁺ Φ,   (R + BᵀP⁺B) dK = Bᵀ dP⁺ Φ - dR K.

Where P is stationary that is a discrete Lyapunov equation. The covariances of filters follow by duality.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from chasles.control.linear_model import LinearModel, transposed
from chasles.control.linear_quadratic.algebraic_riccati import InfiniteHorizon
from chasles.control.linear_quadratic.kalman import FilterGains
from chasles.control.linear_quadratic.riccati import FiniteHorizon, dense
from chasles.control.linear_quadratic.weights import Weights
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import M, solve
from chasles.engine.matrix_calls import MatrixCall

Floats = NDArray[np.float64]

_MOST_DOUBLINGS = 60
_DECAYED = 1e-18  # part of a loop over many steps that adds nothing to a sum in double precision


def regulator_slopes(
    model: LinearModel, R: Floats, regulator: FiniteHorizon, changes: Weights, *, ends_stationary: bool
) -> Floats:
    """Derivatives of the gains along a motion in p directions of their weights, shape (p, S, m, n).

    Parameters
    ----------
    model
        A (S, n, n) and B (S, n, m) of every step.
    R
        Weight of inputs (m, m).
    regulator
        Gains and all costs-to-go, from `backward_riccati` with ``every_cost``.
    changes
        Directions of the weights: Q (p, n, n) and R (p, m, m).
    ends_stationary
        Whether the last cost-to-go is that of the last model for all time, or does not change.

    Examples
    --------
    One step of x' = 2 x + u with unit weights: K = 2 / (1 + r) falls by a half for each unit of r.

    >>> from chasles.control.linear_quadratic import backward_riccati
    >>> A, B, one = np.full((1, 1, 1), 2.0), np.ones((1, 1, 1)), np.ones((1, 1, 1))
    >>> regulator = backward_riccati(A, B, 1.0, 1.0, 1.0, every_cost=True)
    >>> changes = Weights(0.0 * one, one)
    >>> regulator_slopes(LinearModel(A, B), one[0], regulator, changes, ends_stationary=False).ravel()
    array([-0.5])
    """
    (A, B), K = model, regulator.K
    p, n = changes.Q.shape[:2]
    last = np.zeros((p, n, n))
    if ends_stationary:
        last = _stationary(A[-1] - B[-1] @ K[-1], _of_costs(K[-1], changes))
    steps = len(A)
    constant = (R, (steps, *R.shape)), (changes.Q, (p, steps, n, n)), (changes.R, (p, steps, *R.shape))
    of_R, by_Q, by_R = (np.broadcast_to(x if x.ndim < 3 else x[:, None], shape) for x, shape in constant)
    call = _along_motion(n, R.shape[-1])
    slopes: Floats = call(*map(dense, (A, B, of_R, regulator.P[1:], K, by_Q, by_R, last)))
    return slopes


def stationary_slopes(model: LinearModel, R: Floats, regulator: InfiniteHorizon, changes: Weights) -> Floats:
    """Derivatives of gains for all time in p directions of their weights, shape (p, ..., m, n).

    Parameters
    ----------
    model, R, regulator, changes
        As for `regulator_slopes`, for models A (..., n, n) and B (..., n, m) that each hold for all time.

    Examples
    --------
    A sum, x' = x + u, whose gain is 2 / (1 + √(1 + 4 r)) for Q = 1: it falls by 0.171 for each unit of r at 1.

    >>> from chasles.control.linear_quadratic import discrete_riccati
    >>> one = np.ones((1, 1))
    >>> changes = Weights(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))
    >>> stationary_slopes(LinearModel(one, one), one, discrete_riccati(one, one, 1.0, 1.0), changes).ravel().round(3)
    array([-0.171])
    """
    (A, B), (K, P) = model, regulator
    axes = tuple(range(1, A.ndim - 1))  # of the places, behind that of the directions
    changes = Weights(*(np.expand_dims(part, axes) for part in changes))
    after = _stationary(A - B @ K, _of_costs(K, changes))
    return np.asarray(_regulator_step(after, A, B, R, P, K, *changes)[1]["slope"])


def filter_slopes(A: Floats, C: Floats, V: Floats, filter: FilterGains, noise: Floats, initial: Floats) -> Floats:
    """Derivatives of a filter's gains along a motion in p directions of its noises, shape (p, S, n, m).

    Parameters
    ----------
    A, C, V
        Models (S, n, n), measurements (m, n) and the covariance of their noise (m, m); see `kalman_gains`.
    filter
        Gains and covariances.
    noise, initial
        Directions of the covariance W of every step, (p, S, n, n), and of the initial one, (p, n, n).
    """
    steps = (len(A), *C.shape), (len(A), *V.shape)
    measured, uncertain = (np.broadcast_to(part, shape) for part, shape in zip((C, V), steps, strict=True))
    call = _along_filter(*C.shape[::-1])
    given = A, measured, uncertain, filter.covariance, filter.L, noise, initial
    slopes: Floats = call(*map(dense, given))
    return slopes


def stationary_filter_slopes(A: Floats, C: Floats, V: Floats, filter: FilterGains, noise: Floats) -> Floats:
    """Derivatives of a filter's gains for all time in p directions of W, (p, ..., n, n): shape (p, ..., n, m)."""
    after = _stationary(transposed(A - A @ filter.L @ C), noise)
    return np.asarray(_filter_step(after, A, C, V, filter.covariance, filter.L, noise)[1]["slope"])


def _of_costs(K: Floats, changes: Weights) -> Floats:
    """Return dQ + Kᵀ dR K."""
    return np.asarray(changes.Q + transposed(K) @ changes.R @ K)


def _stationary(F: Floats, W: Floats) -> Floats:
    """Return X = W + Fᵀ X F of stable F: the sum of Fᵀᵏ W Fᵏ, doubled until it does not change."""
    for _ in range(_MOST_DOUBLINGS):
        W = W + transposed(F) @ W @ F
        F = F @ F
        if not (np.abs(F).max(initial=0.0) > _DECAYED):
            break
    return W


def _regulator_step(X: M, A: M, B: M, R: M, P: M, K: M, by_Q: M, by_R: M) -> tuple[M, dict[str, M]]:
    """Return the change of the cost-to-go before a step from that after it, X, and that of its gains."""
    loop = A - B @ K
    XF = X @ loop
    slope = solve(R + B.mT @ (P @ B), B.mT @ XF - by_R @ K)
    return by_Q + K.mT @ (by_R @ K) + loop.mT @ XF, {"slope": slope}


def _filter_step(X: M, A: M, C: M, V: M, P: M, L: M, by_W: M) -> tuple[M, dict[str, M]]:
    """Return the change of the covariance after a step from that before it, X, and that of its gains."""
    Y = X - L @ (C @ X)
    YC = Y @ C.mT
    return by_W + A @ ((Y - YC @ L.mT) @ A.mT), {"slope": solve(V + C @ (P @ C.mT), YC.mT).mT}


@cache
def _along_motion(n: int, m: int) -> MatrixCall:
    given = {"A": (n, n), "B": (n, m), "R": (m, m), "P": (n, n), "K": (m, n), "by_Q": (n, n), "by_R": (m, m)}
    scan = MatrixScan(_regulator_step, start="last", end="", state=(n, n), given=given, backward=True)
    return MatrixCall("regulator_slopes", [scan], [*given, "last"], ["slope"])


@cache
def _along_filter(n: int, m: int) -> MatrixCall:
    given = {"A": (n, n), "C": (m, n), "V": (m, m), "P": (n, n), "L": (n, m), "by_W": (n, n)}
    scan = MatrixScan(_filter_step, start="initial", end="", state=(n, n), given=given)
    return MatrixCall("filter_slopes", [scan], [*given, "initial"], ["slope"])
