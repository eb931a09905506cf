"""What the loop is handed at every call of the controller: time, motion, gains, noise, wrenches, in one row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chasles.cached import cached_property
from chasles.plant.base_motion import WAY_SIZE, BaseMotion
from chasles.plant.wrenches import ExternalWrench
from chasles.simulation.references import LoopReference

#: Slices of the rows and of the calls in a row.
Part = tuple[slice, slice]
#: Numbers that are held at a time, 32 MB.
_HELD = 4_000_000


class CallInput(Protocol):
    """Numbers that are computed before the loop runs, some for every call."""

    @property
    def size(self) -> int:
        """How many at a call."""
        ...

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of runs that have their own."""
        ...

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Numbers (*batch, k, size) of the calls at times (k,); the first of them is call number ``first``.

        The loop asks for all calls in order, some at a time, each once.
        """
        ...


@dataclass(frozen=True)
class ScheduledNumbers:
    """Numbers of a controller's schedule, (*batch, k, size) for all calls."""

    table: NDArray[np.float64]

    @property
    def size(self) -> int:
        """How many at a call."""
        return int(self.table.shape[-1])

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of motions that have their own."""
        return self.table.shape[:-2]

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Rows of the table."""
        return self.table[..., first : first + times.size, :]


@dataclass(frozen=True)
class Noise:
    """Independent numbers with the standard normal distribution, a stream for each seed."""

    seeds: NDArray[np.int64]
    size: int
    _streams: list[np.random.Generator] = field(default_factory=list)

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of seeds."""
        return self.seeds.shape

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """The next numbers of each stream."""
        if first == 0:
            self._streams[:] = [np.random.default_rng(int(seed)) for seed in self.seeds.ravel()]
        drawn = np.empty((len(self._streams), times.size, self.size))
        for stream, own in zip(self._streams, drawn, strict=True):
            stream.standard_normal(out=own)
        return drawn.reshape(*self.batch, times.size, self.size)


@dataclass(frozen=True)
class SampledWrenches:
    """External wrenches at the beginning and at the end of the period that follows a call."""

    wrenches: Sequence[ExternalWrench]
    period: float

    @property
    def size(self) -> int:
        """How many at a call."""
        return 12 * len(self.wrenches)

    @property
    def batch(self) -> tuple[int, ...]:
        """All runs feel the same."""
        return ()

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """All wrenches at the times, then all a period later."""
        both = np.array([times, times + self.period])
        values = np.stack([wrench.at_calls(both) for wrench in self.wrenches], axis=-2)  # (2, k, wrenches, 6)
        return np.moveaxis(values, 0, 1).reshape(times.size, self.size)


@dataclass(frozen=True)
class BaseWays:
    """How the base moves through the period that follows a call."""

    base: BaseMotion
    period: float
    size = WAY_SIZE

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of trajectories."""
        return self.base.trajectory.batch

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Numbers of the ways."""
        return self.base.ways(times, self.period)


@dataclass(frozen=True)
class CallInputs:
    """All that is given at a call: what the reference gives, then further inputs by name."""

    reference: LoopReference
    further: Mapping[str, CallInput]

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row; () for a time alone."""
        own = self.reference.given_shape
        more = sum(source.size for source in self.further.values())
        return (math.prod(own) + more,) if more else own

    @cached_property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of runs that are given different rows."""
        return np.broadcast_shapes(self.reference.batch, *(source.batch for source in self.further.values()))

    def split(self, given: Any) -> tuple[Any, dict[str, Any]]:
        """What is for the reference, and the further inputs by name, of one row."""
        if self.shape == self.reference.given_shape:
            return given, {}
        position = math.prod(self.reference.given_shape)
        first = given[:position] if self.reference.given_shape else given[0]
        parts = {}
        for name, source in self.further.items():
            parts[name] = given[position : position + source.size]
            position += source.size
        return first, parts

    def parts(self, rows: int, calls: int) -> list[Part]:
        """Parts of so many rows and calls that memory bears to be given at a time, in order."""
        if not self.shape:
            return [(slice(0, rows), slice(0, calls))]
        most = max(1, _HELD // max(1, math.prod(self.batch) * self.shape[0]))
        if calls <= most:
            return [(some, slice(0, calls)) for some in _slices(rows, most // calls)]
        return [(slice(row, row + 1), some) for row in range(rows) for some in _slices(calls, most)]

    def given(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Rows (*batch, S, k, *shape) for calls at times (S, k), of which the first is call number ``first``."""
        of_reference = self.reference.given(times)
        if self.shape == self.reference.given_shape:
            return of_reference
        position = math.prod(self.reference.given_shape)
        rows = np.empty((*self.batch, *times.shape, *self.shape))
        rows[..., :position] = of_reference if self.reference.given_shape else of_reference[..., None]
        for source in self.further.values():
            values = source.rows(times.ravel(), first)
            rows[..., position : position + source.size] = values.reshape(*source.batch, *times.shape, source.size)
            position += source.size
        return rows

    def each_call(self, times: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """What is given at each of the times (S, k) in turn, shape (*batch, *shape)."""
        axis, first = len(self.batch), 0
        for part in self.parts(*times.shape):
            some = times[part]
            for row in np.moveaxis(self.given(some, first), (axis, axis + 1), (0, 1)):
                yield from row
            first += some.size


def _slices(count: int, most: int) -> list[slice]:
    """Cut a number of things into slices of at most so many."""
    return [slice(first, min(first + most, count)) for first in range(0, count, most)]
