"""Period by period in Python: for controllers that cannot be compiled and for integrators with a variable step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ChaslesError
from chasles.simulation.closed_loop import ClosedLoop

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]
#: From what is given and the state: torques on their way, memory, and what is recorded.
Control = Callable[[Floats, Floats], tuple[Floats, Floats, list[Any]]]
#: From time, the plant's state, torques on their way and what is given: the plant's state a period later.
Advance = Callable[[float, Floats, Floats, Floats], Floats]

#: Events nearer to each other than this part of a period are one.
_APART = 1e-9
#: Evaluations of the derivative from one restart to the next before a variable-step integrator gives up.
_MOST_EVALUATIONS = 50_000


class IntegrationError(ChaslesError, RuntimeError):
    """A variable-step integrator gave up; the message says when and why."""


def run(
    loop: ClosedLoop,
    state: Floats,
    times: Floats,
    control: Control,
    advance: Advance,
    record: Callable[[int, list[Any]], None],
    progress: Callable[[Iterable[int]], Iterable[int]],
) -> Floats:
    """Alternate controller and plant over the times (S, k); hand each row's first sample to ``record``."""
    each_call = loop.inputs.each_call(times)
    for row in progress(range(times.shape[0])):
        for column in range(times.shape[1]):
            given = next(each_call)
            queue, memory, recorded = control(given, state)
            if column == 0:
                record(row, recorded)
            x = advance(float(times[row, column]), state[..., loop.layout["plant"]], queue, given)
            state = np.concatenate([x, memory], axis=-1)
    return state


def compiled_control(loop: ClosedLoop, values: Values) -> Control:
    """Return the compiled controller, over all runs at once."""
    function = loop.controller_function
    late, n = loop.late + 1, loop.plant.n

    def control(given: Floats, state: Floats) -> tuple[Floats, Floats, list[Any]]:
        following, *recorded = function(given, state, *values.values())
        queue = following[..., : late * n].reshape(*following.shape[:-1], late, n)
        return queue, following[..., late * n :], recorded

    return control


def plain_control(loop: ClosedLoop, values: Values) -> Control:
    """Return the controller as plain Python, called for one run after another."""

    def control(given: Floats, state: Floats) -> tuple[Floats, Floats, list[Any]]:
        batch = state.shape[:-1]
        each = np.broadcast_to(given, (*batch, *loop.inputs.shape))
        broadcast = {name: np.broadcast_to(value, (*batch, *loop.shapes[name])) for name, value in values.items()}
        queue = np.empty((*batch, loop.late + 1, loop.plant.n))
        memory = np.empty((*batch, loop.state_size - loop.equations.size))
        recorded = [np.empty((*batch, *variable.shape)) for variable in loop.variables]
        for run in np.ndindex(batch):
            own = {name: value[run] for name, value in broadcast.items()}
            sample = loop.sample(each[run], state[run].copy(), own)
            queue[run], memory[run] = sample.queue, sample.memory
            for array, value in zip(recorded, sample.recorded, strict=True):
                array[run] = value
        return queue, memory, recorded

    return control


def fixed_step(loop: ClosedLoop, values: Values) -> Advance:
    """Return the compiled plant over one period, over all runs at once."""
    function = loop.plant_function

    def advance(t: float, x: Floats, queue: Floats, given: Floats) -> Floats:
        felt = loop.outside_of(given)
        outside = () if felt is None else (felt,)
        return np.asarray(function(x, t, queue, *outside, *values.values()))

    return advance


def variable_step(loop: ClosedLoop, values: Values, method: str, rtol: float, atol: float) -> Advance:
    """Return the plant over one period by SciPy, for one run after another.

    The integrator is restarted at every call, where the delay has passed and another torque takes effect, and at events
    (payloads picked up or put down, jumps of wrenches).
    """
    from scipy.integrate import solve_ivp

    equations, derivative_of = loop.equations, loop.steps.derivative
    after_events = loop.after_events if loop.counts_payloads else None

    def advance_one(t: float, x: Floats, queue: Floats, felt: Any, own: Values) -> Floats:
        arguments = list(own.values())
        before = loop.clock_before(t)
        for stage in loop.stages:
            command = queue[stage.torque]
            ends = _breaks(loop, t, stage.begin * loop.period, stage.end * loop.period, own)
            for begin, end in pairwise(ends):
                clock = t + 0.5 * (begin + end)
                if not (np.isfinite(x).all() and np.isfinite(command).all()):
                    return np.full_like(x, np.nan)
                if after_events is not None:
                    instant = equations.instant(t, begin, loop.period, felt, clock)
                    sampled = () if felt is None else (instant.sampled,)
                    x = after_events(x, before, instant.t, clock, *sampled, *arguments)
                before = clock
                left = count(_MOST_EVALUATIONS, -1)
                inner = begin + _APART * loop.period, end - _APART * loop.period

                def derivative(
                    s: float,
                    x: Floats,
                    command: Any = command,
                    clock: float = clock,
                    inner: Any = inner,
                    left: Any = left,
                ) -> Any:
                    if next(left) == 0:
                        raise IntegrationError(
                            f"{method} found no end of the period after t = {t:g} s: it is too stiff"
                        )
                    instant = equations.instant(t, min(max(s, inner[0]), inner[1]), loop.period, felt, clock)
                    sampled = () if felt is None else (instant.sampled,)
                    return derivative_of(x, instant.t, clock, *sampled, command, *arguments)

                solution = solve_ivp(derivative, (begin, end), x, method=method, rtol=rtol, atol=atol)
                if not solution.success:
                    raise IntegrationError(f"{method} gave up in the period after t = {t:g} s: {solution.message}")
                x = np.asarray(equations.normalized(solution.y[:, -1]))
        return x

    def advance(t: float, x: Floats, queue: Floats, given: Floats) -> Floats:
        batch = x.shape[:-1]
        rows = np.broadcast_to(given, (*batch, *loop.inputs.shape))
        broadcast = {name: np.broadcast_to(value, (*batch, *loop.shapes[name])) for name, value in values.items()}
        following = np.empty_like(x)
        for run in np.ndindex(batch):
            own = {name: value[run] for name, value in broadcast.items()}
            try:
                following[run] = advance_one(t, x[run], queue[run], loop.outside_of(rows[run]), own)
            except IntegrationError:
                if not batch:
                    raise
                following[run] = np.nan  # the other runs of the batch go on
        return following

    return advance


def _breaks(loop: ClosedLoop, t: float, begin: float, end: float, own: Values) -> list[float]:
    """Times since a call at t, from begin to end, at which the integrator is restarted."""
    breaks, apart = [begin], _APART * loop.period
    for event in sorted(event - t for event in loop.equations.switch_times(own)):
        if breaks[-1] + 4.0 * apart < event < end - 4.0 * apart:
            breaks.append(event)
    return [*breaks, end]
