"""Means against SciPy, and the distribution of random rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.geometry import exp_rotation, mean_rotation, random_rotation, rotation_angle, rotation_distance

SHAPES = [(), (1,), (3, 1, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_mean_agrees_with_scipy(shape):
    rng = np.random.default_rng(0)
    v, weights = rng.normal(size=(*shape, 7, 3)), rng.uniform(0.1, 1.0, size=(*shape, 7))
    R = exp_rotation(v)
    equal = np.ones((*shape, 7))
    for ours, w in ((mean_rotation(R), equal), (mean_rotation(R, weights), weights)):
        theirs = [
            Rotation.from_rotvec(vectors).mean(weights=of_vectors).as_matrix()
            for vectors, of_vectors in zip(v.reshape(-1, 7, 3), w.reshape(-1, 7), strict=True)
        ]
        np.testing.assert_allclose(ours.reshape(-1, 3, 3), theirs, rtol=0.0, atol=1e-13)


def test_mean_is_halfway_and_turns_with_its_rotations():
    v = np.array([0.3, -0.4, 0.5])
    np.testing.assert_allclose(mean_rotation(exp_rotation([v, 3 * v])), exp_rotation(2 * v), rtol=0.0, atol=2e-15)
    R, T = random_rotation(0, shape=9), random_rotation(1)
    np.testing.assert_allclose(mean_rotation(T @ R), T @ mean_rotation(R), rtol=0.0, atol=1e-13)
    assert np.array_equal(mean_rotation(R, np.arange(9) == 4), mean_rotation(R[4:5]))


def test_mean_in_a_traced_function():
    mean = ch.function(R=(4, 3, 3), w=(4,))(lambda R, w: mean_rotation(R, w))
    R, w = random_rotation(2, shape=(5, 4)), np.random.default_rng(2).uniform(0.1, 1.0, (5, 4))
    np.testing.assert_allclose(mean(R, w), mean_rotation(R, w), rtol=0.0, atol=1e-15)
    equal = ch.function(R=(4, 3, 3))(lambda R: mean_rotation(R))
    np.testing.assert_allclose(equal(R), mean_rotation(R), rtol=0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("rotations", "weights", "message"),
    [
        (np.empty((0, 3, 3)), None, "no rotation to average"),
        (np.empty((4, 0, 3, 3)), None, "no rotation to average"),
        (np.eye(3), None, r"shape \(3, 3\)"),
        (np.ones((2, 4, 4)), None, r"shape \(2, 4, 4\)"),
        (np.ones((2, 3, 3)), [1.0, 2.0, 3.0], r"weights have shape \(3,\), not \(..., 2\)"),
        (np.ones((2, 3, 3)), 1.0, r"weights have shape \(\)"),
        (np.ones((2, 3, 3)), [1.0, -1.0], "negative"),
        (np.ones((2, 3, 3)), [0.0, 0.0], "not all zero"),
    ],
)
def test_mean_of_impossible_arguments(rotations, weights, message):
    with pytest.raises(ArgumentError, match=message):
        mean_rotation(rotations, weights)


def test_random_rotations_are_uniform_rotations():
    R = random_rotation(0, shape=(100, 200))
    assert rotation_distance(R).max() < 4e-15
    assert np.array_equal(R, random_rotation(np.random.default_rng(0), shape=(100, 200)))
    assert random_rotation().shape == (3, 3)
    assert random_rotation(1, shape=4).shape == (4, 3, 3)
    # Every entry is uniform in [-1, 1]; the angle has the density (1 - cos) / π, so its mean is π/2 + 2/π.
    flat = R.reshape(-1, 9)
    np.testing.assert_allclose(flat.mean(axis=0), 0.0, atol=5 * np.sqrt(1 / 3 / len(flat)))
    np.testing.assert_allclose((flat**2).mean(axis=0), 1 / 3, atol=5 * np.sqrt(4 / 45 / len(flat)))
    assert rotation_angle(R).mean() == pytest.approx(np.pi / 2 + 2 / np.pi, abs=5 * 0.65 / np.sqrt(len(flat)))
