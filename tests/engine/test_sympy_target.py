"""The SymPy target: formulas, their shapes and symbols, and their values against exact arithmetic."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import sympy
from tests.engine.random_programs import random_program, safe_inputs, true_values

from chasles.base.errors import MissingExtraError
from chasles.engine import Function, Program, cos, sin, trace
from chasles.engine.program.operations import OPERATIONS
from chasles.engine.program.tracing import call_traced
from chasles.engine.targets.sympy import lower


def test_formulas_are_exact() -> None:
    q0, q1, k = sympy.symbols("q0 q1 k", real=True)
    program = trace(lambda q, k: k * sin(q[0]) ** 2 + k * cos(q[0]) ** 2 + q[1] / 2, {"q": (2,), "k": ()})
    (formula,) = lower(program)
    assert sympy.simplify(formula - k - sympy.Float(0.5) * q1) == 0
    assert formula.free_symbols == {q0, q1, k}


def test_outputs_have_the_programs_shapes() -> None:
    def function(T: Any, x: Any) -> Any:
        return T @ T.T, T @ x, x[0], np.multiply.outer(T, x)

    product, vector, scalar, tensor = Function(trace(function, {"T": (2, 3), "x": (3,)})).to_sympy()
    assert isinstance(product, sympy.ImmutableMatrix)
    assert product.shape == (2, 2)
    assert vector.shape == (2, 1)
    assert tensor.shape == (2, 3, 3)
    assert scalar == sympy.Symbol("x0", real=True)
    T12 = sympy.Symbol("T1_2", real=True)
    assert tensor[1, 2, 0] == T12 * scalar
    assert product[1, 1].has(T12)


def test_simplified_formulas_are_those_of_the_book() -> None:
    q0, q1 = sympy.symbols("q0 q1", real=True)

    def gravity(q: Any) -> Any:  # the weight 0.3 m × 9.81 N of one rod, with products that rounding makes unequal
        together = 0.3 * 9.81 * cos(q[0]) * cos(q[1]) - (0.1 + 0.2) * 9.81 * sin(q[0]) * sin(q[1])
        return np.array([together, sin(q[0]) ** 2 + cos(q[0]) ** 2, 0.5 * sin(q[0]) / 2.0, abs(q[1]) ** 0.5])

    column = Function(trace(gravity, {"q": (2,)})).to_sympy(simplify=True)
    assert column.shape == (4, 1)
    assert column[0].is_Mul
    coefficient, cosine = column[0].as_coeff_Mul()
    assert cosine == sympy.cos(q0 + q1)
    assert float(coefficient) == pytest.approx(2.943, rel=1e-12)
    assert column[1] == 1
    assert column[2] == 0.25 * sympy.sin(q0)
    assert column[3].subs(q1, 4) == 2


def test_symbols_of_different_scalars_differ() -> None:
    program = trace(lambda q, q1, q11: q[11] + 2 * q1[1] + 3 * q11, {"q": (12,), "q1": (2,), "q11": ()})
    (formula,) = lower(program)
    assert len(formula.free_symbols) == 3


def test_calls_are_expanded() -> None:
    inner = trace(lambda x, y: (x * y, x + y), {"x": (), "y": ()})
    program = trace(lambda a: sum(call_traced(inner, [a[0], a[1]], inline=False)), {"a": (2,)})
    a0, a1 = sympy.symbols("a0 a1", real=True)
    assert lower(program) == (a0 * a1 + a0 + a1,)


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_right_values(seed: int) -> None:
    program = random_program(seed, 6, calls=seed % 3 == 0)
    a, b = lower(program)
    symbols = [*(sympy.Symbol(f"x{k}", real=True) for k in range(3)), sympy.Symbol("y", real=True)]
    x, y = safe_inputs(program, 1, seed)
    values = [*x[0], y[0]]
    at = {s: sympy.Float(float(v), 40) for s, v in zip(symbols, values, strict=True)}
    computed = [float(formula.subs(at).evalf(20)) for formula in (*a, b)]
    np.testing.assert_allclose(computed, true_values(program, values), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation(operation: str) -> None:
    from chasles.engine.program.program import Argument

    takes = OPERATIONS[operation].takes
    instructions: list[tuple[Any, ...]] = [("input", 0), ("input", 1), ("less", 0, 1), ("negated", 2)]
    pools = {"r": iter([0, 1]), "c": iter([2, 3])}
    instructions.append((operation, *(next(pools[kind]) for kind in takes)))
    if OPERATIONS[operation].gives == "c":
        instructions.append(("where", 4, 0, 1))
    program = Program(
        "f", (Argument("x", ()), Argument("y", ())), (Argument("z", ()),), tuple(instructions), (len(instructions) - 1,)
    )
    (formula,) = lower(program)
    x, y = sympy.symbols("x y", real=True)
    for point in ((0.3, 0.7), (0.7, 0.3), (0.5, 0.5)):
        value = float(formula.subs({x: sympy.Float(point[0], 30), y: sympy.Float(point[1], 30)}).evalf(20))
        assert value == pytest.approx(program.replay(list(point))[0], rel=1e-14)


def test_without_sympy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(MissingExtraError, match=r'pip install "\.\[sympy\]"'):
        Function(trace(lambda x: x, {"x": ()})).to_sympy()
