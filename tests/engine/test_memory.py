"""Memory of large results is used again, and never while somebody holds it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import chasles as ch
from chasles.engine import Function, trace
from chasles.engine.cpython import memory, switch

pytestmark = pytest.mark.skipif(not switch.is_on(), reason="memory is used again where references are counted")

LARGE = (400, 512)  # of doubles: more than the smallest that is kept


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_kept", [])


def test_memory_comes_again_when_an_array_is_gone() -> None:
    first = memory.empty(LARGE, "float64")
    place = first.ctypes.data
    del first
    assert memory.empty(LARGE, "float64").ctypes.data == place
    assert memory.empty((800, 480), "float32").ctypes.data == place  # smaller, but not less than half
    assert len(memory._kept) == 1


def test_memory_that_is_held_is_left_alone() -> None:
    holders = {
        "the array": lambda array: array,
        "a row": lambda array: array[3],
        "a turned part": lambda array: array.T[::2, 5],
        "other numbers": lambda array: array.view(np.int64),
        "a buffer": lambda array: memoryview(array),
        "an iterator": lambda array: iter(array),
    }
    for name, hold in holders.items():
        array = memory.empty(LARGE, "float64")
        held = hold(array)
        place = array.ctypes.data
        del array
        assert memory.empty(LARGE, "float64").ctypes.data != place, name
        del held


def test_arrays_are_as_those_of_numpy() -> None:
    for dtype in ("float64", "float32"):
        array = memory.empty((800, 512), dtype)
        assert array.shape == (800, 512)
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.flags.writeable
        assert array.ctypes.data % 64 == 0


def test_small_and_huge_arrays_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.empty((10, 10), "float64")
    monkeypatch.setattr(memory, "MOST", memory.SMALLEST)
    memory.empty((1, memory.SMALLEST), "float64")
    assert not memory._kept


def test_what_is_kept_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST", 4 * 8 * 400 * 512)
    arrays = [memory.empty(LARGE, "float64") for _ in range(9)]
    for k, array in enumerate(arrays):
        array[...] = k
    assert sum(block.size for block, _ in memory._kept) <= memory.MOST + 64
    assert all((array == k).all() for k, array in enumerate(arrays))
    monkeypatch.setattr(memory, "_MOST_BLOCKS", 2)
    assert memory.empty((1, memory.SMALLEST), "float64").shape == (1, memory.SMALLEST)
    assert len(memory._kept) == 2


def test_results_of_calls_on_one_thread_take_memory_of_earlier_ones() -> None:
    function = Function(trace(lambda x: np.array([x, 2.0 * x, x * x]), {"x": ()}, name="powers"))
    x = np.arange(50_000.0)
    places = set()
    for _ in range(5):
        found = function(x)
        assert found.shape == (50_000, 3)
        np.testing.assert_array_equal(found[:, 2], x * x)
        places.add(found.ctypes.data)
        del found
    assert len(places) == 1
    assert len(memory._kept) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_results_stay_what_they_are_while_others_are_computed(threads: int) -> None:
    function = Function(trace(lambda x: (np.outer(x, x), x + 1.0), {"x": (6,)}, name="squares"))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=(20_000, 6)) for _ in range(12)]

    def compute(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        function(x)  # dropped: its memory is used again
        return function(x)

    with ch.threads(threads), ThreadPoolExecutor(4) as pool:
        for x, (outer, more) in zip(given, pool.map(compute, given), strict=True):
            np.testing.assert_array_equal(outer, x[:, :, None] * x[:, None, :])
            np.testing.assert_array_equal(more, x + 1.0)
