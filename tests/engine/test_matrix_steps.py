"""Steps on matrices: machine code of every vector width against NumPy, elimination against inverses, and abuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.engine import trace
from chasles.engine.kernels.shapes import Kernel
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import Given, above, beside, eliminate, solve
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.targets.numpy import compile_kernel as compile_numpy

Step = Callable[..., tuple[Any, dict[str, Any]]]


def products(X: Any, U: Any, V: Any, c: Any) -> tuple[Any, dict[str, Any]]:
    """Products, sums and multiples, each operand transposed or not; X is square."""
    Y = X @ U  # used three times
    after = 0.25 * X + U @ Y.mT - 0.5 * (X.mT @ X)
    return 0.125 * after, {"Y": Y + 2.0 * V, "Z": -(Y.mT @ V), "state": X, "turned": U.mT}


def parts(X: Any, U: Any, V: Any, c: Any) -> tuple[Any, dict[str, Any]]:
    """Parts and matrices side by side, as factors and as results."""
    joined = beside(beside(V, X), U)
    middle = joined[..., 1:, 2:]
    square = middle @ middle.mT
    results = {"middle": middle, "square": square, "corner": square[..., :-1, 1:], "gram": U.mT @ joined}
    return 0.05 * X + X, results


def stacks(X: Any, U: Any, V: Any, c: Any) -> tuple[Any, dict[str, Any]]:
    """Matrices above one another, with zeros among them."""
    stacked = above(above(0.0 * U.mT, V.mT @ X), 0.5 * X)
    beyond = X.mT @ X + above(0.0 * X[..., :1, :], X[..., 1:, :])
    results = {"stacked": stacked, "gram": stacked.mT @ stacked, "beyond": beyond, "column": above(X @ c, c)}
    return 0.05 * X + above(X[..., 1:, :], c.mT @ X), results | {"joined": beside(beside(0.0 * V, X), 0.0 * c)}


def columns(X: Any, U: Any, V: Any, c: Any) -> tuple[Any, dict[str, Any]]:
    """Products with a single column, and a single row."""
    d = X @ c - U @ (U.mT @ c)
    return X - 0.01 * (d @ d.mT), {"d": d, "part": d[..., 1:, :], "row": c.mT @ X, "of part": X[..., :, 1:2] + d}


def eliminations(X: Any, U: Any, V: Any, c: Any) -> tuple[Any, dict[str, Any]]:
    """Elimination of a part and solution of a whole system; X stays positive definite."""
    S = X @ X.mT
    n = U.shape[-1]
    gains, rest = eliminate(S, n)
    return 0.5 * X + X.mT @ solve(S, X), {"gains": gains, "rest": rest, "solved": solve(S, V), "one": solve(S, c)}


def call(step: Step, n: int, m: int, *, backward: bool = False) -> Callable[..., tuple[np.ndarray, ...]]:
    given = {"U": (n, m), "V": (n, m), "c": (n, 1)}
    scan = MatrixScan(step, start="first", end="last", state=(n, n), given=given, backward=backward)
    samples = [name for name in scan.at_each_step if name not in given]
    return MatrixCall("steps", [scan], ["U", "V", "c", "first"], ["last", *samples])


def drawn(n: int, m: int, batch: tuple[int, ...] = (), steps: int = 3) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    first = 2.0 * np.eye(n) + 0.3 * rng.normal(size=(n, n)) / np.sqrt(n)
    return [rng.normal(size=(*batch, steps, n, k)) / np.sqrt(n) for k in (m, m, 1)] + [first]


@pytest.mark.parametrize("lanes", [2, 4, 8])
@pytest.mark.parametrize("step", [products, parts, stacks, columns, eliminations])
@pytest.mark.parametrize(
    ("n", "m"),
    [(3, 1), (5, 3), pytest.param(9, 8, marks=pytest.mark.slow), pytest.param(21, 13, marks=pytest.mark.slow)],
)
def test_machine_code_computes_what_numpy_does(
    n: int, m: int, step: Step, lanes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = pytest.importorskip("chasles.engine.targets.native.machine")
    monkeypatch.setattr(machine, "lanes", lambda dtype: lanes)
    monkeypatch.setenv("CHASLES_CACHE_DIR", "none")
    arguments = drawn(n, m)
    compiled = call(step, n, m, backward=m == 3)(*arguments)
    monkeypatch.setenv("CHASLES_JIT", "0")
    plain = call(step, n, m, backward=m == 3)(*arguments)
    for ours, expected in zip(compiled, plain, strict=True):
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("jit", ["1", "0"])
def test_batches_broadcast_and_lie_in_any_way_between_steps(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", jit)
    U, V, c, first = drawn(5, 3, batch=(2, 3))
    compute = call(products, 5, 3)
    apart = np.repeat(U, 2, axis=-3)[..., ::2, :, :]
    together = compute(apart, V[0], c[:, :1], first)
    for i, j in np.ndindex(2, 3):
        single = compute(U[i, j], V[0, j], c[i, 0], first)
        for ours, expected in zip(together, single, strict=True):
            np.testing.assert_allclose(ours[i, j], expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("jit", ["1", "0"])
def test_elimination_and_solution_are_those_of_the_inverse(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", jit)
    U, V, c, first = drawn(12, 9, steps=1)
    _, gains, rest, solved, one = call(eliminations, 12, 9)(U, V, c, first)
    S = first @ first.T
    inverse = np.linalg.inv(S)
    np.testing.assert_allclose(gains[0], np.linalg.inv(S[:9, :9]) @ S[:9, 9:], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(rest[0], np.linalg.inv(inverse[9:, 9:]), rtol=0.0, atol=1e-11)
    np.testing.assert_array_equal(rest[0], rest[0].T)
    np.testing.assert_allclose(solved[0], inverse @ V[0], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(one[0], inverse @ c[0], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("jit", ["1", "0"])
def test_what_follows_nan_is_nan(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", jit)
    arguments = drawn(5, 3, batch=(2,))
    arguments[0][1, 1] = np.nan
    results = call(columns, 5, 3)(*arguments)
    assert all(np.isfinite(each[0]).all() for each in results)
    assert np.isnan(results[0][1]).all()
    assert all(np.isfinite(each[1, 0]).all() and np.isnan(each[1, 2]).all() for each in results[1:])


@pytest.mark.parametrize("jit", ["1", "0"])
def test_what_is_not_positive_definite_has_no_solution(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", jit)

    def step(S: Any, F: Any) -> tuple[Any, dict[str, Any]]:
        return S, {"solution": solve(S, F)}

    scan = MatrixScan(step, start="S", end="", state=(3, 3), given={"F": (3, 2)})
    compute = MatrixCall("solve", [scan], ["F", "S"], ["solution"])
    indefinite = np.diag([1.0, 2.0, -1.0])
    S = np.stack([np.eye(3), indefinite, np.full((3, 3), np.nan)])
    finite = np.isfinite(compute(np.ones((2, 3, 2)), S)).all(axis=(-1, -2, -3))
    assert finite.tolist() == [True, False, False]


def test_a_step_is_traced_to_scalars_for_other_targets() -> None:
    S, F = np.random.default_rng(0).normal(size=(2, 4, 4))
    S = S @ S.T + np.eye(4)

    def work(S: Any, F: Any) -> tuple[Any, ...]:
        return (*eliminate(S, 2), solve(S, beside(F, S)))

    program = trace(work, {"S": (4, 4), "F": (4, 4)}, name="work", outputs=["gains", "rest", "solved"])
    for traced, expected in zip(compile_numpy(Kernel(program), "float64")(S, F), work(S, F), strict=True):
        np.testing.assert_allclose(traced, expected, rtol=0.0, atol=1e-12)


def test_no_steps_leave_the_state() -> None:
    U, V, c, first = drawn(4, 2, steps=0)
    np.testing.assert_array_equal(call(products, 4, 2)(U, V, c, first)[0], first)


def test_equal_texts_are_equal_code_and_others_are_not() -> None:
    def halved(X: Any, U: Any) -> tuple[Any, dict[str, Any]]:
        return 0.5 * X, {"sample": X @ U}

    def swapped(X: Any, U: Any) -> tuple[Any, dict[str, Any]]:
        return 0.5 * X, {"sample": U @ X}

    def text(step: Step) -> str:
        return MatrixScan(step, start="first", end="last", state=(2, 2), given={"U": (2, 2)}).text()

    assert text(halved) == text(halved)
    assert text(halved) != text(swapped)


def test_what_does_not_fit_is_refused() -> None:
    A, B = Given((2, 3), "A"), Given((2, 2), "B")
    with pytest.raises(ArgumentError, match=r"shape \(2, 3\) times one of shape \(2, 2\)"):
        A @ B
    with pytest.raises(ArgumentError, match=r"shape \(2, 3\) plus one of shape \(2, 2\)"):
        A + B
    with pytest.raises(ArgumentError, match="give them to the scan by name"):
        B @ np.eye(2)
