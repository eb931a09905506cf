from __future__ import annotations

import modern_robotics
import numpy as np
import pytest
import scipy.linalg
from tests.geometry.exact_poses import hard_twists, hat

from chasles.base.errors import ArgumentError
from chasles.geometry import adjoint, compose_poses, exp_pose, inverse_pose, twist_cross, twist_cross_matrix

A, B, C = hard_twists(seed=40), hard_twists(seed=41)[::-1], hard_twists(seed=42)


def test_adjoint_carries_twists_as_conjugation_does() -> None:
    for T, b in zip(exp_pose(A), B, strict=True):
        np.testing.assert_allclose(hat(adjoint(T) @ b), T @ hat(b) @ np.linalg.inv(T), rtol=0.0, atol=4e-14)
        np.testing.assert_allclose(adjoint(T), modern_robotics.Adjoint(T), rtol=0.0, atol=1e-15)


def test_adjoints_compose_and_invert_as_poses_do() -> None:
    T1, T2 = exp_pose(A), exp_pose(B)
    np.testing.assert_allclose(adjoint(compose_poses(T1, T2)), adjoint(T1) @ adjoint(T2), rtol=0.0, atol=4e-14)
    identity = np.broadcast_to(np.eye(6), (len(T1), 6, 6))
    np.testing.assert_allclose(adjoint(T1) @ adjoint(inverse_pose(T1)), identity, rtol=0.0, atol=4e-14)


def test_power_does_not_depend_on_the_frame() -> None:
    """Wrenches go from a to b by the transpose of the adjoint that takes twists from b to a."""
    X = adjoint(exp_pose(A))
    wrench_b = (np.swapaxes(X, -1, -2) @ C[..., None])[..., 0]
    twist_a = (X @ B[..., None])[..., 0]
    np.testing.assert_allclose(np.sum(wrench_b * B, axis=-1), np.sum(C * twist_a, axis=-1), rtol=0.0, atol=1e-13)


def test_lie_bracket_is_the_commutator() -> None:
    for a, b, bracket in zip(A, B, twist_cross(A, B), strict=True):
        np.testing.assert_allclose(hat(bracket), hat(a) @ hat(b) - hat(b) @ hat(a), rtol=0.0, atol=4e-15)
        np.testing.assert_allclose(twist_cross_matrix(a) @ b, bracket, rtol=0.0, atol=4e-15)
        np.testing.assert_array_equal(twist_cross_matrix(a), modern_robotics.ad(a))


def test_jacobi_identity() -> None:
    around = [twist_cross(x, twist_cross(y, z)) for x, y, z in ((A, B, C), (B, C, A), (C, A, B))]
    np.testing.assert_allclose(sum(around), 0.0, atol=1e-13)


def test_adjoint_of_the_exponential_is_the_exponential_of_ad() -> None:
    for a in A:
        expected = scipy.linalg.expm(twist_cross_matrix(a))
        np.testing.assert_allclose(adjoint(exp_pose(a)), expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_batches_broadcast(shape: tuple[int, ...]) -> None:
    a = np.resize(A, (*shape, 6))
    assert adjoint(exp_pose(a)).shape == twist_cross_matrix(a).shape == (*shape, 6, 6)
    np.testing.assert_array_equal(
        twist_cross(a, B[0]), np.stack([twist_cross(x, B[0]) for x in a.reshape(-1, 6)]).reshape(a.shape)
    )


def test_nan_and_matrices_that_are_no_poses() -> None:
    T = exp_pose(A)
    whole = adjoint(T)
    T[2, 1, 3] = np.nan
    spoilt = adjoint(T, check=True)
    np.testing.assert_array_equal(np.delete(spoilt, 2, axis=0), np.delete(whole, 2, axis=0))
    np.testing.assert_array_equal(spoilt[2, :3], whole[2, :3])
    assert np.isnan(spoilt[2, 3:, :3]).any()
    T[2] = 1.5 * np.eye(4)
    with pytest.raises(ArgumentError, match=r"T_ab is not a pose: sample \(2,\)"):
        adjoint(T, check=True)
