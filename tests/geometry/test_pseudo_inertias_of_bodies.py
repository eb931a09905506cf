"""Possible bodies and the nearest one: clouds of mass points, the triangle inequality, optimality of the projection."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import random_body, random_pose

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    is_physically_consistent,
    nearest_physically_consistent,
    pseudo_inertia,
    transform_pseudo_inertia,
)

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS)
def test_clouds_of_points_are_possible_in_every_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body = random_body(rng)
    J = transform_pseudo_inertia(random_pose(rng), body.pseudo_inertia)
    assert is_physically_consistent(J)
    assert_allclose(nearest_physically_consistent(J), J, atol=1e-14 * np.abs(J).max())


@pytest.mark.parametrize("points", [1, 2, 3])
def test_points_lines_and_planes_are_possible(points: int) -> None:
    rng = np.random.default_rng(points)
    J = sum(np.outer(p, p) for p in np.column_stack([rng.normal(size=(points, 3)), np.ones(points)]))
    assert is_physically_consistent(J)


@given(st.floats(0.01, 3.0), st.floats(0.01, 3.0), st.floats(0.01, 6.0), SEEDS)
def test_the_triangle_inequality(a: float, b: float, c: float, seed: int) -> None:
    """Principal moments a, b, c belong to a body if none is larger than the sum of the others."""
    largest = max(a, b, c)
    excess = 2.0 * largest - (a + b + c)
    if abs(excess) < 1e-6 * largest:
        return
    rng = np.random.default_rng(seed)
    R = random_pose(rng)[:3, :3]
    J = pseudo_inertia(rng.uniform(0.1, 5.0), rng.normal(size=3), R @ np.diag([a, b, c]) @ R.T)
    assert is_physically_consistent(J) == (excess < 0.0)


def test_mass_and_moments() -> None:
    nothing = np.zeros((4, 4))
    light = np.diag([1.0, 1.0, 1.0, -1e-9])
    bare_moment = nothing.copy()
    bare_moment[0, 3] = bare_moment[3, 0] = 1e-9
    nan = np.diag([1.0, 1.0, np.nan, 1.0])
    assert is_physically_consistent([nothing, light, bare_moment, nan, np.eye(4)]).tolist() == [
        True,
        False,
        False,
        False,
        True,
    ]


@given(SEEDS)
def test_the_nearest_body(seed: int) -> None:
    """It is possible, and no other possible body is nearer: the projection on a convex cone has these properties."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(4, 4))
    A = A + A.T
    J = nearest_physically_consistent(A)
    assert np.linalg.eigvalsh(J)[0] > -1e-14
    residual = A - J
    assert abs(np.sum(residual * J)) < 1e-12
    for _ in range(20):
        B = rng.normal(size=(4, 4))
        other = B @ B.T
        assert np.sum(residual * (other - J)) < 1e-12
    assert_allclose(nearest_physically_consistent(J), J, atol=1e-14)


def test_batches_and_the_least_eigenvalue() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 1, 2, 4, 4))
    J = nearest_physically_consistent(A, 0.1)
    assert J.shape == A.shape
    assert np.linalg.eigvalsh(J).min() == pytest.approx(0.1)
    assert_allclose(J[2, 0, 1], nearest_physically_consistent(A[2, 0, 1], 0.1), atol=1e-14)
    A[0, 0, 0, 1, 1] = np.nan
    J = nearest_physically_consistent(A)
    assert np.isnan(J[0, 0, 0]).all()
    assert np.isfinite(J[1:]).all()


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"shape \(..., 4, 4\), not \(3, 3\)"):
        is_physically_consistent(np.eye(3))
    with pytest.raises(ArgumentError, match=r"shape \(..., 4, 4\)"):
        nearest_physically_consistent(np.zeros(10))
    with pytest.raises(ArgumentError, match="must not be negative, but is -1"):
        nearest_physically_consistent(np.eye(4), -1.0)
