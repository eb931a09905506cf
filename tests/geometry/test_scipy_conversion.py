from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial.transform
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import RigidTransform, Rotation

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    pose,
    pose_from_scipy,
    pose_to_scipy,
    quaternion_from_rotation_vector,
    quaternion_from_scipy,
    quaternion_to_scipy,
    rotation_from_quaternion,
    rotation_from_scipy,
    rotation_to_scipy,
)

EPS = np.finfo(float).eps
SHAPES = ((), (1,), (5,), (3, 1, 2), (0,))


def rotation_vectors(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(*shape, 3))


@pytest.mark.parametrize("shape", SHAPES)
def test_rotations_mean_the_same_to_both(shape: tuple[int, ...]) -> None:
    vectors = rotation_vectors(shape)
    q = quaternion_from_rotation_vector(vectors)
    R = rotation_from_quaternion(q)
    point = np.array([0.3, -1.0, 2.0])
    for theirs in (rotation_to_scipy(R), quaternion_to_scipy(q)):
        assert isinstance(theirs, Rotation)
        assert theirs.as_matrix().shape == (*shape, 3, 3)
        np.testing.assert_allclose(theirs.as_matrix(), R, rtol=0.0, atol=8 * EPS)
        if shape != (0,):
            np.testing.assert_allclose(theirs.apply(point), R @ point, rtol=0.0, atol=20 * EPS)
        np.testing.assert_allclose(rotation_from_scipy(theirs), R, rtol=0.0, atol=8 * EPS)
        np.testing.assert_allclose(rotation_from_scipy(theirs), theirs.as_matrix(), rtol=0.0, atol=8 * EPS)


@pytest.mark.parametrize("shape", SHAPES)
def test_poses_mean_the_same_to_both(shape: tuple[int, ...]) -> None:
    R = rotation_from_quaternion(quaternion_from_rotation_vector(rotation_vectors(shape)))
    T = pose(R, rotation_vectors(shape, 1))
    theirs = pose_to_scipy(T)
    assert isinstance(theirs, RigidTransform)
    np.testing.assert_allclose(theirs.as_matrix(), T, rtol=0.0, atol=8 * EPS)
    np.testing.assert_array_equal(theirs.translation, T[..., :3, 3])
    np.testing.assert_allclose(pose_from_scipy(theirs), T, rtol=0.0, atol=8 * EPS)
    if shape == (5,):
        exponents = theirs.as_exp_coords()
        np.testing.assert_allclose(pose_from_scipy(RigidTransform.from_exp_coords(exponents)), T, rtol=0.0, atol=1e-14)


@given(st.integers(0, 2**32 - 1), st.sampled_from([(), (1,), (3, 1, 2)]))
@settings(max_examples=30)
def test_quaternions_come_back_with_their_sign(seed: int, shape: tuple[int, ...]) -> None:
    q = np.random.default_rng(seed).normal(size=(*shape, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    np.testing.assert_allclose(quaternion_from_scipy(quaternion_to_scipy(q)), q, rtol=0.0, atol=2 * EPS)


def test_scalar_first_and_scalar_last() -> None:
    np.testing.assert_array_equal(quaternion_to_scipy([1.0, 0.0, 0.0, 0.0]).as_quat(), [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(quaternion_from_scipy(Rotation.from_quat([1.0, 0.0, 0.0, 0.0])), [0, 1, 0, 0])


@pytest.mark.parametrize("angle", [1e-300, 1e-9, np.pi - 1e-9, np.pi])
def test_hard_angles(angle: float) -> None:
    R = rotation_from_quaternion(quaternion_from_rotation_vector([0.0, angle, 0.0]))
    np.testing.assert_allclose(rotation_to_scipy(R).as_rotvec(), [0.0, angle, 0.0], rtol=4 * EPS, atol=0.0)


def test_what_scipy_cannot_hold_is_named() -> None:
    T = np.tile(np.eye(4), (3, 2, 1, 1))
    T[1, 1, 0, 1] = np.nan
    for function, argument in ((rotation_to_scipy, T[..., :3, :3]), (pose_to_scipy, T)):
        with pytest.raises(ArgumentError, match=r"hold no NaN and no null quaternion, as in sample \(1, 1\)"):
            function(argument)
    for q in ([0.0, 0.0, 0.0, 0.0], [1.0, np.nan, 0.0, 0.0]):
        with pytest.raises(ArgumentError, match="quaternion_to_scipy: q: SciPy's rotations hold no NaN"):
            quaternion_to_scipy(q)


def test_check_refuses_what_is_none() -> None:
    with pytest.raises(ArgumentError, match="rotation_to_scipy: R is not a rotation matrix"):
        rotation_to_scipy(2.0 * np.eye(3), check=True)
    with pytest.raises(ArgumentError, match="quaternion_to_scipy: q is not a unit quaternion: it is 1 away"):
        quaternion_to_scipy([2.0, 0.0, 0.0, 0.0], check=True)
    with pytest.raises(ArgumentError, match="pose_to_scipy: T is not a pose"):
        pose_to_scipy(2.0 * np.eye(4), check=True)
    np.testing.assert_array_equal(pose_to_scipy(np.eye(4), check=True).as_matrix(), np.eye(4))


def test_wrong_shapes_and_types_are_named() -> None:
    with pytest.raises(ArgumentError, match=r"rotation_to_scipy: R must have the shape \(\.\.\., 3, 3\), not \(4, 4\)"):
        rotation_to_scipy(np.eye(4))
    with pytest.raises(ArgumentError, match=r"q must have the shape \(\.\.\., 4\), not \(3,\)"):
        quaternion_to_scipy(np.zeros(3))
    with pytest.raises(ArgumentError, match=r"T must have the shape \(\.\.\., 4, 4\), not \(4,\)"):
        pose_to_scipy(np.zeros(4))
    for function in (rotation_from_scipy, quaternion_from_scipy):
        with pytest.raises(ArgumentError, match="takes a Rotation of SciPy, not ndarray"):
            function(np.eye(3))
    with pytest.raises(ArgumentError, match="takes a RigidTransform of SciPy, not Rotation"):
        pose_from_scipy(Rotation.identity())


def test_older_scipy_without_rigid_transforms_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(scipy.spatial.transform, "RigidTransform")
    for function, argument in ((pose_to_scipy, np.eye(4)), (pose_from_scipy, object())):
        with pytest.raises(ArgumentError, match=r"has no RigidTransform, which came with 1\.16"):
            function(argument)


def test_older_scipy_without_batches_of_several_axes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class OlderRotation:
        @staticmethod
        def from_quat(q: np.ndarray) -> Rotation:
            if q.ndim > 2:
                raise ValueError(f"Expected `quat` to have shape (4,) or (N, 4), got {q.shape}.")
            return Rotation.from_quat(q)

    monkeypatch.setattr(scipy.spatial.transform, "Rotation", OlderRotation)
    identity = np.tile([1.0, 0.0, 0.0, 0.0], (2, 3, 1))
    np.testing.assert_array_equal(quaternion_to_scipy(identity[0]).as_quat(), [[0.0, 0.0, 0.0, 1.0]] * 3)
    with pytest.raises(ArgumentError, match=r"batches of one axis, not of the shape \(2, 3\).*reshape"):
        quaternion_to_scipy(identity)
