"""Arguments of an inverse kinematics call: every one is checked here, before a solver is chosen."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError, UnknownNameError

#: Largest number of iterations for a target: some hours of one core.
MOST_ITERATIONS = 1_000_000_000
#: Largest number of starts that a selection compares; all of them are held in memory.
MOST_STARTS = 100_000
MOST_SEEDS = 2**64
_WHOLE = (int, float, np.integer)


def targets(T_world_target: ArrayLike) -> NDArray[np.float64]:
    """Return targets (..., 4, 4)."""
    try:
        goals = np.asarray(T_world_target, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("the targets must be poses, arrays of numbers of shape (..., 4, 4)") from None
    if goals.shape[-2:] != (4, 4):
        raise ArgumentError(f"the targets must be poses, of shape (..., 4, 4), not {goals.shape}")
    return goals


def configurations(
    values: ArrayLike, n: int, name: str, goals: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return configurations (..., n) whose batch axes broadcast against those of the targets, if there are any."""
    q = _finite(values, name)
    if q.shape[-1:] != (n,):
        raise ArgumentError(f"{name} must have shape (..., {n}), not {q.shape}")
    return q if goals is None else _fitting(q, name, goals, 1)


def angles(values: ArrayLike, name: str, goals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one number for each target."""
    return _fitting(_finite(values, name), name, goals, 0)


def tolerance_pair(tolerance: ArrayLike) -> NDArray[np.float64]:
    """Return angle and distance as an array (2,).

    >>> tolerance_pair(1e-6)
    array([1.e-06, 1.e-06])
    """
    try:
        array = np.asarray(tolerance, dtype=np.float64)
        pair = tuple(np.broadcast_to(array, (2,)).tolist()) if array.ndim else (float(array),) * 2
    except (TypeError, ValueError):
        raise ArgumentError(f"tolerance must be a number, or an angle and a distance, not {tolerance!r}") from None
    if not all(0.0 < part < np.inf for part in pair):
        raise ArgumentError(
            f"tolerance must be positive and finite, one number or an angle and a distance, not {tolerance!r}; mask=… "
            "leaves out what does not count"
        )
    return _constant(pair)


@cache
def _constant(values: tuple[float, ...]) -> NDArray[np.float64]:
    array = np.array(values)
    array.flags.writeable = False
    return array


def whole_number(value: Any, least: int, most: int, name: str) -> int:
    """Return a whole number between two bounds.

    >>> whole_number(2.5, 1, 10, "starts")
    Traceback (most recent call last):
    ...
    chasles.errors.ArgumentError: starts must be a whole number from 1 to 10, not 2.5
    """
    number = not isinstance(value, bool) and isinstance(value, _WHOLE)
    if not (number and least <= value <= most and value == int(value)):
        raise ArgumentError(f"{name} must be a whole number from {least:,} to {most:,}, not {value!r}")
    return int(value)


def truth(value: Any, name: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def name_among(value: Any, kind: str, known: Iterable[str]) -> None:
    """Raise `UnknownNameError` unless a value is one of the known names."""
    if not (isinstance(value, str) and value in known):
        raise UnknownNameError(kind, str(value), known)


def _finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be an array of numbers, not {values!r}") from None
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} must be finite")
    return numbers


def _fitting(values: NDArray[np.float64], name: str, goals: NDArray[np.float64], axes: int) -> NDArray[np.float64]:
    """Broadcast `values` against the targets; `axes` is the number of axes of one value."""
    batch, batch_of_goals = values.shape[: values.ndim - axes], goals.shape[:-2]
    if batch and batch_of_goals:
        try:
            np.broadcast_shapes(batch, batch_of_goals)
        except ValueError:
            raise ArgumentError(
                f"the batch axes {batch} of {name} do not broadcast against {batch_of_goals} of the targets"
            ) from None
    return values
