"""Compiled functions of a closed loop: over time in fixed or controlled steps, one call alone, one period alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.engine import Function, Layout, Record, trace, where
from chasles.engine.program.records import Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.integrators.attempts import IntegrationStatus
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.controlled_period import PACE, new_period
from chasles.simulation.sampled_controller import CallResult

#: Values of a loop without any.
_NO_VALUES = Record()


def scan(loop: ClosedLoop) -> Function:
    """One loop over time: (state, given (S, k, …), values) -> (final state, *recorded)."""

    def period(state: Record, given: Record, values: Record = _NO_VALUES) -> tuple[Any, ...]:
        called = loop.call(given, state, values)
        x = loop.advance(called.t, state.plant, called.queue, loop.outside_of(given), values)
        return loop.layout.join({"plant": x, **called.following}), *called.recorded

    inputs: dict[str, Shapes] = {"state": loop.layout.shapes, "given": loop.inputs.layout.shapes, **_values_of(loop)}
    outputs = ["state_next", *(variable.name for variable in loop.variables)]
    return Function(trace(period, inputs, name="closed_loop", outputs=outputs), shape="scan")


def controlled_layout(loop: ClosedLoop) -> Layout:
    """Parts of the state of `controlled_scan`."""
    queue = (loop.timing.waiting_torques + 1, loop.plant.n)
    return Layout({"last_call": (), "pace": PACE, "loop": loop.layout.shapes, "queue": queue})


def controlled_scan(loop: ClosedLoop) -> Function:
    """One loop over time in steps that the error controls.

    It is a function of (state, given (S, k, …), rtol, atol, values) and gives (final state, again, *recorded). Its
    state has the parts of `controlled_layout`. A run calls the controller once a period and repeats the rest until the
    period is over.
    """
    layout = controlled_layout(loop)

    def attempt(state: Record, given: Record, rtol: Real, atol: Array, values: Record = _NO_VALUES) -> tuple[Any, ...]:
        following, again, called = attempt_of(loop, state, given, rtol, atol, values)
        return layout.join(following), again, *called.recorded

    inputs: dict[str, Shapes] = {"state": layout.shapes, "given": loop.inputs.layout.shapes}
    inputs |= {"rtol": (), "atol": (loop.steps.layout.size,), **_values_of(loop)}
    outputs = ["state_next", "again", *(variable.name for variable in loop.variables)]
    return Function(trace(attempt, inputs, name="controlled_loop", outputs=outputs), shape="scan")


def attempt_of(
    loop: ClosedLoop, state: Record, given: Record, rtol: Real, atol: Array, values: Record
) -> tuple[dict[str, Any], Real, CallResult]:
    """One attempt of a loop whose steps the error controls; on traced scalars.

    It gives the parts of the state that follows, whether the run needs another attempt, and the controller's call.
    """
    of_loop, pace = loop.layout, Layout(PACE)
    called = loop.call(given, state.loop, values)
    fresh = called.t > state.last_call
    pace_now = pace.split(where(fresh, pace.join(new_period(state.pace)), pace.join(state.pace)))
    queue = where(fresh, np.array(called.queue), state.queue)
    after_call = of_loop.join({"plant": state.loop.plant, **called.following})
    state_now = of_loop.split(where(fresh, after_call, of_loop.join(state.loop)))
    pace_now, x = loop.controlled_period.attempt(
        pace_now,
        state_now.plant,
        called.t,
        loop.stages_of(given, values),
        queue,
        loop.outside_of(given),
        values,
        rtol,
        atol,
    )
    again = where(pace_now.progress.status == IntegrationStatus.RUNNING, 1.0, 0.0)
    following = {
        "last_call": where(fresh, called.t, state.last_call),
        "pace": pace_now,
        "loop": {**state_now, "plant": x},
        "queue": queue,
    }
    return following, again, called


def controller_call(loop: ClosedLoop) -> Function:
    """One call alone: (given, state, values) -> (following, *recorded).

    The first result has the parts ``queue``, torques on their way, and those of `CallResult.following`.
    """

    def call(given: Record, state: Record, values: Record = _NO_VALUES) -> tuple[Any, ...]:
        called = loop.call(given, state, values)
        return {"queue": np.array(called.queue), **called.following}, *called.recorded

    inputs: dict[str, Shapes] = {"given": loop.inputs.layout.shapes, "state": loop.layout.shapes, **_values_of(loop)}
    outputs = ["following", *(variable.name for variable in loop.variables)]
    return Function(trace(call, inputs, name="controller", outputs=outputs))


def plant_period(loop: ClosedLoop) -> Function:
    """The plant over one period: (x, t, queue (waiting torques + 1, n), given, values) -> x."""

    def step(x: Record, t: Real, queue: Array, given: Record, values: Mapping[str, Any] = _NO_VALUES) -> Any:
        return loop.steps.layout.join(loop.advance(t, x, list(queue), loop.outside_of(given), values))

    queue = (loop.timing.waiting_torques + 1, loop.plant.n)
    inputs: dict[str, Shapes] = {"x": loop.steps.layout.shapes, "t": (), "queue": queue}
    inputs |= {"given": loop.inputs.layout.shapes, **_values_of(loop)}
    return Function(trace(step, inputs, name="plant", outputs=["x_next"]))


def controlled_plant_period(loop: ClosedLoop) -> Function:
    """The plant over one period in steps that the error controls, as a solve kernel.

    It is a function of ({pace, x}, t, queue, rtol, atol, given, values, max_iterations); see
    `ControlledPeriod.attempt`.
    """
    size, queue_shape = loop.steps.layout.size, (loop.timing.waiting_torques + 1, loop.plant.n)

    def one(
        state: Record, t: Real, queue: Array, rtol: Real, atol: Array, given: Record, values: Record = _NO_VALUES
    ) -> Any:
        stages, outside = loop.stages_of(given, values), loop.outside_of(given)
        pace, x = loop.controlled_period.attempt(state.pace, state.x, t, stages, queue, outside, values, rtol, atol)
        return {"pace": pace, "x": x}, where(pace.progress.status == IntegrationStatus.RUNNING, 0.0, 1.0)

    inputs: dict[str, Shapes] = {"state": {"pace": PACE, "x": loop.steps.layout.shapes}, "t": (), "queue": queue_shape}
    inputs |= {"rtol": (), "atol": (size,), "given": loop.inputs.layout.shapes, **_values_of(loop)}
    return Function(trace(one, inputs, name="period", outputs=["state_next", "done"]), shape="solve")


def _values_of(loop: ClosedLoop) -> dict[str, Shapes]:
    """Last input of the programs: the values, if there are any."""
    return {"values": loop.shapes} if loop.shapes else {}
