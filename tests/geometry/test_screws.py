from __future__ import annotations

import math

import modern_robotics
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.geometry.exact_poses import ANGLES, hat, precise

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    Screw,
    exp_pose,
    log_pose,
    pose,
    pose_from_screw,
    screw_axis,
    screw_from_pose,
    screw_from_twist,
    skew,
    twist_from_screw,
)


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def random_screws(shape: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Axis, nearest point to the origin, angle and translation."""
    rng = np.random.default_rng(seed)
    axis = unit(rng.normal(size=(*shape, 3)))
    point = np.cross(axis, rng.normal(size=(*shape, 3)))
    return axis, point, rng.choice(ANGLES[1:], size=shape), rng.normal(size=shape)


@settings(max_examples=60)
@given(st.sampled_from([(), (1,), (3, 1, 2)]), st.integers(0, 2**32 - 1))
def test_screws_of_twists_come_back(shape: tuple[int, ...], seed: int) -> None:
    axis, point, angle, translation = random_screws(shape, seed)
    screw = screw_from_twist(twist_from_screw(axis, point, angle, 0.0 * translation))
    np.testing.assert_allclose(screw.axis, axis, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(screw.angle, angle, rtol=1e-15)
    np.testing.assert_allclose(screw.point, point, rtol=0.0, atol=1e-15 * (1.0 + np.abs(point).max()))
    np.testing.assert_allclose(screw.pitch, 0.0, atol=4e-16 * (1.0 + np.abs(point).max()))
    twist = twist_from_screw(axis, point, angle, translation)
    screw = screw_from_twist(twist)
    back = twist_from_screw(screw.axis, screw.point, screw.angle, screw.translation)
    np.testing.assert_allclose(back, twist, rtol=0.0, atol=4e-15)
    np.testing.assert_allclose(screw.pitch * screw.angle, screw.translation, rtol=1e-14)


@settings(max_examples=60)
@given(st.sampled_from([(), (1,), (3, 1, 2)]), st.integers(0, 2**32 - 1))
def test_screws_of_poses_give_the_pose_back(shape: tuple[int, ...], seed: int) -> None:
    axis, point, angle, translation = random_screws(shape, seed)
    T = pose_from_screw(axis, point, angle, translation)
    screw = screw_from_pose(T)
    assert np.shape(screw.angle) == shape
    assert screw.axis.shape == screw.point.shape == (*shape, 3)
    np.testing.assert_allclose(screw.angle, angle, rtol=1e-14)
    np.testing.assert_allclose(screw.axis, axis, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(screw.translation, translation, rtol=0.0, atol=1e-14)
    back = pose_from_screw(screw.axis, screw.point, screw.angle, screw.translation)
    np.testing.assert_allclose(back, T, rtol=0.0, atol=1e-14)


def test_axes_near_the_origin_are_found_at_angles_that_are_not_small() -> None:
    rng = np.random.default_rng(0)
    axis, point, _, translation = random_screws((100,), 0)
    angle = rng.uniform(0.5, math.pi - 1e-9, 100)
    screw = screw_from_pose(pose_from_screw(axis, point, angle, translation))
    np.testing.assert_allclose(screw.point, point, rtol=0.0, atol=2e-14)
    np.testing.assert_allclose(screw.pitch, translation / angle, rtol=0.0, atol=2e-14)


def test_points_of_the_axis_move_along_it_only() -> None:
    axis, point, angle, translation = random_screws((100,), 1)
    T = pose_from_screw(axis, point, angle, translation)
    anywhere = point + np.linspace(-3.0, 3.0, 100)[:, None] * axis
    moved = np.einsum("nij,nj->ni", T[:, :3, :3], anywhere) + T[:, :3, 3]
    np.testing.assert_allclose(moved, anywhere + translation[:, None] * axis, rtol=0.0, atol=8e-15)


def test_definition_at_60_digits() -> None:
    """Rotation by Rodrigues' formula about a point, and a slide."""
    axis, point, angle, translation = random_screws((20,), 2)
    point = point + 0.7 * axis
    with mpmath.workdps(60):
        poses = pose_from_screw(axis, point, angle, translation)
        for e, q, phi, d, T in zip(axis, point, angle, translation, poses, strict=True):
            e, q, W = precise(e), precise(q), hat(precise([*e, *e]))[:3, :3]
            turn = mpmath.sin(mpmath.mpf(phi)) * W + (1 - mpmath.cos(mpmath.mpf(phi))) * (W @ W)
            np.testing.assert_allclose(T[:3, :3], (np.eye(3) + turn).astype(float), rtol=0.0, atol=1e-15)
            p = (mpmath.mpf(d) * e - turn @ q).astype(float)
            np.testing.assert_allclose(T[:3, 3], p, rtol=0.0, atol=1e-15 * (1.0 + float(np.abs(q).sum())))


def test_screw_axes_are_those_of_modern_robotics() -> None:
    axis, point, _, _ = random_screws((20,), 3)
    pitches = np.linspace(-2.0, 2.0, 20)
    expected = [modern_robotics.ScrewToAxis(q, s, h) for q, s, h in zip(point, axis, pitches, strict=True)]
    S = screw_axis(axis, point, pitches)
    np.testing.assert_allclose(S, expected, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(
        exp_pose(0.3 * S), pose_from_screw(axis, point, 0.3, 0.3 * pitches), rtol=0.0, atol=1e-15
    )
    screw = screw_from_twist(S)
    np.testing.assert_allclose(screw.pitch, pitches, rtol=0.0, atol=4e-15)


def test_infinite_pitch_slides() -> None:
    axis, point, _, _ = random_screws((), 4)
    np.testing.assert_array_equal(screw_axis(axis, point, math.inf), [0.0, 0.0, 0.0, *axis])
    np.testing.assert_array_equal(screw_axis(axis, point, -math.inf), [0.0, 0.0, 0.0, *-axis])
    assert np.isnan(screw_axis(axis, point, math.nan)[3:]).all()


def assert_screw(screw: Screw, axis, point, pitch: float, angle: float, translation: float) -> None:
    for value, expected in zip(screw, (axis, point, pitch, angle, translation), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_translations_and_identity_are_defined() -> None:
    zero = np.zeros(3)
    assert_screw(screw_from_pose(pose(np.eye(3), [0.0, 3.0, -4.0])), [0.0, 0.6, -0.8], zero, math.inf, 0.0, 5.0)
    assert_screw(screw_from_pose(np.eye(4)), zero, zero, 0.0, 0.0, 0.0)
    assert_screw(screw_from_twist(np.zeros(6)), zero, zero, 0.0, 0.0, 0.0)
    assert_screw(screw_from_pose(pose(np.diag([1.0, -1.0, -1.0]), zero)), [1.0, 0.0, 0.0], zero, 0.0, math.pi, 0.0)


@pytest.mark.parametrize("size", [5e-324, 1e-320, 1e-300, 1e-160, 1e-8, 1e150])
def test_tiny_and_huge_twists(size: float) -> None:
    along = screw_from_twist([0.0, size, 0.0, 0.0, size, 0.0])
    assert_screw(along, [0.0, 1.0, 0.0], np.zeros(3), 1.0, size, size)
    across = screw_from_twist([0.0, size, 0.0, size, 0.0, 0.0])
    assert_screw(across, [0.0, 1.0, 0.0], [0.0, 0.0, -1.0], 0.0, size, 0.0)
    slide = screw_from_twist([0.0, 0.0, 0.0, 0.0, 0.0, -size])
    assert_screw(slide, [0.0, 0.0, -1.0], np.zeros(3), math.inf, 0.0, size)


def test_pitch_is_translation_over_angle_for_the_smallest_angles() -> None:
    screw = screw_from_pose(exp_pose([0.0, 0.0, 1e-300, 0.0, 0.0, 2.0]))
    assert_screw(screw, [0.0, 0.0, 1.0], np.zeros(3), 2.0 / 1e-300, 1e-300, 2.0)
    screw = screw_from_pose(exp_pose([0.0, 0.0, 1e-300, 0.0, 2.0, 0.0]))
    assert_screw(screw, [0.0, 0.0, 1.0], [-2.0 / 1e-300, 0.0, 0.0], 0.0, 1e-300, 0.0)


def test_nan_goes_to_every_part_that_depends_on_it_and_no_other_sample() -> None:
    twist = np.random.default_rng(5).normal(size=(3, 6))
    whole = screw_from_twist(twist)
    for k in range(6):
        spoilt = twist.copy()
        spoilt[1, k] = np.nan
        screw = screw_from_twist(spoilt)
        for name, part, before in zip(Screw._fields, screw, whole, strict=True):
            np.testing.assert_array_equal(np.asarray(part)[[0, 2]], np.asarray(before)[[0, 2]])
            assert np.isnan(np.asarray(part)[1]).any() == (k < 3 or name not in ("axis", "angle")), name
    slide = screw_from_twist([0.0, 0.0, 0.0, np.nan, 0.0, 0.0])
    assert np.isnan(slide.pitch)
    assert np.isnan(slide.translation)
    assert np.isnan(slide.axis).all()


def test_check_wants_unit_axes_and_poses() -> None:
    with pytest.raises(ArgumentError, match="axis is not a unit vector"):
        pose_from_screw([0.0, 0.0, 2.0], np.zeros(3), 1.0, 0.0, check=True)
    with pytest.raises(ArgumentError, match="T is not a pose"):
        screw_from_pose(2.0 * np.eye(4), check=True)


def test_derivatives_of_a_screw_motion_at_angle_zero() -> None:
    axis, point, _, translation = random_screws((), 6)
    rates = pose_from_screw.jacobian(wrt="angle")(axis, point, 0.0, translation)
    np.testing.assert_allclose(rates[:3, 3], np.cross(point, axis), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(rates[:3, :3], skew(axis), rtol=0.0, atol=1e-15)
    slopes = pose_from_screw.jacobian(wrt="translation")(axis, point, 1e-300, translation)
    np.testing.assert_allclose(slopes[:3, 3], axis, rtol=0.0, atol=1e-15)


def test_derivative_of_the_pitch() -> None:
    """The pitch is ω · v / ω²: its derivatives are ω / ω² by v and (v - 2 pitch ω) / ω² by ω."""
    twist = np.random.default_rng(8).normal(size=(20, 6))
    omega, v = twist[:, :3], twist[:, 3:]
    squared = np.sum(omega * omega, axis=1, keepdims=True)
    pitch = np.sum(omega * v, axis=1, keepdims=True) / squared
    expected = np.concatenate([(v - 2.0 * pitch * omega) / squared, omega / squared], axis=1)
    slopes = screw_from_twist.jacobian("pitch", "twist")(twist)
    np.testing.assert_allclose(slopes, expected, rtol=1e-12, atol=1e-12)


def test_screw_of_the_logarithm() -> None:
    axis, point, angle, translation = random_screws((50,), 7)
    T = pose_from_screw(axis, point, angle, translation)
    np.testing.assert_allclose(log_pose(T), twist_from_screw(axis, point, angle, translation), rtol=0.0, atol=2e-14)
