"""Derivatives of programs as programs.

Nothing that is zero by structure is computed, and a called program's derivative is a called program. What holds where
an operation is not smooth, `chasles.engine.derivatives.partials` states the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.derivatives.accumulation import Sparse, forward, input_scalars, jacobian_entries, reverse
from chasles.engine.program.graph import Graph
from chasles.engine.program.program import Argument, Program
from chasles.engine.program.scalar import Real

Names = str | Sequence[str] | None


def jvp(program: Program, wrt: Names = None, *, values: bool = False) -> Program:
    """Directional derivative (Jacobian times vector) by forward accumulation.

    Parameters
    ----------
    program
        Program to differentiate.
    wrt
        Name or names of the inputs that move; default all.
    values
        Whether the outputs themselves are given too, before their derivatives.

    Returns
    -------
    Program
        Its inputs are those of the program and ``d_<input>`` for each input that moves: the direction. Its outputs are
        ``d_<output>``. (A name that is taken gets a trailing underscore.)

    Examples
    --------
    >>> from chasles.engine import sin, trace
    >>> print(jvp(trace(lambda q: sin(q), {"q": ()}, name="height")))
    height_jvp(q, d_q) -> (d_result)
      %0 = q
      %1 = d_q
      %2 = cos(%0)
      %3 = %1 * %2
      d_result = %3
    """
    chosen = chosen_arguments("input", program.inputs, wrt)
    graph = Graph()
    inputs = input_scalars(graph, program.inputs)
    taken = {a.name for a in program.inputs}
    directions = [Argument(_free(f"d_{a.name}", taken), a.shape, a.layout) for a in chosen]
    seeds: list[Sparse] = [{} for _ in inputs]
    wrt_scalars = positions(program.inputs, chosen)
    for i, x in zip(wrt_scalars, input_scalars(graph, directions, len(inputs)), strict=True):
        seeds[i] = {0: x}
    given, tangents = forward(program, inputs, seeds, range(len(program.results)))
    outputs = [Argument(f"d_{a.name}", a.shape, a.layout) for a in program.outputs]
    results: list[Real] = [tangent.get(0, 0.0) for tangent in tangents]
    if values:
        taken = {a.name for a in program.outputs}
        outputs = [*program.outputs, *(Argument(_free(a.name, taken), a.shape, a.layout) for a in outputs)]
        results = [*given, *results]
    return Program.from_graph(f"{program.name}_jvp", [*program.inputs, *directions], outputs, graph, results)


def vjp(program: Program, wrt: Names = None) -> Program:
    """Adjoint derivative (vector times Jacobian) by reverse accumulation.

    Parameters
    ----------
    program
        Program to differentiate.
    wrt
        Name or names of the inputs whose adjoints are wanted; default all.

    Returns
    -------
    Program
        Its inputs are those of the program and ``adjoint_<output>`` for each output: the vector. Its outputs are
        ``adjoint_<input>``. (A name that is taken gets a trailing underscore.)

    Examples
    --------
    >>> from chasles.engine import trace
    >>> print(vjp(trace(lambda a, b: a * b, {"a": (), "b": ()}, name="area"), wrt="a"))
    area_vjp(a, b, adjoint_result) -> (adjoint_a)
      %0 = b
      %1 = adjoint_result
      %2 = %0 * %1
      adjoint_a = %2
    """
    chosen = chosen_arguments("input", program.inputs, wrt)
    graph = Graph()
    inputs = input_scalars(graph, program.inputs)
    taken = {a.name for a in program.inputs}
    vectors = [Argument(_free(f"adjoint_{a.name}", taken), a.shape, a.layout) for a in program.outputs]
    seeds: dict[int, Sparse] = {k: {0: x} for k, x in enumerate(input_scalars(graph, vectors, len(inputs)))}
    _, adjoints = reverse(program, inputs, seeds, positions(program.inputs, chosen))
    outputs = [Argument(f"adjoint_{a.name}", a.shape, a.layout) for a in chosen]
    results = [adjoint.get(0, 0.0) for adjoint in adjoints]
    return Program.from_graph(f"{program.name}_vjp", [*program.inputs, *vectors], outputs, graph, results)


def jacobian(
    program: Program,
    output: Names = None,
    wrt: Names = None,
    *,
    mode: Literal["auto", "forward", "reverse"] = "auto",
) -> Program:
    """Partial derivatives of outputs to inputs.

    Parameters
    ----------
    program
        Program to differentiate.
    output, wrt
        Name or names of outputs and inputs; default all.
    mode
        Accumulation. ``"auto"`` counts, on the sparsity pattern, what each would cost and takes the cheaper.

    Returns
    -------
    Program
        Its inputs are those of the program. Its outputs are ``d_<output>_d_<input>`` of shape ``output.shape +
        input.shape``, for the first output to each input, then for the second, ….

    Examples
    --------
    >>> from chasles.engine import trace
    >>> print(jacobian(trace(lambda x: x * x, {"x": (2,)}, name="squares")))
    squares_jacobian(x[2]) -> (d_result_d_x[2, 2])
      %0 = x[0]
      %1 = x[1]
      %2 = %0 + %0
      %3 = %1 + %1
      %4 = 0.0
      d_result_d_x[0, 0] = %2
      d_result_d_x[0, 1] = %4
      d_result_d_x[1, 0] = %4
      d_result_d_x[1, 1] = %3
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f"mode must be 'auto', 'forward' or 'reverse', not {mode!r}")
    rows = chosen_arguments("output", program.outputs, output)
    columns = chosen_arguments("input", program.inputs, wrt)
    graph = Graph()
    inputs = input_scalars(graph, program.inputs)
    _, entries = jacobian_entries(
        program, inputs, positions(program.inputs, columns), positions(program.outputs, rows), mode
    )
    outputs: list[Argument] = []
    results: list[Real] = []
    taken: set[str] = set()
    for row in rows:
        for column in columns:
            outputs.append(Argument(_free(f"d_{row.name}_d_{column.name}", taken), row.shape + column.shape))
            row_scalars = positions(program.outputs, [row])
            column_scalars = positions(program.inputs, [column])
            results += [entries.get((k, i), 0.0) for k in row_scalars for i in column_scalars]
    return Program.from_graph(f"{program.name}_jacobian", program.inputs, outputs, graph, results)


def hessian_vector(program: Program, wrt: Names = None) -> Program:
    """Hessian of a single number times a direction, by forward over reverse accumulation.

    Parameters
    ----------
    program
        A program with one output of shape ().
    wrt
        Name or names of the inputs that move; default all.

    Returns
    -------
    Program
        Its inputs are those of the program and ``d_<input>`` for each input that moves: the direction. Its outputs are
        ``hessian_<input>``: the change of the gradient along the direction.

    Raises
    ------
    ArgumentError
        If the program has another output.

    Examples
    --------
    >>> from chasles.engine import trace
    >>> print(hessian_vector(trace(lambda x: 3 * x * x, {"x": ()}, name="energy")))
    energy_hessian_vector(x, d_x) -> (hessian_x)
      %0 = d_x
      %1 = 6.0
      %2 = %1 * %0
      hessian_x = %2
    """
    if len(program.outputs) != 1 or program.outputs[0].shape != ():
        listing = ", ".join(f"{a.name} {a.shape}" for a in program.outputs)
        raise ArgumentError(f"{program.name}: a Hessian needs one output of shape (), not {listing}")
    chosen = chosen_arguments("input", program.inputs, wrt)
    names = [a.name for a in chosen]
    product = jvp(jacobian(program, None, names, mode="reverse"), names)
    outputs = tuple(Argument(f"hessian_{a.name}", a.shape) for a in chosen)
    name = f"{program.name}_hessian_vector"
    return Program(name, product.inputs, outputs, product.instructions, product.results, product.programs)


def chosen_arguments(kind: str, arguments: Sequence[Argument], names: Names) -> list[Argument]:
    """Return the arguments of some names, or all."""
    if names is None:
        return list(arguments)
    by_name = {a.name: a for a in arguments}
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in by_name:
            raise UnknownNameError(kind, name, by_name)
    return [by_name[name] for name in chosen]


def positions(arguments: Sequence[Argument], chosen: Iterable[Argument]) -> list[int]:
    """Return the scalars of some arguments, numbered as the scalars of all."""
    start: dict[str, int] = {}
    position = 0
    for a in arguments:
        start[a.name] = position
        position += a.size
    return [start[a.name] + k for a in chosen for k in range(a.size)]


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
