"""Slopes of gains by weights and noises against complex steps through the recursions of books."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chasles.control.linear_model import LinearModel
from chasles.control.linear_quadratic import backward_riccati, discrete_riccati, kalman_gains, stationary_kalman_gains
from chasles.control.linear_quadratic.gain_slopes import (
    filter_slopes,
    regulator_slopes,
    stationary_filter_slopes,
    stationary_slopes,
)
from chasles.control.linear_quadratic.weights import Weights, rescaled, slopes_by_diagonal

STEP = 1e-40
FOR_EVER = 300  # steps


def definite(rng: np.random.Generator, *shape: int) -> np.ndarray:
    root = rng.normal(size=(*shape, shape[-1]))
    return root @ root.mT + 0.1 * np.eye(shape[-1])


def symmetric(rng: np.random.Generator, *shape: int) -> np.ndarray:
    change = rng.normal(size=(*shape, shape[-1]))
    return change + change.mT


def gains(A: Any, B: Any, Q: Any, R: Any, P: Any) -> tuple[Any, Any]:
    """Gains of all steps and the first cost-to-go, of numbers that may be complex; transposes are not conjugated."""
    K = []
    for a, b in zip(A[::-1], B[::-1], strict=True):
        K.append(np.linalg.solve(R + b.T @ P @ b, b.T @ P @ a))
        P = Q + a.T @ P @ a - a.T @ P @ b @ K[-1]
    return np.array(K[::-1]), P


def filters(A: Any, C: Any, W: Any, V: Any, P: Any) -> tuple[Any, Any]:
    """Gains of all steps of a filter and its last covariance."""
    L = []
    for a, w in zip(A, W, strict=True):
        L.append(P @ C.T @ np.linalg.inv(V + C @ P @ C.T))
        P = w + a @ (P - L[-1] @ C @ P) @ a.T
    return np.array(L), P


def for_ever(matrix: np.ndarray) -> np.ndarray:
    return np.broadcast_to(matrix, (FOR_EVER, *matrix.shape))


@pytest.mark.parametrize("jit", ["1", "0"])
def test_gains_change_as_the_recursions_say(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", jit)
    n, m, steps = 4, 2, 6
    rng = np.random.default_rng(0)
    A, B = np.eye(n) + 0.3 * rng.normal(size=(steps, n, n)), rng.normal(size=(steps, n, m))
    Q, R, P = definite(rng, n), definite(rng, m), definite(rng, n)
    changes = Weights(symmetric(rng, 3, n), symmetric(rng, 3, m))
    along = Weights(Q + 1j * STEP * changes.Q[1], R + 1j * STEP * changes.R[1])
    given = backward_riccati(A, B, Q, R, P, every_cost=True)
    slopes = regulator_slopes(LinearModel(A, B), R, given, changes, ends_stationary=False)
    np.testing.assert_allclose(slopes[1], gains(A, B, *along, P)[0].imag / STEP, rtol=1e-10, atol=1e-11)

    settled = gains(for_ever(A[-1]), for_ever(B[-1]), *along, P + 0j)
    last = discrete_riccati(A[-1], B[-1], Q, R)
    slopes = stationary_slopes(LinearModel(A[-1], B[-1]), R, last, changes)
    np.testing.assert_allclose(slopes[1], settled[0][0].imag / STEP, rtol=1e-9, atol=1e-10)
    ends = backward_riccati(A, B, Q, R, last.P, every_cost=True)
    slopes = regulator_slopes(LinearModel(A, B), R, ends, changes, ends_stationary=True)
    np.testing.assert_allclose(slopes[1], gains(A, B, *along, settled[1])[0].imag / STEP, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("jit", ["1", "0"])
def test_filters_change_as_the_recursions_say(jit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", jit)
    n, m, steps = 4, 2, 5
    rng = np.random.default_rng(1)
    A, C = np.eye(n) + 0.3 * rng.normal(size=(steps, n, n)), rng.normal(size=(m, n))
    W, V, P = definite(rng, steps, n), definite(rng, m), definite(rng, n)
    noise, initial = symmetric(rng, 3, steps, n), symmetric(rng, 3, n)
    slopes = filter_slopes(A, C, V, kalman_gains(A, C, W, V, P), noise, initial)
    expected = filters(A, C, W + 1j * STEP * noise[2], V, P + 1j * STEP * initial[2])[0].imag / STEP
    np.testing.assert_allclose(slopes[2], expected, rtol=1e-10, atol=1e-11)

    settled = filters(for_ever(A[0]), C, for_ever(W[0] + 1j * STEP * noise[2, 0]), V, P + 0j)[0][-1]
    slopes = stationary_filter_slopes(A[0], C, V, stationary_kalman_gains(A[0], C, W[0], V), noise[:, 0])
    np.testing.assert_allclose(slopes[2], settled.imag / STEP, rtol=1e-9, atol=1e-10)


def test_other_diagonals_keep_correlations() -> None:
    rng = np.random.default_rng(2)
    weight = definite(rng, 4)
    weight[1] = weight[:, 1] = 0.0  # a state without weight
    diagonal = rng.uniform(0.5, 2.0, 4)
    other = rescaled(weight, diagonal)
    np.testing.assert_allclose(other.diagonal(), diagonal)
    with np.errstate(invalid="ignore"):
        same = weight / np.sqrt(np.outer(weight.diagonal(), weight.diagonal()))
    given = np.isfinite(same)
    np.testing.assert_allclose((other / np.sqrt(np.outer(diagonal, diagonal)))[given], same[given], rtol=1e-14)
    h = 1e-6 * np.eye(4)
    differences = [(rescaled(other, diagonal + d) - rescaled(other, diagonal - d)) / 2e-6 for d in h]
    np.testing.assert_allclose(slopes_by_diagonal(other), differences, rtol=1e-8, atol=1e-9)
