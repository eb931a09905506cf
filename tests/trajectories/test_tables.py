"""Trajectories as labelled datasets: names, units, and the numbers of the trajectory."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

import chasles as ch
from chasles.base.errors import ArgumentError, MissingExtraError
from chasles.geometry import exp_rotation
from chasles.trajectories import PiecewisePolynomial
from chasles.trajectories.cartesian.path_motions import Circle, StraightLine

POSE = np.eye(4)
POSE[:3, 3] = [0.3, 0.1, 0.5]


def test_joint_tables_hold_the_motion_at_all_times(tmp_path: Path) -> None:
    arm = ch.load("stanford")
    motion = ch.PointToPoint(arm.home, arm.home + 0.1, duration=1.05)
    table = motion.to_dataset(0.1, robot=arm)
    t = np.append(np.arange(11) * 0.1, 1.05)
    np.testing.assert_allclose(table.time, t, atol=1e-15)
    for name, part in motion(t)._asdict().items():
        np.testing.assert_array_equal(table[name], part)
    np.testing.assert_array_equal(table.jerk, motion.jerk(t))
    assert table.q.dims == ("time", "joint")
    assert list(table.joint.values) == list(arm.joint_names)
    assert list(table.unit.values) == ["rad", "rad", "m", "rad", "rad", "rad"]
    assert table.qdd.units == "rad/s², m/s² by joint"
    assert table.attrs["robot"] == arm.name
    table.to_netcdf(tmp_path / "motion.nc")
    with xarray.open_dataset(tmp_path / "motion.nc") as again:
        xarray.testing.assert_identical(again.load(), table)


def test_without_a_robot_joints_are_numbered() -> None:
    table = ch.PointToPoint([0.0, 1.0], [1.0, 2.0], duration=1.0).to_dataset(0.5)
    assert list(table.joint.values) == [0, 1]
    assert (table.q.units, table.jerk.units) == ("rad", "rad/s³")


@pytest.mark.parametrize(("batch", "dims"), [((3,), ["trajectory"]), ((2, 3), ["trajectory_0", "trajectory_1"])])
def test_axes_of_a_batch_come_first(batch: tuple[int, ...], dims: list[str]) -> None:
    rng = np.random.default_rng(0)
    many = PiecewisePolynomial([0.5, 1.0, 2.0], rng.normal(size=(*batch, 2, 4, 2)))
    table = many.to_dataset(0.25)
    assert list(table.q.dims) == [*dims, "time", "joint"]
    for index in np.ndindex(batch):
        one = PiecewisePolynomial(many.knots, many.coefficients[index])
        np.testing.assert_array_equal(table.qd.values[index], one(table.time.values).qd)


def test_pose_tables() -> None:
    turn = Circle(POSE, [0.0, 0.1, 0.5], [0.0, 0.0, 1.0], 3.0 * np.pi, orientation="turning", duration=3.0)
    table = turn.to_dataset(0.01)
    motion = turn(table.time.values)
    np.testing.assert_array_equal(table.position, motion.pose[:, :3, 3])
    np.testing.assert_array_equal(table.velocity, motion.twist[:, 3:])
    np.testing.assert_array_equal(table.angular_velocity, motion.twist[:, :3])
    np.testing.assert_array_equal(table.acceleration, motion.acceleration[:, 3:])
    np.testing.assert_array_equal(table.angular_acceleration, motion.acceleration[:, :3])
    quaternion = table.quaternion.values
    np.testing.assert_allclose(np.abs(np.diff(quaternion, axis=0)).max(), 0.0, atol=0.05)  # one and a half turns
    w, x, y, z = quaternion.T
    np.testing.assert_allclose(w**2 + z**2 - x**2 - y**2, 1.0, atol=1e-12)  # it turns about z
    np.testing.assert_allclose(np.stack([w**2 - z**2, 2 * w * z]), motion.pose[:, :2, 0].T, atol=1e-12)
    assert (table.position.units, table.angular_acceleration.units) == ("m", "rad/s²")
    assert list(table.component.values) == ["w", "x", "y", "z"]


def test_pose_tables_of_batches() -> None:
    ends = np.broadcast_to(POSE, (2, 4, 4)).copy()
    ends[:, :3, :3] = exp_rotation([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    table = StraightLine(POSE, ends, duration=1.0).to_dataset(0.5)
    assert dict(table.sizes) == {"trajectory": 2, "time": 3, "axis": 3, "component": 4}
    half = np.array([[np.cos(0.5), 0.0, 0.0, np.sin(0.5)], [np.cos(0.5), np.sin(0.5), 0.0, 0.0]])
    np.testing.assert_allclose(table.quaternion.values[:, -1], half, atol=1e-12)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xarray", None)
    motion = ch.PointToPoint([0.0], [1.0], duration=1.0)
    for make in (lambda: motion.to_dataset(0.1), lambda: motion.peaks().to_dataset()):
        with pytest.raises(MissingExtraError, match=r"\.\[data\]"):
            make()


def test_bad_arguments_are_named() -> None:
    motion = ch.PointToPoint([0.0], [1.0], duration=1.0)
    with pytest.raises(ArgumentError, match=r"dt is .*; it must be positive"):
        motion.to_dataset(-1.0)
    with pytest.raises(ArgumentError, match="the trajectory moves 1 joints, but robot 'planar2r' has 2"):
        motion.to_dataset(0.1, robot=ch.load("planar2r"))
