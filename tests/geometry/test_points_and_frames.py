"""Frames from points and vectors: directions of the axes, handedness, nearly collinear and collinear data."""

import itertools

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from chasles.base.errors import UnknownNameError
from chasles.geometry import (
    pose_from_three_points,
    pose_from_two_vectors,
    rotation_from_three_points,
    rotation_from_two_vectors,
)

EPS = np.finfo(float).eps
PAIRS = ["".join(pair) for pair in itertools.permutations("XYZ", 2)]


def assert_rotation(R):
    np.testing.assert_allclose(np.swapaxes(R, -1, -2) @ R, np.broadcast_to(np.eye(3), R.shape), rtol=0, atol=6 * EPS)
    assert (np.linalg.det(R) > 0).all()


@pytest.mark.parametrize("axes", PAIRS)
@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_axes_are_along_and_towards_the_vectors(axes, shape):
    v1, v2 = np.random.default_rng(1).normal(size=(2, *shape, 3))
    first, second = ("XYZ".index(letter) for letter in axes)
    for R in (rotation_from_two_vectors(v1, v2, axes), rotation_from_two_vectors(1e-200 * v1, 1e200 * v2, axes)):
        assert R.shape == (*shape, 3, 3)
        assert_rotation(R)
        along = np.swapaxes(R, -1, -2) @ v1[..., np.newaxis]
        np.testing.assert_allclose(along[..., first, 0], np.linalg.norm(v1, axis=-1), rtol=1e-15)
        towards = np.swapaxes(R, -1, -2) @ v2[..., np.newaxis]
        assert (towards[..., second, 0] > 0).all()
        np.testing.assert_allclose(towards[..., 3 - first - second, 0], 0.0, atol=1e-15)


@pytest.mark.parametrize("axes", PAIRS)
def test_points_give_the_frame_of_their_vectors(axes):
    p1, p2, p3 = np.random.default_rng(2).normal(size=(3, 5, 3))
    R = rotation_from_two_vectors(p2 - p1, p3 - p1, axes)
    np.testing.assert_array_equal(rotation_from_three_points(p1, p2, p3, axes), R)
    for T in (pose_from_three_points(p1, p2, p3, axes), pose_from_two_vectors(p1, p2 - p1, p3 - p1, axes)):
        np.testing.assert_array_equal(T[:, :3, :3], R)
        np.testing.assert_array_equal(T[:, :3, 3], p1)
        np.testing.assert_array_equal(T[:, 3], np.tile([0.0, 0.0, 0.0, 1.0], (5, 1)))


def test_frames_of_the_manual_of_spacelib():
    """Examples 3.24 and 3.26, p. 64-67."""
    expected = [[0, 0, 1], [0.894, -0.447, 0], [0.447, 0.894, 0]]
    R = rotation_from_three_points([5, 4, 3], [5, 6, 4], [5, 5, 5], "XY")
    np.testing.assert_allclose(R, expected, rtol=0, atol=5e-4)
    R = rotation_from_two_vectors([0, 2, 1], [0, 1, 2], "XY")
    np.testing.assert_allclose(R, expected, rtol=0, atol=5e-4)
    np.testing.assert_allclose(R[1:, 0], np.array([2, 1]) / np.sqrt(5), rtol=EPS)


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10**6),
    angle=st.sampled_from([1e-11, 1e-8, 1e-4, 0.5, np.pi / 2, 3.0, np.pi - 1e-8]),
    axes=st.sampled_from(PAIRS),
    lengths=st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3)),
)
def test_nearly_parallel_vectors_give_exact_rotations(seed, angle, axes, lengths):
    expected = Rotation.random(random_state=seed).as_matrix()
    first, second = ("XYZ".index(letter) for letter in axes)
    v1 = expected[:, first]
    v2 = np.cos(angle) * expected[:, first] + np.sin(angle) * expected[:, second]
    R = rotation_from_two_vectors(lengths[0] * v1, lengths[1] * v2, axes)
    assert_rotation(R)
    np.testing.assert_allclose(R[:, first], expected[:, first], rtol=0, atol=4 * EPS)
    np.testing.assert_allclose(R, expected, rtol=0, atol=8 * EPS / np.sin(angle))


@pytest.mark.parametrize("axes", PAIRS)
def test_collinear_data_leave_only_the_first_axis(axes):
    first = "XYZ".index(axes[0])
    others = [k for k in range(3) if k != first]
    rng = np.random.default_rng(3)
    for factor in (0.3, 7.0, -2.0):
        p, v = rng.normal(size=(2, 3))
        for R in (
            rotation_from_two_vectors(v, factor * v, axes),
            rotation_from_three_points(p, p + v, p + factor * v, axes),
            rotation_from_three_points(1e6 * p, 1e6 * p + v, 1e6 * p + factor * v, axes, 1e-15),
        ):
            assert np.isnan(R[:, others]).all()
            np.testing.assert_allclose(R[:, first], v / np.linalg.norm(v), rtol=0, atol=1e-9)
    assert np.isnan(rotation_from_three_points([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, 0.0], axes)).all()


def test_the_tolerance_decides_what_is_collinear():
    v1, v2 = [1.0, 0.0, 0.0], [2.0, 1e-6, 0.0]
    np.testing.assert_allclose(rotation_from_two_vectors(v1, v2), np.eye(3), rtol=0, atol=EPS)
    assert np.isnan(rotation_from_two_vectors(v1, v2, tolerance=1e-5)[:, 1:]).all()
    np.testing.assert_allclose(rotation_from_three_points([0.0] * 3, v1, v2), np.eye(3), rtol=0, atol=EPS)
    assert np.isnan(rotation_from_three_points([0.0] * 3, v1, v2, tolerance=1e-5)[:, 1:]).all()


def test_samples_with_nan_stay_alone():
    v1, v2 = np.random.default_rng(4).normal(size=(2, 3, 3))
    v1[1, 0] = np.nan
    R = rotation_from_two_vectors(v1, v2)
    assert np.isnan(R[1]).all()
    assert np.isfinite(R[[0, 2]]).all()


@pytest.mark.parametrize("axes", ["XX", "XU", "xy", "X", "XYZ", 0])
def test_unknown_axes_are_refused(axes):
    with pytest.raises(UnknownNameError, match="XY, YZ, ZX, YX, ZY, XZ"):
        rotation_from_two_vectors([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], axes)


def test_formula_of_sympy():
    a, b = sympy.symbols("a b", positive=True)
    R = rotation_from_two_vectors(np.array([0, a, 0]), np.array([0, 0, b]), "XY", tolerance=0.0)
    assert [sympy.simplify(entry) for entry in R[:, 0]] == [0, 1, 0]
