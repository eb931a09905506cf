"""The CasADi target: functions for solvers and integrators that differentiate and generate code by themselves.

A program becomes a function of scalar symbols (SX); a program that it calls becomes a function of its own, which stays
one node of the caller's graph. A loop over time becomes a ``mapaccum``, an iteration a ``fold`` of its step.

CasADi's arrays are matrices: a number is 1×1, a vector a column. Of arrays with more than two axes the leading ones are
merged: shape (4, 3, 7) becomes 12×7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial, reduce
from typing import Any, Literal

import numpy as np

from chasles.base.errors import ArgumentError, import_extra
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.program.program import Argument, Program

#: Kinds of CasADi's symbols: graphs of numbers, or of matrices and calls.
Symbols = Literal["SX", "MX"]


def lower(kernel: Kernel, symbols: Symbols | None = None, *, steps: int | None = None, substeps: int = 1) -> Any:
    """Return a kernel as a ``casadi.Function``.

    Parameters
    ----------
    kernel
        Program to translate, with the way to run it.
    symbols
        ``"SX"``: one graph of numbers, which joins the graph of a caller with SX symbols; loops are unrolled. ``"MX"``:
        a graph of matrices, in which the program is one call. Default SX for maps, MX for loops and iterations.
    steps
        Steps of a loop (S), or largest number of iterations; none for maps.
    substeps
        Steps of a loop for each sample (k).

    Returns
    -------
    casadi.Function
        Function with the program's names of inputs and outputs; characters that CasADi refuses become underscores, and
        a name that is taken gets a trailing underscore. An iteration has no input ``max_iterations``: it is `steps`.

    Raises
    ------
    MissingExtraError
        If CasADi is not installed.
    ArgumentError
        If `steps` is missing, or given for a map; or if an error estimate controls the length of a loop's steps, whose
        number therefore is not fixed.

    Examples
    --------
    >>> from chasles.engine import sin, trace
    >>> height = lower(Kernel(trace(lambda q, l: l * sin(q[0]), {"q": (2,), "l": ()}, name="height")))
    >>> print(height)
    height:(q[2],l)->(result) SXFunction
    >>> float(height([0.0, 0.0], 2.0))
    0.0
    """
    casadi = import_extra("casadi", "casadi", "writing a program as a function of CasADi")
    if symbols not in (None, "SX", "MX"):
        raise ArgumentError(f"symbols must be 'SX' or 'MX', not {symbols!r}")
    _check_steps(kernel, steps, substeps)
    lowering = _Lowering(casadi)
    with _as_written(casadi):
        if kernel.shape == "map":
            function = lowering.map(kernel.program)
            return lowering.as_one_call(function) if symbols == "MX" else function
        assert steps is not None
        function = lowering.scan(kernel, steps, substeps) if kernel.shape == "scan" else lowering.solve(kernel, steps)
        return function.expand() if symbols == "SX" else function


@contextmanager
def _as_written(casadi: Any) -> Iterator[None]:
    """Keep CasADi from simplifying what is not equal everywhere, such as x / x to 1 and sqrt(x)² to x."""
    simplifies = casadi.GlobalOptions.getSimplificationOnTheFly()
    casadi.GlobalOptions.setSimplificationOnTheFly(False)
    try:
        yield
    finally:
        casadi.GlobalOptions.setSimplificationOnTheFly(simplifies)


def _check_steps(kernel: Kernel, steps: int | None, substeps: int) -> None:
    name = kernel.program.name
    if kernel.shape == "map":
        if steps is not None or substeps != 1:
            raise ArgumentError(f"{name} computes each sample by itself; it takes no steps")
        return
    if kernel.repeats:
        raise ArgumentError(
            f"{name} repeats steps until an error estimate accepts them; CasADi's graphs have a fixed number of steps: "
            "export a loop with a fixed step, as method='RK4' makes"
        )
    if not isinstance(steps, int) or steps < 1 or not isinstance(substeps, int) or substeps < 1:
        meaning = "number of its steps" if kernel.shape == "scan" else "largest number of its iterations"
        raise ArgumentError(f"{name} is a {kernel.shape}: give steps, the {meaning}, at least 1; not {steps!r}")


class _Lowering:
    """Writes functions of CasADi; a program that is called twice becomes one function."""

    def __init__(self, casadi: Any) -> None:
        self._casadi = casadi
        self._operations = translations()
        self._called: dict[str, Any] = {}

    def map(self, program: Program) -> Any:
        """Return a program as a function of matrices of numbers."""
        inputs = [self._casadi.SX.sym(a.name, *_rows_and_columns(a.shape)) for a in program.inputs]
        columns = self._run(program, [self._column(x) for x in inputs])
        outputs = [self._matrix(x, a.shape) for x, a in zip(columns, program.outputs, strict=True)]
        return self._function(program.name, inputs, outputs, program.inputs, program.outputs)

    def as_one_call(self, function: Any) -> Any:
        """Return a function of matrix symbols that calls a function."""
        inputs = self._symbols(function)
        return self._casadi.Function(
            function.name(), inputs, function.call(inputs), function.name_in(), function.name_out()
        )

    def scan(self, kernel: Kernel, steps: int, substeps: int) -> Any:
        """Return a loop over time: substeps folded into one step, steps accumulated."""
        casadi, program = self._casadi, kernel.program
        step = self._of_columns(program)
        if substeps > 1:
            step = self._with_substeps(step, substeps)
        shapes = [(steps, substeps, *a.shape) if k == 1 else a.shape for k, a in enumerate(program.inputs)]
        inputs = self._matrix_symbols(shapes)
        state, given, *parameters = map(self._column, inputs)
        per_step = casadi.reshape(given, substeps * program.inputs[1].size, steps)
        states, *samples = step.mapaccum(steps).call([state, per_step, *self._shared(parameters, steps)])
        sampled = [
            self._matrix(casadi.vec(x), (steps, *a.shape)) for x, a in zip(samples, program.outputs[1:], strict=True)
        ]
        return self._function(program.name, inputs, [states[:, -1], *sampled], program.inputs, program.outputs)

    def _with_substeps(self, step: Any, substeps: int) -> Any:
        """Return the function of several steps, of which the first gives the samples."""
        casadi = self._casadi
        state, given, *parameters = self._symbols(step)
        only_state = casadi.Function(
            "only_state", [state, given, *parameters], step.call([state, given, *parameters])[:1]
        )
        all_given = casadi.MX.sym("all_given", given.numel() * substeps)
        per_step = casadi.reshape(all_given, given.numel(), substeps)
        state_after_first, *samples = step.call([state, per_step[:, 0], *parameters])
        shared = self._shared(parameters, substeps - 1)
        last = only_state.fold(substeps - 1).call([state_after_first, per_step[:, 1:], *shared])
        return casadi.Function("step", [state, all_given, *parameters], [*last, *samples])

    def solve(self, kernel: Kernel, steps: int) -> Any:
        """Return an iteration that leaves the state as it is once its condition holds."""
        casadi, program = self._casadi, kernel.program
        step = self._of_columns(program)
        state, *parameters = self._symbols(step)
        iterations, done = casadi.MX.sym("iterations"), casadi.MX.sym("done")
        following, following_done = step.call([state, *parameters])
        arguments = [state, iterations, done, *parameters]
        advance = casadi.Function("advance", arguments, [following, iterations + 1, following_done])
        stay = casadi.Function("stay", arguments, [state, iterations, done])
        together, parts = casadi.MX.sym("together", state.numel() + 2), [0, *np.cumsum([state.numel(), 1, 1]).tolist()]
        chosen = casadi.Function.if_else("iterate", stay, advance).call(
            [together[-1] > 0, *casadi.vertsplit(together, parts), *parameters]
        )
        iteration = casadi.Function("iteration", [together, *parameters], [casadi.vertcat(*chosen)])
        inputs = self._matrix_symbols([a.shape for a in program.inputs])
        start, *given = map(self._column, inputs)
        (last,) = iteration.fold(steps).call([casadi.vertcat(start, 0, 0), *self._shared(given, steps)])
        outputs = [program.outputs[0], Argument("iterations", ()), program.outputs[1]]
        return self._function(program.name, inputs, casadi.vertsplit(last, parts), program.inputs, outputs)

    def _of_columns(self, program: Program, **options: bool) -> Any:
        """Return a program as a function of columns in C order."""
        columns = [self._casadi.SX.sym(f"x{k}", a.size) for k, a in enumerate(program.inputs)]
        return self._casadi.Function(self._function_name(program.name), columns, self._run(program, columns), options)

    def _run(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        """Return the outputs of a program as columns of numbers, which share what is computed twice."""
        scalars = [x for column in inputs for x in column.elements()]
        values: list[Any] = []
        for operation, *rest in program.instructions:
            if operation == "constant":
                values.append(self._casadi.SX(rest[0]))
            elif operation == "input":
                values.append(scalars[rest[0]])
            elif operation == "item":
                values.append(values[rest[0]][rest[1]])
            elif operation == "call":
                values.append(self._call(program.programs[rest[0]], [values[k] for k in rest[1:]]))
            else:
                values.append(self._operations[operation](*[values[k] for k in rest]))
        results: list[Any] = self._casadi.cse(self._cut([values[k] for k in program.results], program.outputs))
        return results

    def _call(self, program: Program, scalars: Sequence[Any]) -> list[Any]:
        if program.digest not in self._called:
            self._called[program.digest] = self._of_columns(program, never_inline=True)
        columns = self._called[program.digest].call(self._cut(scalars, program.inputs))
        return [x for column in columns for x in column.elements()]

    def _cut(self, scalars: Sequence[Any], arguments: Sequence[Argument]) -> list[Any]:
        """Return numbers as one column for each argument."""
        ends = np.cumsum([a.size for a in arguments]).tolist()
        return [self._casadi.vertcat(*scalars[end - a.size : end]) for a, end in zip(arguments, ends, strict=True)]

    def _matrix_symbols(self, shapes: Sequence[Sequence[int]]) -> list[Any]:
        return [self._casadi.MX.sym(f"x{k}", *_rows_and_columns(shape)) for k, shape in enumerate(shapes)]

    def _symbols(self, function: Any) -> list[Any]:
        """Return a matrix symbol for each input of a function."""
        return [self._casadi.MX.sym(function.name_in(k), function.sparsity_in(k)) for k in range(function.n_in())]

    def _shared(self, columns: Sequence[Any], steps: int) -> list[Any]:
        """Return what is the same in each step of a loop."""
        return [self._casadi.repmat(column, 1, steps) for column in columns]

    def _matrix(self, column: Any, shape: Sequence[int]) -> Any:
        """Return a column in C order as a matrix."""
        rows, columns = _rows_and_columns(shape)
        return self._casadi.reshape(column, columns, rows).T

    def _column(self, matrix: Any) -> Any:
        """Return a matrix as a column in C order."""
        return self._casadi.vec(matrix.T)

    def _function(
        self,
        name: str,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        arguments: Sequence[Argument],
        results: Sequence[Argument],
    ) -> Any:
        names: list[str] = []
        for a in (*arguments, *results):
            free = self._valid(a.name)
            while free in names:
                free += "1" if free.endswith("_") else "_"
            names.append(free)
        return self._casadi.Function(
            self._function_name(name), inputs, outputs, names[: len(inputs)], names[len(inputs) :]
        )

    def _function_name(self, name: str) -> str:
        """Return a name to which CasADi can append: "f_" would become "f__acc10"."""
        return self._valid(name).rstrip("_")

    def _valid(self, name: str) -> str:
        """Return a name that CasADi accepts: letters, digits and single underscores, behind a letter."""
        return str(self._casadi.Function.fix_name(name))


@cache
def translations() -> dict[str, Callable[..., Any]]:
    """Return CasADi's functions for the operations of programs."""
    casadi = import_extra("casadi", "casadi", "writing a program as a function of CasADi")

    def held(condition: Any, x: Any) -> Any:
        """Return x where a condition holds, else 0, also where x is NaN; in derivatives, too."""
        if x.is_zero() or x.is_one():
            return x if x.is_zero() else condition
        return casadi.SX.binary(casadi.OP_IF_ELSE_ZERO, condition, x)

    def where(condition: Any, a: Any, b: Any) -> Any:
        # A sum even with 0: CasADi makes 0 of NaN * held(condition, x) where the condition does not hold.
        return held(condition, a) + held(casadi.logic_not(condition), b)

    def extreme(choose: Callable[..., Any], *operands: Any) -> Any:
        """Return a minimum or maximum that is NaN if an operand is, which CasADi's fmin and fmax ignore."""
        tests = [x != x for x in operands if not x.is_constant() or np.isnan(float(x))]
        chosen = choose(*operands)
        return chosen + held(reduce(casadi.logic_or, tests), casadi.SX(np.nan)) if tests else chosen

    return {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda x: -x, "power": casadi.power, "abs": casadi.fabs, "sqrt": casadi.sqrt, "exp": casadi.exp,
        "log": casadi.log, "sin": casadi.sin, "cos": casadi.cos, "tan": casadi.tan, "asin": casadi.asin,
        "acos": casadi.acos, "atan": casadi.atan, "atan2": casadi.atan2, "sinh": casadi.sinh, "cosh": casadi.cosh,
        "tanh": casadi.tanh, "sign": casadi.sign, "floor": casadi.floor,
        "minimum": partial(extreme, casadi.fmin), "maximum": partial(extreme, casadi.fmax),
        "less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b, "equal": lambda a, b: a == b,
        "both": casadi.logic_and, "either": casadi.logic_or, "negated": casadi.logic_not, "where": where,
    }  # fmt: skip


def _rows_and_columns(shape: Sequence[int]) -> tuple[int, int]:
    """Return the size of the matrix for an array of a shape, whose leading axes are merged."""
    if len(shape) < 2:
        return (*shape, 1, 1)[0], 1
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return rows, shape[-1]
