"""A law alone, without plant: one program of a call, and the numbers that its calls along a motion need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.now import MotorReading, Now, PlannedMotion
from chasles.engine import Layout, Program, trace
from chasles.engine.program.records import Memory, Shapes
from chasles.engine.program.scalar import Array, Real
from chasles.trajectories import Motion

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TracedLaw:
    """A law of joint motions as a program, with what is given at each call along a motion.

    Attributes
    ----------
    program
        ``(t, q, qd, reference, memory, schedule, …) -> (tau, following)``: the reference is q, q̇ and q̈, one after
        another; memory and schedule are vectors. Laws that measure the motor sides of elastic joints get these behind
        q and q̇. The arguments of `further` come last.
    times
        Times of the calls, shape (k,), s.
    references
        References of the calls, shape (k, nq + 2n).
    schedule
        Parts of the schedule of the calls, shape (k, m); m = 0 for laws without.
    initial_memory
        Memory at the start, shape (s,).
    further
        Sample period, (), and parameters, (p,), of a program that has them as arguments; otherwise empty.
    """

    program: Program
    times: Floats
    references: Floats
    schedule: Floats
    initial_memory: Floats
    further: tuple[Floats, ...] = ()


def traced_law(
    controller: Controller, times: Floats, planned: Motion, period: float, *, varied: bool = False
) -> TracedLaw:
    """Trace a law with its period and parameters as constants or, `varied`, as arguments: one program for all gains.

    Raises
    ------
    ArgumentError
        The law follows a frame, measures a wrench, or cannot be traced.
    """
    rows: Any = controller.schedule(times, planned) if controller.has_schedule else None
    row = Layout({}) if rows is None else Layout.of({"row": rows}).rows()
    try:
        program = call_program(controller, planned.q.shape[-1], planned.qd.shape[-1], row, None if varied else period)
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(f"the law of controller '{controller.name}' cannot be traced: {error}") from error
    memory, parameters = controller.memory_layout, parameter_layout(controller)
    schedule = np.zeros((len(times), 0)) if rows is None else np.asarray(row.join({"row": rows}), dtype=np.float64)
    references = np.concatenate([planned.q, planned.qd, planned.qdd], axis=-1)
    start = np.asarray(memory.join(controller.memory), dtype=np.float64)
    further: tuple[Floats, ...] = ()
    if varied:
        further = np.array(period), np.asarray(parameters.join(controller.parameters), dtype=np.float64)
    return TracedLaw(program, times, references, schedule, start, further)


def call_program(controller: Controller, nq: int, n: int, row: Layout, period: float | None, room: int = 0) -> Program:
    """Trace one call of a law of joint motions; without a period, this and the parameters are arguments.

    Parameters
    ----------
    controller, nq, n
        The law, and the numbers of its robot's coordinates and velocities.
    row
        Layout of its schedule at a call, in the part ``row``; empty for laws without.
    period
        Sample period, s, or None.
    room
        Least length of the argument for the schedule.
    """
    if controller.reference_kind != "joint" or controller.measured_wrench is not None:
        raise ArgumentError(f"controller '{controller.name}' does not follow joint motions alone")
    if not controller.traceable:
        raise ArgumentError(
            f"the law of controller '{controller.name}' is plain Python, called once a period: it has no program from "
            "which code or margins could be computed"
        )
    if controller.batch:
        raise ArgumentError(f"controller '{controller.name}' has torques of a batch of runs; give it those of one")
    memory = controller.memory_layout
    sides = 2 if controller.reads_motors else 1  # of the joints, which the law measures
    parameters = parameter_layout(controller)

    def law(
        t: Real, q: Array, qd: Array, reference: PlannedMotion, state: Memory, planned: Array, *further: Any
    ) -> tuple[Any, Any]:
        h, values = further if period is None else (period, None)
        motion = Motion(*np.split(reference, [nq, nq + n]))
        scheduled = row.split(planned[: row.size]).row if row.size else None
        motors = MotorReading(q[nq:], qd[n:]) if sides == 2 else None
        now = Now(t, q[:nq], qd[:n], motion, memory.split(state), h, scheduled, motors=motors)
        chosen = controller if values is None else controller.with_values(dict(parameters.split(values).items()))
        tau = chosen.law(now)
        return np.asarray(tau), memory.join(now.memory)

    inputs: dict[str, Shapes] = {"t": (), "q": (sides * nq,), "qd": (sides * n,), "reference": (nq + 2 * n,)}
    inputs |= {"memory": (memory.size,), "schedule": (max(row.size, room),)}
    inputs |= {"period": (), "parameters": (parameters.size,)} if period is None else {}
    return trace(law, inputs, name="law", outputs=["tau", "following"])


def parameter_layout(controller: Controller) -> Layout:
    """Return the layout of a law's parameters."""
    return Layout({name: np.shape(value) for name, value in controller.parameters.items()})
