"""Derivatives of a scan: its tangent, a scan beside it, and its adjoint, a scan that runs backward along its states.

A scan computes x_(t+1), y_t = step(x_t, g_t, p) for t = 0, …, S - 1. With the adjoints λ_t of the states, those of the
samples, y̅_t, and those of what is given and of the parameters, g̅_t and p̅,

    (λ_t, g̅_t, Δp̅) = (λ_(t+1), y̅_t) · ∂step/∂(x, g, p),    p̅ ← p̅ + Δp̅,

begins with the adjoint of the final state and runs back to that of the first (A. Griewank, A. Walther, "Evaluating
Derivatives", 2nd ed., SIAM 2008, chapters 3 and 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from chasles.engine.derivatives.accumulation import Sparse, forward, input_scalars, program_values, reverse
from chasles.engine.derivatives.programs import positions
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.folding import add
from chasles.engine.program.graph import Graph
from chasles.engine.program.program import Argument, Program

#: Scalar operations that a value must save for each time that it is stored and read, to be worth that.
_WORTH_STORING = 30


def tangent_scan(program: Program, wrt: Sequence[str]) -> Program:
    """Return the step of a scan of states and their tangents.

    Parameters
    ----------
    program
        Step of a scan: (state, given, *parameters) -> (next state, *samples).
    wrt
        Names of the inputs that move.

    Returns
    -------
    Program
        (state and tangent, given, *parameters, *directions) -> (next state and tangent, *tangents of samples). What is
        given is a vector, followed by its direction if it moves; the directions are those of the parameters that move.
        The ``again`` of a scan that repeats steps comes first among the samples.
    """
    state, given, *parameters = program.inputs
    moving = [a for a in parameters if a.name in wrt]
    graph = Graph()
    inputs = [
        Argument("state_and_tangent", (2 * state.size,)),
        Argument("given", ((1 + (given.name in wrt)) * given.size,)),
        *(Argument(f"parameter_{k}", a.shape) for k, a in enumerate(parameters)),
        *(Argument(f"direction_{k}", a.shape) for k, a in enumerate(moving)),
    ]
    scalars = input_scalars(graph, inputs)
    ends = list(accumulate((a.size for a in inputs), initial=0))
    of_state, of_given, *others = (scalars[start:end] for start, end in pairwise(ends))
    directions = {state.name: of_state[state.size :], given.name: of_given[given.size :]}
    directions |= {a.name: direction for a, direction in zip(moving, others[len(parameters) :], strict=True)}
    values = [*of_state[: state.size], *of_given[: given.size]]
    values += [x for part in others[: len(parameters)] for x in part]
    seeds: list[Sparse] = []
    for argument in program.inputs:
        direction = directions.get(argument.name)
        seeds += [{0: x} for x in direction] if direction else [{}] * argument.size
    following, sparse = forward(program, values, seeds, range(len(program.results)))
    tangents = [entry.get(0, 0.0) for entry in sparse]
    again = [a for a in program.outputs[1:2] if Kernel(program, "scan").repeats]
    outputs = [
        Argument("state_and_tangent_next", (2 * state.size,)),
        *again,
        *(Argument(f"tangent_{k}", a.shape) for k, a in enumerate(program.outputs[1:])),
    ]
    both = [*following[: state.size], *tangents[: state.size]]
    samples = [*following[state.size : state.size + len(again)], *tangents[state.size :]]
    return Program.from_graph(f"{program.name}_tangent", inputs, outputs, graph, [*both, *samples])


def taped_items(program: Program) -> list[int]:
    """Return the items of costly calls, which are recorded on the way forward for the way back (a tape)."""
    items: dict[int, list[int]] = {}
    for index, instruction in enumerate(program.instructions):
        if instruction[0] == "item":
            items.setdefault(instruction[1], []).append(index)
    work = {call: program.programs[program.instructions[call][1]].operation_count for call in items}
    return sorted(k for call, of_call in items.items() if work[call] > _WORTH_STORING * len(of_call) for k in of_call)


def recording_scan(program: Program, *, samples: bool) -> Program:
    """Return the step of a scan that records its states: (state, given, *parameters) -> (next, record, *samples).

    The step's input ``given`` is a vector. A record is the state, followed by the tape. The scan's own samples may be
    left out.
    """
    state, given, *parameters = program.inputs
    graph = Graph()
    inputs = input_scalars(graph, program.inputs)
    values = program_values(program, inputs)
    size, tape = state.size, [values[k] for k in taped_items(program)]
    kept = program.outputs if samples else program.outputs[:1]
    results = [values[k] for k in program.results[: sum(a.size for a in kept)]]
    outputs = [kept[0], Argument("record", (size + len(tape),)), *kept[1:]]
    arguments = [state, Argument(given.name, (given.size,)), *parameters]
    recorded = [*results[:size], *inputs[:size], *tape, *results[size:]]
    return Program.from_graph(f"{program.name}_states", arguments, outputs, graph, recorded)


def counting_scan(program: Program) -> Program:
    """Return the step of a scan that repeats steps and counts them: (state and count, …) -> (next, again, count)."""
    state, given, *parameters = program.inputs
    graph = Graph()
    counted = Argument("state_and_count", (state.size + 1,))
    scalars = input_scalars(graph, [counted, Argument("given", (given.size,)), *parameters])
    count = scalars.pop(state.size)
    values = program_values(program, scalars)
    results = [values[k] for k in program.results[: state.size + 1]]
    outputs = [Argument("state_and_count_next", counted.shape), Argument("again", ()), Argument("count", ())]
    inputs = [counted, Argument("given", (given.size,)), *parameters]
    ends = [*results[: state.size], add(count, 1.0), results[state.size], count]
    return Program.from_graph(f"{program.name}_count", inputs, outputs, graph, ends)


def adjoint_scan(program: Program, wrt: Sequence[str], still: int = 0) -> Program:
    """Return the step of the scan backward.

    Parameters
    ----------
    program
        Step of a scan: (state, given, *parameters) -> (next state, *samples).
    wrt
        Names of the inputs whose adjoints are wanted.
    still
        Numbers at the beginning of the state that count as constant: their adjoint is zero.

    Returns
    -------
    Program
        (adjoint, record, *parameters) -> (adjoint before, adjoint of given if wanted). The adjoint is that of the
        state, followed by the sums for the wanted parameters in the order of the inputs; the record is that of a state,
        what was given to it, and the adjoints of its samples.
    """
    state, given, *parameters = program.inputs
    samples = program.outputs[1:]
    summed = [a for a in parameters if a.name in wrt]
    carried = Argument("adjoint", (state.size + sum(a.size for a in summed),))
    items = taped_items(program)
    sizes = [state.size, len(items), given.size, sum(a.size for a in samples)]
    record = Argument("record", (sum(sizes),))
    inputs = [carried, record, *(Argument(f"parameter_{k}", a.shape) for k, a in enumerate(parameters))]
    graph = Graph()
    scalars = input_scalars(graph, inputs)
    adjoint, rest = scalars[: carried.size], scalars[carried.size :]
    ends = list(accumulate(sizes, initial=0))
    of_state, tape, of_given, of_samples = (rest[start:end] for start, end in pairwise(ends))
    seeds: dict[int, Sparse] = {k: {0: x} for k, x in enumerate([*adjoint[: state.size], *of_samples]) if k >= still}
    wanted = [state, *summed, *([given] if given.name in wrt else [])]
    inputs_of_step = [*of_state, *of_given, *rest[record.size :]]
    known = dict(zip(items, tape, strict=True))
    _, sparse = reverse(program, inputs_of_step, seeds, positions(program.inputs, wanted)[still:], known)
    terms = [0.0] * still + [entry.get(0, 0.0) for entry in sparse]
    sums = [add(before, term) for before, term in zip(adjoint[state.size :], terms[state.size :], strict=False)]
    outputs = [Argument("adjoint_before", carried.shape)]
    if given.name in wrt:
        outputs.append(Argument("adjoint_given", (given.size,)))
    results = [*terms[: state.size], *sums, *terms[carried.size :]]
    return Program.from_graph(f"{program.name}_adjoint", inputs, outputs, graph, results)
