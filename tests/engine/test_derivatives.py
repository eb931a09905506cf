"""Derivatives against SymPy and closed forms; sparsity; calls; what holds at kinks and singular points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import (
    Function,
    Program,
    absolute,
    acos,
    asin,
    atan,
    atan2,
    cos,
    cosh,
    exp,
    floor,
    log,
    maximum,
    minimum,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trace,
    where,
)
from chasles.engine.derivatives import hessian_vector, jacobian, jvp, vjp
from chasles.engine.program.tracing import call_traced
from chasles.engine.targets.numpy import NumpyKernel

MODES = ("forward", "reverse")


def _slope(function: Callable[[Any], Any], mode: Any, points: Any) -> Any:
    return NumpyKernel(jacobian(trace(function, {"x": ()}), mode=mode))(points)


FORMULAS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "arithmetic": (lambda x, y: x * y - x / y + 3 * x - (-y), lambda x, y: x * y - x / y + 3 * x + y),
    "squares": (lambda x, y: (x * x) * (x * x) + y**3, lambda x, y: x**4 + y**3),
    "powers": (lambda x, y: x**2.5 + x**y + 2.0**y, lambda x, y: x ** sympy.Rational(5, 2) + x**y + 2**y),
    "roots": (lambda x, y: sqrt(x) * log(y) * exp(x), lambda x, y: sympy.sqrt(x) * sympy.log(y) * sympy.exp(x)),
    "circular": (lambda x, y: sin(x) * cos(y) * tan(x), lambda x, y: sympy.sin(x) * sympy.cos(y) * sympy.tan(x)),
    "inverse": (lambda x, y: asin(x) + acos(y) * atan(x), lambda x, y: sympy.asin(x) + sympy.acos(y) * sympy.atan(x)),
    "angle": (lambda x, y: atan2(x, y) + atan2(-y, x), lambda x, y: sympy.atan2(x, y) + sympy.atan2(-y, x)),
    "hyperbolic": (lambda x, y: sinh(x) / cosh(y) + tanh(x), lambda x, y: sympy.sinh(x) / sympy.cosh(y) +
    sympy.tanh(x)), "selections": (
        lambda x, y: minimum(x, y * y) * maximum(x, 0.2) + where(x > y, x * y, y * y) * absolute(y - x),
        lambda x, y: sympy.Min(x, y * y) * sympy.Max(x, 0.2)
        + sympy.Piecewise((x * y, x > y), (y * y, True)) * sympy.Abs(y - x),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_first_and_second_derivatives_agree_with_sympy(name: str) -> None:
    ours, theirs = FORMULAS[name]
    x, y = sympy.symbols("x y", real=True)
    program = trace(ours, {"x": (), "y": ()}, name="f")
    formula = theirs(x, y)
    first = [sympy.diff(formula, s) for s in (x, y)]
    second = [[sympy.diff(f, s) for s in (x, y)] for f in first]
    points = np.random.default_rng(5).uniform(0.1, 0.9, (20, 2))
    direction = np.random.default_rng(6).normal(size=2)
    for a, b in points:
        at = {x: sympy.Float(a, 30), y: sympy.Float(b, 30)}
        gradient = [float(f.subs(at).evalf(20)) for f in first]
        hessian = np.array([[float(f.subs(at).evalf(20)) for f in row] for row in second])
        for mode in MODES:
            computed = NumpyKernel(jacobian(program, mode=mode))(a, b)  # type: ignore[arg-type]
            np.testing.assert_allclose(computed, gradient, rtol=1e-11, atol=1e-12)
        product = NumpyKernel(hessian_vector(program))(a, b, *direction)
        np.testing.assert_allclose(product, hessian @ direction, rtol=1e-10, atol=1e-11)
        matrix = NumpyKernel(jacobian(jacobian(program)))(a, b)
        np.testing.assert_allclose(np.reshape(matrix, (2, 2)), hessian, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("mode", MODES)
def test_conventions_at_kinks_and_jumps(mode: str) -> None:
    x = np.array([-1.5, 0.0, 1.5])
    assert _slope(lambda x: absolute(x), mode, x).tolist() == [-1, 0, 1]
    assert _slope(lambda x: sign(x) + 0 * x, mode, x).tolist() == [0, 0, 0]
    assert _slope(lambda x: floor(x) * 2, mode, x).tolist() == [0, 0, 0]
    assert _slope(lambda x: minimum(2 * x, 3 * x), mode, x).tolist() == [3, 2, 2]
    assert _slope(lambda x: maximum(2 * x, 3 * x), mode, x).tolist() == [2, 2, 3]
    assert _slope(lambda x: maximum(x, 0.0), mode, x).tolist() == [0, 1, 1]
    assert _slope(lambda x: maximum(0.0, x), mode, x).tolist() == [0, 0, 1]
    assert _slope(lambda x: where(x >= 0, 5 * x, x), mode, x).tolist() == [1, 5, 5]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(_slope(lambda x: sqrt(x), mode, x), [np.nan, np.inf, 0.5 / np.sqrt(1.5)])


@pytest.mark.parametrize("mode", MODES)
def test_powers_with_computed_exponents_at_zero(mode: Any) -> None:
    kernel = NumpyKernel(jacobian(trace(lambda x, e: x**e, {"x": (), "e": ()}), mode=mode))
    d_x, d_e = kernel([0.0, 0.0, 0.0, 2.0], [0.0, 1.0, 2.0, 0.0])
    np.testing.assert_allclose(d_x, [0, 1, 0, 0])
    np.testing.assert_allclose(d_e, [0, 0, 0, np.log(2.0)])


@pytest.mark.parametrize("mode", MODES)
def test_the_branch_that_is_not_selected_leaks_no_nan(mode: str) -> None:
    x = np.array([-1.0, 0.0, 4.0])
    assert _slope(lambda x: where(x > 0, sqrt(x), 0.0), mode, x).tolist() == [0, 0, 0.25]
    assert _slope(lambda x: 3 * where(x > 0, log(x) * x, 0.0), mode, x).tolist()[:2] == [0, 0]
    assert _slope(lambda x: -where(x > 0, sqrt(x), 7.0) * 2 + x, mode, x).tolist() == [1, 1, 0.5]
    assert _slope(lambda x: sqrt(where(x > 0, x, 0.0)), mode, x).tolist() == [0, 0, 0.25]
    assert _slope(lambda x: where(x > 0, 1 / x, where(x < 0, -1 / x, 1.0)), mode, x).tolist() == [1, 0, -1 / 16]
    assert _slope(lambda x: where(x > 5, np.inf * (x * x), x), mode, x).tolist() == [1, 1, 1]
    twice = _slope(lambda x: where(x > 0, sqrt(x), 0.0) + where(x > 1, 2 * sqrt(x), 0.0), mode, x)
    assert twice.tolist() == [0, 0, 0.75]


@pytest.mark.parametrize("mode", MODES)
def test_guarded_functions_of_a_norm_are_smooth_at_zero(mode: Any) -> None:
    def sinc(v: Any) -> Any:
        squared = v @ v
        norm = sqrt(squared)
        near = squared < 1e-12
        return where(near, 1 - squared / 6, sin(norm) / norm) + where(near, 0.5, (1 - cos(norm)) / squared)

    program = trace(sinc, {"v": (3,)})
    gradient = NumpyKernel(jacobian(program, mode=mode))
    assert gradient(np.zeros(3)).tolist() == [0, 0, 0]
    v, t = np.array([0.2, -0.5, 0.7]), np.sqrt(0.78)
    slope = (np.cos(t) * t - np.sin(t)) / t**2 + (np.sin(t) * t - 2 * (1 - np.cos(t))) / t**3
    np.testing.assert_allclose(gradient(v), slope * v / t, rtol=1e-12)
    np.testing.assert_allclose(
        NumpyKernel(hessian_vector(program))(np.zeros(3), [3.0, 0.0, 6.0]), [-1.0, 0.0, -2.0], atol=1e-15
    )


def test_guards_hold_through_calls() -> None:
    root = trace(lambda x, y: (sqrt(x) * y, sqrt(x)), {"x": (), "y": ()}, name="root")

    def guarded(x: Any, y: Any) -> Any:
        product, _ = call_traced(root, [x, y], inline=False)
        return where(x > 0, product, 0.0)

    program = trace(guarded, {"x": (), "y": ()})
    x, y = np.array([0.0, 4.0]), np.array([3.0, 3.0])
    for mode in MODES:
        d_x, d_y = NumpyKernel(jacobian(program, mode=mode))(x, y)  # type: ignore[arg-type]
        assert d_x.tolist() == [0, 0.75]
        assert d_y.tolist() == [0, 2]
    d_x, d_y = NumpyKernel(vjp(program))(x, y, 2.0)
    assert d_x.tolist() == [0, 1.5]
    assert d_y.tolist() == [0, 4]
    assert NumpyKernel(jvp(program, "x"))(x, y, 2.0).tolist() == [0, 1.5]


def _tridiagonal(n: int) -> Program:
    def function(x: Any) -> Any:
        ahead, behind = [*x[1:], 0.0], [0.0, *x[:-1]]
        return np.array([sin(b) * c * a for a, b, c in zip(behind, x, ahead, strict=True)])

    return trace(function, {"x": (n,)}, name="band")


@pytest.mark.parametrize("mode", [*MODES, "auto"])
def test_only_the_band_of_a_banded_jacobian_is_computed(mode: Any) -> None:
    small, large = jacobian(_tridiagonal(50), mode=mode), jacobian(_tridiagonal(100), mode=mode)
    assert large.operation_count < 2.1 * small.operation_count
    zero = large.instructions.index(("constant", 0.0))
    entries = np.reshape([k != zero for k in large.results], (100, 100))
    assert not entries[np.abs(np.subtract.outer(np.arange(100), np.arange(100))) > 1].any()
    x = np.random.default_rng(7).normal(size=100)
    padded = np.array([0.0, *x, 0.0])
    diagonal = np.cos(x) * padded[2:] * padded[:-2]
    np.testing.assert_allclose(np.diag(NumpyKernel(large)(x)), diagonal, rtol=1e-13)


def test_the_cheaper_mode_is_chosen() -> None:
    many_to_one = trace(lambda x: exp(sin(x @ x)) * cos(x @ sin(x)), {"x": (30,)}, name="many_to_one")
    one_to_many = trace(lambda x: np.array([sin(k * exp(x)) for k in range(1, 31)]), {"x": ()}, name="one_to_many")
    for program in (many_to_one, one_to_many):
        counts = {mode: jacobian(program, mode=mode).operation_count for mode in MODES}  # type: ignore[arg-type]
        assert jacobian(program).operation_count == min(counts.values())
    gradient = jacobian(many_to_one).operation_count
    assert gradient < 4 * many_to_one.operation_count
    assert jacobian(many_to_one, mode="forward").operation_count > gradient


def _chain(length: int) -> Program:
    """Runge-Kutta's classical step of a spring and damper, whose dynamics are called, so many times."""
    acceleration = trace(lambda s, k: -k * sin(s[0]) - 0.1 * s[1], {"s": (2,), "k": ()}, name="acceleration")
    dynamics = trace(
        lambda s, k: np.array([s[1], call_traced(acceleration, [s, k], inline=False)]),
        {"s": (2,), "k": ()},
        name="dynamics",
    )

    def step(s: Any, k: Any) -> Any:
        h = 0.1
        for _ in range(length):
            k1 = call_traced(dynamics, [s, k], inline=False)
            k2 = call_traced(dynamics, [s + h / 2 * k1, k], inline=False)
            k3 = call_traced(dynamics, [s + h / 2 * k2, k], inline=False)
            k4 = call_traced(dynamics, [s + h * k3, k], inline=False)
            s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s

    return trace(step, {"s": (2,), "k": ()}, name="step")


def _inlined(program: Program) -> Program:
    """Return the same program with every call expanded."""

    def run(called: Program, values: list[Any]) -> list[Any]:
        from chasles.engine.program.folding import FOLDING

        computed: list[Any] = []
        for operation, *rest in called.instructions:
            if operation == "constant":
                computed.append(rest[0])
            elif operation == "input":
                computed.append(values[rest[0]])
            elif operation == "item":
                computed.append(computed[rest[0]][rest[1]])
            elif operation == "call":
                computed.append(run(called.programs[rest[0]], [computed[k] for k in rest[1:]]))
            else:
                computed.append(FOLDING[operation](*(computed[k] for k in rest)))
        return [computed[k] for k in called.results]

    return trace(lambda s, k: np.array(run(program, [*s, k])), {a.name: a.shape for a in program.inputs})


@pytest.mark.parametrize("length", [1, 3])
def test_derivatives_of_calls_are_calls_and_agree_with_inlined_ones(length: int) -> None:
    program = _chain(length)
    flat = _inlined(program)
    assert not flat.programs
    arguments = [np.array([0.7, -0.4]), 3.0]
    for mode in (*MODES, "auto"):
        called = jacobian(program, mode=mode)  # type: ignore[arg-type]
        assert len(called.programs) == 1
        assert called.programs[0].programs
        assert [i[0] for i in called.instructions].count("call") == 4 * length
        for ours, theirs in zip(NumpyKernel(called)(*arguments), NumpyKernel(jacobian(flat))(*arguments), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    d_s, d_k = NumpyKernel(jacobian(flat))(*arguments)
    forward = NumpyKernel(jvp(program))(*arguments, [1.0, 2.0], 3.0)
    np.testing.assert_allclose(forward, d_s @ [1.0, 2.0] + d_k * 3.0, rtol=1e-12)
    adjoint_s, adjoint_k = NumpyKernel(vjp(program))(*arguments, [1.0, 2.0])
    np.testing.assert_allclose(adjoint_s, [1.0, 2.0] @ d_s, rtol=1e-12)
    np.testing.assert_allclose(adjoint_k, [1.0, 2.0] @ d_k, rtol=1e-12)
    second = jacobian(jacobian(program, wrt="s"), wrt="k")
    expected = NumpyKernel(jacobian(jacobian(flat, wrt="s"), wrt="k"))(*arguments)
    np.testing.assert_allclose(NumpyKernel(second)(*arguments), expected, rtol=1e-11)


def test_programs_of_called_derivatives_stay_small() -> None:
    short, long = jacobian(_chain(10), mode="forward"), jacobian(_chain(20), mode="forward")
    assert len(long.programs) <= 2
    assert len(long.instructions) < 2.1 * len(short.instructions)


def test_known_derivatives_of_calls_are_folded() -> None:
    linear = trace(lambda x, y: (2 * x + y, x - 1, y * y), {"x": (), "y": ()}, name="linear")

    def function(a: Any) -> Any:
        first, second, _ = call_traced(linear, [a[0], a[1]], inline=False)
        return np.array([first, second])

    derivative = jacobian(trace(function, {"a": (2,)}))
    assert derivative.operation_count == 0
    assert NumpyKernel(derivative)([5.0, 6.0]).tolist() == [[2, 1], [1, 0]]


def test_names_and_shapes_of_a_jacobian() -> None:
    program = trace(lambda A, x, k: (A @ x, k * x[0]), {"A": (2, 3), "x": (3,), "k": ()}, name="f", outputs=["y", "z"])
    assert [(a.name, a.shape) for a in jacobian(program).outputs] == [
        ("d_y_d_A", (2, 2, 3)), ("d_y_d_x", (2, 3)), ("d_y_d_k", (2,)),
        ("d_z_d_A", (2, 3)), ("d_z_d_x", (3,)), ("d_z_d_k", ()),
    ]  # fmt: skip
    assert [a.name for a in jacobian(program, "z", "x").outputs] == ["d_z_d_x"]
    assert [a.name for a in jacobian(program, ["z"], ["k", "x"]).outputs] == ["d_z_d_k", "d_z_d_x"]
    assert jacobian(program).inputs == program.inputs
    assert Function(program).jacobian("z", "x").program == jacobian(program, "z", "x")
    A, x = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
    d_y_d_A, d_y_d_x, d_y_d_k, *_ = NumpyKernel(jacobian(program))(A, x, 5.0)
    np.testing.assert_array_equal(d_y_d_A, np.einsum("ik,j->ikj", np.eye(2), x))
    np.testing.assert_array_equal(d_y_d_x, A)
    np.testing.assert_array_equal(d_y_d_k, [0, 0])
    assert [(a.name, a.shape) for a in jvp(program, "x", values=True).outputs] == [
        ("y", (2,)), ("z", ()), ("d_y", (2,)), ("d_z", ()),
    ]  # fmt: skip
    assert [a.name for a in vjp(program, ["k", "A"]).outputs] == ["adjoint_k", "adjoint_A"]


def test_derivatives_of_derivatives_have_distinct_names() -> None:
    program = trace(lambda x, d_x: x * d_x, {"x": (), "d_x": ()}, name="f")
    twice = jvp(jvp(program))
    assert len({a.name for a in twice.inputs}) == len(twice.inputs) == 8


def test_programs_that_call_others_have_derivatives_of_any_order() -> None:
    def cube(x: Any) -> Any:
        y = x
        for _ in range(200):  # a long program stays a call
            y = sin(y) + x
        return np.array([x[0] * x[0] * x[0] * x[1], y[0]])

    inner = Function(trace(cube, {"x": (2,)}, name="inner"))
    outer = trace(lambda x: inner(x)[0], {"x": (2,)}, name="outer")
    third = NumpyKernel(jvp(jvp(jvp(outer, "x"), "x"), "x"))
    along = [1.0, 0.0]
    assert third([2.0, 5.0], along, along, along) == pytest.approx(30.0)  # of x³ y: 6 y


def test_a_hessian_needs_a_single_number() -> None:
    with pytest.raises(ArgumentError, match=r"f: a Hessian needs one output of shape \(\), not result \(2,\)"):
        hessian_vector(trace(lambda x: x, {"x": (2,)}, name="f"))


def test_unknown_names_list_what_exists() -> None:
    program = trace(lambda q, qd: q, {"q": (2,), "qd": (2,)}, outputs=["tau"])
    with pytest.raises(UnknownNameError, match=r"no input 'qdd'. Did you mean 'qd'\? Existing: q, qd"):
        jacobian(program, wrt="qdd")
    with pytest.raises(UnknownNameError, match="no output 'T'"):
        jacobian(program, "T")
    with pytest.raises(ArgumentError, match="mode must be"):
        jacobian(program, mode="backward")  # type: ignore[arg-type]
