"""Many steps of a fixed length in a row, as programs whose length grows with the logarithm of their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chasles.cached import cached_property
from chasles.engine import Function, Program, trace
from chasles.integrators import Integrator, ProgramRightHandSide
from chasles.plant.equations import Equations

#: Wrenches are looked at this part of a step inside of its ends, so that a jump between two steps is seen by neither.
INSIDE = 1e-9
#: As many steps are written out one after the other; more are two times half of them.
_WRITTEN_OUT = 4


class Start(NamedTuple):
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

    t: Any
    offset: Any
    before: Any


class Felt(NamedTuple):
    """What does not change from step to step.

    Attributes
    ----------
    command
        Torques that the controller asks for, (n,).
    outside
        What is evaluated beforehand for the period, (`Equations.outside_size`,); None for nothing.
    values
        Values of all arguments, by name.
    """

    command: Any
    outside: Any
    values: Mapping[str, Any]


@dataclass(frozen=True)
class PlantRightHandSide(ProgramRightHandSide):
    """Right-hand side of a plant's equations as integrators see it; see `PlantSteps.rates`."""

    equations: Equations | None = None

    def with_new_velocities(self, rates: Any, t: Any, y: Any, y_next: Any) -> Any:
        """Rates with those of all positions at the velocities of ``y_next``."""
        assert self.equations is not None
        return self.equations.with_new_rates(rates, y, y_next)


@dataclass(frozen=True, eq=False)
class PlantSteps:
    """Steps of a method along the equations of motion.

    Attributes
    ----------
    equations, shapes
        The equations, and the shapes of their values by name.
    integrator
        The method.
    period
        Time between two calls of the controller, s.
    """

    equations: Equations
    shapes: Mapping[str, tuple[int, ...]]
    integrator: Integrator
    period: float
    _rows: dict[tuple[float, int], Function] = field(default_factory=dict)

    @cached_property
    def rates(self) -> Program:
        """Rates of the state: (s, x, t, offset, span, clock, command, outside, *values) -> (size,).

        ``s`` is the time since a step, or a stretch of steps, began, which is ``offset`` after the call of the
        controller at ``t`` and ``span`` long.
        """

        def rates(s: Any, x: Any, t: Any, offset: Any, span: Any, clock: Any, *arguments: Any) -> Any:
            felt = self.felt(arguments)
            at = offset + (INSIDE * span + (1.0 - 2.0 * INSIDE) * s)
            instant = self.equations.instant(t, at, self.period, felt.outside, clock)
            return self.equations.derivative(x, instant, felt.command, felt.values)

        inputs: dict[str, tuple[int, ...]] = {"s": (), "x": (self.equations.size,), "t": (), "offset": (), "span": ()}
        return trace(rates, inputs | {"clock": ()} | self.felt_shapes, name="plant_rates", outputs=["rates"])

    @cached_property
    def after_events(self) -> Function:
        """State as a stretch begins: (x, before, t, offset, clock, command, outside, *values) -> x.

        See `Equations.after_events`, and `rates` for the arguments.
        """

        def after(x: Any, before: Any, t: Any, offset: Any, clock: Any, *arguments: Any) -> Any:
            return self.entered(x, Start(t, offset, before), self.felt(arguments), clock)

        inputs: dict[str, tuple[int, ...]] = {"x": (self.equations.size,), "before": (), "t": (), "offset": ()}
        return Function(
            trace(after, inputs | {"clock": ()} | self.felt_shapes, name="after_events", outputs=["x_next"])
        )

    def run(self, x: Any, start: Start, felt: Felt, h: float, count: int) -> Any:
        """Plant's state after so many steps of length h, on traced scalars."""
        if count > (1 if self.integrator.implicit else _WRITTEN_OUT):
            half = count // 2
            for _ in range(2):
                x = self._call_row(x, start, felt, h, half)
                start = _after(start, h, half)
            count -= 2 * half
        for _ in range(count):
            x = self._one(x, start, felt, h)
            start = _after(start, h, 1)
        return x

    def arguments(self, felt: Felt) -> list[Any]:
        """What programs take for `Felt`, in order."""
        outside = [] if felt.outside is None else [felt.outside]
        return [felt.command, *outside, *felt.values.values()]

    def _one(self, x: Any, start: Start, felt: Felt, h: float) -> Any:
        clock = start.t + (start.offset + 0.5 * h)
        x = self.entered(x, start, felt, clock)
        f = self.right_hand_side(start.t, start.offset, h, clock, felt)
        return self.equations.normalized(self.integrator.step(f, 0.0, x, h).y)

    def entered(self, x: Any, start: Start, felt: Felt, clock: Any) -> Any:
        """State as a stretch begins; see `Equations.after_events`."""
        instant = self.equations.instant(start.t, start.offset, self.period, felt.outside, clock)
        return self.equations.after_events(x, start.before, instant, felt.values)

    def right_hand_side(self, t: Any, offset: Any, span: Any, clock: Any, felt: Felt) -> PlantRightHandSide:
        """Right-hand side through a stretch, as a function of the time since it began; see `rates`."""
        parameters = (t, offset, span, clock, *self.arguments(felt))
        return PlantRightHandSide(self.rates, parameters, self.equations)

    def _call_row(self, x: Any, start: Start, felt: Felt, h: float, count: int) -> Any:
        """The steps as a call of one program, which is written once however often it is called."""
        key = (h, count)
        if key not in self._rows:

            def row(x: Any, t: Any, offset: Any, before: Any, *arguments: Any) -> Any:
                return self.run(x, Start(t, offset, before), self.felt(arguments), h, count)

            inputs: dict[str, tuple[int, ...]] = {"x": (self.equations.size,), "t": (), "offset": (), "before": ()}
            inputs |= self.felt_shapes
            self._rows[key] = Function(trace(row, inputs, name=f"steps_{count}", outputs=["x_next"]))
        return self._rows[key](x, *start, *self.arguments(felt))

    @property
    def felt_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of what programs take for `Felt`."""
        size = self.equations.outside_size
        outside: dict[str, tuple[int, ...]] = {"outside": (size,)} if size else {}
        return {"command": (self.equations.plant.n,), **outside, **self.shapes}

    def felt(self, arguments: Any) -> Felt:
        """What does not change, of what a program takes for it."""
        command, *others = arguments
        outside = others.pop(0) if self.equations.outside_size else None
        return Felt(command, outside, dict(zip(self.shapes, others, strict=True)))


def _after(start: Start, h: float, count: int) -> Start:
    offset = start.offset + count * h
    return Start(start.t, offset, start.t + (offset - 0.5 * h))
