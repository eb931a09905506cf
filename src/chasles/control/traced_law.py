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
from chasles.engine.program.records import Memory, Record, Shapes
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
    if controller.reference_kind != "joint" or controller.measured_wrench is not None:
        raise ArgumentError(f"controller '{controller.name}' does not follow joint motions alone")
    nq, n, memory = planned.q.shape[-1], planned.qd.shape[-1], controller.memory_layout
    sides = 2 if controller.reads_motors else 1  # of the joints, which the law measures
    rows: Any = controller.schedule(times, planned) if controller.has_schedule else None
    row = Layout({}) if rows is None else Layout.of({"row": rows}).rows()

    parameters = Layout({name: np.shape(value) for name, value in controller.parameters.items()})

    def law(
        t: Real, q: Array, qd: Array, reference: PlannedMotion, state: Memory, planned_values: Record, *further: Any
    ) -> tuple[Any, Any]:
        h, values = further if varied else (period, None)
        now = Now(
            t,
            q[:nq],
            qd[:n],
            Motion(*np.split(reference, [nq, nq + n])),
            memory.split(state),
            h,
            None if rows is None else row.split(planned_values).row,
            motors=MotorReading(q[nq:], qd[n:]) if sides == 2 else None,
        )
        chosen = controller if values is None else controller.with_values(dict(parameters.split(values).items()))
        tau = chosen.law(now)
        return np.asarray(tau), memory.join(now.memory)

    if not controller.traceable:
        raise ArgumentError(
            f"the law of controller '{controller.name}' is plain Python, called once a period: it has no program from "
            "which code or margins could be computed"
        )
    inputs: dict[str, Shapes] = {"t": (), "q": (sides * nq,), "qd": (sides * n,), "reference": (nq + 2 * n,)}
    inputs |= {"memory": (memory.size,), "schedule": (row.size,)}
    inputs |= {"period": (), "parameters": (parameters.size,)} if varied else {}
    try:
        program = trace(law, inputs, name="law", outputs=["tau", "following"])
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(f"the law of controller '{controller.name}' cannot be traced: {error}") from error
    schedule = np.zeros((len(times), 0)) if rows is None else np.asarray(row.join({"row": rows}), dtype=np.float64)
    references = np.concatenate([planned.q, planned.qd, planned.qdd], axis=-1)
    start = np.asarray(memory.join(controller.memory), dtype=np.float64)
    further: tuple[Floats, ...] = ()
    if varied:
        further = np.array(period), np.asarray(parameters.join(controller.parameters), dtype=np.float64)
    return TracedLaw(program, times, references, schedule, start, further)
