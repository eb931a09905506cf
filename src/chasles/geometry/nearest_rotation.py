"""The rotation nearest to a matrix, as the unit quaternion of a largest eigenvalue.

The nearest rotation is the one with the largest tr(Rᵀ A) = qᵀ K q. So its quaternion is the eigenvector of the largest
eigenvalue λ of the matrix K (Horn, Closed-form solution of absolute orientation using unit quaternions, J. Opt. Soc.
Am. A 4, 1987). With the singular values of A, the smallest one with the sign of det A, it is
λ = σ1 + σ2 + σ3, and the others lie below it by 2 (σ2 + σ3), 2 (σ1 + σ3) and 2 (σ1 + σ2). So a negative determinant and
a singular matrix need no case of their own. These are plain formulas for one sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import maximum, sqrt, where
from chasles.engine.symbols import is_symbol
from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.geometry.rotation_quaternion import quaternion_matrix, rotation_of_quaternion

_NEWTON_STEPS = 24
_SMALLEST_SLOPE = 1e-8  # a double root cannot be found more exactly than to the root of the rounding error
_SHIFT = 1e-13  # makes the factorised matrix positive definite in spite of rounding errors


def nearest_rotation(A: Array) -> Array:
    """Rotation (3, 3) nearest to a matrix (3, 3) in the Frobenius norm; see `chasles.geometry.project_rotation`."""
    if any(map(is_symbol, A.flat)):
        raise ArgumentError("the rotation nearest to a matrix is found step by step: no formula of symbols gives it")
    largest: Any = 0.0
    for entry in A.flat:
        largest = maximum(largest, abs(entry))
    is_null = largest <= 0.0
    A = A / where(is_null, 1.0, largest) + np.eye(3) * where(is_null, 1.0, 0.0)
    A = A / sqrt((A * A).sum())
    K = quaternion_matrix(A)
    return rotation_of_quaternion(_eigenvector(K, _largest_eigenvalue(A)))


def _largest_eigenvalue(A: Array) -> Any:
    """Largest eigenvalue of K for a matrix of Frobenius norm 1: Newton's method, monotone from an upper bound.

    The characteristic polynomial is (λ² - 1)² - 8 λ det A - 4 |adj A|² (Markley, Attitude determination using vector
    observations: a fast optimal matrix algorithm, J. Astronautical Sciences 41, 1993).
    """
    (a, b, c), (d, e, f), (g, h, i) = A
    adjugate = [
        e * i - f * h, c * h - b * i, b * f - c * e,
        f * g - d * i, a * i - c * g, c * d - a * f,
        d * h - e * g, b * g - a * h, a * e - b * d,
    ]  # fmt: skip
    determinant = a * adjugate[0] + b * adjugate[3] + c * adjugate[6]
    squares = sum(x * x for x in adjugate)
    # λ² = 1 + 2 (σ1 σ2 + σ1 σ3 + σ2 σ3), and the products are the singular values of the adjugate.
    eigenvalue = sqrt(1.0 + sqrt(12.0 * squares + 1e-300))  # sqrt has no derivative at 0
    for _ in range(_NEWTON_STEPS):
        excess = eigenvalue * eigenvalue - 1.0
        value = excess * excess - 8.0 * (eigenvalue * determinant) - 4.0 * squares
        slope = 4.0 * (eigenvalue * excess) - 8.0 * determinant
        eigenvalue = eigenvalue - value / where(slope > _SMALLEST_SLOPE, slope, 1e300)
    return eigenvalue


def _eigenvector(K: Array, eigenvalue: Any) -> Array:
    """Eigenvector of the largest eigenvalue by inverse iteration; one of them where there are several.

    The eigenvalue may be a little too large, as it is where the gap to the next one is small: Rayleigh's quotient of
    a first estimate takes its place.
    """
    vector = _start(np.diag(K))
    for _ in range(2):
        lower, pivots = _factors((eigenvalue + _SHIFT) * np.eye(4) - K)
        for _ in range(2):
            vector = _solution(lower, pivots, vector)
            vector = vector / maximum(maximum(abs(vector[0]), abs(vector[1])), maximum(abs(vector[2]), abs(vector[3])))
        eigenvalue = (vector @ K @ vector) / (vector @ vector)
    return vector


def _start(diagonal: Any) -> Array:
    """Unit vector of the largest diagonal element, with a little of every other."""
    largest = maximum(maximum(diagonal[0], diagonal[1]), maximum(diagonal[2], diagonal[3]))
    return np.array([where(element >= largest, 1.0, 1e-3 * k) for k, element in enumerate(diagonal, start=1)])


def _factors(M: Array) -> tuple[list[list[Any]], list[Any]]:
    """Factors L (unit, lower) and D > 0 (diagonal) of a positive definite matrix M = L D Lᵀ."""
    lower: list[list[Any]] = []
    pivots: list[Any] = []
    for i, row in enumerate(M):
        scaled: list[Any] = []  # L D
        for j in range(i):
            scaled.append(row[j] - sum(scaled[k] * lower[j][k] for k in range(j)))
        lower.append([x / pivot for x, pivot in zip(scaled, pivots, strict=True)])
        pivots.append(maximum(row[i] - sum(x * y for x, y in zip(scaled, lower[i], strict=True)), 0.1 * _SHIFT))
    return lower, pivots


def _solution(lower: list[list[Any]], pivots: list[Any], right: Array) -> Array:
    forward: list[Any] = []
    for row, value in zip(lower, right, strict=True):
        forward.append(value - sum(x * y for x, y in zip(row, forward, strict=True)))
    solution = [value / pivot for value, pivot in zip(forward, pivots, strict=True)]
    for i in reversed(range(len(solution))):
        solution[i] = solution[i] - sum(lower[k][i] * solution[k] for k in range(i + 1, len(solution)))
    return np.array(solution)
