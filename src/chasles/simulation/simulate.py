"""Simulation of a robot under a sampled controller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.progress import is_watched, with_progress
from chasles.control import Controller
from chasles.engine import Function
from chasles.integrators import Integrator, Steps, Within
from chasles.robot.robot import Robot
from chasles.simulation import stepping
from chasles.simulation.diagnosis import told
from chasles.simulation.initial_state import State
from chasles.simulation.integrators import AUTOMATIC
from chasles.simulation.plant.plant import Plant
from chasles.simulation.preparation import Prepared, Setup, prepare
from chasles.simulation.recording import Recording
from chasles.simulation.step_accuracy import plain_law_findings, runs_to_repeat, step_findings
from chasles.simulation.varied_values import SEEDS
from chasles.trajectories import CartesianTrajectory, JointTrajectory, Reference

if TYPE_CHECKING:
    from chasles.simulation.results import Run

Floats = NDArray[np.float64]
_PIECES = 50  # of a compiled loop between two updates of the progress bar
_LONG_WORK = 2e10  # scalar operations, some seconds


def simulate(
    plant: Robot | Plant,
    law: Controller | Callable[..., Any] | None = None,
    motion: Reference | JointTrajectory | CartesianTrajectory | None = None,
    *,
    duration: float | None = None,
    period: float = 1e-3,
    start: ArrayLike | State | None = None,
    vary: Mapping[str, ArrayLike] | None = None,
    integrator: str | Integrator | Steps | Within = AUTOMATIC,
    record: Recording | None = None,
    progress: bool | None = None,
) -> Run:
    """Simulate a robot that follows a motion under a sampled control law.

    The law is called once a period and its torque is held in between, while the plant moves continuously.

    Parameters
    ----------
    plant
        Robot, or a `chasles.Plant`: a robot with friction, motors, payloads, contacts, sensors, delay, …. The law has
        its own model, which may differ.
    law
        Controller, or a plain function ``law(now) -> tau`` (see `chasles.PythonLaw`). It is compiled together with the
        plant if it can be traced; otherwise it is called from Python, with a warning. None: no torques.
    motion
        Planned motion: a joint trajectory, or a Cartesian one for laws that follow a frame. The simulation begins at
        its ``start_time``. A motion with a formula (a method ``motion``, as in `chasles.PointToPoint`) is compiled
        together with law and plant, and its parameters can be varied. Other motions are evaluated beforehand at the
        calls of the law. For robots with loops, the motion may be that of the independent joints (see
        `chasles.ClosedMotion`). A batch of trajectories is a batch of runs. None: rest at the start; `duration` is then
        required.
    duration
        Simulated time, s; default the motion's. It is rounded to whole periods.
    period
        Time between two calls of the law, s.
    start
        Initial configuration, shape (..., nq), at rest; or a `chasles.State` with a velocity. Leading axes are a batch
        of runs. Default: the initial state of the motion; for a Cartesian motion, by inverse kinematics near the
        robot's home.
    vary
        Values by name for parameters of the plant (``"payload.mass"``, ``"friction.coulomb"``, ``"sensors.seed"``; see
        `Plant.parameters`), the law (``"controller.kp"``) or the motion (``"reference.goal"``). Leading axes are a
        batch of runs and broadcast.
    integrator
        Name, or an object that implements `chasles.integrators.Integrator`; or one of these with steps or tolerances:
        ``chasles.integrators.Steps("rk4", 4)`` takes four steps a period, ``Within("rodas5p", rtol=1e-9)`` sets the
        tolerance (default 1e-6 and 1e-8, for SciPy's methods 1e-8 and 1e-10). The default, ``"automatic"``, is the
        classical Runge–Kutta method ``"rk4"`` with one step a period. Runs whose accumulated step errors exceed 1e-4 of
        the largest velocity use ``"dormand-prince"`` with error-controlled steps. Where friction, motors or springs act
        too fast for explicit methods, dry friction jumps at rest, or there are contacts, it uses the implicit method
        ``"rodas5p"``, of orders 5 and 4, with the exact Jacobian of the plant and error-controlled steps. Other choices
        are ``"dormand-prince"`` and ``"bogacki-shampine"`` with error-controlled steps; and, of order 1, ``"euler"``,
        ``"semi-implicit-euler"``, ``"implicit-friction-euler"``, which takes joint friction of any stiffness in cheap
        steps, and ``"linearly-implicit-euler"``, all with one step a period. These methods are compiled and integrate
        all runs at once, each with its own steps. SciPy's ``"RK45"``, ``"DOP853"``, ``"Radau"`` and ``"LSODA"``
        simulate one run after another. Methods with error-controlled steps restart at every call of the law, when the
        delay has passed, and at events; plants with timing faults need them. For implicit methods dry friction that
        jumps at rest reverses across 1e-6 rad/s (m/s).
    record
        Recorded samples and variables: ``chasles.Recording(every=10, energies=True, memory=True)``. Default: every
        sample, without energies and the law's memory.
    progress
        Whether to show a progress bar; by default on a terminal, for long work.

    Returns
    -------
    Run
        An `xarray.Dataset` with q, qd, tau, q_reference, qd_reference and error over (run, time, joint), with units,
        and the variables of the plant's effects: sensor readings, currents, wrenches, …. ``saturation_time`` and
        ``saturation_excess`` are the time that each joint was at its effort limit and the largest torque demanded
        beyond it, ``overspeed_time`` and ``overspeed_excess`` the time beyond the velocity limit and the largest
        excess. All refer to the recorded samples, and are 0 where no limit was exceeded; `Run.require_limits` raises if
        a limit of position, velocity or effort was exceeded. Where limits acted, ``tau_demanded`` holds the torques
        before limiting.

    Raises
    ------
    ArgumentError
        If a value or a shape does not fit; the message says which.
    UnknownNameError
        If ``vary`` or ``integrator`` names something that does not exist.
    IntegrationError
        If a SciPy method fails on a single run. In a batch, and with other methods, the run is marked as diverged.

    Examples
    --------
    A payload that the controller does not know of, in three sizes at once:

    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    >>> run = ch.simulate(arm, law, motion, vary={"payload.mass": [0.0, 1.0, 2.0]})
    >>> run.sizes["run"], run.sizes["time"]
    (3, 1001)
    """
    return simulated(Setup(plant, law, motion, duration, period, start, integrator), vary, record, progress)


def simulated(
    setup: Setup,
    vary: Mapping[str, ArrayLike] | None = None,
    record: Recording | None = None,
    progress: bool | None = None,
) -> Run:
    """Simulate a setup; see `simulate`."""
    ready = prepare(setup, vary, record, estimate_errors=True)
    if progress is None:
        progress = is_watched() and _is_long(ready)
    recorded, state = _recorded(ready, progress)
    coarse = ready.stiff
    if not ready.automatic:
        coarse += step_findings(ready, state, recorded[1])
    elif ready.loop.estimates_errors and ready.compiled is None:
        coarse += plain_law_findings(ready, state, recorded[1])
    elif ready.loop.estimates_errors:
        ready, recorded = _with_error_control(ready, recorded, state, progress)
    if not ready.loop.controller.traceable:
        memory = ready.loop.controller.memory_layout.split(state[..., ready.loop.layout.slices["controller"]])
        coarse += ready.loop.controller.findings_after(memory)
    run = _label(ready, recorded)
    return run.with_findings((*coarse, *told(run, ready.loop, ready.reference, ready.state, ready.times, ready.values)))


def _recorded(ready: Prepared, progress: bool) -> tuple[list[Floats], Floats]:
    """Run the loop; return what is recorded, and the states at the end."""
    if ready.compiled is not None and not isinstance(ready.loop.integrator, str):
        return _scan(ready, ready.compiled, progress)
    return _step(ready, progress)


def _with_error_control(
    ready: Prepared, recorded: list[Floats], state: Floats, progress: bool
) -> tuple[Prepared, list[Floats]]:
    """Repeat the runs whose steps miss too much, with steps that the error controls; the others stay as they are."""
    coarse = runs_to_repeat(ready, state, recorded[1])
    if not coarse.any():
        return ready, recorded
    ready = ready.with_error_control()
    again, _ = _recorded(ready, progress)
    for old, new in zip(recorded, again, strict=True):
        old[coarse] = new[coarse]
    return ready, recorded


def _is_long(ready: Prepared) -> bool:
    """Whether the work takes seconds."""
    loop, calls = ready.loop, ready.times.size * ready.state[..., 0].size
    if ready.compiled is None or isinstance(loop.integrator, str):
        return True
    operations = loop.plant.robot.forward_dynamics.program.operation_count
    # With steps that the error controls a guess: three in a period, with a Jacobian each.
    evaluations = 30.0 if loop.substeps is None else float(loop.substeps * loop.integrator.stages)
    return float(calls) * evaluations * operations > _LONG_WORK


def _scan(ready: Prepared, scan: Function, show: bool) -> tuple[list[Floats], Floats]:
    """Run the compiled loop, in pieces for a progress bar or if the inputs of all calls are large."""
    loop, times = ready.loop, ready.times
    batch, (samples, calls_in_row) = ready.state.shape[:-1], times.shape
    recorded = [np.empty((*batch, samples, *variable.shape)) for variable in loop.variables]
    packed = loop.packed(ready.values)
    pieces = np.linspace(0, samples, min(_PIECES, samples) + 1).astype(int) if show else [0, samples]
    state, further = ready.start_of_scan
    for k in with_progress(range(len(pieces) - 1), "simulating", show=show):
        first, last = pieces[k], pieces[k + 1]
        for rows, calls in loop.inputs.parts(last - first, calls_in_row):
            shown = slice(first + rows.start, first + rows.stop)
            # The first call of a row is recorded: what later parts of the same row record is not wanted.
            kept = [
                array[len(batch) * (slice(None),) + (shown,)]
                if calls.start == 0
                else np.empty((*batch, 1, *variable.shape))
                for array, variable in zip(recorded, loop.variables, strict=True)
            ]
            given = loop.inputs.given(times[shown, calls], shown.start * calls_in_row + calls.start)
            again = [np.empty((*batch, shown.stop - shown.start))] if further else []
            out = (np.empty_like(state), *again, *kept)
            state = scan(state, given, *further, *packed, out=out)[0]
    return recorded, state


def _step(ready: Prepared, show: bool) -> tuple[list[Floats], Floats]:
    """Run period by period in Python."""
    loop, times, state, values = ready.loop, ready.times, ready.state, ready.values
    recorded = [np.empty((*state.shape[:-1], times.shape[0], *variable.shape)) for variable in loop.variables]
    axis = state.ndim - 1

    def record(row: int, sample: list[Any]) -> None:
        for array, value in zip(recorded, sample, strict=True):
            array[axis * (slice(None),) + (row,)] = value

    control = (stepping.plain_control if ready.compiled is None else stepping.compiled_control)(loop, values)
    if isinstance(loop.integrator, str):
        advance = stepping.variable_step(loop, values, loop.integrator, *ready.tolerances)
    elif loop.substeps is None:
        advance = stepping.controlled_step(loop, values, *ready.tolerances)
    else:
        advance = stepping.fixed_step(loop, values)
    rows = with_progress(range(times.shape[0]), "simulating", show=show)
    return recorded, stepping.run(loop, state, times, control, advance, record, rows)


def _label(ready: Prepared, recorded: list[Floats]) -> Run:
    from chasles.simulation.labelling import make_run

    loop, given = ready.loop, ready.given
    attributes = {
        "controller": loop.controller.name,
        "follows_reference": int(loop.controller.follows_reference),
        "reference": repr(ready.reference),
        "integrator": loop.integrator if isinstance(loop.integrator, str) else loop.integrator.name,
        "period": loop.period,
        "substeps": loop.substeps or 0,
        "delay": loop.plant.delay,
        "effort_limits": int(loop.plant.effort_limits),
        "velocity_limits": int(loop.plant.velocity_limits),
        "plant": repr(loop.plant),
        "effects": loop.plant.summary,
    }
    varied = {name: ready.values.get(name, given[name]) for name in given}
    shapes = {**loop.shapes, **dict.fromkeys(SEEDS, ())}
    names = loop.controller.memory_names
    return make_run(loop.plant.robot, ready.times[:, 0], recorded, loop.variables, varied, shapes, attributes, names)
