"""Symbols of SymPy as operands: what the engine's functions do with them.

A formula that is written with the operators of Python and the functions of the engine is as good on symbols as on
numbers and traced scalars. Nothing here imports SymPy before a symbol is met.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from chasles.engine.program.scalar import Traced


def is_symbol(operand: object) -> bool:
    """Whether an operand is an expression of SymPy."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(operand, sympy.Basic)


def is_symbolic(argument: object) -> bool:
    """Whether an argument is, or holds, traced scalars or expressions of SymPy."""
    if isinstance(argument, float | int | np.number):
        return False
    if isinstance(argument, np.ndarray):
        return argument.dtype == object and any(isinstance(x, Traced) or is_symbol(x) for x in argument.flat)
    if isinstance(argument, list | tuple):
        return any(map(is_symbolic, argument))
    return isinstance(argument, Traced) or is_symbol(argument)


def apply(name: str, *operands: Any) -> Any:
    """Apply an operation of the engine to expressions of SymPy and numbers."""
    import sympy

    from chasles.engine.targets.sympy import translations

    if name == "where" and not is_symbol(operands[0]):
        return operands[1] if operands[0] else operands[2]
    return translations()[name](*map(sympy.sympify, operands))


def exact(result: Any) -> Any:
    """Return a result with the floating-point numbers in its expressions that are short fractions written as such.

    Formulas hold numbers like 0.5 and 2.0, which are exact; SymPy simplifies only when it knows that.
    """
    if isinstance(result, tuple):
        values = [exact(value) for value in result]
        return type(result)(*values) if hasattr(result, "_fields") else tuple(values)
    if isinstance(result, np.ndarray):
        return np.frompyfunc(exact, 1, 1)(result) if result.dtype == object else result
    if not is_symbol(result):
        return result
    import sympy

    floats = {number: sympy.Rational(float(number)) for number in result.atoms(sympy.Float)}
    return result.xreplace({number: ratio for number, ratio in floats.items() if ratio.q <= 4096})
