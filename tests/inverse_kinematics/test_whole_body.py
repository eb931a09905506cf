"""Tasks of trees and free bases: exact equations, strict priorities, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.geometry import exp_pose
from chasles.inverse_kinematics import (
    AccelerationLimit,
    CenterOfMassTask,
    ConfigurationLimit,
    DampingTask,
    FrameTask,
    Inequalities,
    OrientationTask,
    PositionTask,
    PostureTask,
    RelativeFrameTask,
    Task,
    VelocityLimit,
    solve_rates,
    solve_tasks,
)
from chasles.inverse_kinematics.differential.assembly import BOUNDED, Assembled, with_active_bounds
from chasles.inverse_kinematics.differential.task import Equation
from chasles.model import Description, Inertia, Joint, Limits, Link


def walker() -> ch.Robot:
    """A free trunk with two legs of three joints each, a spherical joint as its neck and a head."""
    links, joints = [Link("ground"), Link("trunk", Inertia(8.0, [0.0, 0.0, 0.1], np.diag([0.2, 0.15, 0.1])))], []
    joints.append(Joint("base", "free", "ground", "trunk"))
    for side, y in (("left", 0.1), ("right", -0.1)):
        parent = "trunk"
        for name, axis, origin in (
            ("hip", (1.0, 0.0, 0.0), (0.0, y, -0.05)),
            ("thigh", (0.0, 1.0, 0.0), (0.0, 0.0, -0.05)),
            ("knee", (0.0, 1.0, 0.0), (0.0, 0.0, -0.3)),
        ):
            child = f"{side}_{name}"
            links.append(Link(child, Inertia(1.0, [0.0, 0.0, -0.1], np.diag([0.01, 0.01, 0.004]))))
            limits = Limits(lower=-2.5, upper=2.5, velocity=4.0)
            placement = np.eye(4)
            placement[:3, 3] = origin
            joints.append(Joint(child, "revolute", parent, child, axis=axis, T_parent_joint=placement, limits=limits))
            parent = child
    links.append(Link("head", Inertia(2.0, [0.0, 0.0, 0.1], np.diag([0.02, 0.02, 0.02]))))
    neck = np.eye(4)
    neck[2, 3] = 0.3
    joints.append(Joint("neck", "spherical", "trunk", "head", T_parent_joint=neck))
    return ch.Robot(Description("walker", tuple(links), tuple(joints)))


ROBOT = walker()


def somewhere(seed: int) -> Any:
    return ROBOT.random_configuration(seed, reach=0.5)


def tasks_near(q: Any) -> list[Task]:
    """One task of each kind whose goal is near to what q gives."""
    rng = np.random.default_rng(3)
    other = ROBOT.integrate(q, 0.3 * rng.normal(size=ROBOT.n))
    reference, target = (ROBOT.forward_kinematics(other, target=name) for name in ("left_knee", "right_knee"))
    return [
        FrameTask(target, "right_knee", gain=1.0),
        RelativeFrameTask(np.linalg.inv(reference) @ target, "right_knee", "left_knee", gain=1.0),
        PositionTask(target[:3, 3], "right_knee", gain=1.0),
        OrientationTask(target[:3, :3], "right_knee", gain=1.0),
        CenterOfMassTask(ROBOT.center_of_mass(other), gain=1.0),
        PostureTask(other, cost=np.ones(ROBOT.n), gain=1.0),
    ]


@pytest.mark.parametrize("place", range(6))
def test_equations_are_the_errors_and_their_rates(place: int) -> None:
    """b is the error, and falls by J v dt: on the manifold, for quaternions as for plain joints."""
    q = somewhere(0)
    J, b, _ = tasks_near(q)[place].equation(ROBOT, q)
    for k in range(ROBOT.n):
        h = 1e-5 * np.eye(ROBOT.n)[k]
        after, before = (tasks_near(q)[place].equation(ROBOT, ROBOT.integrate(q, step)).b for step in (h, -h))
        np.testing.assert_allclose(J[:, k], -(after - before) / 2e-5, atol=2e-8)
    assert np.abs(b).max() > 1e-2


def test_compiled_steps_are_the_minima_of_the_tasks_sum() -> None:
    q = somewhere(1)
    tasks = [*tasks_near(q), DampingTask(1e-3)]
    found = solve_rates(ROBOT, q, tasks, 0.01, limits=())
    H, f = np.zeros((ROBOT.n, ROBOT.n)), np.zeros(ROBOT.n)
    for task in tasks:
        J, b, weight = task.equation(ROBOT, q)
        H, f = H + J.T @ np.diag(weight) @ J, f - J.T @ (weight * b)
    np.testing.assert_allclose(found.qd, np.linalg.solve(H, -f), rtol=1e-7, atol=1e-9)


def test_a_floating_base_reaches_several_frames_and_its_mass_centre_at_once() -> None:
    q = somewhere(2)
    goal = ROBOT.integrate(q, 0.2 * np.random.default_rng(1).normal(size=ROBOT.n))
    feet = {name: ROBOT.forward_kinematics(goal, target=name) for name in ("left_knee", "right_knee")}
    centre, head = ROBOT.center_of_mass(goal), ROBOT.forward_kinematics(goal, target="head")
    tasks = [
        *(FrameTask(T, name) for name, T in feet.items()),
        OrientationTask(head[:3, :3], "head"),
        CenterOfMassTask(centre),
        DampingTask(1e-4),
    ]
    for _ in range(400):
        q = ROBOT.integrate(q, 0.01 * solve_rates(ROBOT, q, tasks, 0.01).qd)
    for name, T in feet.items():
        np.testing.assert_allclose(ROBOT.forward_kinematics(q, target=name), T, atol=1e-6)
    np.testing.assert_allclose(ROBOT.center_of_mass(q), centre, atol=1e-6)
    np.testing.assert_allclose(ROBOT.forward_kinematics(q, target="head")[:3, :3], head[:3, :3], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(q[:4]), 1.0, atol=1e-12)


def test_lower_levels_do_not_disturb_higher_ones() -> None:
    """Against the closed form: minimum in the null space of the level above."""
    q = somewhere(4)
    foot, _, _, turn, centre, posture = tasks_near(q)
    found = solve_rates(ROBOT, q, [[foot], [centre, turn], [posture]], 0.01, limits=())
    first, b = foot.equation(ROBOT, q)[:2]
    x = np.linalg.pinv(first) @ b
    N = np.eye(ROBOT.n) - np.linalg.pinv(first) @ first
    second, c = (np.concatenate([part.equation(ROBOT, q)[k] for part in (centre, turn)]) for k in (0, 1))
    x = x + np.linalg.pinv(second @ N, rcond=1e-8) @ (c - second @ x)
    both = np.concatenate([first, second])
    N = np.eye(ROBOT.n) - np.linalg.pinv(both, rcond=1e-8) @ both
    third, d = posture.equation(ROBOT, q)[:2]
    x = x + np.linalg.pinv(third @ N, rcond=1e-8) @ (d - third @ x)
    np.testing.assert_allclose(found.qd, x, atol=1e-6)
    assert np.linalg.norm(first @ found.qd - b) < 1e-8
    weighted = solve_rates(ROBOT, q, [foot, centre, turn, posture], 0.01, limits=())
    assert np.linalg.norm(first @ weighted.qd - b) > 1e-3


def test_levels_keep_the_limits() -> None:
    q = ROBOT.neutral
    T = ROBOT.forward_kinematics(q, target="right_knee") @ exp_pose([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])
    base = FrameTask(ROBOT.forward_kinematics(q, target="trunk"), "trunk")
    found = solve_rates(ROBOT, q, [[base], [FrameTask(T, "right_knee", gain=50.0)], [PostureTask(q)]], 0.01)
    assert found.success
    assert np.abs(found.qd[6:]).max() <= 4.0
    np.testing.assert_allclose(found.qd[:6], 0.0, atol=1e-7)
    assert found.active.any()


def test_accelerations_of_joints_are_limited_on_a_free_base() -> None:
    limit = AccelerationLimit(np.where(np.arange(ROBOT.n) < 6, np.inf, 1.0))
    goal = ROBOT.integrate(ROBOT.neutral, np.full(ROBOT.n, 0.5))
    found = solve_rates(ROBOT, ROBOT.neutral, [PostureTask(goal, np.ones(ROBOT.n), 10.0)], 0.01, limits=[limit])
    np.testing.assert_allclose(found.qd[6:12], 0.01, atol=1e-9)
    np.testing.assert_allclose(found.qd[:6], 10.0 * ROBOT.difference(ROBOT.neutral, goal)[:6], rtol=1e-6)


class Slow:
    """A limit of a user: the sum of all joint rates."""

    def inequalities(self, robot: Any, q: Any, dt: float) -> Inequalities:
        row = np.concatenate([np.zeros(6), np.ones(robot.n - 6)])
        return Inequalities(row[None], np.array([-0.3]), np.array([0.3]))


class Turn:
    """A task of a user."""

    def equation(self, robot: Any, q: Any) -> Equation:
        return Equation(np.eye(robot.n)[6:7], np.array([1.0]), np.ones(1))


def test_combined_limits_and_tasks_of_users_join() -> None:
    found = solve_rates(ROBOT, ROBOT.neutral, [Turn(), DampingTask(1e-2)], 0.01, limits=[VelocityLimit(), Slow()])
    assert found.success
    assert found.qd[6:].sum() == pytest.approx(0.3, abs=1e-6)
    stopped = [VelocityLimit(np.where(np.arange(ROBOT.n) < 6, 1.0, 0.0)), Impossible()]
    found = solve_rates(ROBOT, ROBOT.neutral, [DampingTask()], 0.01, limits=stopped)
    assert not found.success
    assert "1 combined limits cannot be kept" in found.message


class Impossible:
    """A limit that joints at rest cannot keep."""

    def inequalities(self, robot: Any, q: Any, dt: float) -> Inequalities:
        return Inequalities(np.eye(robot.n)[6:7], np.array([1.0]), np.array([2.0]))


def test_bad_tasks_are_refused() -> None:
    arm, q = ch.load("planar2r"), np.zeros(2)
    for call, text in (
        (lambda: solve_rates(arm, q, [[DampingTask()], DampingTask()], 0.01), "both tasks and lists"),
        (lambda: solve_rates(arm, q, [[DampingTask()], []], 0.01), "there is no task"),
        (lambda: solve_rates(ROBOT, np.zeros(15), [DampingTask()], 0.01), "q has shape"),
        (lambda: solve_rates(arm, q, [CenterOfMassTask([0.0, np.nan, 0.0])], 0.01), "finite"),
        (lambda: solve_rates(arm, q, [PostureTask(np.zeros(3))], 0.01), "posture has shape"),
        (lambda: solve_rates(arm, q, [DampingTask()], 0.01, limits=[ConfigurationLimit(0.0)]), "fraction"),
    ):
        with pytest.raises(ArgumentError, match=text):
            call()
    with pytest.raises(LookupError, match="frame"):
        solve_rates(arm, q, [RelativeFrameTask(np.eye(4), "tool", "nowhere")], 0.01)


@pytest.mark.parametrize("mask", ["pose", "position", "direction"])
def test_searches_move_a_floating_base_and_spherical_joints(mask: str) -> None:
    goals = ROBOT.forward_kinematics(ROBOT.random_configuration(5, (40,)), target="head")
    solution = ROBOT.inverse_kinematics(goals, target="head", mask=mask)
    assert solution.success.all()
    np.testing.assert_allclose(np.linalg.norm(solution.q[:, :4], axis=-1), 1.0, atol=1e-12)
    found = ROBOT.forward_kinematics(solution.q, target="head")
    np.testing.assert_allclose(
        found[:, :3, 3], goals[:, :3, 3], **({"atol": 1e-6} if mask != "direction" else {"atol": 9.0})
    )
    if mask == "pose":
        np.testing.assert_allclose(found, goals, atol=3e-6)
    if mask == "direction":
        np.testing.assert_allclose(found[:, :3, 2], goals[:, :3, 2], atol=3e-6)


def test_a_spherical_joint_alone_is_searched_from_many_orientations() -> None:
    locked = ROBOT.edit.lock({"base": ROBOT.neutral[:7]})
    goals = locked.forward_kinematics(locked.random_configuration(6, (200,)), target="head")
    solution = locked.inverse_kinematics(goals, target="head")
    assert solution.success.all()
    outside = goals.copy()
    outside[:, 2, 3] += 0.5
    assert not locked.inverse_kinematics(outside, target="head", max_iterations=60).success.any()


def test_limits_and_objectives_hold_on_a_floating_base() -> None:
    goal = ROBOT.forward_kinematics(somewhere(8), target="left_knee")
    posture = somewhere(9)
    for objective in ("center", "posture", "manipulability"):
        options = {"posture": posture} if objective == "posture" else {}
        solution = ROBOT.inverse_kinematics(goal, somewhere(10), target="left_knee", objective=objective, **options)
        assert solution.success
        assert (np.abs(solution.q[7:13]) <= 2.5).all()
    near = ROBOT.inverse_kinematics(goal, somewhere(10), target="left_knee", select="nearest")
    assert near.success
    with pytest.raises(ArgumentError, match="no closed form"):
        ROBOT.inverse_kinematics(goal, target="left_knee", method="closed form")


def test_configurations_for_several_tasks_at_once() -> None:
    """Feet, hands' places and mass centre of a drawn configuration, from another one; the limits hold."""
    rng = np.random.default_rng(11)
    for _ in range(5):
        start = ROBOT.random_configuration(rng, reach=0.5)
        start[7:13] *= 0.5
        goal = ROBOT.integrate(start, 0.3 * rng.normal(size=ROBOT.n))
        goal[7:13] = goal[7:13].clip(-2.5, 2.5)
        feet = [FrameTask(ROBOT.forward_kinematics(goal, target=name), name) for name in ("left_knee", "right_knee")]
        centre = CenterOfMassTask(ROBOT.center_of_mass(goal))
        for tasks in ([*feet, centre], [[*feet, centre], [PostureTask(start)]]):
            found = solve_tasks(ROBOT, tasks, start)
            assert found.success
            assert max(found.errors[:3]) <= 1e-6
            assert (np.abs(found.q[7:13]) <= 2.5 + 1e-8).all()
            for foot in feet:
                np.testing.assert_allclose(
                    ROBOT.forward_kinematics(found.q, target=foot.target), foot.T_world_goal, atol=3e-6
                )
            np.testing.assert_allclose(ROBOT.center_of_mass(found.q), centre.p_world_goal, atol=3e-6)


def test_tasks_that_contradict_each_other_are_no_success() -> None:
    here, there = np.eye(4), np.eye(4)
    there[0, 3] = 0.4
    tasks = [FrameTask(here, "trunk"), FrameTask(there, "trunk")]
    found = solve_tasks(ROBOT, tasks, ROBOT.neutral)
    assert not found.success
    np.testing.assert_allclose(ROBOT.forward_kinematics(found.q, target="trunk")[:3, 3], [0.2, 0.0, 0.0], atol=1e-3)
    with pytest.raises(ArgumentError, match="max_iterations"):
        solve_tasks(ROBOT, tasks, max_iterations=0)
    with pytest.raises(ArgumentError, match="no error"):
        solve_tasks(ROBOT, [Turn()])


@pytest.mark.parametrize("seed", range(3))
def test_lower_lists_are_done_although_the_first_is_done_at_the_start(seed: int) -> None:
    """Both feet stand from the start; the centre of mass is to move, and the posture gives way to it."""
    rng = np.random.default_rng(seed)
    start = ROBOT.neutral.copy()
    start[7:13] = np.array([0.1, -0.5, 1.0, -0.1, -0.5, 1.0]) + rng.uniform(-0.1, 0.1, 6)
    feet = [
        PositionTask(ROBOT.forward_kinematics(start, target=name)[:3, 3], name) for name in ("left_knee", "right_knee")
    ]
    centre = CenterOfMassTask(ROBOT.center_of_mass(start) - np.array([0.0, 0.0, 0.03]))
    found = solve_tasks(ROBOT, [feet, [centre], [PostureTask(start)]], start)
    assert found.success
    assert found.levels[:2] == ("done", "done")
    assert found.levels[2] == "converged"
    assert found.iterations > 0
    np.testing.assert_allclose(ROBOT.center_of_mass(found.q), centre.p_world_goal, atol=3e-6)
    for foot in feet:
        position = ROBOT.forward_kinematics(found.q, target=foot.target)[:3, 3]
        np.testing.assert_allclose(position, foot.p_world_goal, atol=3e-6)


@pytest.mark.parametrize("name", ["panda", "ur5", "gen3"])
def test_a_list_that_contradicts_the_one_above_it_is_no_success(name: str) -> None:
    """The tool cannot be in two places: the first list keeps its own, the second one ends where it is nearest."""
    arm = ch.load(name)
    p = arm.forward_kinematics(arm.home)[:3, 3]
    beside = PositionTask(p + np.array([0.0, 0.02, 0.0]))
    found = solve_tasks(arm, [[PositionTask(p)], [beside]], arm.home)
    assert not found.success
    assert found.levels == ("done", "converged")
    assert found.errors[0] <= 1e-6
    assert found.errors[1] == pytest.approx(0.02, abs=2e-6)
    np.testing.assert_allclose(arm.forward_kinematics(found.q)[:3, 3], p, atol=2e-6)
    short = solve_tasks(arm, [[beside], [PostureTask(arm.home)]], arm.home, max_iterations=1)
    assert short.levels[0] == "unfinished"


def test_guesses_of_active_bounds_end_in_the_minimum() -> None:
    """The optimality conditions of random programs hold: gradient zero between the bounds, and outwards at them."""
    rng, missed = np.random.default_rng(3), 0
    for _ in range(300):
        J = rng.normal(size=(14, 12)) * rng.choice([1.0, 0.1, 0.01], 12)
        H = J.T @ J
        H = H / H.diagonal().max() + 1e-6 * np.eye(12)
        f, lower = rng.normal(size=12) * 0.1, -rng.uniform(0.0, 1.0, 12)
        upper = np.where(rng.random(12) < 0.1, lower, rng.uniform(0.0, 1.0, 12))
        start = rng.integers(-1, 2, 12).astype(float)
        found = with_active_bounds(Assembled(None, start, BOUNDED, H, f, lower, upper, None))
        missed += found is None
        if found is None:
            continue
        x, _ = found
        assert (x >= lower).all()
        assert (x <= upper).all()
        gradient = H @ x + f
        assert np.abs(gradient[(x > lower) & (x < upper)]).max(initial=0.0) < 1e-10
        assert (gradient[(x == lower) & (x < upper)] > -1e-10).all()
        assert (gradient[(x == upper) & (x > lower)] < 1e-10).all()
    assert missed < 15  # of which DAQP is asked


def test_the_rates_do_not_depend_on_the_start_of_the_search() -> None:
    q = ROBOT.integrate(ROBOT.home, 0.3 * np.ones(ROBOT.n))
    goal = exp_pose([0.2, -0.4, 0.3, 0.4, 0.3, -0.2]) @ ROBOT.forward_kinematics(q, target="left_knee")
    tasks = [FrameTask(goal, "left_knee", gain=30.0), PostureTask(ROBOT.home, cost=0.1, gain=30.0)]
    limits = (ConfigurationLimit(), VelocityLimit(0.8))
    cold = solve_rates(ROBOT, q, tasks, 0.01, limits=limits)
    assert cold.active.sum() > 4
    other = solve_rates(ROBOT, ROBOT.home, tasks, 0.01, limits=limits)
    for start in (cold, other):
        np.testing.assert_allclose(
            solve_rates(ROBOT, q, tasks, 0.01, limits=limits, start=start).qd, cold.qd, atol=1e-9
        )
