"""The SymPy target: programs as formulas."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from chasles.base.errors import ArgumentError, MissingExtraError, UnknownNameError
from chasles.engine.program.program import Argument, Program
from chasles.engine.program.scalar import Symbol

#: Digits of coefficients in simplified formulas: fewer than a double has, so that terms that differ by rounding alone
#: cancel.
_DIGITS = 13


def lower(program: Program, values: Mapping[str, Any] | None = None, *, simplify: bool = False) -> tuple[Any, ...]:
    """Return the outputs of a program as SymPy expressions of its inputs.

    Called programs are expanded.

    Parameters
    ----------
    program
        Program to translate.
    values
        Expressions or numbers in place of the symbols of inputs, by the names of the inputs.
    simplify
        Whether formulas are brought to a short form by ``sympy.simplify``, with coefficients rounded to 13 digits. It
        takes seconds for arms of two or three joints and minutes for more.

    Returns
    -------
    tuple
        For each output an expression (shape ``()``), an immutable matrix (one axis: a column; two axes) or an immutable
        array of its shape.
        Input ``q`` of shape ``()`` is the real symbol ``q``; entries of arrays are ``q0``, ``q1``, …, of matrices
        ``q0_0``, ``q0_1``, … (a name that is taken gets a trailing underscore).

    Raises
    ------
    MissingExtraError
        If SymPy is not installed.
    UnknownNameError, ArgumentError
        If `values` names no input, or has another shape than it.

    Examples
    --------
    >>> from chasles.engine import sin, trace
    >>> lower(trace(lambda q: 2 * sin(q[0]) / q[1], {"q": (2,)}))
    (2*sin(q0)/q1,)
    """
    sympy = _import_sympy()
    results = _run(program, _symbols(program.inputs, values or {}, sympy), translations(), sympy)
    if simplify:
        results = [_simplified(sympy.sympify(result), sympy) for result in results]
    outputs = []
    position = 0
    for output in program.outputs:
        flat = results[position : position + output.size]
        position += output.size
        if not output.shape:
            outputs.append(flat[0])
        elif len(output.shape) <= 2:
            rows, columns = (*output.shape, 1)[:2]
            outputs.append(sympy.ImmutableDenseMatrix(rows, columns, flat))
        else:
            outputs.append(sympy.ImmutableDenseNDimArray(flat, output.shape))
    return tuple(outputs)


def _import_sympy() -> Any:
    try:
        import sympy
    except ImportError:
        raise MissingExtraError("sympy", "sympy", "writing a program as formulas") from None
    return sympy


def _symbols(inputs: Sequence[Argument], values: Mapping[str, Any], sympy: Any) -> list[Any]:
    """Symbols of the inputs, one for each number, or what replaces them."""
    names = [a.name for a in inputs]
    for name in values:
        if name not in names:
            raise UnknownNameError("input", name, names)
    taken: set[str] = set()
    symbols = []
    for a in inputs:
        if a.name in values:
            given = np.array(values[a.name], dtype=object)
            if given.shape != a.shape:
                raise ArgumentError(f"the expressions for '{a.name}' have shape {given.shape}; expected {a.shape}")
            symbols += [sympy.sympify(value) for value in given.flat]
            continue
        for index in np.ndindex(a.shape):
            name = a.name + "_".join(map(str, index))
            while name in taken:
                name += "_"
            taken.add(name)
            symbols.append(sympy.Symbol(name, real=True))
    return symbols


@cache
def translations() -> dict[str, Callable[..., Any]]:
    """Return SymPy's functions for the operations of programs."""
    sympy = _import_sympy()
    return {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda x: -x,
        "power": sympy.Pow,
        "abs": sympy.Abs,
        "sqrt": sympy.sqrt,
        "exp": sympy.exp,
        "log": sympy.log,
        "sin": sympy.sin,
        "cos": sympy.cos,
        "tan": sympy.tan,
        "asin": sympy.asin,
        "acos": sympy.acos,
        "atan": sympy.atan,
        "atan2": sympy.atan2,
        "sinh": sympy.sinh,
        "cosh": sympy.cosh,
        "tanh": sympy.tanh,
        "sign": sympy.sign,
        "floor": sympy.floor,
        "minimum": sympy.Min,
        "maximum": sympy.Max,
        "less": sympy.Lt,
        "less_equal": sympy.Le,
        "equal": sympy.Eq,
        "both": sympy.And,
        "either": sympy.Or,
        "negated": sympy.Not,
        "where": lambda condition, a, b: sympy.Piecewise((a, condition), (b, True)),
    }


def _run(program: Program, inputs: Sequence[Any], translations: dict[str, Callable[..., Any]], sympy: Any) -> list[Any]:
    values: list[Any] = []
    for operation, *rest in program.instructions:
        if operation == "constant":
            values.append(_number(rest[0], sympy))
        elif operation == "input":
            values.append(inputs[rest[0]])
        elif operation == "item":
            values.append(values[rest[0]][rest[1]])
        elif operation == "call":
            arguments = [values[k] for k in rest[1:]]
            values.append(_run(program.programs[rest[0]], arguments, translations, sympy))
        else:
            values.append(translations[operation](*[values[k] for k in rest]))
    return [values[k] for k in program.results]


def _simplified(formula: Any, sympy: Any) -> Any:
    """Return a formula simplified in rational arithmetic, where equal terms cancel, with decimal coefficients."""
    exact = {number: sympy.Rational(f"{float(number):.{_DIGITS}g}") for number in formula.atoms(sympy.Float)}
    return _in_decimals(sympy.simplify(formula.xreplace(exact)), sympy)


def _in_decimals(formula: Any, sympy: Any) -> Any:
    """Return a formula with its fractions as decimals, but for those in exponents."""
    if formula.is_Rational:
        return formula if formula.is_Integer else sympy.Float(formula)
    if not formula.args:
        return formula
    if formula.is_Pow:
        return sympy.Pow(_in_decimals(formula.base, sympy), formula.exp)
    return formula.func(*(_in_decimals(part, sympy) for part in formula.args))


def _number(value: float, sympy: Any) -> Symbol:
    """Return whole numbers as whole, so that SymPy can simplify with them."""
    if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return sympy.Integer(int(value))
    return sympy.Float(value)
