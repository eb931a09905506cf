"""Section 2.3: the macros on scalars. They take numbers of any type, arrays, traced scalars and symbols."""

from __future__ import annotations

from typing import Any

from chasles import engine
from chasles.interop.spacelib.codes import PIG
from chasles.interop.spacelib.routines import routine


@routine(a=())
def aabs(a: Any) -> Any:
    """Absolute value; shape (...).

    Examples
    --------
    >>> float(aabs(-3))
    3.0
    """
    return engine.absolute(a)


@routine(a=(), b=())
def max(a: Any, b: Any) -> Any:
    """Larger of two numbers; shapes (...). NaN if either is NaN, where C's macro gives b.

    Examples
    --------
    >>> float(max(1, 2))
    2.0
    """
    return engine.maximum(a, b)


@routine(a=(), b=())
def min(a: Any, b: Any) -> Any:
    """Smaller of two numbers; shapes (...). NaN if either is NaN, where C's macro gives b.

    Examples
    --------
    >>> float(min(1, 2))
    1.0
    """
    return engine.minimum(a, b)


@routine(x=())
def sign(x: Any) -> Any:
    """Sign: -1, 0 or 1; shape (...). NaN for NaN, where C's macro gives 0.

    Examples
    --------
    >>> sign([-0.5, 0.0, 7.0])
    array([-1.,  0.,  1.])
    """
    return engine.sign(x)


@routine(x=())
def rad(x: Any) -> Any:
    """Degrees to radians: x / 180 pi; shape (...).

    Examples
    --------
    >>> float(rad(180))
    3.141592653589793
    """
    return x / 180.0 * PIG


@routine(x=())
def deg(x: Any) -> Any:
    """Radians to degrees: 180 x / pi; shape (...).

    Examples
    --------
    >>> import math
    >>> float(deg(math.pi))
    180.0
    """
    return x * 180.0 / PIG
