"""Traced scalars: numbers that are not known yet.

They get their operators from `chasles.engine.operators`, which fold by the algebra of `chasles.engine.folding`.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from chasles.engine.graph import Graph
from chasles.errors import TraceError

#: A real number of a formula: a float, an array with one for each sample, or a traced Scalar.
Real: TypeAlias = Any
#: A truth value of a formula: a bool, an array of them, or a traced Condition.
Truth: TypeAlias = Any


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


class Condition(Traced):
    """A traced truth value, the result of a comparison. Its only use is in `where` and with ``&``, ``|``, ``~``."""

    __slots__ = ()

    def no_arithmetic(self, *_: object) -> Any:
        """Refuse."""
        raise TraceError("a traced comparison is no number: write `where(condition, 1.0, 0.0)`")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = no_arithmetic
    __neg__ = __pow__ = __rpow__ = __abs__ = __eq__ = __ne__ = no_arithmetic
    __hash__ = Traced.__hash__


class Scalar(Traced):
    """A traced real number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Scalar({self.graph.instructions[self.index][0]}, %{self.index})"


def boxed(operand: Any) -> np.ndarray[Any, Any]:
    """Return an operand as an array, a traced value as one without axes."""
    if isinstance(operand, Traced):
        box = np.empty((), dtype=object)
        box[()] = operand
        return box
    return np.asarray(operand)
