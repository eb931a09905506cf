"""Routines and names that only SpaceLib's MATLAB and Maple versions have (appendix A); see `checks` for the tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine import absolute, floor, sign
from chasles.engine.program.scalar import Real
from chasles.engine.symbols import is_symbolic
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import ORIGIN
from chasles.interop.spacelib.matrices import clear, idmat
from chasles.interop.spacelib.scalars import deg
from chasles.interop.spacelib.sizes import real_array, square

Origin = ORIGIN
"""Maple: the origin of a frame, [0, 0, 0, 1]."""

eye = idmat
"""Maple's other name of `idmat`."""

nullM = clear
"""Maple's other name of `clear`."""

grad = deg
"""MATLAB's obsolete name of `deg`: radians to degrees."""


def jrand(
    imax: int, jmax: int, min: float = 0.0, max: float = 1.0, *, rng: np.random.Generator | int | None = None
) -> Array:
    """Random matrix with elements evenly distributed from `min` to `max` (MATLAB and Maple).

    Parameters
    ----------
    imax, jmax
        Rows and columns.
    min, max
        Bounds of the elements.
    rng
        Generator of random numbers, or the seed of one; None for another matrix at every call.

    Examples
    --------
    >>> jrand(2, 3, -1.0, 1.0, rng=0).shape
    (2, 3)
    """
    if not min <= max:
        raise ArgumentError(f"jrand: the bounds must be in order, not from {min} to {max}")
    return np.random.default_rng(rng).uniform(min, max, (imax, jmax))


def normal_g(A: Array) -> Array:
    """Orthogonal matrix nearest to a square matrix of any size (MATLAB and Maple).

    Parameters
    ----------
    A
        Numbers of shape (..., n, n). A matrix with a negative determinant gives one too.

    Returns
    -------
    ndarray
        The orthogonal factor of the polar decomposition, nearest to A in the Frobenius norm. For a singular A several
        are equally near, and it is one of them. NaN where A has NaN or infinite elements.

    Examples
    --------
    >>> normal_g([[2.0, 0.0], [0.0, -3.0]]) + 0.0
    array([[ 1.,  0.],
           [ 0., -1.]])
    """
    matrices = square(A, None, "normal_g", least=1)
    if is_symbolic(matrices):
        raise ArgumentError("normal_g: A must hold numbers, not symbols")
    numbers = matrices.astype(np.float64)
    finite = np.isfinite(numbers).all(axis=(-2, -1), keepdims=True)
    left, _, right = np.linalg.svd(np.where(finite, numbers, np.eye(numbers.shape[-1])))
    return np.where(finite, left @ right, np.nan)


def fmod(x: Any, y: Any) -> Real:
    """Remainder of x / y with the sign of x (Maple): x - y trunc(x / y), as C's function of this name.

    The manual's description, "fractional part of x/y", leaves out that it is multiplied by y.

    Parameters
    ----------
    x, y
        Numbers, traced scalars or symbols, shapes (...). A null y gives NaN.

    Examples
    --------
    >>> float(fmod(-7.5, 2.0))
    -1.5
    """
    if is_symbolic(x) or is_symbolic(y):
        quotient = x / y
        return x - y * sign(quotient) * floor(absolute(quotient))
    with np.errstate(invalid="ignore"):
        return np.fmod(real_array(x, "fmod", "x"), real_array(y, "fmod", "y"))


def vect3(v: Array) -> Array:
    """First three elements of a vector or point (Maple), shape (..., n) with n ≥ 3.

    Examples
    --------
    >>> vect3([1, 2, 3, 1])
    array([1., 2., 3.])
    """
    vector = real_array(v, "vect3", "v")
    if not vector.ndim or vector.shape[-1] < 3:
        raise ArgumentError(f"vect3: v must have three elements or more, but its shape is {vector.shape}")
    return vector[..., :3].copy()
