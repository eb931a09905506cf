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
    sizes = np.abs(M) + 1e-12 * np.abs(M).max(axis=(-1, -2), keepdims=True)
    right, left = np.ones(M.shape[:-1]), np.ones(M.shape[:-1])
    for _ in range(powers):
        right = (sizes @ right[..., None])[..., 0]
        left = (left[..., None, :] @ sizes)[..., 0, :]
        right, left = right / right.max(axis=-1, keepdims=True), left / left.max(axis=-1, keepdims=True)
    return np.asarray(np.sqrt(left / right))


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
