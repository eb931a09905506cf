"""Results of direct calls are given again only when nobody can see it."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.engine.direct_calls import needs_direct_calls

import chasles as ch
from chasles.engine import Function, trace

pytestmark = needs_direct_calls

SIZE = 3


@pytest.fixture
def pair() -> Function:
    """A function of two results, the square of x and its outer product."""
    program = trace(lambda x: (x * x, np.outer(x, x)), {"x": (SIZE,)}, name="pair", outputs=["square", "outer"])
    function = Function(program)
    function(np.zeros(SIZE))
    return function


@pytest.fixture
def single() -> Function:
    """A function of one result, twice x."""
    function = Function(trace(lambda x: 2.0 * x, {"x": (SIZE,)}, name="single"))
    function(np.zeros(SIZE))
    return function


def arguments(count: int) -> list[np.ndarray]:
    return [np.array([k, k + 0.5, -k], dtype=float) for k in range(count)]


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_what_nobody_holds_is_given_again(pair: Function, single: Function) -> None:
    seen = {address(single(x)) for x in arguments(20)}
    assert len(seen) <= 2
    seen = set()
    for x in arguments(20):
        square, outer = pair(x)  # both names hold the results of the call before during the call
        np.testing.assert_array_equal(square, x * x)
        np.testing.assert_array_equal(outer, np.outer(x, x))
        seen.add(address(outer))
    assert len(seen) <= 3


#: What a caller may keep of a result, and how its numbers are read later.
KEEPS: dict[str, Callable[[np.ndarray], Any]] = {
    "the array": lambda a: a,
    "a row": lambda a: a[0],
    "a transposed view": lambda a: a.T,
    "a flat view": lambda a: a.reshape(-1),
    "a buffer": memoryview,
    "an iterator": lambda a: a.flat,
    "another type's view": lambda a: a.view(np.int64),
    "a list": lambda a: [a],
    "a default": lambda a: lambda held=a: held,
    "C pointer": lambda a: a.ctypes,
    "dlpack": np.from_dlpack,
    "an iteration": iter,
}


def numbers(kept: Any) -> Any:
    if isinstance(kept, list):
        kept = kept[0]
    if callable(kept) and not isinstance(kept, np.ndarray):
        kept = kept()
    if hasattr(kept, "data_as"):
        kept = kept._arr
    if not isinstance(kept, np.ndarray | memoryview | np.flatiter):
        return None  # iterators: read once, below
    return np.array(kept)


@pytest.mark.parametrize("keep", KEEPS.values(), ids=KEEPS)
def test_what_is_held_stays_as_it_is(keep: Callable[[np.ndarray], Any], pair: Function) -> None:
    held, before = [], []
    for x in arguments(8):
        kept = keep(pair(x)[1])
        held.append(kept)
        before.append(numbers(kept))
    for k, (kept, known) in enumerate(zip(held, before, strict=True)):
        if known is None:
            x = arguments(8)[k]
            np.testing.assert_array_equal(np.array(list(kept)), np.outer(x, x))
        else:
            np.testing.assert_array_equal(numbers(kept), known)


def test_tuples_that_are_held_stay_as_they_are(pair: Function) -> None:
    held = [pair(x) for x in arguments(8)]
    for x, (square, outer) in zip(arguments(8), held, strict=True):
        np.testing.assert_array_equal(square, x * x)
        np.testing.assert_array_equal(outer, np.outer(x, x))


def test_one_array_of_a_tuple_can_be_held_alone(pair: Function) -> None:
    outers = [pair(x)[1] for x in arguments(8)]
    for x, outer in zip(arguments(8), outers, strict=True):
        np.testing.assert_array_equal(outer, np.outer(x, x))


@pytest.mark.parametrize(
    "change",
    [
        lambda a: setattr(a, "shape", (SIZE * SIZE,)),
        lambda a: setattr(a, "dtype", np.int64),
        lambda a: a.setflags(write=False),
        lambda a: a.resize((1, SIZE), refcheck=False),
    ],
    ids=["shape", "dtype", "flags", "size"],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_arrays_that_were_changed_are_not_given_again(change: Callable[[np.ndarray], None], pair: Function) -> None:
    for x in arguments(6):
        change(pair(x)[1])
        square, outer = pair(x)
        assert (outer.shape, outer.dtype, outer.flags.writeable) == ((SIZE, SIZE), np.float64, True)
        np.testing.assert_array_equal(outer, np.outer(x, x))
        np.testing.assert_array_equal(square, x * x)
        del square, outer


def test_weak_references_die_and_never_see_other_numbers(single: Function) -> None:
    result = single(np.ones(SIZE))
    seen = weakref.ref(result)
    del result
    for x in arguments(6):
        single(x)
        assert seen() is None or (seen() == 2.0).all()
    gc.collect()
    assert seen() is None


def test_calls_inside_what_runs_when_a_result_is_freed(single: Function) -> None:
    inner = []

    def freed(_: object) -> None:
        inner.append(single(np.full(SIZE, 100.0)))

    watched = []
    for x in arguments(10):
        result = single(x)
        watched.append(weakref.ref(result, freed))
        np.testing.assert_array_equal(result, 2.0 * x)
        following = single(x + 1.0)
        np.testing.assert_array_equal(result, 2.0 * x)
        np.testing.assert_array_equal(following, 2.0 * (x + 1.0))
        del result, following
    assert len(inner) == len(watched)
    assert all((array == 200.0).all() for array in inner)


def test_results_may_be_arguments_of_the_next_call(single: Function) -> None:
    x = np.ones(SIZE)
    for k in range(1, 12):
        x = single(x)
        assert (x == 2.0**k).all()
    assert (single(single(single(np.ones(SIZE)))) == 8.0).all()


def test_threads_do_not_see_each_others_results() -> None:
    arm = ch.load("planar2r")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 2))
    expected = arm.mass_matrix(q)
    wrong: list[int] = []

    def work(start: int) -> None:
        for _ in range(5):
            held = [arm.mass_matrix(q[k]) for k in range(start, 200, 4)]
            if not np.array_equal(held, expected[start::4]):
                wrong.append(start)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_functions_and_their_kept_results_are_freed() -> None:
    function = Function(trace(lambda x: 2.0 * x, {"x": (SIZE,)}, name="freed"))
    function(np.ones(SIZE))
    result = function(np.ones(SIZE))
    seen = weakref.ref(result)
    del result
    assert seen() is not None  # kept for the call after next
    del function
    gc.collect()
    assert seen() is None
