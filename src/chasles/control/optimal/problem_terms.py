"""Costs and rows of a problem's nodes, put together from its residuals, distances and contacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.control.optimal.contact_rows import Rows, row_count, stacked_rows
from chasles.control.optimal.node_programs import NodePrograms
from chasles.control.optimal.residuals import Residual, stacked
from chasles.control.optimal.rows import DISTANCE_SCALE
from chasles.control.optimal.step import HeldStep
from chasles.control.optimal.terms import Terms
from chasles.distances import Clearance
from chasles.engine.program.scalar import Array


@dataclass(frozen=True, eq=False)
class ProblemTerms:
    """Terms of the nodes of a problem.

    Attributes
    ----------
    step
        The step.
    running, final, exact_end, keep
        Residuals of running and final costs, of exact ends, and of what is kept.
    clearance, margin
        Distances to keep, or None, and the smallest one, m.
    values
        Shapes of the further values that residuals name.
    """

    step: HeldStep
    running: Sequence[Residual]
    final: Sequence[Residual]
    exact_end: Sequence[Residual]
    keep: Sequence[Residual]
    clearance: Clearance | None
    margin: float
    values: Mapping[str, tuple[int, ...]]

    def programs(self, limited: NDArray[np.bool_]) -> tuple[NodePrograms, NodePrograms]:
        """Programs of the nodes but the last, and of the last, for elements of w that have limits, (w,)."""
        held, zero = self._held.count, row_count(self._of_contacts[3])
        of_state = limited[self.step.inputs :]
        return (
            NodePrograms(self.step, self.stage, self.distances, limited, is_last=False, held=held, zero=zero),
            NodePrograms(self.step, self.last, self.distances, of_state, is_last=True, held=held),
        )

    def _terms(self, costs: Sequence[Residual], rows: Callable[[Mapping[str, Any]], Any], **options: Any) -> Terms:
        return Terms(self.step, costs, rows, self.values, **options)

    @property
    def _of_contacts(self) -> tuple[tuple[Rows, ...], ...]:
        return ((), (), (), ()) if self.step.contacts is None else self.step.contacts.parts

    @cached_property
    def stage(self) -> Terms:
        """Running costs, and what is kept with torques, of all nodes but the last."""

        def kept(known: Mapping[str, Any]) -> Array:
            with_torques = [each for each in self.keep if each.takes_torques]
            _, _, cones, absent = self._of_contacts
            return np.concatenate([stacked(with_torques, known), stacked_rows([*cones, *absent], known)])

        return self._terms(self.running, kept, has_torques=True, duration=self.step.h)

    @cached_property
    def distances(self) -> Terms:
        """Distances, and what is kept without torques, of all nodes but the first."""

        def distances(known: Mapping[str, Any]) -> Array:
            kept = [each for each in self.keep if not (each.takes_torques or each.is_held)]
            above = self._of_contacts[0]
            parts = [stacked(kept, known), stacked_rows(above, known), self._all_held(known)]
            if self.clearance is not None:
                parts.insert(0, (np.asarray(self.clearance.distances(known["q"])) - self.margin) / DISTANCE_SCALE)
            return np.concatenate(parts)

        return self._terms((), distances, has_torques=False, duration=0.0)

    @cached_property
    def _held(self) -> Terms:
        """What is held, for the number of its elements."""
        return self._terms((), self._all_held, has_torques=False, duration=0.0)

    def _all_held(self, known: Mapping[str, Any]) -> Array:
        held = [each for each in self.keep if each.is_held]
        return np.concatenate([stacked(held, known), stacked_rows(self._of_contacts[1], known)])

    @cached_property
    def last(self) -> Terms:
        """Final costs, and the exact ends."""

        def ends(known: Mapping[str, Any]) -> Array:
            return stacked(self.exact_end, known)

        return self._terms(self.final, ends, has_torques=False, duration=1.0)
