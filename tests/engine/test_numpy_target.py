"""The NumPy target's three kernels against plain Python loops, and what they say of wrong arguments."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from tests.engine.random_programs import random_program, safe_inputs

from chasles.base.errors import ArgumentError
from chasles.engine import Program, absolute, cos, sin, trace, where
from chasles.engine.program.tracing import call_traced
from chasles.engine.targets.numpy import NumpyKernel, NumpyScan, NumpySolve


def _product() -> Program:
    return trace(
        lambda A, x, k: (A @ x * k, x[0] + k, np.array([1.0, 2.0])),
        {"A": (2, 3), "x": (3,), "k": ()},
        name="product",
        outputs=["y", "first", "known"],
    )


def test_map_broadcasts_batch_axes() -> None:
    source = np.random.default_rng(1)
    A, x, k = source.normal(size=(4, 1, 2, 3)), source.normal(size=(5, 3)), source.normal(size=(4, 5))
    y, first, known = NumpyKernel(_product())(A, x, k)
    np.testing.assert_allclose(y, np.einsum("bcij,cj,bc->bci", np.broadcast_to(A, (4, 5, 2, 3)), x, k), atol=1e-14)
    np.testing.assert_array_equal(first, x[:, 0] + k)
    np.testing.assert_array_equal(known, np.broadcast_to([1.0, 2.0], (4, 5, 2)))


def test_map_gives_scalars_without_batch_axes_and_bare_single_outputs() -> None:
    y, first, _ = NumpyKernel(_product())(np.eye(2, 3), [1, 2, 3], 2)
    np.testing.assert_array_equal(y, [2.0, 4.0])
    assert isinstance(first, np.float64)
    assert first == 3.0
    single = NumpyKernel(trace(lambda x: 2 * x, {"x": ()}))
    assert single(3) == 6.0
    assert single([True, False]).tolist() == [2.0, 0.0]


@pytest.mark.parametrize("batch", [(0,), (3, 0), (0, 3)])
def test_empty_batches(batch: tuple[int, ...]) -> None:
    y, first, known = NumpyKernel(_product())(np.zeros((*batch, 2, 3)), np.zeros(3), 1.0)
    assert (y.shape, first.shape, known.shape) == ((*batch, 2), batch, (*batch, 2))


def test_arguments_without_elements() -> None:
    kernel = NumpyKernel(trace(lambda q, x: (q, x), {"q": (0,), "x": ()}))
    q, x = kernel(np.zeros((4, 0)), 2.0)
    assert q.shape == (4, 0)
    assert x.tolist() == [2.0] * 4


def test_map_writes_to_out() -> None:
    kernel = NumpyKernel(trace(lambda x: x[::-1] * 2, {"x": (2,)}, name="turn"))
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert kernel(x, out=x) is x
    assert x.tolist() == [[4.0, 2.0], [8.0, 6.0]]
    target = np.zeros((2, 2), np.float32)
    kernel(x, out=(target,))
    assert target.tolist() == [[4.0, 8.0], [12.0, 16.0]]
    with pytest.raises(ValueError, match=r"turn: 'out' for 'result' has shape \(3, 2\); expected \(2, 2\)"):
        kernel(x, out=np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"turn: 'out' must be 1 array\(s\), not 2"):
        kernel(x, out=(target, target))
    with pytest.raises(TypeError, match="Cannot cast"):
        kernel(x, out=np.zeros((2, 2), dtype=int))
    with pytest.raises(TypeError, match="turn: 'out' for 'result' is not an array"):
        kernel(x, out=[[0.0, 0.0]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            (np.zeros((2, 3)), np.zeros(2), 1),
            ValueError,
            r"product: argument 'x' has shape \(2,\); expected \(..., 3\)",
        ),
        ((np.zeros(3), np.zeros(3), 1), ValueError, r"product: argument 'A' has shape \(3,\); expected \(..., 2, 3\)"),
        ((np.zeros((4, 2, 3)), np.zeros((5, 3)), 1), ValueError, r"do not broadcast: 'A' \(4,\), 'x' \(5,\), 'k' \(\)"),
        ((np.zeros((2, 3)), np.zeros(3)), TypeError, r"product\(\) takes 3 arguments \(A, x, k\), not 2"),
        ((np.zeros((2, 3)), np.zeros(3), 1j), TypeError, "product: argument 'k' has dtype complex128"),
        ((np.zeros((2, 3)), np.zeros(3), "1"), TypeError, "product: argument 'k' has dtype <U1"),
        ((np.zeros((2, 3)), np.zeros(3), None), TypeError, "product: argument 'k' has dtype object"),
        ((np.zeros((2, 3)), [[1, 2, 3], [1]], 1), ValueError, "product: argument 'x' is not an array"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        NumpyKernel(_product())(*arguments)


def test_only_floats_of_32_and_64_bits() -> None:
    with pytest.raises(ArgumentError, match="float64 or float32, not int64"):
        NumpyKernel(_product(), np.int64)


@pytest.mark.parametrize("seed", range(5))
def test_single_precision_stays_single(seed: int) -> None:
    program = random_program(seed)
    arguments = safe_inputs(program, 50, seed)
    double, single = NumpyKernel(program)(*arguments), NumpyKernel(program, np.float32)(*arguments)
    for a, b in zip(double, single, strict=True):
        assert b.dtype == np.float32
        np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-3)


def test_results_do_not_depend_on_batch_size_or_layout() -> None:
    program = random_program(11)
    x, y = safe_inputs(program, 9001, 11)
    kernel = NumpyKernel(program)
    whole = kernel(x, y)
    strided = kernel(np.asfortranarray(x)[::-1], y[::-1])
    for k in (0, 4095, 4096, 9000):
        for output, reverse, one in zip(whole, strided, kernel(x[k], y[k]), strict=True):
            np.testing.assert_array_equal(output[k], one)
            np.testing.assert_array_equal(output[k], reverse[9000 - k])


def test_nan_stays_in_its_sample_and_nothing_warns() -> None:
    kernel = NumpyKernel(trace(lambda x: (1 / x + sin(x), where(x > 0, x, 0.0)), {"x": ()}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = kernel([np.nan, 0.0, np.inf, 1.0])
    np.testing.assert_array_equal(first, [np.nan, np.inf, np.nan, 1 + np.sin(1.0)])
    np.testing.assert_array_equal(second, [0.0, 0.0, np.inf, 1.0])


def _pendulum_step() -> Program:
    """One Euler step of a damped pendulum that also gives its energy and state."""

    def step(state: Any, t: Any, damping: Any, drive: Any) -> Any:
        acceleration = -9.81 * sin(state[0]) - damping * state[1] + drive[0] * cos(drive[1] * t)
        samples = np.array([0.5 * state[1] ** 2 - 9.81 * cos(state[0]), t])
        return np.array([state[0] + 0.01 * state[1], state[1] + 0.01 * acceleration]), samples, state[0]

    return trace(step, {"state": (2,), "t": (), "damping": (), "drive": (2,)}, name="pendulum")


def test_scan_is_a_loop_over_time() -> None:
    program = _pendulum_step()
    source = np.random.default_rng(2)
    state, t = source.normal(size=(3, 1, 2)), source.normal(size=(7, 4))
    damping, drive = source.uniform(size=(3, 5)), source.normal(size=(5, 2))
    final, samples, angle = NumpyScan(program)(state, t, damping, drive)
    assert (final.shape, samples.shape, angle.shape) == ((3, 5, 2), (3, 5, 7, 2), (3, 5, 7))
    for a in range(3):
        for b in range(5):
            now = state[a, 0].tolist()
            for i in range(7):
                for j in range(4):
                    *following, energy, time, position = program.replay([*now, t[i, j], damping[a, b], *drive[b]])
                    if j == 0:
                        np.testing.assert_allclose(samples[a, b, i], [energy, time], rtol=1e-13)
                        np.testing.assert_allclose(angle[a, b, i], position, rtol=1e-13)
                    now = following
            np.testing.assert_allclose(final[a, b], now, rtol=1e-13)


def test_scan_of_no_rows_and_of_rows_without_times() -> None:
    scan = NumpyScan(_pendulum_step())
    final, samples, angle = scan([1.0, 2.0], np.zeros((0, 3)), 0.1, [0.0, 0.0])
    assert (final.tolist(), samples.shape, angle.shape) == ([1.0, 2.0], (0, 2), (0,))
    with pytest.raises(ValueError, match="pendulum: each row of 't' needs at least one step"):
        scan([1.0, 2.0], np.zeros((3, 0)), 0.1, [0.0, 0.0])
    with pytest.raises(ValueError, match=r"argument 't' has shape \(3,\); expected \(..., S, k\)"):
        scan([1.0, 2.0], np.zeros(3), 0.1, [0.0, 0.0])


def test_scan_with_times_of_their_own_for_each_sample_and_without_samples() -> None:
    program = trace(lambda state, t: state + t, {"state": (1,), "t": ()}, name="sum")
    t = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(NumpyScan(program)([0.5], t), t.sum((1, 2))[:, None] + 0.5)


def _newton_step() -> Program:
    """Newton's iteration for the cube root, through a called program."""
    slope = trace(lambda x: 3 * x * x, {"x": ()}, name="slope")

    def step(x: Any, a: Any) -> Any:
        new = x[0] - (x[0] * x[0] * x[0] - a) / call_traced(slope, [x[0]], inline=False)
        return np.array([new]), where(absolute(new - x[0]) < 1e-12, 1.0, 0.0)

    return trace(step, {"x": (1,), "a": ()}, name="cube_root")


def test_solve_iterates_each_sample_until_it_is_done() -> None:
    program = _newton_step()
    a = np.array([1.0, 8.0, -27.0, 1000.0, np.nan, 0.3])
    limits = np.array([50, 50, 50, 3, 20, 0])
    state, iterations, done = NumpySolve(program)([2.0], a, limits)
    for k in range(a.size):
        x, count, flag = 2.0, 0, 0.0
        while count < limits[k] and not flag > 0:
            x, flag = program.replay([x, a[k]])
            count += 1
        np.testing.assert_allclose(state[k, 0], x, rtol=1e-14)
        assert (iterations[k], done[k]) == (count, flag)
    np.testing.assert_allclose(state[:3, 0], np.cbrt(a[:3]), rtol=1e-14)
    assert done.tolist() == [1, 1, 1, 0, 0, 0]
    assert len(set(iterations[:3])) > 1


def test_finished_samples_are_frozen() -> None:
    program = trace(lambda x, goal: (x + 1, where(x[0] + 1 >= goal, 1.0, 0.0)), {"x": (1,), "goal": ()}, name="count")
    goals = np.arange(10_000.0) % 37
    state, iterations, done = NumpySolve(program)(np.zeros((10_000, 1)), goals, 30)
    expected = np.clip(goals, 1, 30)
    np.testing.assert_array_equal(state[:, 0], expected)
    np.testing.assert_array_equal(iterations, expected)
    np.testing.assert_array_equal(done, goals <= 30)


def test_programs_of_the_wrong_form_are_no_scans_or_solves() -> None:
    for kernel in (NumpyScan, NumpySolve):
        with pytest.raises(ArgumentError, match=r"must be the state, of the same shape \(s,\)"):
            kernel(trace(lambda s, t: (s[0], t), {"s": (2,), "t": ()}))
    with pytest.raises(ArgumentError, match="second input of a scan must be what changes"):
        NumpyScan(trace(lambda s: s, {"s": (2,)}))
    with pytest.raises(ArgumentError, match="two outputs, the state and `done` of shape"):
        NumpySolve(trace(lambda s: s, {"s": (2,)}))
