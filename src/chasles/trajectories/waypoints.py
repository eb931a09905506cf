"""Checks of what splines are made of: times, and configurations at these times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError
from chasles.trajectories.durations import require_spacing

FloatArray = NDArray[np.float64]

#: Largest magnitude of a position, velocity or acceleration; coefficients of splines through larger ones overflow.
LARGEST = 1e100


def checked_times(times: ArrayLike, *, least: int = 2, what: str = "waypoint") -> FloatArray:
    """Return increasing times, shape (k,), k at least `least`, with spacings that double precision can bear."""
    t = increasing_times(times, least=least, what=what)
    require_spacing(t, what)
    return t


def increasing_times(times: ArrayLike, *, least: int, what: str) -> FloatArray:
    """Return increasing times, shape (k,), k at least `least`."""
    t = numbers(times, f"the times of the {what}s")
    if t.ndim != 1:
        raise ArgumentError(f"the times of the {what}s must have shape (k,), not {t.shape}")
    if len(t) < least:
        raise ArgumentError(f"at least {least} {what}s are needed, not {len(t)}")
    if not np.isfinite(t).all():
        k = int(np.argmin(np.isfinite(t)))
        raise ArgumentError(f"the time of {what} {k} is {t[k]}")
    late = np.diff(t) <= 0.0
    if late.any():
        k = int(np.argmax(late)) + 1
        relation = "at the same time as" if t[k] == t[k - 1] else "before"
        raise ArgumentError(
            f"times must increase, but {what} {k} ({t[k]:g} s) is {relation} {what} {k - 1} ({t[k - 1]:g} s)"
        )
    return t


def checked_waypoints(waypoints: ArrayLike, times: FloatArray, *, what: str = "waypoint") -> FloatArray:
    """Return finite configurations, shape (..., k, n), one for each time."""
    q = numbers(waypoints, f"the {what}s")
    if q.ndim < 2 or q.shape[-2] != len(times) or q.shape[-1] < 1:
        raise ArgumentError(f"the {what}s must have shape (..., {len(times)}, n), one row for each time, not {q.shape}")
    if not (np.abs(q) <= LARGEST).all():
        *batch, k, joint = (int(i) for i in np.argwhere(~(np.abs(q) <= LARGEST))[0])
        place = f" of trajectory {batch}" if batch else ""
        value = q[*batch, k, joint]
        beyond = f", beyond {LARGEST:g}" if np.isfinite(value) else ""
        raise ArgumentError(f"{what} {k}{place}: joint {joint} is {value}{beyond}")
    return q


def checked_rates(values: ArrayLike, shape: tuple[int, ...], name: str) -> FloatArray:
    """Return finite velocities or accelerations that broadcast to a shape."""
    array = numbers(values, name)
    try:
        array = np.array(np.broadcast_to(array, shape))
    except ValueError:
        raise ArgumentError(f"{name} must broadcast to shape {shape}, not have shape {array.shape}") from None
    if not (np.abs(array) <= LARGEST).all():
        index = tuple(int(i) for i in np.argwhere(~(np.abs(array) <= LARGEST))[0])
        fault = f"is {array[index]:g}, beyond {LARGEST:g}" if np.isfinite(array[index]) else "is not finite"
        raise ArgumentError(f"{name}{list(index)} {fault}")
    return array


def numbers(values: ArrayLike, name: str) -> FloatArray:
    """Return a copy as an array of floats."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be an array of numbers") from None
