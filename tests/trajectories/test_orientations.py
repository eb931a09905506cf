"""Splines through poses and orientations: against SciPy, an independent ROBOOP, differences, and refusals."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline, Slerp
from tests.trajectories.pose_differences import acceleration_by_differences, away_from_knots, twist_by_differences

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import (
    QuaternionSpline,
    exp_rotation,
    pose,
    quaternion_from_rotation,
    random_rotation,
    rotation_from_quaternion,
    rotation_z,
)
from chasles.trajectories.cartesian.orientations import BOUNDARIES, TURNINGS

rng = np.random.default_rng(10)
TIMES = np.array([0.0, 0.5, 1.5, 2.0, 3.0, 4.5])
#: Neighbours some 1 rad apart.
TURNS = np.cumsum(rng.normal(size=(6, 3)) * 0.6, axis=0)
ROTATIONS = np.asarray(exp_rotation(TURNS))
POSES = pose(ROTATIONS, rng.normal(size=(6, 3)))
CLOSED = np.concatenate([POSES[:-1], POSES[:1]])


def spline(turning: Any, boundary: Any) -> ch.PoseSpline:
    return ch.PoseSpline(TIMES, CLOSED if boundary == "periodic" else POSES, turning=turning, boundary=boundary)


def sides(motion: Any, knots: Any) -> tuple[Any, Any]:
    return motion(np.nextafter(knots, -np.inf)), motion(knots)


@pytest.mark.parametrize("turning", TURNINGS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_it_passes_its_waypoints_and_derivatives_are_exact(turning: Any, boundary: Any) -> None:
    motion = spline(turning, boundary)
    expected = CLOSED if boundary == "periodic" else POSES
    np.testing.assert_allclose(motion(TIMES).pose, expected, atol=1e-14)
    t = away_from_knots(motion, 60)
    np.testing.assert_allclose(motion(t).twist, twist_by_differences(motion, t), atol=1e-9)
    np.testing.assert_allclose(motion(t).acceleration, acceleration_by_differences(motion, t), atol=1e-9)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_continuity_at_the_knots_is_exact(boundary: Any) -> None:
    for turning in ("smooth", "squad"):
        before, after = sides(spline(turning, boundary), TIMES[1:-1])
        np.testing.assert_allclose(before.pose, after.pose, atol=1e-14)
        np.testing.assert_allclose(before.twist, after.twist, atol=1e-13)
        if turning == "smooth":
            np.testing.assert_allclose(before.acceleration, after.acceleration, atol=1e-12)
        else:
            assert np.abs(before.acceleration - after.acceleration).max() > 0.1  # squads do not promise it


def test_boundaries() -> None:
    rest = spline("smooth", "clamped")([0.0, 4.5])
    np.testing.assert_allclose(rest.twist, 0.0, atol=1e-13)
    natural = spline("smooth", "natural")([0.0, 4.5])
    np.testing.assert_allclose(natural.acceleration, 0.0, atol=1e-12)
    closed = spline("smooth", "periodic")([0.0, 4.5])
    np.testing.assert_allclose(closed.twist[0], closed.twist[1], atol=1e-13)
    np.testing.assert_allclose(closed.acceleration[0], closed.acceleration[1], atol=1e-12)
    squads = spline("squad", "periodic")([0.0, 4.5])
    np.testing.assert_allclose(squads.twist[0], squads.twist[1], atol=1e-13)
    assert not spline("smooth", "natural")([-1.0, 5.0]).twist.any()


@pytest.mark.parametrize("turning", ["smooth", "squad"])
def test_twists_at_the_ends_may_be_given(turning: Any) -> None:
    start, end = rng.normal(size=(2, 6))
    motion = ch.PoseSpline(TIMES, POSES, turning=turning, start_twist=start, end_twist=end)
    np.testing.assert_allclose(motion([0.0, 4.5]).twist, [start, end], atol=1e-13)


def test_smooth_turning_is_scipys_rotation_spline() -> None:
    """SciPy stops its iteration at 1e-9."""
    reference = RotationSpline(TIMES, Rotation.from_matrix(ROTATIONS))
    ends = reference([0.0, 4.5]).as_matrix() @ reference([0.0, 4.5], 1)[..., None]
    motion = ch.OrientationSpline(TIMES, ROTATIONS, start_velocity=ends[0, :, 0], end_velocity=ends[1, :, 0])
    t = np.linspace(0.0, 4.5, 91)[:-1]
    R = reference(t).as_matrix()
    np.testing.assert_allclose(motion(t).pose[:, :3, :3], R, atol=1e-8)
    np.testing.assert_allclose(motion(t).twist[:, :3, None], R @ reference(t, 1)[..., None], atol=1e-7)
    np.testing.assert_allclose(motion(t).acceleration[:, :3, None], R @ reference(t, 2)[..., None], atol=1e-6)


def test_origins_are_on_scipys_cubic_spline() -> None:
    for boundary, kind in (("clamped", "clamped"), ("natural", "natural"), ("periodic", "periodic")):
        poses = CLOSED if boundary == "periodic" else POSES
        reference = CubicSpline(TIMES, poses[:, :3, 3], bc_type=kind)
        motion, t = spline("smooth", boundary), np.linspace(0.0, 4.5, 50)
        np.testing.assert_allclose(motion(t).pose[:, :3, 3], reference(t), atol=1e-13)
        np.testing.assert_allclose(motion(t).acceleration[:, 3:], reference(t, 2), atol=1e-12)


def test_slerp_is_scipys() -> None:
    t = np.linspace(0.0, 4.5, 50)
    reference = Slerp(TIMES, Rotation.from_matrix(ROTATIONS))(t).as_matrix()
    x = ch.OrientationSpline(TIMES, ROTATIONS, turning="slerp")(t)
    np.testing.assert_allclose(x.pose[:, :3, :3], reference, atol=1e-14)
    np.testing.assert_allclose(x.acceleration, 0.0, atol=1e-13)


def test_squads_are_those_of_the_quaternion_spline() -> None:
    t = np.linspace(0.0, 4.5, 50)
    reference = QuaternionSpline(TIMES, quaternion_from_rotation(ROTATIONS))(t)
    x = ch.OrientationSpline(TIMES, ROTATIONS, turning="squad", boundary="natural")(t)
    np.testing.assert_allclose(x.pose[:, :3, :3], rotation_from_quaternion(reference.quaternion), atol=1e-14)
    np.testing.assert_allclose(x.twist[:, :3], reference.angular_velocity, atol=1e-13)
    np.testing.assert_allclose(x.acceleration[:, :3], reference.angular_acceleration, atol=1e-12)


def roboop(t: float) -> Any:
    """ROBOOP's Spl_Quaternion by SciPy's rotations: slerp at the ends, squads with equal weights between."""

    def slerp(a: Rotation, b: Rotation, s: float) -> Rotation:
        return a * Rotation.from_rotvec(s * (a.inv() * b).as_rotvec())

    def control(k: int) -> Rotation:
        q = knots[k]
        logarithms = (q.inv() * knots[k + 1]).as_rotvec() + (q.inv() * knots[k - 1]).as_rotvec()
        return q * Rotation.from_rotvec(-0.25 * logarithms)

    knots = Rotation.from_matrix(ROTATIONS)
    k = min(int(np.searchsorted(TIMES, t, side="right")) - 1, len(TIMES) - 2)
    s = (t - TIMES[k]) / (TIMES[k + 1] - TIMES[k])
    direct = slerp(knots[k], knots[k + 1], s)
    if k in (0, len(TIMES) - 2):
        return direct.as_matrix()
    return slerp(direct, slerp(control(k), control(k + 1), s), 2.0 * s * (1.0 - s)).as_matrix()


def test_roboops_curve_has_true_angular_velocities() -> None:
    motion = ch.OrientationSpline(TIMES, ROTATIONS, turning="roboop")
    t = np.linspace(0.0, 4.49, 60)
    np.testing.assert_allclose(motion(t).pose[:, :3, :3], [roboop(x) for x in t], atol=1e-13)
    # in a segment of half a second ROBOOP's was half of the true one
    first = np.linalg.norm((Rotation.from_matrix(ROTATIONS[0]).inv() * Rotation.from_matrix(ROTATIONS[1])).as_rotvec())
    assert np.linalg.norm(motion(0.2).twist[:3]) == pytest.approx(first / 0.5, rel=1e-13)
    before, after = sides(motion, TIMES[[1, -2]])
    assert (np.abs(before.twist - after.twist).max(axis=1) > 0.05).all()  # and it jumps, as slerps end


def test_two_and_three_waypoints() -> None:
    for turning in TURNINGS:
        for boundary in BOUNDARIES:
            for count in (2, 3):
                poses = POSES[:count].copy()
                if boundary == "periodic":
                    poses[-1] = poses[0]
                motion = ch.PoseSpline(TIMES[:count], poses, turning=turning, boundary=boundary)
                np.testing.assert_allclose(motion(TIMES[:count]).pose, poses, atol=1e-13)
                t = away_from_knots(motion, 20)
                np.testing.assert_allclose(motion(t).twist, twist_by_differences(motion, t), atol=1e-9)


def test_closed_motions_of_a_batch() -> None:
    poses = pose(random_rotation(rng, (3, 5)), rng.normal(size=(3, 5, 3)))
    poses[:, -1] = poses[:, 0]
    motion = ch.PoseSpline(np.arange(5.0), poses, boundary="periodic")
    x = motion(np.array([[0.0], [4.0]]))
    np.testing.assert_allclose(x.acceleration[0], x.acceleration[1], atol=1e-11)
    own = ch.PoseSpline(np.arange(5.0), poses[1], boundary="periodic")
    np.testing.assert_allclose(motion(2.7).twist[1], own(2.7).twist, atol=1e-12)


def test_coincident_orientations_rest() -> None:
    for turning in TURNINGS:
        x = ch.OrientationSpline([0.0, 1.0, 3.0], np.tile(ROTATIONS[0], (3, 1, 1)), turning=turning)([0.5, 2.0])
        np.testing.assert_allclose(x.pose[:, :3, :3], np.tile(ROTATIONS[0], (2, 1, 1)), atol=1e-14)
        np.testing.assert_allclose(x.twist, 0.0, atol=1e-14)


def test_turning_about_one_axis_is_a_cubic_spline_of_the_angle() -> None:
    angles = np.array([0.0, 1.0, 3.5, 3.0, 5.5, 8.0])
    reference = CubicSpline(TIMES, angles, bc_type="clamped")
    t = np.linspace(0.0, 4.5, 60)
    x = ch.OrientationSpline(TIMES, rotation_z(angles))(t)
    np.testing.assert_allclose(x.twist[:, 2], reference(t, 1), atol=1e-12)
    np.testing.assert_allclose(x.acceleration[:, 2], reference(t, 2), atol=1e-11)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(3, 9))
def test_any_orientations_have_a_smooth_spline(seed: int, count: int) -> None:
    own = np.random.default_rng(seed)
    times = np.cumsum(own.uniform(0.2, 1.0, count))
    motion = ch.OrientationSpline(times, random_rotation(own, (count,)))
    before, after = sides(motion, times[1:-1])
    size = np.abs(after.acceleration).max()
    np.testing.assert_allclose(before.acceleration, after.acceleration, atol=1e-11 * size)


@pytest.mark.slow
def test_half_turns_at_every_waypoint_are_smooth_or_refused() -> None:
    own, refused = np.random.default_rng(0), 0
    for _ in range(400):
        axes = own.normal(size=(8, 3))
        turns = axes / np.linalg.norm(axes, axis=1, keepdims=True) * (np.pi - 10.0 ** own.uniform(-8, -1, (8, 1)))
        R = [np.eye(3)]
        for turn in turns:
            R.append(R[-1] @ exp_rotation(turn))
        times = np.cumsum(10.0 ** own.uniform(-2.0, 0.0, 9))
        try:
            motion = ch.OrientationSpline(times, R, boundary="natural")
        except ArgumentError as error:
            assert "the frame turns by 1" in str(error)  # noqa: PT017
            assert "add some between them" in str(error)  # noqa: PT017
            refused += 1
        else:
            before, after = sides(motion, times[1:-1])
            np.testing.assert_allclose(
                before.acceleration, after.acceleration, atol=1e-9 * np.abs(after.acceleration).max()
            )
    assert 0 < refused < 40


@pytest.mark.parametrize("turning", TURNINGS)
def test_batches_are_their_members(turning: Any) -> None:
    poses = pose(random_rotation(rng, (2, 3, 5)), rng.normal(size=(2, 3, 5, 3)))
    batch = ch.PoseSpline(np.arange(5.0), poses, turning=turning)
    assert batch.batch == (2, 3)
    t = np.linspace(-0.5, 4.5, 7)
    x = batch(t[:, None, None])
    own = ch.PoseSpline(np.arange(5.0), poses[1, 2], turning=turning)(t)
    for part, expected in zip(x, own, strict=True):
        np.testing.assert_allclose(part[:, 1, 2], expected, atol=1e-12 * np.abs(expected).max())
    assert pickle.loads(pickle.dumps(batch))(0.3).pose.shape == (2, 3, 4, 4)


def test_signs_of_quaternions_do_not_matter() -> None:
    q = np.asarray(quaternion_from_rotation(ROTATIONS))
    signs = np.array([1, -1, 1, 1, -1, -1.0])[:, None]
    for turning in TURNINGS:
        by_matrix = ch.OrientationSpline(TIMES, ROTATIONS, turning=turning)(1.1)
        by_quaternion = ch.OrientationSpline(TIMES, signs * q, turning=turning)(1.1)
        np.testing.assert_allclose(by_quaternion.acceleration, by_matrix.acceleration, atol=1e-12)


def test_the_origin_stays() -> None:
    x = ch.OrientationSpline(TIMES, ROTATIONS, origin=[1.0, 2.0, 3.0])([0.3, 2.2])
    np.testing.assert_array_equal(x.pose[:, :3, 3], np.tile([1.0, 2.0, 3.0], (2, 1)))
    assert not x.twist[:, 3:].any()


LATE = TIMES[[0, 1, 3, 2, 4, 5]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ch.PoseSpline(LATE, POSES), "waypoint 3 .* is before waypoint 2"),
        (lambda: ch.PoseSpline(TIMES * [1, 1, 1, 0.75, 1, 1], POSES), "waypoint 3 .* same time as waypoint 2"),
        (lambda: ch.PoseSpline([np.nan, 1, 2, 3, 4, 5], POSES), r"times\[0\] is nan; it must be finite"),
        (lambda: ch.PoseSpline(TIMES[:1], POSES[:1]), "2 waypoints at least, not 1"),
        (lambda: ch.PoseSpline(TIMES[:4], POSES), "6 waypoints need as many times, not 4"),
        (lambda: ch.PoseSpline(TIMES, POSES[:, :3]), r"poses has shape \(6, 3, 4\); expected \(\.\.\., n, 4, 4\)"),
        (
            lambda: ch.PoseSpline(TIMES, np.where(POSES[4, 1, 3] == POSES, np.inf, POSES)),
            r"poses\[4, 1, 3\] is inf; it must be finite",
        ),
        (lambda: ch.PoseSpline(TIMES, POSES + 0.1 * (np.arange(6) == 2)[:, None, None]), "waypoint 2 is not a pose"),
        (lambda: ch.PoseSpline(TIMES, POSES, boundary="periodic"), "waypoint 5 is not the pose of waypoint 0"),
        (lambda: ch.PoseSpline(TIMES, POSES, boundary="natural", start_twist=np.zeros(6)), "boundary 'clamped'"),
        (
            lambda: ch.PoseSpline(TIMES, POSES, start_twist=np.zeros(3)),
            r"start_twist has shape \(3,\); expected \(6,\) or one number",
        ),
        (lambda: ch.PoseSpline(TIMES, POSES, end_twist=np.zeros((2, 6))), "end_twist has shape"),
        (lambda: ch.OrientationSpline(TIMES, 1.1 * quaternion_from_rotation(ROTATIONS)), "waypoint 0 is not a unit"),
        (lambda: ch.OrientationSpline(TIMES, 1.1 * ROTATIONS), "waypoint 0 is not a rotation matrix"),
        (lambda: ch.OrientationSpline(TIMES, [ROTATIONS, 1.1 * ROTATIONS]), r"waypoint 0 of trajectory \(1,\)"),
        (
            lambda: ch.OrientationSpline(TIMES, ROTATIONS[:, 0]),
            r"orientations has shape \(6, 3\); expected \(\.\.\., n, 3, 3\)",
        ),
        (lambda: ch.OrientationSpline(TIMES, ROTATIONS, origin=[1.0, 2.0]), "origin has shape"),
    ],
)
def test_refusals_name_the_waypoint(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_unknown_names_are_listed() -> None:
    with pytest.raises(UnknownNameError, match="smooth, squad, slerp, roboop"):
        ch.PoseSpline(TIMES, POSES, turning="lerp")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="clamped, natural, periodic"):
        ch.PoseSpline(TIMES, POSES, boundary="free")  # type: ignore[arg-type]
