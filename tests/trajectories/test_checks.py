"""Peaks and broken limits against closed forms, exact roots and dense samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.model import Description, Inertia, Joint, Limits, Link
from chasles.trajectories import JointTrajectory, PiecewisePolynomial
from chasles.trajectories.check_report import QUANTITIES

ARM = ch.load("puma560")


def slider(**limits: float) -> ch.Robot:
    """A mass of 2 kg on a horizontal rail: the force is twice the acceleration."""
    joint = Joint("rail", "prismatic", "base", "cart", axis=[1.0, 0.0, 0.0], limits=Limits(**limits))
    return ch.Robot(Description("slider", links=(Link("base"), Link("cart", Inertia(mass=2.0))), joints=(joint,)))


def random_spline(seed: int, batch: tuple[int, ...] = (), n: int = 2, degree: int = 5) -> PiecewisePolynomial:
    """Pieces that do not fit together, of different lengths."""
    rng = np.random.default_rng(seed)
    knots = np.cumsum(np.append(rng.normal(), rng.uniform(0.01, 2.0, 4)))
    return PiecewisePolynomial(knots, rng.normal(size=(*batch, 4, degree + 1, n)))


class Wave(JointTrajectory):
    """sin(w t) from 0 to 1 s: no polynomial."""

    n = 1

    def __init__(self, w: float) -> None:
        self.w, self.knots = w, np.array([0.0, 1.0])

    def derivatives(self, t: Any) -> tuple[Any, Any, Any, Any]:
        x, w = self.w * np.asarray(t)[..., None], self.w
        return np.sin(x), w * np.cos(x), -(w**2) * np.sin(x), -(w**3) * np.cos(x)


def exact_peaks(trajectory: PiecewisePolynomial) -> np.ndarray:
    """Largest magnitudes (4, n) inside the pieces and at their ends, from the roots of NumPy's polynomials."""
    largest = np.zeros((4, trajectory.n))
    for piece, length in zip(trajectory.coefficients, np.diff(trajectory.knots), strict=True):
        for joint in range(trajectory.n):
            p = np.polynomial.Polynomial(piece[:, joint])
            for order in range(4):
                roots = p.deriv().roots()
                real = roots[np.abs(roots.imag) < 1e-9].real
                places = np.clip([0.0, length, *real], 0.0, length)
                largest[order, joint] = max(largest[order, joint], np.abs(p(places)).max())
                p = p.deriv()
    return largest


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), degree=st.integers(0, 7), dt=st.sampled_from([None, 0.05, 10.0]))
def test_peaks_of_polynomials_are_exact(seed: int, degree: int, dt: float | None) -> None:
    trajectory = random_spline(seed, degree=degree)
    whole = PiecewisePolynomial(trajectory.knots[:2], trajectory.coefficients[:1])  # without jumps at knots
    report = whole.peaks(dt)
    found = np.stack([getattr(report, name).largest for name in QUANTITIES[:4]])
    np.testing.assert_allclose(found, exact_peaks(whole), rtol=1e-11, atol=1e-14)
    for k, name in enumerate(QUANTITIES[:4]):
        peak = getattr(report, name)
        for joint in range(2):
            value = whole.derivatives(peak.time[joint])[k][joint]
            np.testing.assert_allclose(abs(value), peak.largest[joint], rtol=1e-11, atol=1e-14)


def test_peaks_over_many_pieces_and_batches() -> None:
    trajectory = random_spline(3, batch=(3, 2))
    report = trajectory.peaks()
    assert report.position.largest.shape == report.position.time.shape == (3, 2, 2)
    for index in np.ndindex(3, 2):
        one = PiecewisePolynomial(trajectory.knots, trajectory.coefficients[index])
        np.testing.assert_allclose(report.position.largest[index], exact_peaks(one)[0], rtol=1e-12)
        np.testing.assert_array_equal(report.velocity.largest[index], np.inf)  # its positions jump at the knots


def test_peaks_of_the_quintic_are_those_of_the_book() -> None:
    """s' = 15/8, s'' = 10/sqrt(3), s''' = 60 at their largest, over a duration of 1 s."""
    report = ch.PointToPoint([0.0], [2.0], duration=1.0).peaks()
    np.testing.assert_allclose(report.velocity.largest, 2.0 * 15.0 / 8.0, rtol=1e-12)
    np.testing.assert_allclose(report.acceleration.largest, 2.0 * 10.0 / np.sqrt(3.0), rtol=1e-12)
    np.testing.assert_allclose(report.jerk.largest, 2.0 * 60.0, rtol=1e-12)
    np.testing.assert_allclose(report.velocity.time, 0.5, atol=1e-6)


@pytest.mark.parametrize("w", [3.0, 40.0, 90.0])
def test_maxima_between_samples_are_found(w: float) -> None:
    """With 16 samples at least, of 1000 by default."""
    report = Wave(w).peaks()
    np.testing.assert_allclose(
        [getattr(report, name).largest[0] for name in QUANTITIES[:4]], w ** np.arange(4.0), rtol=1e-11
    )
    np.testing.assert_allclose(np.abs(np.sin(w * report.position.time)), report.position.largest, rtol=1e-11)


def test_both_sides_of_a_knot_count() -> None:
    """The acceleration grows to 6 and jumps to -1 at t = 1; the jerk there is infinite."""
    coefficients = np.zeros((2, 4, 1))
    coefficients[0, 3], coefficients[1, :3, 0] = 1.0, [1.0, 3.0, -0.5]
    report = PiecewisePolynomial([0.0, 1.0, 2.0], coefficients).peaks()
    np.testing.assert_allclose(report.acceleration.largest, 6.0, rtol=1e-12)
    np.testing.assert_allclose(report.acceleration.time, 1.0)
    np.testing.assert_array_equal(report.jerk.largest, np.inf)
    np.testing.assert_array_equal(report.jerk.time, 1.0)


def test_the_interval_in_which_a_limit_is_broken() -> None:
    """q = t³: velocity 3 t² above 1.2 from sqrt(0.4), force 12 t above 9 from 0.75, position above 0.9."""
    robot = slider(lower=-0.5, upper=0.9, velocity=1.2, effort=9.0)
    cube = PiecewisePolynomial([0.0, 1.0], [[[0.0], [0.0], [0.0], [1.0]]])
    report = cube.check(robot)
    assert not report.ok
    assert [violation.quantity for violation in report.violations] == ["velocity", "torque", "position"]
    velocity, force, position = report.violations
    for violation, start, value, limit in (
        (velocity, np.sqrt(0.4), 3.0, 1.2),
        (force, 0.75, 12.0, 9.0),
        (position, np.cbrt(0.9), 1.0, 0.9),
    ):
        assert violation.start == pytest.approx(start, abs=1e-8)
        assert (violation.end, violation.time) == (1.0, 1.0)
        assert violation.value == pytest.approx(value, rel=1e-12)
        assert violation.excess == pytest.approx(value - limit, rel=1e-9)
        assert (violation.joint, violation.limit) == ("rail", limit)
    assert [violation.unit for violation in report.violations] == ["m/s", "N", "m"]
    assert "velocity of rail: 3 m/s at 1 s, 1.8 above the limit 1.2 m/s, from 0.63245" in str(report)
    np.testing.assert_allclose(report.margin[:, 0], [-0.1, -1.8, np.inf, np.inf, -3.0, np.inf, np.inf], rtol=1e-9)


def test_limits_of_acceleration_and_jerk_are_those_given() -> None:
    cube = PiecewisePolynomial([0.0, 1.0], [[[0.0], [0.0], [0.0], [-1.0]]])
    assert cube.check(slider()).ok
    report = cube.check(slider(), acceleration=3.0, jerk=[5.9])
    (jerk, acceleration) = report.violations
    assert (jerk.quantity, jerk.start, jerk.end, jerk.value, jerk.limit) == ("jerk", 0.0, 1.0, -6.0, -5.9)
    assert acceleration.start == pytest.approx(0.5, abs=1e-8)
    assert "-6 m/s² at 1 s, 3 below the limit -3 m/s²" in str(report)


def test_rates_of_torques() -> None:
    """2 kg with a jerk of -6 m/s³; infinite where the acceleration jumps; of a pendulum m g l cos(q) q̇ too."""
    cube = PiecewisePolynomial([0.0, 1.0], [[[0.0], [0.0], [0.0], [-1.0]]])
    (rate,) = cube.check(slider(), torque_rate=11.9).violations
    assert (rate.quantity, rate.unit, rate.limit) == ("torque rate", "N/s", -11.9)
    assert rate.value == pytest.approx(-12.0, rel=1e-6)
    steps = PiecewisePolynomial([0.0, 1.0, 2.0], [[[0.0], [0.0], [1.0]], [[1.0], [2.0], [-1.0]]])
    assert [v.value for v in steps.check(slider(), torque_rate=1e9).violations] == [np.inf]
    arm = ch.load("planar2r")
    swing = ch.PointToPoint([0.0, 0.0], [1.0, -0.5], duration=0.8)
    report = swing.check(arm, torque_rate=1e6)
    t = np.linspace(0.0, 0.8, 100_001)
    largest = np.abs(np.diff(arm.inverse_dynamics(*swing(t)), axis=0)).max(axis=0) / t[1]
    np.testing.assert_allclose(1e6 - report.margin[5], largest, rtol=1e-3)


@pytest.mark.parametrize("limit", [0.9999, 0.99999999])
def test_a_limit_broken_only_between_two_samples_is_found(limit: float) -> None:
    """sin(40 t) is above 0.99999999 for 7 microseconds at a time; the samples are 62 ms apart or 1 ms."""
    robot = slider(upper=limit)
    width = 2.0 * np.arccos(limit * (1.0 + 1e-9)) / 40.0  # what is allowed for rounding does not count
    expected = (np.arange(7) * 2.0 + 0.5) * np.pi / 40.0
    expected = expected[expected < 1.0]
    report = Wave(40.0).check(robot)
    np.testing.assert_allclose([v.time for v in report.violations], expected, atol=1e-6)
    np.testing.assert_allclose([v.end - v.start for v in report.violations], width, rtol=1e-2)
    assert Wave(40.0).check(slider(upper=1.0)).ok


def test_velocities_that_jump_break_every_limit_of_acceleration() -> None:
    corner = PiecewisePolynomial([0.0, 1.0, 2.0], [[[0.0], [1.0]], [[1.0], [-1.0]]])
    report = corner.check(slider(effort=100.0), acceleration=1e6, jerk=1e6)
    assert {(v.quantity, v.start, v.end, v.value) for v in report.violations} == {
        ("acceleration", 1.0, 1.0, np.inf),
        ("jerk", 1.0, 1.0, np.inf),
        ("torque", 1.0, 1.0, np.inf),
    }
    assert corner.check(slider(velocity=1.0)).ok
    np.testing.assert_array_equal(corner.peaks().acceleration.largest, np.inf)
    np.testing.assert_array_equal(report.margin[:, 0], [np.inf, np.inf, -np.inf, -np.inf, -np.inf, np.inf, np.inf])


def test_motions_that_use_a_limit_to_the_full_keep_it() -> None:
    limits = {"velocity": 1.0, "effort": 4.0}  # 4 N move 2 kg with 2 m/s²
    for scaling in ("trapezoid", "s-curve"):
        fast = ch.PointToPoint.within_limits(
            [0.0], [3.0], velocity=1.0, acceleration=2.0, jerk=50.0 if scaling == "s-curve" else np.inf, scaling=scaling
        )
        report = fast.check(slider(**limits), acceleration=2.0)
        assert report.ok, str(report)
        np.testing.assert_allclose(report.share[[1, 2, 4], 0], 1.0, atol=1e-8)
    assert not fast.check(slider(velocity=1.0 - 1e-6)).ok


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
@example(seed=6408)  # a torque that is largest just after a knot
@example(seed=317)  # and one just after the start, where friction jumps
def test_violations_agree_with_dense_samples(seed: int) -> None:
    """A sample breaks a limit exactly if it lies in an interval; each interval has such samples or is short."""
    rng = np.random.default_rng(seed)
    waypoints = rng.uniform(-2.0, 2.0, (5, ARM.n)) + ARM.home
    spline = CubicSpline(np.arange(5.0) * 0.7, waypoints, bc_type="clamped")
    trajectory = PiecewisePolynomial(spline.x, np.moveaxis(spline.c[::-1], 0, 1))
    report = trajectory.check(ARM, acceleration=10.0)
    t = np.linspace(0.0, 2.8, 200_001)
    q, qd, qdd = trajectory(t)
    tau = ARM.inverse_dynamics(q, qd, qdd)
    values = {"position": q, "velocity": qd, "acceleration": qdd, "torque": tau}
    for name, value in values.items():
        k = QUANTITIES.index(name)
        dense = (value > report.upper[k]) | (value < report.lower[k])
        inside = np.zeros_like(dense)
        near = np.zeros_like(dense)
        for v in report.violations:
            if v.quantity == name:
                joint = ARM.joint_names.index(v.joint)
                inside[:, joint] |= (t >= v.start) & (t <= v.end)
                near[:, joint] |= np.minimum(np.abs(t - v.start), np.abs(t - v.end)) < 1e-7
                own = np.abs(value[(t >= v.start) & (t <= v.end), joint])
                assert not own.size or own.max() <= abs(v.value) * (1 + 1e-9)
        np.testing.assert_array_equal(dense & ~near, inside & ~near, err_msg=name)
        margin = np.minimum(report.upper[k] - value, value - report.lower[k]).min(axis=0)
        assert (report.margin[k] <= margin + 1e-8).all()
        np.testing.assert_array_less(margin - report.margin[k], np.abs(np.diff(value, axis=0)).max(axis=0) + 1e-8)


def test_batches_equal_single_checks() -> None:
    rng = np.random.default_rng(5)
    goals = ARM.home + rng.normal(size=(4, 1, ARM.n))
    motion = ch.PointToPoint(ARM.home, goals, duration=0.8)
    masses = np.array([0.0, 3.0])
    report = motion.check(ARM, acceleration=15.0, vary={"payload.mass": masses})
    assert report.margin.shape == report.time.shape == (4, 2, 7, ARM.n)
    assert report.passed.shape == (4, 2)
    assert not report.passed.all()
    together = {index: [v for v in report.violations if v.trajectory == index] for index in np.ndindex(4, 2)}
    for (i, j), found in together.items():
        one = ch.PointToPoint(ARM.home, goals[i, 0], duration=0.8)
        single = one.check(ARM.with_payload(masses[j]), acceleration=15.0)
        assert report.passed[i, j] == single.ok
        np.testing.assert_allclose(report.margin[i, j], single.margin, rtol=1e-9, atol=1e-12)
        assert [(v.quantity, v.joint) for v in found] == [(v.quantity, v.joint) for v in single.violations]
        for mine, other in zip(found, single.violations, strict=True):
            np.testing.assert_allclose(
                [mine.start, mine.end, mine.value], [other.start, other.end, other.value], rtol=1e-7, atol=1e-7
            )


def test_wrenches_count() -> None:
    motion = ch.PointToPoint(ARM.home, ARM.home, duration=1.0)
    force = {"tool": [0.0, 0.0, 0.0, 0.0, 0.0, -2000.0]}
    assert motion.check(ARM).ok
    tau = ARM.inverse_dynamics(ARM.home, 0 * ARM.home, 0 * ARM.home, wrenches=force)
    broken = {v.joint for v in motion.check(ARM, wrenches=force).violations}
    assert broken == {
        name for name, t, most in zip(ARM.joint_names, tau, ARM.effort_limits, strict=True) if abs(t) > most
    }
    assert broken


def test_parts_of_a_large_batch_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    motion = ch.PointToPoint(ARM.home, ARM.home + np.linspace(-2.0, 2.0, 7)[:, None], duration=0.8)
    whole, peaks = motion.check(ARM), motion.peaks()
    monkeypatch.setattr("chasles.trajectories.limits.extremes._HELD", 5000)
    parts = motion.check(ARM)
    np.testing.assert_array_equal(parts.broken, whole.broken)
    np.testing.assert_array_equal(parts.margin, whole.margin)
    np.testing.assert_array_equal(motion.peaks().jerk.largest, peaks.jerk.largest)


def test_a_motion_that_takes_no_time() -> None:
    rest = ch.PointToPoint([0.3], [0.3], duration=0.0)
    assert rest.check(slider(lower=0.0, upper=1.0)).ok
    assert rest.check(slider(lower=0.4, upper=1.0)).violations[0].value == 0.3
    np.testing.assert_array_equal(rest.peaks().position.largest, 0.3)


def test_no_trajectories_break_no_limits() -> None:
    none = PiecewisePolynomial([0.0, 1.0], np.zeros((0, 1, 3, 1)))
    assert none.check(slider(upper=-1.0, lower=-2.0, effort=1.0)).ok
    assert none.peaks().jerk.largest.shape == (0, 1)
    assert str(ch.PointToPoint([0.0], np.empty((0, 1)), duration=1.0).peaks()) == "no trajectories"
    with pytest.raises(ArgumentError, match="a batch of no trajectories"):
        none.sample(0.1)


def test_reports_as_tables_and_text(tmp_path: Any) -> None:
    import xarray

    goals = ARM.home + np.array([[0.1], [3.0], [2.5]])
    motion = ch.PointToPoint(ARM.home, goals, duration=1.0)
    report = motion.check(ARM)
    table = report.to_dataset()
    assert dict(table.sizes) == {"trajectory": 3, "quantity": 7, "joint": 6, "violation": len(report.violations)}
    np.testing.assert_array_equal(table.ok, [True, False, False])
    worst = report.violations[0]
    row = table.isel(violation=0)
    assert (str(row.violation_quantity.values), str(row.violation_joint.values)) == (worst.quantity, worst.joint)
    assert (int(row.violation_trajectory), float(row.violation_value)) == (*worst.trajectory, worst.value)
    assert str(table.unit.sel(quantity="torque", joint=worst.joint).values) == "N m"
    table.to_netcdf(tmp_path / "check.nc")
    with xarray.open_dataset(tmp_path / "check.nc") as again:
        np.testing.assert_array_equal(again.margin, table.margin)
    text = str(report)
    assert text.startswith(
        f"{len(report.violations)} violations of the limits of robot 'puma560' by 2 of 3 trajectories"
    )
    assert "trajectory 1: " in text
    fine = str(ch.PointToPoint(ARM.home, goals[0], duration=2.0).check(ARM))
    assert fine.startswith("within the limits of robot 'puma560' (sampled every 2 ms and refined)")
    assert "acceleration: no limits" in fine
    assert "% used" in fine
    peaks = motion.peaks().to_dataset()
    assert dict(peaks.sizes) == {"trajectory": 3, "quantity": 4, "joint": 6}
    np.testing.assert_allclose(peaks.largest.sel(quantity="velocity")[1], 3.0 * 15.0 / 8.0)
    assert "largest magnitudes, the largest of 3 trajectories" in str(motion.peaks())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": 0.0}, r"dt is 0\.0; it must be positive"),
        ({"dt": np.nan}, "dt is nan; it must be finite"),
        ({"dt": 1e-12}, "more than 10,000,000 samples"),
        ({"acceleration": -1.0}, r"acceleration\[0\] is -1\.0; it must be at least 0"),
        ({"jerk": np.nan}, r"jerk\[0\] is nan; it must be a number"),
        ({"acceleration": [1.0, 2.0]}, r"acceleration has shape \(2,\); expected \(6,\) or one number"),
        ({"vary": {"payload.mass": np.nan}}, r"payload\.mass is nan; it must be finite"),
        ({"vary": {"payload.mass": [0.0, 1.0], "gravity": np.zeros((3, 3))}}, "batch axes"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ch.PointToPoint(ARM.home, ARM.home + 1.0, duration=1.0).check(ARM, **options)


def test_wrong_partners_are_named() -> None:
    with pytest.raises(ArgumentError, match="the trajectory moves 1 joints, but robot 'puma560' has 6"):
        ch.PointToPoint([0.0], [1.0], duration=1.0).check(ARM)
    with pytest.raises(UnknownNameError, match=r"payload\.mass"):
        ch.PointToPoint(ARM.home, ARM.home + 1.0, duration=1.0).check(ARM, vary={"payload.mas": 1.0})


def test_the_used_share_of_each_limit() -> None:
    """From 0 to 1 m in 1 s by the quintic: peaks over limits; positions count from the middle of the range."""
    report = ch.PointToPoint([0.0], [1.0], duration=1.0).check(
        slider(lower=-0.9, upper=1.5, velocity=4.0, effort=30.0), jerk=80.0
    )
    share = dict(zip(QUANTITIES, report.share[:, 0], strict=True))
    assert np.isnan([share.pop("acceleration"), share.pop("torque rate"), share.pop("power")]).all()
    wanted = {"position": (1.0 - 0.3) / 1.2, "velocity": 15.0 / 8.0 / 4.0, "jerk": 60.0 / 80.0}
    wanted["torque"] = 2.0 * 10.0 / np.sqrt(3.0) / 30.0
    assert share == pytest.approx(wanted, rel=1e-9)
