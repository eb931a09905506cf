"""Tracing: what it takes, and what it says where a function cannot be traced."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError, ChaslesError, TraceError
from chasles.engine import Function, maximum, sin, trace, where
from chasles.engine.program.tracing import call_traced


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x if x > 0 else -x, r"where\(x > 0, a, b\)"),
        (lambda x: x > 0 and x < 1, "`&`"),
        (lambda x: max(x, 1.0), "where"),
        (lambda x: math.sin(x), "chasles.engine"),
        (lambda x: np.zeros(1).__setitem__(0, x), "dtype object"),
        (lambda x: [1, 2][x], "not known yet"),
        (lambda x: (x > 0) * 2.0, r"where\(condition, 1.0, 0.0\)"),
        (lambda x: 2.0 - (x > 0), r"where\(condition, 1.0, 0.0\)"),
        (lambda x: x + (x > 0), r"where\(condition, 1.0, 0.0\)"),
        (lambda x: x > 0, r"where\(condition, 1.0, 0.0\)"),
        (lambda x: x * np.array([x > 0]), r"where\(condition, 1.0, 0.0\)"),
        (lambda x: where((x > 0) == (x > 1), 1.0, 0.0), r"where\(condition, 1.0, 0.0\)"),
        (lambda x: x + np.array([None]), "NoneType"),
        (lambda x: "text", "str"),
        (lambda x: None, "NoneType"),
    ],
)
def test_what_cannot_be_traced_is_a_trace_error_that_says_what_to_write(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(TraceError, match=message) as raised:
        trace(function, {"x": ()})
    assert isinstance(raised.value, ChaslesError)
    assert isinstance(raised.value, TypeError)


def test_traced_values_do_not_cross_traces() -> None:
    def outer(x: Any) -> Any:
        trace(lambda y: x * y, {"y": ()})

    with pytest.raises(TraceError, match="argument of the inner function"):
        trace(outer, {"x": ()})
    kept: list[Any] = []
    trace(lambda x: kept.append(x) or x, {"x": ()})  # type: ignore[func-returns-value]
    with pytest.raises(TraceError, match="another trace"):
        trace(lambda y: kept[0], {"y": ()})


def test_shapes_and_names() -> None:
    program = trace(
        lambda A, x: (A @ x, x[0], 3.0), {"A": (2, 3), "x": (3,)}, name="product", outputs=["y", "first", "three"]
    )
    assert [(a.name, a.shape) for a in program.inputs] == [("A", (2, 3)), ("x", (3,))]
    assert [(a.name, a.shape) for a in program.outputs] == [("y", (2,)), ("first", ()), ("three", ())]
    assert program.name == "product"
    assert [a.name for a in trace(lambda x: (x, x), {"x": ()}).outputs] == ["result_0", "result_1"]
    point = namedtuple("point", "left right")
    assert [a.name for a in trace(lambda x: point(x, x), {"x": ()}).outputs] == ["left", "right"]
    with pytest.raises(ArgumentError, match="returned 2 outputs, but 1 names"):
        trace(lambda x: (x, x), {"x": ()}, outputs=["y"])


def test_mixed_lists_and_constants_are_outputs() -> None:
    program = trace(lambda x: np.array([[x, 0], [np.int64(1), np.float32(2.5)]]), {"x": ()})
    assert program.outputs[0].shape == (2, 2)
    assert program.replay([7.0]) == [7.0, 0.0, 1.0, 2.5]


def test_empty_arguments() -> None:
    program = trace(lambda q, x: (q, x + 1), {"q": (0,), "x": ()})
    assert program.outputs[0].shape == (0,)
    assert program.replay([1.0]) == [2.0]


def test_called_programs_stay_calls_or_join_the_caller() -> None:
    inner = trace(lambda x, y: (sin(x) * y, x + y), {"x": (), "y": ()}, name="inner")

    def outer(a: Any, *, inline: bool) -> Any:
        product, total = call_traced(inner, [a[0], 0.0], inline=inline)
        again, _ = call_traced(inner, [total, a[1]], inline=inline)
        return product + again

    called = trace(lambda a: outer(a, inline=False), {"a": (2,)})
    joined = trace(lambda a: outer(a, inline=True), {"a": (2,)})
    assert called.replay([0.3, 0.7]) == joined.replay([0.3, 0.7]) == [math.sin(0.3) * 0.7]
    assert joined.operations == {"sin": 1, "mul": 1}
    assert called.programs == (inner,)
    assert called.operations == {"sin": 2, "mul": 2, "add": 3}
    with pytest.raises(ArgumentError, match=r"input 'x' has shape \(\), not \(2,\).*no batch axes"):
        trace(lambda a: call_traced(inner, [a, 0.0], inline=True), {"a": (2,)})


def test_results_of_calls_fold_where_they_are_known() -> None:
    inner = trace(lambda x, y: np.array([0.0, x, x * y, x * y, y * y]), {"x": (), "y": ()}, name="inner")

    def outer(a: Any) -> Any:
        zero, same, product, again, _ = call_traced(inner, [a, 2.0 * a], inline=False)
        return zero * a + same + (product - again)

    program = trace(outer, {"a": ()})
    assert program.operation_count == 0  # a itself
    assert program.replay([3.0]) == [3.0]


def test_equal_calls_are_one_call() -> None:
    inner = trace(lambda x: sin(x), {"x": ()})
    program = trace(lambda x: call_traced(inner, [x], inline=False) * call_traced(inner, [x], inline=False), {"x": ()})
    assert program.operations == {"sin": 1, "mul": 1}


def test_conditions_combine() -> None:
    program = trace(lambda x: where((x > 0) & ~(x >= 2) | (x == -1) | (x != x), 1.0, 0.0), {"x": ()})
    assert [program.replay([x])[0] for x in (-2.0, -1.0, 0.0, 1.0, 2.0, math.nan)] == [0, 1, 0, 1, 0, 1]


def test_numpy_functions_take_traced_scalars() -> None:
    program = trace(
        lambda x, y: np.array([np.sin(x), np.float64(2.0) * x, np.hypot(3.0, 4.0) + y, np.arctan2(y, x)]),
        {"x": (), "y": ()},
        name="mixed",
    )
    np.testing.assert_allclose(program.replay([0.5, 2.0]), [np.sin(0.5), 1.0, 7.0, np.arctan2(2.0, 0.5)])
    with pytest.raises(TraceError, match=r"np.fmax knows no traced values.*maximum of chasles.engine"):
        trace(lambda x: np.fmax(x, 1.0), {"x": ()}, name="unknown")


@pytest.mark.parametrize("shape", [3, (1.5,), (-1,), "ab"])
def test_shapes_are_tuples_of_whole_numbers(shape: object) -> None:
    with pytest.raises(ArgumentError, match="shape of 'x' must be a tuple"):
        trace(lambda x: x, {"x": shape}, name="shaped")


def test_functions_take_numbers_lists_arrays_and_traced_scalars_in_any_mixture() -> None:
    assert isinstance(where(True, 1.0, 2.0), float)
    assert isinstance(maximum(1.0, 2.0), float)
    np.testing.assert_array_equal(where([True, False], [1.0, 2.0], 5.0), [1.0, 5.0])
    np.testing.assert_array_equal(maximum([1.0, 2.0], np.array([[0.0], [1.5]])), [[1.0, 2.0], [1.5, 2.0]])
    program = trace(lambda x: where(x[0] > 1.0, maximum(x, [0.5, 0.75]), 0.0), {"x": (2,)})
    traced = call_traced(program, [np.array([2.0, 0.25])], inline=True)
    np.testing.assert_array_equal(traced, [2.0, 0.75])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_function_called_inside_a_trace_takes_all_its_arguments(count: int) -> None:
    add = Function(trace(lambda x, y: x + y, {"x": (), "y": ()}, name="add"))
    with pytest.raises((TypeError, ValueError)):
        trace(lambda x: add(*[x] * count), {"x": ()})
