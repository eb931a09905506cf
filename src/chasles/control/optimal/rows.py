"""Constraints as rows of one vector: limits of w, distances to keep, and ends to reach.

Each node has w = (u, x), and all nodes together W, (..., N + 1, m + 2n); no torque acts at the last node. Each node has
its lower limits, upper limits and distances, in this order, then what is kept with torques or, at the last node, the
ends. All but the ends, e(x_N) = 0, are c(W) ≥ 0. All are scaled to be of the order of one: torques and velocities by
their limits, distances by 0.1 m.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import Spares, cached_property
from chasles.control.optimal.contact_rows import Contacts
from chasles.control.optimal.elastic import Kinds
from chasles.control.optimal.node_programs import NodePrograms

Floats = NDArray[np.float64]
#: Distance, m, that counts as much as a radian or the whole torque of a joint.
DISTANCE_SCALE = 0.1


@dataclass(frozen=True)
class Place:
    """Origin of a row: its kind, the element within that kind, and its node."""

    kind: str
    element: int
    node: int


class _Row(NamedTuple):
    """Kind of a row, its element within that kind, and whether it counts at each node, (N + 1,)."""

    kind: str
    element: int
    counts: NDArray[np.bool_]


@dataclass(frozen=True)
class ConstraintRows:
    """The rows of a problem: which there are, and their limits.

    Attributes
    ----------
    lower, upper
        Limits of w, (m + 2n,), infinite where there are none.
    scale
        Scale of each element of w, (m + 2n,).
    nodes
        Number of steps N.
    stage, last
        The programs of the nodes, which know the rows of each.
    contacts
        Contacts, if there are any.
    first
        Node of the sequence of contacts at which the motion begins.
    """

    lower: Floats
    upper: Floats
    scale: Floats
    nodes: int
    stage: NodePrograms
    last: NodePrograms
    contacts: Contacts | None = None
    first: int = 0

    @cached_property
    def predictive_calls(self) -> Spares[Any]:
        """Arrays of predictive laws with these constraints."""
        return Spares()

    @property
    def inputs(self) -> int:
        """Number of inputs m: torques and contact forces."""
        return self.stage.inputs

    @property
    def _before_last(self) -> int:
        return self.nodes * self.stage.rows

    @property
    def count(self) -> int:
        """Number of all rows, with those that do not count."""
        return self._before_last + self.last.rows

    def by_node(self, v: Floats) -> tuple[Floats, Floats]:
        """Return the rows (..., rows) of all nodes but the last, (..., N, rows of a node), and of the last."""
        first = v[..., : self._before_last]
        return first.reshape(*v.shape[:-1], self.nodes, self.stage.rows), v[..., self._before_last :]

    def joined(self, stages: Floats, last: Floats) -> Floats:
        """Return all rows of parts as of `by_node`."""
        return np.concatenate([stages.reshape(*stages.shape[:-2], self._before_last), last], axis=-1)

    @cached_property
    def present(self) -> NDArray[np.bool_]:
        """Whether each row counts: a limit that is finite, and none of the given first state."""
        limits = np.isfinite(self.lower), np.isfinite(self.upper)
        of_state = limits[0][self.inputs :], limits[1][self.inputs :]
        stages = np.array([self.stage.present(limits, k == 0) for k in range(self.nodes)])
        last = self.last.present(of_state, False)
        if self.contacts is not None:
            of_stages, of_last = (np.stack([row.counts for row in rows], axis=1) for rows in self._general)
            stages[:, self.stage.limits :] &= of_stages[:-1]
            last[self.last.limits :] &= of_last[-1]
        return np.concatenate([stages.ravel(), last])

    @cached_property
    def _general(self) -> tuple[list[_Row], list[_Row]]:
        """Distances and own rows of the nodes but the last, and of the last."""
        parts: list[list[_Row]] = [[], [], [], []]
        elements = count()
        for part, rows in zip(parts, () if self.contacts is None else self.contacts.parts, strict=False):
            part += [
                _Row("contact", next(elements), each.counts(self.first)) for each in rows for _ in range(each.count)
            ]
        above, held, cones, absent = parts
        always = np.ones(self.nodes + 1, dtype=bool)

        def of(kind: str, first: int, number: int) -> list[_Row]:
            return [_Row(kind, first + i, always) for i in range(number)]

        apart = self.stage.distances.count - self.stage.held - len(above)
        of_state = [*of("distance", 0, apart), *above, *of("held", 0, self.stage.held - len(held)), *held]
        kept = of("distance", apart, self.stage.own - len(cones) - len(absent))
        return [*of_state, *kept, *cones, *absent], [*of_state, *of("end", 0, self.last.own)]

    @cached_property
    def kinds(self) -> Kinds:
        """Whether each row is an end, and whether it is a limit of a torque, which can be kept whatever the motion."""
        return Kinds(
            *(
                np.concatenate([np.tile(stage, self.nodes), last])
                for stage, last in zip(self.stage.kinds, self.last.kinds, strict=True)
            )
        )

    @cached_property
    def bounds(self) -> Floats:
        """Lower and upper limits, 0 where there are none, and scales, (3, m + 2n)."""
        low, high = (np.where(np.isfinite(limit), limit, 0.0) for limit in (self.lower, self.upper))
        return np.stack([low, high, self.scale])

    @cached_property
    def factors(self) -> tuple[Floats, Floats]:
        """1 for rows that count, 0 for others, by node."""
        return self.by_node(self.present.astype(float))

    def values(self, W: Floats, distances: Floats, kept: Floats, ends: Floats) -> Floats:
        """Return all rows (..., rows), from distances (..., N + 1, :), what is kept (..., N, :), and ends (..., :)."""
        low, high, scale = self.bounds
        below, above = (W - low) * scale, (high - W) * scale
        parts = [part[..., :-1, self.stage.limited] for part in (below, above)]
        stages = np.concatenate([*parts, distances[..., :-1, :], kept], axis=-1)
        parts = [part[..., -1, self.inputs + self.last.limited] for part in (below, above)]
        last = np.concatenate([*parts, distances[..., -1, :], ends], axis=-1)
        return self.present * self.joined(stages, last)

    def gradient(self, v: Floats) -> Floats:
        """Return what rows that are limits of w contribute to Jᵀ v, (..., N + 1, m + 2n)."""
        stages, last = self.by_node(self.present * v)
        result = np.zeros((*v.shape[:-1], self.nodes + 1, len(self.lower)))
        for nodes, part, programs in ((slice(-1), stages, self.stage), (-1, last, self.last)):
            count, before = len(programs.limited), self.inputs - programs.inputs
            result[..., nodes, before + programs.limited] = part[..., :count] - part[..., count : 2 * count]
        return result * self.scale

    def of_terms(self, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the part of distances (..., N + 1, :), of what is kept (..., N, :) and of ends (..., :) of rows v."""
        stages, last = self.by_node(self.present * v)
        (limits, own), before = (self.stage.limits, self.stage.rows - self.stage.own), self.last.rows - self.last.own
        last_distances = last[..., None, self.last.limits : before]
        return np.concatenate([stages[..., limits:own], last_distances], axis=-2), stages[..., own:], last[..., before:]

    def violations(self, v: Floats) -> Floats:
        """How far rows v (..., rows) are from what they must be, negative where there is room."""
        return np.where(self.kinds.ends, np.abs(v), -v)

    def place(self, row: int) -> Place:
        """Return what a row is about."""
        node, index = self.nodes, row - self._before_last
        if index < 0:
            node, index = divmod(row, self.stage.rows)
        programs = self.last if node == self.nodes else self.stage
        count, before = len(programs.limited), self.inputs - programs.inputs
        if index < programs.limits:
            return Place("lower" if index < count else "upper", before + int(programs.limited[index % count]), node)
        general = self._general[programs is self.last][index - programs.limits]
        return Place(general.kind, general.element, node)
