"""The adjoint of the Riccati recursion: how a loss of gains and costs-to-go changes with model and weights."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic.riccati import backward_riccati, dense
from chasles.engine.cpython.memory import empty
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import M, solve
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.validators import doubles

Floats = NDArray[np.float64]


class RegulatorGradient(NamedTuple):
    """Gradient of a loss by what a regulator is designed from, each of the shape that was given.

    Attributes
    ----------
    A, B
        By the model of each step.
    Q, R, terminal
        By the weights. Both elements of a pair off the diagonal count as one unknown each, so that a symmetric change
        dQ changes the loss by the sum of the elements of gradient · dQ.
    N
        By the weights between states and inputs, or None where there are none.
    """

    A: Floats
    B: Floats
    Q: Floats
    R: Floats
    terminal: Floats
    N: Floats | None


def riccati_gradient(
    A: ArrayLike,
    B: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    terminal: ArrayLike,
    *,
    by_K: ArrayLike,
    by_P: ArrayLike | None = None,
    N: ArrayLike | None = None,
) -> RegulatorGradient:
    """Gradient of a loss by model and weights of `backward_riccati`, from that by its gains and costs-to-go.

    One pass forward in time over the steps, about as long as the recursion itself; no differences are taken.

    Parameters
    ----------
    A, B, Q, R, terminal, N
        The problem; see `backward_riccati`.
    by_K
        Gradient of the loss by the gains, shape (..., S, m, n).
    by_P
        Gradient by the symmetric costs-to-go for all x[0] … x[S], shape (..., S + 1, n, n), or zero.

    Returns
    -------
    RegulatorGradient
        The gradient; NaN where the regulator is NaN.

    Raises
    ------
    ArgumentError
        As `backward_riccati`, or if the shapes of the given gradients do not fit.

    Notes
    -----
    Implicit differentiation of P = W + [B A]ᵀ P [B A] eliminated, with the closed loop A - B K in place of derivatives
    of each product: M. B. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
    differentiation" (2008), gives the rules.

    Examples
    --------
    One step of x' = a x + u with unit weights has the gain K = a / 2, whatever the cost:

    >>> riccati_gradient([[[2.0]]], [[[1.0]]], 1.0, 1.0, 1.0, by_K=[[[1.0]]]).A.ravel()
    array([0.5])
    """
    A, B = doubles(A, "A"), doubles(B, "B")
    weights = {"Q": doubles(Q, "Q"), "R": doubles(R, "R"), "terminal": doubles(terminal, "terminal")}
    K, P = backward_riccati(A, B, **weights, N=N, every_cost=True)
    n, m, steps = A.shape[-1], B.shape[-1], A.shape[-3]
    of_K = _checked(by_K, "by_K", (steps, m, n))
    of_P = np.broadcast_to(np.zeros((n, n)), (steps + 1, n, n))
    if by_P is not None:
        of_P = _checked(by_P, "by_P", (steps + 1, n, n))
        of_P = 0.5 * (of_P + of_P.mT)
    each_R = np.broadcast_to(_matrices(weights["R"], m), (*weights["R"].shape[:-3], steps, m, m))
    given = (A, B, each_R, P[..., 1:, :, :], K, of_K, of_P[..., :-1, :, :], np.zeros((n, n)))
    batch = np.broadcast_shapes(K.shape[:-3], of_K.shape[:-3], of_P.shape[:-3])
    shapes = (n, n), (n, m), (n, n), (m, m), (m, n)
    out = *(empty((*batch, steps, *shape), "float64") for shape in shapes), empty((*batch, n, n), "float64")
    of_A, of_B, of_Q, of_R, of_N, end = _adjoint(n, m)(*map(dense, given), out=out)
    of_N = None if N is None else _summed(of_N.mT, np.shape(N))
    of_terminal = _of_weights(end + of_P[..., -1, :, :], weights["terminal"])
    gradients = _of_weights(of_Q, weights["Q"]), _of_weights(of_R, weights["R"]), of_terminal
    return RegulatorGradient(_summed(of_A, A.shape), _summed(of_B, B.shape), *gradients, of_N)


def _checked(value: ArrayLike, name: str, shape: tuple[int, ...]) -> Floats:
    array = doubles(value, name)
    if array.shape[-3:] != shape:
        raise ArgumentError(f"{name} has shape {array.shape}; expected (..., {', '.join(map(str, shape))})")
    return array


def _adjoint_step(Z: M, A: M, B: M, R: M, P: M, K: M, by_K: M, by_P: M) -> tuple[M, dict[str, M]]:
    """Return the adjoint of P, the cost-to-go after a step, from that before it, Z, and the step's gradients.

    With G = [[S, F], [Fᵀ, H]] = W + [B A]ᵀ P [B A] the step is K = S⁻¹ F and Kᵀ S K less than H, so that

        dK = S⁻¹ (dF - dS K),   dP = dH - dFᵀ K - Kᵀ dF + Kᵀ dS K,   [dS dF] [-K; I] of dG.
    """
    Z = Z + by_P
    Y = solve(R + B.mT @ (P @ B), by_K)
    C = A - B @ K
    X = C @ Z + 0.5 * (B @ Y)
    turned = C @ Y.mT
    YK = Y @ K.mT
    samples = {
        "by_A": 2.0 * (P @ X),
        "by_B": P @ (turned - 2.0 * (X @ K.mT)),
        "by_Q": Z,
        "by_R": K @ (Z @ K.mT) - 0.5 * (YK + YK.mT),
        "by_N": Y - 2.0 * (K @ Z),
    }
    return X @ C.mT + 0.5 * (turned @ B.mT), samples


@cache
def _adjoint(n: int, m: int) -> MatrixCall:
    given = {"A": (n, n), "B": (n, m), "R": (m, m), "P": (n, n), "K": (m, n), "by_K": (m, n), "by_P": (n, n)}
    scan = MatrixScan(_adjoint_step, start="start", end="by_terminal", state=(n, n), given=given)
    outputs = ["by_A", "by_B", "by_Q", "by_R", "by_N", "by_terminal"]
    return MatrixCall("riccati_gradient", [scan], [*given, "start"], outputs)


def _matrices(weights: Floats, size: int) -> Floats:
    """Return weights as matrices."""
    return weights if weights.ndim >= 2 else np.eye(size) * weights


def _of_weights(gradient: Floats, weights: Floats) -> Floats:
    """Return a gradient by matrices as one by weights as they were given: matrices, a diagonal or a scalar."""
    if weights.ndim >= 2:
        return _summed(gradient, weights.shape)
    diagonal = np.diagonal(gradient, axis1=-2, axis2=-1)
    return _summed(diagonal, weights.shape)


def _summed(gradient: Floats, shape: tuple[int, ...]) -> Floats:
    """Return a gradient summed over axes along which what was given is repeated."""
    axes = range(gradient.ndim - len(shape))
    if axes:
        gradient = gradient.sum(axis=tuple(axes))
    repeated = tuple(k for k, size in enumerate(shape) if size == 1 != gradient.shape[k])
    return np.asarray(gradient.sum(axis=repeated, keepdims=True) if repeated else gradient)
