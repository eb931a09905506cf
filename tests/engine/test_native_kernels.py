"""The kernels of the native target: equal to the NumPy target, and bitwise the same however they are called."""

from __future__ import annotations

import ctypes
import gc
import pickle
import re
import sys
import threading
import weakref

import numpy as np
import pytest
from tests.engine.direct_calls import needs_direct_calls

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program, floor, sin, sqrt, trace, where
from chasles.engine.cpython import objects
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.running.machine_code import compile_kernel as compile_native
from chasles.engine.targets.native import machine
from chasles.engine.targets.native.kernels import write_kernel
from chasles.engine.targets.numpy import compile_kernel as compile_numpy


def mixed() -> Program:
    """A program with inputs and outputs of several ranks."""

    def compute(x, A, k):
        y = A @ x + k
        return y, np.outer(sin(x), y), k * (x @ x)

    return trace(compute, {"x": (3,), "A": (3, 3), "k": ()}, name="mixed", outputs=["y", "P", "e"])


def arguments(batch: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(*batch, *shape)) for shape in ((3,), (3, 3), ())]


@pytest.mark.parametrize("batch", [(), (1,), (7,), (8,), (9,), (3, 5), (2, 1, 4)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_map_equals_the_numpy_target(batch: tuple[int, ...], dtype: str) -> None:
    values = [a.astype(dtype) for a in arguments(batch)]
    results = Function(mixed(), dtype=dtype)(*values)
    expected = compile_numpy(Kernel(mixed()), dtype)(*values)
    tolerance = 1e-13 if dtype == "float64" else 1e-5
    for result, truth in zip(results, expected, strict=True):
        assert result.shape == truth.shape
        assert result.dtype == dtype
        np.testing.assert_allclose(result, truth, rtol=tolerance, atol=tolerance)


def test_results_do_not_depend_on_batch_layout_or_threads() -> None:
    function = Function(mixed())
    function._large = 0  # every batch is cut into pieces
    x, A, k = arguments((203,))
    singles = [function(x[i], A[i], float(k[i])) for i in range(203)]
    expected = [np.array(column) for column in zip(*singles, strict=True)]
    layouts = {
        "plain": (x, A, k),
        "fortran": (np.asfortranarray(x), np.asfortranarray(A), k),
        "strided": (np.repeat(x, 2, axis=0)[::2], np.repeat(A, 3, axis=2)[..., ::3], np.repeat(k, 2)[::2]),
        "reversed": (x[::-1][::-1], A[:, ::-1, ::-1][:, ::-1, ::-1], k),
        "unaligned": tuple(_unaligned(a) for a in (x, A, k)),
        "swapped": (x.astype(">f8"), A, k),
    }
    for count in (1, 2, 3):
        with ch.threads(count):
            for name, values in layouts.items():
                for result, truth in zip(function(*values), expected, strict=True):
                    np.testing.assert_array_equal(result, truth, err_msg=f"{name}, {count} threads")


def _unaligned(array: np.ndarray) -> np.ndarray:
    buffer = np.zeros(array.nbytes + 1, np.uint8)
    view = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


@needs_direct_calls
def test_direct_call_and_general_call_agree_bitwise() -> None:
    function = Function(mixed())
    x, A, k = arguments(())
    general = function.general_call(x, A, float(k))
    for _ in range(2):  # the first call compiles, the second is direct
        for direct, expected in zip(function(x, A, float(k)), general, strict=True):
            np.testing.assert_array_equal(direct, expected)
            assert type(direct) is type(expected)
    assert type(function.__call__).__name__ == "builtin_function_or_method"


@pytest.mark.parametrize(
    "values",
    [
        ([1, 2, 3], np.eye(3), 2),
        (np.ones(3, int), np.eye(3, dtype=np.float32), np.float64(2)),
        (np.ones(3, np.longdouble), np.eye(3, dtype=np.float16), np.longdouble(2)),
        (np.ones(3), np.asfortranarray(np.arange(9.0).reshape(3, 3)), np.array(2.0)),
        (np.ones(6)[::2], np.eye(3), True),
        (np.ones(3).view(np.matrix).A1, np.eye(3), np.float32(2)),
    ],
)
def test_unusual_single_arguments_take_the_general_way(values: tuple[object, ...]) -> None:
    expected = compile_numpy(Kernel(mixed()), "float64")(*values)
    function = Function(mixed())
    function(np.ones(3), np.eye(3), 1.0)
    for result, truth in zip(function(*values), expected, strict=True):
        np.testing.assert_allclose(result, truth, rtol=1e-14)


def test_direct_calls_leak_no_references() -> None:
    function = Function(mixed())
    x, A, k = np.ones(3), np.eye(3), 2.0
    function(x, A, k)
    gc.collect()  # what compiling left
    before = [sys.getrefcount(obj) for obj in (x, A, np.dtype("float64"), None)]
    for _ in range(1000):
        function(x, A, k)
    after = [sys.getrefcount(obj) for obj in (x, A, np.dtype("float64"), None)]
    assert np.abs(np.subtract(after, before)).max() < 20


def test_functions_are_freed() -> None:
    function = Function(mixed())
    function(np.ones(3), np.eye(3), 1.0)
    reference = weakref.ref(function)
    del function
    gc.collect()
    assert reference() is None


def test_a_ufunc_keeps_its_machine_code_and_frees_it() -> None:
    compiled = compile_native(Kernel(mixed()), "float64", "")
    ufunc, code = compiled.ufunc, weakref.ref(compiled.code)
    del compiled
    gc.collect()
    assert code() is not None
    values = arguments((5,))
    for result, expected in zip(ufunc(*values), compile_numpy(Kernel(mixed()), "float64")(*values), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-13)
    del ufunc
    gc.collect()
    assert code() is None


def test_outputs_can_be_given() -> None:
    function = Function(mixed())
    values = arguments((5,))
    out = tuple(np.empty((5, *shape)) for shape in ((3,), (3, 3), ()))
    returned = function(*values, out=out)
    for array, given, expected in zip(returned, out, function(*values), strict=True):
        assert array is given
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ((np.ones(2), np.eye(3), 1.0), ValueError, "mixed"),
        ((np.ones(3), np.eye(2), 1.0), ValueError, "mixed"),
        ((1.0, np.eye(3), 1.0), ValueError, "mixed"),
        ((np.ones((2, 3)), np.ones((3, 3, 3)), 1.0), ValueError, "do not broadcast"),
        ((np.ones(3, complex), np.eye(3), 1.0), TypeError, "mixed"),
        ((np.array(list("abc")), np.eye(3), 1.0), TypeError, "mixed"),
        ((np.ones(3), np.eye(3)), TypeError, r"mixed\(x, A, k\) takes 3 arguments, not 2"),
        ((np.ones(3), np.eye(3), 1.0, np.ones(3)), TypeError, "takes 3 arguments, not 4"),
    ],
)
def test_wrong_arguments_are_refused_by_name(values: tuple[object, ...], error: type, message: str) -> None:
    function = Function(mixed())
    for _ in range(2):
        with pytest.raises(error, match=message):
            function(*values)


@pytest.mark.parametrize("batch", [(0,), (3, 0)])
def test_empty_batches(batch: tuple[int, ...]) -> None:
    for result, core in zip(Function(mixed())(*arguments(batch)), ((3,), (3, 3), ()), strict=True):
        assert result.shape == (*batch, *core)


def test_nan_stays_in_its_sample() -> None:
    function = Function(mixed())
    clean = arguments((20,))
    dirty = [a.copy() for a in clean]
    dirty[0][11] = np.nan
    for result, expected in zip(function(*dirty), function(*clean), strict=True):
        assert np.isnan(result[11]).all()
        np.testing.assert_array_equal(np.delete(result, 11, 0), np.delete(expected, 11, 0))


def oscillator() -> Program:
    """One symplectic Euler step of a spring, which also records energy and position."""

    def step(state, t, k):
        x, v = state[0], state[1]
        v_next = v - 0.01 * k * x
        return np.array([x + 0.01 * v_next, v_next]), 0.5 * v * v + 0.5 * k * x * x, np.array([x, t])

    return trace(step, {"state": (2,), "t": (), "k": ()}, name="oscillator", outputs=["next", "energy", "record"])


@pytest.mark.parametrize("batch", [(), (1,), (11,), (2, 5)])
@pytest.mark.parametrize("shape", [(6, 1), (4, 3), (1, 5)])
def test_scan_equals_a_python_loop(batch: tuple[int, ...], shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    state, k = rng.normal(size=(*batch, 2)), rng.uniform(1, 2, batch)
    times = np.arange(float(np.prod(shape))).reshape(shape)
    final, energy, record = Function(oscillator(), shape="scan")(state, times, k)
    step = Function(oscillator())
    x = state
    for i in range(shape[0]):
        for j in range(shape[1]):
            x_next, e, r = step(x, times[i, j], k)
            if j == 0:
                np.testing.assert_array_equal(energy[..., i], e)
                np.testing.assert_array_equal(record[..., i, :], r)
            x = x_next
    np.testing.assert_array_equal(final, x)
    for result, truth in zip(
        (final, energy, record), compile_numpy(Kernel(oscillator(), "scan"), "float64")(state, times, k), strict=True
    ):
        np.testing.assert_allclose(result, truth, rtol=1e-13, atol=1e-13)


def driven() -> Program:
    """A linear system with another matrix and another input at each step."""

    def step(state, given, gain):
        return gain * given[:2] @ state + given[2], np.array([given[0, 1], state[0]])

    return trace(step, {"state": (2,), "given": (3, 2), "gain": ()}, name="driven", outputs=["next", "record"])


@pytest.mark.parametrize("batch", [(), (1,), (11,), (2, 5)])
@pytest.mark.parametrize("own", [True, False])
def test_scan_is_given_an_array_at_each_step(batch: tuple[int, ...], own: bool) -> None:
    rng = np.random.default_rng(1)
    state, gain = rng.normal(size=(*batch, 2)), rng.uniform(0.5, 1, batch)
    given = rng.normal(size=(*(batch if own else ()), 4, 3, 3, 2))
    final, record = Function(driven(), shape="scan")(state, given, gain)
    x = state
    for i in range(4):
        for j in range(3):
            now = given[..., i, j, :, :]
            if j == 0:
                np.testing.assert_array_equal(record[..., i, 0], np.broadcast_to(now[..., 0, 1], batch))
                np.testing.assert_allclose(record[..., i, 1], x[..., 0], rtol=1e-13, atol=1e-15)
            x = gain[..., None] * np.einsum("...ij,...j->...i", now[..., :2, :], x) + now[..., 2, :]
    np.testing.assert_allclose(final, x, rtol=1e-13, atol=1e-15)
    for result, truth in zip(
        (final, record), compile_numpy(Kernel(driven(), "scan"), "float64")(state, given, gain), strict=True
    ):
        np.testing.assert_allclose(result, truth, rtol=1e-13, atol=1e-15)
    with pytest.raises(ArgumentError, match="at least one step"):
        Function(driven(), shape="scan")(state, np.zeros((4, 0, 3, 2)), gain)


def square_root() -> Program:
    """Newton's iteration for a square root, done when it moves no more."""

    def step(state, a):
        x = 0.5 * (state[0] + a / state[0])
        return np.array([x, state[1] + 1.0]), where(abs(x - state[0]) <= 1e-15 * x, 1.0, 0.0)

    return trace(step, {"state": (2,), "a": ()}, name="square_root", outputs=["next", "done"])


@pytest.mark.parametrize("count", [1, 7, 8, 9, 20])
@pytest.mark.parametrize("substeps", [1, 3])
def test_scan_repeats_a_step_as_long_as_it_asks_for(count: int, substeps: int) -> None:
    """Collatz's sequences, one after the other: each step starts anew from a number that is given, until it is at 1."""

    def step(state, given, factor):
        (number, start), (last, value, lengths) = given, state
        now = where(last < number, start, value)
        is_even = now == 2.0 * floor(now / 2.0)
        at_end = now <= 1.0
        following = where(at_end, now, where(is_even, 0.5 * now, factor * now + 1.0))
        again = where(at_end, 0.0, 1.0)
        return np.array([number, following, lengths + again]), again, lengths, now

    program = trace(
        step, {"state": (3,), "given": (2,), "factor": ()}, outputs=["state_next", "again", "lengths", "first"]
    )
    rng = np.random.default_rng(count)
    given = rng.integers(1, 40, (count, 4, substeps)).astype(float)

    def length(number: float) -> int:
        return 0 if number == 1 else 1 + length(number // 2 if number % 2 == 0 else 3 * number + 1)

    steps = np.reshape([length(number) for number in given.ravel()], given.shape)
    passed = np.cumsum(steps.reshape(count, -1), axis=1).reshape(given.shape)
    for run in (Function(program, shape="scan"), compile_numpy(Kernel(program, "scan"), "float64")):
        numbers = np.broadcast_to(np.arange(4.0 * substeps).reshape(4, substeps), given.shape)
        final, again, lengths, first = run([-1.0, 0.0, 0.0], np.stack([numbers, given], axis=-1), 3.0)
        np.testing.assert_array_equal(first, given[..., 0])
        np.testing.assert_array_equal(again, np.minimum(steps[..., 0], 1))
        np.testing.assert_array_equal(lengths, passed[..., 0] - steps[..., 0])
        np.testing.assert_array_equal(final[:, 1:], np.stack([np.ones(count), passed[:, -1, -1]], axis=-1))


@pytest.mark.parametrize("count", [0, 1, 3, 8, 100, 1001])
def test_solve_gives_every_sample_its_own_iterations(count: int) -> None:
    a = 10.0 ** np.random.default_rng(2).uniform(-8, 8, count)
    state = np.tile([1.0, 0.0], (count, 1))
    solve = Function(square_root(), shape="solve")
    result, iterations, done = solve(state, a, 100.0)
    np.testing.assert_allclose(result[:, 0], np.sqrt(a), rtol=1e-15)
    np.testing.assert_array_equal(iterations, result[:, 1])
    assert done.all()
    for k in range(min(count, 20)):  # alone or in company, the same
        np.testing.assert_array_equal(solve(state[k], a[k], 100.0)[0], result[k])


def test_solve_stops_at_its_limit() -> None:
    result, iterations, done = Function(square_root(), shape="solve")(
        np.array([1.0, 0.0]), [1e8, 1.0, 1e-8], [3, 50, 2]
    )
    np.testing.assert_array_equal(iterations, [3, 1, 2])
    np.testing.assert_array_equal(done, [0, 1, 0])
    np.testing.assert_array_equal(result[:, 1], iterations)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_solve_of_one_sample_equals_that_of_a_batch(dtype: str) -> None:
    solve = Function(square_root(), shape="solve", dtype=dtype)
    a, limits = np.array([2.0, 1e6, 1e-8, 1.0], dtype=dtype), [50.0, 50.0, 3.0, 1.0]
    batch = solve(np.tile(np.array([1.0, 0.0], dtype=dtype), (4, 1)), a, limits)
    for k, limit in enumerate(limits):
        one = solve(np.array([1.0, 0.0], dtype=dtype), float(a[k]), limit)
        for own, row in zip(one, batch, strict=True):
            assert own.dtype == dtype
            np.testing.assert_array_equal(own, row[k])
        for form in (solve([1.0, 0.0], a[k : k + 1], [limit]), solve(np.array([[1.0, 0.0]]), float(a[k]), limit)):
            np.testing.assert_array_equal(form[0][0], batch[0][k])


def test_solve_of_one_sample_leaves_the_interpreter_to_others() -> None:
    endless = trace(lambda state: (0.5 * state, 0.0), {"state": (1,)}, name="endless", outputs=["next", "done"])
    solve = Function(endless, shape="solve")
    solve(np.ones(1), 1.0)
    thread = threading.Thread(target=solve, args=(np.ones(1), 2e7))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
    assert turns > 100


def test_loops_without_a_step_are_refused() -> None:
    scan = Function(oscillator(), shape="scan")
    with pytest.raises(ArgumentError, match="at least one step"):
        scan(np.zeros(2), np.zeros((3, 0)), 1.0)
    final, energy, record = scan(np.ones(2), np.zeros((0, 4)), 1.0)
    np.testing.assert_array_equal(final, np.ones(2))
    assert energy.shape == (0,)
    assert record.shape == (0, 2)
    for limit in (0, -1, np.nan, [3, 0]):
        with pytest.raises(ArgumentError, match="max_iterations must be at least 1"):
            Function(square_root(), shape="solve")(np.array([1.0, 0.0]), 2.0, limit)


def test_kernels_refuse_programs_of_the_wrong_form() -> None:
    lonely = trace(lambda x: 2.0 * x, {"x": (3,)}, name="lonely")
    with pytest.raises(ArgumentError, match="second input of a scan must be what changes from step to step"):
        Function(lonely, shape="scan")(1)
    shrinking = trace(lambda x, t: x[:2], {"x": (3,), "t": ()}, name="shrinking")
    with pytest.raises(ArgumentError, match="first input and the first output of a scan must be the state"):
        Function(shrinking, shape="scan")(1, 2)
    with pytest.raises(ArgumentError, match="two outputs"):
        Function(oscillator(), shape="solve")(1, 2, 3)


def test_kernels_have_the_code_of_sines_in_common() -> None:
    """It is generated once a process."""
    programs = [trace(lambda x, k=k: sin(k * x), {"x": ()}, name=f"sine{k}") for k in (2, 3)]
    first, second = (machine.compile_to_objects(write_kernel(Kernel(program), "float64", 2)) for program in programs)
    assert first[0] is second[0]
    assert first[1] != second[1]
    x = np.linspace(-9.0, 9.0, 20)
    for k, program in zip((2, 3), programs, strict=True):
        np.testing.assert_allclose(Function(program)(x), np.sin(k * x), rtol=0.0, atol=1e-15)


def test_called_programs_stay_functions() -> None:
    inner = trace(lambda x: sin(x) * sqrt(1.0 + x @ x), {"x": (3,)}, name="inner")
    function = Function(inner)

    def twice(x):
        from chasles.engine.program.tracing import call_traced

        return call_traced(inner, [call_traced(inner, [x], inline=False)], inline=False)

    program = trace(twice, {"x": (3,)}, name="twice")
    assert sum(i[0] == "call" for i in program.instructions) == 2
    library, assembly = write_kernel(Kernel(program), "float64", machine.lanes("float64"))
    assert re.findall(r"define .*@([\w.]+)\(", library) == ["chasles.sincos_beyond", "chasles.sincos"]
    assert assembly.count("define void @chasles.program") == 2
    x = np.random.default_rng(3).normal(size=(9, 3))
    np.testing.assert_array_equal(Function(program)(x), function(function(x)))


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_every_vector_width_gives_the_same(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = arguments((13,))
    expected = Function(mixed())(*values)
    monkeypatch.setattr(machine, "lanes", lambda dtype: lanes)
    for result, truth in zip(Function(mixed())(*values), expected, strict=True):
        np.testing.assert_array_equal(result, truth)


def test_functions_pickle() -> None:
    function = pickle.loads(pickle.dumps(Function(mixed(), dtype="float32")))
    assert function.dtype == "float32"
    assert function.program == mixed()


def test_only_real_types_are_offered() -> None:
    with pytest.raises(ArgumentError, match="float64"):
        Function(mixed(), dtype="int32")


@needs_direct_calls
@pytest.mark.parametrize("place", ["DATA", "RANK", "DIMENSIONS", "DTYPE", "FLAGS", "FLOAT_VALUE"])
def test_direct_calls_step_aside_where_objects_are_laid_out_differently(
    place: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = getattr(objects, place)
    monkeypatch.setattr(objects, place, known - 8)
    objects.supported.cache_clear()
    try:
        with caplog.at_level("DEBUG", logger=objects.__name__):
            assert not objects.supported()
        assert "objects differ" in caplog.text
        function = Function(mixed())
        x, A = np.ones(3), np.eye(3)
        expected = compile_numpy(Kernel(mixed()), "float64")(x, A, 2.0)
        for _ in range(3):
            for found, truth in zip(function(x, A, 2.0), expected, strict=True):
                np.testing.assert_allclose(found, truth, rtol=1e-14)
    finally:
        objects.supported.cache_clear()
    monkeypatch.undo()
    assert objects.supported()
    objects.supported.cache_clear()


HALF = """
define double @half(double %x) {
  %y = fmul double %x, 0.5
  ret double %y
}
"""


def test_code_ends_without_a_destructor_in_python() -> None:
    """An interrupt during such a destructor is lost: Ctrl-C would not end the program."""
    code = machine.loaded("half", ["half"], lambda: [HALF])
    half = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.address("half"))
    assert half(3.0) == 1.5
    engine, calls = code._engine, []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
    del code
    sys.setprofile(None)
    assert calls == []
    assert not engine.closed
    assert machine.loaded("half", ["half"], lambda: [HALF])
    assert engine.closed
