"""B-splines: SciPy's basis, the convex hull, their ends, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import interpolate

import chasles as ch
from chasles.base.errors import ArgumentError

POINTS = np.random.default_rng(21).standard_normal((9, 2))


@given(degree=st.integers(1, 7), extra=st.integers(0, 5), seed=st.integers(0, 2**32 - 1))
def test_it_is_the_sum_of_scipys_basis(degree: int, extra: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = degree + 1 + extra
    knots = np.sort(rng.uniform(-1.0, 3.0, count + degree + 1))
    points = rng.standard_normal((count, 3))
    curve = ch.BSpline(knots, points, degree)
    assert (curve.start_time, curve.end_time) == (knots[degree], knots[count])
    basis = interpolate.BSpline(knots, points, degree)
    t = np.linspace(knots[degree], knots[count], 57)[1:-1]
    t = t[np.abs(t[:, None] - knots).min(axis=1) > 1e-6]
    for order, value in enumerate(curve.derivatives(t)[: min(degree, 3)]):
        expected = basis(t, order)
        np.testing.assert_allclose(value, expected, atol=1e-8 * (1.0 + np.abs(expected).max()))


def test_knots_that_coincide() -> None:
    """Three equal knots of a cubic: a corner, at which the motion passes through a control point."""
    curve = ch.BSpline([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2], POINTS[:7], degree=3)
    np.testing.assert_array_equal(curve.knots, [0.0, 1.0, 2.0])
    np.testing.assert_allclose(curve([0.0, 1.0, 2.0]).q, POINTS[[0, 3, 6]], atol=1e-14)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_from_the_first_control_point_to_the_last(degree: int) -> None:
    points = POINTS[[0, 0, 0, *range(1, 8), 8, 8, 8]]
    curve = ch.BSpline.clamped(points, 2.5, degree)
    assert (curve.start_time, curve.duration, curve.degree) == (0.0, 2.5, degree)
    np.testing.assert_allclose(curve([0.0, 2.5]).q, points[[0, -1]], atol=1e-13)
    if degree >= 3:
        np.testing.assert_allclose(curve([0.0, 2.5]).qd, 0.0, atol=1e-11)
        np.testing.assert_allclose(curve([0.0, 2.5]).qdd, 0.0, atol=1e-9)


def test_it_stays_in_the_box_of_its_control_points() -> None:
    curve = ch.BSpline.clamped(POINTS, 1.0, degree=4)
    q = curve(np.linspace(0.0, 1.0, 2001)).q
    first = np.clip(np.floor(np.linspace(0.0, 1.0, 2001) * 5).astype(int), 0, 4)
    for k in range(5):
        shaping = POINTS[k : k + 5]
        assert (q[first == k] >= shaping.min(axis=0) - 1e-12).all()
        assert (q[first == k] <= shaping.max(axis=0) + 1e-12).all()


def test_its_derivatives_are_continuous_up_to_one_less_than_its_degree() -> None:
    curve = ch.BSpline.clamped(POINTS, 1.0, degree=4)
    for knot in curve.knots[1:-1]:
        before, after = (curve.derivatives(np.array(t)) for t in (np.nextafter(knot, 0.0), knot))
        for order in range(4):
            np.testing.assert_allclose(before[order], after[order], atol=1e-11 * 50**order)


def test_through_waypoints() -> None:
    times = np.array([0.0, 0.5, 1.0, 2.0, 2.2, 3.0, 3.5, 4.0, 5.0])
    expected = interpolate.make_interp_spline(times, POINTS, k=3)
    curve = ch.BSpline.through(times, POINTS, degree=3)
    t = np.linspace(0.0, 5.0, 101)
    np.testing.assert_allclose(curve(t).q, expected(t), atol=1e-12)
    np.testing.assert_allclose(curve(times).q, POINTS, atol=1e-13)
    assert curve.control_points.shape == (9, 2)
    np.testing.assert_array_equal(curve.basis_knots, expected.t)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ch.BSpline.clamped(POINTS[:5], 1.0), r"for degree 5 .* m at least 6, not \(5, 2\)"),
        (lambda: ch.BSpline.clamped(POINTS[0], 1.0, 1), r"\(\.\.\., m, n\)"),
        (lambda: ch.BSpline.clamped(POINTS, 0.0), r"duration is 0\.0; it must be positive"),
        (lambda: ch.BSpline.clamped(POINTS, np.nan), "duration is nan; it must be finite"),
        (lambda: ch.BSpline.clamped(POINTS, [1.0, 2.0]), r"duration has shape \(2,\); expected one number"),
        (lambda: ch.BSpline.clamped([["a"]] * 9, 1.0), "control_points must be an array of real numbers"),
        (lambda: ch.BSpline.clamped(POINTS * [1.0, np.nan], 1.0), r"control_points\[0, 1\] is nan; it must be finite"),
        (lambda: ch.BSpline(np.arange(14.0), POINTS), "9 control points of degree 5 need 15 knots, not 14"),
        (lambda: ch.BSpline(np.arange(15.0)[::-1], POINTS), "must not decrease: knot 1 after 0"),
        (lambda: ch.BSpline([0.0] * 7 + [1.0] * 8, POINTS), "must not coincide more than 6 times: knot 6 after 0"),
        (lambda: ch.BSpline([*np.arange(14.0), np.inf], POINTS), r"knots\[14\] is inf; it must be finite"),
        (lambda: ch.BSpline.through(np.arange(9.0), POINTS, 4), "must be odd, not 4"),
        (lambda: ch.BSpline.through(np.arange(5.0), POINTS[:5]), "at least 6 waypoints are needed, not 5"),
        (lambda: ch.BSpline.through([0, 1, 1, 2], POINTS[:4], 3), "waypoint 2 .* at the same time as waypoint 1"),
    ],
)
def test_bad_input_is_named(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize("degree", [0, 16, 2.0, True, "cubic"])
def test_bad_degrees_are_named(degree: Any) -> None:
    with pytest.raises(ArgumentError, match="degree must be a whole number from 1 to 15, not"):
        ch.BSpline.clamped(POINTS, 1.0, degree)


def test_text() -> None:
    text = "<BSpline of degree 3 of 2 joints, 9 control points, from 0 to 1 s>"
    assert repr(ch.BSpline.clamped(POINTS, 1.0, 3)) == text
    assert repr(ch.BSpline.clamped([POINTS] * 2, 1.0, 3)) == text[:-1] + ", batch (2,)>"
