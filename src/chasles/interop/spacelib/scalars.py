"""Macros on scalars (section 2.3), of numbers, arrays, traced scalars and symbols; precision (section 3.11)."""

from __future__ import annotations

import numpy as np

from chasles import engine
from chasles.engine.program.scalar import Real
from chasles.interop.spacelib.codes import PIG
from chasles.interop.spacelib.routines import routine


@routine(a=())
def aabs(a: Real) -> Real:
    """Absolute value; shape (...).

    Examples
    --------
    >>> float(aabs(-3))
    3.0
    """
    return engine.absolute(a)


@routine(a=(), b=())
def max(a: Real, b: Real) -> Real:
    """Larger of two numbers; shapes (...). NaN if either is NaN, where C's macro gives b.

    Examples
    --------
    >>> float(max(1, 2))
    2.0
    """
    return engine.maximum(a, b)


@routine(a=(), b=())
def min(a: Real, b: Real) -> Real:
    """Smaller of two numbers; shapes (...). NaN if either is NaN, where C's macro gives b.

    Examples
    --------
    >>> float(min(1, 2))
    1.0
    """
    return engine.minimum(a, b)


@routine(x=())
def sign(x: Real) -> Real:
    """Sign: -1, 0 or 1; shape (...). NaN for NaN, where C's macro gives 0.

    Examples
    --------
    >>> sign([-0.5, 0.0, 7.0])
    array([-1.,  0.,  1.])
    """
    return engine.sign(x)


@routine(x=())
def rad(x: Real) -> Real:
    """Degrees to radians: x / 180 pi; shape (...).

    Examples
    --------
    >>> float(rad(180))
    3.141592653589793
    """
    return x / 180.0 * PIG


@routine(x=())
def deg(x: Real) -> Real:
    """Radians to degrees: 180 x / pi; shape (...).

    Examples
    --------
    >>> import math
    >>> float(deg(math.pi))
    180.0
    """
    return x * 180.0 / PIG


def dzerom() -> float:
    """Precision of a double: the smallest power of two e with 1 + e different from 1.

    Examples
    --------
    >>> dzerom()
    2.220446049250313e-16
    """
    return float(np.finfo(np.float64).eps)


def fzerom() -> float:
    """Precision of a single-precision number: the smallest power of two e with 1 + e different from 1.

    Examples
    --------
    >>> fzerom()
    1.1920928955078125e-07
    """
    return float(np.finfo(np.float32).eps)


def zerom() -> float:
    """Precision of SpaceLib's type `real`, which is double here.

    Examples
    --------
    >>> zerom() == dzerom()
    True
    """
    return dzerom()
