"""Many steps of a fixed length in a row, as programs whose length grows with the logarithm of their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from chasles.cached import cached_property
from chasles.engine import Function, trace
from chasles.plant.equations import Equations, derivative_function
from chasles.simulation.integrators import Step, euler, runge_kutta_4, semi_implicit_euler

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
        Of all arguments, by name.
    """

    command: Any
    outside: Any
    values: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class FixedSteps:
    """Steps of a method along the equations of motion.

    Attributes
    ----------
    equations, shapes
        The equations, and the shapes of their values by name.
    integrator
        Name of the method.
    period
        Time between two calls of the controller, s.
    """

    equations: Equations
    shapes: Mapping[str, tuple[int, ...]]
    integrator: str
    period: float
    _rows: dict[tuple[float, int], Function] = field(default_factory=dict)

    @cached_property
    def derivative(self) -> Function:
        """The right-hand side of the equations; see `derivative_function`."""
        return derivative_function(self.equations, self.shapes)

    def run(self, x: Any, start: Start, felt: Felt, h: float, count: int) -> Any:
        """Plant's state after so many steps of length h, on traced scalars."""
        if count > _WRITTEN_OUT:
            half = count // 2
            for _ in range(2):
                x = self._call_row(x, start, felt, h, half)
                start = _after(start, h, half)
            count -= 2 * half
        for _ in range(count):
            x = self._one(x, start, felt, h)
            start = _after(start, h, 1)
        return x

    def _one(self, x: Any, start: Start, felt: Felt, h: float) -> Any:
        equations, t, offset = self.equations, start.t, start.offset
        clock = t + (offset + 0.5 * h)

        def derivative(x: Any, s: float) -> Any:
            at = offset + (INSIDE * h + (1.0 - 2.0 * INSIDE) * s)
            instant = equations.instant(t, at, self.period, felt.outside, clock)
            if equations.is_rigid:
                return equations.derivative(x, instant, felt.command, felt.values)
            sampled = () if felt.outside is None else (instant.sampled,)
            return self.derivative(x, instant.t, clock, *sampled, felt.command, *felt.values.values())

        x = equations.after_events(
            x, start.before, equations.instant(t, offset, self.period, felt.outside, clock), felt.values
        )
        return equations.normalized(self._step(derivative, x, 0.0, h))

    def _call_row(self, x: Any, start: Start, felt: Felt, h: float, count: int) -> Any:
        """The steps as a call of one program, which is written once however often it is called."""
        key, size = (h, count), self.equations.outside_size
        if key not in self._rows:

            def row(x: Any, t: Any, offset: Any, before: Any, command: Any, *arguments: Any) -> Any:
                outside, values = (arguments[0], arguments[1:]) if size else (None, arguments)
                inner = Felt(command, outside, dict(zip(self.shapes, values, strict=True)))
                return self.run(x, Start(t, offset, before), inner, h, count)

            inputs: dict[str, tuple[int, ...]] = {"x": (self.equations.size,), "t": (), "offset": (), "before": ()}
            inputs |= {"command": (self.equations.plant.n,)}
            inputs |= ({"outside": (size,)} if size else {}) | dict(self.shapes)
            self._rows[key] = Function(trace(row, inputs, name=f"steps_{count}", outputs=["x_next"]))
        outside = (felt.outside,) if size else ()
        return self._rows[key](x, *start, felt.command, *outside, *felt.values.values())

    @cached_property
    def _step(self) -> Step:
        if self.integrator == "semi-implicit-euler":
            return partial(semi_implicit_euler, with_new_rates=self.equations.with_new_rates)
        return euler if self.integrator == "euler" else runge_kutta_4


def _after(start: Start, h: float, count: int) -> Start:
    offset = start.offset + count * h
    return Start(start.t, offset, start.t + (offset - 0.5 * h))
