"""Nearest rotations and poses: projections, distances, means; and the kinds that `check=True` examines.

The nearest rotation is the one with the largest tr(Rᵀ A) = qᵀ K q. So its quaternion is the eigenvector of the largest
eigenvalue λ of the matrix K (Horn, Closed-form solution of absolute orientation using unit quaternions, J. Opt. Soc.
Am. A 4, 1987). With the singular values of A, the smallest one with the sign of det A, it is
λ = σ1 + σ2 + σ3, and the others lie below it by 2 (σ2 + σ3), 2 (σ1 + σ3) and 2 (σ1 + σ2). So a negative determinant and
a singular matrix need no case of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import maximum, sqrt, where
from chasles.engine.arguments import as_array
from chasles.engine.program.scalar import Real, boxed
from chasles.engine.symbols import is_symbol, is_symbolic
from chasles.geometry.batched import Kind, batched
from chasles.geometry.elementary import Array, pose
from chasles.geometry.vectors import euclidean_norm


def quaternion_matrix(A: Array) -> Array:
    """Symmetric K (4, 4), linear in a matrix A (3, 3), with qᵀ K q = tr(R(q)ᵀ A) for every unit quaternion q.

    For a rotation K = 4 q qᵀ - I with the rotation's own quaternion.
    """
    (a, b, c), (d, e, f), (g, h, i) = A
    return np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )


def quaternion_multiple(R: Array) -> Array:
    """Quaternion (4,) of a rotation (3, 3), multiplied by four times its component of largest magnitude.

    It is the row of 4 q qᵀ in which nothing cancels (Shepperd, Quaternion from rotation matrix, J. Guidance and Control
    1, 1978). Symbols cancel nothing: theirs is the row of w, which is null for half a turn alone.
    """
    of_w, of_x, of_y, of_z = np.eye(4) + quaternion_matrix(R)
    if is_symbol(of_w[0]) and not of_w[0].is_zero:
        return np.asarray(of_w)
    x, y, z = np.diag(R)
    of_vector = where(z > maximum(x, y), of_z, where(x > y, of_x, of_y))
    return np.asarray(where(x + y + z > maximum(maximum(x, y), z), of_w, of_vector))


def rotation_of_quaternion(q: Array) -> Array:
    """Rotation (3, 3) of a quaternion of any length but zero."""
    w, x, y, z = q
    k = 2.0 / (w * w + x * x + y * y + z * z)
    kx, ky, kz = k * x, k * y, k * z
    return np.array(
        [
            [1.0 - (ky * y + kz * z), kx * y - kz * w, kx * z + ky * w],
            [kx * y + kz * w, 1.0 - (kx * x + kz * z), ky * z - kx * w],
            [kx * z - ky * w, ky * z + kx * w, 1.0 - (kx * x + ky * y)],
        ]
    )


_NEWTON_STEPS = 24
_SMALLEST_SLOPE = 1e-8  # a double root cannot be found more exactly than to the root of the rounding error
_SHIFT = 1e-13  # makes the factorised matrix positive definite in spite of rounding errors


def nearest_rotation(A: Array) -> Array:
    """Rotation (3, 3) nearest to a matrix (3, 3) in the Frobenius norm; see `chasles.geometry.project_rotation`."""
    if any(map(is_symbol, A.flat)):
        raise ArgumentError("the rotation nearest to a matrix is found step by step: no formula of symbols gives it")
    largest: Real = 0.0
    for entry in A.flat:
        largest = maximum(largest, abs(entry))
    is_null = largest <= 0.0
    A = A / where(is_null, 1.0, largest) + np.eye(3) * where(is_null, 1.0, 0.0)
    A = A / sqrt((A * A).sum())
    K = quaternion_matrix(A)
    return rotation_of_quaternion(_eigenvector(K, _largest_eigenvalue(A)))


def _largest_eigenvalue(A: Array) -> Real:
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


def _eigenvector(K: Array, eigenvalue: Real) -> Array:
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


def _start(diagonal: Array) -> Array:
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


@batched(A=(3, 3))
def project_rotation(A: Array) -> Array:
    """Rotation nearest to a matrix: the one with the least sum of squared differences of the entries.

    For a matrix with a positive determinant this is the orthogonal factor of the polar decomposition. Where the
    determinant is negative, the direction of the smallest singular value is reversed: the result is always a rotation.

    Parameters
    ----------
    A
        Any matrix, shape (..., 3, 3); it may be singular. Where several rotations are equally near (rank one or zero,
        or a negative determinant with equal smaller singular values), one of them is returned: for the null matrix, the
        identity. Derivatives are meaningless there.

    Returns
    -------
    ndarray
        Rotation R, shape (..., 3, 3).

    Examples
    --------
    >>> project_rotation([[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, -1.0]]).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return nearest_rotation(A)


@batched(A=(3, 3))
def rotation_distance(A: Array) -> Real:
    """Distance of a matrix from the nearest rotation: the Frobenius norm of their difference.

    Parameters
    ----------
    A
        Any matrix, shape (..., 3, 3).

    Returns
    -------
    ndarray
        Shape (...); infinite where an entry is. Its derivative at a rotation, which has none, is taken as 0.

    Examples
    --------
    >>> rotation_distance([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
    np.float64(0.5)
    """
    distance = euclidean_norm((A - nearest_rotation(A)).ravel())
    return where(euclidean_norm(A.ravel()) >= np.inf, np.inf, distance)


ROTATION = Kind((3, 3), "rotation matrix", rotation_distance, "`project_rotation` gives the nearest rotation")


@batched(A=(4, 4))
def project_pose(A: Array) -> Array:
    """Pose nearest to a matrix in the Frobenius norm.

    Parameters
    ----------
    A
        Matrix, shape (..., 4, 4). Its upper left block goes to the nearest rotation (see `project_rotation`), the
        translation stays, and the last row becomes (0, 0, 0, 1), whatever it was.

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> project_pose(1.1 * pose(np.eye(3), [1.0, 2.0, 3.0])).round(12) + 0.0
    array([[1. , 0. , 0. , 1.1],
           [0. , 1. , 0. , 2.2],
           [0. , 0. , 1. , 3.3],
           [0. , 0. , 0. , 1. ]])
    """
    return pose(project_rotation(A[:3, :3]), A[:3, 3])


@batched(A=(4, 4))
def pose_distance(A: Array) -> Real:
    """Distance of a matrix from the nearest pose, in the Frobenius norm.

    Parameters
    ----------
    A
        Matrix, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (...); infinite where an entry is. Its derivative at a pose, which has none, is taken as 0.

    Examples
    --------
    >>> pose_distance(np.diag([1.0, 1.0, 1.0, 4.0]))
    np.float64(3.0)
    """
    from_last_row = A[3] - np.array([0.0, 0.0, 0.0, 1.0])
    distance = euclidean_norm(np.array([rotation_distance(A[:3, :3]), *from_last_row]))
    return where(euclidean_norm(A[:3, 3]) >= np.inf, np.inf, distance)


POSE = Kind((4, 4), "pose", pose_distance, "`project_pose` gives the nearest pose")


def mean_rotation(rotations: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Mean of rotations: the rotation with the least weighted sum of squared Frobenius distances from them.

    It is the rotation nearest to the mean of the matrices (Moakher, Means and averaging in the group of rotations, SIAM
    J. Matrix Analysis and Applications 24, 2002).

    Parameters
    ----------
    rotations
        Rotations, shape (..., n, 3, 3).
    weights
        Weights ≥ 0, not all zero, shape (..., n); default: equal weights.

    Returns
    -------
    ndarray
        Shape (..., 3, 3). Where the best rotation is not unique, as for two that differ by the angle pi, one of the
        best.

    Raises
    ------
    ArgumentError
        If there is no rotation to average or the weights do not fit.

    Examples
    --------
    >>> from chasles.geometry import rotation_angle, rotation_x
    >>> mean = mean_rotation([rotation_x(0.1), rotation_x(0.5)], weights=[3.0, 1.0])
    >>> rotation_angle(mean).round(4)
    np.float64(0.199)
    """
    R = _numbers_or_traced(rotations, "rotations")
    if R.ndim < 3 or R.shape[-2:] != (3, 3):
        raise ArgumentError(f"mean_rotation: rotations have shape {R.shape}, not (..., n, 3, 3)")
    if R.shape[-3] == 0:
        raise ArgumentError("mean_rotation: there is no rotation to average: rotations have shape (..., 0, 3, 3)")
    if weights is None:
        return project_rotation(R.sum(axis=-3) / R.shape[-3])
    w = _numbers_or_traced(weights, "weights")
    if w.ndim == 0 or w.shape[-1] != R.shape[-3]:
        raise ArgumentError(f"mean_rotation: weights have shape {w.shape}, not (..., {R.shape[-3]}), one a rotation")
    if w.dtype != object and (np.any(w < 0.0) or np.any(np.all(w == 0.0, axis=-1))):
        raise ArgumentError("mean_rotation: weights must not be negative, and not all zero")
    return project_rotation((w[..., None, None] * R).sum(axis=-3))


def random_rotation(
    seed: int | np.random.Generator | None = None, shape: int | tuple[int, ...] = ()
) -> NDArray[np.float64]:
    """Rotations drawn uniformly: every orientation is equally likely.

    Parameters
    ----------
    seed
        Seed, or random number generator; default: a new generator each time.
    shape
        Shape of the batch.

    Returns
    -------
    ndarray
        Rotations, shape (*shape, 3, 3).

    Examples
    --------
    >>> random_rotation(seed=1, shape=(2, 5)).shape
    (2, 5, 3, 3)
    """
    lead = (shape,) if isinstance(shape, int) else tuple(shape)
    q = np.random.default_rng(seed).normal(size=(4, *lead))  # its direction is uniform on the unit sphere
    return np.moveaxis(rotation_of_quaternion(q), (0, 1), (-2, -1))


def _numbers_or_traced(values: ArrayLike, name: str) -> Array:
    return boxed(values) if is_symbolic(values) else np.asarray(as_array(values, "", name), dtype=np.float64)
