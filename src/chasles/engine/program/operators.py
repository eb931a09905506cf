"""The operators of traced scalars, and their part in NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.base.errors import TraceError
from chasles.engine.program.folding import (
    absolute,
    acos,
    add,
    asin,
    atan,
    atan2,
    both,
    cos,
    cosh,
    div,
    either,
    equal,
    exp,
    floor,
    less,
    less_equal,
    log,
    mul,
    neg,
    negated,
    power,
    sin,
    sinh,
    sqrt,
    sub,
    tan,
    tanh,
)  # fmt: skip
from chasles.engine.program.numpy_functions import remainder, take_part, take_part_whole
from chasles.engine.program.scalar import Condition, Scalar, Traced, TracedArray, traced_array

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


def _operator(function: Callable[..., Any]) -> Callable[[Scalar, Any], Any]:
    def method(self: Scalar, other: object) -> Any:
        if other.__class__ is Scalar or other.__class__ is float:  # nearly always
            return function(self, other)
        if isinstance(other, Scalar):
            return function(self, other)
        if isinstance(other, _NUMBERS):
            return function(self, float(other))
        if isinstance(other, np.ndarray):
            by_element = np.frompyfunc(lambda element: _refused(method(self, element), element), 1, 1)
            return traced_array(by_element(np.asarray(other)))
        return NotImplemented

    return method


def _refused(result: Any, element: object) -> Any:
    if result is NotImplemented:
        if isinstance(element, Condition):
            element.no_arithmetic()
        raise TraceError(f"a traced value meets an array that holds {type(element).__name__}")
    return result


def attach_operators() -> None:
    """Give scalars and conditions their operators."""
    methods: dict[str, Callable[..., Any]] = {"__neg__": neg, "__abs__": absolute, "__pos__": lambda x: x}
    arithmetic = {
        "add": add, "sub": sub, "mul": mul, "truediv": div, "pow": power, "mod": remainder,
        "floordiv": lambda a, b: floor(div(a, b)),
    }  # fmt: skip
    for name, function in arithmetic.items():
        methods[f"__{name}__"] = methods[f"__r{name}__"] = _operator(function)
        if function not in (add, mul):
            methods[f"__r{name}__"] = _operator(lambda a, b, function=function: function(b, a))
    comparisons = {
        "lt": less, "le": less_equal, "gt": lambda a, b: less(b, a), "ge": lambda a, b: less_equal(b, a),
        "eq": equal, "ne": lambda a, b: negated(equal(a, b)),
    }  # fmt: skip
    methods |= {f"__{name}__": _operator(function) for name, function in comparisons.items()}
    # np.sin(array of scalars) calls the method `sin` of each element.
    methods |= {"arcsin": asin, "arccos": acos, "arctan": atan, "arctan2": atan2}
    methods |= {f.__name__: f for f in (sin, cos, tan, sinh, cosh, tanh, exp, log, sqrt, floor)}
    for name, method in methods.items():
        setattr(Scalar, name, method)
    logical: dict[str, Callable[..., Any]] = {
        "__and__": both,
        "__rand__": both,
        "__or__": either,
        "__ror__": either,
        "__invert__": negated,
    }
    for name, method in logical.items():
        setattr(Condition, name, method)
    for kind in (Traced, TracedArray):
        setattr(kind, "__array_ufunc__", take_part)  # noqa: B010  (mypy knows no such attribute)
        setattr(kind, "__array_function__", take_part_whole)  # noqa: B010
