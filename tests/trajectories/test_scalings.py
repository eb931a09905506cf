"""Time scalings against closed forms, exact integration and 50 digits; their ends and their symmetry."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import PPoly

from chasles.base.errors import UnknownNameError
from chasles.engine import Function, trace
from chasles.interop.spacelib import modified_trapezoid_law, thirds_law
from chasles.trajectories import time_scaling
from chasles.trajectories.joint.scalings import LAWS

ALL = list(LAWS)
POLYNOMIALS = {
    "linear": [0, 1],
    "cubic": [0, 0, 3, -2],
    "quintic": [0, 0, 0, 10, -15, 6],
    "minimum-jerk": [0, 0, 0, 10, -15, 6],
    "septic": [0, 0, 0, 0, 35, -84, 70, -20],
}
#: How many derivatives, from the first on, are continuous everywhere.
SMOOTH = dict.fromkeys(ALL, 2) | {"linear": 0, "cubic": 1, "thirds": 1, "trapezoid": 1, "septic": 3}
TIMES = np.linspace(0.0, 1.0, 203)
ramps = st.floats(1e-3, 0.5)
roundings = st.floats(1e-3, 0.5)


@pytest.mark.parametrize(("name", "coefficients"), POLYNOMIALS.items())
def test_polynomials_have_the_coefficients_of_the_books(name: Any, coefficients: list[float]) -> None:
    progress, s = time_scaling(TIMES * 2.5, 2.5, name), np.polynomial.Polynomial(coefficients)
    for order, value in enumerate((progress.s, progress.sd, progress.sdd, progress.sddd)):
        expected = s.deriv(order)(TIMES) if order else s(TIMES)
        np.testing.assert_allclose(value * 2.5**order, expected, atol=2e-13)


def test_the_cycloid_to_fifty_digits() -> None:
    duration = 3.0
    x = np.concatenate([np.geomspace(1e-12, 0.4, 30), [0.5, 0.7, 0.95]])
    progress = time_scaling(x * duration, duration, "cycloid")
    with mpmath.workdps(50):
        exact = [mpmath.mpf(t) / 3 for t in (x * duration).tolist()]
        turn = 2 * mpmath.pi
        s = [float(z - mpmath.sin(turn * z) / turn) for z in exact]
        derivatives = [
            [float((1 - mpmath.cos(turn * z)) / 3) for z in exact],
            [float(turn * mpmath.sin(turn * z) / 9) for z in exact],
            [float(turn**2 * mpmath.cos(turn * z) / 27) for z in exact],
        ]
    np.testing.assert_allclose(progress.s, s, rtol=2e-15)
    for value, expected in zip((progress.sd, progress.sdd, progress.sddd), derivatives, strict=True):
        np.testing.assert_allclose(value[:30], expected[:30], rtol=5e-15)
        np.testing.assert_allclose(value, expected, atol=2e-15)


def integrated(knots: Any, jerk: Any, acceleration: Any) -> PPoly:
    """Position of a motion of unit length from its piecewise linear acceleration, up to a factor."""
    position = PPoly(np.array([jerk, acceleration], dtype=float), knots).antiderivative(2)
    return PPoly(position.c / position(knots[-1]), knots)


@given(ramp=ramps, rounding=roundings)
def test_the_s_curve_is_the_integral_of_its_jerk(ramp: float, rounding: float) -> None:
    j, c = rounding * ramp, 1.0 - 2.0 * ramp
    parts = np.array([j, ramp - 2.0 * j, j, c, j, ramp - 2.0 * j, j])
    jerk, knots = np.array([1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0]), np.concatenate([[0.0], np.cumsum(parts)])
    lasting = parts > 1e-12
    acceleration = np.concatenate([[0.0], np.cumsum(jerk * parts)[:-1]])
    s = integrated(np.concatenate([[0.0], knots[1:][lasting]]), jerk[lasting], acceleration[lasting])
    inside = TIMES[np.abs(TIMES[:, None] - knots).min(axis=1) > 1e-9]
    progress = time_scaling(inside, 1.0, "s-curve", ramp=ramp, rounding=rounding)
    for order, value in enumerate((progress.s, progress.sd, progress.sdd, progress.sddd)):
        expected = s(inside, order)
        np.testing.assert_allclose(value, expected, atol=1e-9 * max(1.0, np.abs(expected).max()))


@given(ramp=ramps)
def test_the_trapezoid_is_the_integral_of_its_acceleration(ramp: float) -> None:
    knots, acceleration = np.array([0.0, ramp, 1.0 - ramp, 1.0]), np.array([1.0, 0.0, -1.0])
    lasting = np.diff(knots) > 1e-12
    s = integrated(np.concatenate([[0.0], knots[1:][lasting]]), np.zeros(lasting.sum()), acceleration[lasting])
    inside = TIMES[np.abs(TIMES[:, None] - knots).min(axis=1) > 1e-9]
    progress = time_scaling(inside, 1.0, "trapezoid", ramp=ramp)
    for order, value in enumerate((progress.s, progress.sd, progress.sdd)):
        expected = s(inside, order)
        np.testing.assert_allclose(value, expected, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_array_equal(progress.sddd, 0.0)


def test_an_s_curve_without_rounding_is_the_trapezoid() -> None:
    sharp = time_scaling(TIMES, 1.0, "s-curve", ramp=0.3, rounding=0.0)
    for value, expected in zip(sharp, time_scaling(TIMES, 1.0, "trapezoid", ramp=0.3), strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-15)


def test_the_laws_of_spacelib() -> None:
    """The manual's own functions of motion (section 7.6.3 and table 7.7), written independently."""
    t = np.linspace(0.0, 1.7, 400)
    thirds = time_scaling(t, 1.7, "thirds")
    modified = time_scaling(t, 1.7, "modified-trapezoid", ramp=0.22)
    for ours, theirs in (
        (thirds, thirds_law(t, 1.0, 1.7)),
        (modified, modified_trapezoid_law(t, 1.0, 1.7, 0.22 * 1.7)),
    ):
        for value, expected in zip((ours.s, ours.sd, ours.sdd), theirs, strict=True):
            np.testing.assert_allclose(value, expected, atol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_each_derivative_is_that_of_the_one_before(name: Any) -> None:
    """Differences of tenth order within the pieces."""
    duration, ramp, rounding = 1.3, 0.27, 0.3
    h = 1e-3
    weights = np.array([5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260])
    law = LAWS[name]
    first_half = np.array(law.knots(np.array(ramp), np.array(rounding)), dtype=float)
    knots = duration * np.unique([*first_half, *(1.0 - first_half)])
    t = np.linspace(0.0, duration, 301)
    t = t[np.abs(t[:, None] - knots).min(axis=1) > 6 * h]
    assert len(t) > 150

    def at(times: Any) -> Any:
        p = time_scaling(times, duration, name, ramp=ramp, rounding=rounding)
        return p.s, p.sd, p.sdd, p.sddd

    here = at(t)
    for order in range(3):
        difference = sum(w * (at(t + k * h)[order] - at(t - k * h)[order]) for k, w in enumerate(weights, start=1)) / h
        np.testing.assert_allclose(difference, here[order + 1], atol=1e-11 * 100**order)


@pytest.mark.parametrize("name", ALL)
def test_the_ends_are_exact_and_rest_outside(name: Any) -> None:
    for duration in (0.1, 0.3, 1.0, 7.7):
        progress = time_scaling([-1.0, 0.0, duration, duration + 1e-9, np.inf, -np.inf], duration, name)
        np.testing.assert_array_equal(progress.s, [0.0, 0.0, 1.0, 1.0, 1.0, 0.0])
        np.testing.assert_array_equal(progress.remaining, [1.0, 1.0, 0.0, 0.0, 0.0, 1.0])
        derivatives = np.array([progress.sd, progress.sdd, progress.sddd])
        np.testing.assert_array_equal(derivatives[:, [0, 3, 4, 5]], 0.0)
        np.testing.assert_array_equal(derivatives[: SMOOTH[name], 1:3], 0.0)
        assert (derivatives[: SMOOTH[name] + 1, 1:3] != 0.0).any() or name in ("septic", "linear")


@pytest.mark.parametrize("name", ALL)
def test_near_the_end_what_remains_keeps_all_its_digits(name: Any) -> None:
    early = 2.0 ** -np.arange(2.0, 60.0)
    start, end = time_scaling(early, 1.0, name), time_scaling(1.0 - early[:50], 1.0, name)
    np.testing.assert_array_equal(end.remaining, start.s[:50])
    np.testing.assert_array_equal(end.sd, start.sd[:50])
    np.testing.assert_array_equal(end.sdd, -start.sdd[:50])
    np.testing.assert_array_equal(end.sddd, start.sddd[:50])


@pytest.mark.parametrize("name", ALL)
def test_continuous_where_pieces_meet(name: Any) -> None:
    ramp, rounding = np.array(0.3), np.array(0.2)
    for knot in LAWS[name].knots(ramp, rounding)[1:]:
        for x in (float(knot), 1.0 - float(knot)):
            before, after = (time_scaling(x + h, 1.0, name, ramp=ramp, rounding=rounding) for h in (-1e-13, 1e-13))
            for order in range(SMOOTH[name] + 1):
                np.testing.assert_allclose(before[order], after[order], atol=1e-13 * 100 ** (order + 0.5))


@pytest.mark.parametrize("name", [name for name in ALL if LAWS[name].peaks])
def test_the_peaks_are_the_largest_values(name: Any) -> None:
    progress = time_scaling(np.linspace(0.0, 1.0, 200_001), 1.0, name)
    for order, (peak, values) in enumerate(zip(LAWS[name].peaks, progress[1:4], strict=True)):
        if np.isfinite(peak):
            np.testing.assert_allclose(np.abs(values).max(), peak, rtol=1e-8)
        else:
            assert order >= SMOOTH[name]


def test_minimum_jerk_is_the_minimum() -> None:
    """The integral of the squared jerk is 720; a bump at rest at both ends makes it larger by its own integral."""
    x = 0.5 + 0.5 * np.polynomial.legendre.leggauss(30)[0]
    w = 0.5 * np.polynomial.legendre.leggauss(30)[1]
    jerk = time_scaling(x, 1.0, "minimum-jerk").sddd
    np.testing.assert_allclose(w @ jerk**2, 720.0, rtol=1e-13)
    bump = np.polynomial.Polynomial([0, 0, 0, 1, -3, 3, -1]).deriv(3)(x)
    np.testing.assert_allclose(w @ (jerk + bump) ** 2, 720.0 + w @ bump**2, rtol=1e-13)


@pytest.mark.parametrize("name", ALL)
def test_a_time_that_is_nan_spoils_itself_alone(name: Any) -> None:
    progress = time_scaling([0.2, np.nan, 0.7], 1.0, name)
    for value in (progress.s, progress.sd, progress.remaining):
        np.testing.assert_array_equal(np.isnan(value), [False, True, False])


@pytest.mark.parametrize("name", ALL)
def test_traced_it_gives_the_same_and_its_derivative_by_duration(name: Any) -> None:
    def progress(t: Any, duration: Any, ramp: Any) -> Any:
        return time_scaling(t, duration, name, ramp=ramp).s

    program = trace(progress, {"t": (), "duration": (), "ramp": ()}, name="progress")
    t, duration, ramp = np.linspace(0.1, 1.9, 41), 2.0, 0.3
    plain = time_scaling(t, duration, name, ramp=ramp)
    np.testing.assert_array_equal(Function(program)(t, duration, ramp), plain.s)
    # s depends on t / duration alone
    by_duration = Function(program).jacobian(wrt="duration")(t, duration, ramp)
    np.testing.assert_allclose(by_duration, -plain.sd * t / duration, atol=1e-12)
    by_ramp = Function(program).jacobian(wrt="ramp")(t, duration, ramp)
    h = 1e-5
    difference = (progress(t, duration, ramp + h) - progress(t, duration, ramp - h)) / (2 * h)
    np.testing.assert_allclose(by_ramp, difference, atol=1e-4)


def test_arguments_broadcast() -> None:
    assert time_scaling(np.zeros((4, 1, 1)), np.ones((3, 1)), "s-curve", ramp=[0.1, 0.2]).s.shape == (4, 3, 2)


def test_unknown_names_list_those_that_exist() -> None:
    with pytest.raises(UnknownNameError, match=r"no scaling 'qintic'. Did you mean 'quintic'\? .*modified-trapezoid"):
        time_scaling(0.0, 1.0, "qintic")
