"""Vectors and rigid motions under the algorithms, against NumPy and each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from chasles.geometry.elementary import adjoint, cross, inverse_pose, pose, skew, twist_cross


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_products_of_vectors(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 3))
    assert np.array_equal(cross(a, b), np.cross(a, b))
    assert skew(a) @ b == pytest.approx(np.cross(a, b), rel=1e-15)


def twist_matrix(twist: np.ndarray) -> np.ndarray:
    X = np.zeros((4, 4))
    X[:3, :3], X[:3, 3] = skew(twist[:3]), twist[3:]
    return X


def test_adjoint_conjugates_twist_matrices(rng: np.random.Generator) -> None:
    T_ab = pose(Rotation.random(random_state=1).as_matrix(), rng.normal(size=3))
    twist_b = rng.normal(size=6)
    assert twist_matrix(adjoint(T_ab) @ twist_b) == pytest.approx(
        T_ab @ twist_matrix(twist_b) @ inverse_pose(T_ab), abs=1e-14
    )
    assert inverse_pose(T_ab) @ T_ab == pytest.approx(np.eye(4), abs=1e-15)
    assert adjoint(inverse_pose(T_ab)) @ adjoint(T_ab) == pytest.approx(np.eye(6), abs=1e-14)


def test_twist_cross_is_the_rate_of_the_adjoint(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(2, 6))
    h = 1e-5
    ahead, behind = (adjoint(expm(s * h * twist_matrix(a))) @ b for s in (1, -1))
    assert twist_cross(a, b) == pytest.approx((ahead - behind) / (2 * h), rel=1e-8)
    A, B = twist_matrix(a), twist_matrix(b)
    assert twist_matrix(twist_cross(a, b)) == pytest.approx(A @ B - B @ A, abs=1e-14)
