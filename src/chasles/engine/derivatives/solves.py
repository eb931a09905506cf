"""The adjoint of a solve: the implicit-function rule at its solution.

A solve repeats x ← step(x, p) until x stays; there x = step(x, p), so that with the adjoint x̅ of the solution

    (I - ∂step/∂x)ᵀ λ = x̅,    p̅ = λ · ∂step/∂p

(A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, section 15.1). The way to the solution does not
matter, nor does the start. Newton's iterations have ∂step/∂x = 0 there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chasles.engine.derivatives.accumulation import Sparse, input_scalars, jacobian_entries, reverse
from chasles.engine.derivatives.programs import chosen_arguments, positions
from chasles.engine.program.graph import Graph
from chasles.engine.program.program import Argument, Program
from chasles.engine.program.scalar import Real, traced_array


def adjoint_solve(program: Program, wrt: Sequence[str]) -> Program:
    """Return the program of the adjoints of a solve's parameters.

    Parameters
    ----------
    program
        Step of a solve: (state, *parameters) -> (next state, done).
    wrt
        Names of the parameters whose adjoints are wanted.

    Returns
    -------
    Program
        (solution, *parameters, adjoint_solution) -> an adjoint for each wanted parameter, in the order of `wrt`. They
        are not finite where I - ∂step/∂x is singular: the state is then no isolated solution.
    """
    state, *parameters = program.inputs
    chosen = chosen_arguments("input", parameters, wrt)
    names = {a.name for a in program.inputs}
    vector = Argument("adjoint_solution" + "_" * ("adjoint_solution" in names), state.shape)
    graph = Graph()
    inputs = [*program.inputs, vector]
    scalars = input_scalars(graph, inputs)
    given, adjoint = scalars[: -state.size], scalars[-state.size :]
    rows = range(state.size)
    _, entries = jacobian_entries(program, given, list(rows), list(rows))
    transposed = traced_array(
        np.array([[float(i == j) - entries.get((i, j), 0.0) for i in rows] for j in rows], object)
    )
    pulled = np.linalg.solve(transposed, traced_array(np.array(adjoint, object)))
    seeds: dict[int, Sparse] = {k: {0: pulled[k]} for k in rows}
    _, sparse = reverse(program, given, seeds, positions(program.inputs, chosen))
    results: list[Real] = [entry.get(0, 0.0) for entry in sparse]
    outputs = [Argument(f"adjoint_{a.name}", a.shape, a.layout) for a in chosen]
    return Program.from_graph(f"{program.name}_adjoint", inputs, outputs, graph, results)
