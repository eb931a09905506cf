"""Point-to-point motion: ends, derivatives, limits, batches, and refusals."""

from __future__ import annotations

import pickle
from typing import Any

import modern_robotics
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.trajectories import JointTrajectory
from chasles.trajectories.joint.scalings import LAWS

START, GOAL = np.array([0.1, -2.0, 0.0]), np.array([1.0, 3.0, 0.0])
LIMITS = {"velocity": [1.5, 2.0, 1.0], "acceleration": [4.0, 3.0, 1.0], "jerk": [20.0, 30.0, 1.0]}


@pytest.mark.parametrize("scaling", ["cubic", "quintic"])
def test_it_starts_and_ends_at_rest(scaling: str) -> None:
    motion = ch.PointToPoint(START, GOAL, 1.5, scaling=scaling)
    for t, q in ((-1.0, START), (0.0, START), (1.5, GOAL), (9.0, GOAL)):
        np.testing.assert_allclose(motion(t).q, q, atol=1e-15)
        np.testing.assert_allclose(motion(t).qd, 0.0, atol=1e-15)
    np.testing.assert_array_equal(motion([-0.1, 1.6]).qdd, 0.0)


@pytest.mark.parametrize("scaling", ["cubic", "quintic"])
def test_velocity_and_acceleration_are_derivatives(scaling: str) -> None:
    motion = ch.PointToPoint(START, GOAL, 1.5, scaling=scaling)
    t = np.linspace(0.05, 1.45, 57)
    h = 1e-4
    before, here, after = motion(t - h), motion(t), motion(t + h)
    np.testing.assert_allclose(here.qd, (after.q - before.q) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(here.qdd, (after.qd - before.qd) / (2 * h), atol=1e-5)


def test_the_quintic_has_the_coefficients_of_the_book() -> None:
    """Modern Robotics 9.2.2.2: s = 10 x³ - 15 x⁴ + 6 x⁵."""
    x = np.linspace(0, 1, 11)
    expected = np.polynomial.Polynomial([0, 0, 0, 10, -15, 6])(x)
    np.testing.assert_allclose(ch.PointToPoint([0.0], [1.0], 1.0)(x).q[:, 0], expected, atol=1e-15)


def test_times_of_any_shape() -> None:
    assert ch.PointToPoint(START, GOAL, 1.0)(np.zeros((2, 3))).qdd.shape == (2, 3, 3)


def test_start_equal_to_goal_rests() -> None:
    motion = ch.PointToPoint(START, START, 1.0)(np.linspace(0, 1, 5))
    np.testing.assert_array_equal(motion.q, np.tile(START, (5, 1)))
    np.testing.assert_array_equal(motion.qd, 0.0)


def test_it_pickles() -> None:
    motion = ch.PointToPoint(START, GOAL, 1.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(motion))(0.3).q, motion(0.3).q)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0], [0.0, 1.0], 1.0), "start has 1 joints, goal 2"),
        (([np.nan], [0.0], 1.0), r"start\[0\] is nan; it must be finite"),
        (([0.0], [np.inf], 1.0), r"goal\[0\] is inf; it must be finite"),
        ((0.0, [0.0], 1.0), r"start has shape \(\); expected \(\.\.\., n\)"),
        (([], [], 1.0), r"start has shape \(0,\); there must be at least one joint"),
        (([[0.0], [1.0]], [[0.0]] * 3, 1.0), "leading axes of start"),
        (([[0.0], [1.0]], [0.0], [1.0] * 3), "leading axes do not broadcast"),
        (([[0.0], [1.0]], [[0.0], [np.nan]], 1.0), r"goal\[1, 0\] is nan; it must be finite"),
        (([0.0], [1.0], "long"), "duration must be an array of real numbers, not 'long'"),
        (([[0.0], [1.0]], [1.0], [0.0, 0.0]), r"duration\[0\] is 0\.0; it must be positive"),
        ((["a"], [0.0], 1.0), r"start must be an array of real numbers, not \['a'\]"),
        (([0.0], [1.0], 0.0), r"duration is .*; it must be"),
        (([0.0], [1.0], -1.0), r"duration is .*; it must be"),
        (([0.0], [1.0], np.nan), r"duration is .*; it must be"),
    ],
)
def test_bad_input_is_named(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ch.PointToPoint(*arguments)


def test_unknown_scalings_list_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match="cubic, quintic"):
        ch.PointToPoint([0.0], [1.0], 1.0, scaling="cubics")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ramp": 0.2}, "the scaling 'quintic' has no ramp"),
        ({"scaling": "trapezoid", "rounding": 0.2}, "the scaling 'trapezoid' has no rounding"),
        ({"scaling": "trapezoid", "ramp": 0.0}, "ramp is 0.0; it must be at least 1e-18"),
        ({"scaling": "trapezoid", "ramp": 0.6}, "ramp is 0.6; it must be at most 0.5"),
        ({"scaling": "trapezoid", "ramp": np.nan}, "ramp is nan; it must be finite"),
        ({"scaling": "s-curve", "rounding": -0.1}, "rounding is -0.1; it must be at least 0"),
        ({"scaling": "s-curve", "ramp": "short"}, "ramp must be an array of real numbers"),
        ({"synchronized": False, "scaling": "s-curve", "ramp": [0.1, 0.2]}, r"ramp must be .* shape \(\.\.\., 3\)"),
    ],
)
def test_bad_shapes_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ch.PointToPoint(START, GOAL, 1.0, **options)


@pytest.mark.parametrize("scaling", list(LAWS))
def test_both_ends_are_exact(scaling: Any) -> None:
    rng = np.random.default_rng(2)
    start, goal = rng.standard_normal((2, 50, 3)) * 10.0 ** rng.uniform(-5.0, 5.0, (2, 50, 3))
    motion = ch.PointToPoint(start, goal, 1.7, scaling=scaling)
    np.testing.assert_array_equal(motion(0.0).q, start)
    np.testing.assert_array_equal(motion(1.7).q, goal)
    np.testing.assert_array_equal(motion(2.0).q, goal)
    for still in (*motion(-0.1)[1:], *motion(1.8)[1:], motion.jerk(-1e-9), motion.jerk(1.8)):
        np.testing.assert_array_equal(still, 0.0)


@pytest.mark.parametrize("scaling", list(LAWS))
def test_it_is_a_joint_trajectory(scaling: Any) -> None:
    motion = ch.PointToPoint(START, GOAL, 1.5, scaling=scaling)
    assert isinstance(motion, JointTrajectory)
    assert (motion.n, motion.batch, motion.duration, motion.start_time, motion.end_time) == (3, (), 1.5, 0.0, 1.5)
    assert (np.diff(motion.knots) > 0.0).all()
    t, sampled = motion.sample(0.1)
    np.testing.assert_array_equal(t[[0, -1]], [0.0, 1.5])
    np.testing.assert_array_equal(sampled.q[[0, -1]], [START, GOAL])
    h = 1e-4
    inner = np.linspace(0.05, 1.45, 97)
    inner = inner[np.abs(inner[:, None] - motion.knots).min(axis=1) > 2 * h]
    difference = (motion(inner + h).qdd - motion(inner - h).qdd) / (2 * h)
    np.testing.assert_allclose(motion.jerk(inner), difference, atol=1e-3)


@pytest.mark.parametrize("scaling", list(LAWS))
@pytest.mark.parametrize("synchronized", [True, False])
def test_a_batch_is_each_of_its_motions(scaling: Any, synchronized: bool) -> None:
    rng = np.random.default_rng(3)
    start, goal = rng.standard_normal((4, 1, 3)), rng.standard_normal((2, 3))
    each = (4, 2) if synchronized else (4, 2, 3)
    duration = rng.uniform(0.5, 2.0, each)
    shape = {name: rng.uniform(0.05, 0.5, each) for name in LAWS[scaling].parameters}
    motions = ch.PointToPoint(start, goal, duration, scaling=scaling, synchronized=synchronized, **shape)
    assert motions.batch == (4, 2)
    assert motions.knots.shape[:2] == (4, 2)
    t = np.linspace(-0.1, 2.1, 23)
    together = motions.sample(0.1).motion.q
    assert together.shape == (4, 2, len(motions.sample_times(0.1)), 3)
    values = motions(t[:, None, None])
    jerks = motions.jerk(t[:, None, None])
    assert values.q.shape == (23, 4, 2, 3)
    for i, j in np.ndindex(4, 2):
        own = {name: value[i, j] for name, value in shape.items()}
        one = ch.PointToPoint(start[i, 0], goal[j], duration[i, j], scaling=scaling, synchronized=synchronized, **own)
        np.testing.assert_allclose(motions.duration[i, j], one.duration)
        np.testing.assert_allclose(np.unique(motions.knots[i, j]), one.knots)
        for value, expected in zip((*values, jerks), (*one(t), one.jerk(t)), strict=True):
            np.testing.assert_allclose(value[:, i, j], expected, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(together[i, j], one(motions.sample_times(0.1)).q, atol=1e-14)


def test_each_time_of_a_batch_may_be_its_own() -> None:
    motions = ch.PointToPoint(np.zeros((3, 1)), [1.0], [1.0, 2.0, 4.0])
    np.testing.assert_allclose(motions([0.5, 1.0, 2.0]).q, 0.5)


@pytest.mark.parametrize("method", [3, 5])
def test_the_joint_trajectory_of_modern_robotics(method: int) -> None:
    expected = modern_robotics.JointTrajectory(START, GOAL, 2.0, 11, method)
    motion = ch.PointToPoint(START, GOAL, 2.0, scaling="cubic" if method == 3 else "quintic")
    np.testing.assert_allclose(motion(np.linspace(0.0, 2.0, 11)).q, expected, atol=1e-14)
    scaling = modern_robotics.CubicTimeScaling if method == 3 else modern_robotics.QuinticTimeScaling
    np.testing.assert_allclose(ch.PointToPoint([0.0], [1.0], 2.0, scaling=motion.scaling)(0.6).q, scaling(2.0, 0.6))


def largest(motion: ch.PointToPoint) -> np.ndarray:
    """Largest velocity, acceleration and jerk of each joint, (..., 3, n), from dense samples and at the knots."""
    t = np.concatenate(
        [np.linspace(0.0, motion.duration, 4001), motion.knots, motion.knots + 1e-9, motion.knots - 1e-9]
    )
    return np.abs(motion.derivatives(t)[1:]).max(axis=1)


@pytest.mark.parametrize("synchronized", [True, False])
@pytest.mark.parametrize("scaling", ["quintic", "septic", "cycloid", "modified-trapezoid", "s-curve"])
def test_limits_of_all_three_orders_are_kept(scaling: Any, synchronized: bool) -> None:
    motion = ch.PointToPoint.within_limits(START, GOAL, **LIMITS, scaling=scaling, synchronized=synchronized)
    ratios = largest(motion) / np.array(list(LIMITS.values()))
    assert (ratios <= 1.0 + 1e-9).all()
    np.testing.assert_array_equal(ratios[:, 2], 0.0)  # this joint need not move
    reached = ratios.max(axis=0)
    np.testing.assert_allclose(reached[:2].max() if synchronized else reached[:2], 1.0, rtol=1e-5)
    np.testing.assert_array_equal(motion(motion.duration).q, GOAL)


@pytest.mark.parametrize("synchronized", [True, False])
@pytest.mark.parametrize("scaling", ["cubic", "thirds", "trapezoid", "s-curve"])
def test_limits_of_two_orders_are_kept(scaling: Any, synchronized: bool) -> None:
    limits = {name: LIMITS[name] for name in ("velocity", "acceleration")}
    motion = ch.PointToPoint.within_limits(START, GOAL, **limits, scaling=scaling, synchronized=synchronized)
    ratios = largest(motion)[:2] / np.array(list(limits.values()))
    assert (ratios <= 1.0 + 1e-9).all()
    np.testing.assert_allclose(ratios.max(), 1.0, rtol=1e-6)


def test_synchronized_joints_move_in_a_straight_line() -> None:
    motion = ch.PointToPoint.within_limits(START, GOAL, **LIMITS)
    q = motion(np.linspace(0.0, motion.duration, 50)).q - START
    np.testing.assert_allclose(q[:, 0] * (GOAL - START)[1], q[:, 1] * (GOAL - START)[0], atol=1e-14)


@given(
    st.lists(st.tuples(st.floats(-3.0, 3.0), st.floats(0.1, 5.0), st.floats(0.1, 9.0), st.floats(0.5, 99.0)),
             min_size=1, max_size=4)
)  # fmt: skip
def test_no_joint_alone_is_faster_than_ruckig(joints: list[tuple[float, float, float, float]]) -> None:
    ruckig = pytest.importorskip("ruckig")
    n = len(joints)
    goal, v, a, j = (list(column) for column in zip(*joints, strict=True))
    goal = [0.0 if abs(g) < 1e-3 else g for g in goal]
    motion = ch.PointToPoint.within_limits([0.0] * n, goal, velocity=v, acceleration=a, jerk=j, synchronized=False)
    problem, result = ruckig.InputParameter(n), ruckig.Trajectory(n)
    problem.current_position, problem.target_position = [0.0] * n, goal
    problem.max_velocity, problem.max_acceleration, problem.max_jerk = v, a, j
    problem.synchronization = ruckig.Synchronization.No
    ruckig.Ruckig(n).calculate(problem, result)
    np.testing.assert_allclose(motion.duration, result.duration, rtol=1e-9)
    for t in np.linspace(0.0, motion.duration, 9):
        q, qd = result.at_time(t)[:2]
        np.testing.assert_allclose(motion(t).q, q, atol=1e-7)
        np.testing.assert_allclose(motion(t).qd, qd, atol=1e-6)


def test_ten_thousand_plans_at_once() -> None:
    rng = np.random.default_rng(4)
    start, goal = rng.uniform(-3.0, 3.0, (2, 10_000, 7))
    motions = ch.PointToPoint.within_limits(start, goal, velocity=2.0, acceleration=5.0, jerk=50.0)
    few = slice(None, None, 997)
    some = ch.PointToPoint.within_limits(start[few], goal[few], velocity=2.0, acceleration=5.0, jerk=50.0)
    np.testing.assert_array_equal(motions.duration[few], some.duration)
    t = np.linspace(0.0, 1.0, 21)[:, None] * motions.duration
    q, qd, qdd, qddd = motions.derivatives(t)
    np.testing.assert_array_equal(q[0], start)
    np.testing.assert_array_equal(q[-1], goal)
    for part, limit in ((qd, 2.0), (qdd, 5.0), (qddd, 50.0)):
        assert np.abs(part).max() <= limit * (1.0 + 1e-12)


def test_from_start_to_start_takes_no_time() -> None:
    for synchronized in (True, False):
        rest = ch.PointToPoint.within_limits(START, START, **LIMITS, synchronized=synchronized)
        assert rest.duration == 0.0
        q, qd, qdd, qddd = rest.derivatives(np.array([-1.0, 0.0, 1.0]))
        np.testing.assert_array_equal(q, [START] * 3)
        np.testing.assert_array_equal([qd, qdd, qddd], 0.0)
        np.testing.assert_array_equal(rest.sample(0.1).motion.q, [START])
    for scaling in LAWS:
        values = ch.PointToPoint(START, START, 0.0, scaling=scaling).derivatives(np.array([-1.0, 0.0, 1.0]))
        np.testing.assert_array_equal(values[0], [START] * 3)
        np.testing.assert_array_equal(values[1:], 0.0)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"velocity": [1.0, 0.0, 1.0]}, r"velocity\[1\] is 0\.0; it must be positive"),
        ({"acceleration": np.nan}, "acceleration is nan; it must be a number"),
        ({"velocity": [1.0, 1.0]}, r"velocity must be one number or have shape \(\.\.\., 3\), not \(2,\)"),
        ({"velocity": 1.0}, "needs a limit of acceleration or jerk"),
        ({"jerk": 1.0, "acceleration": 1.0, "scaling": "trapezoid"}, "cannot keep a limit of jerk"),
        ({"velocity": 1.0, "scaling": "slow"}, "no scaling 'slow'"),
    ],
)
def test_bad_limits_are_named(limits: dict[str, Any], message: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message):
        ch.PointToPoint.within_limits(START, GOAL, **limits)


@pytest.mark.parametrize("scaling", ["trapezoid", "s-curve", "cycloid"])
@pytest.mark.parametrize("synchronized", [True, False])
def test_simulations_trace_it_and_vary_its_numbers(scaling: Any, synchronized: bool) -> None:
    arm = ch.load("planar2r")
    motion = ch.PointToPoint.within_limits(
        [0.0, 0.0], [1.0, 0.5], velocity=3.0, acceleration=[9.0, 20.0], scaling=scaling, synchronized=synchronized
    )
    goals = np.array([[1.0, 0.5], [0.3, -0.4]])
    controller = ch.ComputedTorque(arm, kp=400.0, kd=40.0)
    run = ch.simulate(arm, controller, motion, vary={"reference.goal": goals}, period=0.01)
    for k, goal in enumerate(goals):
        own = ch.PointToPoint(
            [0.0, 0.0], goal, motion.parameters["duration"], scaling=scaling, synchronized=synchronized,
            **{name: motion.parameters[name] for name in LAWS[scaling].parameters},
        )  # fmt: skip
        np.testing.assert_allclose(run.q_reference.values[k], own(run.time.values).q, atol=1e-13)
        np.testing.assert_allclose(run.qd_reference.values[k], own(run.time.values).qd, atol=1e-12)


def test_text() -> None:
    assert repr(ch.PointToPoint([0.0], [1.0], 2.0)) == "<PointToPoint [0] -> [1] in 2 s, quintic>"
    many = ch.PointToPoint(np.zeros((2, 3)), [1.0, 1.0, 1.0], 2.0, scaling="thirds")
    assert repr(many) == "<PointToPoint of 3 joints, batch (2,), thirds>"
