"""What NumPy's functions do with traced values: the same as with numbers, or they are refused by name.

NumPy hands its functions over to the arrays that they get (``__array_ufunc__``, ``__array_function__``). Those that
only add and multiply work as they are. Those that look at values, such as `numpy.maximum`, are computed by the
operations of a program. The others are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from chasles.base.errors import TraceError
from chasles.engine.program import folding
from chasles.engine.program.folding import (
    FOLDING,
    absolute,
    add,
    div,
    floor,
    maximum,
    minimum,
    mul,
    neg,
    power,
    sqrt,
    sub,
)
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.scalar import Condition, Number, Scalar, boxed, traced_array

_UFUNCS = import_module("numpy._core.umath")
_NUMBERS = (int, float, np.integer, np.floating, np.bool_)


def remainder(a: Number, b: Number) -> Number:
    """Remainder of a division rounded down, as ``%``."""
    return sub(a, mul(b, floor(div(a, b))))


def _hypotenuse(x: Number, y: Number) -> Any:
    """Root of the sum of squares, which neither overflow nor vanish."""
    longer = maximum(x, y)
    ratio = div(minimum(x, y), folding.where(folding.equal(longer, 0.0), 1.0, longer))
    return mul(longer, sqrt(add(1.0, mul(ratio, ratio))))


def _clipped(x: Number, low: Number, high: Number) -> Any:
    return minimum(maximum(x, low), high)


#: Functions of numbers that are made of others.
_MADE: dict[np.ufunc, Callable[..., Any]] = {
    np.bitwise_and: folding.both,
    np.bitwise_or: folding.either,
    np.ceil: lambda x: neg(floor(neg(x))),
    np.conjugate: lambda x: x,
    np.deg2rad: lambda x: mul(x, math.pi / 180.0),
    np.fabs: absolute,
    np.float_power: power,
    np.greater: lambda a, b: folding.less(b, a),
    np.greater_equal: lambda a, b: folding.less_equal(b, a),
    np.hypot: lambda x, y: _hypotenuse(absolute(x), absolute(y)),
    np.invert: folding.negated,
    np.not_equal: lambda a, b: folding.negated(folding.equal(a, b)),
    np.rad2deg: lambda x: mul(x, 180.0 / math.pi),
    np.reciprocal: lambda x: div(1.0, x),
    np.square: lambda x: mul(x, x),
    _UFUNCS.clip: _clipped,
}
_MADE |= {np.radians: _MADE[np.deg2rad], np.degrees: _MADE[np.rad2deg]}
_OF_CONDITIONS = (np.logical_and, np.logical_or, np.logical_not, np.bitwise_and, np.bitwise_or, np.invert)
#: Functions that NumPy computes by the operators of elements.
_BY_OPERATORS = {
    np.add, np.subtract, np.multiply, np.divide, np.floor_divide, np.remainder, np.power, np.negative, np.positive,
    np.absolute, np.matmul,
} | {getattr(np, name) for name in ("vecdot", "matvec", "vecmat") if hasattr(np, name)}  # fmt: skip


def _of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*map(_number, operands))


def _of_conditions(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *operands: function(*map(_condition, operands))


def _number(element: object) -> Any:
    if isinstance(element, Condition):
        element.no_arithmetic()
    if isinstance(element, Scalar):
        return element
    if isinstance(element, _NUMBERS):
        return float(element)
    raise TraceError(f"a traced value meets an array that holds {type(element).__name__}")


def _condition(element: object) -> Any:
    if isinstance(element, Condition | bool):
        return element
    if isinstance(element, np.bool_):
        return bool(element)
    raise TraceError("a traced value has no truth value: compare it, as in `x > 0`")


def _by_ufunc() -> dict[np.ufunc, Any]:
    """Return NumPy's functions over arrays of numbers and traced values."""
    checked_ufuncs: dict[np.ufunc, Any] = {}
    functions: dict[Any, Callable[..., Any]] = {OPERATIONS[name].numpy: function for name, function in FOLDING.items()}
    for ufunc, function in (functions | _MADE).items():
        if isinstance(ufunc, np.ufunc) and ufunc not in _BY_OPERATORS:
            checked = _of_conditions(function) if ufunc in _OF_CONDITIONS else _of_numbers(function)
            checked_ufuncs[ufunc] = np.frompyfunc(checked, ufunc.nin, 1, identity=None)
    return checked_ufuncs


_BY_UFUNC = _by_ufunc()
_NUMPY = {value for module in (np, _UFUNCS) for value in vars(module).values() if isinstance(value, np.ufunc)}


def take_part(self: Any, ufunc: np.ufunc, method: str, *operands: Any, **keywords: Any) -> Any:
    """Take part in a function of each element: np.sin(x), np.float64(2.0) * x, np.maximum.reduce(x)."""
    try:
        if ufunc in _BY_OPERATORS and method == "__call__" and not keywords:  # nearly always
            return traced_array(ufunc(*map(boxed, operands)))
        of_objects = _BY_UFUNC.get(ufunc, ufunc)
        if of_objects is ufunc and ufunc in _NUMPY and ufunc not in _BY_OPERATORS:
            raise _refusal(ufunc.__name__)
        if "out" in keywords:
            keywords["out"] = tuple(None if array is None else np.asarray(array) for array in keywords["out"])
        return _traced(getattr(of_objects, method)(*map(boxed, operands), **keywords))
    except TraceError:
        raise
    except (TypeError, ValueError, AttributeError, SystemError) as error:
        if ufunc not in _NUMPY or "shape" in str(error) or "dimension" in str(error):
            raise
        raise _refusal(ufunc.__name__, str(error)) from error


def _traced(result: Any) -> Any:
    return tuple(map(traced_array, result)) if isinstance(result, tuple) else traced_array(result)


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise _refusal("where", "of one argument it looks at values")
    return traced_array(_WHERE(*map(boxed, (condition, x, y))))


_WHERE = np.frompyfunc(lambda c, x, y: folding.where(_condition(c), _number(x), _number(y)), 3, 1)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    array = np.asarray(x)
    is_vector = array.ndim == 1 if axis is None else np.ndim(axis) == 0
    if not (ord is None or (ord == 2 and is_vector) or (ord == "fro" and not is_vector)):
        raise _refusal("linalg.norm", f"of order {ord!r}")
    return np.sqrt(np.sum(traced_array(array * array), axis=axis, keepdims=keepdims))


def _det(a: Any) -> Any:
    """Determinant of a matrix of up to three rows, by its expansion."""
    A = traced_array(np.asarray(a))
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not 1 <= len(A) <= 3:
        raise _refusal("linalg.det", f"of shape {A.shape}")
    if len(A) == 1:
        return A[0, 0]
    if len(A) == 2:
        return A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    return A[0] @ np.cross(A[1], A[2])


#: NumPy's functions of whole arrays that are computed in another way.
BY_FUNCTION: dict[Any, Callable[..., Any]] = {np.where: _where, np.linalg.norm: _norm, np.linalg.det: _det}

_SOLVING = "write np.linalg.solve or np.linalg.inv of a square matrix, or the functions of chasles.engine.linear"
_ROUNDING = "write floor(x + 0.5) of chasles.engine"
_ORDERING = "write minimum and maximum of chasles.engine, or where(a < b, a, b)"
#: What to write in place of a function that is refused.
_INSTEAD = {
    **dict.fromkeys(("linalg.pinv", "linalg.lstsq", "linalg.cholesky"), _SOLVING),
    **dict.fromkeys(("round", "around", "rint", "trunc", "fix"), _ROUNDING),
    **dict.fromkeys(("sort", "argsort", "argmax", "argmin", "median", "unique", "partition"), _ORDERING),
    **dict.fromkeys(("fmax", "fmin"), _ORDERING),
    **dict.fromkeys(("any", "all"), "compare the values first, as in np.any(x > 0)"),
    "linalg.det": "it is written out for matrices of up to 3 rows",
    "linalg.norm": "write sqrt of sums of squares; of vectors the order is 2, of matrices 'fro'",
    "interp": "write the line of each interval, chosen by where(x < end, a, b) of chasles.engine",
    "select": "write where(condition, a, where(other, b, c)) of chasles.engine",
    "isnan": "write x != x",
    "expm1": "write exp(x) - 1",
    "log1p": "write log(1 + x)",
    "log2": "write log(x) / log(2)",
    "log10": "write log(x) / log(10)",
    "cbrt": "write sign(x) * exp(log(absolute(x)) / 3)",
}
_GENERAL = "use the functions of chasles.engine (where, maximum, clip, sqrt, …)"


_JOIN = "join traced values by np.stack in place of np.array, or use the functions of chasles.engine"


def _refusal(name: str, reason: str = "", advice: str = _GENERAL) -> TraceError:
    said = f" ({reason})" if reason else ""
    return TraceError(f"np.{name} knows no traced values{said}; {_INSTEAD.get(name, advice)}")


_PLAIN = np.empty(0)


def take_part_whole(
    self: Any, function: Any, types: Sequence[type], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Take part in a function of whole arrays: np.concatenate((x, y)), np.where(x > 0, x, y), np.linalg.norm(x)."""
    try:
        if counterpart := BY_FUNCTION.get(function):
            return counterpart(*arguments, **keywords)
        return _traced(_PLAIN.__array_function__(function, (np.ndarray,), arguments, keywords))
    except (TypeError, AttributeError) as error:
        name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
        if isinstance(error, TraceError):
            if str(error).startswith(f"np.{name} "):
                raise
            raise _refusal(name) from error
        raise _refusal(name, str(error)) from error


#: Signs in NumPy's messages that an array of objects was the reason.
_SIGNS = ("dtype('O')", "object array", "Scalar", "Condition", "dtype object", "object dtype", "input types")
_NAMED = re.compile(r"ufunc '(\w+)'|'(?:float|int)' object has no attribute '(\w+)'")


def refused_by_numpy(error: Exception) -> TraceError | None:
    """Return what to say of an error that NumPy raised because of traced values, or None if it has another reason.

    Arrays that `numpy.array` makes of traced scalars take no part in NumPy's functions: NumPy handles their elements by
    itself as far as it can.
    """
    text, match, frame = str(error), _NAMED.search(str(error)), error.__traceback__
    while frame is not None:
        module = str(frame.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == "numpy" and not isinstance(error, ValueError):
            part = "linalg." if module.startswith("numpy.linalg") else ""
            return _refusal(part + frame.tb_frame.f_code.co_name.lstrip("_"), text, _JOIN)
        frame = frame.tb_next
    if match is not None and hasattr(np, name := match[1] or match[2]):
        return _refusal(name, text, _JOIN)
    if any(sign in text for sign in _SIGNS):
        return TraceError(f"this cannot be done with traced values: {text}; {_JOIN}")
    return None
