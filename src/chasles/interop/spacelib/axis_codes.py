"""Axes counted from 1, as SpaceLib's MATLAB and Maple versions do: X, Y, Z, U = 1, 2, 3, 4."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from chasles.base.errors import ArgumentError
from chasles.interop.spacelib.codes import plain_code

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

X, Y, Z, U = 1, 2, 3, 4
"""Axes and homogeneous coordinates (table 2.5 of the manual). As an axis of rotation, U means no rotation."""


def counted_from_1(
    function: Callable[Parameters, Result], *axes: str, name: str | None = None
) -> Callable[Parameters, Result]:
    """Return a routine of the C version with axes counted from 1 instead of 0.

    Parameters
    ----------
    function
        The routine.
    *axes
        Its parameters that are codes of axes.
    name
        The routine's name in the other version; the same where it is not given.

    Examples
    --------
    >>> from chasles.interop.spacelib import rotat24
    >>> counted_from_1(rotat24, "a")(U, 0.5, [1, 2, 3, 1])[:3, 3]
    array([1., 2., 3.])
    """
    signature = inspect.signature(function)
    positions = [list(signature.parameters).index(axis) for axis in axes]

    @functools.wraps(function, updated=())
    def routine(*arguments: Any, **keywords: Any) -> Any:
        positional = list(arguments)
        for axis, position in zip(axes, positions, strict=True):
            if axis in keywords:
                keywords[axis] = _counted_from_0(keywords[axis], routine.__name__, axis)
            elif position < len(positional):
                positional[position] = _counted_from_0(positional[position], routine.__name__, axis)
        return function(*positional, **keywords)

    routine.__name__ = routine.__qualname__ = name or routine.__name__
    routine.__module__ = sys._getframe(1).f_globals["__name__"]  # where pickle is to find it: the caller's module
    description = inspect.cleandoc(function.__doc__ or "").partition("\nExamples\n")[0]  # they have the codes of C
    routine.__doc__ = f"{description}\nCodes of axes are 1 (X), 2 (Y), 3 (Z) and 4 (U) here.\n"
    return routine


def _counted_from_0(code: object, routine: str, axis: str) -> int:
    plain = plain_code(code)
    if plain.__class__ is int and plain in (X, Y, Z, U):
        return int(plain) - 1
    raise ArgumentError(f"{routine}: the axis {axis} must be 1 (X), 2 (Y), 3 (Z) or 4 (U), not {code!r}")
