"""What the loop is handed at every call of the controller: time, motion, gains, noise, wrenches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.engine import Layout
from chasles.engine.program.records import Shapes
from chasles.simulation.plant.base_motion import PATH_SIZE, BaseMotion
from chasles.simulation.plant.wrenches import ExternalWrench
from chasles.simulation.references import LoopReference

#: Slices of the rows and of the calls in a row.
Part = tuple[slice, slice]
#: Values that are held at a time, 32 MB.
_HELD = 4_000_000


class CallInput(Protocol):
    """Values that are computed before the loop runs, some for every call."""

    @property
    def shapes(self) -> Shapes:
        """Shapes of the inputs of a call."""
        ...

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of runs that have their own."""
        ...

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Vectors (*batch, k, size) of the calls at times (k,); the first of them is call number ``first``.

        The loop asks for all calls in order, some at a time, each once.
        """
        ...


@dataclass(frozen=True)
class ScheduledValues:
    """Values of a controller's schedule: vectors (*batch, k, size) for all calls, and the layout of one."""

    table: NDArray[np.float64]
    layout: Layout

    @property
    def shapes(self) -> Shapes:
        """Shapes of a call's values."""
        return self.layout.shapes

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of motions that have their own."""
        return self.table.shape[:-2]

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Rows of the table."""
        return self.table[..., first : first + times.size, :]


@dataclass(frozen=True)
class Noise:
    """Independent values at a call, standard normal or uniform from 0 to 1; a stream for each seed."""

    seeds: NDArray[np.int64]
    shapes: tuple[int, ...]
    uniform: bool = False
    _streams: list[np.random.Generator] = field(default_factory=list)

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of seeds."""
        return self.seeds.shape

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Next values of each stream."""
        if first == 0:
            self._streams[:] = [np.random.default_rng(int(seed)) for seed in self.seeds.ravel()]
        drawn = np.empty((len(self._streams), times.size, math.prod(self.shapes)))
        for stream, of_stream in zip(self._streams, drawn, strict=True):
            (stream.random if self.uniform else stream.standard_normal)(out=of_stream)
        return drawn.reshape(*self.batch, times.size, -1)


@dataclass(frozen=True)
class SampledWrenches:
    """External wrenches at the beginning and at the end of the period that follows a call, (2, w, 6)."""

    wrenches: Sequence[ExternalWrench]
    period: float
    batch = ()

    @property
    def shapes(self) -> Shapes:
        """Shape of all wrenches at both times."""
        return (2, len(self.wrenches), 6)

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """All wrenches at the times, then all a period later."""
        both = np.array([times, times + self.period])
        values = np.stack([wrench.at_calls(both) for wrench in self.wrenches], axis=-2)  # (2, k, w, 6)
        return np.moveaxis(values, 0, 1).reshape(times.size, -1)


@dataclass(frozen=True)
class BasePaths:
    """Motion of the base through the period that follows a call."""

    base: BaseMotion
    period: float
    shapes = (PATH_SIZE,)

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of trajectories."""
        return self.base.trajectory.batch

    def rows(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Values of the paths."""
        return self.base.paths(times, self.period)


@dataclass(frozen=True)
class CallInputs:
    """All inputs of a call: the reference's values, then further inputs by name."""

    reference: LoopReference
    further: Mapping[str, CallInput]

    @cached_property
    def layout(self) -> Layout:
        """Parts of the inputs of a call."""
        return Layout({**self.reference.shapes, **{name: source.shapes for name, source in self.further.items()}})

    @cached_property
    def batch(self) -> tuple[int, ...]:
        """Shape of the batch of runs that are given different values."""
        return np.broadcast_shapes(self.reference.batch, *(source.batch for source in self.further.values()))

    def parts(self, rows: int, calls: int) -> list[Part]:
        """Split the calls (rows, calls) into chunks that fit in memory, in order."""
        most = max(1, _HELD // max(1, math.prod(self.batch) * self.layout.size))
        if calls <= most:
            return [(some, slice(0, calls)) for some in _slices(rows, most // calls)]
        return [(slice(row, row + 1), some) for row in range(rows) for some in _slices(calls, most)]

    def given(self, times: NDArray[np.float64], first: int) -> NDArray[np.float64]:
        """Vectors (*batch, S, k, size) for calls at times (S, k), of which the first is call number ``first``."""
        of_reference = self.reference.given(times)
        if not self.further:
            return self.layout.join(of_reference)
        vectors = np.empty((*self.batch, *times.shape, self.layout.size))
        reference = Layout(self.reference.shapes)
        vectors[..., : reference.size] = reference.join(of_reference)
        for name, source in self.further.items():
            rows = source.rows(times.ravel(), first)
            vectors[..., self.layout.slices[name]] = rows.reshape(*source.batch, *times.shape, rows.shape[-1])
        return vectors

    def each_call(self, times: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        """Vector (*batch, size) of the inputs at each of the times (S, k)."""
        axis, first = len(self.batch), 0
        for part in self.parts(*times.shape):
            some = times[part]
            for row in np.moveaxis(self.given(some, first), (axis, axis + 1), (0, 1)):
                yield from row
            first += some.size


def _slices(count: int, most: int) -> list[slice]:
    """Cut a range of `count` into slices of at most `most`."""
    return [slice(first, min(first + most, count)) for first in range(0, count, most)]
