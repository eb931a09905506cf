"""Motions of robots with free and spherical joints: their rates, checks, plans, and following with the whole body."""

from collections.abc import Callable

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.geometry import exp_pose, exp_rotation, pose
from chasles.model import Description, Inertia, Joint, Limits, Link
from chasles.trajectories import (
    FreeBaseTrajectory,
    GeodesicMotion,
    JointTrajectory,
    PointToPoint,
    StraightLine,
    TangentTrajectory,
    time_optimal,
)

STEP = 1e-5


def tilted() -> ch.Robot:
    """A free base whose joint frame is neither the world's nor the link's, a ball joint and a hinge."""
    placed = pose(exp_rotation([0.3, -0.2, 0.5]), [0.4, 0.1, -0.2])
    joints = (
        Joint(
            "float", "free", "ground", "trunk", T_parent_joint=placed, T_joint_child=pose(np.eye(3), [0.1, 0.2, 0.3])
        ),
        Joint("hinge", "revolute", "trunk", "arm", limits=Limits(-1.0, 1.0, velocity=2.0, effort=30.0)),
    )
    inertia = Inertia(mass=2.0, center_of_mass=[0.1, 0.0, 0.0], matrix=0.1 * np.eye(3))
    links = (Link("ground"), Link("trunk", inertia), Link("arm", inertia))
    return ch.Robot(Description("tilted", links=links, joints=joints))


ROBOT = ch.load("planar2r").with_free_base()
GOAL = ROBOT.integrate(ROBOT.home, [0.3, -0.4, 1.0, 0.3, 0.2, 0.5, 0.3, -0.3])


def base_and_joints(robot: ch.Robot, link: str) -> FreeBaseTrajectory:
    T_start = robot.forward_kinematics(robot.home, target=link)
    line = StraightLine(T_start, exp_pose([0.2, 0.7, -0.4, 0.5, 0.1, 0.2]) @ T_start, duration=2.0)
    joints = robot.home[7:]
    return FreeBaseTrajectory(robot, line, PointToPoint(joints, joints + 0.4, duration=2.0))


ROBOT_LINE = PointToPoint([0.0], [1.0], 2.0)
MOTIONS: dict[str, Callable[[], tuple[ch.Robot, JointTrajectory]]] = {
    "curve": lambda: (ROBOT, TangentTrajectory(ROBOT, PointToPoint(ROBOT.home, 3.0 * GOAL, duration=2.0))),
    "geodesic": lambda: (ROBOT, GeodesicMotion(ROBOT, ROBOT.home, GOAL, duration=2.0, scaling="septic")),
    "base path": lambda: (ROBOT, base_and_joints(ROBOT, "link0")),
    "tilted base": lambda: (tilted(), base_and_joints(tilted(), "trunk")),
}


@pytest.mark.parametrize("kind", MOTIONS)
def test_rates_are_those_of_the_configurations(kind: str) -> None:
    robot, motion = MOTIONS[kind]()
    t = np.array([0.3, 0.9, 1.6])
    (q, v, a, j), after, before = (motion.derivatives(t + shift) for shift in (0.0, STEP, -STEP))
    assert q.shape == (3, robot.nq)
    assert v.shape == a.shape == j.shape == (3, robot.n)
    np.testing.assert_allclose(np.asarray(robot.difference(before[0], after[0])) / (2.0 * STEP), v, atol=1e-8)
    for k, rate in ((1, a), (2, j)):
        known = np.isfinite(rate)
        np.testing.assert_allclose(((after[k] - before[k]) / (2.0 * STEP))[known], rate[known], atol=3e-8)
    assert known[:, 6:].all()
    assert known.all() == (kind in ("curve", "geodesic"))


def test_base_goes_along_its_path() -> None:
    robot, motion = tilted(), base_and_joints(tilted(), "trunk")
    t = np.linspace(0.0, 2.0, 5)
    np.testing.assert_allclose(robot.forward_kinematics(motion(t).q, target="trunk"), motion.base(t).pose, atol=1e-14)
    J = robot.jacobian(motion(t).q, frame="world-aligned", target="trunk")
    np.testing.assert_allclose((J @ motion(t).qd[..., None])[..., 0], motion.base(t).twist, atol=1e-14)


def test_geodesic_is_a_screw_with_one_axis_and_keeps_limits() -> None:
    motion = GeodesicMotion.within_limits(ROBOT, ROBOT.home, GOAL, velocity=0.5, acceleration=1.0)
    assert motion.duration == pytest.approx(1.0 / 0.5 + 0.5 / 1.0)  # base.wz goes farthest: 1 rad
    np.testing.assert_allclose(ROBOT.difference(motion(motion.duration).q, GOAL), 0.0, atol=1e-12)
    moving = motion(np.linspace(0.2, 2.2, 7)).qd
    np.testing.assert_allclose(
        moving / moving[:, 2:3], np.tile(np.asarray(ROBOT.difference(ROBOT.home, GOAL)), (7, 1)), atol=1e-9
    )
    report = motion.check(ROBOT, velocity=0.5, acceleration=1.0, torque=np.inf)
    assert report.ok
    assert np.nanmax(report.share) == pytest.approx(1.0)


def test_check_names_degrees_of_freedom_and_takes_a_line_of_coordinates() -> None:
    line = PointToPoint(ROBOT.home, GOAL, duration=2.0)
    report = line.check(ROBOT, velocity=0.6)
    assert {(v.quantity, v.joint, v.unit) for v in report.violations} == {("velocity", "base.wz", "rad/s")}
    moved = TangentTrajectory(ROBOT, line)(1.0)
    assert report.violations[0].value == pytest.approx(moved.qd[2])
    torque = np.abs(ROBOT.inverse_dynamics(*TangentTrajectory(ROBOT, line)(np.linspace(0.0, 2.0, 2001)))).max(axis=0)
    assert not line.check(ROBOT, torque=0.999 * torque).ok
    assert line.check(ROBOT, torque=1.001 * torque).ok


def test_check_knows_limits_of_joints_behind_a_base() -> None:
    robot = tilted()
    goal = robot.home.copy()
    goal[7] = 1.2
    report = PointToPoint(robot.home, goal, duration=1.0).check(robot)
    assert {(v.quantity, v.joint) for v in report.violations} == {("position", "hinge"), ("velocity", "hinge")}


def test_tables_have_coordinates_and_degrees_of_freedom() -> None:
    table = PointToPoint(ROBOT.home, GOAL, duration=2.0).to_dataset(0.5, robot=ROBOT)
    assert table.q.dims == ("time", "coordinate")
    assert table.qd.sizes == {"time": 5, "joint": 8}
    peaks = TangentTrajectory(ROBOT, PointToPoint(ROBOT.home, GOAL, duration=2.0)).peaks()
    assert peaks.velocity.largest.shape == (8,)
    assert "nan" in str(peaks)
    assert peaks.to_dataset().sizes["joint"] == 9


def test_time_optimal_along_a_path_on_the_manifold() -> None:
    fast = time_optimal(ROBOT, [ROBOT.home, GOAL], velocity=0.5, acceleration=1.0, points=200)
    assert fast.report.ok
    rotation = np.linalg.norm(np.asarray(ROBOT.difference(ROBOT.home, GOAL))[:3])
    assert fast.duration >= 2.5 - 1e-6  # no joint rotates the base less than the geodesic
    assert fast.duration < 2.6 * rotation
    same = time_optimal(ROBOT, GeodesicMotion(ROBOT, ROBOT.home, GOAL, 1.0), velocity=0.5, acceleration=1.0, points=200)
    assert same.duration == pytest.approx(2.5, rel=1e-3)
    flipped = time_optimal(ROBOT, [ROBOT.home, np.r_[-GOAL[:4], GOAL[4:]]], velocity=0.5, acceleration=1.0, points=200)
    assert flipped.duration == pytest.approx(fast.duration, rel=1e-6)


def test_whole_body_follows_with_the_smallest_velocities() -> None:
    T_start = ROBOT.forward_kinematics(GOAL)
    line = StraightLine(T_start, T_start @ exp_pose([0.3, 0.2, -0.5, 0.3, 0.2, 0.1]), duration=1.0)
    found = ch.follow(ROBOT, line, GOAL)
    assert found.success
    t = np.linspace(0.0, 1.0, 30)
    motion = TangentTrajectory(ROBOT, found)(t)
    np.testing.assert_allclose(ROBOT.forward_kinematics(motion.q), line(t).pose, atol=1e-8)
    J = np.asarray(ROBOT.jacobian(motion.q, frame="world-aligned"))
    smallest = (np.linalg.pinv(J) @ line(t).twist[..., None])[..., 0]
    np.testing.assert_allclose(motion.qd, smallest, atol=1e-5)
    assert found.check(ROBOT, torque=np.inf, velocity=10.0).ok


def test_geodesic_is_a_reference_of_a_simulation() -> None:
    robot = tilted().with_gravity([0.0, 0.0, 0.0])
    goal = robot.home.copy()
    goal[7] = 0.5
    law = ch.ComputedTorque(robot, kp=400.0, kd=40.0)
    line = PointToPoint(robot.home, goal, 0.5)
    runs = [
        ch.simulate(robot, law, motion, period=0.002)
        for motion in (GeodesicMotion(robot, *line([0.0, 0.5]).q, 0.5), line)
    ]
    assert float(np.abs(runs[0].error[:, 6:]).max()) < 1e-3
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)


BAD: dict[str, tuple[Callable[[], object], str]] = {
    "curve": (lambda: TangentTrajectory(ROBOT, PointToPoint([0.0], [1.0], 1.0)), "the curve has 1 coordinates"),
    "geodesic": (lambda: GeodesicMotion(ROBOT, [0.0, 1.0], GOAL, 1.0), r"start has shape \(2,\); expected \(..., 9\)"),
    "check": (lambda: PointToPoint([0.0], [1.0], 1.0).check(ROBOT), "moves 1 coordinates, but robot 'planar2r' has 9"),
    "fixed": (
        lambda: FreeBaseTrajectory(ch.load("ur5"), base_and_joints(ROBOT, "link0").base, ROBOT_LINE),
        "must have one free joint and no spherical one; its joints with quaternions are: none",
    ),
    "joints": (
        lambda: FreeBaseTrajectory(ROBOT, base_and_joints(ROBOT, "link0").base, PointToPoint([0.0], [1.0], 2.0)),
        "joints moves 1 joints, but robot 'planar2r' has 2",
    ),
    "times": (
        lambda: FreeBaseTrajectory(
            ROBOT, base_and_joints(ROBOT, "link0").base, PointToPoint([0.0, 0.0], [1.0, 0.0], 1.0)
        ),
        "base moves from 0 to 2 s, joints from 0 to 1 s",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case: str) -> None:
    build, message = BAD[case]
    with pytest.raises(ArgumentError, match=message):
        build()
