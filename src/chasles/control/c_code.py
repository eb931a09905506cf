"""A controller along a motion as C code: schedule, memory, `init` and `step`; the program and the cost of a call."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.control.controller import Controller
from chasles.control.optimal.predictive import ModelPredictive
from chasles.control.optimal.predictive_c import predictive_to_c
from chasles.control.traced_law import TracedLaw, traced_law
from chasles.engine import Program
from chasles.engine.targets.c import lower
from chasles.engine.validators import choice, real
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.closed import on_manifold

Floats = NDArray[np.float64]

#: Cycles of an operation with its loads and stores, where none are given: those of a Cortex-M7 in single precision, on
#: which additions and products take one to three cycles and divisions and roots 14; functions by polynomials.
_CYCLES = {"div": 14.0, "sqrt": 14.0, "simple": 3.0, "function": 80.0}
_FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "power", "sinh", "cosh", "tanh")


@dataclass(frozen=True)
class LawCost:
    """Operations of one call of a law, and an estimate of their time on a small processor.

    Attributes
    ----------
    operations
        Number of operations of each kind.
    cycles
        Estimated clock cycles of a call.
    share
        Fraction of the sample period that the call takes.
    """

    operations: dict[str, int]
    cycles: float
    share: float

    def __str__(self) -> str:
        fits = "fits" if self.share < 1.0 else "does not fit"
        return f"{sum(self.operations.values()):,} operations, {self.cycles:,.0f} cycles: {fits} the sample period"


def law_program(controller: Controller, motion: JointTrajectory, *, period: float) -> Program:
    """Return the program of one call of a law, with the law's parameters as constants.

    ``(t, q, qd, reference, memory, schedule) -> (tau, following)``: the reference is q, q̇ and q̈, one after another;
    memory, schedule and the following memory are vectors in the order of their parts; a law without a part gets a
    vector of length 0. Compile it with `chasles.Function`; `chasles.engine` provides derivatives and exports.

    Parameters
    ----------
    controller, motion
        Traceable law for joint motions, and the motion that it follows.
    period
        Sample period, s.

    Raises
    ------
    ArgumentError
        The law follows a frame, measures a wrench, or cannot be traced.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> law_program(ch.PDGravity(arm, kp=400.0, kd=40.0), motion, period=1e-3)
    <Program law(t, q[2], qd[2], reference[6], memory[0], schedule[0]): ... operations>
    """
    return _law(controller, motion, real(period, "period", above=0.0)).program


def law_cost(
    controller: Controller,
    motion: JointTrajectory,
    *,
    period: float,
    clock: float = 480e6,
    simple: float = _CYCLES["simple"],
    division: float = _CYCLES["div"],
    function: float = _CYCLES["function"],
) -> LawCost:
    """Count the operations of one call of a law and estimate its share of the sample period.

    The result is an estimate, not a measurement: cache and memory effects may double it.

    Parameters
    ----------
    controller, motion
        The law, and the motion that it follows.
    period
        Sample period, s.
    clock
        Clock frequency, Hz; default that of a Cortex-M7 at 480 MHz.
    simple, division, function
        Clock cycles of each kind of operation: addition, product, comparison or selection; division or square root; and
        functions such as the sine.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("panda"), ch.PointToPoint([0.0] * 7, [0.1] * 7, 1.0)
    >>> cost = law_cost(ch.ComputedTorque(arm, kp=400.0, kd=40.0), motion, period=1e-3)
    >>> 500 < sum(cost.operations.values()) < 1000, cost.share < 0.02
    (True, True)
    """
    step, frequency = real(period, "period", above=0.0), real(clock, "clock", above=0.0)
    weights = {"simple": simple, "division": division, "function": function}
    checked = {name: real(value, name, above=0.0) for name, value in weights.items()}
    operations = dict(_law(controller, motion, step).program.operations)
    cycles = sum(count * checked[_class_of(kind)] for kind, count in operations.items())
    return LawCost(operations, cycles, cycles / (frequency * step))


def controller_to_c(
    controller: Controller,
    motion: JointTrajectory,
    *,
    period: float,
    name: str = "controller",
    precision: str = "double",
) -> tuple[str, str]:
    """Return C99 source and header of a controller along a planned motion, with its schedule and its memory.

    The header declares a struct ``NAME_state`` and two functions. ``NAME_init(&state)`` initialises the memory;
    ``NAME_step(&state, q, qd, tau)``, called once a sample period with the measured positions and velocities, gives the
    torques. After the end of the motion the last reference is held. The code allocates no memory; motion and schedule
    are constant tables, and parameters are constants.

    `chasles.ModelPredictive` is written with all its iterations, as many at each call; its state is larger, and begins
    with the plan from the start of the motion.

    Parameters
    ----------
    controller
        Traceable law for joint motions, adaptive or not, or a predictive one, whose contacts stay.
    motion
        The planned motion.
    period
        Sample period, s.
    name
        Prefix of all names, a C identifier; save the header as ``NAME.h``.
    precision
        ``"double"`` or ``"float"``.

    Raises
    ------
    ArgumentError
        The law cannot be traced, or the name is no C identifier.

    Examples
    --------
    >>> import chasles as ch
    >>> arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    >>> law = ch.control.TimeVaryingRegulator(arm, integral_error=0.01)
    >>> source, header = controller_to_c(law, motion, period=0.01, name="arm")
    >>> print(header[header.index("void arm_step") : header.rindex(";") + 1])
    void arm_step(arm_state *state, const double *q, const double *qd, double *tau);
    """
    kind = choice(precision, "precision", ("double", "float"))
    if not (isinstance(name, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,50}", name)):
        raise ArgumentError(f"name must be a C identifier of at most 51 characters, not {name!r}")
    step = real(period, "period", above=0.0)
    if isinstance(controller, ModelPredictive) and type(controller).law is ModelPredictive.law:
        if kind != "double":
            raise ArgumentError("model predictive control is written in double precision alone; leave precision out")
        return predictive_to_c(controller, motion, period=step, name=name)
    law = _law(controller, motion, step)
    program = law.program
    named = Program(
        f"{name}_law", program.inputs, program.outputs, program.instructions, program.results, program.programs
    )
    law_source, law_header = lower(named, kind)
    body = law_source[law_source.index("#include <math.h>") :]
    prototype = next(line for line in law_header.splitlines() if line.startswith("void "))
    body = body.replace(prototype.rstrip(";"), "static " + prototype.rstrip(";"))
    return _SOURCE.format(**_words(name, kind, law, step), law=body.replace("#include <math.h>\n", "").strip()), (
        _HEADER.format(**_words(name, kind, law, step), guard=f"{name.upper()}_H")
    )


_HEADER = """/* {title}: a controller along a planned motion, written by Chasles.
 * Call {name}_init once, then {name}_step every {period} s with measured positions and velocities.
 */
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

typedef struct {{
    unsigned long call;
    {real} memory[{memory_size}];
}} {name}_state;

void {name}_init({name}_state *state);
void {name}_step({name}_state *state, const {real} *q, const {real} *qd, {real} *tau);

#ifdef __cplusplus
}}
#endif

#endif
"""

_SOURCE = """#include "{name}.h"

#include <math.h>

static const {real} {name}_references[{calls}][{reference_size}] = {{
{references}
}};
static const {real} {name}_schedule[{calls}][{schedule_size}] = {{
{schedule}
}};
static const {real} {name}_initial_memory[{memory_size}] = {{ {initial} }};

{law}

void {name}_init({name}_state *state)
{{
    state->call = 0;
    for (int k = 0; k < {memory_size}; k++)
        state->memory[k] = {name}_initial_memory[k];
}}

void {name}_step({name}_state *state, const {real} *q, const {real} *qd, {real} *tau)
{{
    const unsigned long row = state->call < {calls}ul ? state->call : {calls}ul - 1ul;
    const {real} t = ({real}){start} + ({real}){period} * ({real})state->call;
    {name}_law(&t, q, qd, {name}_references[row], state->memory, {name}_schedule[row], tau, state->memory);
    state->call++;
}}
"""


def _words(name: str, kind: str, law: TracedLaw, period: float) -> dict[str, Any]:
    def number(value: float) -> str:
        return f"{float(np.float32(value))!r}f" if kind == "float" else repr(float(value))

    def rows(table: Floats) -> str:
        return ",\n".join("    { " + ", ".join(map(number, row)) + " }" for row in _not_empty(table))

    start = _not_empty(law.initial_memory[None])[0]
    return {
        "title": name,
        "name": name,
        "real": kind,
        "period": repr(period),
        "start": number(float(law.times[0])),
        "calls": len(law.times),
        "reference_size": law.references.shape[1],
        "references": rows(law.references),
        "schedule_size": max(1, law.schedule.shape[1]),
        "schedule": rows(law.schedule),
        "memory_size": len(start),
        "initial": ", ".join(map(number, start)),
    }


def _not_empty(table: Floats) -> Floats:
    """C has no arrays of length 0: one number that nobody reads stands for them."""
    return table if table.shape[-1] else np.zeros((len(table), 1))


def _law(controller: Controller, motion: JointTrajectory, period: float) -> TracedLaw:
    """Trace a law for calls from the motion's start to its end."""
    calls = max(2, math.ceil(motion.duration / period - 1e-9) + 1)
    times = float(motion.start_time) + period * np.arange(calls, dtype=np.float64)
    planned = motion if controller.robot is None else on_manifold(controller.robot, motion)
    return traced_law(controller, times, planned(times), period)


def _class_of(kind: str) -> str:
    if kind in ("div", "sqrt"):
        return "division"
    return "function" if kind in _FUNCTIONS else "simple"
