"""Arrays that routines are given: real numbers, of the sizes that C's routines are told and Python's arrays know."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine.arguments import as_array
from chasles.engine.scalar import Traced, boxed
from chasles.engine.symbols import is_symbol, is_symbolic
from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array

_FLOAT64 = np.dtype(np.float64)


def real_array(values: Any, routine: str = "SpaceLib", name: str = "an argument") -> Array:
    """Return an array of floats, or of the traced scalars or symbols that are given.

    Parameters
    ----------
    values
        Real numbers, traced scalars or symbols. An array of floats is returned as it is, not copied.
    routine, name
        For the message of the error.

    Raises
    ------
    ArgumentError
        For complex numbers, text, other objects, and rows of different lengths.

    Examples
    --------
    >>> real_array([1, 2], "cross", "a")
    array([1., 2.])
    """
    if values.__class__ is np.ndarray and values.dtype is _FLOAT64:
        floats: Array = values
        return floats
    if not is_symbolic(values):
        return np.asarray(as_array(values, routine, name), dtype=np.float64)
    symbols = boxed(values)
    numbers = [element for element in symbols.flat if not isinstance(element, Traced) and not is_symbol(element)]
    as_array(np.array(numbers, dtype=object), routine, name)
    return symbols


def matrix(A: Any, d1: int | None, d2: int | None, routine: str, name: str = "A") -> Array:
    """Return matrices as an array, and make sure that they have the sizes that a routine is told.

    Parameters
    ----------
    A
        Shape (..., d1, d2). A single column may also be a vector, shape (d1,); it stays one.
    d1, d2
        Numbers of rows and columns; None for any.
    routine, name
        For the message of the error.

    Examples
    --------
    >>> matrix([[1, 2, 3]], 1, 3, "sum")
    array([[1., 2., 3.]])
    >>> matrix([1, 2, 3], 3, 1, "sum")
    array([1., 2., 3.])
    """
    array = real_array(A, routine, name)
    rows, columns = array.shape[-2:] if array.ndim > 1 else (*array.shape, 1) if array.ndim else (-1, -1)
    if rows < 0 or (d1 is not None and d1 != rows) or (d2 is not None and d2 != columns):
        wanted = ", ".join("any" if told is None else str(told) for told in (d1, d2))
        raise ArgumentError(f"{routine}: {name} has shape {array.shape}, but the rows and columns must be ({wanted})")
    return array


def same_size(A: Array, B: Array, routine: str) -> None:
    """Raise `ArgumentError` unless two arrays of matrices have as many rows and columns.

    Examples
    --------
    >>> same_size(np.eye(3), np.eye(3), "sum")
    """
    if A.shape[-2:] != B.shape[-2:]:
        raise ArgumentError(f"{routine}: A and B must have the same rows and columns, not {A.shape} and {B.shape}")
