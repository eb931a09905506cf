"""Empty arguments and results leave the others to machine code, and are checked and broadcast as they are by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.engine import Function, sin, trace
from chasles.engine.kernels.empty_arrays import BesideEmpty
from chasles.engine.running.compiling import native_available

NONE = np.zeros(0)


def law(x: Any, memory: Any) -> tuple[Any, Any, Any]:
    return sin(x), 2.0 * memory, x.sum()


def function() -> Function:
    return Function(trace(law, {"x": (3,), "memory": (0,)}, outputs=["tau", "following", "total"], name="law"))


def test_the_rest_is_computed_as_without_them() -> None:
    compute, x = function(), np.linspace(-1.0, 1.0, 12).reshape(4, 3)
    alone = Function(trace(lambda x: (sin(x), x.sum()), {"x": (3,)}))
    assert not native_available() or isinstance(compute._runner._compile("few"), BesideEmpty)
    for given in (x[0], x, x[:, ::-1], np.ones((30, 3))):
        tau, following, total = compute(given, NONE)
        for found, expected in zip((tau, total), alone(given), strict=True):
            np.testing.assert_array_equal(found, expected)
        assert following.shape == (*given.shape[:-1], 0)
    assert isinstance(compute(x[0], NONE)[2], np.float64)
    tau, following, total = compute(x[0], np.zeros((5, 1, 0)))  # the batch of an empty array counts
    assert (tau.shape, following.shape, total.shape) == ((5, 1, 3), (5, 1, 0), (5, 1))
    out = np.empty((4, 3)), np.empty((4, 0)), np.empty(4)
    compute(x, NONE, out=out)
    np.testing.assert_array_equal(out[0], np.asarray(alone(x)[0]))


@pytest.mark.parametrize(
    ("arguments", "out", "message"),
    [
        ((np.ones(3), np.ones(1)), None, r"memory has shape \(1,\); expected \(\.\.\., 0\)"),
        ((np.ones(4), NONE), None, r"x has shape \(4,\); expected \(\.\.\., 3\)"),
        ((np.ones((2, 3)), np.ones((3, 0))), None, "do not broadcast"),
        ((np.ones(3), NONE), (np.empty(3), np.empty(1), np.empty(())), "out, for following, has shape"),
    ],
)
def test_shapes_that_do_not_fit(arguments: tuple[Any, ...], out: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        function()(*arguments, out=out)


def test_scans_and_solves() -> None:
    step = trace(lambda s, g, p: (s + g, 2.0 * s, p), {"s": (2,), "g": (), "p": (0,)}, outputs=["n", "r", "e"])
    final, recorded, empty = Function(step, shape="scan")(np.zeros(2), np.ones((5, 1)), NONE)
    np.testing.assert_array_equal(final, [5.0, 5.0])
    np.testing.assert_array_equal(recorded[:, 0], [0.0, 2.0, 4.0, 6.0, 8.0])
    assert empty.shape == (5, 0)
    halved = trace(lambda s, p: (0.5 * s, 0.0), {"s": (1,), "p": (0,)}, outputs=["n", "done"])
    state, iterations, done = Function(halved, shape="solve")(np.ones(1), NONE, 3)
    assert (state.tolist(), iterations, done) == ([0.125], 3.0, 0.0)


def test_nothing_but_empty_arrays() -> None:
    double = Function(trace(lambda q: 2.0 * q, {"q": (0,)}, name="double"))
    assert double(np.zeros((4, 0))).shape == (4, 0)
