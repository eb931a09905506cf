"""Rotations as samples: their mean, and random ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine.scalar import boxed
from chasles.engine.symbols import is_symbolic
from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.geometry.rotation_quaternion import rotation_of_quaternion
from chasles.geometry.rotations import project_rotation


def mean_rotation(rotations: ArrayLike, weights: ArrayLike | None = None) -> Array:
    """Mean of rotations: the rotation with the least weighted sum of squared Frobenius distances from them.

    It is the rotation nearest to the mean of the matrices (Moakher, Means and averaging in the group of rotations, SIAM
    J. Matrix Analysis and Applications 24, 2002).

    Parameters
    ----------
    rotations
        Rotations, shape (..., n, 3, 3).
    weights
        Weights ≥ 0, not all zero, shape (..., n); default equal ones.

    Returns
    -------
    ndarray
        Shape (..., 3, 3). Where no rotation is the best, as for two that are half a turn apart, one of the best.

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
    R = _numbers_or_traced(rotations)
    if R.ndim < 3 or R.shape[-2:] != (3, 3):
        raise ArgumentError(f"mean_rotation: rotations have shape {R.shape}, not (..., n, 3, 3)")
    if R.shape[-3] == 0:
        raise ArgumentError("mean_rotation: there is no rotation to average: rotations have shape (..., 0, 3, 3)")
    if weights is None:
        return project_rotation(R.sum(axis=-3) / R.shape[-3])
    w = _numbers_or_traced(weights)
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
        A number that makes the result reproducible, or a generator of random numbers; default a new one each time.
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


def _numbers_or_traced(values: ArrayLike) -> Array:
    return boxed(values) if is_symbolic(values) else np.asarray(values, dtype=np.float64)
