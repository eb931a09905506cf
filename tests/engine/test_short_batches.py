"""Short batches go straight to machine code: the numbers, arrays and errors of the general call."""

from __future__ import annotations

import gc
import sys
from collections import namedtuple

import numpy as np
import pytest
from tests.engine.direct_calls import needs_direct_calls

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program, sin, trace
from chasles.engine.running import aside

COUNT = 37


def mixed() -> Program:
    def compute(x, A, k):
        y = A @ x + k
        return y, np.outer(sin(x), y), k * (x @ x)

    return trace(compute, {"x": (3,), "A": (3, 3), "k": ()}, name="mixed", outputs=["y", "P", "e"])


def arguments(*batch: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 3, 3)), rng.normal(size=batch)


class Called:
    """A function and how often its general call was needed."""

    def __init__(self, dtype: str = "float64", result: type | None = None) -> None:
        self.function = Function(mixed(), dtype=dtype, result=result)
        self.times = 0
        general = self.function.general_call

        def counted(*values: object, **keywords: object) -> object:
            self.times += 1
            return general(*values, **keywords)

        self.general = general
        self.direct = self.function._runner.direct_call(counted)


BATCHES = [(1,), (7,), (8,), (COUNT,), (2, 3), (3, 1, 4), (1, 2, 1, 3)]


@needs_direct_calls
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", BATCHES)
def test_batches_equal_the_general_call_bitwise(batch: tuple[int, ...], dtype: str) -> None:
    called = Called(dtype)
    values = tuple(np.asarray(a, dtype=dtype) for a in arguments(*batch))
    mixes = [
        values,
        (values[0][(0,) * len(batch)].copy(), *values[1:]),
        (values[0], values[1][(0,) * len(batch)], values[2]),
    ]
    if dtype == "float64":
        mixes += [(*values[:2], 1.5), (*values[:2], np.float64(1.5))]
    called.general(*values)
    aside.wait()  # for the code for batches
    for given in mixes:
        expected = called.general(*given)
        outs = tuple(np.empty_like(part) for part in expected)
        for found in (called.direct(*given), called.direct(*given, out=outs)):
            assert [part.shape for part in found] == [part.shape for part in expected]
            for part, truth in zip(found, expected, strict=True):
                np.testing.assert_array_equal(part, truth)
        assert all(a is b for a, b in zip(found, outs, strict=True))
    assert called.times == 0


@needs_direct_calls
def test_single_samples_with_out() -> None:
    called = Called()
    x, A, _ = arguments()
    expected = called.general(x, A, 0.5)
    outs = (np.empty(3), np.empty((3, 3)), np.empty(()))
    found = called.direct(x, A, 0.5, out=outs)
    assert called.times == 0
    for part, truth in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, truth)


@needs_direct_calls
def test_named_tuples_are_given_and_taken() -> None:
    Parts = namedtuple("Parts", "y P e")
    called = Called(result=Parts)
    values = arguments(COUNT)
    called.general(*values)
    aside.wait()  # for the code for batches
    found = called.direct(*values)
    again = called.direct(*values, out=Parts(*(np.empty_like(part) for part in found)))
    assert isinstance(found, Parts)
    assert isinstance(again, Parts)
    assert called.times == 0
    for a, b in zip(found, again, strict=True):
        np.testing.assert_array_equal(a, b)


def test_results_do_not_depend_on_batch_layout_threads_or_path() -> None:
    called = Called()
    x, A, k = arguments(203)
    singles = [called.direct(x[i], A[i], float(k[i])) for i in range(203)]
    expected = [np.array(column) for column in zip(*singles, strict=True)]
    ways = {
        "direct": lambda *values: called.direct(*values),
        "general": lambda *values: called.general(*values),
        "in parts": lambda *values: [
            np.concatenate(parts)
            for parts in zip(*(called.direct(*(v[i : i + 9] for v in values)) for i in range(0, 203, 9)), strict=True)
        ],
    }
    layouts = {
        "plain": (x, A, k),
        "fortran": (np.asfortranarray(x), np.asfortranarray(A), k),
        "strided": (np.repeat(x, 2, axis=0)[::2], np.repeat(A, 3, axis=2)[..., ::3], np.repeat(k, 2)[::2]),
        "swapped": (x.astype(">f8"), A, k),
    }
    for count in (1, 3):
        with ch.threads(count):
            for way, call in ways.items():
                for name, values in layouts.items():
                    for result, truth in zip(call(*values), expected, strict=True):
                        np.testing.assert_array_equal(result, truth, err_msg=f"{way}, {name}, {count} threads")


def test_what_is_unusual_is_left_to_the_general_call() -> None:
    called = Called()
    x, A, k = arguments(COUNT)
    unusual = [
        (x.tolist(), A, k),
        (x, A, k.astype(np.float32)),
        (x[::-1], A, k),
        (x[:, ::-1], A, k),
        (x.view(np.recarray) if False else np.ma.masked_array(x), A, k),
        (x[:1], A, k),  # broadcasts
        (x[:0], A[:0], k[:0]),
        (x, A, 1),
        (np.broadcast_to(x[0], x.shape), A, k),
    ]
    for times, values in enumerate(unusual, 1):
        for result, truth in zip(called.direct(*values), called.general(*values), strict=True):
            np.testing.assert_array_equal(result, truth)
        assert called.times == times


@pytest.mark.parametrize(
    "change",
    [
        lambda out: (out[0][::-1], *out[1:]),
        lambda out: (out[0].astype(np.float32), *out[1:]),
        lambda out: list(out),
        lambda out: out[:2],
        lambda out: (out[0][:-1], *out[1:]),
        lambda out: (out[0], None, out[2]),
        lambda out: (out[0], out[1], np.empty((COUNT, 1))),
    ],
)
def test_unusual_out_is_answered_as_by_the_general_call(change: object) -> None:
    called = Called()
    values = arguments(COUNT)
    expected = called.general(*values)

    def outcome(call: object) -> object:
        out = change(tuple(np.zeros_like(part) for part in expected))
        try:
            return [np.array(part) for part in call(*values, out=out)]
        except Exception as error:
            return type(error), str(error)

    found, truth = outcome(called.direct), outcome(called.general)
    assert called.times == 1
    if isinstance(truth, tuple):
        assert found == truth
    else:
        for a, b in zip(found, truth, strict=True):
            np.testing.assert_array_equal(a, b)


def test_arrays_that_cannot_be_written_stay_as_they_are() -> None:
    called = Called()
    values = arguments(COUNT)
    out = tuple(np.zeros_like(part) for part in called.general(*values))
    out[1].flags.writeable = False
    with pytest.raises((ValueError, ArgumentError)):
        called.direct(*values, out=out)
    assert not out[1].any()


def test_results_over_arguments_come_out_right() -> None:
    double = Function(trace(lambda x: np.array([x[1], x[0] + x[1]]), {"x": (2,)}, name="double"))
    double(np.ones(2))
    memory = np.random.default_rng(0).normal(size=(50, 2))
    for start in (0, 1, 5):
        expected = double(memory[start : start + 40].copy())
        shared = memory.copy()
        double(shared[start : start + 40], out=shared[5:45])
        np.testing.assert_array_equal(shared[5:45], expected)


def test_results_over_each_other_are_refused() -> None:
    called = Called()
    values = arguments(9)
    block = np.zeros(9 * 9)
    out = (block[:27].reshape(9, 3), block.reshape(9, 3, 3), np.zeros(9))
    with pytest.raises(ArgumentError, match="share memory"):
        called.direct(*values, out=out)


def test_wrong_names_and_numbers_of_arguments_are_answered() -> None:
    called = Called()
    values = arguments(9)
    with pytest.raises(TypeError, match="outt"):
        called.direct(*values, outt=None)
    with pytest.raises(TypeError, match="3 arguments, not 2"):
        called.direct(*values[:2])


def test_references_do_not_leak() -> None:
    called = Called()
    values = arguments(9)
    outs = tuple(np.empty_like(part) for part in called.direct(*values))
    watched = [*values, *outs, values[0].dtype, outs]

    def counts() -> list[int]:
        return [sys.getrefcount(thing) for thing in watched]

    gc.collect()  # what compiling left
    before = counts()
    for _ in range(200):
        called.direct(*values)
        called.direct(*values, out=outs)
    after = counts()
    assert all(abs(a - b) < 20 for a, b in zip(before, after, strict=True))


def test_keywords_choose_and_out_is_passed_on() -> None:
    arm = ch.load("panda")
    q = np.random.default_rng(0).uniform(-1, 1, (20, 7))
    expected = {frame: arm.jacobian(q, frame=frame) for frame in ("body", "space")}
    out = np.empty((20, 6, 7))
    for frame, J in expected.items():
        for keywords in ({"frame": frame, "out": out}, {"out": out, "frame": frame}):
            out[...] = 0.0
            assert arm.jacobian(q, **keywords) is out
            np.testing.assert_array_equal(out, J)
        np.testing.assert_array_equal(arm.jacobian(q[0], frame=frame), J[0])
    with pytest.raises(Exception, match="sideways"):
        arm.jacobian(q, frame="sideways", out=out)
