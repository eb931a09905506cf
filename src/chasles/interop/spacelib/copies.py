"""Section 3.9: copies of matrices, of their parts, rows and columns. Each returns a new array."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import Col, Row, checked_code
from chasles.interop.spacelib.sizes import matrix, real_array


def mcopy(A1: Array, d1: int | None = None, d2: int | None = None) -> Array:
    """Copy of a matrix, shape (..., d1, d2).

    Examples
    --------
    >>> mcopy([[1, 2]], 1, 2)
    array([[1., 2.]])
    """
    return matrix(A1, d1, d2, "mcopy", "A1").copy()


def mcopy3(A: Array) -> Array:
    """Copy of a 3×3 matrix, shape (..., 3, 3).

    Examples
    --------
    >>> mcopy3(np.eye(3)).shape
    (3, 3)
    """
    return matrix(A, 3, 3, "mcopy3").copy()


def mcopy4(A: Array) -> Array:
    """Copy of a 4×4 matrix, shape (..., 4, 4).

    Examples
    --------
    >>> mcopy4(np.eye(4)).shape
    (4, 4)
    """
    return matrix(A, 4, 4, "mcopy4").copy()


def vcopy(v1: Array) -> Array:
    """Copy of a vector, shape (..., 3).

    Examples
    --------
    >>> vcopy([1, 2, 3])
    array([1., 2., 3.])
    """
    return _elements(v1, 3, "vcopy", "v1").copy()


def pcopy(P1: Array) -> Array:
    """Copy of a point, shape (..., 4).

    Examples
    --------
    >>> pcopy([1, 2, 3, 1])
    array([1., 2., 3., 1.])
    """
    return _elements(P1, 4, "pcopy", "P1").copy()


def mmcopy(A: Array, B: Array, d1: int | None = None, d2: int | None = None, im: int = 3, jm: int = 3) -> Array:
    """Copy of B with the im×jm upper-left part of A in the place of its own.

    Parameters
    ----------
    A, B
        Shapes (..., m, d1) and (..., n, d2), with im ≤ m, n and jm ≤ d1, d2.
    d1, d2
        Numbers of columns of A and B.
    im, jm
        Rows and columns of the part that is copied.

    Examples
    --------
    >>> mmcopy([[1, 2], [3, 4]], np.zeros((2, 3)), 2, 3, 2, 1)
    array([[1., 0., 0.],
           [3., 0., 0.]])
    """
    source, target = matrix(A, None, d1, "mmcopy"), matrix(B, None, d2, "mmcopy", "B")
    for name, array in (("A", source), ("B", target)):
        if array.ndim < 2 or not (0 <= im <= array.shape[-2] and 0 <= jm <= array.shape[-1]):
            raise ArgumentError(f"mmcopy: {name} has shape {array.shape}, too small for a part of {im}×{jm}")
    return _written(source[..., :im, :jm], target, (slice(im), slice(jm)))


def mcopy34(A: Array, B: Array) -> Array:
    """Copy of a 4×4 matrix B with a 3×3 matrix A as its upper-left part; shapes (..., 3, 3) and (..., 4, 4).

    Examples
    --------
    >>> mcopy34(2 * np.eye(3), np.eye(4)).diagonal()
    array([2., 2., 2., 1.])
    """
    return mmcopy(matrix(A, 3, 3, "mcopy34"), matrix(B, 4, 4, "mcopy34", "B"), 3, 4, 3, 3)


def mcopy43(A: Array) -> Array:
    """Copy of the upper-left 3×3 part of a 4×4 matrix, shape (..., 4, 4).

    Examples
    --------
    >>> mcopy43(np.eye(4)).shape
    (3, 3)
    """
    return matrix(A, 4, 4, "mcopy43")[..., :3, :3].copy()


def mvcopy(A: Array, rows: int | None = None, cols: int | None = None, val: int = 1, type: int = Row) -> Array:
    """Copy of a row or a column of a matrix.

    Parameters
    ----------
    A
        Shape (..., rows, cols).
    rows, cols
        Its sizes.
    val
        Which row or column, counted **from 1**.
    type
        `Row` or `Col`.

    Returns
    -------
    ndarray
        Shape (..., cols) or (..., rows).

    Examples
    --------
    >>> mvcopy([[1, 2], [3, 4]], 2, 2, 2, Col)
    array([2., 4.])
    """
    array = _plane(A, rows, cols, "mvcopy")
    axis = _axis(array, val, type, "mvcopy")
    vector: Array = array.take(val - 1, axis=axis)
    return vector


def vmcopy(
    v: Array, dim: int | None, val: int, type: int, A: Array, rows: int | None = None, cols: int | None = None
) -> Array:
    """Copy of a matrix with a vector in the place of a row or a column.

    Parameters
    ----------
    v
        Shape (..., n) with n ≥ dim.
    dim
        Number of elements of v that are copied; None for all. The rest of the row or column stays as it is.
    val
        Which row or column, counted **from 1**.
    type
        `Row` or `Col`.
    A
        Shape (..., rows, cols).
    rows, cols
        Its sizes.

    Examples
    --------
    >>> vmcopy([7, 8, 9], 3, 4, Col, np.eye(4), 4, 4)[:, 3]
    array([7., 8., 9., 1.])
    """
    array, vector = _plane(A, rows, cols, "vmcopy"), real_array(v, "vmcopy", "v")
    axis = _axis(array, val, type, "vmcopy")
    count = dim if dim is not None else (vector.shape or (0,))[-1]
    room = array.shape[-1 if axis == -2 else -2]
    if not vector.ndim or not 0 <= count <= min(vector.shape[-1], room):
        raise ArgumentError(
            f"vmcopy: dim is {count}, but v has shape {vector.shape} and the {('row', 'column')[type]} {room} elements"
        )
    index = (val - 1, slice(count)) if type == Row else (slice(count), val - 1)
    return _written(vector[..., :count], array, index)


def _elements(values: Any, count: int, routine: str, name: str) -> Array:
    array = real_array(values, routine, name)
    if not array.ndim or array.shape[-1] != count:
        raise ArgumentError(f"{routine}: {name} must have {count} elements, but its shape is {array.shape}")
    return array


def _plane(A: Array, rows: int | None, cols: int | None, routine: str) -> Array:
    array = matrix(A, rows, cols, routine)
    if array.ndim < 2:
        raise ArgumentError(f"{routine}: A must be a matrix, but its shape is {array.shape}")
    return array


def _axis(array: Array, val: int, type: int, routine: str) -> int:
    """Axis along which rows or columns are counted, once `val` is known to be one of them."""
    axis = -2 if checked_code(type, {"Row": Row, "Col": Col}, routine, "type") == Row else -1
    if not 1 <= val <= array.shape[axis]:
        name = "row" if axis == -2 else "column"
        raise ArgumentError(f"{routine}: val must be a {name} from 1 to {array.shape[axis]}, not {val}")
    return axis


def _written(part: Array, target: Array, index: tuple[int | slice, int | slice]) -> Array:
    """Copy of matrices with a part of them replaced; leading axes broadcast."""
    inner = target[(..., *index)].ndim - (target.ndim - 2)
    lead = np.broadcast_shapes(part.shape[: part.ndim - inner], target.shape[:-2])
    dtype = np.result_type(part, target)
    result = np.array(np.broadcast_to(target, lead + target.shape[-2:]), dtype=dtype)
    result[(..., *index)] = part
    return result
