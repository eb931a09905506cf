"""Durations, and spacings of times, that double precision can bear."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Real
from chasles.engine.validators import real, reals
from chasles.trajectories.motion import Floats

#: Durations and spacings of times lie between these, s: even their fifteenth powers, and the reciprocals of these, are
#: normal numbers.
SHORTEST, LONGEST = 1e-18, 1e18
#: Number of different times in double precision that a spacing must hold at least.
INSTANTS = 64


def checked_durations(values: ArrayLike | Real, name: str = "duration", *, zero: bool = False) -> Floats:
    """Return durations that double precision can bear.

    Parameters
    ----------
    values
        Durations, any shape, s.
    name
        Name in error messages.
    zero
        Whether a motion may take no time.

    Raises
    ------
    ArgumentError
        If a duration is not a positive number from 1e-18 to 1e18 s; the message says which.

    Examples
    --------
    >>> checked_durations([1.0, 1e-300])
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: duration must be from 1e-18 to 1e+18 s, not 1e-300 s at [1]: in double ...
    """
    durations = reals(values, name, at_least=0) if zero else reals(values, name, above=0)
    bearable = (durations >= SHORTEST) & (durations <= LONGEST) | (durations == 0.0)
    if not bearable.all():
        value, where = _first(durations, ~bearable)
        raise ArgumentError(
            f"{name} must be from {SHORTEST:g} to {LONGEST:g} s, not {value:g} s{where}: in double precision the "
            "derivatives of such a motion overflow or vanish"
        )
    return durations


def checked_start_time(value: float) -> float:
    """Return a finite time, s."""
    return real(value, "start_time", at_least=-LONGEST, at_most=LONGEST)


def require_spacing(times: Floats, noun: str) -> None:
    """Raise an error if increasing times (k,) follow each other too soon, or too late, for double precision.

    Parameters
    ----------
    times
        Increasing times, shape (k,), s.
    noun
        Name of the event at these times, such as "waypoint".

    Raises
    ------
    ArgumentError
        If two times are less than 1e-18 s or more than 1e18 s apart, or so near to each other, at times so large, that
        there are fewer than 64 different times between them; the message names them.

    Examples
    --------
    >>> require_spacing(np.array([1e9, 1e9 + 1e-6]), "waypoint")
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: waypoint 1 comes 9.54e-07 s after waypoint 0, at 1e+09 s, where double ...
    """
    with np.errstate(over="ignore"):
        spacings = np.diff(times)
    wrong = ~((spacings >= SHORTEST) & (spacings <= LONGEST))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ArgumentError(
            f"{noun} {k + 1} comes {spacings[k]:.3g} s after {noun} {k}; spacings of times must be from {SHORTEST:g} "
            f"to {LONGEST:g} s, or the derivatives overflow or vanish in double precision"
        )
    resolution = np.spacing(np.maximum(np.abs(times[:-1]), np.abs(times[1:])))
    lost = spacings < INSTANTS * resolution
    if lost.any():
        k = int(np.argmax(lost))
        raise ArgumentError(
            f"{noun} {k + 1} comes {spacings[k]:.3g} s after {noun} {k}, at {times[k]:g} s, where double precision "
            f"tells times apart by {resolution[k]:.3g} s only; count times from a later start"
        )


def _first(values: Floats, wrong: NDArray[np.bool_]) -> tuple[float, str]:
    """Return the first wrong value, and its place in the array in words."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return float(values[index]), f" at {list(index)}" if index else ""
