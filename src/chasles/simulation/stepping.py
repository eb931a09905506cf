"""Period by period in Python: for controllers that cannot be compiled and for integrators with a variable step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ChaslesError
from chasles.engine import Function
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.compiled_loops import compiled_function
from chasles.simulation.controlled_period import APART, MOST_ATTEMPTS, AttemptState, first_pace, new_period
from chasles.simulation.integrators import SCIPY_IMPLICIT
from chasles.simulation.loop_programs import controlled_plant_period, controller_call, plant_period
from chasles.simulation.outside_law import given_outside, of_run, with_outside_law

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]
#: From what is given and the state: what goes on, with the torques on their way as ``queue``, and what is recorded.
Control = Callable[[Floats, Floats], tuple[Mapping[str, Any], list[Any]]]
#: From time, the plant's state, torques on their way and what is given: the plant's state a period later.
Advance = Callable[[float, Floats, Floats, Floats], Floats]

#: Evaluations of the derivative from one restart to the next before a variable-step integrator gives up.
_MOST_EVALUATIONS = 50_000


class IntegrationError(ChaslesError, RuntimeError):
    """A variable-step integrator failed; the message says when and why."""


def run(
    loop: ClosedLoop,
    state: Floats,
    times: Floats,
    control: Control,
    advance: Advance,
    record: Callable[[int, list[Any]], None],
    rows: Iterable[int],
) -> Floats:
    """Alternate controller and plant over the times (S, k); hand each row's first sample to ``record``.

    Returns
    -------
    ndarray
        States at the end.
    """
    each_call = loop.inputs.each_call(times)
    x = state[..., loop.layout.slices["plant"]]
    for row in rows:
        for column in range(times.shape[1]):
            given = next(each_call)
            following, recorded = control(given, state)
            if column == 0:
                record(row, recorded)
            x = advance(float(times[row, column]), x, following["queue"], given)
            parts = {name: following[name] for name in loop.sampled_controller.shapes}
            state = loop.layout.join({"plant": loop.steps.layout.split(x), **parts})
    return state


def compiled_control(loop: ClosedLoop, values: Values) -> Control:
    """Return the compiled controller, over all runs at once."""
    function, packed = compiled_function(loop, controller_call), loop.packed(values)

    def control(given: Floats, state: Floats) -> tuple[Mapping[str, Any], list[Any]]:
        following, *recorded = function(given, state, *packed)
        return following, recorded

    return control


def plain_control(loop: ClosedLoop, values: Values) -> Control:
    """Return the controller with its law as plain Python, called for one run after another; the rest is compiled."""
    outer, sampled = with_outside_law(loop), loop.sampled_controller
    function, packed = compiled_function(outer, controller_call), outer.packed(values)
    memory, place = sampled.memory_layout, loop.layout.slices["controller"]
    names = [variable.name for variable in loop.variables]

    def control(given: Floats, state: Floats) -> tuple[Mapping[str, Any], list[Any]]:
        batch, n = state.shape[:-1], loop.plant.n
        inputs, parts = loop.inputs.layout.split(given), loop.layout.split(state)
        start = outer.layout.join({**parts, "controller": outer.controller.memory})

        def called(tau: Floats) -> tuple[Any, ...]:
            return tuple(function(outer.inputs.layout.join({**inputs, "schedule": tau}), start, *packed))

        noted = called(np.zeros((*batch, n)))[0]["controller"]
        each = loop.inputs.layout.split(np.broadcast_to(given, (*batch, loop.inputs.layout.size)))
        broadcast = {name: np.broadcast_to(value, (*batch, *loop.shapes[name])) for name, value in values.items()}
        tau, before = np.empty((*batch, n)), state[..., place]
        remembered = np.empty_like(before)
        for run in np.ndindex(batch):
            row = of_run({"row": each.schedule}, run).row if "schedule" in each else None
            now = given_outside(each.t[run], of_run(noted, run), memory.split(before[run].copy()), loop, row)
            tau[run] = sampled.torques(now, {name: value[run] for name, value in broadcast.items()})
            remembered[run] = sampled.next_memory(now)
        following, *recorded = called(tau)
        if loop.record_memory:
            recorded.insert(names.index("memory"), before)
        return {**following, "controller": memory.split(remembered)}, recorded

    return control


def fixed_step(loop: ClosedLoop, values: Values) -> Advance:
    """Return the compiled plant over one period in steps of a fixed length, over all runs at once."""
    function, packed = compiled_function(loop, plant_period), loop.packed(values)

    def advance(t: float, x: Floats, queue: Floats, given: Floats) -> Floats:
        return np.asarray(function(x, t, queue, given, *packed))

    return advance


def controlled_step(loop: ClosedLoop, values: Values, rtol: float, atol: float) -> Advance:
    """Return the compiled plant over one period in steps that the error controls, over all runs at once."""
    function, layout = compiled_function(loop, controlled_plant_period), loop.steps.layout
    packed = loop.packed(values)
    pace: AttemptState | None = None

    def advance(t: float, x: Floats, queue: Floats, given: Floats) -> Floats:
        nonlocal pace
        before = first_pace(loop.period, float(loop.timing.before_call(t))) if pace is None else pace
        state = {"pace": new_period(before), "x": layout.split(x)}
        state, _, _ = function(state, t, queue, rtol, np.full(layout.size, atol), given, *packed, MOST_ATTEMPTS)
        pace = state["pace"]
        return layout.join(state["x"])

    return advance


def variable_step(loop: ClosedLoop, values: Values, method: str, rtol: float, atol: float) -> Advance:
    """Return the plant over one period by SciPy, for one run after another.

    The integrator is restarted where `chasles.simulation.controlled_period` restarts, too.
    """
    from scipy.integrate import solve_ivp

    steps = loop.steps
    rates = Function(steps.rates)
    jacobian = rates.jacobian("rates", "x") if method in SCIPY_IMPLICIT else None

    def advance_one(t: float, x: Floats, queue: Floats, given: Floats, of_run: Values) -> Floats:
        before: Any = loop.timing.before_call(t)
        for stage in loop.stages_of(loop.inputs.layout.split(given), of_run):
            command = queue[stage.torque]
            held = loop.held_inputs(given, of_run, command)
            ends = _breaks(loop, t, float(stage.begin) * loop.period, float(stage.end) * loop.period, of_run)
            for begin, end in pairwise(ends):
                clock, span = t + 0.5 * (begin + end), end - begin
                if not (np.isfinite(x).all() and np.isfinite(command).all()):
                    return np.full_like(x, np.nan)
                if loop.counts_payloads:
                    x = steps.after_events(x, before, t, begin, clock, held)
                before = clock
                left, place = count(_MOST_EVALUATIONS, -1), (t, begin, span, clock, held)

                def derivative(s: float, x: Floats, place: tuple[Any, ...] = place, left: Iterator[int] = left) -> Any:
                    if next(left) == 0:
                        raise IntegrationError(
                            f"{method} needs more than {_MOST_EVALUATIONS:,} evaluations in the period from t = {t:g} "
                            "s: the plant is too stiff for it; choose integrator='automatic'"
                        )
                    return rates(s, x, *place)

                exact = {} if jacobian is None else {"jac": partial(_at, jacobian, place)}
                solution = solve_ivp(derivative, (0.0, span), x, method=method, rtol=rtol, atol=atol, **exact)
                if not solution.success:
                    raise IntegrationError(f"{method} failed in the period from t = {t:g} s: {solution.message}")
                x = steps.layout.join(steps.normalized(solution.y[:, -1]))
        return x

    def advance(t: float, x: Floats, queue: Floats, given: Floats) -> Floats:
        batch = x.shape[:-1]
        rows = np.broadcast_to(given, (*batch, loop.inputs.layout.size))
        broadcast = {name: np.broadcast_to(value, (*batch, *loop.shapes[name])) for name, value in values.items()}
        following = np.empty_like(x)
        for run in np.ndindex(batch):
            of_run = {name: value[run] for name, value in broadcast.items()}
            try:
                following[run] = advance_one(t, x[run], queue[run], rows[run], of_run)
            except IntegrationError:
                if not batch:
                    raise
                following[run] = np.nan  # the other runs of the batch go on
        return following

    return advance


def _at(function: Function, place: Sequence[Any], s: float, x: Floats) -> Any:
    """Value of a function of a time, a state and what stays."""
    return function(s, x, *place)


def _breaks(loop: ClosedLoop, t: float, begin: float, end: float, of_run: Values) -> list[float]:
    """Times since a call at t, from begin to end, at which the integrator is restarted."""
    breaks, apart = [begin], APART * loop.period
    for event in sorted(float(event) - t for event in loop.equations.environment.switch_times(of_run)):
        if breaks[-1] + apart < event < end - apart:
            breaks.append(event)
    return [*breaks, end]
