"""The WebAssembly target: modules in a real engine, against the NumPy target."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import wasmtime
from hypothesis import given, settings
from tests.engine.random_programs import folded, programs, random_program, safe_inputs
from tests.engine.run_wasm import Loaded, description

from chasles.base.errors import ArgumentError
from chasles.engine import (
    Argument,
    Function,
    Program,
    absolute,
    atan2,
    floor,
    maximum,
    minimum,
    sign,
    sin,
    trace,
    where,
)
from chasles.engine.derivatives import jacobian
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.targets.numpy import NumpyKernel, NumpyScan, NumpySolve
from chasles.engine.targets.wasm import lower, lowering


def _agree(program: Program, count: int = 5, tolerance: float = 1e-11) -> None:
    arguments = safe_inputs(program, count, seed=9)
    expected = NumpyKernel(program)(*arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    results = Loaded(lower({"f": Kernel(program)})).call("f", *arguments)
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * (1.0 + np.abs(theirs).max()))


@given(programs())
@settings(max_examples=60)
def test_random_programs_agree_with_numpy(program: Program) -> None:
    _agree(program)
    _agree(folded(program))


def test_derivatives_of_random_programs_agree_with_numpy() -> None:
    for seed in range(6):
        _agree(jacobian(random_program(seed)))


@pytest.mark.parametrize("longest", [1, 2, 3, 7])
def test_short_functions_compute_what_a_long_one_does(longest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering, "LONGEST_FUNCTION", longest)
    for seed in range(4):
        _agree(random_program(seed, 30), tolerance=1e-10)


def test_long_programs_are_cut_into_functions() -> None:
    def function(x: Any) -> Any:
        for k in range(5000):
            x = sin(x) + 0.001 * k
        return x

    _agree(trace(function, {"x": ()}, name="long_chain"))


def _heron(x: Any, a: Any) -> Any:
    new = (x + a / x) / 2
    return new, where(absolute(new - x)[0] < 1e-12, 1.0, 0.0)


def test_solves_stop_when_done_or_when_the_iterations_are_used_up() -> None:
    program = trace(_heron, {"x": (1,), "a": ()}, name="root")
    x, a = np.full((6, 1), 1.0), np.array([4.0, 9.0, 2.0, 1e6, 4.0, 4.0])
    allowed = np.array([20.0, 20.0, 20.0, 3.0, 0.0, np.nan])
    ours = Loaded(lower({"root": Kernel(program, "solve")})).call("root", x, a, allowed)
    for mine, theirs in zip(ours, NumpySolve(program)(x, a, allowed), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def _bouncing(state: Any, given: Any, k: Any) -> Any:
    x, v = state
    below = where(x < 0.0, 1.0, 0.0)
    following = np.array([x + given[0] * v, where(x < 0.0, -0.9 * v, v - given[0] * k)])
    return following, np.array([[x, v], [v, k]]), below


@pytest.mark.parametrize(("samples", "calls"), [(1, 1), (7, 3), (30, 1), (0, 2)])
def test_scans_step_through_time(samples: int, calls: int) -> None:
    shapes: Any = {"state": (2,), "given": (2,), "k": ()}
    program = trace(_bouncing, shapes, name="bounce", outputs=["state", "seen", "below"])
    rng = np.random.default_rng(3)
    arguments = rng.normal(size=(4, 2)), rng.uniform(0, 0.2, size=(4, samples, calls, 2)), rng.uniform(1, 9, size=4)
    ours = Loaded(lower({"bounce": Kernel(program, "scan")})).call("bounce", *arguments)
    for mine, theirs in zip(ours, NumpyScan(program)(*arguments), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-15)


def _halving(state: Any, limit: Any) -> Any:
    x, count = state
    above = x > limit
    return np.array([where(above, x / 2, x), where(above, count + 1, count)]), where(above, 1.0, 0.0), x


def test_steps_of_scans_are_repeated_while_they_ask_for_it() -> None:
    program = trace(_halving, {"state": (2,), "limit": ()}, name="halve", outputs=["state", "again", "x"])
    kernel = Kernel(program, "scan")
    assert kernel.repeats
    arguments = np.array([[9.0, 0.0], [0.1, 0.0], [1e5, 0.0]]), np.tile([[4.0, 2.0], [1.0, 0.01]], (3, 1, 1))
    ours = Loaded(lower({"halve": kernel})).call("halve", *arguments)
    for mine, theirs in zip(ours, NumpyScan(program)(*arguments), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def _special(x: Any) -> Any:
    pairs = [(x[0], x[1]), (x[1], x[0])]
    rows = [f(a, b) for f in (minimum, maximum, atan2) for a, b in pairs]
    tests = [where((a < b) & ~(a == b) | (b <= a), 1.0, 2.0) for a, b in pairs]
    powers = [x[0] ** x[1], x[0] ** 3, x[0] ** -2.5, x[0] / 0]
    return np.array([*rows, *tests, *powers, sign(x[0]), floor(x[0]), -x[0], np.inf * x[0], where(x[0] < 0, np.nan, 1)])


def test_special_numbers() -> None:
    program = trace(_special, {"x": (2,)}, name="special")
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]
    x = np.array([[a, b] for a in numbers for b in numbers])
    (ours,) = Loaded(lower({"f": Kernel(program)})).call("f", x)
    np.testing.assert_allclose(ours, NumpyKernel(program)(x), rtol=1e-14)


def test_constants_are_exact() -> None:
    constants = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -2.5e-17, np.pi, np.inf, -np.inf]
    program = trace(lambda x: np.array([where(x > 0, c, 1.0) for c in constants]), {"x": ()}, name="constants")
    (values,) = Loaded(lower({"f": Kernel(program)})).call("f", [1.0])
    assert values.tobytes() == np.array(constants).tobytes()


def test_unused_and_empty_arguments() -> None:
    program = trace(lambda q, x: (q, 2.0), {"q": (0,), "x": ()}, name="unused", outputs=["none", "two"])
    nothing = Program("nothing", (), (Argument("one", ()),), (("constant", 1.0),), (0,))
    module = Loaded(lower({"unused": Kernel(program), "nothing": Kernel(nothing)}))
    assert module.call("unused", np.zeros((3, 0)), [1.0, 2.0, 3.0])[1].tolist() == [2.0, 2.0, 2.0]
    assert module.call("nothing", np.zeros((1, 0)))[0].tolist() == [1.0]


@pytest.mark.parametrize("name", ["", "θ", '"', "\\", "x" * 5000, "\ud800", "a\0b"])
def test_names_are_free(name: str) -> None:
    program = trace(lambda x: 2 * x, {"in": ()}, name=name, outputs=[name])
    lowered = lower({name: Kernel(program)})
    wasmtime.Module(wasmtime.Engine(), lowered.binary)
    (kernel,) = json.loads(description(lowered.binary))["kernels"]
    assert (kernel["name"], kernel["inputs"]) == (name, [{"name": "in", "shape": []}])


def test_what_cannot_be_lowered_is_said() -> None:
    with pytest.raises(ArgumentError, match="cannot be called 'memory'"):
        Function(trace(lambda x: x, {"x": ()}, name="memory")).to_wasm()
    with pytest.raises(ArgumentError, match=r"must end in \.wasm or \.js, not 'f\.txt'"):
        Function(trace(lambda x: x, {"x": ()})).to_wasm().save("f.txt")
    with pytest.raises(ArgumentError, match="cannot be written"):
        Function(trace(lambda x: x, {"x": ()})).to_wasm().save("/no/such/folder/f.wasm")
