"""Arguments of an inverse kinematics call, checked before a solver is chosen."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array
from chasles.engine.validators import reals

#: Largest number of iterations for a target: some hours of one core.
MOST_ITERATIONS = 1_000_000_000
#: Largest number of starts that a selection compares; all of them are held in memory.
MOST_STARTS = 100_000
MOST_SEEDS = 2**64

_DOUBLE = np.dtype(np.float64)  # which NumPy has once: asking whether it is this one is far quicker than comparing


def targets(T_world_target: ArrayLike, positions: bool = False) -> NDArray[np.float64]:
    """Return targets (..., 4, 4), made from positions (..., 3) where these are enough; they may have NaN."""
    if T_world_target.__class__ is np.ndarray and T_world_target.shape == (4, 4) and T_world_target.dtype is _DOUBLE:
        return T_world_target
    goals = np.asarray(as_array(T_world_target, "", "T_world_target"), dtype=np.float64)
    if goals.shape[-1:] == (3,):
        if not positions:
            raise ArgumentError(
                f"T_world_target has shape {goals.shape}; expected (..., 4, 4), "
                "or with mask='position' positions (..., 3)"
            )
        poses = np.tile(np.eye(4), (*goals.shape[:-1], 1, 1))
        poses[..., :3, 3] = goals
        return poses
    if goals.shape[-2:] != (4, 4):
        raise ArgumentError(f"T_world_target has shape {goals.shape}; expected (..., 4, 4)")
    return goals


def configurations(
    values: ArrayLike, n: int, name: str, goals: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return configurations (..., n) whose batch axes broadcast against those of the targets, if there are any."""
    q = reals(values, name, (..., n))
    return q if goals is None else _fitting(q, name, goals, 1)


def angles(values: ArrayLike, name: str, goals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one number for each target."""
    return _fitting(reals(values, name), name, goals, 0)


def tolerance_pair(tolerance: ArrayLike) -> NDArray[np.float64]:
    """Return angle and distance as an array (2,).

    >>> tolerance_pair(1e-6)
    array([1.e-06, 1.e-06])
    """
    try:
        pair = reals(tolerance, "tolerance", (2,), broadcast=True, above=0)
    except ArgumentError as error:
        raise type(error)(f"{error}; to leave out the angle or the distance, use mask=…") from None
    return _constant(*pair.tolist())


@cache
def _constant(*values: float) -> NDArray[np.float64]:
    array = np.array(values)
    array.flags.writeable = False
    return array


def _fitting(values: NDArray[np.float64], name: str, goals: NDArray[np.float64], axes: int) -> NDArray[np.float64]:
    """Return `values` if they broadcast against the targets; `axes` is the number of axes of one value."""
    batch, batch_of_goals = values.shape[: values.ndim - axes], goals.shape[:-2]
    if batch and batch_of_goals:
        try:
            np.broadcast_shapes(batch, batch_of_goals)
        except ValueError:
            raise ArgumentError(
                f"the batch axes {batch} of {name} do not broadcast against {batch_of_goals} of the targets"
            ) from None
    return values
