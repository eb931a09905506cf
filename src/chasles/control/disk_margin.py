"""Sizes of multivariable frequency responses for disk margins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complex = NDArray[np.complexfloating[Any, Any]]

_BLOCK = 64  # matrices whose singular values are computed at a time


def scaled(M: Complex, powers: int = 30) -> Complex:
    """Return D M D⁻¹ of matrices (..., n, n), with the diagonal D that makes |M| least, by its Perron vectors.

    Every D bounds the structured singular value from above, so that few power iterations make margins too small, never
    too large.

    Source: Safonov, "Stability margins of diagonally perturbed multivariable feedback systems", IEE Proceedings D
    129(6), 1982.
    """
    D = perron_scaling(M, powers)
    return np.asarray(D[..., :, None] * M / D[..., None, :])


def perron_scaling(M: Complex, powers: int = 30) -> Floats:
    """Return the diagonals D (..., n) with which `scaled` makes matrices (..., n, n) small."""
    N = _magnitudes(M)
    left, right = (_power_iterates(side, powers)[-1] for side in (N.mT, N))
    return np.asarray(np.sqrt(left / right))[..., 0]


def singular_value_slopes(M: Complex, powers: int = 30) -> tuple[Floats, Complex]:
    """Return the singular values σ (..., n) of `scaled` matrices, and X (..., n, n, n) with dσₖ = Re Σ conj(Xₖ) dM.

    With σ = uᴴ D M D⁻¹ v the scaling adds σ Σ wᵢ d log Dᵢ, wᵢ = |uᵢ|² - |vᵢ|², which is followed back through the power
    iterations. As the wᵢ have the sum 0, the lengths of the vectors do not matter.
    """
    N = _magnitudes(M)
    left, right = _power_iterates(N.mT, powers), _power_iterates(N, powers)
    D = np.sqrt(left[-1] / right[-1])
    U, sizes, Vh = np.linalg.svd(D * M / D.mT)
    V = np.conj(Vh.mT)
    w = 0.5 * sizes[..., None, :] * (np.abs(U) ** 2 - np.abs(V) ** 2)
    by_N = _pulled_back(N.mT, left, w / left[-1]).mT - _pulled_back(N, right, w / right[-1])
    return sizes, np.asarray(_dyads(D * U, np.conj(V) / D) + by_N * (M / N)[..., None, :, :])


def _magnitudes(M: Complex) -> Floats:
    """Magnitudes of elements, none of them zero."""
    return np.asarray(np.abs(M) + 1e-12 * np.abs(M).max(axis=(-1, -2), keepdims=True))


def _power_iterates(N: Floats, powers: int) -> list[Floats]:
    """Vectors (..., n, 1) from ones towards the Perron vector of positive matrices; their largest element is 1."""
    iterates = [np.ones((*N.shape[:-1], 1))]
    for _ in range(powers):
        following = N @ iterates[-1]
        iterates.append(following / following.max(axis=-2, keepdims=True))
    return iterates


def _pulled_back(N: Floats, iterates: list[Floats], by_last: Floats) -> Floats:
    """Gradients (..., k, n, n) by N, from those of the last iterate (..., n, k) that do not feel its length."""
    by_N: Any = 0.0
    for before in iterates[-2::-1]:
        by_following = by_last / (N @ before).max(axis=-2, keepdims=True)
        by_N += _dyads(by_following, np.broadcast_to(before, by_following.shape))
        by_last = N.mT @ by_following
    return np.asarray(by_N)


def _dyads(a: Any, b: Any) -> Any:
    """Products a bᵀ of the columns of matrices (..., n, k): (..., k, n, n)."""
    return a.mT[..., :, None] * b.mT[..., None, :]


def largest_singular_value(M: Complex) -> float:
    """Return the largest singular value of all matrices (..., n, n).

    Singular values are computed in order of their bound √(‖·‖₁ ‖·‖_∞), until no bound is above the best.
    """
    size = np.abs(M)
    bound = np.sqrt(size.sum(axis=-1).max(axis=-1) * size.sum(axis=-2).max(axis=-1)).ravel()
    matrices, best = M.reshape(-1, *M.shape[-2:]), 0.0
    order = np.argsort(-bound)
    for first in range(0, len(order), _BLOCK):
        block = order[first : first + _BLOCK]
        if bound[block[0]] <= best:
            break
        best = max(best, float(np.linalg.norm(matrices[block], 2, axis=(-2, -1)).max()))
    return best
