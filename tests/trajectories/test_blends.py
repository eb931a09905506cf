"""Waypoints with blends: geometry at the corners, continuity, derivatives, limits, batches, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp
from tests.trajectories.pose_differences import acceleration_by_differences, away_from_knots, twist_by_differences

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import pose, random_rotation, rotation_from_axis_angle
from chasles.trajectories.cartesian.blends import BLENDS

rng = np.random.default_rng(8)
POSES = pose(random_rotation(rng, (5,)), rng.normal(size=(5, 3)))
TIMES = np.array([1.0, 2.5, 3.5, 6.0, 7.0])
LIMITS = ch.CartesianLimits(
    linear_velocity=1.0, angular_velocity=1.2, linear_acceleration=3.0, angular_acceleration=2.0
)


@pytest.fixture(params=BLENDS)
def blend(request: pytest.FixtureRequest) -> Any:
    return request.param


def sides(motion: Any) -> tuple[Any, Any]:
    """Motion just before and just after the inner knots."""
    inner = motion.knots[1:-1]
    return motion(np.nextafter(inner, -np.inf)), motion(inner)


def test_segments_are_straight_and_even(blend: Any) -> None:
    motion = ch.BlendedWaypoints(POSES, TIMES, blend_time=0.4, blend=blend)
    assert len(motion.knots) == 10
    for k in range(4):
        inside = np.linspace(motion.knots[2 * k + 1], motion.knots[2 * k + 2], 12)[1:-1]
        x = motion(inside)
        np.testing.assert_allclose(x.twist, np.tile(x.twist[0], (10, 1)), atol=1e-13)
        np.testing.assert_allclose(x.acceleration, 0.0, atol=1e-13)
        line = POSES[k + 1, :3, 3] - POSES[k, :3, 3]
        np.testing.assert_allclose(np.cross(x.pose[:, :3, 3] - POSES[k, :3, 3], line), 0.0, atol=1e-13)
        # the same orientations as a slerp, at the same share of the way
        share = (x.pose[:, :3, 3] - POSES[k, :3, 3]) @ line / (line @ line)
        turn = Slerp([0.0, 1.0], Rotation.from_matrix(POSES[k : k + 2, :3, :3]))(share).as_matrix()
        np.testing.assert_allclose(x.pose[:, :3, :3], turn, atol=1e-13)


def test_inner_segments_pass_the_waypoints_at_their_times() -> None:
    """Continued straight on, a segment would be at its waypoints when they say."""
    motion = ch.BlendedWaypoints(POSES, TIMES, blend_time=0.4)
    for k in (1, 2):
        t = 0.5 * (TIMES[k] + TIMES[k + 1])
        velocity = (POSES[k + 1, :3, 3] - POSES[k, :3, 3]) / (TIMES[k + 1] - TIMES[k])
        np.testing.assert_allclose(motion(t).twist[3:], velocity, atol=1e-13)
        np.testing.assert_allclose(motion(t).pose[:3, 3] - velocity * (t - TIMES[k]), POSES[k, :3, 3], atol=1e-13)


def test_it_starts_and_ends_at_the_waypoints_at_rest(blend: Any) -> None:
    motion = ch.BlendedWaypoints(POSES, TIMES, blend_time=0.4, blend=blend)
    assert (motion.start_time, motion.end_time) == (1.0, 7.0)
    x = motion([0.0, 1.0, 7.0, 8.0])
    np.testing.assert_allclose(x.pose, POSES[[0, 0, -1, -1]], atol=1e-14)
    np.testing.assert_allclose(x.twist, 0.0, atol=1e-13)
    np.testing.assert_array_equal(x.acceleration[[0, 3]], 0.0)


def test_joints_are_as_smooth_as_promised(blend: Any) -> None:
    before, after = sides(ch.BlendedWaypoints(POSES, TIMES, blend_time=0.4, blend=blend))
    np.testing.assert_allclose(before.pose, after.pose, atol=1e-14)
    np.testing.assert_allclose(before.twist, after.twist, atol=1e-13)
    if blend == "parabolic":
        assert np.abs(before.acceleration - after.acceleration).max() > 1.0
    else:
        np.testing.assert_allclose(before.acceleration, after.acceleration, atol=1e-12)


def test_sextic_blends_have_continuous_jerk() -> None:
    jumps = {}
    for blend in ("quartic", "sextic"):
        motion = ch.BlendedWaypoints(POSES, TIMES, blend_time=0.4, blend=blend)
        knot, h = motion.knots[3], 1e-5
        here = motion(knot).acceleration
        jumps[blend] = np.abs((motion(knot + h).acceleration - here) - (here - motion(knot - h).acceleration)).max() / h
    assert jumps["quartic"] > 1.0
    assert jumps["sextic"] < 0.1


def test_twists_and_accelerations_are_derivatives(blend: Any) -> None:
    motion = ch.BlendedWaypoints(POSES, TIMES, blend_time=0.5, blend=blend)
    t = away_from_knots(motion, 80)
    np.testing.assert_allclose(motion(t).twist, twist_by_differences(motion, t), atol=1e-9)
    np.testing.assert_allclose(motion(t).acceleration, acceleration_by_differences(motion, t), atol=1e-9)


def test_parabolic_corners_have_constant_acceleration() -> None:
    motion = ch.BlendedWaypoints(POSES, TIMES, blend_time=0.4)
    inside = np.linspace(motion.knots[4], motion.knots[5], 9)[1:-1]
    change = motion(motion.knots[5]).twist[3:] - motion(motion.knots[4]).twist[3:]
    np.testing.assert_allclose(motion(inside).acceleration[:, 3:], np.tile(change / 0.4, (7, 1)), atol=1e-11)


def test_turning_about_one_axis_blends_like_an_angle() -> None:
    angles = np.array([0.0, 1.0, 0.4])
    poses = pose(rotation_from_axis_angle([0.0, 0.6, 0.8], angles), np.stack([angles, 0 * angles, 0 * angles], axis=-1))
    motion = ch.BlendedWaypoints(poses, [0.0, 1.0, 2.0], blend_time=0.3, blend="quartic")
    x = motion(np.linspace(0.0, 2.0, 41))
    np.testing.assert_allclose(x.twist[:, :3], x.twist[:, 3:4] * [0.0, 0.6, 0.8], atol=1e-13)


def test_radii_hold(blend: Any) -> None:
    radii = np.array([0.05, 0.1, 0.2, 0.15, 0.05])
    motion = ch.BlendedWaypoints(POSES, TIMES, blend_radius=radii, blend=blend)
    ends = motion(motion.knots).pose[:, :3, 3].reshape(5, 2, 3)
    distances = np.linalg.norm(ends - POSES[:, None, :3, 3], axis=-1)
    np.testing.assert_allclose(distances.max(axis=1), radii, rtol=1e-12)
    t = np.linspace(1.0, 7.0, 5001)
    place = motion(t).pose[:, :3, 3]
    for k in range(5):  # at the corner it is no farther away than where the blend begins
        inside = (t >= motion.knots[2 * k]) & (t <= motion.knots[2 * k + 1])
        assert np.linalg.norm(place[inside] - POSES[k, :3, 3], axis=-1).max() <= radii[k] * (1 + 1e-12)


@pytest.mark.parametrize("options", [{}, {"blend_radius": 0.2}, {"blend_time": 0.3}])
def test_limits_hold_everywhere(blend: Any, options: Any) -> None:
    motion = ch.BlendedWaypoints(POSES, limits=LIMITS, blend=blend, **options)
    assert motion.start_time == pytest.approx(0.0, abs=1e-15)
    x = motion(np.linspace(0.0, motion.end_time, 40001))
    shares = [
        np.linalg.norm(part[:, rows], axis=-1).max() / limit
        for part, rows, limit in (
            (x.twist, slice(0, 3), 1.2),
            (x.twist, slice(3, 6), 1.0),
            (x.acceleration, slice(0, 3), 2.0),
            (x.acceleration, slice(3, 6), 3.0),
        )
    ]
    assert max(shares) <= 1.0 + 1e-6
    assert max(shares) > 0.99


def test_short_segments_are_slowed_down_until_blends_have_room() -> None:
    poses = np.tile(np.eye(4), (4, 1, 1))
    poses[:, 0, 3] = [0.0, 1.0, 1.05, 2.0]
    poses[2, 1, 3] = 0.05
    motion = ch.BlendedWaypoints(poses, limits=LIMITS)
    assert (np.diff(motion.knots) >= 0.0).all()
    x = motion(np.linspace(0.0, motion.end_time, 20001))
    assert np.linalg.norm(x.acceleration[:, 3:], axis=-1).max() <= 3.0 * (1 + 1e-9)
    np.testing.assert_allclose(x.pose[-1], poses[-1], atol=1e-14)


def test_two_waypoints_make_a_trapezoid() -> None:
    ends = pose(np.eye(3), [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    limits = ch.CartesianLimits(linear_velocity=1.0, linear_acceleration=2.0)
    ours, line = ch.BlendedWaypoints(ends, limits=limits), ch.StraightLine(*ends, limits=limits)
    t = np.linspace(0.0, 2.5, 50)
    assert ours.duration == pytest.approx(line.duration)
    np.testing.assert_allclose(ours(t).pose, line(t).pose, atol=1e-13)


def test_waiting_and_going_straight_on() -> None:
    wait = ch.BlendedWaypoints(POSES[[0, 1, 1, 2]], [0.0, 2.0, 3.0, 5.0], blend_time=0.5)
    np.testing.assert_allclose(wait(2.5).pose, POSES[1], atol=1e-14)
    assert not wait(2.5).twist.any()
    straight = pose(np.eye(3), np.outer([0.0, 1.0, 2.0], [1.0, 0.0, 0.0]))
    through = ch.BlendedWaypoints(straight, limits=ch.CartesianLimits(linear_velocity=1.0, linear_acceleration=2.0))
    x = through(np.linspace(0.5, through.end_time - 0.5, 11))  # no blend is needed in the middle
    np.testing.assert_allclose(x.twist[:, 3], 1.0, atol=1e-13)


def test_blends_may_use_a_segment_up() -> None:
    motion = ch.BlendedWaypoints(POSES[:3], [0.0, 1.0, 2.0], blend_time=[0.5, 1.0, 0.5])
    np.testing.assert_allclose(np.diff(motion.knots), [0.5, 0.0, 1.0, 0.0, 0.5], atol=1e-15)
    before, after = sides(motion)
    np.testing.assert_allclose(before.twist, after.twist, atol=1e-13)


def test_batches_are_their_members() -> None:
    poses = pose(random_rotation(rng, (6, 4)), rng.normal(size=(6, 4, 3)))
    t = np.linspace(-0.1, 4.0, 9)
    for options in (
        {"times": [0.0, 1.0, 2.0, 4.0], "blend_time": 0.2},
        {"times": [0.0, 1.0, 2.0, 4.0], "blend_radius": 0.02},
        {"limits": LIMITS},
        {"limits": LIMITS, "blend_time": 0.2},
    ):
        batch = ch.BlendedWaypoints(poses, **options)
        assert batch.batch == (6,)
        x = batch(t[:, None])
        for k in (0, 3, 5):
            own = ch.BlendedWaypoints(poses[k], **options)(t)
            for part, expected in zip(x, own, strict=True):
                np.testing.assert_allclose(part[:, k], expected, atol=1e-11)


CLOSE = POSES.copy()
CLOSE[2] = CLOSE[1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ch.BlendedWaypoints(POSES, TIMES, blend_time=[0.1, 1.2, 1.0, 0.1, 0.1]), "waypoint 1 and of the next"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES, blend_time=1.1), "waypoint 0 and of the next overlap"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES, blend_radius=2.0), "overlap"),
        (lambda: ch.BlendedWaypoints(POSES, limits=LIMITS, blend_radius=2.0), "overlap"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES), "give blend_time or blend_radius"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES, blend_time=0.1, blend_radius=0.1), "either blend_time or"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES, blend_time=[0.1, 0.1, 0.0, 0.1, 0.1]), r"blend_time\[2\] is 0.0"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES, blend_time=-0.1), r"blend_time is -0.1; it must be positive"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES, blend_time=[0.1, 0.2]), r"blend_time has shape \(2,\)"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES[::-1], blend_time=0.1), "waypoint 1 .* before waypoint 0"),
        (lambda: ch.BlendedWaypoints(POSES, [1, 2, 2, 3, 4], blend_time=0.1), "waypoint 2 .* same time as waypoint 1"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES[:3], blend_time=0.1), "5 waypoints need as many times"),
        (lambda: ch.BlendedWaypoints(POSES, blend_time=0.1), "either times or limits"),
        (lambda: ch.BlendedWaypoints(POSES, TIMES, limits=LIMITS, blend_time=0.1), "either times or limits"),
        (lambda: ch.BlendedWaypoints(POSES[:1], [0.0], blend_time=0.1), "2 waypoints at least, not 1"),
        (lambda: ch.BlendedWaypoints(CLOSE, limits=LIMITS), "waypoint 1 and the next coincide"),
        (lambda: ch.BlendedWaypoints([CLOSE, CLOSE], limits=LIMITS), r"waypoint 1 of trajectory \(0,\) and the next"),
        (lambda: ch.BlendedWaypoints(CLOSE[1:], [0, 1, 2, 3], blend_radius=0.01), "waypoint 0: the frame's"),
        (
            lambda: ch.BlendedWaypoints(POSES, limits=ch.CartesianLimits(linear_acceleration=1.0)),
            "nothing limits the velocity from waypoint 0",
        ),
        (
            lambda: ch.BlendedWaypoints(POSES, limits=ch.CartesianLimits(linear_velocity=1.0)),
            "nothing limits the acceleration",
        ),
        (lambda: ch.BlendedWaypoints(POSES[:, :3], TIMES, blend_time=0.1), r"poses has shape \(5, 3, 4\); expected"),
        (lambda: ch.BlendedWaypoints("here", TIMES, blend_time=0.1), "poses must be an array of real numbers"),
        (lambda: ch.BlendedWaypoints(POSES * np.where(np.arange(5) == 3, 2, 1)[:, None, None], TIMES, blend_time=0.1),
         "waypoint 3 is not a pose"),
        (lambda: ch.BlendedWaypoints(np.where(POSES[2, 0, 3] == POSES, np.nan, POSES), TIMES, blend_time=0.1),
         r"poses\[2, 0, 3\] is nan; it must be finite"),
    ],
)  # fmt: skip
def test_refusals_name_the_waypoint(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_unknown_blends_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="parabolic, quartic, sextic"):
        ch.BlendedWaypoints(POSES, TIMES, blend_time=0.1, blend="cubic")  # type: ignore[arg-type]
