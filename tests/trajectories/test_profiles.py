"""The fastest motions within limits: closed forms, dense samples, Ruckig, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.trajectories import fastest_profile, time_scaling
from chasles.trajectories.joint.scalings import LAWS

numbers = st.floats(-3.0, 3.0).map(lambda exponent: 10.0**exponent)


def peaks(distance: Any, profile: Any, scaling: Any) -> list[Any]:
    """Largest velocity, acceleration and jerk, from samples between and on both sides of the knots."""
    duration, ramp, rounding = (np.asarray(part)[..., None] for part in profile)
    knots = LAWS[scaling].knots(ramp, rounding)
    x = np.concatenate([np.broadcast_to(np.linspace(0.0, 1.0, 2001), (*np.shape(distance), 2001)), *knots], axis=-1)
    x = np.concatenate([x, np.nextafter(x, 0.0), np.nextafter(x, 1.0)], axis=-1)
    progress = time_scaling(x * duration, duration, scaling, ramp=ramp, rounding=rounding)
    return [np.abs(part).max(axis=-1) * distance for part in progress[1:4]]


@given(d=numbers, v=numbers, a=numbers)
def test_the_trapezoid_takes_the_time_of_the_book(d: float, v: float, a: float) -> None:
    """Modern Robotics 9.2.2.3: D/v + v/a if there is time for full speed, else 2 sqrt(D/a)."""
    profile = fastest_profile(d, velocity=v, acceleration=a, scaling="trapezoid")
    expected = d / v + v / a if v * v / a < d else 2.0 * np.sqrt(d / a)
    np.testing.assert_allclose(profile.duration, expected, rtol=1e-14)
    assert 0.0 < profile.ramp <= 0.5
    if v * v / a >= d:
        np.testing.assert_allclose(profile.ramp, 0.5, rtol=1e-14)
    smooth = fastest_profile(d, velocity=v, acceleration=a)
    np.testing.assert_array_equal(smooth, profile)


@settings(max_examples=300)
@given(d=numbers, v=numbers, a=numbers, j=numbers)
def test_the_s_curve_keeps_its_limits_and_reaches_one(d: float, v: float, a: float, j: float) -> None:
    profile = fastest_profile(d, velocity=v, acceleration=a, jerk=j)
    ratios = np.array(peaks(d, profile, "s-curve")) / [v, a, j]
    assert (ratios <= 1.0 + 1e-9).all()
    np.testing.assert_allclose(ratios[2], 1.0, rtol=1e-9)  # the jerk is always at its limit
    assert 0.0 < profile.ramp <= 0.5
    assert 0.0 < profile.rounding <= 0.5
    # each part that is missing is missing for a reason
    if profile.rounding < 0.5 - 1e-9:
        np.testing.assert_allclose(ratios[1], 1.0, rtol=1e-6)
    if profile.ramp < 0.5 - 1e-9:
        np.testing.assert_allclose(ratios[0], 1.0, rtol=1e-6)


def test_the_s_curve_is_as_fast_as_ruckig() -> None:
    ruckig = pytest.importorskip("ruckig")
    rng = np.random.default_rng(5)
    d, v, a, j = 10.0 ** rng.uniform(-2.0, 2.0, (4, 400))
    durations = fastest_profile(d, velocity=v, acceleration=a, jerk=j).duration
    planner, problem, result = ruckig.Ruckig(1), ruckig.InputParameter(1), ruckig.Trajectory(1)
    for k in range(len(d)):
        problem.current_position, problem.target_position = [0.0], [d[k]]
        problem.max_velocity, problem.max_acceleration, problem.max_jerk = [v[k]], [a[k]], [j[k]]
        assert planner.calculate(problem, result) == ruckig.Result.Working
        np.testing.assert_allclose(durations[k], result.duration, rtol=1e-9, err_msg=str(k))


def test_all_seven_kinds_of_s_curves() -> None:
    """Closed forms: with and without constant acceleration, with and without constant velocity."""
    v, a, j = 2.0, 4.0, 8.0  # full acceleration takes 0.5 s and reaches 2.0 = v in 1 s

    def duration(d: float, **limits: float) -> float:
        return float(fastest_profile(d, **limits).duration)

    np.testing.assert_allclose(duration(10.0, velocity=v, acceleration=a, jerk=j), 10.0 / v + v / a + a / j)
    np.testing.assert_allclose(
        duration(10.0, velocity=1.0, acceleration=a, jerk=j), 10.0 / 1.0 + 2.0 * np.sqrt(1.0 / j)
    )
    np.testing.assert_allclose(duration(0.5, velocity=v, acceleration=a, jerk=j), 4.0 * np.cbrt(0.5 / (2.0 * j)))
    np.testing.assert_allclose(
        duration(100.0, velocity=1e9, acceleration=a, jerk=j), a / j + np.sqrt((a / j) ** 2 + 4.0 * 100.0 / a)
    )
    np.testing.assert_allclose(duration(10.0, velocity=v, jerk=j), 10.0 / v + 2.0 * np.sqrt(v / j))
    np.testing.assert_allclose(duration(10.0, jerk=j), 4.0 * np.cbrt(10.0 / (2.0 * j)))
    np.testing.assert_allclose(duration(10.0, acceleration=a), 2.0 * np.sqrt(10.0 / a))


@given(d=numbers, v=numbers, a=numbers, j=numbers)
@pytest.mark.parametrize("scaling", ["quintic", "minimum-jerk", "septic", "cycloid", "modified-trapezoid"])
def test_smooth_scalings_keep_all_limits_and_reach_one(scaling: Any, d: float, v: float, a: float, j: float) -> None:
    profile = fastest_profile(d, velocity=v, acceleration=a, jerk=j, scaling=scaling)
    ratios = np.array(peaks(d, profile, scaling)) / [v, a, j]
    assert (ratios <= 1.0 + 1e-9).all()
    np.testing.assert_allclose(ratios.max(), 1.0, rtol=1e-5)


@given(d=numbers, v=numbers, a=numbers)
@pytest.mark.parametrize("scaling", ["cubic", "thirds", "trapezoid"])
def test_and_scalings_with_jumps_those_of_velocity_and_acceleration(scaling: Any, d: float, v: float, a: float) -> None:
    profile = fastest_profile(d, velocity=v, acceleration=a, scaling=scaling)
    ratios = np.array(peaks(d, profile, scaling))[:2] / [v, a]
    assert (ratios <= 1.0 + 1e-9).all()
    np.testing.assert_allclose(ratios.max(), 1.0, rtol=1e-5)


def test_the_modified_trapezoid_is_the_fastest_of_its_kind() -> None:
    """No other ramp is faster within the same limits."""
    rng = np.random.default_rng(1)
    d, v, a, j = 10.0 ** rng.uniform(-1.0, 1.0, (4, 50, 1))
    best = fastest_profile(d, velocity=v, acceleration=a, jerk=j, scaling="modified-trapezoid")
    ramps = np.linspace(0.01, 0.5, 200)
    x = np.linspace(0.0, 0.5, 4001)[:, None]
    progress = time_scaling(x, 1.0, "modified-trapezoid", ramp=ramps)
    p1, p2, p3 = (np.abs(part).max(axis=0) for part in progress[1:4])
    durations = np.maximum(np.maximum(p1 * d / v, np.sqrt(p2 * d / a)), np.cbrt(p3 * d / j))
    assert (durations >= best.duration * (1.0 - 1e-3)).all()
    np.testing.assert_allclose(durations.min(axis=1), best.duration[:, 0], rtol=2e-2)


def test_no_distance_takes_no_time() -> None:
    for scaling in LAWS:
        assert fastest_profile(
            [0.0, 0.0], velocity=1.0, acceleration=1.0 if scaling != "linear" else np.inf, scaling=scaling
        ).duration.tolist() == [0.0, 0.0]


def test_arguments_broadcast() -> None:
    profile = fastest_profile(np.ones((3, 1)), velocity=[1.0, 2.0], acceleration=1.0, jerk=1.0)
    assert [part.shape for part in profile] == [(3, 2)] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distance": -1.0, "velocity": 1.0}, r"distance is -1\.0; it must be at least 0"),
        ({"distance": [1.0, np.inf], "velocity": 1.0}, r"distance\[1\] is inf; it must be finite"),
        ({"distance": 1.0, "velocity": 0.0}, r"velocity is 0\.0; it must be positive"),
        ({"distance": 1.0, "acceleration": [1.0, -2.0]}, r"acceleration\[1\] is -2\.0; it must be positive"),
        ({"distance": 1.0, "jerk": np.nan}, "jerk is nan; it must be a number"),
        ({"distance": 1.0, "jerk": "fast"}, "jerk must be an array of real numbers"),
        ({"distance": 1.0}, "'s-curve' needs a limit of acceleration or jerk"),
        ({"distance": [0.0, 1.0], "acceleration": [1.0, np.inf]}, r"acceleration or jerk; there is none at \[1\]"),
        ({"distance": 1.0, "velocity": 1.0, "scaling": "trapezoid"}, "needs a limit of acceleration"),
        ({"distance": 1.0, "scaling": "cubic"}, "needs a limit of velocity or acceleration"),
        ({"distance": 1.0, "acceleration": 1.0, "jerk": 1.0, "scaling": "trapezoid"}, "cannot keep a limit of jerk"),
        ({"distance": 1.0, "velocity": 1.0, "jerk": 1.0, "scaling": "cubic"}, "where the acceleration jumps"),
        ({"distance": 1.0, "acceleration": 1.0, "scaling": "linear"}, "where the velocity jumps"),
        ({"distance": [1.0, 1.0], "velocity": [1.0, 1.0, 1.0]}, "do not broadcast"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        fastest_profile(**arguments)


def test_unknown_scalings() -> None:
    with pytest.raises(UnknownNameError, match="no scaling 'fast'"):
        fastest_profile(1.0, velocity=1.0, scaling="fast")
