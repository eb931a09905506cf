"""Many steps of a fixed length in a row, as programs whose length grows with the logarithm of their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from chasles.base.cached import cached_property
from chasles.engine import Function, Layout, Program, Record, trace
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.integrators import Integrator, ProgramRightHandSide, Step
from chasles.simulation.plant.energy_accounts import EnergyAccounts
from chasles.simulation.plant.equations import Equations
from chasles.simulation.step_errors import STEP_ERRORS, local_error

#: Wrenches are looked at this part of a step inside of its ends, so that a jump between two steps is seen by neither.
INSIDE = 1e-9
#: As many steps are written out one after the other; more are two times half of them.
_WRITTEN_OUT = 4


class StepStart(NamedTuple):
    """Where a row of steps starts.

    Attributes
    ----------
    t
        Time of the call of the controller, s.
    offset
        Time from there to the first step, s.
    before
        A time inside the step before it, s, that decides what was carried until then.
    """

    t: Real
    offset: Real
    before: Any

    def after(self, h: float, count: int) -> StepStart:
        """Start of the row that follows `count` steps of length h."""
        offset = self.offset + count * h
        return StepStart(self.t, offset, self.t + (offset - 0.5 * h))


class HeldInputs(NamedTuple):
    """Inputs of the plant that are held from step to step.

    Attributes
    ----------
    command
        Torques that the controller asks for, (n,).
    outside
        Values computed in advance for the period, in the parts of `Environment.inputs`.
    values
        Values of the plant's arguments, by name.
    """

    command: Any
    outside: Any
    values: Any


@dataclass(frozen=True)
class PlantRightHandSide(ProgramRightHandSide):
    """Right-hand side of a plant's equations as integrators see it; see `PlantSteps.rates`."""

    steps: PlantSteps | None = None

    def with_new_velocities(self, rates: Array, t: Real, y: Array, y_next: Array) -> Array:
        """Rates with those of all positions at the velocities of ``y_next``."""
        assert self.steps is not None
        layout = self.steps.layout
        return layout.join(self.steps.equations.with_new_rates(*(layout.split(part) for part in (rates, y, y_next))))

    def with_implicit_friction(self, t: Real, y: Array, h: Any) -> Any:
        """Mean rates over a step of length h whose joint friction is that at its end."""
        assert self.steps is not None
        return replace(self, program=self.steps.rates_over(h))(t, y)


@dataclass(frozen=True, eq=False)
class PlantSteps:
    """Steps of a method along the equations of motion.

    The state is a record in the parts of `layout`; integrators see its vector.

    Attributes
    ----------
    equations
        Equations of motion.
    accounts
        Energies that are integrated along with the state; None for none.
    values
        Names and shapes of the values that the equations read: the plant's that vary.
    integrator
        The method.
    period
        Time between two calls of the controller, s.
    estimates_errors
        Whether the local errors of all steps are summed up in the state, as its part ``step_errors``.
    """

    equations: Equations
    accounts: EnergyAccounts | None
    values: Mapping[str, tuple[int, ...]]
    integrator: Integrator
    period: float
    estimates_errors: bool = False
    _rows: dict[tuple[float, int], Function] = field(default_factory=dict)
    _programs: dict[float, Program] = field(default_factory=dict)

    @cached_property
    def layout(self) -> Layout:
        """Parts of the state: those of the equations, the energies that are integrated, and errors of steps."""
        audit = {} if self.accounts is None else self.accounts.shapes
        return Layout({**self.equations.shapes, "audit": audit, "step_errors": self._step_errors})

    @property
    def _step_errors(self) -> dict[str, Shapes]:
        return STEP_ERRORS if self.estimates_errors else {}

    @cached_property
    def held(self) -> Layout:
        """Parts of `HeldInputs`."""
        return Layout(HeldInputs((self.equations.plant.n,), self.equations.environment.inputs, self.values))

    def held_for(self, command: Any, outside: Any, values: Mapping[str, Any]) -> HeldInputs:
        """Return what is held, from the values of all arguments of a loop: others are no input of the steps.

        So loops of one plant have the programs of its steps in common, whatever their laws.
        """
        return HeldInputs(command, outside, Record({name: values[name] for name in self.values}))

    @property
    def rates(self) -> Program:
        """Rates of the state: (s, x, t, offset, span, clock, held) -> (size,).

        ``s`` is the time since a step, or a stretch of steps, began, which is ``offset`` after the call of the
        controller at ``t`` and ``span`` long.
        """
        return self.rates_over(0.0)

    def rates_over(self, step: float) -> Program:
        """Rates of the state, with friction as `Equations.derivative` has it for a step of this length."""
        if step not in self._programs:
            self._programs[step] = self._rates(step)
        return self._programs[step]

    def _rates(self, step: float) -> Program:

        def rates(s: Real, x: Record, t: Real, offset: Real, span: Real, clock: Real, held: HeldInputs) -> Array:
            at = offset + (INSIDE * span + (1.0 - 2.0 * INSIDE) * s)
            instant = self.equations.environment.instant(t, at, self.period, held.outside, clock)
            rates = self.equations.derivative(x, instant, held.command, held.values, friction_over=step)
            powers = {}
            if self.accounts is not None:
                powers = self.accounts.powers(x, Record(rates), instant, held.command, held.values)
            return self.layout.join({**rates, "audit": powers, "step_errors": dict.fromkeys(self._step_errors, 0.0)})

        inputs: dict[str, Shapes] = {"s": (), "x": self.layout.shapes, "t": (), "offset": (), "span": (), "clock": ()}
        return trace(rates, {**inputs, "held": self.held.shapes}, name="plant_rates", outputs=["rates"])

    @cached_property
    def after_events(self) -> Function:
        """State as a stretch begins: (x, before, t, offset, clock, held) -> x.

        See `EnergyAccounts.after_events`, and `rates` for the arguments.
        """

        def after(x: Record, before: Array, t: Real, offset: Real, clock: Real, held: HeldInputs) -> Array:
            return self.layout.join(self.entered(x, StepStart(t, offset, before), held, clock))

        inputs: dict[str, Shapes] = {"x": self.layout.shapes, "before": (), "t": (), "offset": (), "clock": ()}
        program = trace(after, {**inputs, "held": self.held.shapes}, name="after_events", outputs=["x_next"])
        return Function(program)

    def run(self, x: Record, start: StepStart, held: HeldInputs, h: float, count: int) -> Record:
        """Plant's state after `count` steps of length h, on traced scalars."""
        if count > (1 if self.integrator.implicit else _WRITTEN_OUT):
            half = count // 2
            for _ in range(2):
                x = self._call_row(x, start, held, h, half)
                start = start.after(h, half)
            count -= 2 * half
        for _ in range(count):
            x = self._one(x, start, held, h)
            start = start.after(h, 1)
        return x

    def _one(self, x: Record, start: StepStart, held: HeldInputs, h: float) -> Record:
        clock = start.t + (start.offset + 0.5 * h)
        x = self.entered(x, start, held, clock)
        f = self.right_hand_side(start.t, start.offset, h, clock, held)
        step = self.integrator.step(f, 0.0, self.layout.join(x), h)
        return self._with_errors(self.normalized(step.y), step)

    def _with_errors(self, x: Record, step: Step) -> Record:
        """State after a step with its local errors added to those of the steps before."""
        if not self.estimates_errors:
            return x
        indices = self.layout.split(np.arange(self.layout.size))
        velocities = [*indices.qd.tolist(), *indices.following.tolist()]
        if self.equations.plant.elastic_joints is not None:
            velocities += self.equations.plant.elastic_joints.split(indices.elastic_joints)[1].tolist()
        local = {"velocities": local_error(step, velocities), "quaternions": 0.0}
        if self.equations.plant.robot.nq != self.equations.plant.n:
            local["quaternions"] = local_error(step, indices.q.tolist())
        sums = {name: x.step_errors[name] + error for name, error in local.items()}
        return Record({**x, "step_errors": sums})

    def normalized(self, y: Array) -> Record:
        """State after a step, as a record, with unit quaternions."""
        return Record(self.equations.normalized(self.layout.split(y)))

    def entered(self, x: Record, start: StepStart, held: HeldInputs, clock: Real) -> Record:
        """State as a stretch begins; see `EnergyAccounts.after_events`."""
        if self.accounts is None:
            return x
        instant = self.equations.environment.instant(start.t, start.offset, self.period, held.outside, clock)
        return Record({**x, "audit": self.accounts.after_events(x, x.audit, start.before, instant, held.values)})

    def right_hand_side(self, t: Real, offset: Real, span: Real, clock: Real, held: HeldInputs) -> PlantRightHandSide:
        """Right-hand side through a stretch, as a function of the time since it began; see `rates`."""
        return PlantRightHandSide(self.rates, (t, offset, span, clock, self.held.join(held)), self)

    def _call_row(self, x: Record, start: StepStart, held: HeldInputs, h: float, count: int) -> Any:
        """The steps as a call of one program, which is written once however often it is called."""
        key = (h, count)
        if key not in self._rows:

            def row(x: Record, t: Real, offset: Real, before: Array, held: HeldInputs) -> Array:
                return self.layout.join(self.run(x, StepStart(t, offset, before), held, h, count))

            inputs: dict[str, Shapes] = {"x": self.layout.shapes, "t": (), "offset": (), "before": ()}
            inputs["held"] = self.held.shapes
            self._rows[key] = Function(trace(row, inputs, name=f"steps_{count}", outputs=["x_next"]))
        return self.layout.split(self._rows[key](x, *start, held))
