"""The duration of a motion: fixed, or free between a shortest and a longest one.

A free duration T is a constant among the states, the stretch s = T / T₀ of a usual duration T₀, with s⁺ = s. Its first
value is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]
#: Share of the range that the first stretch keeps from its ends.
_INSIDE = 0.01


@dataclass(frozen=True)
class Duration:
    """Shortest, usual and longest duration, s.

    Attributes
    ----------
    shortest, longest
        Limits of the duration; equal where it is fixed.
    """

    shortest: float
    longest: float

    @property
    def is_free(self) -> bool:
        """Whether the duration is free."""
        return self.shortest < self.longest

    @property
    def usual(self) -> float:
        """Duration T₀ of stretch 1: the geometric mean of the limits."""
        return float(np.sqrt(self.shortest * self.longest)) if self.is_free else self.longest

    @property
    def limits(self) -> Floats:
        """Limits of the stretch, (2, 1), or (2, 0) where the duration is fixed."""
        limits = np.array([[self.shortest], [self.longest]]) / self.usual
        return limits if self.is_free else limits[:, :0]

    def first_stretch(self, guess: JointTrajectory | None) -> Floats:
        """Stretch at which iterations begin, that of a guess within the limits, (1,), or (0,) if fixed."""
        low, high = self.limits
        room = _INSIDE * (high - low)
        wanted = 1.0 if guess is None else guess.duration / self.usual
        return np.clip(np.full(low.shape, wanted), low + room, high - room)

    def __str__(self) -> str:
        return f"{self.shortest:g} to {self.longest:g} s" if self.is_free else f"{self.longest:g} s"


def duration_of(given: ArrayLike) -> Duration:
    """Return a duration from one number, or from the shortest and the longest one.

    >>> str(duration_of(1.5)), str(duration_of((0.5, 2.0)))
    ('1.5 s', '0.5 to 2 s')
    """
    if np.ndim(given) == 0:
        fixed = real(given, "duration", above=0.0)
        return Duration(fixed, fixed)
    shortest, longest = reals(given, "duration", (2,))
    if not 0.0 < shortest < longest:
        raise ArgumentError(
            f"duration is ({shortest:g}, {longest:g}); give the shortest and the longest one, 0 < shortest < longest, "
            "or one number for a fixed duration"
        )
    return Duration(float(shortest), float(longest))
