"""Arrays of any batch, layout and type, results that overlap arguments, any number of threads: always the same bits."""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles import geometry, mechanics
from chasles.base.errors import ArgumentError, ChaslesError

SEED = int(os.environ.get("CHASLES_ATTACK_SEED", "1"))
ARM = ch.load("planar2r")


def computations() -> dict[str, Callable[..., Any]]:
    """All computations of a robot, with a frame where one must be named."""
    found = {}
    for name, computation in mechanics.computations().items():
        required = {"frame": "body"} if "frame" in computation.options else {}
        try:
            found[name] = attrgetter(name)(ARM).specialize(**required)
        except ArgumentError:  # the inertia that a planar arm does not have in space
            continue
    return found


def formulas() -> dict[str, Callable[..., Any]]:
    """All formulas of geometry that can be called without options."""
    found = {}
    for name in geometry.__all__:
        formula = getattr(geometry, name)
        if isinstance(formula, geometry.Batched) and not formula._dtypes:
            try:
                found[name] = formula.specialize()
            except TypeError:  # an option must be chosen
                continue
    return found


def arranged(rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
    """The same numbers in another layout."""
    layout = rng.integers(6)
    if layout == 0:
        return values
    if layout == 1:
        return np.asfortranarray(values)
    if layout == 2:
        return np.ascontiguousarray(values[::-1])[::-1] if values.ndim else values
    if layout == 3:
        wide = np.empty((*values.shape, 2))
        wide[..., 0] = values
        return wide[..., 0]
    if layout == 4:
        return values.astype(">f8")
    room = np.empty(values.nbytes + 1, np.uint8)[1:]
    unaligned: np.ndarray = np.ndarray(values.shape, np.float64, room.data)
    unaligned[...] = values
    return unaligned


def samples(rng: np.random.Generator, function: Any, batch: tuple[int, ...]) -> list[np.ndarray]:
    """Arguments of which some leave out leading axes of the batch."""
    return [
        rng.normal(size=(*batch[rng.integers(len(batch) + 1) :], *argument.shape))
        for argument in function.program.inputs
    ]


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def attack(function: Any, rng: np.random.Generator, largest: int) -> None:
    """Call a function once with a whole batch and once for each sample of some, in all kinds of arrays."""
    batch = tuple(rng.integers(1, [largest + 1, 4][: rng.integers(1, 3)]))
    arguments = samples(rng, function, batch)
    arguments[0] = rng.normal(size=(*batch, *function.program.inputs[0].shape))  # one has the whole batch
    with ch.threads(1):
        expected = as_tuple(function(*arguments))
    with ch.threads(int(rng.integers(1, 4))):
        for found, truth in zip(as_tuple(function(*[arranged(rng, a) for a in arguments])), expected, strict=True):
            np.testing.assert_array_equal(found, truth)
        inputs = function.program.inputs
        spread = [np.broadcast_to(a, (*batch, *i.shape)) for a, i in zip(arguments, inputs, strict=True)]
        for _ in range(3):
            index = tuple(int(rng.integers(size)) for size in batch)
            for found, truth in zip(as_tuple(function(*[a[index] for a in spread])), expected, strict=True):
                np.testing.assert_array_equal(found, truth[index])
        overlapping(function, rng, arguments, expected)


def overlapping(
    function: Any, rng: np.random.Generator, arguments: list[np.ndarray], expected: tuple[Any, ...]
) -> None:
    """Write the results over one of the arguments, shifted, turned or not."""
    which = int(rng.integers(len(arguments)))
    victim, result = arguments[which], np.asarray(expected[0])
    room = np.zeros(victim.size + result.size + 8)
    start, end = rng.integers(0, 8, 2)
    source = room[start : start + victim.size].reshape(victim.shape)
    out = room[end : end + result.size].reshape(result.shape)
    if rng.random() < 0.5 and out.ndim:
        out = out[::-1]
    source[...] = victim
    changed = list(arguments)
    changed[which] = source
    if len(expected) == 1:
        function(*changed, out=out)
    else:
        function(*changed, out=(out, *[np.empty_like(other) for other in expected[1:]]))
    np.testing.assert_array_equal(out, expected[0])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", computations())
def test_computations(name: str) -> None:
    rng = np.random.default_rng([SEED, len(name)])
    for _ in range(5):
        attack(computations()[name], rng, 40)


@pytest.mark.slow
def test_many_calls_of_everything() -> None:
    rng = np.random.default_rng(SEED)
    functions = computations() | formulas()
    assert len(functions) > 150
    for round_ in range(2):
        for name, function in functions.items():
            try:
                attack(function, rng, 30 if round_ % 2 else 60_000)
            except AssertionError as error:
                raise AssertionError(f"{name}, seed {SEED}, round {round_}: {error}") from None
            except ChaslesError as error:
                raise AssertionError(f"{name} refuses numbers: {error}") from None


def test_wrong_arrays_are_refused_and_leave_results_alone() -> None:
    rng = np.random.default_rng(SEED)
    wrong = (np.zeros((2, 3)), np.zeros(0), 1.0, "q", None, [[1.0], [2.0, 3.0]], np.zeros(2) + 1j, object(), {"q": 1.0})
    for name, function in computations().items():
        arguments = samples(rng, function, (2,))
        for value in wrong:
            out = np.full(np.shape(as_tuple(function(*arguments))[0]), 7.0)
            bad = [value, *arguments[1:]]
            with pytest.raises((ChaslesError, TypeError, ValueError)):
                function(*bad, **({"out": out} if len(function.program.outputs) == 1 else {}))
            assert (out == 7.0).all(), name
