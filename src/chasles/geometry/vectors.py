"""Vectors of three components: products, lengths, angles; and directions compared without loss of digits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chasles.engine import absolute, atan2, generally, maximum, sqrt, where
from chasles.engine.program.scalar import Real, Symbol, Truth
from chasles.engine.symbols import is_symbol
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array


@batched(a=(3,), b=(3,))
def cross(a: Array, b: Array) -> Array:
    """Cross product a x b.

    Parameters
    ----------
    a, b
        Vectors, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3).

    Examples
    --------
    >>> cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    array([0., 0., 1.])
    """
    return elementary.cross(a, b)


@batched(a=(3,))
def skew(a: Array) -> Array:
    """Cross-product matrix of a vector: skew(a) @ b = a x b.

    Parameters
    ----------
    a
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3, 3).

    Examples
    --------
    >>> skew([1.0, 2.0, 3.0])
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    return elementary.skew(a)


@batched(A=(3, 3))
def vee(A: Array) -> Array:
    """Vector (3,) of the skew part of a matrix: the inverse of `skew`.

    Parameters
    ----------
    A
        Matrix, shape (..., 3, 3). Its symmetric part is ignored.

    Returns
    -------
    ndarray
        Shape (..., 3): half the differences of the entries across the diagonal.

    Examples
    --------
    >>> vee(skew([1.0, 2.0, 3.0]))
    array([1., 2., 3.])
    """
    return 0.5 * np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])


@batched(a=(3,), b=(3,))
def dot(a: Array, b: Array) -> Real:
    """Scalar product a · b.

    Parameters
    ----------
    a, b
        Vectors, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> dot([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    np.float64(32.0)
    """
    return a @ b


@batched(a=(3,))
def norm(a: Array) -> Real:
    """Length of a vector, without overflow or underflow for lengths such as 1e-300 and 1e300.

    Parameters
    ----------
    a
        Vector, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (...). Its derivative at the null vector, which has none, is taken as 0.

    Examples
    --------
    >>> norm([3e300, 4e300, 0.0])
    np.float64(5e+300)
    """
    return euclidean_norm(a)


@batched(a=(3,))
def normalize(a: Array) -> Array:
    """Unit vector in the direction of a vector of any length.

    Parameters
    ----------
    a
        Vector, shape (..., 3). A null vector has no direction: NaN.

    Returns
    -------
    ndarray
        Shape (..., 3).

    Examples
    --------
    >>> normalize([3e-300, 4e-300, 0.0])
    array([0.6, 0.8, 0. ])
    """
    scaled = a * _safe_scale(a)[0]
    unit: Array = scaled / sqrt(scaled @ scaled)
    return unit


@batched(a=(3,), b=(3,))
def angle_between(a: Array, b: Array) -> Real:
    """Angle in [0, pi] between two vectors of any length, rad.

    The angle has full accuracy near 0 and near pi, where the arc cosine of the scalar product loses half of the digits.

    Parameters
    ----------
    a, b
        Vectors, shape (..., 3). A null vector makes the angle 0.

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> angle_between([1.0, 0.0, 0.0], [1.0, 1e-12, 0.0])
    np.float64(1e-12)
    """
    a, b = a * _safe_scale(a)[0], b * _safe_scale(b)[0]
    return atan2(euclidean_norm(elementary.cross(a, b)), a @ b)


def euclidean_norm(components: Array) -> Real:
    """Root of the sum of squares of any number of components: a plain formula; see `norm`."""
    if any(map(is_symbol, components)):
        return sqrt(components @ components)
    scale, inverse = _safe_scale(components)
    scaled = components * scale
    square = scaled @ scaled
    is_null = square <= 0.0
    return where(is_null, 0.0, sqrt(where(is_null, 1.0, square)) * inverse)


def _safe_scale(components: Array) -> tuple[Any, Any]:
    """Power of two that takes components to where their squares neither overflow nor underflow, and its inverse."""
    if any(map(is_symbol, components)):
        return 1.0, 1.0
    largest: Real = 0.0
    for component in components:
        largest = maximum(largest, absolute(component))
    tiny, huge = largest < 2.0**-400, largest > 2.0**400
    scale = where(tiny, 2.0**600, where(huge, 2.0**-600, 1.0))
    return scale, where(tiny, 2.0**-600, where(huge, 2.0**600, 1.0))


UNDEFINED = -2
"""Case of lines and planes that do not exist, or whose numbers are not finite, in `LinePair` and its like."""

CASE_TOLERANCE = 1e-12
"""Where a case must be decided: the sine of an angle up to which directions count as parallel, and the distance, in
parts of the largest coordinate that takes part, up to which lines and planes count as meeting."""

#: A vector whose square differs from 1 by no more than this is a unit vector but for rounding.
_ROUNDING = 1e-15


def unit_direction(v: Array) -> Array:
    """Unit vector in the direction of v; NaN for the null vector.

    A vector that is a unit vector already, to rounding, stays as it is, so that the difference of two nearly parallel
    ones keeps all its digits.

    >>> import numpy as np
    >>> unit_direction(np.array([0.0, 0.0, 2.0]))
    array([0., 0., 1.])
    """
    unit = normalize.formula(v)
    if any(map(is_symbol, v)):
        return unit
    chosen: Array = where(absolute(v @ v - 1.0) <= _ROUNDING, v, unit)
    return chosen


def unit_difference(u1: Array, u2: Array) -> Array:
    """Difference of two unit vectors, or their sum if that is smaller: exact where they are nearly parallel.

    >>> import numpy as np
    >>> unit_difference(np.array([1.0, 0.0, 0.0]), np.array([-1.0, 1e-20, 0.0]))
    array([0.e+00, 1.e-20, 0.e+00])
    """
    difference: Array = u2 - same_side(u1, u2) * u1
    return difference


def cross_of_directions(u1: Array, u2: Array) -> Array:
    """Cross product of two unit vectors, with all its digits where they are nearly parallel.

    >>> import numpy as np
    >>> cross_of_directions(np.array([1.0, 0.0, 0.0]), np.array([-1.0, 1e-20, 0.0]))
    array([0.e+00, 0.e+00, 1.e-20])
    """
    return elementary.cross(u1, unit_difference(u1, u2))


def same_side(u1: Array, u2: Array) -> Real:
    """1.0 where two vectors make an angle of a quarter turn or less, else -1.0.

    >>> import numpy as np
    >>> float(same_side(np.array([1.0, 0.0, 0.0]), np.array([-1.0, 1.0, 0.0])))
    -1.0
    """
    return generally(u1 @ u2 < 0.0, -1.0, 1.0)


def largest_component(*vectors: Array) -> Real:
    """Largest absolute value of the components of all vectors; symbols count as 1, which no formula depends on.

    >>> import numpy as np
    >>> float(largest_component(np.array([1.0, -3.0, 2.0]), np.array([0.0, 0.0, 2.0])))
    3.0
    """
    components = [component for vector in vectors for component in vector]
    if any(map(is_symbol, components)):
        return 1.0
    largest: Real = 0.0
    for component in components:
        largest = maximum(largest, absolute(component))
    return largest


def is_parallel(squared_sine: Symbol, tolerance: float) -> Truth:
    """Whether the squared sine of an angle is that of parallel directions; a formula of symbols if it vanishes.

    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> is_parallel(1e-26, 1e-12), is_parallel(sympy.cos(x) ** 2 + sympy.sin(x) ** 2 - 1, 1e-12), is_parallel(x, 1e-12)
    (True, True, False)
    """
    if is_symbol(squared_sine):
        return squared_sine.is_zero or squared_sine.simplify().is_zero is True
    return squared_sine <= tolerance**2


def are_finite(*vectors: Array) -> Truth:
    """Whether all components of all vectors are finite; symbols are, unless they stand with NaN or infinity.

    >>> import numpy as np
    >>> bool(are_finite(np.array([1.0, 2.0]), np.array([3.0]))), bool(are_finite(np.array([1.0, np.nan])))
    (True, False)
    """
    components = [component for vector in vectors for component in vector]
    if not any(map(is_symbol, components)):
        return largest_component(np.array(components)) < math.inf
    import sympy

    infinite = (sympy.nan, sympy.zoo, sympy.oo, -sympy.oo)
    return not any(sympy.sympify(component).has(*infinite) for component in components)
