"""Initial value problems: `integrate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.engine import Layout
from chasles.engine.program.scalar import Array
from chasles.integrators.adaptive import DenseSolution, integrate_adaptively
from chasles.integrators.adjoint import IntegrationAdjoint
from chasles.integrators.arguments import (
    Parameters,
    checked_count,
    checked_times,
    checked_tolerances,
    flattened,
    given_parameters,
    rates_program,
    state_layout,
)
from chasles.integrators.attempts import IntegrationStatus
from chasles.integrators.compiled import compiled_integrator
from chasles.integrators.fixed import integrate_with_fixed_steps
from chasles.integrators.integration import Floats, Integration
from chasles.integrators.integrator import Integrator
from chasles.integrators.step_control import StepControl
from chasles.integrators.step_lengths import Steps, Within, steps_of


def integrate(
    function: Callable[..., Any],
    y0: ArrayLike | Mapping[str, ArrayLike],
    times: ArrayLike,
    *,
    parameters: Parameters = (),
    integrator: str | Integrator | Steps | Within = "dormand-prince",
    max_steps: int = 100_000,
    dense: bool = False,
    control: StepControl | None = None,
) -> Integration:
    """Integrate dy/dt = f(t, y) from the first to the last of the given times, for one run or a batch.

    The function is traced and compiled together with the integrator. All runs of a batch are computed side by side,
    each with its own steps; a failed run does not affect the others.

    Parameters
    ----------
    function
        Right-hand side ``f(t, y, *parameters)``, a plain function of operators and the functions of `chasles.engine`,
        or a `chasles.Function` of such arguments. It returns the rates of y: an array or a list of n numbers, or a
        mapping with the parts of y. A plain function is traced in every call, since values that it refers to may
        change. A `chasles.Function` is not, which saves time in many short calls.
    y0
        Initial state, shape (..., n); or a mapping from names to such arrays, in which case the function takes and
        returns such a mapping. Leading axes are a batch of runs.
    times
        Output times, (K,), at least two, increasing or decreasing.
    parameters
        Values of the function's further arguments, in order, or by name in a mapping. Leading axes are a batch of runs
        and broadcast with those of y0. Arguments of a plain function are single numbers; those of a `chasles.Function`
        have the shapes it declares.
    integrator
        Method: ``"dormand-prince"`` (orders 5 and 4), ``"bogacki-shampine"`` (3 and 2), for stiff equations
        ``"rodas5p"`` (5 and 4); with fixed steps ``"rk4"``, ``"euler"``, ``"semi-implicit-euler"``, and for stiff
        equations ``"linearly-implicit-euler"``; or an object as `chasles.integrators.Integrator` describes it. Methods
        with two orders estimate their error, which by default is kept within 1e-6 of every component's size or 1e-9:
        ``Within("rodas5p", rtol=1e-8, atol=1e-11)`` gives other tolerances, ``atol`` one number or one for each
        component, (n,). The others take one step from each time to the next; ``Steps("rk4", 4)`` takes four, and any
        method can take steps of one length.
    max_steps
        Largest number of steps of a run, repeated ones included.
    dense
        Whether to keep the interpolants, so that the result can be called at other times.
    control
        Step size control; default `chasles.integrators.StepControl()`.

    Returns
    -------
    Integration
        Its ``y`` is (*batch, K, n); ``success``, ``message``, ``steps``, … say how each run went.

    Raises
    ------
    ArgumentError
        A value or a shape is invalid; the message says which.
    TraceError
        The function cannot be traced; the message says what to write instead.
    UnknownNameError
        No integrator has this name, or a `chasles.Function` no such argument.

    Notes
    -----
    Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I; Hairer and Wanner, Solving Ordinary
    Differential Equations II. The source of each method stands with it in `chasles.integrators`.

    Examples
    --------
    A pendulum in three lengths:

    >>> import chasles as ch
    >>> from chasles.engine import sin
    >>> def pendulum(t, y, length):
    ...     return [y[1], -9.81 / length * sin(y[0])]
    >>> swing = ch.integrate(pendulum, [0.5, 0.0], [0.0, 0.5, 1.0], parameters={"length": [0.5, 1.0, 2.0]})
    >>> swing.y.shape, swing.success
    ((3, 3, 2), array([ True,  True,  True]))

    Van der Pol's oscillator, stiff:

    >>> relaxing = ch.integrate(
    ...     lambda t, y, mu: [y[1], mu * (1.0 - y[0] ** 2) * y[1] - y[0]],
    ...     [2.0, 0.0],
    ...     [0.0, 1000.0],
    ...     parameters=[1000.0],
    ...     integrator="rodas5p",
    ... )
    >>> relaxing.message
    'reached t = 1000'
    """
    (method, chosen), (layout, state) = steps_of(integrator), state_layout(y0)
    wanted, given = checked_times(times), given_parameters(function, parameters)
    problem, batch = flattened(state, wanted, given)
    program = rates_program(function, layout, given)
    compiled = compiled_integrator(program, method, StepControl() if control is None else control)
    if isinstance(chosen, Within):
        rtol, atol = 1e-6 if chosen.rtol is None else chosen.rtol, 1e-9 if chosen.atol is None else chosen.atol
        tolerances = checked_tolerances(rtol, atol, layout.size)
        solution = integrate_adaptively(compiled, problem, *tolerances, checked_count("max_steps", max_steps), dense)
        controlled, steps = (*tolerances, max_steps), 1
    else:
        steps = checked_count("count", chosen.count)
        solution = integrate_with_fixed_steps(compiled, problem, steps, dense)
        controlled = None
    arrived, named = solution.status == IntegrationStatus.ARRIVED, isinstance(parameters, Mapping)
    adjoint = IntegrationAdjoint(compiled, problem, given, layout, batch, steps, controlled, arrived, named)
    return _result(solution, method, layout, wanted, batch, adjoint)


def _result(
    solution: DenseSolution,
    method: Integrator,
    layout: Layout,
    times: Floats,
    batch: tuple[int, ...],
    adjoint: IntegrationAdjoint,
) -> Integration:
    def shaped(values: Array) -> Array:
        return np.reshape(values, batch)[()]

    success = solution.status == IntegrationStatus.ARRIVED
    failed_at = np.where(success, np.nan, solution.t)
    attempts = solution.steps + solution.rejections
    ends = zip(solution.status.tolist(), solution.t.tolist(), attempts.tolist(), strict=True)
    messages = [_message(*end) for end in ends]
    return Integration(
        t=times,
        y=layout.split(solution.y.reshape(*batch, *solution.y.shape[1:])),
        success=shaped(success),
        failed_at=shaped(failed_at),
        message=messages[0] if batch == () else np.reshape(np.array(messages, dtype=object), batch),
        steps=shaped(solution.steps),
        rejections=shaped(solution.rejections),
        evaluations=shaped(attempts * method.stages),
        integrator=method.name,
        layout=layout,
        pieces=solution.pieces,
        adjoint=adjoint,
    )


def _message(status: int, t: float, attempts: int) -> str:
    """Sentence for the end of a run."""
    if status == IntegrationStatus.ARRIVED:
        return f"reached t = {t:.6g}"
    reason = {
        IntegrationStatus.STEP_TOO_SHORT: ": no step is short enough for the tolerances; "
        "the solution may have a singularity, or the function a jump, there",
        IntegrationStatus.NOT_FINITE: ": the function or the state is not finite there",
        IntegrationStatus.TOO_MANY_STEPS: f" after {attempts} steps: raise max_steps, loosen the tolerances, "
        "or for a stiff equation choose integrator='rodas5p'",
    }
    return f"stopped at t = {t:.6g}{reason[IntegrationStatus(status)]}"
