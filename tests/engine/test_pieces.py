"""Long calls are cut into pieces: the numbers are the same to the bit, whatever the cut, and nothing overlaps."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program, sqrt, trace, where
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.kernels.threads import run_all
from chasles.engine.running import pieces, runner

RNG = np.random.default_rng(7)


def oscillator() -> Program:
    def step(state: np.ndarray, given: np.ndarray, k: float) -> tuple[np.ndarray, float]:
        x, v = state
        v = v - given[0] * k * x + given[1]
        x = x + given[0] * v
        return np.array([x, v]), k * x * x + v * v

    return trace(step, {"state": (2,), "given": (2,), "k": ()}, outputs=["state", "energy"], name="oscillator")


def square_root() -> Program:
    def step(state: np.ndarray, x: float) -> tuple[np.ndarray, object]:
        root = 0.5 * (state[0] + x / state[0])
        return np.array([root, state[0]]), where(abs(root - state[0]) < 1e-12 * root, 1.0, 0.0)

    return trace(step, {"state": (2,), "x": ()}, outputs=["state", "done"], name="square_root")


@pytest.fixture(params=[1, 3])
def count(request: pytest.FixtureRequest) -> Iterator[int]:
    with ch.threads(request.param):
        yield request.param


def shrink(monkeypatch: pytest.MonkeyPatch, work: int) -> None:
    """Have calls cut after little work, and shared by all threads."""
    for module in (pieces, runner):
        monkeypatch.setattr(module, "UNINTERRUPTED_WORK", work)
        monkeypatch.setattr(module, "WORTH_PIECES", 0)
    monkeypatch.setattr(pieces, "WORTH_THREADS", 0)


def same(found: object, expected: object) -> None:
    for a, b in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [(), (1,), (37,), (5, 40), (0,), (3, 0)])
def test_maps(batch: tuple[int, ...], dtype: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program = trace(lambda x, k: (k * x, sqrt(x @ x + k)), {"x": (3,), "k": ()}, name="pair")
    x, k = RNG.normal(size=(*batch, 3)), RNG.random(batch[-1:])
    expected = Function(program, dtype=dtype)(x, k)
    shrink(monkeypatch, 1)
    same(Function(program, dtype=dtype)(x, k), expected)


@pytest.mark.parametrize("work", [1, 700, 30_000])
@pytest.mark.parametrize("batch", [(), (1,), (40,), (3, 33)])
def test_scans(batch: tuple[int, ...], work: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    state, given = RNG.normal(size=(*batch, 2)), RNG.normal(size=(6, 5, 2)) * 0.01
    k = RNG.random(batch[-1:])
    expected = Function(oscillator(), shape="scan")(state, given, k)
    shrink(monkeypatch, work)
    scan = Function(oscillator(), shape="scan")
    same(scan(state, given, k), expected)
    out = np.empty((*batch, 2)), np.empty((*batch, 6), np.float64)
    same(scan(state, given, k, out=out), expected)
    same(out, expected)
    rounded = np.empty((*batch, 2), np.float32), np.empty((*batch, 6), np.float32)
    scan(state, given, k, out=rounded)
    same(rounded, tuple(array.astype(np.float32) for array in map(np.asarray, expected)))


def test_a_scan_of_no_steps_ends_where_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch, 1)
    state = RNG.normal(size=(40, 2))
    final, energy = Function(oscillator(), shape="scan")(state, np.zeros((0, 3, 2)), 1.0)
    np.testing.assert_array_equal(final, state)
    assert energy.shape == (40, 0)


@pytest.mark.parametrize("work", [1, 700, 30_000])
@pytest.mark.parametrize("batch", [(), (1,), (40,), (3, 33)])
def test_solves(batch: tuple[int, ...], work: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG.uniform(1e-8, 1e8, batch)
    limit = RNG.integers(1, 40, batch)
    expected = Function(square_root(), shape="solve")(np.array([1.0, 0.0]), x, limit)
    shrink(monkeypatch, work)
    same(Function(square_root(), shape="solve")(np.array([1.0, 0.0]), x, limit), expected)
    assert (np.asarray(expected[1]) <= limit).all()


OVERLAPS = {
    "reversed": lambda q: (q[::-1], q),
    "shifted": lambda q: (q[:-1], q[1:]),
    "shifted back": lambda q: (q[1:], q[:-1]),
    "itself": lambda q: (q, q),
    "every other": lambda q: (q[::2], q[: len(q[::2])]),
    "broadcast": lambda q: (q[-1:], q),
    "columns reversed": lambda q: (q[:, ::-1], q),
}


@pytest.mark.parametrize("case", OVERLAPS)
@pytest.mark.parametrize("samples", [50, 60_001])
def test_results_may_overwrite_arguments(case: str, samples: int, count: int) -> None:
    arm = ch.load("planar2r")
    whole, qd, qdd = RNG.normal(size=(3, samples, 2))
    source, _ = OVERLAPS[case](whole.copy())
    expected = arm.inverse_dynamics(source, qd[: len(source)], qdd[: len(source)])
    source, out = OVERLAPS[case](whole)
    if expected.shape != out.shape:  # one configuration for all
        expected = arm.inverse_dynamics(source.copy(), qd[: len(out)], qdd[: len(out)])
    found = arm.inverse_dynamics(source, qd[: len(out)], qdd[: len(out)], out=out)
    assert found is out
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("samples", [3, 60_000])
def test_results_must_not_overwrite_each_other(samples: int) -> None:
    pair = Function(trace(lambda x: (x, 2.0 * x), {"x": (2,)}, name="pair"))
    space = np.empty((samples, 3))
    with pytest.raises(ArgumentError, match="share memory"):
        pair(np.ones((samples, 2)), out=(space[:, :2], space[:, 1:]))


def test_wrong_arrays_for_results_are_refused_whatever_the_size() -> None:
    double = Function(trace(lambda x: 2.0 * x, {"x": (2,)}, name="double"))
    for samples in (3, 2_000_000):
        x = np.ones((samples, 2))
        for out in (np.empty((samples, 3)), [[0.0, 0.0]] * 3, np.empty((samples, 2), np.int64)):
            with pytest.raises((ValueError, TypeError)):
                double(x, out=out)


def test_an_exception_ends_the_tasks_of_all_threads_at_their_next_stretch() -> None:
    begun = []

    def endless() -> Iterator[None]:
        begun.append(True)
        while True:
            time.sleep(0.001)
            yield

    def interrupted() -> Iterator[None]:
        while not begun:
            time.sleep(0.001)
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        run_all([endless(), interrupted()], 2)


def test_tasks_of_other_threads_go_on_when_one_thread_has_nothing_left_to_do() -> None:
    done = []

    def task(stretches: int) -> Iterator[None]:
        for _ in range(stretches):
            time.sleep(0.001)
            yield
        done.append(stretches)

    run_all([task(200), task(3), task(100)], 3)
    assert sorted(done) == [3, 100, 200]


@pytest.mark.parametrize(("runs", "steps"), [(3_000, 20_001), (100_000, 500), (200, 1_000_000)])
def test_no_call_of_a_long_scan_writes_to_much_memory_for_the_first_time(runs: int, steps: int) -> None:
    """The system clears whole pages, 2 MB where arrays are large, and no interrupt is answered meanwhile."""
    page = 1 << 21
    touched = []

    def ufunc(*_arrays: Any, out: tuple[np.ndarray, ...]) -> None:
        # Each run's part of a record is at its own place.
        touched.append(sum(len(part) * min(part.strides[0], part[0].nbytes + page) for part in out))

    kernel = Kernel(oscillator(), "scan")
    out = [np.empty((runs, 2)), np.empty((runs, steps))]  # memory that is never touched here
    call = pieces._Call(ufunc, kernel, [np.zeros((runs, 2)), np.zeros((steps, 1, 2)), np.zeros(())], out, None)
    for task in pieces._tasks(call, (runs,), 2):
        next(task)
    assert max(touched) < 150e6
