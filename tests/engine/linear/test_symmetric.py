"""Solving with symmetric positive definite matrices of numbers and of traced scalars."""

from __future__ import annotations

import numpy as np
import pytest

from chasles.engine import Function, trace
from chasles.engine.linear import symmetric
from chasles.engine.linear.least_squares import damped_least_squares
from chasles.engine.linear.symmetric import SingularMatrixError, factor, inverse, product, solve


def positive_definite(n: int, seed: int) -> np.ndarray:
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_solutions_and_inverses(n: int) -> None:
    M, b = positive_definite(n, n), np.arange(1.0, n + 1.0)
    np.testing.assert_allclose(solve(factor(M), b), np.linalg.solve(M, b), rtol=1e-10)
    found = inverse(factor(M))
    np.testing.assert_allclose(found @ M, np.eye(n), atol=1e-10)
    assert np.array_equal(found, found.T)
    traced = Function(trace(lambda M, b: solve(factor(M), b), {"M": (n, n), "b": (n,)}))
    np.testing.assert_allclose(traced(M, b), np.linalg.solve(M, b), rtol=1e-10)


def test_large_inverses_and_products_are_calls_of_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    M, B = positive_definite(5, 1), np.arange(15.0).reshape(5, 3)

    def solution(M: np.ndarray, B: np.ndarray) -> np.ndarray:
        return product(inverse(factor(M)), B)

    shapes = {"M": (5, 5), "B": (5, 3)}
    written_out = trace(solution, shapes)
    monkeypatch.setattr(symmetric, "_MOST_WRITTEN_OUT", 20)
    called = trace(solution, shapes)
    assert [program.name for program in called.programs] == ["solution_5", "product_5_5"]
    assert sum(operation == "call" for operation, *_ in called.instructions) == 5 + 3
    for program in (called, written_out):
        np.testing.assert_allclose(Function(program)(M, B), np.linalg.solve(M, B), rtol=1e-10)
    diagonal = trace(lambda d, B: product(inverse(factor(np.diag(d))), B), {"d": (5,), "B": (5, 3)})
    assert not diagonal.programs  # nothing but zeros beside the diagonal: no work


def test_branches_leave_no_work() -> None:
    def star(x: np.ndarray) -> np.ndarray:
        M = np.diag(4.0 + x)
        M[1:, 0] = M[0, 1:] = 1.0  # three branches on one root: nothing else couples
        return solve(factor(M), x)

    branches = trace(star, {"x": (4,)}).operations
    full = trace(lambda x: solve(factor(np.ones((4, 4)) + np.diag(4.0 + x)), x), {"x": (4,)}).operations
    assert branches["div"] == full["div"] == 4
    assert branches["mul"] + branches["sub"] < full["mul"] + full["sub"] - 12  # 3 off-diagonals


@pytest.mark.parametrize(("diagonal", "row"), [([0.0, 1.0, 1.0], 0), ([1.0, 1.0, 0.0], 2)])
def test_a_zero_pivot_is_an_error_that_names_its_row(diagonal: list[float], row: int) -> None:
    with pytest.raises(SingularMatrixError, match=f"element {row} of D") as caught:
        factor(np.diag(diagonal))
    assert caught.value.row == row


@pytest.mark.parametrize("shape", [(3, 5), (5, 3)])
def test_damped_least_squares_minimises(shape: tuple[int, int]) -> None:
    """Against the stacked problem |[A; √λ] x - [b; 0]|² by NumPy, in either space."""
    rng = np.random.default_rng(2)
    A, b, damping = rng.normal(size=shape), rng.normal(size=shape[0]), 0.3
    stacked = np.vstack([A, np.sqrt(damping) * np.eye(shape[1])])
    expected = np.linalg.lstsq(stacked, np.concatenate([b, np.zeros(shape[1])]))[0]
    for shortest in (False, True):
        np.testing.assert_allclose(damped_least_squares(A, b, damping, shortest=shortest), expected, rtol=1e-12)


def test_the_shortest_solution_stays_in_the_rows_however_small_the_damping() -> None:
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 4))
    x = damped_least_squares(A, A @ rng.normal(size=4), 1e-13, shortest=True)
    idle = np.linalg.svd(A)[2][2:]
    assert np.abs(idle @ x).max() < 1e-14
