"""The Riccati recursion: gains and cost-to-go of a linear-quadratic regulator over a finite horizon."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.linear_model import as_system
from chasles.control.linear_quadratic.weights import weight_matrix
from chasles.engine.cpython.memory import empty
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import M, beside, eliminate
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.validators import doubles

Floats = NDArray[np.float64]


class FiniteHorizon(NamedTuple):
    """A regulator u[k] = -K[k] x[k] over S steps, and its cost.

    Attributes
    ----------
    K
        Gains, shape (..., S, m, n).
    P
        Matrix of the cost-to-go x[0]ᵀ P x[0], shape (..., n, n). With ``every_cost``, the matrices for all x[0] … x[S],
        shape (..., S + 1, n, n); the last is the terminal weight.
    """

    K: Floats
    P: Floats


def backward_riccati(
    A: ArrayLike,
    B: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    terminal: ArrayLike,
    *,
    N: ArrayLike | None = None,
    every_cost: bool = False,
) -> FiniteHorizon:
    """Optimal gains of x[k+1] = A[k] x[k] + B[k] u[k] over S steps, computed backward in time.

    They minimise Σ (xᵀQx + 2xᵀNu + uᵀRu) + x[S]ᵀ terminal x[S]:

        K[k] = (R + BᵀPB)⁻¹ (BᵀPA + Nᵀ)   with P = P[k+1]
        P[k] = Q + AᵀPA - (AᵀPB + N) K[k]

    With a C compiler the recursion runs as machine code, vectorised over the columns of the matrices.

    Parameters
    ----------
    A, B
        Shapes (..., S, n, n) and (..., S, n, m); leading axes are a batch.
    Q, R, N
        Weights of states (n, n), inputs (m, m) and between them (n, m), in the units of the cost; or one per step,
        (..., S, n, n), …. Q and R may also be diagonals or scalars.
    terminal
        Weight of the last state, shape (..., n, n), or its diagonal, or a scalar.
    every_cost
        Whether to return P at every step.

    Returns
    -------
    FiniteHorizon
        Gains and cost; samples with NaN or infinity yield NaN.

    Raises
    ------
    ArgumentError
        If shapes do not fit, weights are not symmetric, Q or the terminal weight is not positive semidefinite, or R
        (with weights of every step: R + BᵀPB) is not positive definite.

    Notes
    -----
    Anderson and Moore, Optimal Control: Linear Quadratic Methods. Implemented as one elimination: see `riccati_step`.

    Examples
    --------
    One step of a scalar system that doubles, x' = 2 x + u, with unit weights: K = 2/2 and P = 1 + 4 - 2 · 1:

    >>> K, P = backward_riccati([[[2.0]]], [[[1.0]]], 1.0, 1.0, 1.0)
    >>> K.ravel(), P.ravel()
    (array([1.]), array([3.]))
    """
    A, B = as_system(A, B)
    if A.ndim < 3 or B.ndim < 3 or A.shape[-3] != B.shape[-3]:
        raise ArgumentError(f"A and B must have shapes (..., S, n, n) and (..., S, n, m), not {A.shape} and {B.shape}")
    n, m = B.shape[-2:]
    weights = joined_weights(Q, R, N, n, m)
    final = _weight(terminal, n, "terminal", definite=False)
    weights = np.broadcast_to(weights, (*weights.shape[:-3], *_steps(weights, A.shape[-3]), n + m, n + m))
    if not A.shape[-3]:
        batch = np.broadcast_shapes(A.shape[:-3], B.shape[:-3], weights.shape[:-3], final.shape[:-2])
        P = np.broadcast_to(final, (*batch, n, n)).copy()
        return FiniteHorizon(np.zeros((*batch, 0, m, n)), P[..., None, :, :] if every_cost else P)
    K, P = recursion(n, m, every_cost)(dense(A), dense(B), dense(weights), dense(final))
    if not np.isfinite(K[..., 0, :, :]).all():
        _say_why_not_finite(K, A, B, weights, final)
    if every_cost:
        P = np.concatenate([P, np.broadcast_to(final, (*P.shape[:-3], n, n))[..., None, :, :]], axis=-3)
    return FiniteHorizon(K, P)


def joined_weights(Q: ArrayLike, R: ArrayLike, N: ArrayLike | None, n: int, m: int) -> Floats:
    """Weights of (u, x): [[R, Nᵀ], [N, Q]], shape (..., m + n, m + n)."""
    Q, R = _weight(Q, n, "Q", definite=False), _weight(R, m, "R", definite=True)
    N = None if N is None else doubles(N, "N")
    if N is not None and N.shape[-2:] != (n, m):
        raise ArgumentError(f"N must have shape (..., {n}, {m}), not {N.shape}")
    leads = Q.shape[:-2], R.shape[:-2], () if N is None else N.shape[:-2]
    try:
        batch = np.broadcast_shapes(*leads) if any(leads) else ()
    except ValueError:
        raise ArgumentError("the leading axes of Q, R and N do not broadcast") from None
    joined = np.zeros((*batch, m + n, m + n))
    joined[..., :m, :m], joined[..., m:, m:] = R, Q
    if N is not None:
        joined[..., m:, :m], joined[..., :m, m:] = N, np.swapaxes(N, -1, -2)
    return joined


def _weight(value: ArrayLike, size: int, name: str, *, definite: bool) -> Floats:
    array = doubles(value, name)
    if array.ndim <= 2:
        return weight_matrix(array, size, name, definite=definite)
    if array.shape[-2:] != (size, size):
        raise ArgumentError(f"{name} must have shape (..., {size}, {size}), not {array.shape}")
    if not np.allclose(array, np.swapaxes(array, -1, -2), rtol=1e-10, equal_nan=True):
        raise ArgumentError(f"{name} must be symmetric")
    return array


def _steps(weights: Floats, steps: int) -> tuple[int]:
    if weights.ndim > 2 and weights.shape[-3] not in (1, steps):
        raise ArgumentError(f"weights are given for {weights.shape[-3]} steps, but A and B for {steps}")
    return (steps,)


def dense(array: Floats) -> Floats:
    """Make the last two axes dense, as machine code expects them; repeated steps and batches stay repeated."""
    if array.flags.c_contiguous:
        return array
    rows, columns = array.shape[-2:]
    if array.strides[-2:] == (columns * array.itemsize, array.itemsize):
        return array
    return np.ascontiguousarray(array).reshape(*array.shape[:-2], rows, columns)


def riccati_step(P: M, A: M, B: M, weights: M) -> tuple[M, dict[str, M]]:
    """Return the cost-to-go before a step, from P after it, and the gains K.

    With weights of (u, x) a step is one symmetric matrix, of which the inputs are eliminated:

        [[S, F], [Fᵀ, H]] = weights + [B A]ᵀ P [B A],   K = S⁻¹ F,   P = H - Fᵀ K
    """
    BA = beside(B, A)
    K, before = eliminate(weights + BA.mT @ (P @ BA), B.shape[-1])
    return before, {"K": K}


def backward_scan(step: Callable[..., Any], n: int, m: int, end: str) -> MatrixScan:
    """Return the recursion over a step such as `riccati_step` of n states and m inputs."""
    given = {"A": (n, n), "B": (n, m), "weights": (m + n, m + n)}
    return MatrixScan(step, start="terminal", end=end, state=(n, n), given=given, backward=True)


def recursion(n: int, m: int, every_cost: bool) -> Callable[..., tuple[Floats, Floats]]:
    """Return the recursion (A, B, weights, terminal) -> (K, P) of n states and m inputs, arrays dense in memory.

    Weights are those of (u, x) at each step; their upper triangle is read. P is that of the first step, or with
    `every_cost` of each step but the last. A pivot that is not positive makes all that follows NaN.
    """
    call = _recursion(n, m, every_cost)

    def into_kept_memory(A: Floats, B: Floats, weights: Floats, terminal: Floats) -> tuple[Floats, Floats]:
        leads = A.shape[:-3], B.shape[:-3], weights.shape[:-3], terminal.shape[:-2]
        batch = np.broadcast_shapes(*leads) if any(leads) else ()
        gains = empty((*batch, A.shape[-3], m, n), "float64")
        K, P = call(A, B, weights, terminal, out=(gains, None))
        return K, P

    return into_kept_memory


@cache
def _recursion(n: int, m: int, every_cost: bool) -> MatrixCall:
    def step(P: M, A: M, B: M, weights: M) -> tuple[M, dict[str, M]]:
        before, samples = riccati_step(P, A, B, weights)
        return before, {**samples, "P": before}

    scan = backward_scan(step, n, m, end="") if every_cost else backward_scan(riccati_step, n, m, end="P")
    return MatrixCall("riccati", [scan], ["A", "B", "weights", "terminal"], ["K", "P"])


def _say_why_not_finite(K: Floats, *given: Floats) -> None:
    """Raise an error if finite numbers gave others: at the last step in time that is not finite it began."""
    if not all(np.isfinite(array).all() for array in given):
        return
    broken = ~np.isfinite(K).all(axis=(-1, -2)).reshape(-1, K.shape[-3]).all(axis=0)
    raise ArgumentError(
        f"the regulator does not exist: R + BᵀPB is not positive definite at step {int(np.flatnonzero(broken)[-1])}; "
        "the weights of inputs must be positive"
    )
