"""The differential Riccati equation: regulators in continuous time over a finite horizon."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.linear_model import as_system, discretize, transposed
from chasles.control.linear_quadratic.riccati import FiniteHorizon
from chasles.control.linear_quadratic.weights import weight_matrix
from chasles.engine.validators import real

Floats = NDArray[np.float64]

#: Norm of the Hamiltonian matrix times the step up to which its exponential is split into blocks.
_SMALL = 0.25


def differential_riccati(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, terminal: ArrayLike, *, step: float
) -> FiniteHorizon:
    """Optimal gains of ẋ = A(t) x + B(t) u for ∫ (xᵀQx + uᵀRu) dt + xᵀ terminal x at the end, backward in time.

        -dP/dt = AᵀP + PA - P B R⁻¹ Bᵀ P + Q,   K = R⁻¹ Bᵀ P

    A and B are taken as constant within a step, for which the solution is exact at any step length. With A and B
    evaluated at the middle of each step, the error falls with the square of the step length.

    Parameters
    ----------
    A, B
        Linear model of every step, shapes (..., S, n, n) and (..., S, n, m).
    Q, R
        Weights (n, n), positive semidefinite, and (m, m), positive definite; or diagonals, or scalars.
    terminal
        Weight of the last state, shape (n, n), or its diagonal, or a scalar.
    step
        Length of a step, s.

    Returns
    -------
    FiniteHorizon
        Gains (..., S, m, n) at the start of each step, and P (..., S + 1, n, n) at the start of each and at the end.

    Raises
    ------
    ArgumentError
        If shapes do not fit, or weights are not symmetric, (semi)definite.

    Notes
    -----
    A step is the map P ← H + Φᵀ P (1 + G P)⁻¹ Φ. Its Φ, G and H come from the exponential of the Hamiltonian matrix
    over a small part of the step, which is doubled until it is the step; see Anderson, "Second-order convergent
    algorithms for the steady-state Riccati equation" (1978). Doubling keeps G and H positive semidefinite, and large
    exponentials, which lose digits, never appear.

    Examples
    --------
    An integrator with unit weights, from rest: P(t) = tanh(T - t).

    >>> K, P = differential_riccati(np.zeros((4, 1, 1)), np.ones((4, 1, 1)), 1.0, 1.0, 0.0, step=0.5)
    >>> P.ravel().round(4), np.tanh(2.0).round(4)
    (array([0.964 , 0.9051, 0.7616, 0.4621, 0.    ]), np.float64(0.964))
    """
    A, B = as_system(A, B)
    if A.ndim < 3 or B.ndim < 3 or A.shape[-3] != B.shape[-3]:
        raise ArgumentError(f"A and B must have shapes (..., S, n, n) and (..., S, n, m), not {A.shape} and {B.shape}")
    real(step, "step", above=0.0)
    n, m = B.shape[-2:]
    Q, R = weight_matrix(Q, n, "Q", definite=False), weight_matrix(R, m, "R", definite=True)
    P = weight_matrix(terminal, n, "terminal", definite=False)
    inputs = np.linalg.solve(R, transposed(B))
    phi, G, H = _flow(A, B @ inputs, Q, step)
    P = np.broadcast_to(P, (*H.shape[:-3], n, n))
    costs = [P]
    for k in reversed(range(A.shape[-3])):
        F, P = phi[..., k, :, :], costs[-1]
        P = H[..., k, :, :] + transposed(F) @ P @ np.linalg.solve(np.eye(n) + G[..., k, :, :] @ P, F)
        costs.append(0.5 * (P + transposed(P)))
    every = np.stack(costs[::-1], axis=-3)
    return FiniteHorizon(inputs @ every[..., :-1, :, :], every)


def _flow(A: Floats, G: Floats, Q: Floats, step: float) -> tuple[Floats, Floats, Floats]:
    """Φ, G and H of a step, from the Hamiltonian matrix [[A, -G], [-Q, -Aᵀ]] of states and costates."""
    n = A.shape[-1]
    shape = np.broadcast_shapes(A.shape, G.shape)
    A, G, Q = (np.broadcast_to(part, shape) for part in (A, G, Q))
    # Costates in the unit that makes both off-diagonal blocks equally large keep the doublings few.
    largest_G = float(np.abs(G).max(initial=0.0, where=np.isfinite(G)))
    unit = math.sqrt((float(np.abs(Q).max(initial=0.0)) or 1.0) / (largest_G or 1.0))
    hamiltonian = np.concatenate(
        [np.concatenate([A, -G * unit], axis=-1), np.concatenate([-Q / unit, -transposed(A)], axis=-1)], axis=-2
    )
    sums = np.abs(hamiltonian).sum(axis=-1)
    size = float(sums.max(initial=0.0, where=np.isfinite(sums))) * step
    doublings = max(0, math.ceil(math.log2(size / _SMALL))) if size > 0.0 else 0
    flow = discretize(hamiltonian, np.zeros((*shape[:-1], 0)).repeat(2, axis=-2), step / 2.0**doublings).A
    upper, lower = flow[..., :n, :], flow[..., n:, :]
    inverse = np.linalg.inv(lower[..., n:])
    phi, G, H = transposed(inverse), -upper[..., n:] @ inverse, -inverse @ lower[..., :n]
    for _ in range(doublings):
        phi, G, H = doubled(phi, G, H)
    return phi, G / unit, H * unit


def doubled(phi: Floats, G: Floats, H: Floats) -> tuple[Floats, Floats, Floats]:
    """Return Φ, G and H of two steps, one after the other, of those of one: shapes (..., n, n).

    A step is the map P ← H + Φᵀ P (1 + G P)⁻¹ Φ. One of a sampled system has Φ = A, G = B R⁻¹ Bᵀ and H = Q.
    """
    n = phi.shape[-1]
    both = np.linalg.solve(np.eye(n) + G @ H, np.concatenate([phi, G], axis=-1))
    following, reached = both[..., :n], both[..., n:]
    G, H = G + phi @ reached @ transposed(phi), H + transposed(phi) @ H @ following
    return phi @ following, 0.5 * (G + transposed(G)), 0.5 * (H + transposed(H))
