"""Simulation of a robot under a sampled controller."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.control import Controller, PythonLaw
from chasles.errors import ArgumentError, ChaslesError, TraceError, UnknownNameError
from chasles.robot import Robot
from chasles.simulation import stepping
from chasles.simulation.closed_loop import RECORDED, ClosedLoop
from chasles.simulation.progress import progress_bar, somebody_looks
from chasles.simulation.references import loop_reference
from chasles.simulation.stiffness import warn_if_stiff
from chasles.trajectories import JointTrajectory, Reference

if TYPE_CHECKING:
    from chasles.simulation.results import Run

INTEGRATORS = ("rk4", *stepping.ADAPTIVE)
_PIECES = 50  # of a compiled loop between two updates of the progress bar
_LONG_WORK = 2e10  # scalar operations, some seconds


class UncompiledWarning(UserWarning):
    """A control law could not be compiled and runs as plain Python, far slower."""


class DivergenceWarning(UserWarning):
    """Some runs left the finite numbers; ``diverged_at`` of the result says which and when."""


def simulate(
    robot: Robot,
    controller: Controller | Callable[..., Any],
    reference: Reference | JointTrajectory,
    *,
    duration: float | None = None,
    period: float = 1e-3,
    substeps: int = 1,
    integrator: str = "rk4",
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    save_every: int = 1,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    progress: bool | None = None,
) -> Run:
    """Simulate a robot that follows a reference under a sampled controller.

    The controller is called once a period and its torque is held in between, while the plant moves on continuously.

    Parameters
    ----------
    robot
        The plant. The controller has a model of its own, which may differ.
    controller
        A controller object, or a plain function ``law(t, q, qd, reference) -> tau`` (see `chasles.PythonLaw`). It is
        compiled together with the plant if it can be traced; otherwise it is called as it is, and a warning says so.
    reference
        The planned motion: any joint trajectory. The simulation begins when it does, at its ``start_time``. One with a
        formula (a method ``motion``, as `chasles.PointToPoint` has) is compiled together with controller and plant, and
        its parameters can be varied; any other is evaluated beforehand at the times at which the controller is called.
        A batch of trajectories is a batch of runs.
    duration
        Simulated time, s; default the reference's. It is rounded to whole periods.
    period
        Time between two calls of the controller, s.
    substeps
        Steps of the fixed-step integrator in a period.
    integrator
        ``"rk4"``: the classical Runge–Kutta method, compiled, over all runs at once. ``"RK45"``, ``"DOP853"``,
        ``"Radau"``, ``"LSODA"``: SciPy's integrators with a variable step, for a single run.
    q0, qd0
        Configuration and velocity at the start, shape (..., n); default the reference's. Leading axes are a batch of
        runs.
    vary
        Values by name for parameters of the plant (``"payload.mass"``, see `Robot.parameters`), the controller
        (``"controller.kp"``) or the reference (``"reference.goal"``). Leading axes are a batch of runs and broadcast.
    save_every
        Periods from one recorded sample to the next.
    rtol, atol
        Tolerances of variable-step integrators.
    progress
        Whether to show a progress bar; by default on a terminal, for long work.

    Returns
    -------
    Run
        An `xarray.Dataset` with q, qd, tau, q_reference, qd_reference and error over (run, time, joint), with units.

    Raises
    ------
    ArgumentError
        If a number or a shape does not fit; the message says which.
    UnknownNameError
        If ``vary`` or ``integrator`` names something that does not exist.
    IntegrationError
        If a variable-step integrator gives up.

    Examples
    --------
    A payload that the controller does not know of, in three sizes at once:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> run = ch.simulate(arm, controller, motion, vary={"payload.mass": [0.0, 1.0, 2.0]})
    >>> run.sizes["run"], run.sizes["time"]
    (3, 1001)
    """
    controller = _as_controller(controller)
    in_loop = loop_reference(reference)
    model = getattr(controller, "robot", robot)
    if model.n != robot.n:
        raise ArgumentError(f"the controller's model has {model.n} joints, but robot '{robot.name}' has {robot.n}")
    if integrator not in INTEGRATORS:
        raise UnknownNameError("integrator", integrator, INTEGRATORS)
    times = in_loop.start_time + _times(in_loop.duration if duration is None else duration, period, save_every)
    if not isinstance(substeps, int) or substeps < 1:
        raise ArgumentError(f"substeps must be a positive whole number, not {substeps!r}")
    given = {name: np.asarray(value, dtype=float) for name, value in (vary or {}).items()}
    own = {f"controller.{name}" for name in controller.parameters} | {
        f"reference.{name}" for name in in_loop.parameters
    }
    loop = ClosedLoop(
        robot, controller, in_loop, tuple(name for name in given if name not in own), float(period), substeps
    )
    given = {name: _with_core(value, loop.shapes[name]) for name, value in given.items()}
    values = {name: given.get(name, loop.nominal.get(name)) for name in loop.shapes}
    state = _initial_state(loop, values, given, q0, qd0)

    compiled = _is_traceable(loop)
    if progress is None:
        work = (
            float(times.size) * state[..., 0].size * loop.substeps * 4 * robot.forward_dynamics.program.operation_count
        )
        progress = somebody_looks() and (work > _LONG_WORK or not compiled)
    if integrator == "rk4":
        warn_if_stiff(robot, state.reshape(-1, loop.state_size)[0, : robot.n], given, loop.period, substeps)
    if compiled and integrator == "rk4":
        recorded = _scan(loop, state, times, values, progress)
    else:
        if integrator != "rk4" and state.ndim > 1:
            raise ArgumentError(
                f"the integrator '{integrator}' simulates one run at a time; this batch has shape {state.shape[:-1]}"
            )
        recorded = _step(loop, state, times, values, compiled, integrator, (rtol, atol), progress)
    return _label(loop, repr(reference), times, recorded, given, integrator)


def _as_controller(controller: Any) -> Controller:
    if hasattr(controller, "law"):
        return cast(Controller, controller)
    if callable(controller):
        return PythonLaw(controller)
    raise ArgumentError(f"a controller is an object with a method `law`, or a function, not {controller!r}")


def _times(duration: float, period: float, save_every: int) -> NDArray[np.float64]:
    """Times of the controller's calls since the start, shape (samples, calls from one sample to the next)."""
    for name, value in (("duration", duration), ("period", period)):
        if not (np.isfinite(value) and value > 0):
            raise ArgumentError(f"the {name} must be a positive number of seconds, not {value!r}")
    if not isinstance(save_every, int) or save_every < 1:
        raise ArgumentError(f"save_every must be a positive whole number, not {save_every!r}")
    steps = round(duration / period)
    if steps < 1:
        raise ArgumentError(f"the duration {duration:g} s is shorter than half a period of {period:g} s")
    samples = -(-steps // save_every) + 1
    return period * np.arange(samples * save_every, dtype=float).reshape(samples, save_every)


def _initial_state(
    loop: ClosedLoop, values: Mapping[str, Any], varied: Mapping[str, Any], q0: Any, qd0: Any
) -> NDArray[np.float64]:
    """State of every run at the start, shape (*batch, state)."""
    n = loop.robot.n
    batches = []
    for name, shape in loop.shapes.items():
        core = values[name].ndim - len(shape)
        if core < 0 or values[name].shape[core:] != shape:
            hint = "; one value for all joints has shape (..., 1)" if len(shape) == 1 else ""
            wanted = ", ".join(map(str, shape))
            raise ArgumentError(f"vary['{name}'] must have shape (..., {wanted}), not {values[name].shape}{hint}")
        batches.append(values[name].shape[:core])
    if loop.reference.n != n:
        raise ArgumentError(f"the reference moves {loop.reference.n} joints, but robot '{loop.robot.name}' has {n}")
    parameters = {name: values[f"reference.{name}"] for name in loop.reference.parameters}
    start = loop.reference.start(parameters, varied=any(f"reference.{name}" in varied for name in parameters))
    parts = []
    for name, given, default in (("q0", q0, start.q), ("qd0", qd0, start.qd)):
        array = np.asarray(default if given is None else given, dtype=float)
        if array.ndim < 1 or array.shape[-1] != n:
            raise ArgumentError(f"{name} must have shape (..., {n}), not {array.shape}")
        parts.append(array)
    try:
        batch = np.broadcast_shapes(*batches, loop.reference.batch, *(part.shape[:-1] for part in parts))
    except ValueError:
        raise ArgumentError("the batch axes of q0, qd0, varied parameters and reference do not broadcast") from None
    parts.append(loop.controller.initial_state)
    return np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)


def _with_core(value: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Repeat a single value for all joints, of shape (..., 1), for each of them."""
    one_for_all = len(shape) == 1 and value.ndim >= 1 and value.shape[-1] == 1
    return np.repeat(value, shape[0], axis=-1) if one_for_all else value


def _is_traceable(loop: ClosedLoop) -> bool:
    try:
        _ = loop.scan
    except Exception as error:  # a plain Python law may fail on traced values in any way
        wrong_anyhow = isinstance(error, ChaslesError) and not isinstance(error, TraceError)
        if wrong_anyhow or not isinstance(loop.controller, PythonLaw):
            raise
        warnings.warn(
            f"the control law '{loop.controller.name}' cannot be compiled and runs as plain Python: {error}",
            UncompiledWarning,
            stacklevel=3,
        )
        return False
    return True


def _scan(
    loop: ClosedLoop, state: NDArray[np.float64], times: NDArray[np.float64], values: Mapping[str, Any], show: bool
) -> list[NDArray[np.float64]]:
    """Run the compiled loop, in pieces if a progress bar is shown or the samples of the reference are many."""
    batch, samples, n = state.shape[:-1], times.shape[0], loop.robot.n
    recorded = [np.empty((*batch, samples, n)) for _ in RECORDED]
    pieces = np.linspace(0, samples, min(_PIECES, samples) + 1).astype(int) if show else [0, samples]
    for k in progress_bar("simulating", len(pieces) - 1, show)(range(len(pieces) - 1)):
        first, last = pieces[k], pieces[k + 1]
        for rows, calls in loop.reference.parts(last - first, times.shape[1]):
            shown = slice(first + rows.start, first + rows.stop)
            # The first call of a row is recorded: what later parts of the same row record is not wanted.
            kept = [a[..., shown, :] if calls.start == 0 else np.empty((*batch, 1, n)) for a in recorded]
            given = loop.reference.given(times[shown, calls])
            state = loop.scan(state, given, *values.values(), out=(np.empty_like(state), *kept))[0]
    return recorded


def _step(
    loop: ClosedLoop,
    state: NDArray[np.float64],
    times: NDArray[np.float64],
    values: Mapping[str, Any],
    compiled: bool,
    integrator: str,
    tolerances: tuple[float, float],
    show: bool,
) -> list[NDArray[np.float64]]:
    """Run period by period in Python."""
    recorded = [np.empty((*state.shape[:-1], times.shape[0], loop.robot.n)) for _ in RECORDED]

    def record(row: int, sample: tuple[Any, ...]) -> None:
        for array, value in zip(recorded, sample, strict=True):
            array[..., row, :] = value

    control = (stepping.compiled_control if compiled else stepping.plain_control)(loop, values)
    if integrator == "rk4":
        advance = stepping.fixed_step(loop, values)
    else:
        advance = stepping.variable_step(loop, values, integrator, *tolerances)
    stepping.run(loop, state, times, control, advance, record, progress_bar("simulating", times.shape[0], show))
    return recorded


def _label(
    loop: ClosedLoop,
    reference: str,
    times: NDArray[np.float64],
    recorded: list[NDArray[np.float64]],
    varied: Mapping[str, NDArray[np.float64]],
    integrator: str,
) -> Run:
    from chasles.simulation.results import make_run

    attributes = {
        "controller": loop.controller.name,
        "reference": reference,
        "integrator": integrator,
        "period": loop.period,
        "substeps": loop.substeps,
    }
    named = dict(zip(RECORDED, recorded, strict=True))
    run = make_run(loop.robot, times[:, 0], named, varied, loop.shapes, attributes)
    diverged = np.isfinite(run["diverged_at"].values)
    if diverged.any():
        first = float(np.nanmin(run["diverged_at"].values))
        warnings.warn(
            f"{int(diverged.sum())} of {diverged.size} runs diverged, the first at t = {first:g} s "
            "(see `diverged_at`); lower gains, a shorter period or more substeps may help",
            DivergenceWarning,
            stacklevel=3,
        )
    return run
