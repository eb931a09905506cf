"""Elimination inside programs."""

from __future__ import annotations

import numpy as np
import pytest

from chasles.engine import Function, trace
from chasles.engine.linear.sparse_elimination import factor, solve


@pytest.mark.parametrize("size", [1, 2, 5, 12])
@pytest.mark.parametrize("density", [0.1, 0.5, 1.0])
def test_solutions_are_those_of_lapack(size: int, density: float) -> None:
    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(size, size)) * (rng.random((size, size)) < density)
    matrix += np.diag(size + 2.0 * np.abs(matrix).sum(axis=1))  # as I - h J of a dissipative system: dominant
    right = rng.normal(size=size)
    np.testing.assert_allclose(solve(factor(matrix), right), np.linalg.solve(matrix, right), rtol=1e-12, atol=1e-14)


def test_a_traced_solution_is_the_same() -> None:
    rng = np.random.default_rng(1)
    A, b = rng.normal(size=(20, 4, 4)) + 5.0 * np.eye(4), rng.normal(size=(20, 4))
    function = Function(trace(lambda A, b: solve(factor(A), b), {"A": (4, 4), "b": (4,)}))
    np.testing.assert_allclose(function(A, b), np.linalg.solve(A, b[..., None])[..., 0], rtol=1e-11)


def test_zeros_cost_nothing() -> None:
    """Mechanics: with q' = v the work is that of the velocities' equations alone (Schur's complement)."""
    n = 6

    def count(function: object, **shapes: tuple[int, ...]) -> int:
        return trace(function, shapes, name="solution").operation_count  # type: ignore[arg-type]

    def whole(by_q, by_v, h, right):
        jacobian = np.block([[np.zeros((n, n)), np.eye(n)], [by_q, by_v]])
        return solve(factor(np.eye(2 * n) - h * jacobian), right)

    def reduced(by_q, by_v, h, right):
        q, v = right[:n], right[n:]
        change = solve(factor(np.eye(n) - h * by_v - h * h * by_q), v + h * (by_q @ q))
        return np.concatenate([q + h * change, change])

    shapes = {"by_q": (n, n), "by_v": (n, n), "h": (), "right": (2 * n,)}
    assert count(whole, **shapes) < 1.2 * count(reduced, **shapes)
    chain = count(
        lambda d, e, r: solve(factor(np.diag(d) + np.diag(e, 1) + np.diag(e, -1)), r), d=(50,), e=(49,), r=(50,)
    )
    assert chain < 10 * 50  # Thomas's algorithm: no fill
