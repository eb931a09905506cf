"""Sizes of matrices, which C's routines are told and Python's arrays know."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine.scalar import boxed
from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array


def real_array(values: Any) -> Array:
    """Return an array of floats, or of the traced scalars or symbols that are given.

    Examples
    --------
    >>> real_array([1, 2])
    array([1., 2.])
    """
    array = boxed(values)
    if np.iscomplexobj(array):
        raise ArgumentError("SpaceLib's numbers are real, not complex")
    return array if array.dtype == object else array.astype(np.float64)


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
    array = real_array(A)
    size = (*array.shape, 1) if array.ndim == 1 else array.shape[-2:]
    if array.ndim == 0 or any(told is not None and told != known for told, known in zip((d1, d2), size, strict=True)):
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
