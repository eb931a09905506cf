"""Arguments of routines: arrays of real numbers, their sizes, and `dim`, 3×3 parts of larger square matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array
from chasles.engine.program.scalar import Traced, boxed
from chasles.engine.symbols import is_symbol, is_symbolic
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import plain_code

_FLOAT64 = np.dtype(np.float64)


def real_array(values: ArrayLike, routine: str = "SpaceLib", name: str = "an argument") -> Array:
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


def matrix(A: Array, d1: int | None, d2: int | None, routine: str, name: str = "A") -> Array:
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
        expected = ", ".join("any" if size is None else str(size) for size in (d1, d2))
        raise ArgumentError(f"{routine}: {name} has shape {array.shape}, but the rows and columns must be ({expected})")
    return array


def same_size(A: Array, B: Array, routine: str) -> None:
    """Raise `ArgumentError` unless two arrays of matrices have as many rows and columns.

    Examples
    --------
    >>> same_size(np.eye(3), np.eye(3), "sum")
    """
    if A.shape[-2:] != B.shape[-2:]:
        raise ArgumentError(f"{routine}: A and B must have the same rows and columns, not {A.shape} and {B.shape}")


def checked_dim(dim: object, routine: str, least: int = 3, name: str = "dim") -> int:
    """Return the size of a square matrix as a whole number, or raise `ArgumentError` if it is too small or no number.

    Examples
    --------
    >>> checked_dim(4, "rotat")
    4
    """
    number = plain_code(dim)
    if number.__class__ is not int or number < least:
        raise ArgumentError(f"{routine}: {name} must be a whole number from {least}, not {dim!r}")
    return int(number)


def square(A: Array, dim: int | None, routine: str, name: str = "A", least: int = 3) -> Array:
    """Return square matrices as an array of floats, traced scalars or symbols.

    Parameters
    ----------
    A
        Shape (..., dim, dim).
    dim
        The size it must have; None for any from `least`.
    routine, name
        For the message of the error.
    least
        Smallest size.

    Examples
    --------
    >>> square([[1, 2], [3, 4]], None, "norm_simm_skew", least=1)
    array([[1., 2.],
           [3., 4.]])
    """
    matrix = real_array(A, routine, name)
    size = checked_dim(dim, routine, least) if dim is not None else matrix.shape[-1] if matrix.ndim else 0
    if matrix.ndim < 2 or matrix.shape[-2:] != (size, size) or size < least:
        expected = f"dim {dim}" if dim is not None else f"square, from {least}×{least} on"
        raise ArgumentError(f"{routine}: {name} has shape {matrix.shape}, but must be {expected}")
    return matrix


def upper_left(A: Array, dim: int | None, routine: str, name: str = "A") -> Array:
    """Return the 3×3 upper-left parts of square matrices.

    Examples
    --------
    >>> upper_left(np.eye(4), 4, "extract").shape
    (3, 3)
    """
    matrix = square(A, dim, routine, name)
    part = matrix[..., :3, :3]
    return np.ascontiguousarray(part) if matrix.ndim == 2 else part  # one sample goes to machine code as it stands


def embedded(block: Sequence[Any] | Array, dim: object, routine: str, diagonal: float = 0.0) -> Array:
    """Return a dim×dim matrix with a 3×3 block in its upper-left part.

    The original leaves the other elements as they were. Here they are those of the null matrix, or of the identity
    (`diagonal` 1) where the block is a rotation.

    Examples
    --------
    >>> embedded(np.eye(3), 4, "rotat", diagonal=1.0)
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    size = checked_dim(dim, routine)
    rows = [[*row, *[0.0] * (size - 3)] for row in block]
    return np.array(rows + [[diagonal if i == j else 0.0 for j in range(size)] for i in range(3, size)])
