"""Least squares, sample by sample, with forgetting; and covariances as parts of a memory: their upper triangles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import where
from chasles.engine.program.scalar import Array, Real


class Fitted(NamedTuple):
    """Estimate (r, m) or (m,), and covariance (m, m) of each of its rows up to the noise's variance."""

    estimate: Array
    covariance: Array


def recursive_least_squares(
    estimate: Array, covariance: Array, regressor: Array, measured: Array, *, forgetting: Real = 1.0, weight: Real = 1.0
) -> Fitted:
    """Update a least-squares estimate with one sample ``measured = estimate @ regressor``.

    Parameters
    ----------
    estimate
        Current estimate, one row per measured quantity, (r, m); or (m,) for a single quantity.
    covariance
        P, symmetric (m, m).
    regressor
        Regressor z, shape (m,).
    measured
        Measurement y, shape (r,), or a scalar.
    forgetting
        Forgetting factor rho in (0, 1]: weight of each sample relative to the next.
    weight
        Weight of this sample.

    Returns
    -------
    Fitted
        Updated estimate and covariance. After N samples from P_0 and theta_0, theta minimises the sum over k of
        rho^(N-k) weight_k (y_k - theta z_k)^2 + rho^N (theta - theta_0) P_0^-1 (theta - theta_0). P stays positive
        definite.

    Notes
    -----
    Plackett 1950; Astrom & Wittenmark, Adaptive Control, chapter "Real-time parameter estimation". P is updated as
    (P - K z^T P) / rho with K = P z / (rho / weight + z^T P z).

    Examples
    --------
    The mean of 1, 2 and 6, found one by one:

    >>> fitted = Fitted(np.zeros(1), np.array([[1e8]]))
    >>> for y in (1.0, 2.0, 6.0):
    ...     fitted = recursive_least_squares(*fitted, np.ones(1), y)
    >>> fitted.estimate.round(4)
    array([3.])
    """
    P_z = covariance @ regressor
    shared = 1.0 / (forgetting + weight * (regressor @ P_z))
    innovation = measured - estimate @ regressor
    gain = (weight * shared) * P_z
    following = estimate + (np.outer(innovation, gain) if np.ndim(estimate) == 2 else innovation * gain)
    m = len(P_z)
    rows = [[(covariance[i, j] - gain[i] * P_z[j]) / forgetting for j in range(i, m)] for i in range(m)]
    return Fitted(following, np.array([[rows[min(i, j)][abs(i - j)] for j in range(m)] for i in range(m)]))


def bounded_covariance(covariance: Array, first: Array, limit: Real, forgetting: Real) -> Any:
    """The covariance, without the last sample's forgetting where it would else have grown too much.

    Forgetting makes covariances of what is not excited grow without bound, and estimates burst. As P without forgetting
    never grows, this mean stays below the limit if it began there.

    Parameters
    ----------
    covariance
        P after a sample, (m, m).
    first, limit
        Diagonal of the first P, (m,), and upper bound of the mean of P[k, k] / first[k].
    forgetting
        Divisor of P in this step.
    """
    growth = sum(covariance[k, k] / first[k] for k in range(len(covariance)))
    return where(growth > limit * len(covariance), forgetting * covariance, covariance)


def packed(matrix: Array) -> Array:
    """The upper triangle of a symmetric matrix, row by row.

    Examples
    --------
    >>> packed(np.array([[1.0, 2.0], [2.0, 3.0]]))
    array([1., 2., 3.])
    """
    return matrix[np.triu_indices(len(matrix))]


def unpacked(elements: Array, count: int) -> Array:
    """The symmetric matrix (count, count) of its upper triangle.

    Examples
    --------
    >>> unpacked(np.array([1.0, 2.0, 3.0]), 2)
    array([[1., 2.],
           [2., 3.]])
    """
    indices: NDArray[np.intp] = np.empty((count, count), dtype=np.intp)
    rows, columns = np.triu_indices(count)
    indices[rows, columns] = indices[columns, rows] = np.arange(len(rows))
    return elements[indices]
