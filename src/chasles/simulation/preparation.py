"""What comes before a run: plant, controller and reference are checked, joined into a loop, compiled and started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, ChaslesError, TraceError, warn
from chasles.base.findings import Finding
from chasles.control import Controller
from chasles.control.python_law import as_controller
from chasles.engine import Function
from chasles.engine.validators import real, reals, truth, whole_number
from chasles.integrators import DORMAND_PRINCE, RODAS5P, Integrator, Steps, Within
from chasles.robot.robot import Robot
from chasles.simulation.call_inputs import BasePaths, CallInput, Noise, SampledWrenches
from chasles.simulation.closed_loop import ClosedLoop, no_controller
from chasles.simulation.compiled_loops import compiled_function
from chasles.simulation.controlled_period import first_pace
from chasles.simulation.initial_state import State, given_start, initial_state
from chasles.simulation.integrators import AUTOMATIC, chosen_steps
from chasles.simulation.loop_programs import controlled_layout, controlled_scan, controller_call, scan
from chasles.simulation.plant.plant import Plant, as_plant
from chasles.simulation.plant.sensors import RESOLUTIONS, checked_seeds
from chasles.simulation.recording import Recording
from chasles.simulation.references import LoopReference, TangentReference, loop_reference
from chasles.simulation.schedules import scheduled
from chasles.simulation.step_errors import STEP_ERRORS, has_estimate
from chasles.simulation.stiffness import SamplingWarning, is_stiff, stiffness_findings
from chasles.simulation.varied_values import Values, arguments_of, check_varied_values, varied_in_plant, varied_values
from chasles.trajectories import ClosedMotion, JointTrajectory, PointToPoint

Floats = NDArray[np.float64]
_LOOKS = 129  # at a curve, whether its loops can be closed
_MOST_CALLS = 1_000_000_000  # from one recorded sample to the next


class UncompiledWarning(UserWarning):
    """A control law could not be compiled and runs as plain Python, far slower."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Closed loop that is ready to run.

    Attributes
    ----------
    loop, compiled
        The loop, and its compiled function; None for a law that runs as plain Python.
    reference
        Reference as given, or the rest that stands for none.
    times
        Times of the calls, shape (samples, calls a sample), s.
    given, values
        Varied values as given, and all that the loop takes.
    state
        State at the start, shape (*batch, size).
    tolerances
        Relative and absolute tolerance of steps that the error controls.
    automatic
        Whether the method was left to the simulation.
    stiff
        Findings that what acts in the plant is too fast for a method of the user's choice.
    """

    loop: ClosedLoop
    compiled: Function | None
    reference: Any
    times: Floats
    given: Mapping[str, Any]
    values: Mapping[str, Any]
    state: Floats
    tolerances: tuple[float, float]
    automatic: bool = False
    stiff: tuple[Finding, ...] = ()

    def with_error_control(self) -> Prepared:
        """Return the same simulation in steps that the error controls."""
        loop = replace(self.loop, integrator=DORMAND_PRINCE, substeps=None, estimates_errors=False)
        return replace(self.in_loop(loop), compiled=_traced(loop))

    @property
    def start_of_scan(self) -> tuple[Floats, list[Any]]:
        """State of the compiled loop at the start, and the tolerances where the error controls its steps."""
        loop = self.loop
        if loop.substeps is not None:
            return self.state, []
        start = {
            "last_call": -np.inf,
            "pace": first_pace(loop.period, float(loop.timing.before_call(float(self.times[0, 0])))),
            "loop": loop.layout.split(self.state),
            "queue": np.zeros((loop.timing.waiting_torques + 1, loop.plant.n)),
        }
        rtol, atol = self.tolerances
        return controlled_layout(loop).join(start), [rtol, np.full(loop.steps.layout.size, atol)]

    def in_loop(self, loop: ClosedLoop) -> Prepared:
        """Return the same start in another loop of the same parts, not yet compiled."""
        start = self.loop.layout.split(self.state)
        sums = dict.fromkeys(STEP_ERRORS, 0.0) if loop.estimates_errors else {}
        state = loop.layout.join({**start, "plant": {**start.plant, "step_errors": sums}})
        return replace(self, loop=loop, compiled=None, state=state)


@dataclass(frozen=True, eq=False)
class Setup:
    """A plant under a law that follows a motion: what `simulate` is given, but for what varies and what is kept.

    Attributes
    ----------
    plant, law, motion, duration, period, start, integrator
        See `chasles.simulate`.
    """

    plant: Robot | Plant
    law: Controller | Callable[..., Any] | None = None
    motion: Any = None
    duration: float | None = None
    period: float = 1e-3
    start: ArrayLike | State | None = None
    integrator: str | Integrator | Steps | Within = AUTOMATIC


def prepare(
    setup: Setup,
    vary: Mapping[str, ArrayLike] | None = None,
    record: Recording | None = None,
    *,
    estimate_errors: bool = False,
) -> Prepared:
    """Join plant, law and motion into a loop, choose its steps and compile it; see `simulate`."""
    plant = as_plant(setup.plant)
    controller = as_controller(no_controller if setup.law is None else setup.law)
    record = Recording() if record is None else record
    if not isinstance(record, Recording):
        raise ArgumentError(f"record must be a chasles.Recording, such as Recording(every=10), not {record!r}")
    start = given_start(setup.start, plant.n)
    reference = _planned(setup, plant.robot, start)
    in_loop = followed_reference(reference, plant, controller)
    chosen = chosen_steps(setup.integrator)
    period = real(setup.period, "period", above=0.0)
    length = in_loop.duration if setup.duration is None else real(setup.duration, "duration", above=0.0)
    times = in_loop.start_time + call_times(length, period, record.every)
    given = varied_values(vary)
    varied = varied_in_plant(given, plant, controller, in_loop)
    further = further_inputs(plant, controller, in_loop, times, period, given)
    loop = ClosedLoop(
        plant,
        controller,
        in_loop,
        varied,
        period,
        chosen.substeps,
        chosen.method,
        truth(record.energies, "energies"),
        further,
        truth(record.memory, "memory") and controller.memory_layout.size > 0,
    )
    values = arguments_of(loop, given)
    check_varied_values(loop, given, values)
    if plant.timing is not None:
        jitter = values.get("timing.jitter", plant.timing.parameters["jitter"])
        loop.timing.check_faults(float(np.max(jitter)), steps_are_chosen=not chosen.by_stiffness)
    state = initial_state(loop, values, given, start)
    if not state.size:
        raise ArgumentError(
            f"there are no runs to simulate: the batch of start and varied values is {state.shape[:-1]}"
        )
    automatic = chosen.by_stiffness and loop.substeps is not None
    loop, stiff = _in_steps_for_stiffness(loop, chosen.by_stiffness, state, values)
    advice = controller.period_warning(loop.period)
    if advice is not None:
        warn(f"controller '{controller.name}': {advice}", SamplingWarning)
    tolerances = chosen.tolerances(loop.integrator)
    ready = Prepared(loop, None, reference, times, given, values, state, tolerances, automatic, stiff)
    if estimate_errors and loop.substeps is not None and has_estimate(loop.integrator):
        ready = ready.in_loop(replace(loop, estimates_errors=True))
    return replace(ready, compiled=_traced(ready.loop))


def prepare_without_rounding(setup: Setup, vary: Mapping[str, ArrayLike] | None = None) -> Prepared:
    """Prepare a loop to be differentiated: its sensors do not round, for the derivative of rounding is zero."""
    rounding = [f"sensors.{name}" for name in RESOLUTIONS]
    values = {name: np.zeros_like(x, float) if name in rounding else x for name, x in (vary or {}).items()}
    return prepare(replace(setup, plant=as_plant(setup.plant).without_rounding()), values)


def _planned(setup: Setup, robot: Robot, start: State) -> Any:
    """The motion of a setup, or rest at its start; with loops of all coordinates."""
    motion = rest(robot, start.q, setup.duration) if setup.motion is None else setup.motion
    if robot.description.loops and isinstance(motion, JointTrajectory):
        return closed_reference(motion, robot, start.q)
    return motion


def followed_reference(motion: Any, plant: Plant, controller: Controller) -> LoopReference:
    """Return a motion as the loop evaluates it, if plant and controller can follow it."""
    reference = loop_reference(motion, takes_poses=controller.reference_kind == "pose")
    check_partners(plant, controller, reference)
    if 0 in reference.batch:
        raise ArgumentError(f"there are no runs to simulate: the batch of the motion is {reference.batch}")
    if plant.robot.nq != plant.robot.n and reference.n is not None:
        return TangentReference(plant.robot, reference)
    return reference


def _in_steps_for_stiffness(
    loop: ClosedLoop, by_stiffness: bool, state: Floats, values: Values
) -> tuple[ClosedLoop, tuple[Finding, ...]]:
    """The loop, by an implicit method if that is left open and needed, and findings about another one."""
    q = loop.layout.split(state.reshape(-1, loop.layout.size)[0]).plant.q
    if not by_stiffness:
        return loop, stiffness_findings(loop, q, values)
    if is_stiff(loop, q, values):
        return replace(loop, integrator=RODAS5P, substeps=None), ()
    if loop.plant.timing is not None and loop.substeps is not None:
        return replace(loop, integrator=DORMAND_PRINCE, substeps=None), ()
    return loop, ()


def _traced(loop: ClosedLoop) -> Function | None:
    """The compiled loop, or None and a warning if the control law is plain Python that cannot be traced.

    For a loop that SciPy integrates, it is the controller alone.
    """
    if not loop.controller.traceable:
        return None
    try:
        if isinstance(loop.integrator, str):
            return compiled_function(loop, controller_call)
        return compiled_function(loop, controlled_scan if loop.substeps is None else scan)
    except Exception as error:  # a plain Python law may fail on traced values in any way
        if isinstance(error, ChaslesError) and not isinstance(error, TraceError):
            raise  # wrong anyhow
        warn(
            f"the control law '{loop.controller.name}' cannot be compiled and runs as plain Python: {error}",
            UncompiledWarning,
        )
        return None


def check_partners(plant: Plant, controller: Controller, reference: LoopReference) -> None:
    """Refuse a controller or a reference that is made for another number of joints."""
    n, nq = plant.n, plant.robot.nq
    if controller.robot is not None and controller.robot.n != n:
        raise ArgumentError(f"the controller's model has {controller.robot.n} joints, but robot '{plant.name}' has {n}")
    if controller.reads_motors and plant.elastic_joints is None:
        raise ArgumentError(
            f"controller '{controller.name}' measures the motor sides of elastic joints: give the plant some"
        )
    if controller.reads_motors and plant.sensors is not None and plant.sensors.side != "both":
        raise ArgumentError(
            f"controller '{controller.name}' measures both sides of elastic joints, and the sensors read one: give "
            "them side='both'"
        )
    if reference.n is not None and reference.n != nq:
        raise ArgumentError(f"the reference moves {reference.n} joints, but robot '{plant.name}' has {nq}")


def rest(robot: Robot, q: ArrayLike | None, duration: float | None) -> PointToPoint:
    """Reference of a simulation without one: rest at the configurations (..., nq) at the start."""
    if duration is None:
        raise ArgumentError("a simulation without a motion needs a duration, such as duration=1.0")
    start = robot.home if q is None else reals(q, "the start's q", (..., robot.nq))
    return PointToPoint(start, start, real(duration, "duration", above=0.0))


def closed_reference(reference: JointTrajectory, robot: Robot, q: ArrayLike | None) -> JointTrajectory:
    """Reference of all coordinates of a robot with loops, from one of its independent joints or of all.

    A curve of all coordinates that leads near closed configurations stays what it is: the compiled loop closes it.
    """
    if reference.n == robot.n:
        near = None if q is None else reals(q, "the start's q", (..., robot.nq)).reshape(-1, robot.nq)[0]
        return ClosedMotion(robot, reference, near)
    if reference.nv == robot.n or reference.n != robot.nq:
        return reference
    shares = np.linspace(0.0, 1.0, _LOOKS).reshape(-1, *(1,) * len(reference.batch))
    curve = reference(reference.start_time + shares * reference.duration).q
    return reference if np.isfinite(robot.normalize(curve)).all() else ClosedMotion(robot, reference)


def call_times(duration: float, period: float, interval: int) -> NDArray[np.float64]:
    """Times of the controller's calls since the start, shape (samples, calls from one sample to the next)."""
    calls = whole_number(interval, "every", 1, _MOST_CALLS)
    steps = round(duration / period)
    if steps < 1:
        raise ArgumentError(f"the duration {duration:g} s is shorter than half a period of {period:g} s")
    samples = -(-steps // calls) + 1
    return period * np.arange(samples * calls, dtype=float).reshape(samples, calls)


def further_inputs(
    plant: Plant,
    controller: Controller,
    reference: LoopReference,
    times: NDArray[np.float64],
    period: float,
    given: Values,
) -> dict[str, CallInput]:
    """Inputs that are computed for every call before the loop runs."""
    further: dict[str, CallInput] = {}
    if controller.has_schedule:
        values = {name: given.get(f"reference.{name}", value) for name, value in reference.parameters.items()}
        further["schedule"] = scheduled(controller, times.ravel(), reference, values)
    sampled = [wrench for name, wrench in plant.wrenches.items() if wrench.sampled]
    for wrench in sampled:
        unknown = [name for name in given if name.startswith(f"wrenches.{wrench.name}.") and wrench.function]
        if unknown:
            raise ArgumentError(
                f"'{unknown[0]}' cannot be varied: the function of wrench '{wrench.name}' cannot be compiled and is "
                "evaluated once, beforehand"
            )
    sensors = plant.sensors
    if sensors is not None and any(
        sensors.parameters[name].any() or f"sensors.{name}" in given for name in sensors.noises
    ):
        seeds = checked_seeds(given.get("sensors.seed", sensors.seed))
        further["noise"] = Noise(seeds, (len(sensors.noises), sensors.count))
    if sampled:
        further["wrenches"] = SampledWrenches(sampled, period)
    if plant.timing is not None:
        seeds = checked_seeds(given.get("timing.seed", plant.timing.seed), "timing faults")
        further["timing"] = Noise(seeds, (2,), uniform=True)
    if plant.base is not None:
        further["base"] = BasePaths(plant.base, period)
    return further
