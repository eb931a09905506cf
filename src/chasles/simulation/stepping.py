"""Period by period in Python: for controllers that cannot be compiled and for integrators with a variable step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.errors import ChaslesError
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.references import given_at_calls

Values = Mapping[str, NDArray[np.float64]]
Control = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any, Any]]
Advance = Callable[[float, Any, Any, Any], tuple[Any, Any]]

#: Integrators of `scipy.integrate.solve_ivp` with a variable step.
ADAPTIVE = ("RK45", "DOP853", "Radau", "LSODA")


class IntegrationError(ChaslesError, RuntimeError):
    """A variable-step integrator gave up; the message says when and why."""


def run(
    loop: ClosedLoop,
    state: NDArray[np.float64],
    times: NDArray[np.float64],
    control: Control,
    advance: Advance,
    record: Callable[[int, tuple[Any, ...]], None],
    progress: Callable[[Iterable[int]], Iterable[int]],
) -> NDArray[np.float64]:
    """Alternate controller and plant over the times (S, k); hand each row's first sample to ``record``."""
    q, qd, memory = loop.split(state)
    given = given_at_calls(loop.reference, times)
    for row in progress(range(times.shape[0])):
        for column in range(times.shape[1]):
            tau, following, q_reference, qd_reference = control(next(given), q, qd, memory)
            if column == 0:
                record(row, (q, qd, tau, q_reference, qd_reference))
            q, qd = advance(float(times[row, column]), q, qd, tau)
            memory = following
    return np.concatenate([q, qd, memory], axis=-1)


def compiled_control(loop: ClosedLoop, values: Values) -> Control:
    """Return the compiled controller, over all runs at once."""
    function = loop.controller_function

    def control(given: Any, q: Any, qd: Any, memory: Any) -> tuple[Any, Any, Any, Any]:
        spare = np.zeros((*memory.shape[:-1], 1))
        tau, following, *motion = function(given, q, qd, np.concatenate([memory, spare], axis=-1), *values.values())
        return tau, following[..., :-1], motion[0], motion[1]

    return control


def plain_control(loop: ClosedLoop, values: Values) -> Control:
    """Return the controller as plain Python, called for one run after another."""

    def control(given: Any, q: Any, qd: Any, memory: Any) -> tuple[Any, Any, Any, Any]:
        batch = q.shape[:-1]
        each = np.broadcast_to(given, (*batch, *loop.reference.given_shape))
        taus, memories = np.empty(q.shape), np.empty(memory.shape)
        references, rates = np.empty(q.shape), np.empty(q.shape)
        broadcast = {name: np.broadcast_to(value, (*batch, *loop.shapes[name])) for name, value in values.items()}
        for run in np.ndindex(batch):
            own = {name: value[run] for name, value in broadcast.items()}
            tau, following, motion = loop.control(each[run], q[run].copy(), qd[run].copy(), memory[run].copy(), own)
            taus[run], memories[run], references[run], rates[run] = tau, following, motion.q, motion.qd
        return taus, memories, references, rates

    return control


def fixed_step(loop: ClosedLoop, values: Values) -> Advance:
    """Return the compiled plant over one period, over all runs at once."""
    function = loop.plant_function
    return lambda t, q, qd, tau: function(q, qd, tau, *values.values())


def variable_step(loop: ClosedLoop, values: Values, method: str, rtol: float, atol: float) -> Advance:
    """Return the plant over one period by SciPy, restarted at every sample; for a single run."""
    from scipy.integrate import solve_ivp

    n = loop.robot.n
    accelerations = loop.robot.forward_dynamics.specialize(vary=loop.varied)
    varied = [values[name] for name in loop.varied]

    def advance(t: float, q: Any, qd: Any, tau: Any) -> tuple[Any, Any]:
        def derivative(_: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.concatenate([x[n:], accelerations(x[:n], x[n:], tau, *varied)])

        start = np.concatenate([q, qd])
        if not np.isfinite(start).all() or not np.isfinite(tau).all():
            return np.full(n, np.nan), np.full(n, np.nan)
        solution = solve_ivp(derivative, (t, t + loop.period), start, method=method, rtol=rtol, atol=atol)
        if not solution.success:
            raise IntegrationError(f"{method} gave up in the period after t = {t:g} s: {solution.message}")
        return solution.y[:n, -1], solution.y[n:, -1]

    return advance
