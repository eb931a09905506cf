"""Mathematical functions that take floats, arrays and traced scalars alike.

Algorithms and users' own functions write ``sin(x)`` once: given numbers it is NumPy's, given traced scalars (or object
arrays of them) it is recorded in the program that is being traced, given symbols it is SymPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, overload

import numpy as np

from chasles.engine.program import folding
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.scalar import Array, Real, Traced, TracedArray, Truth, boxed, traced_array
from chasles.engine.symbols import apply, is_symbol

#: Array, or nested lists of real numbers.
Arrays: TypeAlias = Array | Sequence[Any]


class Unary(Protocol):
    """Function of each element of an argument."""

    @overload
    def __call__(self, x: float, /) -> float: ...
    @overload
    def __call__(self, x: Arrays, /) -> Array: ...
    @overload
    def __call__(self, x: Real, /) -> Real: ...


class Binary(Protocol):
    """Function of the elements of two arguments that broadcast."""

    @overload
    def __call__(self, a: float, b: float, /) -> float: ...
    @overload
    def __call__(self, a: Arrays, b: Real | Arrays, /) -> Array: ...
    @overload
    def __call__(self, a: Real, b: Arrays, /) -> Array: ...
    @overload
    def __call__(self, a: Real, b: Real, /) -> Real: ...


class Choice(Protocol):
    """Choice between two arguments, element by element; the condition and they broadcast."""

    @overload
    def __call__(self, condition: bool, a: float, b: float, /) -> float: ...
    @overload
    def __call__(self, condition: Arrays, a: Real | Arrays, b: Real | Arrays, /) -> Array: ...
    @overload
    def __call__(self, condition: Truth, a: Arrays, b: Real | Arrays, /) -> Array: ...
    @overload
    def __call__(self, condition: Truth, a: Real, b: Arrays, /) -> Array: ...
    @overload
    def __call__(self, condition: Truth, a: Real, b: Real, /) -> Real: ...


def _elementwise(name: str, traced: Callable[..., Any], doc: str) -> Callable[..., Any]:
    operation = OPERATIONS[name]

    def scalar(*operands: Any) -> Any:
        return apply(name, *operands) if any(map(is_symbol, operands)) else traced(*operands)

    over_objects = np.frompyfunc(scalar, operation.arity, 1)

    def function(*operands: Any) -> Any:
        if len(operands) != operation.arity:
            raise TypeError(f"{function.__name__}() takes {operation.arity} arguments, not {len(operands)}")
        if not any(isinstance(operand, np.ndarray | list | tuple) for operand in operands):
            if any(isinstance(operand, Traced) for operand in operands):
                return traced(*operands)
            if any(map(is_symbol, operands)):
                return apply(name, *operands)
            return operation.numpy(*operands)[()]  # NumPy's `where` gives an array for numbers too
        arrays = [boxed(operand) for operand in operands]
        if any(array.dtype == object for array in arrays):
            with np.errstate(all="ignore"):  # SymPy's work on a NaN is no event in the caller's arithmetic
                values = over_objects(*arrays)
            return traced_array(values) if any(isinstance(a, Traced | TracedArray) for a in operands) else values
        return operation.numpy(*arrays)

    function.__name__ = function.__qualname__ = traced.__name__ if name != "abs" else "absolute"
    function.__doc__ = doc
    return function


sqrt: Unary = _elementwise("sqrt", folding.sqrt, "Square root.")
exp: Unary = _elementwise("exp", folding.exp, "Exponential.")
log: Unary = _elementwise("log", folding.log, "Natural logarithm.")
sin: Unary = _elementwise("sin", folding.sin, "Sine of an angle in radians.")
cos: Unary = _elementwise("cos", folding.cos, "Cosine of an angle in radians.")
tan: Unary = _elementwise("tan", folding.tan, "Tangent of an angle in radians.")
asin: Unary = _elementwise("asin", folding.asin, "Inverse sine, in radians.")
acos: Unary = _elementwise("acos", folding.acos, "Inverse cosine, in radians.")
atan: Unary = _elementwise("atan", folding.atan, "Inverse tangent, in radians.")
atan2: Binary = _elementwise("atan2", folding.atan2, "Angle of the point (x, y) given as atan2(y, x), in radians.")
sinh: Unary = _elementwise("sinh", folding.sinh, "Hyperbolic sine.")
cosh: Unary = _elementwise("cosh", folding.cosh, "Hyperbolic cosine.")
tanh: Unary = _elementwise("tanh", folding.tanh, "Hyperbolic tangent.")
absolute: Unary = _elementwise("abs", folding.absolute, "Absolute value. Its derivative at 0 is taken as 0.")
sign: Unary = _elementwise("sign", folding.sign, "Sign: -1, 0 or 1.")
floor: Unary = _elementwise("floor", folding.floor, "Largest whole number not above the argument.")
minimum: Binary = _elementwise("minimum", folding.minimum, "The smaller of two numbers; NaN if either is NaN.")
maximum: Binary = _elementwise("maximum", folding.maximum, "The larger of two numbers; NaN if either is NaN.")
where: Choice = _elementwise("where", folding.where, "The second argument where the condition holds, else the third.")


def generally(exception: Truth, special: Any, usual: Any) -> Any:
    """`where` for a condition that symbols of SymPy are taken not to meet: of them the usual formula is wanted alone.

    >>> import sympy
    >>> x = sympy.Symbol("x")
    >>> generally(x <= 0.0, 1.0, 1.0 / x), generally(0.0 <= 0.0, 1.0, 2.0)
    (1.0/x, np.float64(1.0))
    """
    if is_symbol(exception):
        return special if exception == True else usual  # noqa: E712  (SymPy's own truth, if it knows)
    return where(exception, special, usual)


def clip(x: Real, low: Real, high: Real) -> Real:
    """Nearest number to x between two bounds; arguments broadcast.

    >>> float(clip(3.0, -1.0, 1.0))
    1.0
    """
    return minimum(maximum(x, low), high)
