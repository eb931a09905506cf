"""Lines, screws, circles and arcs in space: against Modern Robotics, differences, geometry, limits, and refusals."""

from __future__ import annotations

import pickle
from typing import Any

import modern_robotics
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.trajectories.pose_differences import acceleration_by_differences, away_from_knots, twist_by_differences

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import exp_pose, pose, random_rotation, rotation_from_axis_angle
from chasles.trajectories import CartesianTrajectory
from chasles.trajectories.joint.scalings import LAWS

rng = np.random.default_rng(6)
T0, T1 = pose(random_rotation(rng, (2,)), rng.normal(size=(2, 3)))
CENTER, AXIS = np.array([0.3, -0.2, 0.1]), np.array([0.0, 3.0, 4.0])
MOTIONS: dict[str, Any] = {
    "line": lambda **timing: ch.StraightLine(T0, T1, **timing),
    "screw": lambda **timing: ch.ScrewMotion(T0, T1, **timing),
    "circle": lambda **timing: ch.Circle(T0, CENTER, AXIS, **timing),
    "helix": lambda **timing: ch.Circle(T0, CENTER, AXIS, -9.0, rise=0.7, orientation="turning", **timing),
    "arc": lambda **timing: ch.CircularArc(T0, CENTER, T1, **timing),
}


@pytest.fixture(params=MOTIONS)
def motion_of(request: pytest.FixtureRequest) -> Any:
    return MOTIONS[request.param]


@pytest.mark.parametrize(("scaling", "method"), [("cubic", 3), ("quintic", 5)])
def test_lines_and_screws_are_those_of_modern_robotics(scaling: str, method: int) -> None:
    times = np.linspace(0.0, 3.0, 51)
    for ours, theirs in (
        (ch.StraightLine, modern_robotics.CartesianTrajectory),
        (ch.ScrewMotion, modern_robotics.ScrewTrajectory),
    ):
        expected = np.array(theirs(T0, T1, 3.0, 51, method))
        np.testing.assert_allclose(ours(T0, T1, duration=3.0, scaling=scaling)(times).pose, expected, atol=1e-13)


@pytest.mark.parametrize("scaling", LAWS)
def test_twists_and_accelerations_are_derivatives(motion_of: Any, scaling: str) -> None:
    motion = motion_of(duration=1.7, scaling=scaling)
    t = away_from_knots(motion)
    np.testing.assert_allclose(motion(t).twist, twist_by_differences(motion, t), atol=1e-9)
    np.testing.assert_allclose(motion(t).acceleration, acceleration_by_differences(motion, t), atol=1e-9)


def test_it_rests_before_and_after(motion_of: Any) -> None:
    motion = motion_of(duration=1.5)
    assert isinstance(motion, CartesianTrajectory)
    assert (motion.start_time, motion.end_time, motion.duration) == (0.0, 1.5, 1.5)
    for inside, outside in ((0.0, -0.1), (1.5, 1.6)):
        np.testing.assert_allclose(motion(outside).pose, motion(inside).pose, atol=1e-15)
        assert not motion(outside).twist.any()
        assert not motion(outside).acceleration.any()
        np.testing.assert_allclose(motion(inside).twist, 0.0, atol=1e-15)
    np.testing.assert_allclose(motion(0.0).pose, T0, atol=1e-15)


def test_the_line_is_straight_and_turns_evenly() -> None:
    motion = ch.StraightLine(T0, T1, duration=1.0)
    x = motion(np.linspace(0.1, 0.9, 9))
    p0, p1 = T0[:3, 3], T1[:3, 3]
    np.testing.assert_allclose(np.cross(x.pose[:, :3, 3] - p0, p1 - p0), 0.0, atol=1e-14)
    speeds = np.linalg.norm(x.twist[:, 3:], axis=-1) / np.linalg.norm(x.twist[:, :3], axis=-1)
    np.testing.assert_allclose(speeds, speeds[0], rtol=1e-13)
    np.testing.assert_allclose(motion(1.0).pose, T1, atol=1e-15)


def test_the_screw_has_one_twist_of_its_own() -> None:
    motion = ch.ScrewMotion(T0, T1, duration=1.0, scaling="linear")
    x = motion(np.linspace(0.1, 0.9, 9))
    R = np.swapaxes(x.pose[:, :3, :3], -1, -2)
    body = np.concatenate([R @ x.twist[:, :3, None], R @ x.twist[:, 3:, None]], axis=1)[..., 0]
    np.testing.assert_allclose(body, np.tile(body[0], (9, 1)), atol=1e-14)
    np.testing.assert_allclose(exp_pose(body[0]), np.linalg.inv(T0) @ T1, atol=1e-14)


@pytest.mark.parametrize("angle", [0.5, 2 * np.pi, -3.0, 20.0])
def test_circles_keep_their_radius_and_plane(angle: float) -> None:
    motion = ch.Circle(T0, CENTER, AXIS, angle, duration=2.0)
    x = motion(np.linspace(0.0, 2.0, 33))
    unit = AXIS / 5.0
    arms = x.pose[:, :3, 3] - CENTER
    heights = arms @ unit
    np.testing.assert_allclose(heights, heights[0], atol=1e-13)
    radii = np.linalg.norm(arms - heights[:, None] * unit, axis=-1)
    np.testing.assert_allclose(radii, radii[0], rtol=1e-13)
    np.testing.assert_allclose(x.pose[:, :3, :3], np.tile(T0[:3, :3], (33, 1, 1)), atol=1e-15)
    expected = rotation_from_axis_angle(unit, angle) @ (T0[:3, 3] - CENTER) + CENTER
    np.testing.assert_allclose(x.pose[-1, :3, 3], expected, atol=1e-13)


def test_a_turning_frame_is_fixed_to_its_wheel() -> None:
    motion = ch.Circle(T0, CENTER, AXIS, 2.0, rise=0.4, orientation="turning", duration=1.0)
    wheel = np.eye(4)
    wheel[:3, :3] = rotation_from_axis_angle(AXIS / 5.0, 2.0)
    wheel[:3, 3] = CENTER - wheel[:3, :3] @ CENTER + 0.4 * AXIS / 5.0
    np.testing.assert_allclose(motion(1.0).pose, wheel @ T0, atol=1e-14)
    half = motion(0.5).pose @ np.linalg.inv(T0)
    np.testing.assert_allclose(half @ half, wheel, atol=1e-14)  # half the way twice is the way


def test_frames_turn_to_a_rotation_at_the_end() -> None:
    motion = ch.Circle(T0, CENTER, AXIS, 2.0, orientation=T1[:3, :3], duration=1.0)
    np.testing.assert_allclose(motion(1.0).pose[:3, :3], T1[:3, :3], atol=1e-15)


coordinate = st.floats(-2.0, 2.0)


@settings(max_examples=60)
@given(*[st.tuples(coordinate, coordinate, coordinate)] * 3)
def test_arcs_pass_their_points(start: Any, via: Any, end: Any) -> None:
    a, b, c = map(np.array, (start, via, end))
    area = np.linalg.norm(np.cross(b - a, c - a))
    sides = [np.linalg.norm(x) for x in (b - a, c - b, c - a)]
    if min(sides) < 1e-3 or area < 1e-3 * max(1.0, sides[0]) * sides[2]:
        return
    motion = ch.CircularArc(pose(np.eye(3), a), b, c, duration=1.0, scaling="linear")
    radius = np.prod(sides) / (2.0 * area)
    assert sides[0] + sides[1] < motion.path.length < 2.0 * np.pi * radius  # never more than once around the circle
    scale = 1.0 + motion.path.length
    np.testing.assert_allclose(motion([0.0, 1.0]).pose[:, :3, 3], [a, c], atol=1e-9 * scale)
    share = 2.0 * np.arcsin(np.minimum(0.5 * sides[0] / radius, 1.0))
    times = np.array([share, 2.0 * np.pi - share]) * radius / motion.path.length  # a chord has two arcs
    passing = motion(times[times < 1.0]).pose[:, :3, 3]
    assert np.linalg.norm(passing - b, axis=-1).min() < 1e-6 * scale


def test_ends_that_are_poses_or_points() -> None:
    end = ch.CircularArc(T0, CENTER, T1, duration=1.0)(1.0).pose
    np.testing.assert_allclose(end, T1, atol=1e-14)
    constant = ch.CircularArc(T0, CENTER, T1[:3, 3], duration=1.0)(1.0).pose
    np.testing.assert_allclose(constant[:3, :3], T0[:3, :3], atol=1e-15)
    turning = ch.CircularArc(T0, CENTER, T1[:3, 3], orientation="turning", duration=1.0)
    np.testing.assert_allclose(turning.path.turn, turning.path.bend)


LIMITS = ch.CartesianLimits(
    linear_velocity=0.8, angular_velocity=1.5, linear_acceleration=2.0, angular_acceleration=3.0
)


@pytest.mark.parametrize("scaling", [None, "quintic", "septic", "cycloid", "s-curve", "modified-trapezoid", "thirds"])
def test_limits_hold_and_one_is_reached(motion_of: Any, scaling: str | None) -> None:
    motion = motion_of(limits=LIMITS, scaling=scaling)
    t = np.linspace(0.0, float(motion.duration), 20001)
    x = motion(t)
    shares = [
        np.linalg.norm(part[:, rows], axis=-1).max() / limit
        for part, rows, limit in (
            (x.twist, slice(0, 3), 1.5),
            (x.twist, slice(3, 6), 0.8),
            (x.acceleration, slice(0, 3), 3.0),
            (x.acceleration, slice(3, 6), 2.0),
        )
    ]
    assert max(shares) <= 1.0 + 1e-9
    curved = motion.path.curvature > 0.0
    assert max(shares) > (0.7 if curved else 0.999)  # on curves half of the limit is kept for the other direction


def test_batches_are_their_members() -> None:
    starts = pose(random_rotation(rng, (4, 1)), rng.normal(size=(4, 1, 3)))
    ends = pose(random_rotation(rng, (5,)), rng.normal(size=(5, 3)))
    durations = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    batch = ch.ScrewMotion(starts, ends, duration=durations)
    assert batch.batch == (4, 5)
    times = np.array([0.3, 0.9, 1.8])
    everything = batch(times.reshape(-1, 1, 1))
    assert everything.pose.shape == (3, 4, 5, 4, 4)
    for i, k in ((0, 0), (3, 2), (2, 4)):
        own = ch.ScrewMotion(starts[i, 0], ends[k], duration=durations[k])(times)
        np.testing.assert_allclose(everything.pose[:, i, k], own.pose, atol=1e-14)
        np.testing.assert_allclose(everything.acceleration[:, i, k], own.acceleration, atol=1e-13)
    assert batch.sample(0.5).motion.pose.shape == (4, 5, 11, 4, 4)
    fastest = ch.StraightLine(starts, ends, limits=LIMITS)
    single = ch.StraightLine(starts[1, 0], ends[2], limits=LIMITS)
    np.testing.assert_allclose(fastest.duration[1, 2], single.duration, rtol=1e-14)


def test_start_equal_to_end_rests() -> None:
    for motion in (
        ch.StraightLine(T0, T0, duration=1.0),
        ch.ScrewMotion(T0, T0, duration=1.0),
        ch.StraightLine(T0, T0, limits=LIMITS),
        ch.Circle(T0, T0[:3, 3], AXIS, duration=1.0),  # a circle around itself
    ):
        x = motion([-1.0, 0.0, 0.4, 2.0])
        np.testing.assert_allclose(x.pose, np.tile(T0, (4, 1, 1)), atol=1e-15)
        np.testing.assert_allclose(x.twist, 0.0, atol=1e-13)
    assert ch.StraightLine(T0, T0, limits=LIMITS).duration == 0.0


def test_half_a_turn_and_hardly_any() -> None:
    for angle in (np.pi, np.pi - 1e-9, 1e-9, 1e-200):
        T_end = exp_pose([0.6 * angle, 0.8 * angle, 0.0, 0.2, 0.0, 0.0])
        for kind in (ch.StraightLine, ch.ScrewMotion):
            motion = kind(np.eye(4), T_end, duration=1.0)
            np.testing.assert_allclose(motion(1.0).pose, T_end, atol=1e-14)
            np.testing.assert_allclose(np.abs(motion(0.5).twist[:2]), [1.125 * angle, 1.5 * angle], rtol=1e-13)


def test_nan_in_a_time_stays_there(motion_of: Any) -> None:
    x = motion_of(duration=1.0)([0.5, np.nan])
    assert np.isfinite(x.pose[0]).all()
    assert np.isnan(x.pose[1, :3, 3]).all()
    assert np.isnan(x.twist[1, 3:]).all()


def test_it_pickles_and_says_what_it_is(motion_of: Any) -> None:
    motion = motion_of(duration=1.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(motion))(0.3).pose, motion(0.3).pose)
    assert "in 1 s, quintic" in repr(motion)


def test_it_can_be_traced() -> None:
    motion = ch.StraightLine(T0, T1, duration=1.0)
    names = list(motion.parameters)
    program = ch.trace(
        lambda t, *values: motion.motion(t, dict(zip(names, values, strict=True))).twist,
        {"t": (), **{name: value.shape for name, value in motion.parameters.items()}},
    )
    np.testing.assert_allclose(ch.Function(program)(0.3, *motion.parameters.values()), motion(0.3).twist, atol=1e-15)


BAD = np.diag([1.0, 1.0, 2.0, 1.0])
POINT = [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ch.StraightLine(T0, BAD, duration=1.0), "T_end is not a pose: it is 1 away"),
        (
            lambda: ch.StraightLine(np.full((4, 4), np.nan), T1, duration=1.0),
            r"T_start\[0, 0\] is nan; it must be finite",
        ),
        (lambda: ch.StraightLine(T0[:3], T1, duration=1.0), r"T_start has shape \(3, 4\); expected \(..., 4, 4\)"),
        (lambda: ch.StraightLine(T0, T1), "either a duration or limits"),
        (lambda: ch.StraightLine(T0, T1, duration=1.0, limits=LIMITS), "either a duration or limits"),
        (lambda: ch.StraightLine(T0, T1, duration=0.0), r"duration.* it must be (positive|finite)"),
        (lambda: ch.StraightLine(T0, T1, duration=[1.0, -1.0]), r"duration.* it must be (positive|finite)"),
        (lambda: ch.StraightLine(T0, T1, duration=np.nan), "duration is nan; it must be finite"),
        (lambda: ch.StraightLine(T0, T1, duration=1.0, scaling="trapezoid", ramp=0.6), "ramp must be"),
        (lambda: ch.StraightLine(T0, T1, duration=1.0, scaling="s-curve", rounding=-0.1), "rounding must be"),
        (lambda: ch.StraightLine(T0, T1, limits=LIMITS, ramp=0.2), "follow from"),
        (lambda: ch.StraightLine(T0, T1, limits=ch.CartesianLimits()), "nothing limits"),
        (lambda: ch.CartesianLimits(linear_velocity=-1.0), r"linear_velocity.* it must be positive"),
        (lambda: ch.CartesianLimits(angular_acceleration=np.nan), r"angular_acceleration is .*; it must be"),
        (lambda: ch.StraightLine(T0, T1, limits=LIMITS, scaling="linear"), "cannot keep a limit of acceleration"),
        (lambda: ch.Circle(T0, CENTER, [0.0, 0.0, 0.0], duration=1.0), "axis must not be zero"),
        (lambda: ch.Circle(T0, CENTER[:2], AXIS, duration=1.0), r"center has shape \(2,\); expected \(..., 3\)"),
        (lambda: ch.Circle(T0, CENTER, AXIS, np.inf, duration=1.0), "angle is inf; it must be finite"),
        (lambda: ch.Circle(T0, CENTER, AXIS, orientation=np.eye(2), duration=1.0), "orientation has shape"),
        (lambda: ch.Circle(T0, CENTER, AXIS, orientation=2 * np.eye(3), duration=1.0), "not a rotation"),
        (lambda: ch.CircularArc(T0, T0[:3, 3], POINT, duration=1.0), "T_start and p_via coincide"),
        (lambda: ch.CircularArc(T0, POINT, T0, duration=1.0), "T_start and end coincide"),
        (lambda: ch.CircularArc(T0, T1[:3, 3], T1, duration=1.0), "p_via and end coincide"),
        (lambda: ch.CircularArc(T0, 0.5 * (T0 + T1)[:3, 3], T1, duration=1.0), "on a line"),
        (lambda: ch.CircularArc(T0, CENTER, T1, orientation="turning", duration=1.0), "leave out"),
        (lambda: ch.StraightLine(np.tile(T0, (2, 1, 1)), np.tile(T1, (3, 1, 1)), duration=1.0), "broadcast"),
        (lambda: ch.StraightLine(np.tile(T0, (2, 1, 1)), T1, duration=[1.0, 2.0, 3.0]), "broadcast"),
        (lambda: ch.StraightLine(T0, T1, duration=1.0)("soon"), "t must be an array of real numbers"),
    ],
)
def test_refusals_say_why(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_unknown_names_are_listed() -> None:
    with pytest.raises(UnknownNameError, match=r"quintic"):
        ch.StraightLine(T0, T1, duration=1.0, scaling="quntic")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match=r"constant, turning"):
        ch.Circle(T0, CENTER, AXIS, orientation="radial", duration=1.0)
