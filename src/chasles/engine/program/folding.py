"""The algebra of numbers and traced scalars.

The functions of this module (`add`, `mul`, `sin`, …) take both alike. What is known they fold: constants, zeros, ones,
signs, repeated subexpressions; what is not they record in the `Graph`. This is the one place where folding is defined.

Folding takes every operand for finite: ``0 * x`` is 0 and ``x - x`` is 0 even where x would turn out infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chasles.base.errors import TraceError
from chasles.engine.program.graph import Called, Graph
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.scalar import Condition, Number, Scalar, Traced

_TWO_TRACES = "a traced value of one trace was used in another: it must be an argument of the inner function"


def _constant(graph: Graph, value: float) -> int:
    # One NaN for all, as NaN is not equal to itself, so that equal expressions are found; + 0.0 turns -0.0 into 0.0.
    return graph.add(("constant", math.nan if math.isnan(value) else float(value) + 0.0))


def _shared_graph(operands: Sequence[object]) -> Graph:
    graph: Graph | None = None
    for operand in operands:
        if isinstance(operand, Traced):
            if graph is None:
                graph = operand.graph
            elif graph is not operand.graph:
                raise TraceError(_TWO_TRACES)
    if graph is None:
        raise TraceError("no operand is a traced value")
    return graph


def _record(name: str, *operands: Number | Condition) -> Scalar:
    """Append an operation of which at least one operand is traced."""
    graph = _shared_graph(operands)
    return Scalar(graph, _appended(graph, name, operands))


def _record_condition(name: str, *operands: Number | Condition) -> Condition:
    """Append an operation that gives a truth value."""
    graph = _shared_graph(operands)
    return Condition(graph, _appended(graph, name, operands))


def _appended(graph: Graph, name: str, operands: Sequence[Number | Condition]) -> int:
    indices = [operand.index if isinstance(operand, Traced) else _constant(graph, operand) for operand in operands]
    return graph.add((name, *indices))


def _evaluate(name: str, *numbers: float) -> float:
    with np.errstate(all="ignore"):
        value = OPERATIONS[name].numpy(*numbers)
    return bool(value) if OPERATIONS[name].gives == "c" else float(value)


def _negated_operand(x: Number) -> Scalar | None:
    """Return a where x is -a, else None."""
    if isinstance(x, Scalar):
        instruction = x.graph.instructions[x.index]
        if instruction[0] == "neg":
            return Scalar(x.graph, instruction[1])
    return None


# Sums, differences and products are nearly all that a trace meets. These three append to the graph themselves.


def add(a: Number, b: Number) -> Number:
    """Sum."""
    if not isinstance(a, Scalar):
        a, b = b, a
        if not isinstance(a, Scalar):
            return a + b
    graph, x = a.graph, a.index
    if not isinstance(b, Scalar):
        return a if b == 0.0 else Scalar(graph, graph.add(("add", _constant(graph, b), x)))
    if b.graph is not graph:
        raise TraceError(_TWO_TRACES)
    y = b.index
    first, second = graph.instructions[x], graph.instructions[y]
    if second[0] == "neg":
        return sub(a, Scalar(graph, second[1]))
    if first[0] == "neg":
        return sub(b, Scalar(graph, first[1]))
    return Scalar(graph, graph.add(("add", x, y) if x <= y else ("add", y, x)))


def sub(a: Number, b: Number) -> Number:
    """Difference."""
    if not isinstance(b, Scalar):
        return add(a, -b)
    graph, y = b.graph, b.index
    second = graph.instructions[y]
    if not isinstance(a, Scalar):
        if a == 0.0:
            return neg(b)
        if second[0] == "neg":
            return add(a, Scalar(graph, second[1]))
        return Scalar(graph, graph.add(("sub", _constant(graph, a), y)))
    if a.graph is not graph:
        raise TraceError(_TWO_TRACES)
    x = a.index
    if x == y:
        return 0.0
    first = graph.instructions[x]
    if second[0] == "neg":
        return add(a, Scalar(graph, second[1]))
    if first[0] == "neg":
        return neg(add(Scalar(graph, first[1]), b))
    return Scalar(graph, graph.add(("sub", x, y)))


def mul(a: Number, b: Number) -> Number:
    """Product. Signs move outwards and constant factors meet, so that equal products are found equal."""
    if not isinstance(a, Scalar):
        a, b = b, a
        if not isinstance(a, Scalar):
            return a * b
    if not isinstance(b, Scalar):
        return _scale(b, a)
    graph, x, y = a.graph, a.index, b.index
    if b.graph is not graph:
        raise TraceError(_TWO_TRACES)
    first, second = graph.instructions[x], graph.instructions[y]
    if first[0] == "neg":
        return neg(mul(Scalar(graph, first[1]), b))
    if second[0] == "neg":
        return neg(mul(a, Scalar(graph, second[1])))
    return Scalar(graph, graph.add(("mul", x, y) if x <= y else ("mul", y, x)))


def _scale(factor: float, x: Scalar) -> Number:
    if factor == 0.0:
        return 0.0
    if factor == 1.0:
        return x
    if factor < 0.0:
        return neg(_scale(-factor, x))
    graph = x.graph
    operation, *operands = graph.instructions[x.index]
    if operation == "neg":
        return neg(_scale(factor, Scalar(graph, operands[0])))
    if operation == "mul" and graph.instructions[operands[0]][0] == "constant":
        return _scale(factor * graph.instructions[operands[0]][1], Scalar(graph, operands[1]))
    return Scalar(graph, graph.add(("mul", _constant(graph, factor), x.index)))


def div(a: Number, b: Number) -> Number:
    """Quotient; division by a known number becomes multiplication by its reciprocal."""
    if not isinstance(b, Scalar):
        if not isinstance(a, Scalar) or b == 0.0 or not np.isfinite(b):
            return _evaluate("div", a, b) if not isinstance(a, Scalar) else _record("div", a, b)
        return mul(a, 1.0 / b) if np.isfinite(1.0 / b) else _record("div", a, b)
    if not isinstance(a, Scalar) and a == 0.0:
        return 0.0
    if (negated_a := _negated_operand(a)) is not None:
        return neg(div(negated_a, b))
    if (negated_b := _negated_operand(b)) is not None:
        return neg(div(a, negated_b))
    return _record("div", a, b)


def neg(x: Number) -> Number:
    """Opposite; an opposite of a difference swaps it."""
    if not isinstance(x, Scalar):
        return -x
    graph = x.graph
    operation, *operands = graph.instructions[x.index]
    if operation == "neg":
        return Scalar(graph, operands[0])
    if operation == "sub":
        return Scalar(graph, graph.add(("sub", operands[1], operands[0])))
    return Scalar(graph, graph.add(("neg", x.index)))


def power(x: Number, exponent: Number) -> Number:
    """Power; known whole exponents become products, one half becomes a square root."""
    if isinstance(exponent, Scalar):
        return _record("power", x, exponent)
    if not isinstance(x, Scalar):
        return _evaluate("power", x, exponent)
    if exponent == 0.5:
        return sqrt(x)
    if not abs(exponent) <= 64 or exponent != int(exponent):
        return _record("power", x, exponent)
    if exponent < 0:
        return div(1.0, power(x, -exponent))
    result: Number = 1.0
    square: Number = x
    remaining = int(exponent)
    while remaining:
        if remaining & 1:
            result = mul(result, square)
        remaining >>= 1
        if remaining:
            square = mul(square, square)
    return result


def _function(name: str, parity: int = 0) -> Callable[[Number], Number]:
    """Make a function of one argument; parity -1 or +1 lets it move the argument's sign outwards or drop it."""

    def apply(x: Number) -> Number:
        if not isinstance(x, Scalar):
            return _evaluate(name, x)
        if parity and (negated_x := _negated_operand(x)) is not None:
            return neg(apply(negated_x)) if parity < 0 else apply(negated_x)
        return _record(name, x)

    apply.__name__ = name
    return apply


def _pair(name: str, same: Callable[[Scalar], Number] | None = None) -> Callable[[Any, Any], Any]:
    """Make a function of two arguments; ``same`` is its result where both are the same traced value."""
    record = _record_condition if OPERATIONS[name].gives == "c" else _record

    def apply(a: Number, b: Number) -> Number | Condition:
        if not isinstance(a, Traced) and not isinstance(b, Traced):
            return _evaluate(name, a, b)
        if same is not None and isinstance(a, Traced) and isinstance(b, Traced):
            if a.graph is b.graph and a.index == b.index:
                return same(a)
        return record(name, a, b)

    apply.__name__ = name
    return apply


sqrt, exp, log = _function("sqrt"), _function("exp"), _function("log")
sin, cos, tan = _function("sin", -1), _function("cos", +1), _function("tan", -1)
asin, acos, atan, atan2 = _function("asin", -1), _function("acos"), _function("atan", -1), _pair("atan2")
sinh, cosh, tanh = _function("sinh", -1), _function("cosh", +1), _function("tanh", -1)
absolute, sign, floor = _function("abs", +1), _function("sign", -1), _function("floor")
minimum, maximum = _pair("minimum", lambda x: x), _pair("maximum", lambda x: x)
less = _pair("less", lambda x: False)
less_equal, equal = _pair("less_equal"), _pair("equal")


def both(a: bool | Condition, b: bool | Condition) -> bool | Condition:
    """Logical and."""
    if not isinstance(a, Condition):
        return b if a else False
    if not isinstance(b, Condition):
        return a if b else False
    return _record_condition("both", a, b)


def either(a: bool | Condition, b: bool | Condition) -> bool | Condition:
    """Logical or."""
    if not isinstance(a, Condition):
        return True if a else b
    if not isinstance(b, Condition):
        return True if b else a
    return _record_condition("either", a, b)


def negated(a: bool | Condition) -> bool | Condition:
    """Logical not."""
    return _record_condition("negated", a) if isinstance(a, Condition) else not a


def where(condition: bool | Condition, a: Number, b: Number) -> Number:
    """Return a where the condition holds, else b."""
    if not isinstance(condition, Condition):
        return a if condition else b
    same = a.index == b.index if isinstance(a, Scalar) and isinstance(b, Scalar) else a is b
    if same or (not isinstance(a, Scalar) and not isinstance(b, Scalar) and a == b):
        return a
    return _record("where", condition, a, b)


def call(program: Called, operands: Sequence[Number]) -> list[Number]:
    """Use a whole program as one operation: its flattened outputs, computed by a call in every target.

    Outputs that are constants, operands, or other outputs fold with what surrounds the call.
    """
    graph = _shared_graph(operands)
    indices = [x.index if isinstance(x, Scalar) else _constant(graph, x) for x in operands]
    index = graph.add(("call", graph.program_number(program), *indices))
    outputs: list[Number] = []
    for operation, value in program.folded_results:
        if operation == "constant":
            outputs.append(value)
        elif operation == "input":
            outputs.append(operands[value])
        else:
            outputs.append(Scalar(graph, graph.add(("item", index, value))))
    return outputs


#: Every operation of the table as a function of numbers and traced values that folds.
FOLDING: dict[str, Callable[..., Any]] = {
    "add": add, "sub": sub, "mul": mul, "div": div, "neg": neg, "power": power, "abs": absolute, "sqrt": sqrt,
    "exp": exp, "log": log, "sin": sin, "cos": cos, "tan": tan, "asin": asin, "acos": acos, "atan": atan,
    "atan2": atan2, "sinh": sinh, "cosh": cosh, "tanh": tanh, "sign": sign, "floor": floor, "minimum": minimum,
    "maximum": maximum, "less": less, "less_equal": less_equal, "equal": equal, "both": both, "either": either,
    "negated": negated, "where": where,
}  # fmt: skip
