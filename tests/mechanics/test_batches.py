"""Batching: every way of handing over the same samples gives the same bits."""

from __future__ import annotations

from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import chasles as ch


@pytest.fixture(params=["panda", "mixed"])
def robot(request: pytest.FixtureRequest) -> ch.Robot:
    found: ch.Robot = request.getfixturevalue(request.param)
    return found


class Subclass(np.ndarray):
    """An array of another type, as packages for units have."""


def same(actual: Any, expected: Any) -> bool:
    """Whether all outputs have the same shapes and the same bits."""
    pairs = zip(actual, expected, strict=True) if isinstance(expected, tuple) else [(actual, expected)]
    return all(np.array_equal(a, b) and np.shape(a) == np.shape(b) and a.dtype == b.dtype for a, b in pairs)


def test_batch_is_its_samples(robot: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(robot)
    arguments = helpers.states(robot.n, 2, 13).of(computation)
    batched = helpers.as_tuple(function(*arguments, **keywords))
    for i in range(2):
        for k in range(13):
            single = helpers.as_tuple(function(*(a[i, k].copy() for a in arguments), **keywords))
            for whole, one in zip(batched, single, strict=True):
                assert np.array_equal(whole[i, k], one)
                assert whole.shape == (2, 13, *np.shape(one))


def test_broadcasting(robot: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    names, keywords = helpers.calls[computation]
    function = attrgetter(computation)(robot)
    shapes = {"q": (3, 1, 4), "qd": (5, 1), "qdd": (1, 5, 4), "tau": (), "weights": ()}
    arguments = tuple(helpers.states(robot.n, *shapes[name])[name] for name in names)
    batch = np.broadcast_shapes(*(shapes[name] for name in names))
    spread = tuple(np.broadcast_to(a, (*batch, robot.n)).copy() for a in arguments)
    assert same(function(*arguments, **keywords), function(*spread, **keywords))


def test_memory_layouts(robot: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(robot)
    arguments = helpers.states(robot.n, 37).of(computation)
    expected = function(*arguments, **keywords)
    layouts = {
        "columns": np.asfortranarray,
        "transposed": lambda a: np.ascontiguousarray(a.T).T,
        "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
        "every third": lambda a: np.repeat(a, 3, axis=0)[::3],
        "every second column": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
        "read-only": lambda a: np.lib.stride_tricks.as_strided(a, a.shape, a.strides, writeable=False),
        "unaligned": _unaligned,
        "big-endian": lambda a: a.astype(">f8"),
        "list": lambda a: a.tolist(),
        "subclass": lambda a: a.view(Subclass),
    }
    for layout, arrange in layouts.items():
        result = function(*(arrange(a) for a in arguments), **keywords)
        assert same(tuple(map(np.asarray, helpers.as_tuple(result))), helpers.as_tuple(expected)), layout


def test_memory_layouts_of_single_samples(robot: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(robot)
    arguments = helpers.states(robot.n).of(computation)
    expected = function(*arguments, **keywords)
    for arrange in (
        lambda a: a[::-1].copy()[::-1],
        lambda a: np.repeat(a, 2)[::2],
        lambda a: a.tolist(),
        lambda a: tuple(a),
        lambda a: a.astype(">f8"),
        _unaligned,
    ):
        assert same(function(*(arrange(a) for a in arguments), **keywords), expected)


def _unaligned(a: np.ndarray) -> np.ndarray:
    memory = np.zeros(a.nbytes + 1, np.uint8)
    shifted = memory[1:].view(a.dtype).reshape(a.shape)
    shifted[...] = a
    assert not shifted.flags.aligned
    return shifted


def test_other_number_types(robot: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(robot)
    whole = tuple(np.round(3 * a) for a in helpers.states(robot.n, 5).of(computation))
    expected = function(*whole, **keywords)
    for dtype in (np.int64, np.int8, np.float32, np.float16):
        assert same(function(*(a.astype(dtype) for a in whole), **keywords), expected), dtype
        one = function(*(a[0].astype(dtype) for a in whole), **keywords)
        assert same(one, tuple(e[0] for e in expected) if isinstance(expected, tuple) else expected[0]), dtype


def test_out(robot: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(robot)
    for batch in ((), (1,), (11,), (3, 5)):
        arguments = helpers.states(robot.n, *batch).of(computation)
        expected = helpers.as_tuple(function(*arguments, **keywords))
        results = tuple(np.full(np.shape(e), np.nan) for e in expected)
        given = results if len(results) > 1 else results[0]
        returned = helpers.as_tuple(function(*arguments, **keywords, out=given))
        for result, value, back in zip(results, expected, returned, strict=True):
            assert back is result
            assert np.array_equal(result, value)


def test_results_of_an_earlier_call_are_overwritten(robot: ch.Robot, helpers: SimpleNamespace) -> None:
    q = helpers.states(robot.n, 18)["q"]
    states = q[:9], q[9:]
    earlier = robot.pose_and_jacobian(states[0], frame="body")
    later = robot.pose_and_jacobian(states[1], frame="body", out=earlier)
    for kept, result, expected in zip(earlier, later, robot.pose_and_jacobian(states[1], frame="body"), strict=True):
        assert result is kept
        assert np.array_equal(result, expected)


def test_out_with_strides(robot: ch.Robot, helpers: SimpleNamespace) -> None:
    q = helpers.states(robot.n, 9)["q"]
    room = np.full((robot.n, 9, 2 * robot.n), -1.0)
    M = room.transpose(1, 0, 2)[:, :, ::2]
    robot.mass_matrix(q, out=M)
    assert np.array_equal(M, robot.mass_matrix(q))
    assert np.all(room[:, :, 1::2] == -1.0)


def test_out_may_be_an_argument(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    q, qd, qdd, *_ = helpers.states(panda.n, 50).values()
    expected = panda.inverse_dynamics(q, qd, qdd)
    panda.inverse_dynamics(q, qd, qdd, out=qdd)
    assert np.array_equal(qdd, expected)


def test_thread_counts(panda: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(panda)
    arguments = helpers.states(panda.n, 10_007).of(computation)
    results = []
    for count in (1, 2, 3):
        with ch.threads(count):
            results.append(function(*arguments, **keywords))
    assert same(results[1], results[0])
    assert same(results[2], results[0])


def test_threads_with_broadcasting(panda: ch.Robot, helpers: SimpleNamespace) -> None:
    q, qd = helpers.states(panda.n, 1, 6001)["q"], helpers.states(panda.n, 3, 1)["qd"]
    qdd = helpers.states(panda.n)["qdd"]
    with ch.threads(1):
        expected = panda.inverse_dynamics(q, qd, qdd)
    with ch.threads(3):
        out = np.empty((3, 6001, panda.n))
        assert panda.inverse_dynamics(q, qd, qdd, out=out) is out
        assert np.array_equal(out, expected)
        assert np.array_equal(panda.inverse_dynamics(q, qd, qdd), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_sample_stays_alone(robot: ch.Robot, computation: str, helpers: SimpleNamespace, bad: float) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(robot)
    arguments = helpers.states(robot.n, 21).of(computation)
    clean = helpers.as_tuple(function(*arguments, **keywords))
    arguments[0][8, 0] = bad
    spoilt = helpers.as_tuple(function(*arguments, **keywords))
    others = np.arange(21) != 8
    for before, after in zip(clean, spoilt, strict=True):
        assert np.array_equal(before[others], after[others])


@pytest.mark.parametrize("argument", range(3))
def test_nan_in_gives_nan_out(panda: ch.Robot, argument: int, helpers: SimpleNamespace) -> None:
    arguments = list(helpers.states(panda.n, 4).of("inverse_dynamics"))
    arguments[argument][2, 6] = np.nan
    assert np.isnan(panda.inverse_dynamics(*arguments)[2]).any()
    assert np.isnan(panda.inverse_dynamics(*(a[2] for a in arguments))).any()


@pytest.mark.parametrize("batch", [(0,), (3, 0), (0, 2)])
def test_empty_batches(robot: ch.Robot, computation: str, helpers: SimpleNamespace, batch: tuple[int, ...]) -> None:
    keywords = helpers.calls[computation][1]
    function = attrgetter(computation)(robot)
    one = helpers.as_tuple(function(*helpers.states(robot.n).of(computation), **keywords))
    none = helpers.as_tuple(function(*helpers.states(robot.n, *batch).of(computation), **keywords))
    for sample, empty in zip(one, none, strict=True):
        assert empty.shape == (*batch, *np.shape(sample))
        assert empty.dtype == np.float64


def test_arguments_are_left_alone(robot: ch.Robot, computation: str, helpers: SimpleNamespace) -> None:
    keywords = helpers.calls[computation][1]
    for batch in ((), (19,)):
        arguments = helpers.states(robot.n, *batch).of(computation)
        before = [a.copy() for a in arguments]
        attrgetter(computation)(robot)(*arguments, **keywords)
        assert all(np.array_equal(a, b) for a, b in zip(arguments, before, strict=True))
