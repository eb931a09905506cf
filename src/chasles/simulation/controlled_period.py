"""A period in steps that the error controls, each run's own, as one attempt after another.

The integrator is restarted at every call of the controller, where the delay has passed and another torque takes effect,
and at events (payloads picked up or put down, jumps of wrenches). Between two restarts lies a stretch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chasles.engine import where
from chasles.engine.program.records import Record
from chasles.engine.program.scalar import Array, Real
from chasles.integrators import StepControl
from chasles.integrators.attempts import PROGRESS, IntegrationStatus, Progress, RunState, attempt
from chasles.simulation.plant_steps import PlantSteps, StepStart

#: Events nearer to each other than this part of a period are one.
APART = 4e-9
#: Attempts in a period before a run is given up.
MOST_ATTEMPTS = 5_000


class Stage(NamedTuple):
    """Stretch of the period under one torque: its share of the period, its steps, and which torque of the queue."""

    begin: Real
    end: Real
    steps: int
    torque: int

    def step(self, period: float) -> Any:
        """Length of a step, s."""
        return (self.end - self.begin) * period / self.steps


class AttemptState(NamedTuple):
    """State of a run from attempt to attempt, besides the plant's.

    Attributes
    ----------
    progress
        See `chasles.integrators.attempts.Progress`; its time is the one since the stretch began.
    begin
        Time from the call of the controller to the stretch's begin, s.
    clock
        Time inside the stretch, which decides what is carried; see `chasles.simulation.plant.environment.Instant`.
    made
        Attempts in this period.
    """

    progress: Progress
    begin: Real
    clock: Any
    made: Any


#: Shapes of a `AttemptState`.
PACE = AttemptState(PROGRESS, (), (), ())


def first_pace(period: float, clock: float) -> AttemptState:
    """Pace of runs that have not begun."""
    return AttemptState(Progress(0.0, period, 1.0, 1.0, 0.0, 0.0, float(IntegrationStatus.ARRIVED)), 0.0, clock, 0.0)


def new_period(pace: AttemptState) -> AttemptState:
    """Pace of a run as its next period begins; one that was given up stays so."""
    progress = pace.progress
    status = where(progress.status == IntegrationStatus.ARRIVED, float(IntegrationStatus.RUNNING), progress.status)
    return AttemptState(progress._replace(t=0.0, calm=1.0, status=status), 0.0, pace.clock, 0.0)


@dataclass(frozen=True, eq=False)
class ControlledPeriod:
    """Attempts along the equations of motion.

    Attributes
    ----------
    steps
        Equations and method.
    """

    steps: PlantSteps

    def attempt(
        self,
        pace: AttemptState,
        x: Record,
        t: Real,
        stages: Sequence[Stage],
        queue: Array,
        outside: Array,
        values: Mapping[str, Any],
        rtol: Real,
        atol: Array,
    ) -> tuple[AttemptState, Any]:
        """Try one step of a run that is still running; on traced scalars.

        Parameters
        ----------
        pace, x
            Pace, and the plant's state, in the parts of `PlantSteps.layout`.
        t
            Time of the controller's call, s.
        stages
            Stretches of the period under one torque each.
        queue
            Torques on their way, (late + 1, n).
        outside, values
            External inputs of the period, and values of all arguments of the loop.
        rtol, atol
            Relative tolerance, and absolute ones (size,).

        Returns
        -------
        pace, x
            Progress and state at the end; unchanged for runs that have finished the period, and a state of NaN for runs
            that are given up.
        """
        steps, running = self.steps, pace.progress.status == IntegrationStatus.RUNNING
        begin, end = pace.begin, self._end(pace.begin, t, stages, values)
        command = queue[stages[0].torque]
        for stage in stages[1:]:
            command = where(begin < stage.begin * steps.period, command, queue[stage.torque])
        clock = where(running, t + 0.5 * (begin + end), pace.clock)
        held = steps.held_for(command, outside, values)
        x = steps.entered(x, StepStart(t, begin, pace.clock), held, clock)
        f = steps.right_hand_side(t, begin, end - begin, clock, held)
        y = steps.layout.join(x)
        (progress, y), _ = attempt(
            steps.integrator, StepControl(), f, RunState(pace.progress, y), end - begin, rtol, atol, inside=False
        )
        attempts = pace.made + where(running, 1.0, 0.0)
        arrived = running & (progress.status == IntegrationStatus.ARRIVED)
        goes_on = arrived & (end < steps.period)
        too_many = (progress.status == IntegrationStatus.RUNNING) & (attempts >= MOST_ATTEMPTS)
        status = where(goes_on, float(IntegrationStatus.RUNNING), progress.status)
        progress = progress._replace(
            t=where(goes_on, 0.0, progress.t), status=where(too_many, float(IntegrationStatus.TOO_MANY_STEPS), status)
        )
        y = where(progress.status > IntegrationStatus.ARRIVED, np.nan, steps.layout.join(steps.normalized(y)))
        return AttemptState(progress, where(goes_on, end, begin), clock, attempts), steps.layout.split(y)

    def _end(self, begin: Real, t: Real, stages: Sequence[Stage], values: Mapping[str, Any]) -> Any:
        """Time from the controller's call to the end of the stretch that begins at a time after it."""
        period = self.steps.period
        apart, end = APART * period, period
        inner = [stage.begin * period for stage in stages[1:]]
        for event in [*inner, *(time - t for time in self.steps.equations.environment.switch_times(values))]:
            ahead = (event > begin + apart) & (event < period - apart)
            end = where(ahead & (event < end), event, end)
        return end
