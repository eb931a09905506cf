"""Functions: the decorator, use inside traces, targets, threads."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, TraceError
from chasles.engine import Scalar, sin, where


@ch.function(x=(3,), k=())
def spring(x, k):
    """Force of a spring."""
    return -k * x


def test_the_decorator_keeps_the_plain_function() -> None:
    assert spring.__doc__ == "Force of a spring."
    np.testing.assert_array_equal(spring.reference(np.ones(3), 2.0), [-2.0, -2.0, -2.0])
    np.testing.assert_array_equal(spring(np.ones((4, 3)), 2.0), np.full((4, 3), -2.0))
    assert spring.signature == "(3),()->(3)"
    assert "spring" in repr(spring)


def test_defaults_of_the_plain_function_hold_for_calls() -> None:
    @ch.function(x=(3,), k=())
    def spring(x: Any, k: Any = 2.0) -> Any:
        return -k * x

    assert str(inspect.signature(spring)) == "(x, k=2.0, *, out=None)"
    x = np.array([1.0, 2.0, 3.0])
    for same in (spring, pickle.loads(pickle.dumps(spring)), spring.astype("float32")):
        for _ in range(2):  # the second call is that of machine code
            np.testing.assert_array_equal(same(x), -2.0 * x)
            np.testing.assert_array_equal(same(x=[x, x]), [-2.0 * x, -2.0 * x])
            np.testing.assert_array_equal(same(x, k=5.0), -5.0 * x)
    np.testing.assert_array_equal(spring.jacobian(wrt="x")(x), -2.0 * np.eye(3))
    with pytest.raises(TypeError, match="misses x"):
        spring(k=1.0)


def test_shapes_in_another_order_than_the_arguments_are_refused() -> None:
    def spring(x: Any, k: Any) -> Any:
        return -k * x

    with pytest.raises(ArgumentError, match="takes x, k in this order"):
        ch.function(k=(), x=())(spring)


def test_functions_nest() -> None:
    @ch.function(x=(3,), outputs=["force", "energy"])
    def doubled(x):
        force = spring(x, 10.0) + spring(2.0 * x, 10.0)
        return force, -0.5 * (force @ x)

    force, energy = doubled([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(force, [-30.0, 0.0, 0.0])
    assert energy == 15.0
    assert [a.name for a in doubled.program.outputs] == ["force", "energy"]


def test_long_functions_stay_calls_and_short_ones_join() -> None:
    @ch.function(x=(3,))
    def long(x):
        for _ in range(150):
            x = sin(x) + 0.5 * x
        return x

    inside = ch.trace(lambda x: long(spring(x, 1.0)), {"x": (3,)}, name="outer")
    assert [program.name for program in inside.programs] == ["long"]
    x = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(ch.Function(inside)(x), long(spring(x, 1.0)))


def test_an_if_on_a_traced_value_says_what_to_write() -> None:
    @ch.function(x=())
    def clipped(x):
        return x if x > 0 else 0.0

    with pytest.raises(TraceError, match=r"where\(x > 0, a, b\)"):
        clipped(1.0)

    @ch.function(x=())
    def right(x):
        return where(x > 0, x, 0.0)

    assert [right(-1.0), right(2.0)] == [0.0, 2.0]


def test_values_of_another_trace_are_refused() -> None:
    leaked: list[Scalar] = []
    ch.trace(lambda x: leaked.append(x) or x, {"x": ()}, name="first")
    with pytest.raises(TraceError, match="another"):
        ch.trace(lambda x: x + leaked[0], {"x": ()}, name="second")


def test_batches_have_no_place_inside_a_trace() -> None:
    with pytest.raises(ArgumentError, match="no batch axes"):
        ch.trace(lambda x: spring(np.array([x, x]), 1.0), {"x": (3,)}, name="batched")


def test_derivatives_are_functions() -> None:
    derivative = spring.jacobian("result", "x")
    np.testing.assert_array_equal(derivative(np.ones((2, 3)), [1.0, 2.0]), [-np.eye(3), -2.0 * np.eye(3)])


@pytest.mark.parametrize("count", [0, -1, 1.5, "two"])
def test_thread_counts_must_be_positive(count: object) -> None:
    with pytest.raises(ArgumentError, match="positive whole number"):
        ch.set_threads(count)


def test_thread_counts_are_restored() -> None:
    before = ch.get_threads()
    with ch.threads(3):
        assert ch.get_threads() == 3
    with pytest.raises(ZeroDivisionError), ch.threads(3):
        divmod(1, 0)
    assert ch.get_threads() == before


@pytest.mark.parametrize(
    ("variable", "value", "expression", "expected"),
    [
        ("CHASLES_THREADS", "3", "ch.get_threads()", "3"),
        ("CHASLES_JIT", "0", "len(spring._runner._compiled)", "0"),
        ("CHASLES_JIT", "1", "len(spring._runner._compiled)", "1"),
    ],
)
def test_environment_variables(variable: str, value: str, expression: str, expected: str) -> None:
    script = (
        "import numpy as np, chasles as ch\n"
        "@ch.function(x=(3,), k=())\n"
        "def spring(x, k):\n    return -k * x\n"
        "assert (spring(np.ones((2, 3)), 2.0) == -2.0).all()\n"
        f"print({expression})\n"
    )
    environment = {**os.environ, variable: value}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True)
    assert result.stdout.decode().strip() == expected


def test_a_function_without_shapes_is_told_to_declare_them() -> None:
    def spring(x: Any, k: Any) -> Any:
        return -k * x

    with pytest.raises(ArgumentError, match=r"^spring needs the shapes .* @chasles\.function\(x=\(3,\), k=\(\)\)"):
        ch.function(spring)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="shapes of its arguments"):
        ch.function((3,))  # type: ignore[arg-type]
