"""Long programs are cut into several functions of machine code: the same numbers, wherever they are cut."""

from __future__ import annotations

import numpy as np
import pytest
from tests.engine.random_programs import random_program, safe_inputs

from chasles.engine import Function, cache
from chasles.engine.kernels import Kernel
from chasles.engine.targets.native import allocation, functions
from chasles.engine.targets.numpy import compile_kernel as compile_numpy


@pytest.mark.parametrize("longest", [1, 2, 3, 7])
def test_short_functions_compute_what_a_long_one_does(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call gives stays with the call."""
    monkeypatch.setattr(cache, "load", lambda key: None)
    monkeypatch.setattr(cache, "store", lambda key, code: None)
    monkeypatch.setattr(allocation, "LONGEST_FUNCTION", longest)
    monkeypatch.setattr(functions, "LONGEST_MODULE", 2_000 * longest)  # and those functions into modules
    for seed in range(4):
        program = random_program(seed, 30)
        arguments = safe_inputs(program, 20, seed)
        expected = compile_numpy(Kernel(program), "float64")(*arguments)
        for ours, theirs in zip(Function(program)(*arguments), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
