"""Matrices freed from the errors that computation has left in them (section 3.4.1 of the manual)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.engine import absolute, sqrt, where
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary, project_rotation
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import largest_component
from chasles.interop.spacelib.codes import NOTOK, OK, SKEW, SYMM, checked_code
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import checked_dim, square

#: A matrix counts as singular when its determinant is this small beside that of a rotation with the same norm.
_SINGULAR = 1e-12


@comparable
class Normalized(NamedTuple):
    """Results of `normal`: the matrix R with an orthogonal rotation part, and OK, or NOTOK where that was singular."""

    R: Array
    rv: Real


def normal(R: Array, n: int | None = None) -> Normalized:
    """Orthogonalise a rotation matrix, or the rotation part of a position matrix.

    The result is the limit of eq. (3.7): the orthogonal factor of the polar decomposition, after a change of sign where
    the determinant is negative. It is the nearest rotation wherever the determinant is positive.

    Parameters
    ----------
    R
        Rotation or position matrix, shape (..., n, n).
    n
        Size of R, 3 or 4; it may be left out.

    Returns
    -------
    Normalized
        R and OK. Where the rotation part is singular eq. (3.7) has no limit: there R holds some nearest rotation, with
        NOTOK. (The original returns the number of its iterations, and never NOTOK.)

    Examples
    --------
    >>> R, rv = normal([[1.1, 0, 0], [0, 1.1, 0], [0, 0, 1.1]])
    >>> R.round(12) + 0.0, int(rv)
    (array([[1., 0., 0.],
            [0., 1., 0.],
            [0., 0., 1.]]), 1)
    """
    matrix = square(R, n, "normal", "R")
    sizes = {3: normal3, 4: normal4}
    size = matrix.shape[-1]
    if size not in sizes:
        raise ArgumentError(f"normal: the size n of R must be 3 or 4, not {size}")
    return sizes[size](matrix)


@routine(R=(3, 3), codes=("rv",))
def normal3(R: Array) -> Normalized:
    """Orthogonalise a rotation matrix (..., 3, 3): ``normal(R, 3)``.

    Examples
    --------
    >>> normal3(2 * np.eye(3)).R[0].round(12) + 0.0
    array([1., 0., 0.])
    """
    largest = largest_component(R.ravel())
    scaled = R / where(largest > 0.0, largest, 1.0)
    determinant = scaled[0] @ elementary.cross(scaled[1], scaled[2])
    squared_norm = (scaled.ravel() @ scaled.ravel()) / 3.0
    regular = absolute(determinant) > _SINGULAR * squared_norm * sqrt(squared_norm)
    upright = where(determinant < 0.0, -1.0, 1.0)
    return Normalized(project_rotation(upright * scaled), where(regular, float(OK), float(NOTOK)))


@routine(R=(4, 4), codes=("rv",))
def normal4(R: Array) -> Normalized:
    """Orthogonalise the rotation part of a position matrix (..., 4, 4): ``normal(R, 4)``.

    Examples
    --------
    >>> normal4(np.diag([2.0, 2.0, 2.0, 1.0])).R[0].round(12) + 0.0
    array([1., 0., 0., 0.])
    """
    rotation, rv = normal3(R[:3, :3])
    rows = [[*turned, row[3]] for turned, row in zip(rotation, R, strict=False)]
    return Normalized(np.array([*rows, list(R[3])]), rv)


def norm_simm_skew(A: Array, n: int, dim: int | None, sign: int) -> Array:
    """Symmetric or skew-symmetric part of the upper-left n×n part of a matrix, eqs. (3.8) and (3.9).

    Parameters
    ----------
    A
        Square matrix, shape (..., dim, dim).
    n
        Size of the part, at most dim. (The manual says n ≥ dim, which is a slip.)
    dim
        Size of A; it may be None.
    sign
        `SYMM` for (A + Aᵗ)/2, `SKEW` for (A - Aᵗ)/2. Unlike that of `skew`, this has a half.

    Returns
    -------
    ndarray
        A, shape (..., dim, dim); its other elements are as they were.

    Examples
    --------
    >>> norm_simm_skew([[1, 2], [4, 5]], 2, 2, SYMM)
    array([[1., 3.],
           [3., 5.]])
    """
    matrix = square(A, dim, "norm_simm_skew", least=1)
    size = checked_dim(n, "norm_simm_skew", least=1, name="n")
    if size > matrix.shape[-1]:
        raise ArgumentError(f"norm_simm_skew: n is {size}, more than the size {matrix.shape[-1]} of A")
    half = 0.5 * checked_code(sign, {"SYMM": SYMM, "SKEW": SKEW}, "norm_simm_skew", "sign")
    part = matrix[..., :size, :size]
    normalized = 0.5 * part + half * np.swapaxes(part, -2, -1)
    upper = np.concatenate([normalized, matrix[..., :size, size:]], axis=-1)
    return np.concatenate([upper, matrix[..., size:, :]], axis=-2)


def n_simm3(A: Array) -> Array:
    """Symmetric part of a matrix (..., 3, 3): ``norm_simm_skew(A, 3, 3, SYMM)``.

    Examples
    --------
    >>> n_simm3([[0, 1, 0], [0, 0, 0], [0, 0, 0]])[0]
    array([0. , 0.5, 0. ])
    """
    return norm_simm_skew(A, 3, 3, SYMM)


def n_simm34(A: Array) -> Array:
    """Matrix (..., 4, 4) with its upper-left 3×3 part made symmetric: ``norm_simm_skew(A, 3, 4, SYMM)``.

    Examples
    --------
    >>> n_simm34(np.triu(np.ones((4, 4))))[0]
    array([1. , 0.5, 0.5, 1. ])
    """
    return norm_simm_skew(A, 3, 4, SYMM)


def n_simm4(A: Array) -> Array:
    """Symmetric part of a matrix (..., 4, 4): ``norm_simm_skew(A, 4, 4, SYMM)``.

    Examples
    --------
    >>> n_simm4(np.triu(np.ones((4, 4))))[0]
    array([1. , 0.5, 0.5, 0.5])
    """
    return norm_simm_skew(A, 4, 4, SYMM)


def n_skew3(A: Array) -> Array:
    """Skew-symmetric part of a matrix (..., 3, 3): ``norm_simm_skew(A, 3, 3, SKEW)``.

    Examples
    --------
    >>> n_skew3([[0, 1, 0], [0, 0, 0], [0, 0, 0]])[0]
    array([0. , 0.5, 0. ])
    """
    return norm_simm_skew(A, 3, 3, SKEW)


def n_skew34(A: Array) -> Array:
    """Matrix (..., 4, 4) with its upper-left 3×3 part made skew-symmetric: ``norm_simm_skew(A, 3, 4, SKEW)``.

    Examples
    --------
    >>> n_skew34(np.triu(np.ones((4, 4))))[0]
    array([0. , 0.5, 0.5, 1. ])
    """
    return norm_simm_skew(A, 3, 4, SKEW)


def n_skew4(A: Array) -> Array:
    """Skew-symmetric part of a matrix (..., 4, 4): ``norm_simm_skew(A, 4, 4, SKEW)``.

    Examples
    --------
    >>> n_skew4(np.triu(np.ones((4, 4))))[0]
    array([0. , 0.5, 0.5, 0.5])
    """
    return norm_simm_skew(A, 4, 4, SKEW)
