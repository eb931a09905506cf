"""The operations that a program may hold: their names, arities and meaning in NumPy.

This table is the vocabulary that all of the engine shares. The folding of constants, the NumPy target and the checks of
programs read from disk all take their meaning from here; every other target translates the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Operation:
    """One operation on scalars.

    Attributes
    ----------
    arity
        Number of operands.
    numpy
        The same operation on NumPy arrays, elementwise.
    infix
        How a listing writes it between two operands; empty for functions.
    takes
        Type of each operand: ``"r"`` a real number, ``"c"`` a condition.
    gives
        Type of the result, in the same letters.
    """

    arity: int
    numpy: Callable[..., Any]
    infix: str = ""
    takes: str = "rr"
    gives: str = "r"


def _unary(function: Callable[..., Any]) -> Operation:
    return Operation(1, function, takes="r")


def _binary(function: Callable[..., Any], infix: str = "") -> Operation:
    return Operation(2, function, infix)


def _comparison(function: Callable[..., Any], infix: str) -> Operation:
    return Operation(2, function, infix, gives="c")


OPERATIONS: dict[str, Operation] = {
    "add": _binary(np.add, "+"),
    "sub": _binary(np.subtract, "-"),
    "mul": _binary(np.multiply, "*"),
    "div": _binary(np.divide, "/"),
    "neg": _unary(np.negative),
    "power": _binary(np.power, "**"),
    "abs": _unary(np.absolute),
    "sqrt": _unary(np.sqrt),
    "exp": _unary(np.exp),
    "log": _unary(np.log),
    "sin": _unary(np.sin),
    "cos": _unary(np.cos),
    "tan": _unary(np.tan),
    "asin": _unary(np.arcsin),
    "acos": _unary(np.arccos),
    "atan": _unary(np.arctan),
    "atan2": _binary(np.arctan2),
    "sinh": _unary(np.sinh),
    "cosh": _unary(np.cosh),
    "tanh": _unary(np.tanh),
    "sign": _unary(np.sign),
    "floor": _unary(np.floor),
    "minimum": _binary(np.minimum),
    "maximum": _binary(np.maximum),
    "less": _comparison(np.less, "<"),
    "less_equal": _comparison(np.less_equal, "<="),
    "equal": _comparison(np.equal, "=="),
    "both": Operation(2, np.logical_and, "and", takes="cc", gives="c"),
    "either": Operation(2, np.logical_or, "or", takes="cc", gives="c"),
    "negated": Operation(1, np.logical_not, takes="c", gives="c"),
    "where": Operation(3, np.where, takes="crr"),
}
