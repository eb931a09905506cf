"""Validators: what they accept, what they refuse, and what they say."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, ArgumentTypeError, ChaslesError, UnknownNameError
from chasles.engine.validators import choice, real, reals, truth, whole_number


@pytest.mark.parametrize(
    "values",
    [
        *(1 + 2j, np.array([1.0 + 0.0j]), "1.0", ["1", "2"], b"3", None, [None], {}, object(), [[1.0], [1.0, 2.0]]),
        *(10**400, [10**400, 1], Decimal("1.5"), np.datetime64("2026-01-01"), np.ma.array([1.0], mask=[True])),
    ],
)
def test_what_is_no_array_of_real_numbers_is_refused_by_name(values: Any) -> None:
    with pytest.raises(ChaslesError, match="kp"):
        reals(values, "kp")


def test_a_traced_scalar_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="kp must hold numbers"):
        ch.function(x=(2,))(lambda x: reals(x, "kp"))([1.0, 2.0])


@pytest.mark.parametrize("values", [[1, 2], (1.0, 2.0), np.array([1, 2], np.float32), np.array([1, 2], object)])
def test_numbers_of_any_kind_come_back_as_doubles(values: Any) -> None:
    array = reals(values, "kp", (2,))
    assert array.dtype == np.float64
    assert array.tolist() == [1.0, 2.0]


def test_the_result_is_a_copy() -> None:
    given = np.ones(3)
    reals(given, "kp")[0] = 7.0
    reals(given, "kp", (2, 3), broadcast=True)[0, 0] = 7.0
    assert given.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("shape", "accepted", "refused"),
    [
        ((), [()], [(1,), (2, 2)]),
        ((3,), [(3,)], [(), (1,), (4,), (3, 3), (2, 3)]),
        ((..., 3), [(3,), (2, 3), (4, 2, 3), (0, 3)], [(), (3, 2), (1,)]),
        ((..., "k", 3), [(5, 3), (0, 3), (2, 5, 3)], [(3,), (), (3, 5)]),
        (("k", 4, 4), [(0, 4, 4), (7, 4, 4)], [(4, 4), (1, 1, 4, 4), (7, 3, 4)]),
    ],
)
def test_shapes(shape: Any, accepted: list[tuple[int, ...]], refused: list[tuple[int, ...]]) -> None:
    for given in accepted:
        assert reals(np.zeros(given), "q", shape).shape == given
    for given in refused:
        with pytest.raises(ArgumentError, match="q has shape"):
            reals(np.zeros(given), "q", shape)


def test_a_transposed_array_is_pointed_out() -> None:
    with pytest.raises(ArgumentError, match=r"expected \(\.\.\., 4, 3\); is it transposed\?"):
        reals(np.zeros((3, 4)), "q", (..., 4, 3))


def test_one_number_for_all() -> None:
    assert reals(2.0, "kp", (3,), broadcast=True).tolist() == [2.0, 2.0, 2.0]
    assert reals([[1.0], [2.0]], "kp", (2, 2), broadcast=True).tolist() == [[1.0, 1.0], [2.0, 2.0]]
    for wrong in ([1.0, 2.0], np.zeros((2, 3)), []):
        with pytest.raises(ArgumentError, match=r"expected \(3,\) or one number"):
            reals(wrong, "kp", (3,), broadcast=True)


@pytest.mark.parametrize(
    ("value", "bounds", "complaint"),
    [
        (np.nan, {}, "must be finite"),
        (np.inf, {}, "must be finite"),
        (np.nan, {"infinite": True}, "must be a number"),
        (0.0, {"above": 0.0}, "must be positive"),
        (1.0, {"above": 1.0}, "must be above 1"),
        (-1e-300, {"at_least": 0.0}, "must be at least 0"),
        (1.5, {"at_most": 1.0}, "must be at most 1"),
    ],
)
def test_bounds(value: float, bounds: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ArgumentError, match=rf"kp\[1, 0\] is {value!r}; it {complaint}"):
        reals([[1.0 + (bounds.get("above") == 1.0)], [value]], "kp", **bounds)
    with pytest.raises(ArgumentError, match=complaint):
        real(value, "kp", **bounds)


def test_bounds_themselves_are_allowed() -> None:
    assert real(0.0, "kp", at_least=0.0, at_most=0.0) == 0.0
    assert real(np.inf, "limit", above=0.0, infinite=True) == np.inf


@pytest.mark.parametrize("value", [True, 2.5, 0, 11, np.nan, np.inf, "3", None, 3 + 0j])
def test_no_whole_number(value: Any) -> None:
    with pytest.raises(ArgumentError, match="starts must be a whole number from 1 to 10"):
        whole_number(value, "starts", 1, 10)


@pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float64(3.0)])
def test_a_whole_number(value: Any) -> None:
    number = whole_number(value, "starts", 1, 10)
    assert number == 3
    assert type(number) is int


def test_truth_and_choice() -> None:
    assert truth(np.True_, "check") is True
    assert choice("body", "frame", ("space", "body")) == "body"
    for wrong in (1, "yes", None):
        with pytest.raises(ArgumentError, match="check must be True or False"):
            truth(wrong, "check")
    for name in ("Body", None, 3):
        with pytest.raises(UnknownNameError, match="there is no frame"):
            choice(name, "frame", ("space", "body"))
