"""Traced scalars: numbers with unknown values.

They get their operators from `operators`, which fold by the algebra of `folding`.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import TraceError
from chasles.engine.program.graph import Graph

#: Array of real numbers of a formula: floats, or traced scalars (dtype object).
Array: TypeAlias = NDArray[Any]
#: Number of a trace: known, or not yet.
Number: TypeAlias = "float | Scalar"
#: Expression of SymPy, which has no types.
Symbol: TypeAlias = Any
#: Real number of a formula: a float, an array with one for each sample, a traced Scalar, or an expression of SymPy.
Real: TypeAlias = "float | Array | Scalar | Symbol"
#: Truth value of a formula: a bool, an array of them, a traced Condition, or a relation of SymPy.
Truth: TypeAlias = "bool | Array | Condition | Symbol"
#: Number of a result or of stored data: a float, or an array with one for each sample.
Quantity: TypeAlias = "float | NDArray[np.float64]"
#: Whole number of a result: an int, or an array with one for each sample.
Count: TypeAlias = "int | np.int64 | NDArray[np.int64]"
#: Truth value of a result: a bool, or an array with one for each sample.
Verdict: TypeAlias = "bool | np.bool_ | NDArray[np.bool_]"


class Traced:
    """What scalars and conditions have in common: a place in a graph, and no value that Python could look at."""

    __slots__ = ("graph", "index")

    def __init__(self, graph: Graph, index: int) -> None:
        self.graph = graph
        self.index = index

    def __hash__(self) -> int:
        return hash((id(self.graph), self.index))

    def __bool__(self) -> bool:
        raise TraceError(
            "a traced value has no truth value: it stands for many numbers at once. Instead of `a if x > 0 else b` "
            "write `where(x > 0, a, b)`; instead of `and`, `or`, `not` write `&`, `|`, `~`"
        )

    def __float__(self) -> float:
        raise TraceError(
            "a traced value cannot become a float: it is not known yet. Use the functions of chasles.engine "
            "(sin, sqrt, where, …) in place of those of math, and arrays of dtype object in place of arrays of floats"
        )

    __int__ = __index__ = __complex__ = __float__


class Arithmetic(Protocol):
    """Operator between a traced scalar and another number, or each number of an array."""

    @overload
    def __call__(self, other: Number, /) -> Scalar: ...
    @overload
    def __call__(self, other: Array, /) -> Array: ...


class Comparison(Protocol):
    """Comparison of a traced scalar with another number, or with each number of an array."""

    @overload
    def __call__(self, other: float | Scalar, /) -> Condition: ...
    @overload
    def __call__(self, other: Array, /) -> Array: ...


class Logic(Protocol):
    """Operator between a traced truth value and another, or each of an array."""

    @overload
    def __call__(self, other: bool | Condition, /) -> Condition: ...
    @overload
    def __call__(self, other: Array, /) -> Array: ...


class Sign(Protocol):
    """Operator on one traced scalar."""

    def __call__(self, /) -> Scalar:
        """Apply it."""
        ...


class LogicalNot(Protocol):
    """Operator on one traced truth value."""

    def __call__(self, /) -> Condition:
        """Apply it."""
        ...


class Condition(Traced):
    """A traced truth value, the result of a comparison. Its only use is in `where` and with ``&``, ``|``, ``~``."""

    __slots__ = ()

    __and__: Logic
    __rand__: Logic
    __or__: Logic
    __ror__: Logic
    __invert__: LogicalNot

    def no_arithmetic(self, *_: object) -> Any:
        """Raise `TraceError`."""
        raise TraceError("a traced comparison is no number: write `where(condition, 1.0, 0.0)`")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = no_arithmetic
    __neg__ = __pow__ = __rpow__ = __abs__ = __eq__ = __ne__ = no_arithmetic
    __hash__ = Traced.__hash__


class Scalar(Traced):
    """A traced real number."""

    __slots__ = ()

    __add__: Arithmetic
    __radd__: Arithmetic
    __sub__: Arithmetic
    __rsub__: Arithmetic
    __mul__: Arithmetic
    __rmul__: Arithmetic
    __truediv__: Arithmetic
    __rtruediv__: Arithmetic
    __floordiv__: Arithmetic
    __mod__: Arithmetic
    __rmod__: Arithmetic
    __pow__: Arithmetic
    __rpow__: Arithmetic
    __neg__: Sign
    __pos__: Sign
    __abs__: Sign
    __lt__: Comparison
    __le__: Comparison
    __gt__: Comparison
    __ge__: Comparison

    def __repr__(self) -> str:
        return f"Scalar({self.graph.instructions[self.index][0]}, %{self.index})"


class TracedArray(np.ndarray[Any, Any]):
    """An array of traced scalars: NumPy's functions of it are those of programs (see `numpy_functions`)."""

    __slots__ = ()


def traced_array(result: Any) -> Any:
    """Return an array of objects as an array of traced scalars, anything else as it is."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result.view(TracedArray)
    return result


def boxed(operand: object) -> np.ndarray[Any, Any]:
    """Return an operand as an array, a traced value as one without axes."""
    if isinstance(operand, Traced):
        box = np.empty((), dtype=object)
        box[()] = operand
        return box
    return np.asarray(operand)
