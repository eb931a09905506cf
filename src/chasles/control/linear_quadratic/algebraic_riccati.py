"""Algebraic Riccati equations: regulators of constant gain, and reasons where no regulator exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, ChaslesError
from chasles.control.linear_model import as_system, transposed
from chasles.control.linear_quadratic.riccati import joined_weights
from chasles.control.linear_quadratic.riccati_flow import doubled
from chasles.engine.program.scalar import Array

Floats = NDArray[np.float64]

#: Singular value, relative to the largest, that counts as zero when modes are tested.
_NOT_REACHED = 1e-8
_MARGIN = 1e-9  # of an eigenvalue that counts as being on the boundary of stability
_RESIDUAL = 1e-6  # of the equation, relative to its largest term

_MOST_DOUBLINGS = 40
_DECAYED = 1e-15  # part of a transition matrix that counts as nothing


class RegulatorError(ChaslesError, ValueError):
    """No regulator exists for a linear model and weights; the message names the mode of motion that prevents it."""


class InfiniteHorizon(NamedTuple):
    """A regulator u = -K x for all time: gains K (..., m, n) and the cost-to-go xᵀ P x, P (..., n, n)."""

    K: Floats
    P: Floats


def continuous_riccati(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, *, N: ArrayLike | None = None
) -> InfiniteHorizon:
    """Stabilising solution of AᵀP + PA - (PB + N) R⁻¹ (BᵀP + Nᵀ) + Q = 0, and K = R⁻¹ (BᵀP + Nᵀ).

    The regulator minimises ∫ (xᵀQx + 2xᵀNu + uᵀRu) dt of ẋ = A x + B u. SciPy solves it; the result is checked.

    Parameters
    ----------
    A, B
        Shapes (..., n, n) and (..., n, m); leading axes are a batch.
    Q, R, N
        Weights (n, n), (m, m), (n, m). Q and R may also be diagonals or scalars.

    Raises
    ------
    RegulatorError
        If a mode that does not decay is not controllable, or a mode that neither grows nor decays has no weight.
    ArgumentError
        If shapes do not fit or weights are not symmetric, (semi)definite.

    Examples
    --------
    A unit mass: K = (1, √3).

    >>> continuous_riccati([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], 1.0, 1.0).K.round(4)
    array([[1.    , 1.7321]])
    """
    return _each(_solve_continuous, A, B, Q, R, N)


def discrete_riccati(
    A: ArrayLike, B: ArrayLike, Q: ArrayLike, R: ArrayLike, *, N: ArrayLike | None = None
) -> InfiniteHorizon:
    """Stabilising solution of P = Q + AᵀPA - (AᵀPB + N) K with K = (R + BᵀPB)⁻¹ (BᵀPA + Nᵀ).

    The regulator minimises Σ (xᵀQx + 2xᵀNu + uᵀRu) of x[k+1] = A x[k] + B u[k]. The whole batch is solved at once by
    doubling the horizon until convergence; where that is not accurate enough, SciPy solves it. The result is checked.

    Source of the doubling: Anderson, "Second-order convergent algorithms for the steady-state Riccati equation" (1978).

    Parameters
    ----------
    A, B, Q, R, N
        See `continuous_riccati`, also for the errors.

    Examples
    --------
    A sum, x' = x + u: P is the golden ratio.

    >>> discrete_riccati([[1.0]], [[1.0]], 1.0, 1.0).P.round(4)
    array([[1.618]])
    """
    return _each(_solve_discrete, A, B, Q, R, N, _doubled_until_steady)


def _each(
    solve: Callable[..., tuple[Floats, Floats]],
    A: ArrayLike,
    B: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    N: ArrayLike | None,
    solve_together: Callable[..., tuple[Floats, Floats, NDArray[np.bool_]]] | None = None,
) -> InfiniteHorizon:
    A, B = as_system(A, B)
    n, m = B.shape[-2:]
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise ArgumentError("A and B must be finite")
    weights = joined_weights(Q, R, N, n, m)
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2], weights.shape[:-2])
    A, B = np.broadcast_to(A, (*batch, n, n)), np.broadcast_to(B, (*batch, n, m))
    weights = np.broadcast_to(weights, (*batch, m + n, m + n))
    K, P = np.empty((*batch, m, n)), np.empty((*batch, n, n))
    solved = np.zeros(batch, dtype=bool)
    if solve_together is not None:
        K, P, solved = solve_together(A, B, weights[..., m:, m:], weights[..., :m, :m], weights[..., m:, :m])
    for place in map(tuple, np.argwhere(~solved)):
        W = weights[place]
        K[place], P[place] = solve(A[place], B[place], W[m:, m:], W[:m, :m], W[m:, :m])
    return InfiniteHorizon(K, P)


def _solve_continuous(A: Floats, B: Floats, Q: Floats, R: Floats, N: Floats) -> tuple[Floats, Floats]:
    from scipy.linalg import solve_continuous_are

    try:
        P = solve_continuous_are(A, B, Q, R, s=N)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise _reason(A, B, Q, N, R, np.real, 0.0, error) from error
    K = np.linalg.solve(R, B.T @ P + N.T)
    terms = (A.T @ P, -(P @ B + N) @ K, Q)
    residual = terms[0] + terms[0].T + terms[1] + terms[2]
    if np.linalg.eigvals(A - B @ K).real.max(initial=-1.0) >= 0.0 or _large(residual, terms):
        raise _reason(A, B, Q, N, R, np.real, 0.0, "the solution found does not stabilise")
    return K, P


def _solve_discrete(A: Floats, B: Floats, Q: Floats, R: Floats, N: Floats) -> tuple[Floats, Floats]:
    from scipy.linalg import solve_discrete_are

    try:
        P = solve_discrete_are(A, B, Q, R, s=N)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise _reason(A, B, Q, N, R, np.abs, 1.0, error) from error
    F = B.T @ P @ A + N.T
    K = np.linalg.solve(R + B.T @ P @ B, F)
    terms = (A.T @ P @ A, P, F.T @ K, Q)
    residual = terms[0] - terms[1] - terms[2] + terms[3]
    if np.abs(np.linalg.eigvals(A - B @ K)).max(initial=0.0) >= 1.0 or _large(residual, terms):
        raise _reason(A, B, Q, N, R, np.abs, 1.0, "the solution found does not stabilise")
    return K, P


def _doubled_until_steady(
    A: Floats, B: Floats, Q: Floats, R: Floats, N: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Return K, P, and which of them are stabilising solutions: the others need more care."""
    both = np.linalg.solve(R, np.concatenate([transposed(B), transposed(N)], axis=-1))  # of the cost of u + R⁻¹Nᵀx
    inputs, shift = both[..., : A.shape[-1]], both[..., A.shape[-1] :]
    phi, G, P = A - B @ shift, B @ inputs, Q - N @ shift
    scale = np.abs(phi).max(axis=(-1, -2))
    remaining = scale
    with np.errstate(all="ignore"):
        for _ in range(_MOST_DOUBLINGS):
            try:
                phi, G, P = doubled(phi, G, P)
            except np.linalg.LinAlgError:
                break
            remaining = np.abs(phi).max(axis=(-1, -2))  # the closed loop over all these steps: it decays if stable
            if not (remaining > _DECAYED * scale).any():
                break
        PB = P @ B
        F = transposed(PB) @ A + transposed(N)
        K = np.linalg.solve(R + transposed(B) @ PB, F)
        terms = (transposed(A) @ P @ A, P, transposed(F) @ K, Q)
        residual = np.abs(terms[0] - terms[1] - terms[2] + terms[3]).max(axis=(-1, -2))
        size = np.max([np.abs(term).max(axis=(-1, -2)) for term in terms], axis=0)
        solved: NDArray[np.bool_] = (remaining <= _DECAYED * scale) & (residual <= 1e-3 * _RESIDUAL * size)
    return np.asarray(K, dtype=np.float64), P, solved


def _large(residual: Floats, terms: tuple[Floats, ...]) -> bool:
    size = max(float(np.abs(term).max(initial=0.0)) for term in terms)
    return not float(np.abs(residual).max(initial=0.0)) <= _RESIDUAL * size


def _reason(
    A: Floats, B: Floats, Q: Floats, N: Floats, R: Floats, measure: Callable[[Any], Any], bound: float, cause: object
) -> RegulatorError:
    """Name the mode that stands in the way, by the test of Popov, Belevitch and Hautus on each eigenvalue."""
    identity = np.eye(len(A))
    for value in np.linalg.eigvals(A):
        if measure(value) >= bound - _MARGIN:
            direction = _null_direction(np.hstack([value * identity - A, B]).conj().T)
            if direction is not None:
                return RegulatorError(
                    f"the system cannot be stabilised: no input reaches the mode of eigenvalue {_text(value)}, which "
                    f"does not decay by itself and is mostly {_state(direction)}"
                )
    # With cross weights the cost is that of u + R⁻¹Nᵀx with A - B R⁻¹Nᵀ and Q - N R⁻¹Nᵀ.
    shift = np.linalg.solve(R, N.T)
    for value in np.linalg.eigvals(A - B @ shift):
        if abs(measure(value) - bound) <= 1e-6 * max(1.0, abs(value)):
            direction = _null_direction(np.vstack([value * identity - (A - B @ shift), Q - N @ shift]))
            if direction is not None:
                return RegulatorError(
                    f"no regulator stabilises the system: Q gives no weight to the mode of eigenvalue {_text(value)}, "
                    f"which neither grows nor decays and is mostly {_state(direction)}"
                )
    return RegulatorError(f"the Riccati equation could not be solved to sufficient accuracy: {cause}")


def _null_direction(M: Array) -> Array | None:
    """A vector that a matrix maps to zero, or None."""
    _, values, rows = np.linalg.svd(M, full_matrices=True)
    smallest = values[-1] if len(values) == M.shape[1] else 0.0
    return rows[-1].conj() if smallest <= _NOT_REACHED * max(values[0], 1e-300) else None


def _text(value: complex) -> str:
    return f"{value.real:.4g}" if abs(value.imag) <= _MARGIN * abs(value) else f"{value.real:.4g}{value.imag:+.4g}i"


def _state(direction: Array) -> str:
    return f"state {int(np.abs(direction).argmax())}"
