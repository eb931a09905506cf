"""Random programs that use every operation, stay inside every domain and keep away from every kink and jump.

They are built instruction by instruction, past the folding of traced scalars, so that folding itself can be tested on
them: `folded` gives the program that tracing the same computation would have given.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from chasles.engine import Argument, Program, Scalar, trace
from chasles.engine.program.graph import Graph
from chasles.engine.program.tracing import flatten

#: One draw: the kind of a step and where it takes its operands from.
Draw = tuple[str, int, int, int]


class _Builder:
    def __init__(self, inputs: int) -> None:
        self.instructions: list[tuple[Any, ...]] = [("input", k) for k in range(inputs)]
        self.programs: list[Program] = []
        self.values = list(range(inputs))

    def emit(self, operation: str, *operands: int | float) -> int:
        self.instructions.append((operation, *operands))
        return len(self.instructions) - 1

    def constant(self, value: float) -> int:
        return self.emit("constant", value)

    def shifted(self, x: int, offset: float) -> int:
        return self.emit("add", x, self.constant(offset))

    def positive(self, x: int) -> int:
        return self.shifted(self.emit("mul", x, x), 0.7)

    def bounded(self, x: int) -> int:
        return self.emit("tanh", x)

    def condition(self, a: int, b: int, c: int) -> int:
        first = self.emit("less", self.shifted(a, 0.1237), b)
        second = self.emit("less_equal", self.shifted(c, 0.2791), a)
        third = self.emit("equal", self.emit("sign", self.shifted(b, 0.3517)), self.constant(1.0))
        return self.emit("either", self.emit("both", first, self.emit("negated", second)), third)


def _quotient(b: _Builder, x: int, y: int, z: int) -> int:
    return b.emit("div", x, b.positive(y))


def _constant_arithmetic(b: _Builder, x: int, y: int, z: int) -> int:
    doubled = b.emit("mul", b.constant(2.0), b.emit("mul", x, b.constant(-0.5)))
    same = b.emit("add", b.emit("sub", doubled, b.constant(0.0)), b.emit("mul", y, b.constant(0.0)))
    return b.emit("div", b.emit("neg", b.emit("neg", same)), b.constant(3.0))


STEPS: dict[str, Callable[[_Builder, int, int, int], int]] = {
    "add": lambda b, x, y, z: b.emit("mul", b.constant(0.5), b.emit("add", x, y)),
    "sub": lambda b, x, y, z: b.emit("mul", b.emit("sub", x, y), b.constant(0.5)),
    "mul": lambda b, x, y, z: b.emit("mul", b.emit("sin", x), y),
    "square": lambda b, x, y, z: b.emit("div", b.emit("mul", x, x), b.positive(x)),
    "div": _quotient,
    "neg": lambda b, x, y, z: b.emit("neg", x),
    "power": lambda b, x, y, z: b.emit("power", b.positive(b.bounded(x)), b.bounded(y)),
    "whole power": lambda b, x, y, z: b.emit("power", b.bounded(x), b.constant(float(z % 4 + 1))),
    "known power": lambda b, x, y, z: b.emit("power", b.positive(b.bounded(x)), b.constant((z % 9 - 4) / 4.0)),
    "abs": lambda b, x, y, z: b.emit("abs", b.shifted(x, 0.4561)),
    "sqrt": lambda b, x, y, z: b.emit("sqrt", b.positive(x)),
    "exp": lambda b, x, y, z: b.emit("exp", b.bounded(x)),
    "log": lambda b, x, y, z: b.emit("log", b.positive(x)),
    "sin": lambda b, x, y, z: b.emit("sin", b.emit("neg", x)),
    "cos": lambda b, x, y, z: b.emit("cos", b.emit("neg", x)),
    "tan": lambda b, x, y, z: b.emit("tan", b.bounded(x)),
    "asin": lambda b, x, y, z: b.emit("asin", b.emit("mul", b.constant(0.8), b.emit("cos", x))),
    "acos": lambda b, x, y, z: b.emit("acos", b.emit("mul", b.constant(-0.8), b.emit("sin", x))),
    "atan": lambda b, x, y, z: b.emit("atan", x),
    "atan2": lambda b, x, y, z: b.emit("atan2", x, b.positive(y)),
    "atan2 reversed": lambda b, x, y, z: b.emit("atan2", b.positive(y), x),
    "sinh": lambda b, x, y, z: b.emit("sinh", b.bounded(x)),
    "cosh": lambda b, x, y, z: b.emit("cosh", b.bounded(x)),
    "tanh": lambda b, x, y, z: b.emit("tanh", b.shifted(x, -1.0)),
    "sign": lambda b, x, y, z: b.emit("mul", b.emit("sign", b.shifted(x, 0.6173)), y),
    "floor": lambda b, x, y, z: b.emit("mul", b.constant(0.25), b.emit("floor", b.shifted(x, 0.3719))),
    "minimum": lambda b, x, y, z: b.emit("minimum", x, b.shifted(y, 0.0813)),
    "maximum": lambda b, x, y, z: b.emit("maximum", b.shifted(x, -0.0719), y),
    "where": lambda b, x, y, z: b.emit("where", b.condition(x, y, z), y, z),
    "where else nothing": lambda b, x, y, z: b.emit("where", b.condition(y, z, x), x, b.constant(0.0)),
    "constants": _constant_arithmetic,
}  # fmt: skip


def build(draws: Sequence[Draw], *, inputs: int = 4, outputs: int = 3, called: Program | None = None) -> Program:
    """Return a program with inputs ``x (inputs - 1,)`` and ``y ()``, outputs ``a (outputs - 1,)`` and ``b ()``.

    A draw of the kind ``call`` uses the called program, which must have as many inputs as this one.
    """
    b = _Builder(inputs)
    for kind, *picks in draws:
        x, y, z = (b.values[-1 - pick % len(b.values)] for pick in picks)
        if kind != "call":
            b.values.append(STEPS[kind](b, x, y, z))
        elif called is not None:
            if not b.programs:
                b.programs.append(called)
            arguments = [b.bounded(b.values[-1 - (picks[0] + k * picks[1]) % len(b.values)]) for k in range(inputs)]
            index = b.emit("call", 0, *arguments)
            b.values += [b.emit("item", index, k) for k in range(len(called.results))]
    graph = Graph()
    graph.instructions, graph.programs = b.instructions, b.programs
    results = [Scalar(graph, b.values[-1 - k % len(b.values)]) for k in range(outputs)]
    return Program.from_graph(
        "random",
        (Argument("x", (inputs - 1,)), Argument("y", ())),
        (Argument("a", (outputs - 1,)), Argument("b", ())),
        graph,
        results,
    )


def _kinds(calls: bool) -> list[str]:
    return [*STEPS, *["call"] * 4] if calls else list(STEPS)


@st.composite
def programs(draw: st.DrawFn, max_steps: int = 14, calls: bool = True) -> Program:
    """Strategy of programs, with calls nested up to two deep."""
    pick = st.integers(0, 30)
    innermost, inner, outer = (
        draw(
            st.lists(st.tuples(st.sampled_from(_kinds(calls and level > 0)), pick, pick, pick), min_size=1, max_size=m)
        )
        for level, m in enumerate((5, 5, max_steps))
    )
    called = build(inner, called=build(innermost)) if calls else None
    return build(outer, called=called)


def random_program(seed: int, steps: int = 14, *, calls: bool = True) -> Program:
    """Return the program of a seed: the same program each time."""
    source = random.Random(seed)
    program: Program | None = None
    for level, count in enumerate((5, 5, steps) if calls else (steps,)):
        kinds = _kinds(calls and level > 0)
        draws = [(source.choice(kinds), *(source.randrange(31) for _ in range(3))) for _ in range(count)]
        program = build(draws, called=program)  # type: ignore[arg-type]
    assert program is not None
    return program


def safe_inputs(program: Program, count: int, seed: int = 0, dtype: Any = np.float64) -> list[np.ndarray[Any, Any]]:
    """Return arguments with one batch axis, of unremarkable numbers."""
    source = np.random.default_rng(seed)
    return [source.uniform(-2.0, 2.0, (count, *a.shape)).astype(dtype) for a in program.inputs]


def folded(program: Program) -> Program:
    """Return the program that tracing the same computation gives."""

    def function(*arguments: Any) -> tuple[Any, ...]:
        results = program.replay([x for argument in arguments for x in flatten(argument)[0]])
        outputs, position = [], 0
        for a in program.outputs:
            array = np.empty(a.size, dtype=object)
            array[:] = results[position : position + a.size]
            outputs.append(array.reshape(a.shape) if a.shape else array[0])
            position += a.size
        return tuple(outputs)

    return trace(function, {a.name: a.shape for a in program.inputs}, name=program.name, outputs=["a", "b"])


#: The operations in arithmetic of many digits.
MPMATH: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda x: -x, "power": mpmath.power, "abs": abs, "sqrt": mpmath.sqrt, "exp": mpmath.exp, "log": mpmath.log,
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "asin": mpmath.asin, "acos": mpmath.acos,
    "atan": mpmath.atan, "atan2": mpmath.atan2, "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh,
    "sign": mpmath.sign, "floor": mpmath.floor, "minimum": min, "maximum": max, "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b, "equal": lambda a, b: a == b, "both": lambda a, b: a and b,
    "either": lambda a, b: a or b, "negated": lambda a: not a, "where": lambda c, a, b: a if c else b,
}  # fmt: skip


def interpret(program: Program, values: Sequence[Any], table: Mapping[str, Callable[..., Any]] = MPMATH) -> list[Any]:
    """Run a program on one number for each input scalar, with any meaning of the operations."""
    computed: list[Any] = []
    for operation, *rest in program.instructions:
        if operation == "constant":
            computed.append(rest[0])
        elif operation == "input":
            computed.append(values[rest[0]])
        elif operation == "item":
            computed.append(computed[rest[0]][rest[1]])
        elif operation == "call":
            computed.append(interpret(program.programs[rest[0]], [computed[k] for k in rest[1:]], table))
        else:
            computed.append(table[operation](*[computed[k] for k in rest]))
    return [computed[k] for k in program.results]


def true_values(program: Program, values: Sequence[float]) -> list[float]:
    """Return the output scalars, correct to all digits of a double."""
    with mpmath.workdps(40):
        return [float(x) for x in interpret(program, [mpmath.mpf(float(x)) for x in values])]


def true_jacobian(program: Program, values: Sequence[float]) -> np.ndarray[Any, Any]:
    """Return all partial derivatives by central differences in arithmetic of 60 digits, so correct to a double's."""
    with mpmath.workdps(60):
        point = [mpmath.mpf(float(x)) for x in values]
        step = mpmath.mpf(10) ** -20
        columns = []
        for k in range(len(point)):
            ahead, behind = ([x + sign * step * (i == k) for i, x in enumerate(point)] for sign in (1, -1))
            pairs = zip(interpret(program, ahead), interpret(program, behind), strict=True)
            columns.append([float((a - b) / (2 * step)) for a, b in pairs])
    return np.array(columns).T
