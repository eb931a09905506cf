"""Results leave as square blocks: rows of all sizes, results that repeat, arrays whose numbers are no neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.random_programs import random_program, safe_inputs
from tests.thinning import thinned

from chasles.engine import Function, Program, trace
from chasles.engine.kernels import cache
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.native import functions, kernels, machine, result_layout
from chasles.engine.targets.numpy import compile_kernel as compile_numpy

GUARD = 123.0


def rows(size: int) -> Program:
    """A program with rows of computed, repeated, constant and given numbers."""

    def compute(x):
        row = [(-x[0], 2.0, x[1], x[0] * x[1], 0.0, -x[0])[k % 6] for k in range(size)]
        return np.array(row, dtype=object), np.array([*row[::-1], x[0] + size], dtype=object)

    return trace(compute, {"x": (2,)}, name="rows", outputs=["row", "reversed"])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", thinned([1, 2, 3, 7, 8, 15, 9, 31, 16, 33, 17, 300], keep=4))
def test_rows_of_all_sizes_arrive_and_nothing_around_them_changes(size: int, dtype: str) -> None:
    function = Function(rows(size), dtype=dtype)
    reference = compile_numpy(Kernel(rows(size)), dtype)
    for count in (1, 7, 8, 9, 17):
        x = np.random.default_rng(size).normal(size=(count, 2)).astype(dtype)
        expected = reference(x)
        for name, out, around in guarded_outputs(count, size, dtype):
            function(x, out=out)
            for array, truth in zip(out, expected, strict=True):
                np.testing.assert_array_equal(array, truth, err_msg=name)
                array[...] = GUARD
            assert all((memory == GUARD).all() for memory in around), name


def guarded_outputs(count: int, size: int, dtype: str) -> list[tuple[str, tuple[np.ndarray, ...], list[np.ndarray]]]:
    """Arrays for the results inside larger ones: dense rows, rows apart, numbers apart, and numbers in reverse."""
    cuts = {
        "dense": lambda width: np.full((count + 2, width), GUARD, dtype)[1:-1],
        "rows apart": lambda width: np.full((count + 2, width + 3), GUARD, dtype)[1:-1, 1:-2],
        "numbers apart": lambda width: np.full((count + 2, 2 * width), GUARD, dtype)[1:-1, ::2],
        "in reverse": lambda width: np.full((count + 2, width), GUARD, dtype)[-2:0:-1, ::-1],
        "turned": lambda width: np.full((width, count + 2), GUARD, dtype)[:, 1:-1].T,
    }
    made = []
    for name, cut in cuts.items():
        out = tuple(cut(width) for width in (size, size + 1))
        made.append((name, out, [array.base for array in out]))
    return made


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_narrower_vectors_deliver_the_same(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(13, 2))
    expected = Function(rows(21))(x)
    monkeypatch.setattr(machine, "lanes", lambda dtype: lanes)
    for result, truth in zip(Function(rows(21))(x), expected, strict=True):
        np.testing.assert_array_equal(result, truth)


@pytest.mark.parametrize(("size", "dtype"), [(21, "float64"), (31, "float32")])
def test_results_past_the_caches_are_the_same(size: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(43, 2)).astype(dtype)
    expected = Function(rows(size), dtype=dtype)(x)
    monkeypatch.setattr(cache, "load", lambda key: None)
    monkeypatch.setattr(cache, "store", lambda key, code: None)
    monkeypatch.setattr(kernels, "_STREAMED", 0)
    streaming = Function(rows(size), dtype=dtype)
    for offset in (0, 1):  # numbers behind an address that streams may begin at
        memory = [np.full(43 * width + 64, GUARD, dtype) for width in (size, size + 1)]
        starts = [-m.ctypes.data // m.itemsize % (64 // m.itemsize) + offset for m in memory]
        cuts = [m[k : k + 43 * width] for m, k, width in zip(memory, starts, (size, size + 1), strict=True)]
        streaming(x, out=tuple(cut.reshape(43, -1) for cut in cuts))
        for cut, truth in zip(cuts, expected, strict=True):
            np.testing.assert_array_equal(cut.reshape(43, -1), truth)
            cut[:] = GUARD
        assert all((m == GUARD).all() for m in memory)


@pytest.mark.parametrize(("streamed", "dtype"), [(0, "float64"), (1 << 60, "float32")])
def test_results_whose_lines_are_claimed_are_the_same(
    streamed: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs of many operations claim the memory of their results in advance, wherever it is."""
    monkeypatch.setattr(cache, "load", lambda key: None)
    monkeypatch.setattr(cache, "store", lambda key, code: None)
    monkeypatch.setattr(kernels, "_STREAMED", streamed)

    def compute(x):
        powers = [x[0]]
        for k in range(120):
            powers.append(powers[-1] * x[1] + 0.1 * k)
        return np.array(powers[::17], dtype=object), np.array(powers[1::10], dtype=object)

    program = trace(compute, {"x": (2,)}, name="busy", outputs=["first", "second"])
    few, many = ("\n".join(kernels.write_kernel(Kernel(program), dtype, 8, width)) for width in ("few", "many"))
    claim = "ptr %result1, i64"
    assert claim in many
    assert claim not in few
    function = Function(program, dtype=dtype)
    x = np.random.default_rng(0).uniform(-0.9, 0.9, (37, 2)).astype(dtype)
    expected = [np.array(column) for column in zip(*map(function, x), strict=True)]
    sizes = [argument.size for argument in program.outputs]
    outs = {
        "new": None,
        "dense": tuple(np.empty((37, size), dtype) for size in sizes),
        "rows apart": tuple(np.empty((37, 2, size), dtype)[:, 1] for size in sizes),
        "turned": tuple(np.empty((size, 37), dtype).T for size in sizes),
    }
    for name, out in outs.items():
        for result, truth in zip(function(x, out=out), expected, strict=True):
            np.testing.assert_array_equal(result, truth, err_msg=name)
    monkeypatch.setattr(result_layout, "_MOST_LINES", 3)
    assert claim not in "\n".join(kernels.write_kernel(Kernel(program), dtype, 8, "many"))


@pytest.mark.parametrize("registers", thinned([3, 5, 9]))
def test_values_wait_in_memory_unharmed(registers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few registers nearly everything is kept and fetched again."""
    monkeypatch.setattr(cache, "load", lambda key: None)
    monkeypatch.setattr(cache, "store", lambda key, code: None)
    monkeypatch.setattr(functions, "registers", lambda: registers)
    for seed in range(3):
        program = random_program(seed, 60)
        arguments = safe_inputs(program, 20, seed)
        expected = compile_numpy(Kernel(program), "float64")(*arguments)
        for ours, theirs in zip(Function(program)(*arguments), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
