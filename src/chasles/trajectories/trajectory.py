"""`Trajectory`: times in, motion out; the base of joint and Cartesian trajectories."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine.program.scalar import Quantity
from chasles.engine.validators import doubles, real

M = TypeVar("M", bound=NamedTuple)
#: More samples than this are more likely a slip in dt than a wish.
_MOST_SAMPLES = 10_000_000


class Samples(NamedTuple, Generic[M]):
    """Times (k,), s, and the motion at each."""

    t: NDArray[np.float64]
    motion: M


class Trajectory(Sealed, Generic[M]):
    """A motion as a function of time; the base of joint and Cartesian trajectories.

    Called with times of any shape, it returns the motion at each. It rests at its first position before its start, and
    at its last position after its end. The axes of a batch broadcast with those of the times.

    Attributes
    ----------
    knots
        Times at which its pieces meet, from start to end, shape (k,) or (*batch, k), s. Between knots it is smooth.
    batch
        Shape of a batch of trajectories; () for one.
    """

    knots: NDArray[np.float64]
    batch: tuple[int, ...] = ()

    @property
    def start_time(self) -> Quantity:
        """Start time, s; has the batch shape if the trajectories of a batch differ."""
        return self.knots[..., 0]

    @property
    def end_time(self) -> Quantity:
        """End time, s."""
        return self.knots[..., -1]

    @property
    def duration(self) -> Quantity:
        """Time from start to end, s."""
        return self.end_time - self.start_time

    @property
    def span(self) -> tuple[float, float]:
        """Earliest start and latest end of a batch, s.

        Raises
        ------
        ArgumentError
            The batch is empty.
        """
        if 0 in self.batch:
            raise ArgumentError(f"this is a batch of no trajectories, {self.batch}: it has no times")
        return float(np.min(self.start_time)), float(np.max(self.end_time))

    @abstractmethod
    def __call__(self, t: ArrayLike) -> M:
        """Motion at times of any shape, s."""

    def sample_times(self, dt: float) -> NDArray[np.float64]:
        """Return times from start to end in steps of dt (s); the last step may be shorter to include the end."""
        first, last = self.span
        dt = checked_step(dt)
        if last - first > _MOST_SAMPLES * dt:
            raise ArgumentError(f"{last - first:g} s in steps of {dt:g} s are more than {_MOST_SAMPLES:,} samples")
        count = int(np.floor((last - first) / dt * (1.0 + 1e-12)))
        times = np.asarray(first + dt * np.arange(count + 1), dtype=np.float64)
        if last - times[-1] > 1e-9 * min(dt, last - first):
            return np.append(times, last)
        times[-1] = last
        return times

    def sample(self, dt: float) -> Samples[M]:
        """Return times in steps of dt (s) and the motion at each; batch axes precede the time axis."""
        times = self.sample_times(dt)
        return Samples(times, self._along(times))

    def _along(self, times: NDArray[np.float64]) -> M:
        """Motion of each trajectory of the batch at each of the times, (*batch, k, ...)."""
        if not self.batch:
            return self(times)
        motion = self(times.reshape(-1, *(1,) * len(self.batch)))
        return type(motion)(*(np.moveaxis(part, 0, len(self.batch)) for part in motion))


def batch_dims(batch: tuple[int, ...]) -> list[str]:
    """Names of the axes of a batch of trajectories.

    >>> batch_dims(()), batch_dims((3,)), batch_dims((3, 2))
    ([], ['trajectory'], ['trajectory_0', 'trajectory_1'])
    """
    return ["trajectory"] if len(batch) == 1 else [f"trajectory_{k}" for k in range(len(batch))]


def checked_step(dt: float) -> float:
    """Return a positive time step, s.

    >>> checked_step(-1.0)
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: dt is -1.0; it must be positive
    """
    return real(dt, "dt", above=0)


def as_times(t: ArrayLike) -> NDArray[np.float64]:
    """Return times of any shape as doubles; they may be NaN or infinite."""
    return doubles(t, "t")
