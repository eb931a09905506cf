"""Jerk-limited motions from any state: exact pieces, limits, and durations known from elsewhere."""

from __future__ import annotations

import pickle
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chasles as ch
from chasles.base.errors import ArgumentError, MissingExtraError, UnknownNameError
from chasles.trajectories.motion import Motion
from chasles.trajectories.planning.online import online_trajectory

pytestmark = pytest.mark.skipif(find_spec("ruckig") is None, reason="needs the extra planning")

LIMITS = {"velocity": 1.0, "acceleration": 2.0, "jerk": 10.0}


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    moving=st.booleans(),
    jerk=st.booleans(),
    synchronization=st.sampled_from(["time", "phase", "time-if-necessary", "none"]),
)
def test_pieces_join_and_lead_from_state_to_state(seed: int, moving: bool, jerk: bool, synchronization: Any) -> None:
    rng = np.random.default_rng(seed)
    n = 3
    limits = {
        "velocity": rng.uniform(0.5, 2.0, n),
        "acceleration": rng.uniform(0.5, 5.0, n),
        "jerk": rng.uniform(1.0, 50.0, n) if jerk else np.inf,
    }
    start, goal, qd0 = rng.normal(size=(3, n))
    qdd0 = rng.normal(size=n) if jerk else np.zeros(n)
    if not moving:
        qd0, qdd0 = np.zeros(n), np.zeros(n)
    move = online_trajectory(
        Motion(start, qd0, qdd0),
        goal,
        **limits,
        synchronization=synchronization,
        start_time=-2.0,
    )
    first, last = move.derivatives(np.array(-2.0)), move.derivatives(move.end_time)
    np.testing.assert_allclose(first[0], start, atol=1e-12)
    np.testing.assert_allclose(first[1], qd0, atol=1e-12)
    np.testing.assert_allclose(last[0], goal, atol=1e-10)
    np.testing.assert_allclose(last[1], 0.0, atol=1e-10)
    inner = move.knots[1:-1]
    left, right = move.derivatives(np.nextafter(inner, -np.inf)), move.derivatives(inner)
    for order in range(3 if jerk else 2):
        np.testing.assert_allclose(left[order], right[order], atol=1e-10)
    peaks = move.peaks()
    if not moving:  # a start beyond the limits is brought back within them
        assert (peaks.velocity.largest <= limits["velocity"] * (1 + 1e-10)).all()
        assert (peaks.acceleration.largest <= limits["acceleration"] * (1 + 1e-10)).all()
    if jerk:
        assert (peaks.jerk.largest <= limits["jerk"] * (1 + 1e-10)).all()
    assert (move.shortest_durations <= move.duration + 1e-10).all()


@settings(max_examples=30)
@given(
    distance=st.floats(1e-3, 10.0),
    velocity=st.floats(0.1, 3.0),
    acceleration=st.floats(0.1, 10.0),
    jerk=st.floats(1, 50),
)
def test_from_rest_to_rest_it_is_the_double_s_profile(
    distance: float, velocity: float, acceleration: float, jerk: float
) -> None:
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    move = online_trajectory([0.0], [distance], **limits)
    profile = ch.PointToPoint.within_limits([0.0], [distance], **limits)
    np.testing.assert_allclose(move.duration, profile.duration, rtol=1e-9)
    t = np.linspace(0.0, float(profile.duration), 101)
    np.testing.assert_allclose(move(t).q, profile(t).q, atol=1e-8 * distance)


def test_without_a_limit_of_jerk_it_is_the_trapezoid() -> None:
    """3 rad at 1 rad/s and 2 rad/s²: 3/1 + 1/2 s."""
    move = online_trajectory([0.0], [3.0], velocity=1.0, acceleration=2.0)
    assert move.duration == pytest.approx(3.5, rel=1e-12)
    np.testing.assert_allclose(move([0.25, 1.0, 3.25]).qd[:, 0], [0.5, 1.0, 0.5], rtol=1e-12)


def test_a_new_plan_goes_on_from_the_old_one() -> None:
    old = online_trajectory([0.0, 0.0], [1.0, -0.5], **LIMITS)
    now = old(0.6)
    same = online_trajectory(now, [1.0, -0.5], **LIMITS, start_time=0.6, synchronization="none")
    assert same.end_time >= old.end_time - 1e-9 or same.end_time == pytest.approx(old.end_time)
    new = online_trajectory(now, [-1.0, 0.5], **LIMITS, start_time=0.6)
    for part in (0, 1, 2):
        np.testing.assert_allclose(new(0.6)[part], now[part], atol=1e-12)


def test_the_quickest_stop() -> None:
    """From 1 rad/s with 2 rad/s² and 10 rad/s³: v/a + a/j s."""
    stop = online_trajectory(Motion(np.zeros(1), np.ones(1), np.zeros(1)), None, **LIMITS)
    assert stop.duration == pytest.approx(1.0 / 2.0 + 2.0 / 10.0, rel=1e-12)
    np.testing.assert_allclose(stop(stop.end_time).qd, 0.0, atol=1e-12)
    np.testing.assert_allclose(stop(stop.end_time).q, 0.5 * stop.duration, rtol=1e-9)  # it slows symmetrically


def test_phase_synchronization_is_a_straight_line() -> None:
    start, goal = np.array([0.0, 1.0, -1.0]), np.array([1.0, 0.5, 0.0])
    move = online_trajectory(start, goal, velocity=1.0, acceleration=2.0, jerk=20.0, synchronization="phase")
    q = move(np.linspace(0.0, float(move.duration), 50)).q
    share = (q - start) / (goal - start)
    np.testing.assert_allclose(share, np.tile(share[:, :1], 3), atol=1e-9)


def test_joints_on_their_own_arrive_at_their_own_times() -> None:
    move = online_trajectory([0.0, 0.0], [0.1, 2.0], **LIMITS, synchronization="none")
    early = float(move.shortest_durations[0])
    assert early < 0.5 * move.duration
    np.testing.assert_allclose(move(early).q[0], 0.1, atol=1e-12)
    np.testing.assert_array_equal(move([early + 0.01, early + 0.5]).qd[:, 0], 0.0)


@pytest.mark.parametrize("synchronization", ["time", "none", "phase"])
def test_joints_that_need_not_move_stay(synchronization: Any) -> None:
    move = online_trajectory([0.3, 0.0, 0.0], [0.3, 1.0, 0.5], **LIMITS, synchronization=synchronization)
    np.testing.assert_array_equal(move(np.linspace(0.0, 3.0, 50)).q[:, 0], 0.3)
    np.testing.assert_array_equal(move.peaks().velocity.largest[0], 0.0)
    np.testing.assert_allclose(move(move.end_time).q, [0.3, 1.0, 0.5], atol=1e-12)


def test_durations_as_wanted() -> None:
    assert online_trajectory([0.0], [1.0], **LIMITS, minimum_duration=5.0).duration == pytest.approx(5.0)
    cycles = online_trajectory([0.0], [1.0], **LIMITS, cycle=0.04).duration / 0.04
    assert cycles == pytest.approx(round(cycles), abs=1e-9)


def test_a_goal_that_moves() -> None:
    move = online_trajectory([0.0], [1.0], **LIMITS, goal_velocity=0.5, goal_acceleration=-1.0)
    last = move.derivatives(move.end_time)
    np.testing.assert_allclose([part[0] for part in last[:3]], [1.0, 0.5, -1.0], atol=1e-10)
    np.testing.assert_array_equal(move(move.end_time + 1e-9).qd, 0.0)


def test_start_equal_to_goal_rests() -> None:
    rest = online_trajectory([0.3, 0.4], [0.3, 0.4], **LIMITS)
    assert 0.0 < rest.duration <= 1e-9
    np.testing.assert_array_equal(rest([-1.0, 0.0, 1.0]).q, np.tile([0.3, 0.4], (3, 1)))
    np.testing.assert_array_equal(rest.peaks().velocity.largest, 0.0)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"start": 0.0}, ArgumentError, r"start has shape \(\); expected \(n,\)"),
        ({"start": [0.0, np.nan]}, ArgumentError, r"start\[1\] is nan; it must be finite"),
        ({"start": Motion(np.zeros(2), np.zeros(3), np.zeros(2))}, ArgumentError, r"start\.qd has shape \(3,\)"),
        ({"goal": [1.0]}, ArgumentError, r"goal has shape \(1,\); expected \(2,\)"),
        ({"goal": [1.0, np.inf]}, ArgumentError, r"goal\[1\] is inf; it must be finite"),
        ({"velocity": 0.0}, ArgumentError, r"velocity\[0\] is 0\.0; it must be positive"),
        ({"jerk": [1.0, -1.0]}, ArgumentError, r"jerk\[1\] is -1\.0; it must be positive"),
        ({"acceleration": np.nan}, ArgumentError, r"acceleration\[0\] is nan; it must be a number"),
        (
            {"acceleration": [1.0, 2.0, 3.0]},
            ArgumentError,
            r"acceleration has shape \(3,\); expected \(2,\) or one number",
        ),
        ({"goal_velocity": [0.0, 2.0]}, ArgumentError, "goal_velocity of joint 1 is 2.0, beyond its limit 1.0"),
        ({"goal_acceleration": -3.0}, ArgumentError, "goal_acceleration of joint 0 is -3.0, beyond its limit 2.0"),
        ({"minimum_duration": -1.0}, ArgumentError, r"minimum_duration is -1\.0; it must be positive"),
        ({"cycle": 0.0}, ArgumentError, r"cycle is 0\.0; it must be positive"),
        ({"start_time": np.nan}, ArgumentError, "start_time is nan; it must be finite"),
        ({"synchronization": "maybe"}, UnknownNameError, "time, time-if-necessary, phase, none"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        online_trajectory(**{"start": [0.0, 0.0], "goal": [1.0, 1.0], **LIMITS, **change})


def test_it_pickles() -> None:
    move = online_trajectory([0.0, 0.0], [1.0, -0.5], **LIMITS)
    again = pickle.loads(pickle.dumps(move))
    np.testing.assert_array_equal(again(0.4).qdd, move(0.4).qdd)
    np.testing.assert_array_equal(again.shortest_durations, move.shortest_durations)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ruckig", None)
    with pytest.raises(MissingExtraError, match=r"\.\[planning\]"):
        online_trajectory([0.0], [1.0], **LIMITS)
