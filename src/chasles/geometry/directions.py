"""Directions of lines and normals of planes, compared without loss of digits: formulas for one sample."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chasles.engine import absolute, generally, maximum, where
from chasles.engine.symbols import is_symbol
from chasles.geometry import elementary
from chasles.geometry.elementary import Array
from chasles.geometry.vectors import normalize

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


def same_side(u1: Array, u2: Array) -> Any:
    """1.0 where two vectors make an angle of a quarter turn or less, else -1.0.

    >>> import numpy as np
    >>> float(same_side(np.array([1.0, 0.0, 0.0]), np.array([-1.0, 1.0, 0.0])))
    -1.0
    """
    return generally(u1 @ u2 < 0.0, -1.0, 1.0)


def largest_component(*vectors: Array) -> Any:
    """Largest absolute value of the components of all vectors; symbols count as 1, which no formula depends on.

    >>> import numpy as np
    >>> float(largest_component(np.array([1.0, -3.0, 2.0]), np.array([0.0, 0.0, 2.0])))
    3.0
    """
    components = [component for vector in vectors for component in vector]
    if any(map(is_symbol, components)):
        return 1.0
    largest: Any = 0.0
    for component in components:
        largest = maximum(largest, absolute(component))
    return largest


def is_parallel(squared_sine: Any, tolerance: float) -> Any:
    """Whether the squared sine of an angle is that of parallel directions; a formula of symbols if it vanishes.

    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> is_parallel(1e-26, 1e-12), is_parallel(sympy.cos(x) ** 2 + sympy.sin(x) ** 2 - 1, 1e-12), is_parallel(x, 1e-12)
    (True, True, False)
    """
    if is_symbol(squared_sine):
        return squared_sine.is_zero or squared_sine.simplify().is_zero is True
    return squared_sine <= tolerance**2


def are_finite(*vectors: Array) -> Any:
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
