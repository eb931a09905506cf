"""A law's schedule at all calls of a run, and how it changes with the values that its gains are designed from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.control import Controller
from chasles.control.now import PlannedMotion
from chasles.engine import Layout
from chasles.simulation.call_inputs import CallInputs, ScheduledValues
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.references import LoopReference

Floats = NDArray[np.float64]
_PREFIX = "controller."


def scheduled(
    controller: Controller, times: NDArray[np.float64], reference: LoopReference, values: Mapping[str, Any]
) -> ScheduledValues:
    """Schedule of a controller at all calls, for each motion of a batch and each run with a schedule of its own."""
    batch, motions = _motions(times, reference, values)
    tables: list[NDArray[np.float64]] = []
    rows = (*controller.batch, times.size)
    for motion in motions:
        table = controller.schedule(times, motion)
        layout = Layout.of(table)
        if any(shape[: len(rows)] != rows for shape in layout.leaves.values()):
            shapes = ", ".join(f"{name} {shape}".strip() for name, shape in layout.leaves.items())
            expected = ", ".join(map(str, rows))
            raise ArgumentError(
                f"the schedule of controller '{controller.name}' has shape {shapes} instead of ({expected}, ...), "
                "one row for each call"
            )
        for _ in rows:
            layout = layout.rows()
        plain = isinstance(table, np.ndarray) and table.dtype == np.float64
        tables.append(table.reshape(*rows, layout.size) if plain else layout.join(table))
    return ScheduledValues(_paired(np.reshape(tables, (*batch, *rows, layout.size)), batch, controller.batch), layout)


def _motions(
    times: Floats, reference: LoopReference, values: Mapping[str, Any]
) -> tuple[tuple[int, ...], Iterator[PlannedMotion]]:
    """Shape of a batch of motions, and each of them at the calls."""
    motion = reference.along(times, values)
    ranks = (2, 1, 1) if reference.n is None else (1, 1, 1)
    cores = [np.shape(part)[np.ndim(part) - rank :] for part, rank in zip(motion, ranks, strict=True)]
    # A part that is the same at all times or for all runs may come without these axes.
    shape = np.broadcast_shapes(
        times.shape, *(np.shape(part)[: np.ndim(part) - rank] for part, rank in zip(motion, ranks, strict=True))
    )
    whole = [np.broadcast_to(part, (*shape, *core)) for part, core in zip(motion, cores, strict=True)]
    return shape[:-1], (type(motion)(*(part[run] for part in whole)) for run in np.ndindex(*shape[:-1]))


def _paired(tables: NDArray[np.float64], motions: tuple[int, ...], runs: tuple[int, ...]) -> NDArray[np.float64]:
    """Tables (*motions, *runs, k, size) as (*batch, k, size), where motions and runs broadcast to one batch."""
    batch = np.broadcast_shapes(motions, runs)
    motion, run = (np.broadcast_to(np.arange(math.prod(shape)).reshape(shape), batch) for shape in (motions, runs))
    flat = tables.reshape(math.prod(motions), math.prod(runs), *tables.shape[-2:])
    return np.asarray(flat[motion, run])


@dataclass(frozen=True, eq=False)
class Design:
    """Values that a loop's gains are computed from before a run, and how a loss changes with them.

    Attributes
    ----------
    loop
        The loop.
    times
        Times of the calls, (k,), s.
    given
        Varied values as given.
    """

    loop: ClosedLoop
    times: Floats
    given: Mapping[str, Any]

    @cached_property
    def layout(self) -> Layout:
        """Names and shapes of the values, by their full names."""
        return Layout.of({f"{_PREFIX}{name}": value for name, value in self.loop.controller.design_values.items()})

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the loop's parameters that follow from the values."""
        return tuple(f"{_PREFIX}{name}" for name in self.loop.controller.designed_parameters)

    def parameters_of(self, law: Controller) -> dict[str, Floats]:
        """The loop's parameters that follow from a law's values."""
        return {name: np.asarray(law.parameters[name.removeprefix(_PREFIX)]) for name in self.parameters}

    def law_with(self, values: Mapping[str, ArrayLike]) -> Controller:
        """The loop's law with other values, those of which are in `layout`."""
        own = {name.removeprefix(_PREFIX): value for name, value in values.items() if name in self.layout.leaves}
        return self.loop.controller.with_values(own)

    def inputs(self, law: Controller) -> CallInputs:
        """Inputs of the calls with the schedule of a law."""
        further = dict(self.loop.further)
        if "schedule" in further:
            further["schedule"] = scheduled(law, self.times, self.loop.reference, self._reference_values)
        return CallInputs(self.loop.reference, further)

    def gradient(self, law: Controller, by_inputs: Floats | None, by_values: Mapping[str, Floats]) -> dict[str, Floats]:
        """Gradient of a loss by all values, each (*batch, *shape), from those by the inputs and the parameters.

        Parameters
        ----------
        law
            The law with its values.
        by_inputs
            Gradient by the inputs of all calls, (*batch, k, 1, size), of laws that have a schedule.
        by_values
            Gradient by the parameters that follow from the values.
        """
        if by_inputs is None:
            ranks = {name: np.ndim(self.loop.nominal[name]) for name in self.parameters}
            parts = {name.removeprefix(_PREFIX): _flat(by_values[name], rank) for name, rank in ranks.items()}
        else:
            leaves = Layout(self.loop.further["schedule"].shapes).leaves
            rows = by_inputs[..., 0, self.loop.inputs.layout.slices["schedule"]]
            ends = np.cumsum([math.prod(shape) for shape in leaves.values()])[:-1]
            each = zip(leaves, np.split(rows, ends, axis=-1), strict=True)
            parts = {name: _flat(part, 2) for name, part in each}
        slopes = self._slopes(law).items()
        terms = [(parts[name][..., None, :] @ np.swapaxes(slope, -1, -2))[..., 0, :] for name, slope in slopes]
        return dict(self.layout.split(sum(terms)))

    @property
    def _reference_values(self) -> dict[str, Any]:
        known = self.loop.reference.parameters.items()
        return {name: self.given.get(f"reference.{name}", value) for name, value in known}

    def _slopes(self, law: Controller) -> dict[str, Floats]:
        """Derivatives of each part by the p elements of the values, (*motions, p, size of the part at all calls)."""
        batch, motions = _motions(self.times, self.loop.reference, self._reference_values)
        each = [law.design_slopes(self.times, motion) for motion in motions]
        size = self.layout.size
        return {name: np.reshape([of_motion[name] for of_motion in each], (*batch, size, -1)) for name in each[0]}


def _flat(array: Floats, rank: int) -> Floats:
    """Return an array whose last axes, so many, are one."""
    return array.reshape(*array.shape[: array.ndim - rank], -1)
