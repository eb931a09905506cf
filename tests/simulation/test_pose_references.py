"""Cartesian trajectories as references of controllers that follow a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.trajectories import CartesianTrajectory, PoseMotion

ARM = ch.load("planar2r")
Q0 = np.array([0.4, 0.9])
START = ARM.forward_kinematics(Q0)


class Shift(CartesianTrajectory):
    """From a pose along a vector in unit time, smoothly, turning with the arm's second link as it must."""

    def __init__(self, start: np.ndarray, way: Any, begin: float = 0.0) -> None:
        self.start, self.way = start, np.asarray(way, dtype=float)
        self.batch = self.way.shape[:-1]
        self.knots = np.broadcast_to(np.array([begin, begin + 0.5]), (*self.batch, 2))

    def pose_motion(self, t: Any) -> PoseMotion:
        s = np.clip((t - self.knots[..., 0]) / 0.5, 0.0, 1.0)[..., None]
        pose = np.broadcast_to(self.start, (*s.shape[:-1], 4, 4)).copy()
        pose[..., :3, 3] += (3.0 * s**2 - 2.0 * s**3) * self.way
        zeros = np.zeros((*s.shape[:-1], 3))
        inside = (s > 0.0) & (s < 1.0)
        velocity = np.where(inside, 12.0 * (s - s**2), 0.0) * self.way
        acceleration = np.where(inside, 24.0 * (1.0 - 2.0 * s), 0.0) * self.way
        return PoseMotion(
            pose, np.concatenate([zeros, velocity], axis=-1), np.concatenate([zeros, acceleration], axis=-1)
        )


class Springs(ch.control.Controller):
    """A spring and a damper from the tool to the reference, and gravity compensation."""

    name, reference_kind = "springs", "pose"
    varies = ("k", "d")
    k, d = 4000.0, 200.0

    def law(self, now: ch.control.Now) -> Any:
        assert isinstance(now.reference, PoseMotion)
        T, J = ARM.pose_and_jacobian(now.q, frame="world-aligned")
        Jv = J[3:]
        force = self.k * (now.reference.pose[:3, 3] - T[:3, 3]) + self.d * (now.reference.twist[3:] - Jv @ now.qd)
        return Jv.T @ force + ARM.gravity_torque(now.q)


WAY = np.array([-0.05, 0.04, 0.0])


def test_the_law_gets_the_pose_twist_and_acceleration_of_the_trajectory() -> None:
    motion = Shift(START, WAY, begin=1.0)
    run = ch.simulate(ARM, Springs(), motion, start=Q0, duration=1.0)
    expected = motion(run.time.values)
    np.testing.assert_allclose(run.pose_reference, expected.pose, atol=1e-15)
    np.testing.assert_allclose(run.twist_reference, expected.twist, atol=1e-15)
    assert run.pose_reference.dims == ("time", "row", "column")
    assert run.twist_reference.dims == ("time", "component")
    assert "error" not in run
    tool = ARM.forward_kinematics(run.q.values)[:, :3, 3]
    np.testing.assert_allclose(tool[-1], START[:3, 3] + WAY, atol=1e-4)
    assert np.abs(tool - expected.pose[:, :3, 3]).max() < 0.01


@pytest.mark.parametrize("integrator", ["rk4", "DOP853"])
def test_batches_of_trajectories_and_other_ways_of_running(integrator: str) -> None:
    ways = np.array([WAY, 0.5 * WAY, -WAY])
    options: dict[str, Any] = {"start": Q0, "period": 5e-3, "integrator": integrator, "record": ch.Recording(every=4)}
    run = ch.simulate(ARM, Springs(), Shift(START, ways), **options)
    assert run.pose_reference.dims == ("run", "time", "row", "column")
    for k, way in enumerate(ways):
        single = ch.simulate(ARM, Springs(), Shift(START, way), **options)
        np.testing.assert_allclose(run.q[k], single.q, atol=1e-12)
        np.testing.assert_allclose(run.pose_reference[k], single.pose_reference, atol=1e-15)


def test_it_starts_where_the_tool_is_at_the_start() -> None:
    arm = ch.load("puma560")
    start = arm.forward_kinematics(arm.home + 0.1)

    class Still(Springs):
        def law(self, now: ch.control.Now) -> Any:
            return arm.gravity_torque(now.q)

    run = ch.simulate(arm, Still(), Shift(start, [0.1, 0.0, 0.0]), duration=0.01)
    np.testing.assert_allclose(arm.forward_kinematics(run.q.values[0]), start, atol=1e-8)
    np.testing.assert_allclose(run.qd[0], 0.0, atol=1e-12)
    far = start.copy()
    far[:3, 3] += 5.0
    with pytest.raises(ArgumentError, match="robot 'puma560' does not reach the start of the motion"):
        ch.simulate(arm, Still(), Shift(far, [0.1, 0.0, 0.0]))


def test_controllers_of_joints_refuse_it() -> None:
    with pytest.raises(ArgumentError, match=r"Shift moves a frame in space, but this controller moves joints.*follow"):
        ch.simulate(ARM, ch.PDGravity(ARM, kp=1.0, kd=1.0), Shift(START, WAY), start=Q0)
