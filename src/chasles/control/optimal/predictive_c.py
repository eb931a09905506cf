"""Model predictive control as C code: the schedule of a call, with the memory of the first call as constants."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.now import Now
from chasles.control.optimal.predictive import ModelPredictive
from chasles.control.optimal.predictive_call import PredictiveCall
from chasles.control.optimal.predictive_programs import CallPrograms
from chasles.engine import Record
from chasles.engine.schedule_in_c import ScheduleInC, lower_schedule
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]


def predictive_to_c(law: ModelPredictive, motion: JointTrajectory, *, period: float, name: str) -> tuple[str, str]:
    """Return C99 source and header of a predictive law that begins where a motion does.

    ``NAME_init`` gives the plan that the law makes one period before the first call, at the start of the motion; so no
    call in C begins from nothing, and all take the same iterations. Values of the residuals, such as a goal, are
    members of the state that a program may change between calls.

    Parameters
    ----------
    law
        The law.
    motion
        Motion whose start is that of the law, and which it follows if its residuals do.
    period
        Sample period, s.
    name
        Prefix of all names.
    """
    planned = on_manifold(law.robot, motion)
    calls = max(2, math.ceil(motion.duration / period - 1e-9) + 1)
    start = float(motion.start_time)
    times = start + period * np.arange(-1.0, calls)
    at_calls = planned(np.maximum(times, start))
    rows = law.schedule(times, at_calls) if law.problem.takes_reference else None
    call = PredictiveCall(CallPrograms(law.problem, period, law.delay, law.observer), law.iterations, law.barrier)
    memory = _first_memory(law, times[0], planned(start), period, None if rows is None else rows[0])
    if not call.rows_stay():
        raise ArgumentError(
            "the contacts of the problem change, and C code has the rows of one horizon alone; let phases begin at "
            "node 0 and end after the last one, as of a robot that stands"
        )
    values = {f"value of {each}": getattr(law, each) for each in law.problem.values}
    rest = {"t": start, "q": at_calls.q[0], "qd": at_calls.qd[0], "planned": 0.0}
    call.take(rest | values, memory)
    named = {each.removeprefix("value of "): array for each, array in call.given.items()}
    named |= {f"memory_{each}": array for each, array in call.memory.items()} | {"tau": call.tau, "failed": call.failed}
    code = lower_schedule(call.schedule, "call", named, name)
    table = None if rows is None else _table(rows[1:], law.problem.step.h, period)
    return _source(name, code, table, start, period), _header(name, code, call, period)


def _first_memory(law: ModelPredictive, t: float, motion: Any, period: float, row: Any) -> Record:
    """Return the memory after a first call at a time and a place of a motion."""
    memory = Record({key: np.array(value) for key, value in law.memory.items()})
    law.law(Now(t, motion.q, motion.qd, motion, memory, period, row))
    return memory


class _Table(NamedTuple):
    """The motion to follow, one row a period: at a call nodes take rows from that of the call on.

    Attributes
    ----------
    rows
        The rows, (periods, nq + 2n).
    calls
        Number of calls along the motion; at later ones it rests.
    ratio
        Number of periods from node to node.
    """

    rows: Floats
    calls: int
    ratio: int


def _table(rows: Floats, h: float, period: float) -> _Table:
    """Return the table of what each call follows at the nodes, rows (calls, N + 1, nq + 2n)."""
    calls, nodes, width = rows.shape
    ratio = round(h / period)
    if abs(ratio * period - h) > 1e-6 * h:
        raise ArgumentError(
            f"the steps of the problem last {h:g} s, which is no whole number of periods of {period:g} s; C code keeps "
            "the motion to follow at calls alone, so let nodes be whole periods apart"
        )
    table = np.zeros((calls + ratio * (nodes - 1), width))
    for node in range(nodes):
        table[ratio * node : ratio * node + calls] = rows[:, node]
    return _Table(table, calls, ratio)


def _header(name: str, code: ScheduleInC, call: PredictiveCall, period: float) -> str:
    guard = f"{name.upper()}_H"
    values = [each.removeprefix("value of ") for each in call.given if each.startswith("value of ")]
    changed = f" * Values that residuals name are members of the state: {', '.join(values)}.\n" if values else ""
    return "\n".join(
        [
            f"/* {name}: model predictive control, written by Chasles.",
            f" * Call {name}_init once, then {name}_step every {period!r} s with measured positions and velocities.",
            f"{changed} * The member failed is 1 after a call in which the plan before stood in.",
            " */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            "typedef struct {",
            "    unsigned long call;",
            *(f"    {member}" for member in code.members),
            f"}} {name}_state;",
            "",
            f"void {name}_init({name}_state *state);",
            f"void {name}_step({name}_state *state, const double *q, const double *qd, double *tau);",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
            "",
        ]
    )


def _source(name: str, code: ScheduleInC, table: _Table | None, start: float, period: float) -> str:
    q, qd, tau = (code.views[each] for each in ("q", "qd", "tau"))

    def copy(size: int, target: str, source: str) -> list[str]:
        return [f"    for (int j = 0; j < {size}; j++)", f"        {target} = {source};"]

    motion: list[str] = []
    follow: list[str] = []
    if table is not None:
        planned, (periods, width) = code.views["planned"], table.rows.shape
        motion = [f"static const double {name}_motion[{periods}][{width}] = {{"]
        motion += ["    { " + ", ".join(map(repr, row)) + " }," for row in table.rows.tolist()] + ["};", ""]
        follow = [
            f"    const unsigned long row = s->call < {table.calls}ul ? s->call : {table.calls - 1}ul;",
            f"    for (unsigned long i = 0; i < {planned.shape[0]}ul; i++)",
            f"        for (int j = 0; j < {width}; j++)",
            f"            {planned.element('i', 'j')} = {name}_motion[row + i * {table.ratio}ul][j];",
        ]
    step = [
        f"void {name}_step({name}_state *s, const double *q, const double *qd, double *tau)",
        "{",
        *follow,
        f"    {code.views['t'].element()} = {start!r} + {period!r} * (double)s->call;",
        *copy(q.shape[0], q.element("j"), "q[j]"),
        *copy(qd.shape[0], qd.element("j"), "qd[j]"),
        f"    {code.run}(s);",
        *copy(tau.shape[0], "tau[j]", tau.element("j")),
        "    s->call++;",
        "}",
        "",
    ]
    init = [f"void {name}_init({name}_state *s)", "{", "    s->call = 0;", f"    {code.init}(s);", "}", ""]
    head = [f'#include "{name}.h"', "", "#include <math.h>", ""]
    return "\n".join([*head, *motion, *code.definitions, *init, *step])
