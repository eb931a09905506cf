"""What SpaceLib's argument `dim` means here: 3×3 parts of larger square matrices, taken out and put in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import plain_code
from chasles.interop.spacelib.sizes import real_array


def checked_dim(dim: Any, routine: str, least: int = 3, name: str = "dim") -> int:
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


def square(A: Any, dim: int | None, routine: str, name: str = "A", least: int = 3) -> Array:
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
        wanted = f"dim {dim}" if dim is not None else f"square, from {least}×{least} on"
        raise ArgumentError(f"{routine}: {name} has shape {matrix.shape}, but must be {wanted}")
    return matrix


def upper_left(A: Any, dim: int | None, routine: str, name: str = "A") -> Array:
    """Return the 3×3 upper-left parts of square matrices.

    Examples
    --------
    >>> upper_left(np.eye(4), 4, "extract").shape
    (3, 3)
    """
    matrix = square(A, dim, routine, name)
    part = matrix[..., :3, :3]
    return np.ascontiguousarray(part) if matrix.ndim == 2 else part  # one sample goes to machine code as it stands


def embedded(block: Sequence[Any] | Array, dim: Any, routine: str, diagonal: float = 0.0) -> Array:
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
