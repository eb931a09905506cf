"""Motions that pass their waypoints, or say that they cannot: unequal times, seen from both sides of each knot."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.geometry import exp_rotation, random_rotation
from chasles.trajectories import PiecewisePolynomial, PiecewisePose
from chasles.trajectories.cartesian.pose_continuity import require_orientations, require_smooth_frame
from chasles.trajectories.cartesian.pose_pieces import PosePieces
from chasles.trajectories.joint.continuity import require_continuity, require_waypoints

RNG = np.random.default_rng(8)
POINTS = RNG.uniform(-1.0, 1.0, (9, 2))


@pytest.mark.parametrize(
    ("spline", "times"),
    [
        (ch.QuinticSpline, [0.0, 1.0, 1e3, 1e6, 1e9]),
        (ch.QuinticSpline, [0.0, 1e-7, 1.0, 10.0, 1000.0]),
        (ch.CubicSpline, [0.0, 1e-9, 1.0, 1e5, 1e9]),
        (lambda t, q: ch.QuinticSpline(t, q, boundary="natural"), [0.0, 1.0, 1e3, 1e6, 1e9]),
        (lambda t, q: ch.CubicSpline(t, q, boundary="not-a-knot"), [0.0, 1e-9, 1.0, 1e5, 1e9]),
        (lambda t, q: ch.BSpline.through(t, q, degree=3), [0.0, 1e-9, 1.0, 1e5, 1e9]),
    ],
)
def test_overshoots_that_lose_the_waypoints_are_refused(spline: Any, times: list[float]) -> None:
    message = r"(misses waypoint \d, at .* s, by .* in joint \d|the position of joint \d jumps by).*; make the times"
    with pytest.raises(ArgumentError, match=message):
        spline(times, POINTS[:5])


def solved_exactly(times: Any, q: Any, degree: int) -> Any:
    """Positions of a spline at rest at both ends, at half the time between waypoints, by rational arithmetic.

    Unknown are the derivatives at the waypoints below half of the degree; the higher ones are continuous.
    """
    half, h = (degree + 1) // 2, [Fraction(b) - Fraction(a) for a, b in pairwise(times)]
    hermite = inverse([
        [Fraction(int(np.prod(range(p - r + 1, p + 1)))) * (side if p > r else 1) if p >= r else Fraction(0)
         for p in range(degree + 1)]
        for side in (0, 1) for r in range(half)
    ])  # fmt: skip

    def row(piece: int, r: int, side: int) -> tuple[dict[int, Fraction], Fraction]:
        """Coefficients of the unknowns, and a constant, of derivative r at one side of a piece."""
        own, constant = {}, Fraction(0)
        factors = [Fraction(int(np.prod(range(p - r + 1, p + 1)))) if p == r or (side and p > r) else 0
                   for p in range(degree + 1)]  # fmt: skip
        for end in (0, 1):
            for k in range(half):
                weight = sum(f * hermite[p][end * half + k] for p, f in enumerate(factors)) * h[piece] ** (k - r)
                if k == 0:
                    constant += weight * Fraction(q[piece + end])
                else:
                    own[(piece + end) * (half - 1) + k - 1] = weight
        return own, constant

    count = len(times) * (half - 1)
    A, b = [[Fraction(0)] * count for _ in range(count)], [Fraction(0)] * count
    for k in range(half - 1):
        A[k][k] = A[count - 1 - k][count - 1 - k] = Fraction(1)
    for index, (knot, r) in enumerate((knot, r) for knot in range(1, len(times) - 1) for r in range(half, degree)):
        for sign, (own, constant) in ((1, row(knot - 1, r, 1)), (-1, row(knot, r, 0))):
            b[half - 1 + index] -= sign * constant
            for column, weight in own.items():
                A[half - 1 + index][column] += sign * weight
    x = [sum(weight * right for weight, right in zip(line, b, strict=True)) for line in inverse(A)]
    middles = []
    for piece in range(len(h)):
        ends = [[Fraction(q[k]), *x[k * (half - 1) : (k + 1) * (half - 1)]] for k in (piece, piece + 1)]
        local = [value * h[piece] ** k for end in ends for k, value in enumerate(end)]
        powers = [sum(weight * value for weight, value in zip(line, local, strict=True)) for line in hermite]
        middles.append(float(sum(power / Fraction(2) ** p for p, power in enumerate(powers))))
    return np.array(middles)


def inverse(A: list[list[Fraction]]) -> list[list[Fraction]]:
    n = len(A)
    rows = [[*line, *(Fraction(int(i == j)) for j in range(n))] for i, line in enumerate(A)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [value - rows[i][k] * other for value, other in zip(rows[i], rows[k], strict=True)]
    return [line[n:] for line in rows]


@pytest.mark.parametrize(("spline", "degree"), [(ch.CubicSpline, 3), (ch.QuinticSpline, 5)])
def test_unequal_times_are_solved_as_exact_arithmetic_does(spline: Any, degree: int) -> None:
    """What is not refused is right to nine digits of its largest value, however far it overshoots."""
    rng, overshoots = np.random.default_rng(9), []
    for decades in (0.0, 1.0, 2.0, 4.0, 6.0, 9.0) * 3:
        times = np.concatenate([[0.0], np.cumsum(10.0 ** rng.uniform(-decades / 2.0, decades / 2.0, 5))])
        q = rng.uniform(-1.0, 1.0, 6)
        try:
            motion = spline(times, q[:, None])
        except ArgumentError:
            assert decades >= 4.0
            continue
        wanted = solved_exactly(times.tolist(), q.tolist(), degree)
        found = motion(0.5 * (times[1:] + times[:-1])).q[:, 0]
        overshoots.append(np.abs(wanted).max())
        np.testing.assert_allclose(found, wanted, atol=1e-9 * overshoots[-1])
    assert len(overshoots) > 8
    assert max(overshoots) > 100.0


@pytest.mark.parametrize("spline", [ch.CubicSpline, ch.QuinticSpline, ch.BSpline.through])
@pytest.mark.parametrize("start", [0.0, -5e3, 1.7e9])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_both_sides_of_every_knot(spline: Any, start: float, size: float) -> None:
    times = start + np.array([0.0, 1.0, 1.5, 4.0, 4.25, 6.0, 8.0, 9.0, 9.5])
    motion = spline(times, size * POINTS)
    for side in (times, np.nextafter(times, -np.inf), np.nextafter(times, np.inf)):
        q, qd, _ = motion(side)
        slack = 1e-12 * size + 2.0 * np.abs(qd) * np.spacing(np.abs(times))[:, None]
        assert (np.abs(q - size * POINTS) <= slack).all()


#: In the second of two trajectories, at the start of the second piece.
JUMP = np.zeros((2, 2, 2, 2))
JUMP[1, 1, 0, 0] = 1e-3


def test_what_misses_is_named() -> None:
    motion = PiecewisePolynomial([0.0, 1.0, 3.0], np.array([[[0.0, 0.0], [1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0]]]))
    points = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0]])
    require_waypoints(motion, motion.knots, points)
    require_waypoints(motion, motion.knots, points + 1e-10)
    with pytest.raises(ArgumentError, match=r"misses waypoint 2, at 3 s, by 1e-05 in joint 1: .*; pray"):
        require_waypoints(motion, motion.knots, points + np.array([[0.0, 0.0]] * 2 + [[0.0, 1e-5]]), remedy="pray")
    require_waypoints(motion, motion.knots, points + 1e-5, size=1e5)
    require_continuity(motion, 0, size=1.0)
    require_continuity(motion, -1, size=0.0)
    with pytest.raises(ArgumentError, match="the velocity of joint 0 jumps by 1 at 1 s"):
        require_continuity(motion, 1, size=1.0)
    with pytest.raises(ArgumentError, match="the position of joint 0 jumps by 1 at 3 s"):
        require_continuity(motion, 0, size=1.0, periodic=True)
    many = PiecewisePolynomial(motion.knots, np.stack([motion.coefficients] * 2) + JUMP)
    with pytest.raises(ArgumentError, match=r"the position of joint 0 of trajectory \[1\] jumps by 0.001 at 1 s"):
        require_continuity(many, 0, size=1.0)


@pytest.mark.parametrize(("order", "name"), [(0, "position"), (1, "velocity"), (2, "acceleration"), (3, "jerk")])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_each_derivative_is_compared_on_its_own_scale(order: int, name: str, scale: float) -> None:
    """A change of 1e-6 of the derivative is seen, one of 1e-12 is rounding, whatever the durations."""
    coefficients = np.array([[1.0], [1.0], [1.0], [1.0], [1.0]]) / scale ** np.arange(5.0)[:, None]
    whole = np.polynomial.Polynomial(coefficients[:, 0])
    second = np.array([whole.deriv(k)(scale) / [1.0, 1.0, 2.0, 6.0, 24.0][k] for k in range(5)])[:, None]
    for change, seen in ((1e-12, False), (1e-6, True)):
        pieces = np.stack([coefficients, second])
        pieces[1, order] *= 1.0 + change
        motion = PiecewisePolynomial([0.0, scale, 2.0 * scale], pieces)
        require_continuity(motion, order - 1, size=5.0)
        if seen:
            with pytest.raises(ArgumentError, match=f"the {name} of joint 0 jumps"):
                require_continuity(motion, order, size=5.0)
        else:
            require_continuity(motion, order, size=5.0)


def test_many_knots_are_looked_at_block_by_block() -> None:
    count = 45_000
    coefficients = np.zeros((count, 2, 1))
    coefficients[:, 0, 0], coefficients[:, 1, 0] = np.arange(count), 1.0
    knots = np.arange(count + 1.0)
    require_continuity(PiecewisePolynomial(knots, coefficients), 1, size=1.0)
    for wrong in (1, 19_999, 20_000, 20_001, 40_000, count - 1):
        bad = coefficients.copy()
        bad[wrong, 0] += 0.5
        with pytest.raises(ArgumentError, match=rf"jumps by 0.5 at {wrong:g} s"):
            require_continuity(PiecewisePolynomial(knots, bad), 1, size=1.0)


def frames(count: int, seed: int) -> np.ndarray:
    T = np.tile(np.eye(4), (count, 1, 1))
    T[:, :3, :3] = random_rotation(seed=seed, shape=(count,))
    T[:, :3, 3] = np.random.default_rng(seed).normal(size=(count, 3))
    return T


@pytest.mark.parametrize("ratio", [1.0, 5.0, 30.0, 1e3])
@pytest.mark.parametrize("boundary", ["clamped", "natural", "periodic"])
@pytest.mark.parametrize("turning", ["smooth", "squad"])
def test_angular_velocity_is_continuous_at_unequal_times(turning: Any, boundary: Any, ratio: float) -> None:
    """With long segments beside short ones, a squad's control may not lie more than a whole turn away."""
    for seed in range(6):
        T = frames(6, seed)
        T[-1] = T[0]
        times = np.cumsum([0.0, 1.0, ratio, 1.0, ratio, 1.0])
        motion = ch.PoseSpline(times, T, turning=turning, boundary=boundary)
        np.testing.assert_allclose(motion(times).pose, T, atol=1e-9)
        before, after = motion(np.nextafter(times[1:-1], -np.inf)), motion(times[1:-1])
        largest = np.abs(motion(np.linspace(0.0, times[-1], 500)).twist[:, :3]).max()
        np.testing.assert_allclose(before.twist[:, :3], after.twist[:, :3], atol=1e-7 * largest)
        if boundary == "periodic":
            start, end = motion(0.0).twist, motion(times[-1]).twist
            np.testing.assert_allclose(start[:3], end[:3], atol=1e-9 * largest)


def test_a_frame_that_misses_or_jumps_is_named() -> None:
    turning = np.zeros((2, 2, 6))
    turning[:, 1, 2] = 0.5
    R = exp_rotation([[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 1.0]])
    motion: PosePieces = PiecewisePose([0.0, 1.0, 2.0], R[:2], turning)
    require_orientations(motion, R, "")
    require_smooth_frame(motion, 2, "", size=1.0)
    with pytest.raises(ArgumentError, match=r"misses the orientation of waypoint 2 by .*; take care"):
        require_orientations(motion, np.concatenate([R[:2], exp_rotation([[0.0, 0.0, 1.1]])]), "take care")
    with pytest.raises(ArgumentError, match=r"the orientation of the frame jumps by .* at 2 s"):
        require_smooth_frame(motion, 0, "", periodic=True)
    for power, column, order, name in ((0, 3, 0, "place"), (1, 3, 1, "linear velocity"), (1, 0, 1, "angular velocity")):
        other = turning.copy()
        other[1, power, column] += 0.1
        jumping = PiecewisePose([0.0, 1.0, 2.0], R[:2], other)
        with pytest.raises(ArgumentError, match=f"the {name} of the frame jumps by 0.1 at 1 s"):
            require_smooth_frame(jumping, order, "", size=1.0)


@pytest.mark.parametrize("offset", 10.0 ** -np.arange(1.0, 9.0))
def test_flat_arcs_pass_their_points(offset: float) -> None:
    for size in (1e-3, 1.0, 1e4):
        T = np.eye(4)
        T[:3, 3] = [0.1 * size, -0.2 * size, 0.3 * size]
        via, end = T[:3, 3] + size * np.array([0.3, offset, 0.0]), T[:3, 3] + size * np.array([1.0, 0.0, 0.0])
        arc = ch.CircularArc(T, via, end, duration=1.0, scaling="linear")
        np.testing.assert_allclose(arc(1.0).pose[:3, 3], end, rtol=0.0, atol=1e-15 * size)
        s = np.linspace(0.0, 1.0, 100_001)
        nearest = np.linalg.norm(arc(s).pose[:, :3, 3] - via, axis=-1).min()
        assert nearest <= 1e-5 * size  # between samples
        low, high = (float(s[np.argmin(np.abs(arc(s).pose[:, 0, 3] - via[0])) + k]) for k in (-1, 1))
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if arc(middle).pose[0, 3] < via[0] else (low, middle)
        np.testing.assert_allclose(arc(low).pose[:3, 3], via, rtol=0.0, atol=2e-15 * size)


@pytest.mark.parametrize("start", [0.0, 1e6, 1.7e9])
@pytest.mark.parametrize("blend", ["parabolic", "quartic", "sextic"])
def test_blends_at_late_times_do_not_jump(blend: Any, start: float) -> None:
    T = frames(5, 3)
    motion = ch.BlendedWaypoints(T, start + np.array([0.0, 1.0, 1.7, 3.1, 4.0]), blend_time=1e-3, blend=blend)
    knots = motion.knots[1:-1]
    before, after = motion(np.nextafter(knots, -np.inf)), motion(knots)
    slack = 1e-14 + 4.0 * np.spacing(np.abs(knots).max())
    for part in range(2):
        scale = max(np.abs(before[part + 1]).max(), 1.0)
        np.testing.assert_allclose(before[part], after[part], rtol=0.0, atol=slack * scale)


def test_blends_that_are_lost_are_named() -> None:
    T = frames(3, 4)
    with pytest.raises(ArgumentError, match=r"blend at waypoint 0 takes .* s, at times that double precision tells"):
        ch.BlendedWaypoints(T, 1.7e9 + np.array([0.0, 1.0, 2.0]), blend_time=1e-9)
    with pytest.raises(ArgumentError, match=r"waypoint 1 comes 5.01e-06 s after waypoint 0, at 1.7e\+09 s, where"):
        ch.BlendedWaypoints(T, 1.7e9 + np.array([0.0, 5e-6, 2.0]), blend_time=1e-6)


def test_axes_of_any_length() -> None:
    T = np.eye(4)
    T[0, 3] = 1.0
    for length in (1e-300, 1e-160, 1.0, 1e90):
        circle = ch.Circle(T, [0.0, 0.0, 0.0], [0.0, 0.0, length], np.pi, duration=1.0)
        np.testing.assert_allclose(circle(1.0).pose[:3, 3], [-1.0, 0.0, 0.0], atol=1e-15)


def test_a_step_longer_than_the_motion_gives_both_ends() -> None:
    for dt in (2.0, 1e6, 1e12, 1e300):
        np.testing.assert_array_equal(ch.PointToPoint([0.0], [1.0], 1.5).sample_times(dt), [0.0, 1.5])


def test_an_empty_batch_is_no_error() -> None:
    t = np.arange(8.0)
    for motion in (
        ch.CubicSpline(t, np.empty((0, 8, 2))),
        ch.QuinticSpline(t, np.empty((0, 8, 2))),
        ch.HermiteSpline(t, np.empty((0, 8, 2)), 0.0),
        ch.BSpline.through(t, np.empty((0, 8, 2))),
        ch.SmoothingSpline(t, np.empty((0, 8, 2))),
        ch.PointToPoint([0.0, 0.0], np.empty((0, 2)), duration=1.0),
    ):
        assert motion(0.5).q.shape == (0, 2)
    T = np.empty((0, 8, 4, 4))
    for turning in ("smooth", "squad", "slerp", "roboop"):
        assert ch.PoseSpline(t, T, turning=turning, boundary="natural")(0.5).pose.shape == (0, 4, 4)
    assert ch.BlendedWaypoints(T, t, blend_time=0.1)(0.5).pose.shape == (0, 4, 4)
    assert ch.CircularArc(T[:, 0], T[:, 1, :3, 3], T[:, 2], duration=1.0)(0.5).pose.shape == (0, 4, 4)
