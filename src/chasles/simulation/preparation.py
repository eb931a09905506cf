"""What comes before a run: plant, controller and reference joined into a loop that is compiled and has its start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import real, truth
from chasles.control import Controller
from chasles.control.controller import as_controller
from chasles.engine import Function
from chasles.errors import ArgumentError, ChaslesError, TraceError, warn
from chasles.integrators import RODAS5P, Integrator
from chasles.plant.plant import Plant, as_plant
from chasles.robot import Robot
from chasles.simulation import setup
from chasles.simulation.closed_loop import ClosedLoop
from chasles.simulation.compiled_loops import compiled_function
from chasles.simulation.initial_state import initial_state
from chasles.simulation.integrators import AUTOMATIC, integrator_and_steps, tolerances
from chasles.simulation.references import loop_reference
from chasles.simulation.stiffness import SamplingWarning, is_stiff, warn_if_stiff
from chasles.simulation.tangent_references import TangentReference
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]


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
    """

    loop: ClosedLoop
    compiled: Function | None
    reference: Any
    times: Floats
    given: Mapping[str, Any]
    values: Mapping[str, Any]
    state: Floats
    tolerances: tuple[float, float]


def prepare(
    plant: Robot | Plant, controller: Controller | Callable[..., Any] | None, reference: Any, *,
    duration: float | None, period: float, delay: float, substeps: int | None = None,
    integrator: str | Integrator = AUTOMATIC, q0: ArrayLike | None = None, qd0: ArrayLike | None = None,
    vary: Mapping[str, ArrayLike] | None = None, save_every: int = 1, audit: bool = False, memory: bool = False,
    effort_limits: bool = True, stop_at_velocity_limits: bool = False, rtol: float | None = None,
    atol: float | None = None,
) -> Prepared:  # fmt: skip
    """Join plant, controller and reference into a loop, choose its steps and compile it; see `simulate`."""
    plant, controller = as_plant(plant), as_controller(no_controller if controller is None else controller)
    if reference is None:
        reference = setup.rest(plant.robot, q0, duration)
    if plant.robot.description.loops and isinstance(reference, JointTrajectory):
        reference = setup.closed_reference(reference, plant.robot, q0)
    in_loop = loop_reference(reference, takes_poses=controller.reference_kind == "pose")
    setup.check_partners(plant, controller, in_loop)
    if plant.robot.nq != plant.robot.n and in_loop.n is not None:
        in_loop = TangentReference(plant.robot, in_loop)
    method, steps = integrator_and_steps(integrator, substeps)
    step = real(period, "period", above=0.0)
    if 0 in in_loop.batch:
        raise ArgumentError(f"there are no runs to simulate: the batch of the reference is {in_loop.batch}")
    length = in_loop.duration if duration is None else real(duration, "duration", above=0.0)
    times = in_loop.start_time + setup.call_times(length, step, save_every)
    given = setup.varied_values(vary)
    varied = setup.varied_in_plant(given, plant, controller, in_loop)
    further = setup.further_inputs(plant, controller, in_loop, times, step, given)
    loop = ClosedLoop(
        plant,
        controller,
        in_loop,
        varied,
        step,
        steps,
        method,
        real(delay, "delay", at_least=0.0),
        truth(audit, "audit"),
        further,
        truth(memory, "memory") and controller.memory_layout.size > 0,
        truth(effort_limits, "effort_limits"),
        stop_at_velocity_limits,
    )
    values = setup.arguments_of(loop, given)
    state = initial_state(loop, values, given, q0, qd0)
    if not state.size:
        raise ArgumentError(
            f"there are no runs to simulate: the batch of q0, qd0 and varied values is {state.shape[:-1]}"
        )
    q_start = loop.layout.split(state.reshape(-1, loop.layout.size)[0]).plant.q
    if integrator == AUTOMATIC and substeps is None:
        if is_stiff(loop, q_start, values):
            loop = replace(loop, integrator=RODAS5P, substeps=None)
    else:
        warn_if_stiff(loop, q_start, values)
    advice = controller.period_warning(loop.period)
    if advice is not None:
        warn(f"controller '{controller.name}': {advice}", SamplingWarning)
    chosen = tolerances(loop.integrator, rtol, atol)
    return Prepared(loop, _traced(loop), reference, times, given, values, state, chosen)


def no_controller(t: Any, q: Any, qd: Any, reference: Any) -> Any:
    """Law of an uncontrolled robot: zero torques."""
    return 0.0 * qd


def _traced(loop: ClosedLoop) -> Function | None:
    """The compiled loop, or None and a warning if the control law is plain Python that cannot be traced.

    For a loop that SciPy integrates, it is the controller alone.
    """
    if not loop.controller.traceable:
        return None
    try:
        if isinstance(loop.integrator, str):
            return compiled_function(loop, "controller_function")
        return compiled_function(loop, "controlled_scan" if loop.substeps is None else "scan")
    except Exception as error:  # a plain Python law may fail on traced values in any way
        if isinstance(error, ChaslesError) and not isinstance(error, TraceError):
            raise  # wrong anyhow
        warn(
            f"the control law '{loop.controller.name}' cannot be compiled and runs as plain Python: {error}",
            UncompiledWarning,
        )
        return None
