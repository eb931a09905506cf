"""Pseudo-inverse times vector against NumPy's singular value decomposition."""

from __future__ import annotations

import numpy as np
import pytest
from tests.thinning import paired

from chasles.engine import Function, trace
from chasles.engine.linear.minimum_norm import RANK_TOLERANCE, minimum_norm


def compiled(m: int, n: int) -> Function:
    return Function(trace(minimum_norm, {"A": (m, n), "b": (m,)}))


@pytest.mark.parametrize(("shape", "missing"), paired([(6, 1), (6, 3), (6, 6), (6, 7), (6, 9), (3, 2)], [0, 1, 2]))
def test_any_rank(shape: tuple[int, int], missing: int) -> None:
    m, n = shape
    rank = max(1, min(shape) - missing)
    rng = np.random.default_rng(missing)
    A = rng.normal(size=(200, m, rank)) @ rng.normal(size=(200, rank, n))
    b = rng.normal(size=(200, m))
    x = compiled(m, n)(A, b)
    expected = (np.linalg.pinv(A, rcond=RANK_TOLERANCE) @ b[..., None])[..., 0]
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(minimum_norm(A[0], b[0]), x[0], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e8])
def test_the_error_grows_no_faster_than_the_condition(condition: float) -> None:
    rng = np.random.default_rng(0)
    solve = compiled(6, 6)
    for _ in range(50):
        U, _, Vt = np.linalg.svd(rng.normal(size=(6, 6)))
        A = (U * np.geomspace(1.0, 1.0 / condition, 6)) @ Vt
        x = rng.normal(size=6)
        assert np.linalg.norm(solve(A, A @ x) - x) < 100 * np.finfo(float).eps * condition * np.linalg.norm(x)


def test_nothing_moves_what_cannot_move() -> None:
    assert not compiled(6, 3)(np.zeros((6, 3)), np.ones(6)).any()


def test_nan_gives_nan() -> None:
    A, b = np.ones((2, 6, 3)), np.ones((2, 6))
    b[1, 2] = np.nan
    x = compiled(6, 3)(A, b)
    assert np.isfinite(x[0]).all()
    assert np.isnan(x[1]).all()
