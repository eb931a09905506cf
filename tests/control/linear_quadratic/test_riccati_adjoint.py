"""The adjoint of the Riccati recursion against complex steps through the recursion of books."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import backward_riccati, riccati_gradient

STEP = 1e-40


def definite(rng: np.random.Generator, *shape: int) -> np.ndarray:
    root = rng.normal(size=(*shape, shape[-1]))
    return root @ root.mT + 0.1 * np.eye(shape[-1])


def problem(n: int, m: int, steps: int, *lead: int) -> dict[str, np.ndarray]:
    """Weights differ from step to step."""
    rng = np.random.default_rng(n)
    joined = definite(rng, *lead, steps, n + m)
    return {
        "A": np.eye(n) + 0.3 * rng.normal(size=(*lead, steps, n, n)),
        "B": rng.normal(size=(*lead, steps, n, m)),
        "Q": joined[..., m:, m:],
        "R": joined[..., :m, :m],
        "N": joined[..., m:, :m],
        "terminal": definite(rng, n),
    }


def loss(p: dict[str, np.ndarray], by_K: np.ndarray, by_P: np.ndarray) -> Any:
    """Sum of gradient times gains and costs-to-go, of numbers that may be complex; transposes are not conjugated."""
    P, steps = p["terminal"], p["A"].shape[-3]
    total = np.sum(by_P[..., steps, :, :] * P)
    for k in reversed(range(steps)):
        A, B, Q, R, N = (p[name][..., k, :, :] for name in ("A", "B", "Q", "R", "N"))
        K = np.linalg.solve(R + B.mT @ P @ B, B.mT @ P @ A + N.mT)
        P = Q + A.mT @ P @ A - (A.mT @ P @ B + N) @ K
        total = total + np.sum(by_K[..., k, :, :] * K) + np.sum(by_P[..., k, :, :] * P)
    return total


@pytest.mark.parametrize("jit", ["1", "0"])
@pytest.mark.parametrize(("n", "m", "lead"), [(1, 1, ()), (4, 2, (2,)), (3, 5, ()), (14, 7, ())])
def test_the_gradient_is_that_of_complex_steps(
    n: int, m: int, lead: tuple[int, ...], jit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHASLES_JIT", jit)
    rng = np.random.default_rng(1)
    p, steps = problem(n, m, 5, *lead), 5
    by_K, by_P = rng.normal(size=(*lead, steps, m, n)), rng.normal(size=(*lead, steps + 1, n, n))
    gradient = riccati_gradient(**p, by_K=by_K, by_P=by_P)._asdict()
    for name, value in p.items():
        assert gradient[name].shape == value.shape
        change = rng.normal(size=value.shape)
        if name in ("Q", "R", "terminal"):
            change = change + change.mT
        expected = loss({**p, name: value + 1j * STEP * change}, by_K, by_P).imag / STEP
        scale = np.abs(gradient[name] * change).sum()
        assert abs(np.sum(gradient[name] * change) - expected) < 1e-10 * scale


def test_weights_may_be_scalars_and_diagonals_of_all_steps() -> None:
    """Their gradients are those of matrices, summed."""
    p = problem(4, 2, 6)
    A, B = p["A"], p["B"]
    by_K = np.random.default_rng(2).normal(size=(6, 2, 4))
    short = riccati_gradient(A, B, [1.0, 2.0, 3.0, 4.0], 0.5, 2.0, by_K=by_K)
    Q, R = np.tile(np.diag([1.0, 2.0, 3.0, 4.0]), (6, 1, 1)), np.tile(0.5 * np.eye(2), (6, 1, 1))
    long = riccati_gradient(A, B, Q, R, 2.0 * np.eye(4), by_K=by_K)
    np.testing.assert_allclose(short.Q, np.diagonal(long.Q.sum(axis=0)), rtol=1e-12)
    np.testing.assert_allclose(short.R, np.trace(long.R.sum(axis=0)), rtol=1e-12)
    np.testing.assert_allclose(short.terminal, np.trace(long.terminal), rtol=1e-12)
    assert short.N is None


def test_a_heavier_input_of_an_endless_horizon_changes_the_gain_as_its_closed_form() -> None:
    """x' = x + u, Q = 1: P = (1 + √(1 + 4 R)) / 2 and K = P / (R + P)."""
    steps, R = 400, 2.0
    A, B = np.ones((steps, 1, 1)), np.ones((steps, 1, 1))
    by_K = np.zeros((steps, 1, 1))
    by_K[0] = 1.0
    P, by_R = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * R)), 1.0 / np.sqrt(1.0 + 4.0 * R)
    assert backward_riccati(A, B, 1.0, R, P).K[0] == pytest.approx(P / (R + P))
    expected = (by_R * (R + P) - P * (1.0 + by_R)) / (R + P) ** 2
    np.testing.assert_allclose(riccati_gradient(A, B, 1.0, R, 1.0, by_K=by_K).R, expected, rtol=1e-12)


def test_gradients_that_do_not_fit_are_refused() -> None:
    p = problem(3, 2, 4)
    with pytest.raises(ArgumentError, match=r"by_K has shape \(4, 3, 2\); expected \(..., 4, 2, 3\)"):
        riccati_gradient(**p, by_K=np.ones((4, 3, 2)))
    with pytest.raises(ArgumentError, match=r"by_P has shape \(4, 3, 3\); expected \(..., 5, 3, 3\)"):
        riccati_gradient(**p, by_K=np.ones((4, 2, 3)), by_P=np.ones((4, 3, 3)))
