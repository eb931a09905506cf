"""Derivatives of a solve: the implicit-function rule at its solution.

A solve repeats x ← step(x, p) until x stays; there x = step(x, p), so that with a direction p' of the parameters, or
the adjoint x̅ of the solution,

    (I - ∂step/∂x) x' = ∂step/∂p · p',    (I - ∂step/∂x)ᵀ λ = x̅,    p̅ = λ · ∂step/∂p

(A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, section 15.1). The way to the solution does not
matter, nor does the start. Newton's iterations have ∂step/∂x = 0 there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.engine.derivatives.accumulation import Sparse, forward, input_scalars, jacobian_entries, reverse
from chasles.engine.derivatives.programs import chosen_arguments, positions
from chasles.engine.program.graph import Graph
from chasles.engine.program.program import Argument, Program
from chasles.engine.program.scalar import Real, traced_array


def tangent_solve(program: Program, wrt: Sequence[str]) -> Program:
    """Return the program of the direction of a solve's solution, for directions of some parameters.

    Parameters
    ----------
    program
        Step of a solve: (state, *parameters) -> (next state, done).
    wrt
        Names of the parameters that move.

    Returns
    -------
    Program
        (solution, *parameters, *directions) -> direction of the solution. It is not finite where I - ∂step/∂x is
        singular.
    """
    state, *parameters = program.inputs
    chosen = chosen_arguments("input", parameters, wrt)
    directions = [Argument(f"direction_{k}", a.shape) for k, a in enumerate(chosen)]
    graph = Graph()
    inputs = [*program.inputs, *directions]
    scalars = input_scalars(graph, inputs)
    count = sum(a.size for a in program.inputs)
    seeds: list[Sparse] = [{} for _ in range(count)]
    for position, x in zip(positions(program.inputs, chosen), scalars[count:], strict=True):
        seeds[position] = {0: x}
    _, sparse = forward(program, scalars[:count], seeds, range(state.size))
    right = np.array([entry.get(0, 0.0) for entry in sparse], object)
    solved = np.linalg.solve(_fixed_point_matrix(program, scalars[:count]), traced_array(right))
    outputs = [Argument("direction", state.shape)]
    return Program.from_graph(f"{program.name}_tangent", inputs, outputs, graph, list(solved))


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
    pulled = np.linalg.solve(_fixed_point_matrix(program, given).T, traced_array(np.array(adjoint, object)))
    seeds: dict[int, Sparse] = {k: {0: pulled[k]} for k in range(state.size)}
    _, sparse = reverse(program, given, seeds, positions(program.inputs, chosen))
    results: list[Real] = [entry.get(0, 0.0) for entry in sparse]
    outputs = [Argument(f"adjoint_{a.name}", a.shape, a.layout) for a in chosen]
    return Program.from_graph(f"{program.name}_adjoint", inputs, outputs, graph, results)


def _fixed_point_matrix(program: Program, scalars: Sequence[Any]) -> Any:
    """Return I - ∂step/∂x as a traced matrix."""
    rows = range(program.inputs[0].size)
    _, entries = jacobian_entries(program, scalars, list(rows), list(rows))
    return traced_array(np.array([[float(i == j) - entries.get((i, j), 0.0) for j in rows] for i in rows], object))
