"""Poses whose rotation vector and origin are polynomials between knots."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.trajectories.pose_differences import acceleration_by_differences, away_from_knots, twist_by_differences

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.geometry import random_rotation
from chasles.trajectories import PiecewisePose

rng = np.random.default_rng(3)
KNOTS = np.array([-1.0, 0.5, 2.0])
ROTATIONS, COEFFICIENTS = random_rotation(rng, (2,)), rng.normal(size=(2, 4, 6)) * 0.5
MOTION = PiecewisePose(KNOTS, ROTATIONS, COEFFICIENTS)


def test_it_is_the_formula() -> None:
    for t, piece in ((-1.0, 0), (0.2, 0), (0.5, 1), (1.9, 1), (2.0, 1)):
        u = t - KNOTS[piece]
        x = sum(c * u**j for j, c in enumerate(COEFFICIENTS[piece]))
        expected = ROTATIONS[piece] @ Rotation.from_rotvec(x[:3]).as_matrix()
        pose = MOTION(t).pose
        np.testing.assert_allclose(pose[:3, :3], expected, atol=1e-14)
        np.testing.assert_allclose(pose[:3, 3], x[3:], atol=1e-14)
        np.testing.assert_array_equal(pose[3], [0.0, 0.0, 0.0, 1.0])


def test_twists_and_accelerations_are_derivatives() -> None:
    t = away_from_knots(MOTION)
    np.testing.assert_allclose(MOTION(t).twist, twist_by_differences(MOTION, t), atol=1e-10)
    np.testing.assert_allclose(MOTION(t).acceleration, acceleration_by_differences(MOTION, t), atol=1e-10)


def test_it_rests_outside() -> None:
    x = MOTION([-2.0, 3.0])
    np.testing.assert_array_equal(x.pose, MOTION([-1.0, 2.0]).pose)
    assert not x.twist.any()
    assert not x.acceleration.any()


def test_times_of_any_shape_and_order() -> None:
    t = rng.uniform(-1.5, 2.5, (3, 4))
    x = MOTION(t)
    assert x.pose.shape == (3, 4, 4, 4)
    for index in np.ndindex(t.shape):
        np.testing.assert_array_equal(x.acceleration[index], MOTION(t[index]).acceleration)
    assert MOTION(np.empty((0, 2))).twist.shape == (0, 2, 6)
    np.testing.assert_array_equal(np.isnan(MOTION([np.nan, 0.0]).twist), np.repeat([[True], [False]], 6, axis=1))


@pytest.mark.parametrize("own_times", [False, True])
def test_batches_are_their_members(own_times: bool) -> None:
    rotations, coefficients = random_rotation(rng, (5, 3, 2)), rng.normal(size=(5, 3, 2, 4, 6))
    knots = KNOTS * rng.uniform(0.5, 1.5, (5, 3, 1)) if own_times else KNOTS
    batch = PiecewisePose(knots, rotations, coefficients)
    assert batch.batch == (5, 3)
    t = rng.uniform(-2.0, 3.0, (7, 1, 3))
    x = batch(t)
    assert x.twist.shape == (7, 5, 3, 6)
    for i, k in ((0, 0), (4, 2), (2, 1)):
        own = PiecewisePose(knots[i, k] if own_times else KNOTS, rotations[i, k], coefficients[i, k])(t[:, 0, k])
        for part, expected in zip(x, own, strict=True):
            np.testing.assert_allclose(part[:, i, k], expected, atol=1e-13)
    assert "batch (5, 3) of PiecewisePose of 2 pieces" in repr(batch)


def test_it_pickles() -> None:
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(MOTION))(0.1).pose, MOTION(0.1).pose)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((KNOTS[::-1], ROTATIONS, COEFFICIENTS), "knots must be two or more times that do not decrease"),
        (([0.0], ROTATIONS, COEFFICIENTS), "knots must be two or more"),
        ((KNOTS, ROTATIONS[:1], COEFFICIENTS), "rotations must have shape"),
        ((KNOTS, 2.0 * ROTATIONS, COEFFICIENTS), "not a rotation matrix"),
        ((KNOTS, ROTATIONS, COEFFICIENTS[:, :, :5]), "coefficients must have shape"),
        ((KNOTS, ROTATIONS, COEFFICIENTS[:1]), "coefficients must have shape"),
        ((KNOTS, ROTATIONS, np.where(COEFFICIENTS[0, 0, 0] == COEFFICIENTS, np.nan, COEFFICIENTS)), "must be finite"),
        ((np.tile(KNOTS, (4, 1)), ROTATIONS, COEFFICIENTS), "knots must have shape"),
    ],
)
def test_refusals_say_why(arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        PiecewisePose(*arguments)


def test_it_feeds_the_tables() -> None:
    pytest.importorskip("xarray")
    assert ch.StraightLine(np.eye(4), np.eye(4), duration=1.0).to_dataset(0.5).sizes
    assert MOTION.to_dataset(0.5).sizes
