"""Checks of matrices and vectors that only SpaceLib's Maple version has (appendix A).

The manual names them without telling what they return. Numbers are compared with a tolerance, symbols exactly, as far
as SymPy can simplify them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Symbol
from chasles.engine.symbols import exact, is_symbolic
from chasles.geometry.batched import CHECK_TOLERANCE
from chasles.geometry.elementary import Array
from chasles.geometry.projections import pose_distance, rotation_distance
from chasles.interop.spacelib.scalars import zerom
from chasles.interop.spacelib.sizes import real_array, square


def Mcheck(m: Array, tolerance: float = CHECK_TOLERANCE) -> Any:
    """Whether a matrix is a rotation matrix (3×3) or a position matrix (4×4).

    Parameters
    ----------
    m
        Shape (..., 3, 3) or (..., 4, 4).
    tolerance
        Largest distance `Mcheck2` from being one.

    Returns
    -------
    bool or ndarray
        Shape (...). False where there are NaN.

    Examples
    --------
    >>> Mcheck(np.eye(4)), Mcheck(-np.eye(3))
    (True, False)
    """
    matrices = _rotation_or_position(m, "Mcheck")
    if is_symbolic(matrices):
        return _is_exactly(matrices)
    return _truth(np.asarray(Mcheck2(matrices)) <= tolerance)


def Mcheck2(m: Array) -> Any:
    """Distance (Frobenius norm) of a matrix from the nearest rotation matrix (3×3) or position matrix (4×4).

    Parameters
    ----------
    m
        Numbers of shape (..., 3, 3) or (..., 4, 4).

    Examples
    --------
    >>> float(Mcheck2(2 * np.eye(3)))
    1.7320508075688772
    """
    matrices = _rotation_or_position(m, "Mcheck2")
    if is_symbolic(matrices):
        raise ArgumentError("Mcheck2: a matrix of symbols has no distance; `Mcheck` tells whether it is a rotation")
    return rotation_distance(matrices) if matrices.shape[-1] == 3 else pose_distance(matrices)


def Miszero(A: Array, tolerance: float | None = None) -> Any:
    """Whether a matrix is null.

    Parameters
    ----------
    A
        Shape (..., m, n).
    tolerance
        Largest absolute value of an element that counts as null; the machine's precision `zerom` where it is not given.

    Returns
    -------
    bool or ndarray
        Shape (...). False where there are NaN.

    Examples
    --------
    >>> Miszero(np.zeros((3, 3))), Miszero(np.eye(3))
    (True, False)
    """
    return _is_null(A, 2, tolerance, "Miszero", "A")


def viszero(v: Array, tolerance: float | None = None) -> Any:
    """Whether a vector is null.

    Parameters
    ----------
    v
        Shape (..., n).
    tolerance
        Largest absolute value of an element that counts as null; the machine's precision `zerom` where it is not given.

    Returns
    -------
    bool or ndarray
        Shape (...). False where there are NaN.

    Examples
    --------
    >>> viszero([0.0, 0.0, 1e-17]), viszero([0.0, 0.0, 1e-3])
    (True, False)
    """
    return _is_null(v, 1, tolerance, "viszero", "v")


def _rotation_or_position(m: Array, routine: str) -> Array:
    matrices = square(m, None, routine, "m")
    if matrices.shape[-1] > 4:
        raise ArgumentError(f"{routine}: m has shape {matrices.shape}, but must be 3×3 or 4×4")
    return matrices


def _is_null(values: Any, axes: int, tolerance: float | None, routine: str, name: str) -> Any:
    array = real_array(values, routine, name)
    if array.ndim < axes:
        raise ArgumentError(f"{routine}: {name} must be a {('vector', 'matrix')[axes - 1]}, not of shape {array.shape}")
    if is_symbolic(array):
        return all(map(_vanishes, array.flat))
    least = zerom() if tolerance is None else tolerance
    return _truth(np.all(np.abs(array) <= least, axis=tuple(range(-axes, 0))))


def _is_exactly(m: Array) -> bool:
    if m.ndim > 2:
        raise ArgumentError(f"Mcheck: matrices of symbols are checked one at a time, not in a batch of shape {m.shape}")
    import sympy

    R = m[:3, :3]
    last_row = m[3:] - np.eye(m.shape[-1])[3:]
    conditions = [*(R.T @ R - np.eye(3)).flat, sympy.Matrix(R).det() - 1, *last_row.flat]
    return all(map(_vanishes, conditions))


def _vanishes(expression: Symbol) -> bool:
    import sympy

    return bool(sympy.simplify(exact(sympy.sympify(expression))).is_zero)


def _truth(values: Any) -> Any:
    """Truth value of one matrix as Python's, those of a batch as an array."""
    return values if np.ndim(values) else bool(values)
