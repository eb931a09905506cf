"""Matrices, axes and points that are what a routine takes them for; others become NaN, and NaN is what comes of them.

The original computes something with any numbers. Here formulas for one sample put NaN in the place of an illegal
argument. What differs from a legal one by no more than `LEGAL_TOLERANCE` is legal: matrices that have been printed with
three digits and read again are. ``check=True`` is stricter. Symbols are taken to be legal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.engine import absolute, where
from chasles.engine.program.scalar import Truth
from chasles.engine.symbols import is_symbol
from chasles.geometry import elementary
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import largest_component
from chasles.interop.spacelib.codes import U

LEGAL_TOLERANCE = 0.01
"""Largest error of an element of RᵗR, of the last row of a position matrix, of the square of a unit vector's length,
and, relative to the largest angular velocity, of a velocity matrix's symmetric part."""

#: Errors of an angular velocity up to this much of the linear one are what rounding leaves where angular velocities
#: cancel; up to the other (rad/s, rad/s²), of a body at rest.
_ROUNDING, _REST = 1e-12, 1e-11


def legal_rotation(R: Array) -> Array:
    """Return a rotation matrix (3, 3), NaN where it is none.

    Examples
    --------
    >>> bool(np.isnan(legal_rotation(np.diag([1.0, 1.0, -1.0]))).all()), legal_rotation(np.eye(3))[0]
    (True, array([1., 0., 0.]))
    """
    return _where_legal(R, _is_rotation)


def legal_position(m: Array) -> Array:
    """Return a position matrix (4, 4), NaN where it is none.

    Examples
    --------
    >>> bool(np.isnan(legal_position(np.diag([1.0, 1.0, 1.0, 0.0]))).all()), legal_position(np.eye(4))[3]
    (True, array([0., 0., 0., 1.]))
    """
    return _where_legal(m, lambda m: _is_rotation(m[:3, :3]) & _is_small(m[3] - np.array([0.0, 0.0, 0.0, 1.0])))


def legal_axis(u: Array) -> Array:
    """Return a unit vector, NaN where it is none; the null vector, the axis of no rotation, stays.

    Examples
    --------
    >>> legal_axis(np.array([0.0, 0.6, 0.8])), legal_axis(np.array([0.0, 3.0, 4.0]))
    (array([0. , 0.6, 0.8]), array([nan, nan, nan]))
    """
    return _where_legal(u, lambda u: (absolute(u @ u - 1.0) <= LEGAL_TOLERANCE) | (largest_component(u) <= 0.0))


def legal_plane(pl: Array) -> Array:
    """Return a plane [normal, distance] (4,), NaN where its normal is no unit vector.

    Examples
    --------
    >>> legal_plane(np.array([0.0, 0.0, 2.0, -10.0]))
    array([nan, nan, nan, nan])
    """
    return _where_legal(pl, lambda pl: absolute(pl[:3] @ pl[:3] - 1.0) <= LEGAL_TOLERANCE)


def legal_velocity(W: Array) -> Array:
    """Return a velocity matrix W (4, 4), NaN where it is none: not skew-symmetric, or with a last row that is not null.

    Examples
    --------
    >>> W = np.zeros((4, 4))
    >>> W[1, 0] = 2.0  # and where is W[0, 1] = -2?
    >>> bool(np.isnan(legal_velocity(W)).all())
    True
    """
    return _where_legal(W, _is_velocity)


def legal_acceleration(H: Array, omega: Array) -> Array:
    """Return an acceleration matrix (4, 4) of a body with an angular velocity, NaN where it is none.

    The symmetric part of its upper-left part must be skew(omega)², as in H, or null, as in Wp.

    Examples
    --------
    >>> H = np.zeros((4, 4))
    >>> H[1, 0] = 2.0  # and where is H[0, 1] = -2?
    >>> bool(np.isnan(legal_acceleration(H, np.zeros(3))).all())
    True
    """

    def is_legal(H: Array) -> Truth:
        squared = elementary.skew(omega) @ elementary.skew(omega)
        angular, linear = largest_component(H[:3, :3].ravel()), largest_component(H[:3, 3])
        allowed = LEGAL_TOLERANCE * angular + _ROUNDING * linear + _REST
        fits = (_symmetric_part(H[:3, :3] - squared) <= allowed) | (_symmetric_part(H[:3, :3]) <= allowed)
        return fits & (angular + linear < math.inf)

    return _where_legal(H, is_legal)


def legal_origin(O: Array) -> Array:
    """Return a point [x, y, z, 1], NaN where its fourth coordinate is another.

    Examples
    --------
    >>> legal_origin(np.array([1.0, 2.0, 3.0, 0.0]))
    array([nan, nan, nan, nan])
    """
    return _where_legal(O, lambda O: absolute(O[U] - 1.0) <= LEGAL_TOLERANCE)


def _symmetric_part(A: Array) -> Any:
    """Largest element of the symmetric part of a matrix (3, 3)."""
    return largest_component((0.5 * (A + A.T)).ravel())


def _where_legal(array: Array, is_legal: Callable[..., Any]) -> Array:
    if any(map(is_symbol, array.flat)):
        return array
    legal = is_legal(array)
    return np.array([where(legal, element, np.nan) for element in array.flat]).reshape(array.shape)


def _is_rotation(R: Array) -> Truth:
    return _is_small((R.T @ R - np.eye(3)).ravel()) & (R[0] @ elementary.cross(R[1], R[2]) > 0.0)


def _is_velocity(W: Array) -> Truth:
    angular, linear = largest_component(W[:3, :3].ravel()), largest_component(W[:3, 3])
    is_skew = _symmetric_part(W[:3, :3]) <= LEGAL_TOLERANCE * angular + _ROUNDING * linear + _REST
    has_null_row = largest_component(W[3]) <= LEGAL_TOLERANCE * (angular + linear) + _REST
    return is_skew & has_null_row & (angular + linear < math.inf)


def _is_small(errors: Array) -> Truth:
    return largest_component(errors) <= LEGAL_TOLERANCE
