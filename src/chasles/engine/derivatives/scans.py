"""The adjoint of a scan: a scan that runs backward along the states of the first.

A scan computes x_(t+1), y_t = step(x_t, g_t, p) for t = 0, …, S - 1. With the adjoints λ_t of the states, those of the
samples, y̅_t, and those of what is given and of the parameters, g̅_t and p̅,

    (λ_t, g̅_t, Δp̅) = (λ_(t+1), y̅_t) · ∂step/∂(x, g, p),    p̅ ← p̅ + Δp̅,

begins with the adjoint of the final state and runs back to that of the first (A. Griewank, A. Walther, "Evaluating
Derivatives", 2nd ed., SIAM 2008, chapters 3 and 12).
"""

from __future__ import annotations

from collections.abc import Sequence

from chasles.engine.derivatives.accumulation import Sparse, input_scalars, reverse
from chasles.engine.derivatives.programs import positions
from chasles.engine.program.folding import add
from chasles.engine.program.graph import Graph
from chasles.engine.program.program import Argument, Program


def recording_scan(program: Program, *, samples: bool) -> Program:
    """Return the step of a scan that records its states: (state, given, *parameters) -> (next state, state, *samples).

    What is given is a vector. Samples of the scan's own may be left out.
    """
    state, given, *parameters = program.inputs
    graph = Graph()
    inputs = input_scalars(graph, program.inputs)
    size = state.size
    kept = program.outputs if samples else program.outputs[:1]
    results = program.replay(inputs)[: sum(a.size for a in kept)]
    outputs = [kept[0], Argument("states", (size,)), *kept[1:]]
    arguments = [state, Argument(given.name, (given.size,)), *parameters]
    recorded = [*results[:size], *inputs[:size], *results[size:]]
    return Program.from_graph(f"{program.name}_states", arguments, outputs, graph, recorded)


def adjoint_scan(program: Program, wrt: Sequence[str]) -> Program:
    """Return the step of the scan backward.

    Parameters
    ----------
    program
        Step of a scan: (state, given, *parameters) -> (next state, *samples).
    wrt
        Names of the inputs whose adjoints are wanted.

    Returns
    -------
    Program
        (adjoint, record, *parameters) -> (adjoint before, adjoint of given if wanted). The adjoint is that of the
        state, followed by the sums for the wanted parameters in the order of the inputs; the record is a state, what
        was given to it, and the adjoints of its samples.
    """
    state, given, *parameters = program.inputs
    samples = program.outputs[1:]
    summed = [a for a in parameters if a.name in wrt]
    carried = Argument("adjoint", (state.size + sum(a.size for a in summed),))
    record = Argument("record", (state.size + given.size + sum(a.size for a in samples),))
    inputs = [carried, record, *(Argument(f"parameter_{k}", a.shape) for k, a in enumerate(parameters))]
    graph = Graph()
    scalars = input_scalars(graph, inputs)
    adjoint, rest = scalars[: carried.size], scalars[carried.size :]
    known, of_samples = rest[: state.size + given.size], rest[state.size + given.size : record.size]
    seeds: dict[int, Sparse] = {k: {0: x} for k, x in enumerate([*adjoint[: state.size], *of_samples])}
    wanted = [state, *summed, *([given] if given.name in wrt else [])]
    _, sparse = reverse(program, [*known, *rest[record.size :]], seeds, positions(program.inputs, wanted))
    terms = [entry.get(0, 0.0) for entry in sparse]
    sums = [add(before, term) for before, term in zip(adjoint[state.size :], terms[state.size :], strict=False)]
    outputs = [Argument("adjoint_before", carried.shape)]
    if given.name in wrt:
        outputs.append(Argument("adjoint_given", (given.size,)))
    results = [*terms[: state.size], *sums, *terms[carried.size :]]
    return Program.from_graph(f"{program.name}_adjoint", inputs, outputs, graph, results)
