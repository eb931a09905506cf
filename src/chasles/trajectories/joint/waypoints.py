"""Checks of waypoints: times that increase, and configurations at these times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import Shape, reals
from chasles.trajectories.joint.durations import require_spacing
from chasles.trajectories.motion import Floats

#: Largest magnitude of a position, velocity or acceleration; coefficients of splines through larger ones overflow.
LARGEST = 1e100


def checked_times(times: ArrayLike, *, least: int = 2, what: str = "waypoint") -> Floats:
    """Return increasing times, shape (k,), k at least `least`, with spacings that double precision can bear."""
    t = increasing_times(times, least=least, what=what)
    require_spacing(t, what)
    return t


def increasing_times(times: ArrayLike, *, least: int, what: str) -> Floats:
    """Return increasing times, shape (k,), k at least `least`."""
    t = reals(times, "times", ("k",))
    if len(t) < least:
        raise ArgumentError(f"at least {least} {what}s are needed, not {len(t)}")
    late = np.diff(t) <= 0.0
    if late.any():
        k = int(np.argmax(late)) + 1
        relation = "at the same time as" if t[k] == t[k - 1] else "before"
        raise ArgumentError(
            f"times must increase, but {what} {k} ({t[k]:g} s) is {relation} {what} {k - 1} ({t[k - 1]:g} s)"
        )
    return t


def checked_waypoints(waypoints: ArrayLike, times: Floats, *, what: str = "waypoint") -> Floats:
    """Return finite configurations, shape (..., k, n), one for each time."""
    q = bounded(waypoints, f"{what}s", (..., len(times), "n"))
    if q.shape[-1] < 1:
        raise ArgumentError(f"{what}s has shape {q.shape}; there must be at least one joint")
    return q


def bounded(values: ArrayLike, name: str, shape: Shape | None = None, *, broadcast: bool = False) -> Floats:
    """Return numbers of at most 1e100 in magnitude, whose squares are finite; see `chasles.engine.validators.reals`."""
    return reals(values, name, shape, broadcast=broadcast, at_least=-LARGEST, at_most=LARGEST)
