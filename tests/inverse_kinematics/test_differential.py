"""Closed-loop inverse kinematics and the layer of tasks and limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.inverse_kinematics import (
    AccelerationLimit,
    ClosedLoopInverseKinematics,
    ConfigurationLimit,
    DampingTask,
    FrameTask,
    OrientationTask,
    PositionTask,
    PostureTask,
    VelocityLimit,
    solve_rates,
)
from chasles.model.formats.urdf import parse_urdf

HOME = np.array([0.1, -0.4, 0.2, -1.8, 0.1, 1.6, 0.6])


def test_errors_decay_at_the_gains() -> None:
    robot = ch.load("panda")
    rates = ClosedLoopInverseKinematics(robot, position_gain=5.0, orientation_gain=3.0)
    goal = robot.forward_kinematics(HOME + 0.02)
    q, dt = HOME.copy(), 1e-3
    start = robot.forward_kinematics(q)
    for _ in range(1000):
        q = q + dt * rates(q, goal)
    end = robot.forward_kinematics(q)
    left = np.linalg.norm(goal[:3, 3] - end[:3, 3]) / np.linalg.norm(goal[:3, 3] - start[:3, 3])
    angles = [np.linalg.norm(ch.geometry.log_rotation(goal[:3, :3] @ T[:3, :3].T)) for T in (start, end)]
    assert left == pytest.approx(np.exp(-5.0), rel=0.02)
    assert angles[1] / angles[0] == pytest.approx(np.exp(-3.0), rel=0.02)


def test_errors_decay_axis_by_axis_with_damping_by_the_smallest_singular_value() -> None:
    robot, gains, dt = ch.load("ur5"), np.array([8.0, 4.0, 2.0]), 2.5e-4
    clik = ClosedLoopInverseKinematics(
        robot, position_gain=gains, orientation_gain=3.0, damping="singular value", threshold=0.02
    )
    q, rates = np.array([0.1, -1.2, 1.5, -0.8, 1.1, 0.3]), None
    start, goal = robot.forward_kinematics(q), robot.forward_kinematics(q + 0.02)
    for _ in range(2000):
        q, rates = clik.follow(q, goal, period=dt, previous=rates)
    left = (goal - robot.forward_kinematics(q))[:3, 3] / (goal - start)[:3, 3]
    np.testing.assert_allclose(left, np.exp(-0.5 * gains), rtol=0.01)
    batch = clik(np.stack([q, q + 0.1]), goal)
    np.testing.assert_allclose(batch[0], clik(q, goal), rtol=1e-12)
    stretched = np.array([0.1, -1.2, 0.0, -0.8, 1.1, 0.3])  # the elbow is singular: its direction is not served
    away = robot.forward_kinematics(stretched)
    away[:3, 3] *= 1.5
    assert np.abs(clik(stretched, away)).max() < 1.0 / (2 * 0.04) * 8.0
    for bad in ({"position_gain": [1.0, 2.0]}, {"damping": "none"}, {"damping": "singular value", "threshold": 0.0}):
        with pytest.raises(ChaslesError):
            ClosedLoopInverseKinematics(robot, **bad)
    with pytest.raises(ArgumentError, match="period"):
        clik.follow(q, goal, period=0.0)


def test_a_moving_pose_is_followed_without_lag() -> None:
    robot = ch.load("panda")
    rates = ClosedLoopInverseKinematics(robot, position_gain=20.0, orientation_gain=20.0)
    T0 = robot.forward_kinematics(HOME)
    twist = np.array([0.1, -0.2, 0.1, 0.05, 0.02, -0.05])
    q, dt = HOME.copy(), 1e-3
    for k in range(500):
        goal = T0.copy()
        goal[:3, :3] = ch.geometry.exp_rotation(twist[:3] * k * dt) @ T0[:3, :3]
        goal[:3, 3] = T0[:3, 3] + twist[3:] * k * dt
        q = q + dt * rates(q, goal, twist)
    goal[:3, 3] += twist[3:] * dt
    assert np.linalg.norm(robot.forward_kinematics(q)[:3, 3] - goal[:3, 3]) < 1e-5


def test_rates_stay_bounded_in_singular_configurations() -> None:
    robot = ch.load("planar2r")
    rates = ClosedLoopInverseKinematics(robot)
    stretched = np.array([0.0, 0.0])
    goal = robot.forward_kinematics(stretched)
    goal[0, 3] -= 0.1
    for q in (stretched, stretched + 1e-9, stretched + 1e-4):
        qd = rates(q, goal)
        assert np.isfinite(qd).all()
        assert np.abs(qd).max() < 30.0


def test_it_can_be_part_of_a_simulated_control_law() -> None:
    robot = ch.load("panda")
    rates = ClosedLoopInverseKinematics(robot, position_gain=10.0, orientation_gain=10.0)
    goal = robot.forward_kinematics(HOME + 0.1)

    @ch.function(q=(7,))
    def step(q):
        return q + 0.01 * rates(q, goal)

    q = np.tile(HOME, (3, 1))
    np.testing.assert_allclose(step(q), q + 0.01 * rates(q, goal), rtol=1e-12)


def test_simulated_arm_draws_its_tool_to_a_pose() -> None:
    robot = ch.load("panda")
    rates = ClosedLoopInverseKinematics(robot, position_gain=6.0, orientation_gain=6.0)
    goal = robot.forward_kinematics(HOME + 0.15)

    def law(now):
        wanted = rates(now.q, goal)
        return robot.inverse_dynamics(now.q, now.qd, 50.0 * (wanted - now.qd))

    still = ch.PointToPoint(HOME, HOME + 1e-3, duration=2.0)
    run = ch.simulate(robot, ch.PythonLaw(law), still, vary={"reference.start": np.tile(HOME, (3, 1))})
    end = robot.forward_kinematics(run["q"].values[:, -1])
    np.testing.assert_allclose(end, np.tile(goal, (3, 1, 1)), atol=1e-4)


@pytest.mark.parametrize("kind", [FrameTask, PositionTask, OrientationTask])
def test_linearisation_of_tasks(kind) -> None:
    robot = ch.load("panda")
    rng = np.random.default_rng(0)
    part = {FrameTask: np.s_[:, :], PositionTask: np.s_[:3, 3], OrientationTask: np.s_[:3, :3]}[kind]
    for _ in range(5):
        q, goal = rng.uniform(-1, 1, 7), robot.forward_kinematics(rng.uniform(-1, 1, 7))
        task = kind(goal[part], gain=1.0)
        J = task.equation(robot, q).J
        h = 1e-6
        for k, unit in enumerate(np.eye(7)):
            slope = (task.equation(robot, q + h * unit).b - task.equation(robot, q - h * unit).b) / (2.0 * h)
            np.testing.assert_allclose(-J[:, k], slope, atol=1e-8)


def test_position_and_orientation_alone() -> None:
    robot = ch.load("panda")
    goal = robot.forward_kinematics(HOME + 0.3)
    for task, part in ((PositionTask(goal[:3, 3]), np.s_[:3, 3]), (OrientationTask(goal[:3, :3]), np.s_[:3, :3])):
        q = HOME.copy()
        for _ in range(300):
            q = q + 0.01 * solve_rates(robot, q, [task, DampingTask(1e-4)], 0.01).qd
        reached = robot.forward_kinematics(q)
        np.testing.assert_allclose(reached[part], goal[part], atol=1e-6)
        assert np.abs(reached - goal).max() > 1e-3


def test_the_program_is_solved(rng: np.random.Generator) -> None:
    robot = ch.load("panda")
    for _ in range(20):
        q = rng.uniform(-1, 1, 7) * 0.3 + HOME
        tasks = [
            FrameTask(robot.forward_kinematics(q + rng.normal(size=7))),
            PostureTask(HOME, cost=0.1),
            DampingTask(0.05),
        ]
        limit = VelocityLimit(0.5)
        step = solve_rates(robot, q, tasks, 0.01, limits=[limit])
        rows = [task.equation(robot, q) for task in tasks]
        A = np.concatenate([np.sqrt(row.weight)[:, None] * row.J for row in rows])
        b = np.concatenate([np.sqrt(row.weight) * row.b for row in rows])
        oracle = lsq_linear(A, b, bounds=(-0.5, 0.5), method="bvls", tol=1e-14)
        assert step.success
        np.testing.assert_allclose(step.qd, oracle.x, atol=1e-6)
        np.testing.assert_array_equal(step.active, np.abs(step.qd) >= 0.5)


def test_position_limits_are_never_passed() -> None:
    robot = ch.load("panda")
    q, qd, dt = HOME.copy(), np.zeros(7), 0.01
    limits = [ConfigurationLimit(), VelocityLimit(), AccelerationLimit(15.0)]
    task = PostureTask(robot.upper_limits + 0.5, cost=1.0, gain=10.0)
    speeds = []
    for _ in range(800):
        step = solve_rates(robot, q, [task], dt, qd=qd, limits=limits)
        assert step.success
        assert np.abs(step.qd - qd).max() <= 15.0 * dt + 1e-9
        qd = step.qd
        speeds.append(qd)
        q = q + dt * qd
        assert (q <= robot.upper_limits + 1e-12).all()
    assert (np.abs(speeds) <= robot.velocity_limits + 1e-12).all()
    np.testing.assert_allclose(q, robot.upper_limits, atol=1e-2)


@pytest.mark.parametrize("cost", [1e-6, 1.0, 1e6])
def test_only_the_ratio_of_costs_counts(cost: float) -> None:
    robot = ch.load("panda")
    goal = robot.forward_kinematics(HOME + 0.1)

    def step(scale: float) -> np.ndarray:
        tasks = [FrameTask(goal, position_cost=scale, orientation_cost=scale), DampingTask(0.1 * scale)]
        return solve_rates(robot, HOME, tasks, 0.01).qd

    np.testing.assert_allclose(step(cost), step(1.0), atol=1e-9)


def test_a_joint_outside_its_limits_comes_back() -> None:
    robot = ch.load("panda")
    q = HOME.copy()
    q[0] = robot.upper_limits[0] + 0.1
    for _ in range(100):
        q = q + 0.01 * solve_rates(robot, q, [DampingTask()], 0.01, limits=[ConfigurationLimit(0.5)]).qd
    assert q[0] <= robot.upper_limits[0] + 1e-9


def test_a_joint_too_far_outside_returns_as_fast_as_permitted() -> None:
    """The others go on with the task as if that joint were a motion they have to make up for."""
    robot = ch.load("panda")
    q = HOME.copy()
    q[1] = robot.upper_limits[1] + 0.05  # 0.05 rad in 0.01 s would take 5 rad/s
    tasks = [FrameTask(robot.forward_kinematics(HOME)), DampingTask(0.01)]
    limits = [ConfigurationLimit(), VelocityLimit()]
    step = solve_rates(robot, q, tasks, 0.01)
    assert not step.success
    np.testing.assert_array_equal(step.contradicted, np.arange(7) == 1)
    assert step.message.startswith("panda_joint2 is 0.05 rad beyond its upper position limit and returns")
    assert step.qd[1] == -robot.velocity_limits[1]
    others = np.arange(7) != 1
    rows = [task.equation(robot, q) for task in tasks]
    A = np.concatenate([np.sqrt(row.weight)[:, None] * row.J for row in rows])
    b = np.concatenate([np.sqrt(row.weight) * row.b for row in rows])
    ends = np.array([limit.bounds(robot, q, np.zeros(7), 0.01) for limit in limits])
    ends = (ends[:, 0].max(axis=0)[others], ends[:, 1].min(axis=0)[others])
    oracle = lsq_linear(A[:, others], b - A[:, 1] * step.qd[1], bounds=ends, method="bvls", tol=1e-14)
    np.testing.assert_allclose(step.qd[others], oracle.x, atol=1e-6)


@pytest.mark.parametrize("acceleration", [None, 20.0])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_it_returns_within_all_limits_and_stays(side: float, acceleration: float | None) -> None:
    robot = ch.load("panda")
    task, dt = FrameTask(robot.forward_kinematics(HOME)), 0.01
    for joint in range(robot.n):
        q, qd = HOME.copy(), np.zeros(7)
        q[joint] = (robot.upper_limits if side > 0.0 else robot.lower_limits)[joint] + side * 0.3
        limits = [ConfigurationLimit(), VelocityLimit()]
        if acceleration is not None:
            limits.append(AccelerationLimit(acceleration))
        beyond = [0.3]
        for _ in range(120):
            step = solve_rates(robot, q, [task, DampingTask(0.01)], dt, qd=qd, limits=limits)
            assert (np.abs(step.qd) <= robot.velocity_limits).all()
            if acceleration is not None:
                assert (np.abs(step.qd - qd) <= acceleration * dt * (1.0 + 1e-12)).all()
            qd = step.qd
            q = q + dt * qd
            beyond.append(max(0.0, np.maximum(robot.lower_limits - q, q - robot.upper_limits).max()))
        assert (np.diff(beyond) <= 0.0).all()
        assert beyond[-20:] == [0.0] * 20
        assert step.success


def test_braking_comes_before_the_limit_of_velocity() -> None:
    """A joint that is too fast already slows down as fast as its acceleration limit permits."""
    robot = ch.load("planar2r")
    step = solve_rates(
        robot,
        [0.0, 0.0],
        [DampingTask()],
        0.1,
        qd=[3.0, 0.0],
        limits=[VelocityLimit(1.0), AccelerationLimit(5.0)],
    )
    np.testing.assert_allclose(step.qd, [2.5, 0.0], atol=1e-12)
    assert not step.success
    assert "joint1" in step.message


def test_without_end_acceleration_limits_leave_the_limits_of_position() -> None:
    robot = ch.load("panda")
    for acceleration in (np.inf, 1e300, 1e3):
        low, high = AccelerationLimit(acceleration).bounds(robot, HOME, np.zeros(7), 0.1)
        np.testing.assert_allclose(high, np.minimum((robot.upper_limits - HOME) / 0.1, 0.1 * acceleration), rtol=0.15)
        np.testing.assert_allclose(low, np.maximum((robot.lower_limits - HOME) / 0.1, -0.1 * acceleration), rtol=0.15)
    for bound in AccelerationLimit(0.0).bounds(robot, HOME, np.zeros(7), 0.1):
        np.testing.assert_array_equal(bound, 0.0)


def test_limits_of_joints_that_mimic_hold_too() -> None:
    """A slide that follows half of the turn of the first joint has an end before that joint has one."""
    robot = ch.Robot(
        parse_urdf(
            """<robot name="rack"><link name="a"/><link name="b"/><link name="c"/>
            <joint name="turn" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
            <limit lower="-3" upper="3" effort="1" velocity="2"/></joint>
            <joint name="slide" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
            <limit lower="-0.25" upper="0.5" effort="1" velocity="1"/><mimic joint="turn" multiplier="-0.5"/></joint>
            </robot>"""
        )
    )
    for goal, end in ((3.0, 0.5), (-3.0, -1.0)):
        q = np.zeros(1)
        for _ in range(200):
            step = solve_rates(robot, q, [PostureTask([goal], gain=10.0)], 0.02)
            assert step.success
            q = q + 0.02 * step.qd
        np.testing.assert_allclose(q, end, atol=1e-9)
        assert abs(q[0]) <= abs(end)


def test_wrong_arguments() -> None:
    robot = ch.load("panda")
    task = DampingTask()
    for call in (
        lambda: solve_rates(robot, np.zeros(3), [task], 0.01),
        lambda: solve_rates(robot, np.full(7, np.nan), [task], 0.01),
        lambda: solve_rates(robot, HOME, [], 0.01),
        lambda: solve_rates(robot, HOME, [task], 0.0),
        lambda: solve_rates(robot, HOME, [FrameTask(np.eye(3))], 0.01),
        lambda: solve_rates(robot, HOME, [PostureTask([0.0])], 0.01),
        lambda: solve_rates(robot, HOME, [task], 0.01, limits=[VelocityLimit([1.0, 2.0])]),
        lambda: solve_rates(robot, HOME, [task], 0.01, limits=[VelocityLimit(-1.0)]),
        lambda: solve_rates(robot, HOME, [task], 0.01, limits=[ConfigurationLimit(np.nan)]),
        lambda: solve_rates(robot, HOME, [task], 0.01, limits=[ConfigurationLimit(0.0)]),
        lambda: solve_rates(robot, HOME, [task], 0.01, limits=[ConfigurationLimit(1.5)]),
        lambda: solve_rates(robot, HOME, [task], 0.01, limits=[VelocityLimit("fast")]),
        lambda: solve_rates(robot, HOME, [task], 0.01, limits=[AccelerationLimit(np.nan)]),
        lambda: solve_rates(robot, HOME, [FrameTask(np.eye(4), gain=np.nan)], 0.01),
        lambda: solve_rates(robot, HOME, [PostureTask(HOME, cost=np.inf)], 0.01),
        lambda: solve_rates(robot, "home", [task], 0.01),
        lambda: ClosedLoopInverseKinematics(robot, position_gain=np.nan),
    ):
        with pytest.raises(ArgumentError):
            call()


def test_a_missing_solver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "daqp", None)
    with pytest.raises(ch.ChaslesError, match=r"\.\[qp\]"):
        solve_rates(ch.load("panda"), HOME, [[FrameTask(np.eye(4))], [DampingTask()]], 0.01)
