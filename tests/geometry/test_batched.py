"""The decorator that makes a formula for one sample a function over batches."""

from __future__ import annotations

import copy
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest
import sympy
from tests.engine.direct_calls import needs_direct_calls

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.engine import Function, sqrt, trace, where
from chasles.geometry import (
    batched,
    cross,
    exp_rotation,
    log_pose,
    rotate,
    rotate_by_quaternion,
    rotation_from_axis_angle,
)

SHAPES = [(), (1,), (3, 1, 2), (0,), (2, 0)]
X = np.array([1.0, 2.0, 3.0])


class Split(NamedTuple):
    """Length, direction and whether the first component is positive."""

    length: Any
    direction: Any
    is_positive: Any


@batched(x=(3,), dtypes={"is_positive": bool})
def split(x: Any, unit: float = 1.0) -> Split:
    """Take a vector apart."""
    length = sqrt(x @ x)
    return Split(length / unit, x / length, where(x[0] > 0.0, 1.0, 0.0))


@batched(x=(3,), y=(3,))
def combine(x: Any, factor: float = 1.0, y: Any = None, mode: str = "sum") -> Any:
    return x + factor * y if mode == "sum" else x * y * factor


@batched(x=(), outputs=("square", "sign"), dtypes={"sign": np.int8})
def square_and_sign(x: Any) -> Any:
    return x * x, where(x < 0.0, -1.0, 1.0)


@batched(x=())
def without_default(x: Any, mode: str) -> Any:
    return x if mode == "same" else -x


@pytest.mark.parametrize("shape", SHAPES)
def test_every_sample_is_computed_by_the_formula(shape):
    x, y = np.random.default_rng(0).normal(size=(2, *shape, 3))
    result = combine(x, y=y, factor=3.0)
    assert result.shape == (*shape, 3)
    np.testing.assert_allclose(result, x + 3.0 * y, rtol=1e-15, atol=1e-15)
    for index in np.ndindex(shape):
        np.testing.assert_allclose(result[index], combine.formula(x[index], 3.0, y[index]), rtol=1e-15, atol=1e-15)


def test_arguments_broadcast_and_may_be_lists_integers_and_views():
    assert combine(np.ones((4, 1, 3)), y=np.ones((5, 3))).shape == (4, 5, 3)
    assert np.array_equal(combine([1, 2, 3], y=[[1, 0, 0], [0, 1, 0]]), [[2, 2, 3], [1, 3, 3]])
    assert np.array_equal(combine(np.arange(12.0).reshape(3, 4).T[::2], y=X), np.arange(12.0).reshape(3, 4).T[::2] + X)
    assert combine(X.astype(np.float32), y=X).dtype == np.float64


def test_options_by_position_and_by_keyword():
    for _ in range(3):  # the first call compiles, later ones go straight to machine code
        assert np.array_equal(combine(X, 2.0, X), 3.0 * X)
        assert np.array_equal(combine(X, 2.0, X, "product"), 2.0 * X * X)
        assert np.array_equal(combine(X, y=X, mode="product"), X * X)
        assert np.array_equal(combine(X, mode="product", y=X, factor=2.0), 2.0 * X * X)
        assert np.array_equal(combine(y=X, x=2.0 * X), 3.0 * X)
        assert np.array_equal(combine(X, y=X), 2.0 * X)
        assert np.array_equal(combine([X, X], y=X), [2.0 * X, 2.0 * X])


def test_each_choice_of_options_is_a_program_of_its_own():
    a, b = combine.specialize(factor=2.0), combine.specialize(mode="product", factor=2.0)
    assert isinstance(a, Function)
    assert a is combine.specialize(factor=2.0)
    assert a.program != b.program
    assert combine.program == combine.specialize().program
    assert np.array_equal(combine.jacobian(wrt="y", factor=2.0)(X, X), 2.0 * np.eye(3))


def test_options_that_equal_each_other_are_told_apart_by_type():
    @batched(x=(3,))
    def power(x: Any, exponent: int = 2) -> Any:
        if type(exponent) is not int:
            raise ArgumentError(f"exponent must be a whole number, not {exponent!r}")
        return x**exponent

    for exponent in (1, 3):
        np.testing.assert_allclose(power(X, exponent=exponent), X**exponent, rtol=1e-15)
        assert power.specialize(exponent=exponent) is power.specialize(exponent=exponent)
    for equal in (3.0, True, np.float64(3.0)):
        with pytest.raises(ArgumentError, match="must be a whole number"):
            power(X, exponent=equal)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((), {}, r"combine\(x, factor, y, mode\) misses x, y"),
        ((X,), {}, r"combine\(x, factor, y, mode\) misses y"),
        ((X, 1.0, X, "sum", 5), {}, r"combine\(x, factor, y, mode\) takes at most 4 arguments, not 5"),
        ((X, 1.0, X), {"factor": 2.0}, r"combine\(x, factor, y, mode\) is given factor twice"),
        ((X,), {"y": X, "scale": 2.0}, r"no argument of combine\(x, factor, y, mode\) 'scale'"),
    ],
)
def test_wrong_calls_are_refused_with_the_usage(arguments, keywords, message):
    with pytest.raises(TypeError, match=message):
        combine(*arguments, **keywords)


def test_options_must_be_given_and_be_plain_values():
    with pytest.raises(TypeError, match=r"without_default\(x, mode\) misses mode"):
        without_default(1.0)
    with pytest.raises(TypeError, match="misses mode"):
        without_default.specialize()
    assert without_default(1.0, "other") == -1.0
    assert without_default(1.0, mode="same") == 1.0
    with pytest.raises(ArgumentError, match="options must be plain values"):
        combine(X, np.ones(3), X)
    with pytest.raises(TypeError, match=r"no argument of combine.*'speed'"):
        combine.specialize(speed=1)


@pytest.mark.parametrize("x", [np.ones(4), np.ones((3, 2)), 1.0, np.ones(0)])
def test_wrong_shapes_are_refused_by_name(x):
    with pytest.raises(ValueError, match="combine"):
        combine(x, y=X)


@pytest.mark.parametrize("x", ["abc", None, X + 1j])
def test_what_is_no_number_is_refused(x):
    with pytest.raises(TypeError):
        combine(x, y=X)


@pytest.mark.parametrize("shape", SHAPES)
def test_named_results_and_their_types(shape):
    x = np.random.default_rng(0).normal(size=(*shape, 3))
    result = split(x, unit=2.0)
    assert type(result) is Split
    np.testing.assert_allclose(result.length, np.linalg.norm(x, axis=-1) / 2.0, rtol=1e-15)
    assert result.direction.shape == x.shape
    assert result.is_positive.dtype == bool
    assert np.array_equal(result.is_positive, x[..., 0] > 0.0)


def test_plain_tuples_of_results():
    square, sign = square_and_sign([-2.0, 3.0])
    assert np.array_equal(square, [4.0, 9.0])
    assert np.array_equal(sign, [-1, 1])
    assert sign.dtype == np.int8
    assert square_and_sign.program.outputs[0].name == "square"


def test_named_results_need_no_annotation_that_can_be_looked_up():
    class Halves(NamedTuple):
        left: Any
        right: Any

    @batched(x=(2,))
    def halves(x: NotToBeFound) -> Halves:  # noqa: F821
        return Halves(x[0], x[1])

    result = halves([[1.0, 2.0], [3.0, 4.0]])
    assert type(result) is Halves
    assert np.array_equal(result.right, [2.0, 4.0])
    assert [output.name for output in halves.program.outputs] == ["left", "right"]


def test_wrong_declarations_are_refused():
    with pytest.raises(ArgumentError, match=r"<lambda>\(x\) has no argument y"):
        batched(y=(3,))(lambda x: x)
    with pytest.raises(ArgumentError, match=r"the shape of 'x' must be a tuple .* not 3"):
        batched(x=3)(lambda x: x)


def test_results_go_where_they_are_wanted():
    out = np.full(3, np.nan)
    for _ in range(2):
        assert combine(X, y=X, out=out) is out
    assert np.array_equal(out, 2.0 * X)
    assert combine(X, 2.0, X, out=out) is out
    assert np.array_equal(out, 3.0 * X)
    length, direction, flag = np.empty(2), np.empty((2, 3)), np.empty(2)
    result = split([X, -X], out=(length, direction, flag))
    assert result.length is length
    assert result.direction is direction
    assert np.array_equal(result.is_positive, [True, False])
    with pytest.raises(ValueError, match="combine"):
        combine(X, y=X, out=np.empty(4))


def test_check_examines_rotations():
    turned = rotate(np.eye(3), X, check=True)
    assert np.array_equal(turned, X)
    assert np.array_equal(rotate(np.eye(3), X, check=True, out=np.empty(3)), X)
    batch = np.tile(np.eye(3), (2, 3, 1, 1))
    batch[1, 2] *= 1.0 + 1e-6
    with pytest.raises(
        ArgumentError, match=r"rotate: R_ab is not a rotation matrix: sample \(1, 2\) of it is 1.73e-06"
    ):
        rotate(batch, X, check=True)
    with pytest.raises(ArgumentError, match=r"it is 2 away from one .*`project_rotation`"):
        rotate(np.diag([1.0, 1.0, -1.0]), X, check=True)
    assert np.isfinite(rotate(batch, X)).all()


def test_check_examines_unit_vectors_lets_nan_pass_and_takes_empty_batches():
    with pytest.raises(ArgumentError, match=r"axis is not a unit vector.*`normalize`"):
        rotation_from_axis_angle([0.0, 0.0, 2.0], 1.0, check=True)
    batch = np.stack([np.eye(3), np.full((3, 3), np.nan)])
    assert np.array_equal(np.isnan(rotate(batch, X, check=True)).all(axis=1), [False, True])
    assert rotate(np.empty((0, 3, 3)), X, check=True).shape == (0, 3)
    assert np.array_equal(combine(X, y=X, check=True), 2.0 * X)  # of any array, nothing is demanded


@pytest.mark.parametrize("R", [np.eye(2), np.eye(4), 1.0, np.ones((3, 0)), [[1.0, 0.0], [0.0]], "abc", 1j * np.eye(3)])
def test_check_leaves_what_is_no_array_of_this_shape_to_the_call(R):
    with pytest.raises((TypeError, ValueError), match="rotate"):
        rotate(R, X, check=True)


@pytest.mark.parametrize("entry", [np.inf, -np.inf, 1e300])
def test_check_refuses_infinite_and_huge_entries(entry):
    R, T, q = np.eye(3), np.eye(4), np.array([1.0, 0.0, 0.0, 0.0])
    R[0, 1] = T[0, 3] = q[2] = entry
    with pytest.raises(ArgumentError, match="rotate: R_ab is not a rotation matrix"):
        rotate(R, X, check=True)
    with pytest.raises(ArgumentError, match=r"q_ab is not a unit quaternion: it is inf away"):
        rotate_by_quaternion(q, X, check=True)
    if np.isinf(entry):
        with pytest.raises(ArgumentError, match=r"T is not a pose: it is inf away"):
            log_pose(T, check=True)
    else:
        assert log_pose(T, check=True)[3] == entry


def test_nan_stays_in_its_sample_whatever_the_size_of_the_batch():
    for count in (2, 7, 8, 9, 17, 100):
        x = np.ones((count, 3))
        x[count // 2, 1] = np.nan
        result = split(x)
        assert np.array_equal(np.isnan(result.length), np.arange(count) == count // 2)
        assert np.array_equal(np.isnan(result.direction).any(axis=1), np.arange(count) == count // 2)


def test_part_of_a_traced_function():
    @ch.function(v=(3,), p=(3,))
    def turned(v: Any, p: Any) -> Any:
        return rotate(exp_rotation(v), p)

    v = np.array([0.3, -1.0, 0.4])
    np.testing.assert_allclose(turned(v, X), rotate(exp_rotation(v), X), rtol=1e-15, atol=1e-15)
    # d(R p)/dv = -[R p] J_left, at the null vector -[p]
    np.testing.assert_allclose(turned.jacobian(wrt="v")(np.zeros(3), X) @ [1.0, 0.0, 0.0], np.cross([1.0, 0.0, 0.0], X))


def test_known_arguments_fold_away_in_a_trace():
    program = trace(lambda p: rotate(np.eye(3), p), {"p": (3,)}, name="unturned")
    assert program.operation_count == 0


def test_batches_options_and_names_in_a_traced_function():
    program = trace(lambda p: combine(p, y=X, factor=2.0), {"p": (4, 3)}, name="rows")
    p = np.arange(12.0).reshape(4, 3)
    assert np.array_equal(Function(program)(p), p + 2.0 * X)

    def first_lengths(p: Any) -> Any:
        parts = split(p, unit=2.0)
        assert type(parts) is Split
        return parts.length + parts.is_positive

    lengths = Function(trace(first_lengths, {"p": (2, 3)}, name="lengths"))
    assert np.array_equal(lengths([[3.0, 4.0, 0.0], [-6.0, 8.0, 0.0]]), [3.5, 5.0])


def test_symbols_give_formulas_over_batches():
    a, b = sympy.symbols("a b", positive=True)
    result = combine([[a, 0, 0], [0, b, 0]], y=[1, a, b], factor=0.5)
    assert result.shape == (2, 3)
    assert list(result[1]) == [0.5, b + a / 2, b / 2]
    parts = split([a, 0, 0])
    assert type(parts) is Split
    assert parts.length == a
    square, sign = square_and_sign(-a)
    assert (square, sign) == (a**2, -1)
    assert cross(np.array([a, 0, 0]), np.ones((2, 1, 3))).shape == (2, 1, 3)


def test_symbols_go_without_check_and_out():
    a = sympy.Symbol("a")
    for keywords in ({"check": True}, {"out": np.empty(3)}):
        with pytest.raises(ArgumentError, match=r"combine: .*without `check` and `out`"):
            combine([a, 0, 0], y=X, **keywords)
    with pytest.raises(ArgumentError, match=r"combine\(x, factor, y, mode\): x has shape \(2,\); expected \(..., 3\)"):
        combine([a, 0], y=X)


def test_without_machine_code(monkeypatch):
    monkeypatch.setenv("CHASLES_JIT", "0")

    @batched(x=(3,), dtypes={"is_positive": bool})
    def interpreted(x: Any, unit: float = 1.0) -> Split:
        return split.formula(x, unit)

    batch = np.random.default_rng(0).normal(size=(5, 3))
    for x in (batch, batch[0]):
        for ours, native in zip(interpreted(x, unit=2.0), split(x, unit=2.0), strict=True):
            assert np.shape(ours) == np.shape(native)
            assert np.asarray(ours).dtype == np.asarray(native).dtype
            np.testing.assert_allclose(ours, native, rtol=1e-15)


def test_functions_are_found_again_by_name():
    cross(X, X)  # also when they are compiled
    assert pickle.loads(pickle.dumps(cross)) is cross
    assert copy.deepcopy(cross) is cross
    assert (split.__name__, split.__doc__, split.__module__) == ("split", "Take a vector apart.", __name__)
    assert repr(combine) == "<combine(x, factor, y, mode) over batches>"
    assert split.formula is split.__wrapped__


@needs_direct_calls
def test_batches_of_one_option_leave_direct_calls_to_the_others() -> None:
    @batched(v=(3,))
    def scaled(v: Any, factor: float) -> Any:
        return factor * v

    for _ in range(50):  # each falls through to the general call, and must not use up a place among the direct ones
        scaled(np.ones((4, 3)), factor=2.0)
    scaled(np.ones(3), factor=3.0)
    assert scaled._dispatcher._table[0] == 2


EXPORTED = [getattr(ch.geometry, name) for name in ch.geometry.__all__]
NAMED_TUPLES = [value for value in EXPORTED if hasattr(value, "_fields")]


@pytest.mark.parametrize("kind", NAMED_TUPLES)
def test_results_of_arrays_can_be_compared(kind: Any) -> None:
    def made(last: float) -> Any:
        return kind(*[np.ones((2, 3))] * (len(kind._fields) - 1), np.array([np.nan, last]))

    assert made(1.0) == made(1.0)
    assert made(1.0) != made(2.0)
    assert made(1.0) != kind(*[np.ones(3)] * len(kind._fields))
