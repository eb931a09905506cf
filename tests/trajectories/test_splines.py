"""Splines through waypoints: SciPy, closed forms, smoothness at the knots, batches, ROBOOP's rules, and refusals."""

from __future__ import annotations

import pickle
from math import factorial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import interpolate

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.trajectories import JointTrajectory, PiecewisePolynomial, fastest_profile

RNG = np.random.default_rng(11)
TIMES = np.array([0.0, 0.3, 1.0, 1.2, 2.0, 2.5, 4.0])
WAYPOINTS = RNG.standard_normal((7, 3))
CLOSED = np.concatenate([WAYPOINTS[:-1], WAYPOINTS[:1]])
CUBIC_BOUNDARIES = ["clamped", "natural", "periodic", "not-a-knot"]
QUINTIC_BOUNDARIES = ["clamped", "natural", "periodic"]


def jumps(path: PiecewisePolynomial) -> list[float]:
    """Largest jump of each derivative at inner knots, from the coefficients, relative to the derivative's size."""
    c, h = path.coefficients, np.diff(path.knots)[:, None]
    powers = range(c.shape[-2])
    found = []
    for order in powers:
        factors = {p: factorial(p) / factorial(p - order) for p in powers if p >= order}
        ends = sum(c[..., p, :] * factor * h ** (p - order) for p, factor in factors.items())
        starts = c[..., order, :] * factorial(order)
        found.append(float(np.abs(ends[..., :-1, :] - starts[..., 1:, :]).max() / np.abs(starts).max()))
    return found


def differences(path: JointTrajectory, t: Any, h: float = 1e-3) -> list[Any]:
    """Derivatives by differences of sixth order of position, velocity and acceleration."""
    weights = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    values = {k: path(t + k * h) for k in (-3, -2, -1, 1, 2, 3)}
    return [sum(w * (values[k][i] - values[-k][i]) for k, w in weights.items()) / h for i in range(3)]


def inner_times(path: JointTrajectory, clearance: float = 4e-3) -> Any:
    t = np.linspace(path.start_time, path.end_time, 997)
    return t[np.abs(t[:, None] - path.knots).min(axis=1) > clearance]


def all_splines() -> dict[str, PiecewisePolynomial]:
    rates = np.random.default_rng(12).standard_normal((2, 7, 3))
    paths = {
        f"cubic {e}": ch.CubicSpline(TIMES, CLOSED if e == "periodic" else WAYPOINTS, boundary=e)
        for e in CUBIC_BOUNDARIES
    }
    paths |= {
        f"quintic {e}": ch.QuinticSpline(TIMES, CLOSED if e == "periodic" else WAYPOINTS, boundary=e)
        for e in QUINTIC_BOUNDARIES
    }
    paths["cubic hermite"] = ch.HermiteSpline(TIMES, WAYPOINTS, rates[0])
    paths["quintic hermite"] = ch.HermiteSpline(TIMES, WAYPOINTS, *rates)
    paths["b-spline"] = ch.BSpline.through(TIMES, WAYPOINTS)
    return paths


SPLINES = all_splines()


@pytest.mark.parametrize("boundary", CUBIC_BOUNDARIES)
def test_the_cubic_is_that_of_scipy(boundary: Any) -> None:
    points = CLOSED if boundary == "periodic" else WAYPOINTS
    expected = interpolate.CubicSpline(TIMES, points, bc_type=boundary)
    t = np.linspace(0.0, 4.0, 401)
    for order, value in enumerate(ch.CubicSpline(TIMES, points, boundary=boundary).derivatives(t)[:3]):
        np.testing.assert_allclose(value, expected(t, order), rtol=1e-12, atol=1e-12 * 10**order)


@pytest.mark.parametrize("name", SPLINES)
def test_it_passes_through_its_waypoints(name: str) -> None:
    points = CLOSED if "periodic" in name else WAYPOINTS
    np.testing.assert_allclose(SPLINES[name](TIMES).q, points, atol=2e-13)
    assert SPLINES[name].duration == 4.0
    np.testing.assert_array_equal(SPLINES[name](5.0).q, SPLINES[name](4.0).q)
    for still in (*SPLINES[name](-1.0)[1:], *SPLINES[name](4.1)[1:]):
        np.testing.assert_array_equal(still, 0.0)


@pytest.mark.parametrize("name", SPLINES)
def test_smoothness_at_the_knots(name: str) -> None:
    continuous = 2 if name.startswith("cubic") else 4
    continuous = {"cubic hermite": 1, "quintic hermite": 2}.get(name, continuous)
    found = jumps(SPLINES[name])
    assert max(found[: continuous + 1]) < 1e-11
    assert found[continuous + 1] > 1e-3


@pytest.mark.parametrize("name", SPLINES)
def test_each_derivative_is_that_of_the_one_before(name: str) -> None:
    path = SPLINES[name]
    t = inner_times(path)
    for expected, value in zip(differences(path, t), path.derivatives(t)[1:], strict=True):
        np.testing.assert_allclose(value, expected, atol=1e-8 * np.abs(value).max())


def test_ends() -> None:
    velocity, acceleration = np.array([1.0, -2.0, 0.5]), np.array([3.0, 0.0, -1.0])
    rest = ch.CubicSpline(TIMES, WAYPOINTS)
    np.testing.assert_allclose(rest([0.0, 4.0]).qd, 0.0, atol=1e-13)
    moving = ch.CubicSpline(TIMES, WAYPOINTS, start_velocity=velocity, end_velocity=2.0)
    np.testing.assert_allclose(moving([0.0, 4.0]).qd, [velocity, [2.0] * 3], atol=1e-13)
    natural = ch.CubicSpline(TIMES, WAYPOINTS, boundary="natural")
    np.testing.assert_allclose(natural([0.0, 4.0]).qdd, 0.0, atol=1e-12)
    free = ch.CubicSpline(TIMES, WAYPOINTS, boundary="not-a-knot")
    np.testing.assert_allclose(free.coefficients[[0, -1], 3], free.coefficients[[1, -2], 3], rtol=1e-9)
    quintic = ch.QuinticSpline(
        TIMES, WAYPOINTS, start_velocity=velocity, end_velocity=-1.0, end_acceleration=acceleration
    )
    np.testing.assert_allclose(quintic([0.0, 4.0]).qd, [velocity, [-1.0] * 3], atol=1e-11)
    np.testing.assert_allclose(quintic([0.0, 4.0]).qdd, [[0.0] * 3, acceleration], atol=1e-10)
    smooth = ch.QuinticSpline(TIMES, WAYPOINTS, boundary="natural")
    np.testing.assert_allclose(smooth.jerk([0.0, 4.0]), 0.0, atol=1e-8 * np.abs(smooth.jerk(TIMES)).max())
    for closed in (SPLINES["cubic periodic"], SPLINES["quintic periodic"]):
        start, end = (closed.derivatives(np.array(t)) for t in (0.0, 4.0))
        for a, b in zip(start[:3], end[:3], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_two_waypoints_at_rest_are_the_time_scalings() -> None:
    t = np.linspace(-0.5, 2.5, 61)
    for spline, scaling in ((ch.CubicSpline, "cubic"), (ch.QuinticSpline, "quintic")):
        path = spline([0.0, 2.0], WAYPOINTS[:2])
        expected = ch.PointToPoint(WAYPOINTS[0], WAYPOINTS[1], 2.0, scaling=scaling)
        for value, wanted in zip(path.derivatives(t), expected.derivatives(t), strict=True):
            np.testing.assert_allclose(value, wanted, atol=1e-12)
    rest = ch.HermiteSpline([0.0, 2.0], WAYPOINTS[:2], 0.0, 0.0)
    np.testing.assert_allclose(rest(t).q, ch.PointToPoint(*WAYPOINTS[:2], 2.0)(t).q, atol=1e-13)


def test_the_natural_quintic_has_the_least_jerk() -> None:
    """The integral of the squared jerk is smaller than that of other motions through the same waypoints."""

    def cost(path: PiecewisePolynomial) -> Any:
        t = np.linspace(0.0, 4.0, 40_001)
        return np.trapezoid(path.jerk(t) ** 2, t, axis=0)

    natural = ch.QuinticSpline(TIMES, WAYPOINTS, boundary="natural")
    for other in (SPLINES["quintic clamped"], SPLINES["b-spline"], SPLINES["quintic hermite"]):
        assert (cost(natural) < cost(other)).all()


@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
@pytest.mark.parametrize("spline", [ch.CubicSpline, ch.QuinticSpline, ch.BSpline.through])
def test_polynomials_are_reproduced(spline: Any, count: int, seed: int) -> None:
    """With the right velocities at the ends a spline gives back a polynomial of its degree."""
    rng = np.random.default_rng(seed)
    degree = 3 if spline is ch.CubicSpline else 5
    if spline == ch.BSpline.through:
        count += 4
    polynomial = np.polynomial.Polynomial(rng.standard_normal(degree + 1))
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 1.0, count - 1))])
    first, second = polynomial.deriv(), polynomial.deriv(2)
    options = {}
    if spline is not ch.BSpline.through and spline != ch.BSpline.through:
        options = {"start_velocity": first(0.0), "end_velocity": first(times[-1])}
    if spline is ch.QuinticSpline:
        options |= {"start_acceleration": second(0.0), "end_acceleration": second(times[-1])}
    path = spline(times, polynomial(times)[:, None], **options)
    t = np.linspace(0.0, times[-1], 50)
    scale = np.abs(polynomial(t)).max() + np.abs(polynomial.coef).sum()
    np.testing.assert_allclose(path(t).q[:, 0], polynomial(t), atol=1e-10 * scale)
    np.testing.assert_allclose(path(t).qd[:, 0], first(t), atol=1e-8 * scale)


@pytest.mark.parametrize("batch", [(), (1,), (3, 1, 2)])
@pytest.mark.parametrize("make", [
    lambda q: ch.CubicSpline(TIMES, q, start_velocity=q[..., 0, :]),
    lambda q: ch.QuinticSpline(TIMES, q, end_acceleration=q[..., 0, :]),
    lambda q: ch.HermiteSpline(TIMES, q, 0.5 * q, 0.0),
    lambda q: ch.BSpline.through(TIMES, q, degree=3),
    lambda q: ch.BSpline.clamped(q, 4.0),
])  # fmt: skip
def test_a_batch_is_each_of_its_splines(make: Any, batch: tuple[int, ...]) -> None:
    q = np.random.default_rng(13).standard_normal((*batch, 7, 3))
    paths = make(q)
    assert (paths.batch, paths.n) == (batch, 3)
    t = np.linspace(-0.5, 4.5, 31)
    values = paths(t.reshape(-1, *(1,) * len(batch)))
    for index in np.ndindex(batch):
        for value, expected in zip(values, make(q[index])(t), strict=True):
            np.testing.assert_allclose(value[:, *index], expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(paths.sample(0.5).motion.q[..., 0, :], paths(0.0).q, atol=1e-15)


def test_sorted_or_not_times_of_any_shape() -> None:
    path, rng = SPLINES["cubic natural"], np.random.default_rng(14)
    t = rng.uniform(-1.0, 5.0, (40, 25))
    order = np.argsort(t.ravel())
    for value, ordered in zip(path(t), path(t.ravel()[order]), strict=True):
        np.testing.assert_array_equal(value.reshape(-1, 3)[order], ordered)
    assert path(np.empty((0, 2))).q.shape == (0, 2, 3)


def test_a_time_that_is_nan_spoils_itself_alone() -> None:
    q = SPLINES["quintic natural"]([0.5, np.nan, 1.5])
    for part in q:
        np.testing.assert_array_equal(np.isnan(part).all(axis=1), [False, True, False])


def test_coincident_waypoints_dwell() -> None:
    """The same configuration at two times is no error: a Hermite spline stays there."""
    path = ch.HermiteSpline([0.0, 1.0, 2.0, 3.0], [[0.0], [1.0], [1.0], [0.0]], 0.0, 0.0)
    np.testing.assert_array_equal(path([1.0, 1.5, 2.0]).q, 1.0)
    assert ch.CubicSpline([0.0, 1.0, 2.0], [[1.0], [1.0], [1.0]])(0.7).q == 1.0


def test_rules_of_roboop() -> None:
    """Natural ends, and times out of range are refused; the last time itself belongs to the path."""
    path = ch.CubicSpline(TIMES, WAYPOINTS, boundary="natural", outside="error")
    np.testing.assert_allclose(path(4.0).q, WAYPOINTS[-1], atol=1e-14)
    for t in (-1e-9, 4.0 + 1e-9, [1.0, 5.0]):
        with pytest.raises(ArgumentError, match="is outside of the spline, from 0 to 4 s"):
            path(t)
    # Angeles (1997), equations 5.55 to 5.59: the accelerations solve a tridiagonal system
    h, way = np.diff(TIMES)[:, None], np.diff(WAYPOINTS, axis=0)
    system = np.diag(2.0 * (h[:-1] + h[1:])[:, 0]) + np.diag(h[1:-1, 0], 1) + np.diag(h[1:-1, 0], -1)
    accelerations = np.linalg.solve(system, 6.0 * np.diff(way / h, axis=0))
    np.testing.assert_allclose(path(TIMES[1:-1]).qdd, accelerations, rtol=1e-12)


def test_a_spline_can_be_as_fast_as_a_profile_allows() -> None:
    """The parts fit together: duration from limits, spline over it."""
    profile = fastest_profile(2.0, velocity=1.0, acceleration=2.0, scaling="quintic")
    path = ch.QuinticSpline([0.0, profile.duration], [[0.0], [2.0]])
    assert np.abs(path(np.linspace(0.0, path.duration, 1001)).qd).max() <= 1.0 + 1e-12


@pytest.mark.parametrize("name", SPLINES)
def test_they_pickle(name: str) -> None:
    path = SPLINES[name]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(path))(1.1).q, path(1.1).q)


def test_text() -> None:
    assert repr(SPLINES["cubic natural"]) == "<CubicSpline (natural) of 3 joints through 7 waypoints from 0 to 4 s>"
    many = ch.HermiteSpline(TIMES, np.zeros((2, 7, 1)), 0.0)
    assert repr(many) == "<HermiteSpline (cubic) of 1 joints through 7 waypoints from 0 to 4 s, batch (2,)>"


BAD = [
    ([0.0], [[1.0]], "at least 2 waypoints are needed, not 1"),
    ([], np.empty((0, 1)), "at least 2 waypoints are needed, not 0"),
    ([0.0, 1.0, 1.0], np.zeros((3, 1)), r"waypoint 2 \(1 s\) is at the same time as waypoint 1 \(1 s\)"),
    ([0.0, 2.0, 1.0], np.zeros((3, 1)), r"waypoint 2 \(1 s\) is before waypoint 1 \(2 s\)"),
    ([0.0, np.nan, 1.0], np.zeros((3, 1)), r"times\[1\] is nan; it must be finite"),
    ([0.0, 1.0, np.inf], np.zeros((3, 1)), r"times\[2\] is inf; it must be finite"),
    ([[0.0, 1.0]], np.zeros((2, 1)), r"times has shape \(1, 2\); expected \(k,\)"),
    (["a", "b"], np.zeros((2, 1)), r"times must be an array of real numbers, not \['a', 'b'\]"),
    ([0.0, 1.0], np.zeros((3, 1)), r"waypoints has shape \(3, 1\); expected \(\.\.\., 2, n\)"),
    ([0.0, 1.0], [0.0, 1.0], r"waypoints has shape \(2,\); expected \(\.\.\., 2, n\)"),
    ([0.0, 1.0], [["a"], ["b"]], r"waypoints must be an array of real numbers, not \[\['a'\], \['b'\]\]"),
    ([0.0, 1.0, 2.0], [[0.0, 0.0], [0.0, 0.0], [0.0, np.nan]], r"waypoints\[2, 1\] is nan; it must be finite"),
    ([0.0, 1.0], [[[0.0], [0.0]], [[0.0], [-np.inf]]], r"waypoints\[1, 1, 0\] is -inf; it must be finite"),
]


@pytest.mark.parametrize(("times", "waypoints", "message"), BAD)
@pytest.mark.parametrize(
    "spline",
    [ch.CubicSpline, ch.QuinticSpline, lambda t, q: ch.HermiteSpline(t, q, 0.0)],
    ids=["cubic", "quintic", "h"],
)
def test_bad_waypoints_are_named(spline: Any, times: Any, waypoints: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        spline(times, waypoints)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ch.CubicSpline(TIMES, WAYPOINTS, boundary="periodic"),
            "last waypoint 6 differs from waypoint 0 by .* joint",
        ),
        (lambda: ch.QuinticSpline(TIMES, WAYPOINTS, boundary="periodic"), "last waypoint 6 differs from waypoint 0"),
        (
            lambda: ch.QuinticSpline(TIMES[:5], CLOSED[2:], boundary="periodic"),
            "at least 6 waypoints are needed, not 5",
        ),
        (
            lambda: ch.QuinticSpline(TIMES[:2], WAYPOINTS[:2], boundary="natural"),
            "at least 3 waypoints are needed, not 2",
        ),
        (
            lambda: ch.CubicSpline(TIMES, WAYPOINTS, boundary="natural", end_velocity=0.0),
            "end_velocity is for .* not 'natural'",
        ),
        (
            lambda: ch.QuinticSpline(TIMES, WAYPOINTS, boundary="natural", start_acceleration=0.0),
            "start_acceleration is for",
        ),
        (
            lambda: ch.CubicSpline(TIMES, WAYPOINTS, start_velocity=[0.0, 1.0]),
            r"start_velocity has shape \(2,\); expected \(3,\) or one number",
        ),
        (
            lambda: ch.CubicSpline(TIMES, WAYPOINTS, end_velocity=[0.0, np.nan, 0.0]),
            r"end_velocity\[1\] is nan; it must be finite",
        ),
        (
            lambda: ch.HermiteSpline(TIMES, WAYPOINTS, WAYPOINTS[:3]),
            r"velocities has shape \(3, 3\); expected \(7, 3\) or one number",
        ),
        (lambda: ch.HermiteSpline(TIMES, WAYPOINTS, 0.0, np.inf), r"accelerations\[0, 0\] is inf; it must be finite"),
    ],
)
def test_bad_ends_are_named(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize("options", [{"boundary": "open"}, {"outside": "extrapolate"}])
def test_unknown_choices_list_those_that_exist(options: dict[str, Any]) -> None:
    with pytest.raises(UnknownNameError, match=r"Existing: (clamped, natural|rest, error)"):
        ch.CubicSpline(TIMES, WAYPOINTS, **options)
    with pytest.raises(UnknownNameError, match="clamped, natural, periodic"):
        ch.QuinticSpline(TIMES, WAYPOINTS, boundary="not-a-knot")
