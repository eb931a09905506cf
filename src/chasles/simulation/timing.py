"""Timing of a sampled loop: which torque acts in which stretch of a period, and which torques wait."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from chasles.base.cached import cached_property
from chasles.engine import where
from chasles.engine.program.scalar import Array, Real
from chasles.simulation.controlled_period import Stage
from chasles.simulation.plant_steps import INSIDE


@dataclass(frozen=True)
class Timing:
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
    """

    start: float
    period: float
    delay: float
    substeps: int | None

    @cached_property
    def waiting_torques(self) -> int:
        """Number of torques that wait from one call to the next."""
        return math.ceil(self.delay / self.period - 1e-9)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """The stretches of a period, in order."""
        share = self.delay / self.period - (self.waiting_torques - 1)  # of the period under the older torque
        if self.waiting_torques == 0 or share > 1.0 - 1e-9:
            return (Stage(0.0, 1.0, self.substeps or 1, 0),)
        before = max(1, round((self.substeps or 1) * share))
        return Stage(0.0, share, before, 0), Stage(share, 1.0, max(1, (self.substeps or 1) - before), 1)

    def before_call(self, t: Real) -> Real:
        """A time inside the step before a call at t; at the first call that time itself."""
        half = INSIDE * self.period if self.substeps is None else 0.5 * self.stages[-1].step(self.period)
        return where(t > self.start, t - half, t)

    def queue(self, t: Real, waiting: Array, tau: Array) -> list[Any]:
        """Torques on their way, the oldest first: before the first has arrived, it is in force."""
        first = t < self.start + 0.5 * self.period
        return [*(where(first, tau, row) for row in waiting), tau]
