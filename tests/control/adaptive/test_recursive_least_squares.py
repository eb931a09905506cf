"""Recursive least squares against least squares of all samples at once."""

from __future__ import annotations

import numpy as np
import pytest

from chasles.control.adaptive import recursive_least_squares
from chasles.control.adaptive.recursive_least_squares import Fitted, bounded_covariance, packed, unpacked


def batch(
    first: np.ndarray, P: np.ndarray, z: np.ndarray, y: np.ndarray, forgetting: float, weights: np.ndarray
) -> Fitted:
    """Minimum of the sum of weighted squares, and the inverse of the sum's second derivative."""
    count = len(z)
    w = weights * forgetting ** np.arange(count - 1, -1, -1)
    prior = forgetting**count * np.linalg.inv(P)
    information = prior + (z.T * w) @ z
    return Fitted(np.linalg.solve(information, prior @ first.T + (z.T * w) @ y).T, np.linalg.inv(information))


@pytest.mark.parametrize("forgetting", [1.0, 0.97, 0.6])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_least_squares(forgetting: float, rows: int, weighted: bool) -> None:
    rng = np.random.default_rng(rows)
    m, count = 4, 40
    z, y, first = rng.normal(size=(count, m)), rng.normal(size=(count, rows)), rng.normal(size=(rows, m))
    weights = rng.uniform(0.1, 3.0, count) if weighted else np.ones(count)
    A = rng.normal(size=(m, m))
    P = A @ A.T + np.eye(m)
    fitted = Fitted(first, P)
    for regressor, measured, weight in zip(z, y, weights, strict=True):
        fitted = recursive_least_squares(*fitted, regressor, measured, forgetting=forgetting, weight=weight)
    expected = batch(first, P, z, y, forgetting, weights)
    assert np.abs(fitted.estimate - expected.estimate).max() < 1e-11
    assert np.abs(fitted.covariance - expected.covariance).max() < 1e-11 * np.abs(expected.covariance).max()
    assert np.array_equal(fitted.covariance, fitted.covariance.T)


def test_one_quantity_is_a_row() -> None:
    rng = np.random.default_rng(0)
    z, y = rng.normal(size=(5, 2)), rng.normal(size=5)
    row, matrix = Fitted(np.zeros(2), np.eye(2)), Fitted(np.zeros((1, 2)), np.eye(2))
    for regressor, measured in zip(z, y, strict=True):
        row = recursive_least_squares(*row, regressor, measured)
        matrix = recursive_least_squares(*matrix, regressor, np.array([measured]))
    assert np.array_equal(row.estimate, matrix.estimate[0])


def test_covariance_keeps_its_bound_without_excitation() -> None:
    """Only one direction is ever seen: there the covariance shrinks, and elsewhere forgetting cannot blow it up."""
    first = np.array([2.0, 3.0])
    free = bounded = Fitted(np.zeros(2), np.diag(first))
    for _ in range(3000):
        free = recursive_least_squares(*free, np.array([1.0, 0.0]), 1.0, forgetting=0.98)
        updated = recursive_least_squares(*bounded, np.array([1.0, 0.0]), 1.0, forgetting=0.98)
        bounded = Fitted(updated.estimate, bounded_covariance(updated.covariance, first, 5.0, 0.98))
        assert (np.diag(bounded.covariance) / first).mean() <= 5.0
    assert free.covariance[1, 1] > 1e20
    assert abs(bounded.estimate[0] - 1.0) < 1e-3


def test_packed_matrices() -> None:
    A = np.random.default_rng(0).normal(size=(5, 5))
    A = A + A.T
    assert np.array_equal(unpacked(packed(A), 5), A)
