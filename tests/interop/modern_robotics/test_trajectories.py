"""Chapter 9 against the published package."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import close, published, random_pose

import chasles.interop.modern_robotics as mr
from chasles.base.errors import ArgumentError


def test_random_joint_trajectories() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1000):
        ends, method = rng.normal(size=(2, rng.integers(1, 8))), int(rng.choice([3, 5]))
        rest = (rng.uniform(0.1, 10.0), int(rng.integers(2, 8)), method)
        assert close(mr.JointTrajectory(*ends, *rest), published.JointTrajectory(*ends, *rest), 1e-14)


@pytest.mark.parametrize("name", ["ScrewTrajectory", "CartesianTrajectory"])
def test_random_pose_trajectories(name: str) -> None:
    rng = np.random.default_rng(1)
    calls = 0
    while calls < 1000:
        ends, method = (random_pose(rng), random_pose(rng)), int(rng.choice([3, 5]))
        if np.trace(ends[0][:3, :3].T @ ends[1][:3, :3]) < -0.98:
            continue  # within 0.15 rad of half a turn the original loses digits
        rest = (rng.uniform(0.1, 10.0), int(rng.integers(2, 5)), method)
        ours, theirs = getattr(mr, name)(*ends, *rest), getattr(published, name)(*ends, *rest)
        assert isinstance(ours, list)
        assert close(tuple(ours), tuple(theirs))
        calls += 1


def test_batches() -> None:
    rng = np.random.default_rng(2)
    start, end = np.array([random_pose(rng) for _ in range(3)]), np.array([random_pose(rng) for _ in range(3)])
    for function in (mr.ScrewTrajectory, mr.CartesianTrajectory):
        poses = function(start, end, 2.0, 5, 3)
        assert [pose.shape for pose in poses] == [(3, 4, 4)] * 5
        for pose, single in zip(poses, function(start[1], end[1], 2.0, 5, 3), strict=True):
            np.testing.assert_array_equal(pose[1], single)
    line = mr.JointTrajectory(np.zeros((4, 1, 2)), rng.normal(size=(3, 2)), 1.0, 5, 5)
    assert line.shape == (4, 3, 5, 2)
    assert mr.QuinticTimeScaling(2.0, [0.0, 1.0, 2.0]).tolist() == [0.0, 0.5, 1.0]


def test_ends_are_met() -> None:
    rng = np.random.default_rng(3)
    start, end = random_pose(rng), random_pose(rng)
    for method in (3, 5):
        for function in (mr.ScrewTrajectory, mr.CartesianTrajectory):
            poses = function(start, end, 2.0, 7, method)
            np.testing.assert_allclose(poses[0], start, atol=1e-15)
            np.testing.assert_allclose(poses[-1], end, atol=1e-14)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": 4}, "method must be 3 .cubic. or 5 .quintic., not 4"),
        ({"method": "cubic"}, "method must be 3"),
        ({"N": 1}, "N must be a number of instants, at least 2, not 1"),
        ({"N": np.nan}, "N must be"),
        ({"N": "many"}, "N must be an array of real numbers"),
        ({"Tf": 0.0}, "Tf must be a positive number of seconds"),
        ({"Tf": np.inf}, "Tf must be a positive number of seconds"),
    ],
)
@pytest.mark.parametrize("name", ["JointTrajectory", "ScrewTrajectory", "CartesianTrajectory"])
def test_wrong_arguments(name: str, changed: dict[str, Any], message: str) -> None:
    ends = ([0.0], [1.0]) if name == "JointTrajectory" else (np.eye(4), np.eye(4))
    rest = {"Tf": 2.0, "N": 5, "method": 3} | changed
    with pytest.raises(ArgumentError, match=f"{name}: {message}"):
        getattr(mr, name)(*ends, *rest.values())


def test_ends_must_match() -> None:
    with pytest.raises(ArgumentError, match=r"thetaend has shape \(2,\); expected \(\.\.\., 3\)"):
        mr.JointTrajectory([0, 0, 0], [1, 1], 1, 3, 5)
    with pytest.raises(ArgumentError, match=r"Xend has shape \(3, 3\); expected \(\.\.\., 4, 4\)"):
        mr.ScrewTrajectory(np.eye(4), np.eye(3), 1, 3, 5)


def test_fractions_of_instants_are_cut_off_as_in_the_original() -> None:
    assert len(mr.JointTrajectory([0.0], [1.0], 1.0, 4.9, 3)) == len(
        published.JointTrajectory([0.0], [1.0], 1.0, 4.9, 3)
    )
