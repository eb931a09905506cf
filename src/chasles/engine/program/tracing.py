"""Tracing: from a Python function to a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError, ChaslesError, TraceError
from chasles.engine.program.folding import call
from chasles.engine.program.graph import Graph
from chasles.engine.program.numpy_functions import refused_by_numpy
from chasles.engine.program.program import Argument, Program
from chasles.engine.program.records import Layout, Shapes, is_record
from chasles.engine.program.scalar import Condition, Scalar, Traced, traced_array


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, Shapes],
    *,
    name: str | None = None,
    outputs: Sequence[str] | None = None,
) -> Program:
    """Call a function on traced scalars and return the program that it performed.

    Parameters
    ----------
    function
        Any function that computes with operators, NumPy indexing, ``@`` and the functions of `chasles.engine`. It is
        called with one positional argument for each input: an object array of the given shape, or a scalar for shape
        ``()``. It returns a number, an array, a record of them, or a tuple of such results.
    inputs
        Names and shapes of the inputs, in order. An input that is a record of named parts has the shapes of a
        `chasles.engine.Layout`: the function receives the record, the program a vector.
    name
        Name of the program; default the function's.
    outputs
        Names of the outputs; default ``result``, or for a tuple ``result_0``, ``result_1``, …, or the fields of a named
        tuple.

    Raises
    ------
    TraceError
        If the function needs the value of a traced scalar (``if``, ``float``, …), or returns something else than
        numbers.

    Examples
    --------
    >>> from chasles.engine import sin
    >>> trace(lambda q: 9.81 * sin(q), {"q": ()}, name="pendulum")
    <Program pendulum(q): 2 operations>
    """
    graph = Graph()
    arguments = [_argument(key, shape) for key, shape in inputs.items()]
    try:
        returned = function(*_traced_inputs(graph, arguments))
    except (TypeError, ValueError, AttributeError, SystemError) as error:
        if isinstance(error, ChaslesError) or (refusal := refused_by_numpy(error)) is None:
            raise
        raise refusal from error
    values = returned if isinstance(returned, tuple) else (returned,)
    names = _output_names(returned) if outputs is None else outputs
    if len(names) != len(values):
        raise ArgumentError(f"the function returned {len(values)} outputs, but {len(names)} names were given")
    title = str(name or getattr(function, "__name__", "function"))
    shapes: list[Argument] = []
    results: list[Any] = []
    for key, value in zip(names, values, strict=True):
        layout = Layout.of(value) if is_record(value) else None
        flat, shape = flatten(value if layout is None else layout.join(value))
        shapes.append(Argument(key, shape, layout))
        results += [_checked_result(x, graph, title) for x in flat]
    return Program.from_graph(title, arguments, shapes, graph, results)


def _traced_inputs(graph: Graph, arguments: Sequence[Argument]) -> list[Any]:
    """Return arrays and records of traced scalars, one for each input scalar of the program."""
    traced: list[Any] = []
    position = 0
    for argument in arguments:
        scalars = [Scalar(graph, graph.add(("input", position + k))) for k in range(argument.size)]
        position += argument.size
        array = unflatten(scalars, argument.shape)
        traced.append(array if argument.layout is None else argument.layout.split(array))
    return traced


def _output_names(returned: object) -> Sequence[str]:
    """Default names of the outputs: the fields of a named tuple, ``result``, or ``result_0``, ``result_1``, …."""
    if not isinstance(returned, tuple):
        return ["result"]
    fields: Sequence[str] | None = getattr(returned, "_fields", None)
    if fields is not None:
        return fields
    return ["result"] if len(returned) == 1 else [f"result_{k}" for k in range(len(returned))]


def flatten(value: object) -> tuple[list[Any], tuple[int, ...]]:
    """Return the scalars of a number, traced scalar or array in C order, and its shape."""
    if isinstance(value, Traced):
        return [value], ()
    array = np.asarray(value)
    return array.ravel().tolist(), array.shape


def unflatten(scalars: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return the scalars as an object array of a shape, or the scalar itself for shape ``()``."""
    if not shape:
        return scalars[0]
    array = np.empty(len(scalars), dtype=object)
    array[:] = scalars
    return traced_array(array.reshape(shape))


def call_traced(program: Program, arguments: Sequence[Any], *, inline: bool) -> Any:
    """Use a program inside a trace.

    Parameters
    ----------
    program
        Program to compute.
    arguments
        One number, traced scalar or array for each input of the program.
    inline
        Whether its operations join the caller's graph, where they fold with what surrounds them, or stay one call.

    Returns
    -------
    Any
        The output, or a tuple of the outputs.
    """
    scalars: list[Any] = []
    for argument, value in zip(program.inputs, arguments, strict=True):
        flat, shape = flatten(argument.vector(value))
        if shape != argument.shape:
            raise ArgumentError(
                f"{program.name}: input '{argument.name}' has shape {argument.shape}, not {shape}; "
                "inside a trace arguments have no batch axes"
            )
        scalars += flat
    results: Sequence[Any] = program.replay(scalars) if inline else call(program, scalars)
    outputs = []
    position = 0
    for output in program.outputs:
        outputs.append(unflatten(results[position : position + output.size], output.shape))
        position += output.size
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _argument(name: str, shape: Shapes) -> Argument:
    if not is_record(shape):
        return Argument(name, checked_shape(name, shape))
    layout = Layout(shape)
    return Argument(name, (layout.size,), layout)


def _checked_result(value: Any, graph: Graph, name: str) -> Any:
    if isinstance(value, Condition):
        raise TraceError(f"{name} returned a comparison; return `where(condition, 1.0, 0.0)`")
    if isinstance(value, Scalar):
        if value.graph is not graph:
            raise TraceError(f"{name} returned a traced value of another trace")
        return value
    if isinstance(value, int | float | np.integer | np.floating):
        return float(value)
    raise TraceError(f"{name} returned {type(value).__name__} where a number or an array of numbers is expected")


def checked_shape(name: str, shape: Any) -> tuple[int, ...]:
    """Return the shape of an argument as a tuple of whole numbers, or say what is wrong with it."""
    if isinstance(shape, tuple | list) and all(isinstance(size, int | np.integer) and size >= 0 for size in shape):
        return tuple(int(size) for size in shape)
    raise ArgumentError(f"the shape of '{name}' must be a tuple of whole numbers such as (3,), or (), not {shape!r}")
