"""Machine code for few samples and for many: the same numbers bit for bit, whichever is compiled first."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.engine.direct_calls import needs_direct_calls
from tests.engine.random_programs import random_program, safe_inputs
from tests.thinning import paired

import chasles as ch
from chasles.engine import Function, sin, sqrt, trace, where
from chasles.engine.kernels.shapes import few_samples
from chasles.engine.running import aside, runner
from chasles.engine.running import machine_code as native
from chasles.engine.targets.native import machine

COUNT = 11


@pytest.fixture(autouse=True)
def two_widths(monkeypatch: pytest.MonkeyPatch) -> None:
    """On processors whose vectors have one width, LLVM makes two registers of a wide one."""
    if not native.has_widths("float64"):
        monkeypatch.setattr(machine, "lanes", lambda dtype: 2 * few_samples(dtype))


def widths(function: Function) -> list[str]:
    aside.wait()
    return list(function._runner._compiled)


def flat(outputs: Any) -> np.ndarray:
    parts = outputs if isinstance(outputs, tuple) else (outputs,)
    return np.concatenate([np.ravel(part) for part in parts])


def one_by_one(function: Function, arguments: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
    return [flat(function(*(argument[k] for argument in arguments))) for k in range(count)]


def of_each(outputs: Any, count: int) -> list[np.ndarray]:
    parts = outputs if isinstance(outputs, tuple) else (outputs,)
    return [flat(tuple(part[k] for part in parts)) for k in range(count)]


@pytest.mark.parametrize(("dtype", "first"), paired(["float64", "float32"], ["single samples", "a batch"]))
def test_maps(first: str, dtype: str) -> None:
    for seed in range(4):
        program = random_program(seed, 60)
        function = Function(program, dtype=dtype)
        arguments = [np.asarray(x, dtype) for x in safe_inputs(program, COUNT, seed)]
        calls = {
            "single samples": lambda: one_by_one(function, arguments, COUNT),  # noqa: B023
            "a batch": lambda: of_each(function(*arguments), COUNT),  # noqa: B023
        }
        other = next(name for name in calls if name != first)
        one = calls[first]()
        assert widths(function) == [{"single samples": "few", "a batch": "many"}[first]]
        for again in (calls[other](), calls[first](), calls[other]()):
            np.testing.assert_array_equal(again, one)
        assert sorted(widths(function)) == ["few", "many"]
        shorter = [argument[:2] for argument in arguments]
        np.testing.assert_array_equal(of_each(function(*shorter), 2), one[:2])


@pytest.mark.parametrize(("wide", "first"), [(False, "few"), (True, "many")])
def test_functions_for_many_samples_compile_code_for_these_at_once(
    wide: bool, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches of arguments that change by turns count once: 5 × 3 samples here, not the product of all."""
    monkeypatch.setattr(runner, "WORTH_WIDE", 100)
    function = Function(trace(lambda x, y, z: x * y + z, {"x": (), "y": (), "z": ()}, name="sum"), wide=wide)
    x, y, z = np.arange(15.0).reshape(5, 3), np.arange(3.0), np.ones((5, 1))
    np.testing.assert_array_equal(function(x, y, z), x * y + z)
    assert widths(function) == [first]


def test_scans() -> None:
    def step(state, t, k):
        following = state + 0.01 * np.array([state[1], -k * sin(state[0]) - t])
        return following, state[0]

    shapes = {"state": (2,), "t": (), "k": ()}
    scan = Function(trace(step, shapes, name="pendulum", outputs=["next", "angle"]), shape="scan")
    start, k = np.random.default_rng(0).normal(size=(COUNT, 2)), np.linspace(5.0, 20.0, COUNT)
    times = 0.01 * np.arange(300.0)[:, None]
    batch = of_each(scan(start, times, k), COUNT)
    assert widths(scan) == ["many"]
    for row, truth in enumerate(batch):
        np.testing.assert_array_equal(flat(scan(start[row], times, k[row])), truth)
    assert widths(scan) == ["many", "few"]


def test_solves() -> None:
    def newton(x, a):
        root = 0.5 * (x + a / x)
        return root, where(abs(root[0] * root[0] - a) < 1e-12 * a, 1.0, 0.0) + 0.0 * sqrt(a)

    solve = Function(trace(newton, {"x": (1,), "a": ()}, name="root", outputs=["x", "done"]), shape="solve")
    a = np.geomspace(1e-3, 1e3, COUNT)
    single = [flat(solve(np.ones(1), value, 60.0)) for value in a]
    assert widths(solve) == ["few"]
    np.testing.assert_array_equal(of_each(solve(np.ones((COUNT, 1)), a, np.full(COUNT, 60.0)), COUNT), single)
    assert widths(solve) == ["few", "many"]
    np.testing.assert_array_equal([flat(solve(np.ones(1), value, 60.0)) for value in a], single)


@needs_direct_calls
@pytest.mark.parametrize("first", ["few", "many"])
def test_direct_calls_hand_over_to_one_another(first: str) -> None:
    """Neither kind of call goes through Python once both kinds of code are there, with and without ``out``."""
    function = Function(ch.load("planar2r").inverse_dynamics.program)
    batch = np.random.default_rng(1).normal(size=(3, COUNT, 2))
    times = 0
    general = function.general_call

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal times
        times += 1
        return general(*arguments, **named)

    kinds = {"few": batch[:, 0], "many": batch}
    general(*kinds.pop(first))
    direct = function._runner.direct_call(counted)
    (other,) = kinds.values()
    direct(*other)
    assert times == 1
    aside.wait()
    expected = general(*batch)
    for _ in range(2):
        np.testing.assert_array_equal(direct(*batch), expected)
        np.testing.assert_array_equal(direct(*batch, out=np.empty_like(expected)), expected)
        np.testing.assert_array_equal(direct(*batch[:, :2]), expected[:2])
        np.testing.assert_array_equal(direct(*batch[:, 0]), expected[0])
        np.testing.assert_array_equal(direct(*batch[:, 0], out=np.empty(2)), expected[0])
    assert times == 1
    for wrong in (batch[:, 0].tolist(), batch.tolist()):  # left to Python, by whichever code is asked first
        np.testing.assert_array_equal(direct(*wrong), expected if np.ndim(wrong) == 3 else expected[0])
    assert times == 3


def test_wide_code_is_compiled_when_there_is_work_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "WORTH_WIDE", 100)
    function = Function(ch.load("planar2r").mass_matrix.program)
    q = np.random.default_rng(2).normal(size=(30, 2))
    for _ in range(3):
        narrow = function(q)
        assert widths(function) == ["few"]
    np.testing.assert_array_equal(function(q), narrow)
    assert widths(function) == ["few", "many"]


@pytest.mark.slow
def test_code_of_both_widths_is_freed() -> None:
    function = Function(ch.load("planar2r").gravity_torque.program)
    q = np.zeros((COUNT, 2))
    function(q[0])
    function(q)
    aside.wait()
    codes = [weakref.ref(compiled.code) for compiled in function._runner._compiled.values()]
    assert len(codes) == 2
    direct = function._runner.direct_call(lambda *_: None)
    del function
    gc.collect()
    assert all(code() is not None for code in codes)
    np.testing.assert_array_equal(direct(q[0]), direct(q)[0])
    del direct
    gc.collect()
    assert all(code() is None for code in codes)
