"""Trajectories under random abuse: each call gives a motion that keeps its promises, or an error of the family.

The seed comes from the environment variable CHASLES_ATTACK_SEED; each case has a generator of its own, so that a
failure can be repeated alone. What is random spans all of double precision: spacings over 18 decades, limits and
durations from 1e-320 to 1e308.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ChaslesError
from chasles.geometry import exp_rotation, random_rotation
from chasles.trajectories import Motion, fastest_profile, time_scaling
from chasles.trajectories.joint.scalings import LAWS

SEED = int(os.environ.get("CHASLES_ATTACK_SEED", "20261122"))
SCALINGS = list(LAWS)
Generator = np.random.Generator


def attack(few: int, many: int) -> Callable[..., Any]:
    """Run a test on generators: a few by default, many with ``-m slow``."""

    def decorate(judge: Callable[[Generator], bool]) -> Callable[[int], None]:
        def test(count: int) -> None:
            kept = 0
            for case in range(count):
                rng = np.random.default_rng([SEED, case])
                try:
                    kept += judge(rng)
                except ChaslesError:  # a refusal is an answer
                    continue
                except Exception as error:
                    error.add_note(f"CHASLES_ATTACK_SEED={SEED}, case {case}")
                    raise
            assert kept >= count // 20  # not everything is refused

        test.__doc__ = judge.__doc__
        return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.slow)])(test)

    return decorate


def size(rng: Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


def strange(rng: Generator) -> float:
    """A number that is somewhere in double precision, or none."""
    somewhere = [size(rng, -320.0, 308.0), -size(rng, -300.0, 300.0)]
    return float(rng.choice([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.8e308, 1.0, *somewhere]))


def times(rng: Generator, count: int) -> np.ndarray:
    """Increasing times whose spacings spread over up to 18 decades, from near zero or a large start."""
    decades = rng.choice([0.0, 1.0, 3.0, 9.0, 18.0])
    steps = size(rng, -6.0, 6.0) * 10.0 ** rng.uniform(-decades / 2.0, decades / 2.0, count - 1)
    start = rng.choice([0.0, -1.0, 1e3, 1.7e9, -1e12])
    return start + np.concatenate([[0.0], np.cumsum(steps)])


def waypoints(rng: Generator, count: int) -> np.ndarray:
    batch = [(), (), (), (1,), (2,), (0,), (2, 1)][rng.integers(7)]
    points = size(rng, -9.0, 9.0) * rng.normal(size=(*batch, count, int(rng.integers(1, 4))))
    if rng.random() < 0.2:
        points[..., 1, :] = points[..., 0, :]
    if rng.random() < 0.1:
        points[...] = points[..., :1, :]
    if rng.random() < 0.05 and points.size:
        points.flat[rng.integers(points.size)] = strange(rng)
    return points


def passes(motion: Any, t: np.ndarray, points: np.ndarray, rates: Any = 0.0) -> bool:
    """Whether a joint motion passes waypoints (..., k, n), looked at from both sides, by calling it alone."""
    column = t.reshape(-1, *(1,) * len(motion.batch))
    here = motion(column)
    extent = np.maximum(np.abs(points).max(axis=-2, keepdims=True, initial=0.0), rates)
    for side in (column, np.nextafter(column, -np.inf), np.nextafter(column, np.inf)):
        there = motion(side)
        assert all(np.isfinite(part).all() for part in there)
        moved = np.maximum(np.abs(here.qd), np.abs(there.qd)) * np.spacing(np.abs(column))[..., None]
        missed = np.abs(np.moveaxis(there.q, 0, -2) - points)
        assert (missed <= 2e-9 * extent + 2.0 * np.moveaxis(moved, 0, -2)).all()
    return True


@attack(60, 3000)
def test_splines_pass_their_waypoints(rng: Generator) -> bool:
    kind, count = rng.integers(8), int(rng.integers(2, 12))
    t, q = times(rng, count), waypoints(rng, count)
    if kind < 4:
        boundary = ["clamped", "natural", "periodic", "not-a-knot"][kind]
        if boundary == "periodic":
            q[..., -1, :] = q[..., 0, :]
        rates = {"start_velocity": size(rng, -9.0, 9.0)} if boundary == "clamped" and rng.random() < 0.3 else {}
        motion = ch.CubicSpline(t, q, boundary=boundary, **rates)
        return passes(motion, t, q, rates.get("start_velocity", 0.0) * (t[1] - t[0]))
    if kind < 7:
        boundary = ["clamped", "natural", "periodic"][kind - 4]
        if boundary == "periodic":
            q[..., -1, :] = q[..., 0, :]
        return passes(ch.QuinticSpline(t, q, boundary=boundary), t, q)
    rates = size(rng, -9.0, 9.0)
    return passes(ch.HermiteSpline(t, q, rates * q), t, q, rates * np.abs(q).max(initial=0.0) * np.diff(t).max())


@attack(24, 1500)
def test_b_splines_and_recorded_motions(rng: Generator) -> bool:
    count = int(rng.integers(6, 40))
    t, q = times(rng, count), waypoints(rng, count)
    if rng.random() < 0.6:
        return passes(ch.BSpline.through(t, q, degree=int(rng.choice([1, 3, 5, 7, 11, 15]))), t, q)
    motion = ch.SmoothingSpline(t, q)
    found = np.sqrt(((np.moveaxis(motion(t.reshape(-1, *(1,) * len(motion.batch))).q, 0, -2) - q) ** 2).mean(axis=-2))
    np.testing.assert_allclose(found, motion.deviation, rtol=1e-6, atol=1e-6 * np.abs(q).max(initial=0.0))
    return True


@attack(40, 6000)
def test_point_to_point(rng: Generator) -> bool:
    """Both ends are exact, nothing overflows or vanishes: velocities are those of a duration of 1 s, scaled."""
    scaling, n = SCALINGS[rng.integers(len(SCALINGS))], int(rng.integers(1, 4))
    start = rng.normal(size=n) * size(rng, -20.0, 20.0)
    goal = start + rng.normal(size=n) * size(rng, -300.0, 60.0)
    duration = rng.choice([size(rng, -330.0, 308.0), size(rng, -18.0, 18.0), size(rng, -3.0, 3.0)])
    shape = {}
    for name in LAWS[scaling].parameters:
        if rng.random() < 0.5:
            shape[name] = rng.choice([0.5, 0.25, 0.5 * size(rng, -320.0, 0.0), strange(rng)])
    motion = ch.PointToPoint(start, goal, duration, scaling=scaling, synchronized=bool(rng.integers(2)), **shape)
    if duration == 0.0:
        return bool((start == goal).all())
    for part in motion.derivatives(np.append(np.linspace(-0.1, 1.1, 13) * duration, np.nextafter(duration, 0.0))):
        assert np.isfinite(part).all()
    np.testing.assert_array_equal(motion(0.0).q, start)
    np.testing.assert_array_equal(motion(motion.duration).q, goal)
    rate = time_scaling(0.3, 1.0, scaling, **shape).sd
    np.testing.assert_allclose(motion(0.3 * duration).qd, rate * (goal - start) / duration, rtol=1e-9, atol=1e-300)
    return True


@attack(60, 6000)
def test_the_fastest_motions_keep_their_limits(rng: Generator) -> bool:
    scaling, n = SCALINGS[rng.integers(len(SCALINGS))], int(rng.integers(1, 4))
    start = rng.normal(size=n) * size(rng, -20.0, 20.0)
    goal = start + rng.normal(size=n) * rng.choice([1.0, size(rng, -300.0, 60.0)])
    limits = {
        name: rng.choice([np.inf, size(rng, -3.0, 3.0), size(rng, -3.0, 3.0), strange(rng)])
        for name in ("velocity", "acceleration", "jerk")
    }
    motion = ch.PointToPoint.within_limits(start, goal, **limits, scaling=scaling, synchronized=bool(rng.integers(2)))
    duration = float(motion.duration)
    if duration == 0.0:
        return bool((start == goal).all())
    rates = motion.derivatives(np.linspace(0.0, duration, 97))[1:]
    for rate, limit in zip(rates, limits.values(), strict=True):
        assert (np.abs(rate) <= limit * (1.0 + 1e-9)).all()
    np.testing.assert_array_equal(motion(duration).q, goal)
    profile = fastest_profile(np.abs(goal - start), **limits, scaling=scaling)
    assert np.isfinite(profile.duration).all()
    return True


def poses(rng: Generator, count: int) -> np.ndarray:
    batch = [(), (), (), (2,), (0,)][rng.integers(5)]
    T = np.zeros((*batch, count, 4, 4))
    T[..., 3, 3] = 1.0
    T[..., :3, :3] = random_rotation(seed=int(rng.integers(2**31)), shape=(*batch, count))
    if rng.random() < 0.5:
        T[..., :3, :3] = exp_rotation(np.cumsum(rng.normal(size=(*batch, count, 3)) * size(rng, -9.0, 0.0), axis=-2))
    T[..., :3, 3] = rng.normal(size=(*batch, count, 3)) * size(rng, -6.0, 6.0)
    if rng.random() < 0.2:
        T[..., 1, :, :] = T[..., 0, :, :]
    if rng.random() < 0.1 and T.size:
        *which, _, _ = (int(rng.integers(axis)) for axis in T.shape)
        spoil = rng.integers(3)
        if spoil == 0:
            T[*which, rng.integers(4), rng.integers(4)] = strange(rng)
        else:
            T[*which, :3, :3] *= [1.01, -1.0][spoil - 1]
    return T


def leads_through(motion: Any, t: np.ndarray, T: np.ndarray) -> bool:
    """Whether a frame passes waypoints (..., k, 4, 4), looked at from both sides, by calling the motion alone."""
    column = t.reshape(-1, *(1,) * len(motion.batch))
    here = motion(column)
    extent = np.abs(T[..., :3, 3]).max(axis=(-2, -1), initial=0.0)[..., None]
    for side in (column, np.nextafter(column, -np.inf), np.nextafter(column, np.inf)):
        there = motion(side)
        assert all(np.isfinite(part).all() for part in there)
        moved = [np.maximum(*(np.linalg.norm(m.twist[..., part], axis=-1) for m in (here, there))) for part in
                 (slice(3), slice(3, 6))]  # fmt: skip
        turned, gone = (np.moveaxis(part * np.spacing(np.abs(column)), 0, -1) for part in moved)
        missed = np.abs(np.moveaxis(there.pose, 0, -3) - T)
        assert (missed[..., :3, :3].max(axis=(-2, -1), initial=0.0) <= 2e-9 + 2.0 * turned).all()
        assert (missed[..., :3, 3].max(axis=-1, initial=0.0) <= 4e-9 * extent + 2.0 * gone).all()
    return True


@attack(24, 1500)
def test_pose_splines_pass_their_waypoints(rng: Generator) -> bool:
    count = int(rng.integers(2, 8))
    t, T = times(rng, count), poses(rng, count)
    boundary = ["clamped", "natural", "periodic"][rng.integers(3)]
    turning = ["smooth", "squad", "slerp", "roboop"][rng.integers(4)]
    if boundary == "periodic":
        T[..., -1, :, :] = T[..., 0, :, :]
    motion = ch.PoseSpline(t, T, turning=turning, boundary=boundary)
    leads_through(motion, t, T)
    if turning in ("smooth", "squad"):
        axes = (-1, *(1,) * len(motion.batch))
        knots, between = t[1:-1].reshape(axes), np.linspace(t[0], t[-1], 50).reshape(axes)
        sides = motion(np.nextafter(knots, -np.inf)), motion(knots)
        fastest, rate = (
            np.maximum.reduce([np.linalg.norm(part, axis=-1).max(axis=0, initial=0.0) for part in parts])
            for parts in (
                [motion(between).twist, *(side.twist for side in sides)],
                [side.acceleration for side in sides],
            )
        )
        jump = np.linalg.norm(sides[1].twist - sides[0].twist, axis=-1)
        noise = 1e-12 * (1.0 + np.abs(T[..., :3, 3]).max(initial=0.0)) / np.diff(t).min()
        assert (jump <= 2.0 * rate * np.spacing(np.abs(knots)) + 1e-7 * fastest + noise).all()
    return True


@attack(40, 3000)
def test_blends_start_and_end_at_their_waypoints(rng: Generator) -> bool:
    count = int(rng.integers(2, 7))
    T, blend = poses(rng, count), ["parabolic", "quartic", "sextic"][rng.integers(3)]
    mode = rng.integers(3)
    if mode == 0:
        t = times(rng, count)
        time = rng.choice([rng.choice([0.5, 0.05, 1e-9]) * np.diff(t).min(), strange(rng)], p=[0.9, 0.1])
        motion = ch.BlendedWaypoints(T, t, blend_time=time, blend=blend)
    elif mode == 1:
        motion = ch.BlendedWaypoints(T, times(rng, count), blend_radius=size(rng, -12.0, 3.0), blend=blend)
    else:
        sizes = [rng.choice([size(rng, -9.0, 9.0), np.inf, strange(rng)], p=[0.8, 0.1, 0.1]) for _ in range(4)]
        motion = ch.BlendedWaypoints(T, limits=ch.CartesianLimits(*sizes), blend=blend)
    for time, k in ((motion.start_time, 0), (motion.end_time, -1)):
        reached = motion(time)
        extent = np.maximum(1.0, np.abs(T[..., :3, 3]).max(initial=0.0))
        assert (np.abs(reached.pose - T[..., k, :, :]) <= 2e-9 * extent).all()
    knots = np.moveaxis(np.broadcast_to(motion.knots, (*motion.batch, motion.knots.shape[-1])), -1, 0)[1:-1]
    before, after = motion(np.nextafter(knots, -np.inf)), motion(knots)
    moved = np.maximum(*(np.linalg.norm(side.twist, axis=-1) for side in (before, after))) * np.spacing(np.abs(knots))
    jump = np.abs(after.pose - before.pose).max(axis=(-2, -1), initial=0.0)
    assert (jump <= 4e-9 * np.maximum(1.0, np.abs(T[..., :3, 3]).max(initial=0.0)) + 4.0 * moved).all()
    return True


@attack(50, 4000)
def test_paths_end_where_they_should(rng: Generator) -> bool:
    T = poses(rng, 2)
    T0, T1 = T[..., 0, :, :], T[..., 1, :, :]
    timing: dict[str, Any] = {"duration": rng.choice([1.0, size(rng, -18.0, 18.0), strange(rng)])}
    if rng.random() < 0.3:
        sizes = [rng.choice([size(rng, -9.0, 9.0), np.inf, strange(rng)], p=[0.8, 0.1, 0.1]) for _ in range(4)]
        timing = {"limits": ch.CartesianLimits(*sizes)}
    kind = rng.integers(4)
    if kind == 0:
        motion: Any = ch.StraightLine(T0, T1, **timing)
    elif kind == 1:
        motion = ch.ScrewMotion(T0, T1, **timing)
    elif kind == 2:
        length = np.abs((T1 - T0)[..., :3, 3]).max(axis=-1, keepdims=True)  # a norm would overflow
        via = 0.5 * (T0 + T1)[..., :3, 3] + size(rng, -12.0, 0.0) * length * rng.normal(size=3)
        motion = ch.CircularArc(T0, via, T1, **timing)
    else:
        center, axis = rng.normal(size=(2, 3)) * [[size(rng, -300.0, 9.0)], [size(rng, -300.0, 300.0)]]
        motion = ch.Circle(T0, center, axis, 2.0 * np.pi, orientation="turning", **timing)
        T1 = T0
    extent = np.maximum(1.0, np.abs(np.stack([T0, T1])[..., :3, 3]).max(initial=0.0))
    if kind == 3:
        extent = extent + np.abs(center).max()
    reached = motion(motion.duration)
    assert all(np.isfinite(part).all() for part in reached)
    assert (np.abs(reached.pose - T1) <= 2e-9 * extent).all()
    assert all(np.isfinite(part).all() for part in motion(0.3 * motion.duration))
    return True


@attack(40, 1500)
def test_online_motions_go_from_state_to_state(rng: Generator) -> bool:
    pytest.importorskip("ruckig")
    n, extent = int(rng.integers(1, 4)), size(rng, -3.0, 3.0)
    start, goal = rng.normal(size=(2, n)) * extent
    velocity, acceleration = (10.0 ** rng.uniform(-2.0, 3.0, n) * extent for _ in range(2))
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": rng.choice([np.inf, size(rng, -2.0, 5.0)])}
    if rng.random() < 0.1:
        limits[["velocity", "acceleration", "jerk"][rng.integers(3)]] = strange(rng)
    begin = rng.choice([0.0, -5.0, 1e6, 1.7e9, strange(rng)])
    state = Motion(start, rng.choice([0.0, 0.9]) * velocity, np.zeros(n))
    motion = ch.online_trajectory(state, goal, **limits, start_time=begin)
    knots = motion.knots
    before, after = motion(np.nextafter(knots, -np.inf)), motion(knots)
    reached = np.abs(after.q).max(axis=0) + np.abs(after.qd).max(axis=0)
    slack = 1e-9 * reached + 16.0 * np.abs(after.qd).max(axis=0) * max(1e-12, float(np.spacing(np.abs(knots).max())))
    assert (np.abs(after.q - before.q)[1:] <= slack).all()
    assert (np.abs(after.q[0] - start) <= slack).all()
    assert (np.abs(after.q[-1] - goal) <= slack + 2e-8).all()
    return True


@attack(30, 500)
def test_sampling(rng: Generator) -> bool:
    motion = ch.CubicSpline([0.0, 1.0, 3.0], rng.normal(size=(3, 2)))
    t, values = motion.sample(rng.choice([0.1, size(rng, -3.0, 3.0), strange(rng)]))
    assert (t[0], t[-1]) == (0.0, 3.0)
    assert values.q.shape == (len(t), 2)
    return True
