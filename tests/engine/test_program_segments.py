"""Long programs are cut into several functions of machine code: the same numbers, wherever they are cut."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.random_programs import random_program, safe_inputs
from tests.thinning import thinned

from chasles.engine import Function, trace
from chasles.engine.kernels import cache
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.running.runner import INLINE_LIMIT
from chasles.engine.targets.native import allocation, module
from chasles.engine.targets.numpy import compile_kernel as compile_numpy


@pytest.mark.parametrize("longest", thinned([2, 1, 3, 7]))
def test_short_functions_compute_what_a_long_one_does(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call gives stays with the call."""
    monkeypatch.setattr(cache, "load", lambda key: None)
    monkeypatch.setattr(cache, "store", lambda key, code: None)
    monkeypatch.setattr(allocation, "LONGEST_FUNCTION", longest)
    monkeypatch.setattr(module, "LONGEST_MODULE", 2_000 * longest)  # and those functions into modules
    for seed in range(4):
        program = random_program(seed, 30)
        arguments = safe_inputs(program, 20, seed)
        expected = compile_numpy(Kernel(program), "float64")(*arguments)
        for ours, theirs in zip(Function(program)(*arguments), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


def test_arguments_that_a_call_shares_with_the_one_before_are_stored_once() -> None:
    """Changed, repeated and swapped arguments of two programs that are called in turn."""

    def long(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        total = x * y
        for k in range(INLINE_LIMIT):
            total = total * x + y * (k % 3)
        return total

    first = Function(trace(long, {"x": (2,), "y": (2,)}, name="first"))
    second = Function(trace(lambda x, y: long(y, x) + 1.0, {"x": (2,), "y": (2,)}, name="second"))

    def together(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        turned = b[::-1]
        given = [(a, b), (a, turned), (b, a), (first(a, b), a), (np.array([b[0], a[0]]), turned), (a, a), (a, b)]
        return np.array([f(x, y) for x, y in given for f in (first, second)])

    program = trace(together, {"a": (2,), "b": (2,)}, name="together")
    assert len(program.programs) == 2
    calls = allocation.stored_arguments(program)
    assert [len(calls[index]) for index in sorted(calls)][:4] == [4, 4, 2, 2]
    a, b = np.random.default_rng(3).uniform(-0.9, 0.9, (2, 11, 2))
    eager = np.array([together(*pair) for pair in zip(a, b, strict=True)])
    np.testing.assert_allclose(Function(program)(a, b), eager, rtol=1e-13)
