"""Durations and spacings of times that are refused, wherever they are taken, and those that are just right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.trajectories import fastest_profile, time_scaling
from chasles.trajectories.joint.durations import checked_durations, checked_start_time, require_spacing
from chasles.trajectories.joint.scalings import LAWS
from chasles.trajectories.planning.geometric_path import geometric_path

T0 = np.eye(4)
T1 = np.eye(4)
T1[0, 3] = 1.0
TAKERS: dict[str, Any] = {
    "PointToPoint": lambda duration: ch.PointToPoint([0.0, 1.0], [1.0, 3.0], duration),
    "PointToPoint, each joint": lambda duration: ch.PointToPoint([0.0], [1.0], [duration], synchronized=False),
    "time_scaling": lambda duration: time_scaling(0.0, duration, "quintic"),
    "StraightLine": lambda duration: ch.StraightLine(T0, T1, duration=duration),
    "BSpline.clamped": lambda duration: ch.BSpline.clamped(np.arange(8.0)[:, None], duration),
    "blend_time": lambda duration: ch.BlendedWaypoints(np.stack([T0, T1]), [0.0, 1.0], blend_time=duration),
    "online": lambda duration: ch.online_trajectory([0.0], [1.0], velocity=1.0, acceleration=1.0, cycle=duration),
}


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("duration", [1e-300, 5e-324, 1e-19, 1e19, 1e300])
def test_too_short_and_too_long_is_refused_everywhere(taker: str, duration: float) -> None:
    if taker == "online":
        pytest.importorskip("ruckig")
    with pytest.raises(ArgumentError, match=r"must be from 1e-18 to 1e\+18 s, not .*e.* s.* overflow or vanish"):
        TAKERS[taker](duration)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("duration", [-1.0, np.nan, np.inf, -np.inf])
def test_what_is_no_duration_is_refused_everywhere(taker: str, duration: float) -> None:
    if taker == "online":
        pytest.importorskip("ruckig")
    with pytest.raises(ChaslesError, match=r"must be (a positive|positive|finite|at least 0)"):
        TAKERS[taker](duration)


@pytest.mark.parametrize("scaling", LAWS)
@pytest.mark.parametrize("duration", [1e-18, 1e-9, 1e9, 1e18])
def test_from_end_to_end_of_the_range_derivatives_scale(scaling: Any, duration: float) -> None:
    unit, scaled = (ch.PointToPoint([0.2], [1.4], T, scaling=scaling) for T in (1.0, duration))
    shares = np.linspace(0.03, 0.97, 20)
    for order, (part, wanted) in enumerate(
        zip(scaled.derivatives(shares * duration), unit.derivatives(shares), strict=True)
    ):
        np.testing.assert_allclose(part * duration**order, wanted, rtol=1e-9, atol=1e-9)


def test_the_shortest_ramps() -> None:
    for duration in (1e-18, 1.0, 1e18):
        motion = ch.PointToPoint([0.0], [1.0], duration, scaling="trapezoid", ramp=1e-18)
        np.testing.assert_allclose(motion(0.5 * duration).qd * duration, 1.0)
        for part in motion.derivatives(np.linspace(0.0, duration, 9)):
            assert np.isfinite(part).all()
    for ramp in (1e-300, 1e-30, 0.0):
        with pytest.raises(ArgumentError, match=r"ramp is .*; it must be at least 1e-18"):
            ch.PointToPoint([0.0], [1.0], 1.0, scaling="trapezoid", ramp=ramp)
        with pytest.raises(ArgumentError, match=r"ramp must be a share of the duration from 1e-18"):
            ch.StraightLine(T0, T1, duration=1.0, scaling="trapezoid", ramp=ramp)
    hardly_limited = ch.PointToPoint.within_limits([0.0], [1.0], velocity=1e-3, acceleration=1e200, scaling="trapezoid")
    np.testing.assert_allclose(hardly_limited.duration, 1e3)


@pytest.mark.parametrize("scaling", ["quintic", "s-curve", "trapezoid", "modified-trapezoid"])
def test_limits_that_make_a_motion_too_short_or_too_long_are_refused(scaling: Any) -> None:
    for size in (1e-300, 1e300):
        with pytest.raises(ArgumentError, match="of the fastest motion must be from 1e-18"):
            fastest_profile(1.0, velocity=size, acceleration=size, scaling=scaling)
        with pytest.raises(ArgumentError, match="of the fastest motion must be from 1e-18"):
            ch.PointToPoint.within_limits([0.0], [1.0], velocity=size, acceleration=size, scaling=scaling)
    with pytest.raises(ArgumentError, match="of the fastest motion must be from 1e-18"):
        ch.PointToPoint.within_limits([0.0], [5e-324], velocity=1.0, acceleration=1.0, scaling=scaling)
    rest = ch.PointToPoint.within_limits([0.0], [0.0], velocity=1e300, acceleration=1e-300, scaling=scaling)
    assert rest.duration == 0.0


def test_short_ways_take_the_time_that_the_formula_says() -> None:
    """d = 2 j t³ with four phases of t each, far below where d² vanishes."""
    for d in (1e-50, 1e-30, 1.0, 1e30, 1e45):
        profile = fastest_profile(d, jerk=2.0)
        np.testing.assert_allclose(profile.duration, 4.0 * np.cbrt(d / 4.0), rtol=1e-14)


TIMED: dict[str, Any] = {
    "CubicSpline": lambda t: ch.CubicSpline(t, np.zeros((len(t), 1))),
    "QuinticSpline": lambda t: ch.QuinticSpline(t, np.zeros((len(t), 1))),
    "HermiteSpline": lambda t: ch.HermiteSpline(t, np.zeros((len(t), 1)), 0.0),
    "BSpline.through": lambda t: ch.BSpline.through(t, np.zeros((len(t), 1)), degree=3),
    "SmoothingSpline": lambda t: ch.SmoothingSpline(t, np.zeros((len(t), 1))),
    "PoseSpline": lambda t: ch.PoseSpline(t, np.tile(T0, (len(t), 1, 1))),
    "OrientationSpline": lambda t: ch.OrientationSpline(t, np.tile(np.eye(3), (len(t), 1, 1))),
    "BlendedWaypoints": lambda t: ch.BlendedWaypoints(np.tile(T0, (len(t), 1, 1)), t, blend_time=1e-3),
}


@pytest.mark.parametrize("spline", TIMED)
def test_spacings_are_checked_everywhere(spline: str) -> None:
    later = np.arange(2.0, 8.0)
    with pytest.raises(ArgumentError, match=r"1 comes 1e-300 s after (waypoint|sample) 0; spacings"):
        TIMED[spline](np.concatenate([[0.0, 1e-300], later]))
    with pytest.raises(ArgumentError, match=r"7 comes 1e\+30 s after (waypoint|sample) 6; spacings"):
        TIMED[spline](np.concatenate([[0.0], later, [1e30]]))
    with pytest.raises(ArgumentError, match=r"1 comes 9.54e-07 s after (waypoint|sample) 0, at 1e\+09 s, where double"):
        TIMED[spline](1e9 + np.concatenate([[0.0, 1e-6], later]))


def test_b_spline_knots_are_checked() -> None:
    with pytest.raises(ArgumentError, match="distinct knot 1 comes 1e-30 s after distinct knot 0"):
        ch.BSpline([0.0, 0.0, 1e-30, 1.0, 1.0], np.zeros((3, 1)), degree=1)


def test_spacing_and_resolution() -> None:
    require_spacing(np.array([5.0]), "knot")
    require_spacing(np.array([-1e18, 0.0]), "knot")
    require_spacing(np.array([0.0, 1e-18, 2e-18]), "knot")
    require_spacing(np.array([1.7e9, 1.7e9 + 1e-4]), "knot")  # 10 kHz in seconds since 1970
    for late in (np.array([1e15, 1e15 + 1.0]), np.array([-1e15, -1e15 + 1.0])):
        with pytest.raises(ArgumentError, match=r"knot 1 comes 1 s after knot 0, at .*e.15 s, where double precision"):
            require_spacing(late, "knot")


def test_start_times() -> None:
    assert checked_start_time(np.float64(-3.0)) == -3.0
    for bad in (np.nan, np.inf, 1e19, "now", None):
        with pytest.raises(ArgumentError, match=r"start_time .*must be"):
            checked_start_time(bad)  # type: ignore[arg-type]


def test_values_and_places_are_told() -> None:
    np.testing.assert_array_equal(checked_durations([0.0, 1.0], zero=True), [0.0, 1.0])
    with pytest.raises(ArgumentError, match=r"the wait\[1, 0\] is 0.0; it must be positive"):
        checked_durations([[1.0], [0.0]], "the wait")
    with pytest.raises(ArgumentError, match="duration must be an array of real numbers, not 'long'"):
        checked_durations("long")


@pytest.mark.parametrize("start", [0.0, 1e6, 1.7e9])
def test_online_motions_start_late(start: float) -> None:
    pytest.importorskip("ruckig")
    rng = np.random.default_rng(0)
    for _ in range(20):
        q0, q1 = rng.normal(size=(2, 3))
        motion = ch.online_trajectory(q0, q1, velocity=1.0, acceleration=5.0, jerk=200.0, start_time=start)
        knots = motion.knots
        before, after = motion(np.nextafter(knots, -np.inf)), motion(knots)
        np.testing.assert_allclose(before.q[1:], after.q[1:], atol=1e-11 + 8.0 * np.spacing(start))
        np.testing.assert_allclose(after.q[[0, -1]], [q0, q1], atol=1e-8 + 8.0 * np.spacing(start))
    still = ch.online_trajectory([1.0], [1.0], velocity=1.0, acceleration=1.0, start_time=start)
    assert still.duration > 0.0
    assert still(start).q == 1.0


def test_online_motions_that_would_be_lost_or_take_too_long() -> None:
    pytest.importorskip("ruckig")
    with pytest.raises(ChaslesError, match=r"takes .* s from 1e\+15 s on, where double precision tells times apart by"):
        ch.online_trajectory([0.0], [1.0], velocity=1.0, acceleration=1.0, start_time=1e15)
    with pytest.raises(ChaslesError, match="it would take longer than 7,600 s"):
        ch.online_trajectory([0.0, 0.0], [1e4, 1.0], velocity=1.0, acceleration=1.0)


def test_coincident_places_on_a_path_are_named() -> None:
    with pytest.raises(ArgumentError, match="waypoints 1 and 2 coincide; they are 1e-17 apart on a path"):
        geometric_path(ch.load("planar2r"), [[0.0, 0.0], [1.0, 0.0], [1.0, 1e-17], [2.0, 1.0]])
