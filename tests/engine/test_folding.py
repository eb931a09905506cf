"""What tracing folds, and that it folds nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chasles.engine import (
    Program,
    absolute,
    acos,
    asin,
    atan,
    cos,
    exp,
    maximum,
    minimum,
    sign,
    sin,
    sqrt,
    trace,
    where,
)


def _traced(function: Callable[..., Any]) -> Program:
    return trace(function, {"x": (), "y": ()}, name="f")


def _formula(function: Callable[..., Any]) -> list[str]:
    return [line.split(" = ")[1] for line in str(_traced(function)).splitlines()[1:-1]]


@pytest.mark.parametrize(
    ("function", "same"),
    [
        (lambda x, y: x + 0, lambda x, y: x),
        (lambda x, y: 0 + x, lambda x, y: x),
        (lambda x, y: x - 0.0, lambda x, y: x),
        (lambda x, y: 0 - x, lambda x, y: -x),
        (lambda x, y: x * 0, lambda x, y: 0.0),
        (lambda x, y: 1 * x, lambda x, y: x),
        (lambda x, y: x * -1, lambda x, y: -x),
        (lambda x, y: x / 1, lambda x, y: x),
        (lambda x, y: 0 / x, lambda x, y: 0.0),
        (lambda x, y: x / 4, lambda x, y: x * 0.25),
        (lambda x, y: x - x, lambda x, y: 0.0),
        (lambda x, y: x + y, lambda x, y: y + x),
        (lambda x, y: x * y, lambda x, y: y * x),
        (lambda x, y: -(x * -1), lambda x, y: x),
        (lambda x, y: -(x - y), lambda x, y: y - x),
        (lambda x, y: x + (-y), lambda x, y: x - y),
        (lambda x, y: -x - y, lambda x, y: -(x + y)),
        (lambda x, y: (-x) * (-y), lambda x, y: x * y),
        (lambda x, y: (-x) / y, lambda x, y: -(x / y)),
        (lambda x, y: 2 * (3 * x), lambda x, y: 6 * x),
        (lambda x, y: 2 * (x / 2), lambda x, y: x),
        (lambda x, y: sin(-x), lambda x, y: -sin(x)),
        (lambda x, y: cos(-x), lambda x, y: cos(x)),
        (lambda x, y: asin(-x) + atan(-y), lambda x, y: -(asin(x) + atan(y))),
        (lambda x, y: absolute(-x), lambda x, y: abs(x)),
        (lambda x, y: sign(-x), lambda x, y: -sign(x)),
        (lambda x, y: x**0, lambda x, y: 1.0),
        (lambda x, y: x**2, lambda x, y: x * x),
        (lambda x, y: x**-1, lambda x, y: 1 / x),
        (lambda x, y: x**0.5, lambda x, y: sqrt(x)),
        (lambda x, y: minimum(x, x), lambda x, y: x),
        (lambda x, y: where(x > 0, y, y), lambda x, y: y),
        (lambda x, y: where(x > 0, 2.0, 2.0), lambda x, y: 2.0),
        (lambda x, y: where((x < x) | (y > y), x, y), lambda x, y: y),
        (lambda x, y: where(np.True_, x, y), lambda x, y: x),
        (lambda x, y: sin(0.0) * x + cos(0.0) * y, lambda x, y: y),
        (lambda x, y: x > y, None),
    ],
)
def test_equal_formulas_become_equal_programs(function: Callable[..., Any], same: Callable[..., Any] | None) -> None:
    if same is None:
        function, same = lambda x, y: where(x > y, 1, 2), lambda x, y: where(y < x, 1.0, 2.0)
    assert _traced(function) == _traced(same)


def test_equal_subexpressions_are_computed_once() -> None:
    assert _traced(lambda x, y: sin(x + y) * exp(sin(y + x))).operations == {"add": 1, "sin": 1, "exp": 1, "mul": 1}


def test_expressions_with_nan_are_computed_once_too() -> None:
    def guarded(x: Any, y: Any) -> Any:
        return where(x > 0.0, y, np.nan) + where(x > 0.0, y, float("nan"))

    assert trace(guarded, {"x": (), "y": ()}).operations["where"] == 1


def test_powers_take_few_products() -> None:
    assert _traced(lambda x, y: x**16).operation_count == 4
    assert _traced(lambda x, y: x**7).operation_count == 4
    assert _traced(lambda x, y: x**2.5).operations == {"power": 1}
    assert _traced(lambda x, y: x**100).operations == {"power": 1}
    assert _traced(lambda x, y: x**y).operations == {"power": 1}
    assert _traced(lambda x, y: x**math.inf).operations == {"power": 1}
    assert _traced(lambda x, y: x**math.nan).operations == {"power": 1}


def test_what_could_be_infinite_or_nan_in_a_known_way_is_kept() -> None:
    assert _formula(lambda x, y: x / 0) == ["x", "0.0", "%0 / %1"]
    assert _traced(lambda x, y: x <= x if False else where(x <= x, 1.0, 2.0)).operation_count == 2  # false for NaN


def test_rotation_by_a_quarter_turn_is_a_permutation() -> None:
    def turned(x: Any, y: Any) -> Any:
        return np.array([[0.0, -1.0], [1.0, 0.0]]) @ np.array([x, y])

    assert _traced(turned).operations == {"neg": 1}


def test_python_remainder_and_floor_division() -> None:
    program = _traced(lambda x, y: (x % y) + 10 * (x // y))
    for x, y in [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0)]:
        assert program.replay([x, y]) == [x % y + 10 * (x // y)]


def test_numpy_functions_work_on_object_arrays_of_scalars() -> None:
    program = trace(lambda q: np.sin(q) @ np.arctan2(q, np.exp(q)), {"q": (2,)})
    expected = math.sin(0.3) * math.atan2(0.3, math.exp(0.3)) + math.sin(0.7) * math.atan2(0.7, math.exp(0.7))
    assert program.replay([0.3, 0.7]) == pytest.approx([expected], rel=1e-15)


def test_functions_take_floats_arrays_and_scalars_alike() -> None:
    def distance(p: Any, q: Any) -> Any:
        return maximum(sqrt((p - q) @ (p - q)), 0.1)

    p, q = np.array([1.0, 2.0]), np.array([4.0, 6.0])
    assert distance(p, q) == 5.0
    assert trace(distance, {"p": (2,), "q": (2,)}).replay([*p, *q]) == [5.0]
    assert isinstance(acos(0.5), float)
    np.testing.assert_array_equal(where(np.array([True, False]), 1.0, [2.0, 3.0]), [1.0, 3.0])


def test_wrong_number_of_operands() -> None:
    with pytest.raises(TypeError, match=r"sin\(\) takes 1 arguments, not 2"):
        sin(1.0, 2.0)
