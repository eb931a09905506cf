"""References as the closed loop takes them: traced into its program, or sampled beforehand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from chasles.engine import Function, trace
from chasles.errors import ArgumentError
from chasles.trajectories.motion import Motion, Reference
from chasles.trajectories.trajectory import CartesianTrajectory, JointTrajectory

#: Slices of the rows and of the calls in a row.
Part = tuple[slice, slice]
#: Numbers of a sampled reference that are held at a time, 32 MB.
_HELD = 4_000_000


class LoopReference(Protocol):
    """What the closed loop knows of its reference.

    At every call of the controller the loop is handed one ``given``: the time, or an array of shape `given_shape`
    that holds the time and the motion at it.
    """

    @property
    def n(self) -> int:
        """Number of joints."""
        ...

    @property
    def start_time(self) -> float:
        """Time at which it starts, s; of a batch the first."""
        ...

    @property
    def duration(self) -> float:
        """Time from start to end, s; of a batch from the first start to the last end."""
        ...

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of references, each for a run of its own."""
        ...

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Names and numbers that may be varied."""
        ...

    @property
    def given_shape(self) -> tuple[int, ...]:
        """Shape of what is given at one call."""
        ...

    def at(self, given: Any, parameters: Mapping[str, Any]) -> tuple[Any, Motion]:
        """Time and motion at one call of the controller; on numbers or traced scalars."""
        ...

    def given(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """What is given at times (S, k), shape (*batch, S, k, *given_shape)."""
        ...

    def parts(self, rows: int, calls: int) -> list[Part]:
        """Parts of so many rows and calls that memory bears to be given at a time, in order."""
        ...

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Motion at its start for parameters with leading batch axes, if they are varied."""
        ...


@dataclass(frozen=True)
class TracedReference:
    """A reference whose formula becomes part of the loop's program."""

    reference: Reference
    given_shape = ()
    batch = ()

    @cached_property
    def n(self) -> int:
        """Number of joints."""
        return int(np.size(self._first.q))

    @property
    def start_time(self) -> float:
        """Time at which it starts, s."""
        return float(getattr(self.reference, "start_time", 0.0))

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return float(self.reference.duration)

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Names and numbers that may be varied."""
        return self.reference.parameters

    def at(self, given: Any, parameters: Mapping[str, Any]) -> tuple[Any, Motion]:
        """Time and motion."""
        return given, self.reference.motion(given, parameters)

    def given(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the times."""
        return times

    def parts(self, rows: int, calls: int) -> list[Part]:
        """All at once."""
        return [(slice(0, rows), slice(0, calls))]

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Motion at its start."""
        if not varied:
            return self._first
        names = list(self.parameters)

        def motion(t: Any, *values: Any) -> tuple[Any, ...]:
            return tuple(self.reference.motion(t, dict(zip(names, values, strict=True))))

        shapes = {"t": (), **{name: np.shape(value) for name, value in self.parameters.items()}}
        function = Function(trace(motion, shapes, name="reference_start", outputs=Motion._fields))
        return Motion(*function(self.start_time, *(parameters[name] for name in names)))

    @cached_property
    def _first(self) -> Motion:
        return self.reference.motion(self.start_time, self.parameters)


@dataclass(frozen=True)
class SampledReference:
    """A trajectory that is evaluated before the loop runs; at each call the loop is handed time, q, qd and qdd."""

    trajectory: JointTrajectory

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.trajectory.n

    @property
    def start_time(self) -> float:
        """Time at which the first of a batch starts, s."""
        return float(np.min(self.trajectory.start_time))

    @property
    def duration(self) -> float:
        """Time from the first start to the last end, s."""
        return float(np.max(self.trajectory.end_time)) - self.start_time

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of trajectories."""
        return self.trajectory.batch

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """None: its numbers are worked into the samples."""
        return {}

    @property
    def given_shape(self) -> tuple[int, ...]:
        """Time, q, qd, qdd in one row."""
        return (1 + 3 * self.n,)

    def at(self, given: Any, parameters: Mapping[str, Any]) -> tuple[Any, Motion]:
        """Time and motion of a row."""
        n = self.n
        return given[0], Motion(given[1 : 1 + n], given[1 + n : 1 + 2 * n], given[1 + 2 * n :])

    def given(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows of time, q, qd, qdd."""
        motion = self.trajectory(times.reshape(*times.shape, *(1,) * len(self.batch)))
        given = np.empty((*self.batch, *times.shape, *self.given_shape))
        given[..., 0] = times
        for k, part in enumerate(motion):
            given[..., 1 + k * self.n : 1 + (k + 1) * self.n] = np.moveaxis(part, (0, 1), (-3, -2))
        return given

    def parts(self, rows: int, calls: int) -> list[Part]:
        """Parts of a few million numbers: some rows, or a part of one."""
        most = max(1, _HELD // max(1, math.prod(self.batch) * self.given_shape[0]))
        if calls <= most:
            return [(some, slice(0, calls)) for some in _slices(rows, most // calls)]
        return [(slice(row, row + 1), some) for row in range(rows) for some in _slices(calls, most)]

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Motion at the start of the simulation, at rest for those of a batch that start later."""
        return self.trajectory(self.start_time)


def loop_reference(reference: Any) -> LoopReference:
    """Return a reference in the form that suits it.

    Raises
    ------
    ArgumentError
        If it is not the motion of joints.
    """
    if hasattr(reference, "motion") and not getattr(reference, "batch", ()):
        return TracedReference(reference)
    if isinstance(reference, JointTrajectory):
        return SampledReference(reference)
    if isinstance(reference, CartesianTrajectory):
        raise ArgumentError(
            f"{type(reference).__name__} moves a frame in space, but the reference of a simulation moves joints: "
            "chasles.follow(robot, trajectory) gives the joint motion that makes the robot follow it"
        )
    raise ArgumentError(f"a reference is a motion such as chasles.PointToPoint(...), not {reference!r}")


def given_at_calls(reference: LoopReference, times: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """What is given at each of the times (S, k) in turn, shape (*batch, *given_shape)."""
    axis = len(reference.batch)
    for part in reference.parts(*times.shape):
        for row in np.moveaxis(reference.given(times[part]), (axis, axis + 1), (0, 1)):
            yield from row


def _slices(count: int, most: int) -> list[slice]:
    """Cut a number of things into slices of at most so many."""
    return [slice(first, min(first + most, count)) for first in range(0, count, most)]
