"""SpaceLib's motion files as trajectories, and trajectories as motion files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, ModelError
from chasles.interop.spacelib import modified_trapezoid_law
from chasles.interop.spacelib.files import MotionData, read_motion, write_motion


def test_a_motion_file_becomes_a_trajectory(tmp_path: Path) -> None:
    """Between the instants of a law of motion the trajectory is the law, to the accuracy of quintic interpolation."""
    instants = np.linspace(0.0, 1.0, 101)
    law = modified_trapezoid_law(instants[:, None], np.pi * np.array([1.0, -0.5]), 1.0, 0.25)
    write_motion(tmp_path / "TEST.MOT", MotionData(0.01, *law))
    trajectory = read_motion(tmp_path / "TEST.MOT", joints=2).to_trajectory()
    assert (trajectory.n, trajectory.duration) == (2, 1.0)
    for value, expected in zip(trajectory(instants), law, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
    between = instants[:-1] + 0.004
    expected = modified_trapezoid_law(between[:, None], np.pi * np.array([1.0, -0.5]), 1.0, 0.25)
    for value, wanted, tolerance in zip(trajectory(between), expected, (1e-6, 1e-4, 5e-2), strict=True):
        np.testing.assert_allclose(value, wanted, atol=tolerance)


@pytest.mark.parametrize("dt", [0.1, 0.3])
def test_a_trajectory_becomes_a_motion_file(tmp_path: Path, dt: float) -> None:
    motion = ch.PointToPoint([0.0, 1.0], [1.0, -1.0], 2.0)
    data = MotionData.from_trajectory(motion, dt)
    assert data.t[-1] >= 2.0 - 1e-12
    assert data.t[-2] < 2.0
    write_motion(tmp_path / "ARM.MOT", data)
    read = read_motion(tmp_path / "ARM.MOT", joints=2)
    for value, expected in zip((read.q, read.qp, read.qpp), motion(dt * np.arange(len(read.t))), strict=True):
        np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(read.q[-1], [1.0, -1.0])


def test_what_cannot_be() -> None:
    with pytest.raises(ModelError, match=r"one trajectory, not of a batch \(2,\)"):
        MotionData.from_trajectory(ch.PointToPoint([[0.0], [1.0]], [2.0], 1.0), 0.1)
    with pytest.raises(ModelError, match="dt must be positive"):
        MotionData.from_trajectory(ch.PointToPoint([0.0], [2.0], 1.0), 0.0)
    with pytest.raises(ArgumentError, match="at least 2 waypoints are needed, not 1"):
        MotionData(0.1, [[0.0]], [[0.0]], [[0.0]]).to_trajectory()
