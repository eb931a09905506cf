"""Timing of a sampled loop: which torque acts in which stretch of a period, and which torques wait."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine import where
from chasles.engine.program.scalar import Array, Real
from chasles.simulation.controlled_period import Stage
from chasles.simulation.plant_steps import INSIDE


@dataclass(frozen=True)
class LoopTiming:
    """Times of calls, steps and torques.

    Attributes
    ----------
    start
        Time of the first call, s.
    period
        Time between two calls of the controller, s.
    delay
        Time from a call until its torque acts, s.
    substeps
        Integration steps in a period; None for steps that the error controls.
    has_faults
        Whether torques may come later than after the delay, or not at all.
    """

    start: float
    period: float
    delay: float
    substeps: int | None
    has_faults: bool = False

    @cached_property
    def waiting_torques(self) -> int:
        """Number of torques that wait from one call to the next."""
        if self.has_faults:  # one is always held that the next ones may leave in force
            return math.floor(self.delay / self.period + 1e-9) + 1
        return math.ceil(self.delay / self.period - 1e-9)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stretches of a period, in order, without faults."""
        share = self.delay / self.period - (self.waiting_torques - 1)  # of the period under the older torque
        if self.waiting_torques == 0 or share > 1.0 - 1e-9:
            return (Stage(0.0, 1.0, self.substeps or 1, 0),)
        before = max(1, round((self.substeps or 1) * share))
        return Stage(0.0, share, before, 0), Stage(share, 1.0, max(1, (self.substeps or 1) - before), 1)

    def stages_with(self, lateness: Real) -> tuple[Stage, ...]:
        """Return the stretches of a period in which a torque arrives later than after the delay, by a time in s."""
        share = (self.delay + lateness) / self.period - (self.waiting_torques - 1)
        return Stage(0.0, share, 1, 0), Stage(share, 1.0, 1, 1)

    def check_faults(self, jitter: float, *, steps_are_chosen: bool) -> None:
        """Refuse jitter, s, that lets torques arrive out of order, and chosen steps that cannot begin at their arrival.

        Raises
        ------
        ArgumentError
            The message says how much jitter there may be, or which integrators there are.
        """
        if self.substeps is not None and steps_are_chosen:
            raise ArgumentError(
                "timing faults need steps that begin where a torque arrives: leave integrator out, or choose one whose "
                "steps the error controls, such as 'dormand-prince' or 'rodas5p'"
            )
        most = self.waiting_torques * self.period - self.delay
        if jitter > most * (1.0 + 1e-9):
            raise ArgumentError(
                f"timing.jitter is {jitter:g} s, and after a delay of {self.delay:g} s torques with more than {most:g} "
                f"s of it arrive in a later period of {self.period:g} s, with the next ones; lower jitter, or lengthen "
                "the period"
            )

    def before_call(self, t: Real) -> Real:
        """A time inside the step before a call at t; at the first call that time itself."""
        half = INSIDE * self.period if self.substeps is None else 0.5 * self.stages[-1].step(self.period)
        return where(t > self.start, t - half, t)

    def queue(self, t: Real, waiting: Array, tau: Array) -> list[Any]:
        """Torques on their way, the oldest first: before the first has arrived, it is in force."""
        first = t < self.start + 0.5 * self.period
        return [*(where(first, tau, row) for row in waiting), tau]
