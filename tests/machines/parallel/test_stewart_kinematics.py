"""Leg lengths and their derivatives against published numbers, geometry and differences; forward kinematics."""

from __future__ import annotations

import numpy as np
import pytest
from tests.machines.parallel.platforms import (
    ROBOOP_BASE,
    ROBOOP_LENGTHS,
    ROBOOP_POSE,
    moved,
    random_platform,
    random_poses,
    roboop,
)

import chasles as ch
from chasles.engine.linear.pivoted_elimination import solve
from chasles.machines import PoseStatus, StewartPlatform


def test_lengths_of_the_manual() -> None:
    T = np.eye(4)
    T[:3, :3] = ch.geometry.rotation_from_euler_angles(ROBOOP_POSE[3:], "ZXZ")
    T[:3, 3] = ROBOOP_POSE[:3]
    np.testing.assert_allclose(roboop().leg_lengths(T), ROBOOP_LENGTHS, atol=6e-5)  # printed with four decimals


def test_lengths_are_distances_between_the_joints() -> None:
    rng = np.random.default_rng(1)
    stewart, T = random_platform(rng), random_poses(rng, 50)
    joints = ch.geometry.transform_points(T, stewart.platform)
    expected = np.linalg.norm(joints - stewart.base, axis=-1)
    np.testing.assert_allclose(stewart.leg_lengths(T), expected, rtol=1e-14)


def test_rates_and_accelerations_are_derivatives_of_the_lengths() -> None:
    rng = np.random.default_rng(2)
    stewart, T = random_platform(rng), random_poses(rng, 50)
    twist, acceleration = rng.normal(size=(2, 50, 6))
    h = 1e-3
    before, now, after = (stewart.leg_lengths(moved(T, twist, acceleration, t)) for t in (-h, 0.0, h))
    np.testing.assert_allclose(stewart.leg_rates(T, twist), (after - before) / (2 * h), atol=2e-4)
    second = stewart.leg_accelerations(T, twist, acceleration)
    # The rotation vector adds a term in omega x omega', of third order in time, so second differences are exact to h.
    np.testing.assert_allclose(second, (after - 2 * now + before) / h**2, atol=2e-3)


def test_jacobian_goes_both_ways() -> None:
    rng = np.random.default_rng(3)
    stewart, T = random_platform(rng), random_poses(rng, 50)
    twist, acceleration, wrench = rng.normal(size=(3, 50, 6))
    rates = stewart.leg_rates(T, twist)
    np.testing.assert_allclose(stewart.twist_from_leg_rates(T, rates), twist, atol=1e-9)
    leg_accelerations = stewart.leg_accelerations(T, twist, acceleration)
    found = stewart.acceleration_from_leg_accelerations(T, twist, leg_accelerations)
    np.testing.assert_allclose(found, acceleration, atol=1e-8)
    forces = stewart.leg_forces(T, wrench)
    np.testing.assert_allclose(np.sum(forces * rates, -1), np.sum(wrench * twist, -1), atol=1e-8)  # equal power


def test_elimination_stands_every_pattern_of_zero_pivots() -> None:
    compiled = ch.function(A=(6, 6), b=(6,))(solve)
    rng = np.random.default_rng(5)
    A = rng.normal(size=(200, 6, 6)) * rng.integers(0, 2, (200, 6, 6)) + 3.0 * rng.permuted(
        np.tile(np.eye(6), (200, 1, 1)), axis=1
    )
    A[:20] = np.eye(6)[rng.permuted(np.tile(np.arange(6), (20, 1)), axis=1)]
    A = A[np.linalg.cond(A) < 1e4]
    x = rng.normal(size=(len(A), 6))
    assert len(A) > 100
    np.testing.assert_allclose(compiled(A, np.einsum("nij,nj->ni", A, x)), x, atol=1e-9)


def test_nearest_pose_returns_to_the_pose() -> None:
    rng = np.random.default_rng(4)
    stewart, T = random_platform(rng), random_poses(rng, 2000)
    guess = moved(T, 0.02 * rng.normal(size=(2000, 6)), np.zeros(6), 1.0)
    found = stewart.forward_kinematics(stewart.leg_lengths(T), guess)
    assert np.mean(found.success) > 0.995
    reached = stewart.leg_lengths(found.T)[found.success]
    np.testing.assert_allclose(reached, stewart.leg_lengths(T)[found.success], atol=1e-10)
    far = np.abs(found.T - T).max(axis=(-2, -1)) > 1e-6  # beyond a singular pose lies another one
    assert np.mean(far) < 0.03
    R = found.T[:, :3, :3]
    np.testing.assert_allclose(np.swapaxes(R, -1, -2) @ R, np.broadcast_to(np.eye(3), R.shape), atol=1e-14)


def test_nearest_pose_of_the_manual() -> None:
    stewart = roboop()
    T = np.eye(4)
    T[:3, :3] = ch.geometry.rotation_from_euler_angles([0.07, -1.7, 0.07], "ZXZ")  # Stewart_qg
    T[:3, 3] = (0.25, 0.25, -0.45)
    found = stewart.forward_kinematics(ROBOOP_LENGTHS, T)
    assert found.success
    assert found.residual < 1e-10
    np.testing.assert_allclose(found.T[:3, 3], ROBOOP_POSE[:3], atol=1e-3)
    expected = ch.geometry.rotation_from_euler_angles(ROBOOP_POSE[3:], "ZXZ")
    np.testing.assert_allclose(found.T[:3, :3], expected, atol=2e-3)


def test_status_says_what_is_wrong() -> None:
    stewart = roboop()
    lengths = np.tile(ROBOOP_LENGTHS, (6, 1))
    lengths[1, 2] = np.nan
    lengths[2, 0] = -1.0
    lengths[3, 4] = 9.0
    lengths[4] = 0.1
    lengths[5] = 1e200
    guess = stewart.home
    found = stewart.forward_kinematics(lengths, guess)
    expected = [
        found.status[0],
        PoseStatus.INVALID_LENGTHS,
        PoseStatus.INVALID_LENGTHS,
        PoseStatus.OUT_OF_REACH,
        PoseStatus.OUT_OF_REACH,
        PoseStatus.INVALID_LENGTHS,
    ]
    np.testing.assert_array_equal(found.status, expected)
    assert "finite and not negative" in str(found)
    assert stewart.forward_kinematics(lengths[5], select="all").status == PoseStatus.INVALID_LENGTHS
    single = stewart.forward_kinematics(lengths[3], guess)
    assert single.status == PoseStatus.OUT_OF_REACH
    assert not single.success
    assert single.residual > 0.1


def test_empty_batches_and_broadcasting() -> None:
    stewart = roboop()
    assert stewart.leg_lengths(np.zeros((0, 4, 4))).shape == (0, 6)
    empty = stewart.forward_kinematics(np.zeros((0, 6)))
    assert empty.T.shape == (0, 4, 4)
    assert empty.success.shape == (0,)
    many = stewart.forward_kinematics(ROBOOP_LENGTHS, np.tile(stewart.home, (3, 1, 1)))
    assert many.T.shape == (3, 4, 4)
    assert stewart.forward_kinematics(np.tile(ROBOOP_LENGTHS, (2, 3, 1))).residual.shape == (2, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"base": np.zeros((6, 3))}, "base: all joints lie in one point"),
        ({"base": np.outer(np.arange(6), [1.0, 2.0, 3.0])}, "base: all joints lie on a line"),
        ({"platform": np.ones((6, 3))}, "platform: all joints lie in one point"),
        ({"base": np.zeros((5, 3))}, r"base has shape \(5, 3\); expected \(6, 3\)"),
        ({"base": np.full((6, 3), np.nan)}, "base.*must be finite"),
        ({"base": 1e154 * ROBOOP_BASE}, r"base\[0, 2\] is -1.015e\+154; it must be at least -1e\+09"),
        ({"mass": -1.0}, "mass is -1.0"),
        ({"mass": 1e10}, "mass is 10000000000.0; it must be at most"),
        ({"inertia": (-1.0, 1.0, 1.0)}, "negative principal moment"),
        ({"inertia": np.arange(9.0).reshape(3, 3)}, "not symmetric"),
        ({"leg_limits": (2.0, 1.0)}, "the first must be the smaller"),
        ({"legs": [ch.machines.Leg()] * 5}, "legs has 5 legs"),
        ({"legs": ["leg"] * 6}, "must hold Leg objects"),
        ({"architecture": "RRR"}, "there is no architecture of the legs 'RRR'"),
        ({"home": np.ones((4, 4))}, "home is not a pose"),
        ({"axes": np.zeros((6, 3))}, r"axes\[0\] is zero"),
        (
            {"axes": np.ones((6, 3)), "home": np.eye(4), "platform": ROBOOP_BASE + 1.0},
            r"axes\[0\] is parallel to its leg",
        ),
        (
            {"home": np.eye(4), "platform": ROBOOP_BASE + np.array([[0.0], [0], [1], [1], [2], [2]])},
            "leg 0 has no length",
        ),
    ],
)
def test_impossible_platforms_are_refused(arguments: dict[str, object], message: str) -> None:
    settings = {"base": ROBOOP_BASE, "platform": np.roll(ROBOOP_BASE, 1, axis=0), **arguments}
    with pytest.raises(ch.ChaslesError, match=message):
        StewartPlatform(**settings)  # type: ignore[arg-type]


def test_two_equal_legs_are_refused() -> None:
    base, platform = ROBOOP_BASE.copy(), 0.5 * ROBOOP_BASE
    base[4], platform[4] = base[1], platform[1]
    with pytest.raises(ch.ChaslesError, match="legs 1 and 4 connect the same two points"):
        StewartPlatform(base, platform)


def test_it_never_changes_and_says_what_it_is() -> None:
    stewart = roboop()
    with pytest.raises(ch.ChaslesError, match="never changes"):
        stewart.mass = 3.0
    with pytest.raises(ValueError, match="read-only"):
        stewart.base[0, 0] = 1.0
    assert repr(stewart) == "<StewartPlatform 'stewart platform': 6-6, legs UPS, platform 10 kg>"


def test_wrong_arguments_of_calls() -> None:
    stewart = roboop()
    with pytest.raises(ch.ChaslesError, match="lengths has shape"):
        stewart.forward_kinematics(np.ones(5))
    with pytest.raises(ch.ChaslesError, match="guess has shape"):
        stewart.forward_kinematics(ROBOOP_LENGTHS, np.eye(3))
    with pytest.raises(ch.ChaslesError, match="tolerance"):
        stewart.forward_kinematics(ROBOOP_LENGTHS, tolerance=0.0)
    with pytest.raises(ch.ChaslesError, match="lengths"):
        stewart.forward_kinematics(ROBOOP_LENGTHS * 1j)
