from __future__ import annotations

import math
import pickle
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.geometry import exact_quaternions as exact
from tests.geometry.exact_poses import precise

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import (
    QuaternionSpline,
    multiply_quaternions,
    quaternion_from_axis_angle,
    quaternion_from_rotation_vector,
    rotate_by_quaternion,
    slerp_quaternion_motion,
    squad_control_quaternion,
    squad_quaternion,
)

EPS = np.finfo(float).eps
TIMES = np.array([0.0, 0.7, 1.0, 2.5, 3.1, 4.0])
START, END = np.array([0.5, -0.2, 1.0]), np.array([-1.0, 0.3, 0.4])


def knots(count: int = 6, seed: int = 0, size: float = 0.6) -> np.ndarray:
    rng = np.random.default_rng(seed)
    q = [quaternion_from_rotation_vector(rng.normal(size=3))]
    for turn in size * rng.normal(size=(count - 1, 3)):
        q.append(multiply_quaternions(q[-1], quaternion_from_rotation_vector(turn)))
    return np.array(q)


def exact_controls(times: np.ndarray, q: list[np.ndarray], start: Any = None, end: Any = None) -> list[Any]:
    """Controls that make the squads' end velocities those of the parabolas; velocities are half those of the body."""
    h = [precise(b) - precise(a) for a, b in pairwise(times)]
    turns = [exact.logarithm(exact.product(exact.inverse(a), b)) for a, b in pairwise(q)]
    slopes = [turn / duration for turn, duration in zip(turns, h, strict=True)]
    inner = [(h[k + 1] * slopes[k] + h[k] * slopes[k + 1]) / (h[k] + h[k + 1]) for k in range(len(slopes) - 1)]
    w = [slopes[0] if start is None else start, *inner, slopes[-1] if end is None else end]
    return [
        (
            exact.product(q[k], exact.exponential((h[k] * w[k] - turns[k]) / 2)),
            exact.product(q[k + 1], exact.exponential((turns[k] - h[k] * w[k + 1]) / 2)),
        )
        for k in range(len(h))
    ]


@pytest.mark.parametrize("given", [False, True])
def test_motion_to_thirty_digits(given: bool) -> None:
    q = knots()
    velocities = {"start_velocity": START, "end_velocity": END} if given else {}
    with mpmath.workdps(100):
        units = [exact.unit(x) for x in q]
        halves = [np.array([0, *(precise(omega) / 2)]) for omega in (START, END)] if given else [None, None]
        controls = exact_controls(TIMES, units, *halves)
    curve = QuaternionSpline(TIMES, q, frame="body", **velocities)
    for k, place in ((0, 0.0), (0, 0.3), (1, 0.5), (2, 0.0), (3, 0.9), (4, 1.0)):
        t = TIMES[k] + place * (TIMES[k + 1] - TIMES[k])

        def segment(t: Any, k: int = k) -> np.ndarray:
            first, last = controls[k]
            s = (t - precise(TIMES[k])) / (precise(TIMES[k + 1]) - precise(TIMES[k]))
            return exact.squad(units[k], first, last, units[k + 1], s)

        expected, motion = exact.turning(segment, t), curve(t)
        for part, name in zip(motion, ("quaternion", "rate", "acceleration", "omega_body", "alpha_body"), strict=True):
            scale = max(1.0, np.abs(expected[name]).max())
            np.testing.assert_allclose(part, expected[name], rtol=0.0, atol=100 * EPS * scale, err_msg=f"{name}, {t}")


def test_goes_through_the_knots_and_keeps_the_sign() -> None:
    q = knots()
    for signs in ([1, 1, 1, 1, 1, 1], [1, -1, -1, 1, -1, 1]):
        curve = QuaternionSpline(TIMES, np.array(signs)[:, None] * q)
        np.testing.assert_allclose(curve(TIMES).quaternion, q, rtol=0.0, atol=8 * EPS)
        np.testing.assert_allclose(curve.quaternions, q, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("frame", ["space", "body"])
@pytest.mark.parametrize("size", [0.05, 0.6, 1.0])
def test_angular_velocity_does_not_jump_at_knots(size: float, frame: str) -> None:
    q = knots(size=size)
    curve = QuaternionSpline(TIMES, q, frame=frame)
    before, after = (curve(np.nextafter(TIMES[1:-1], side)) for side in (-np.inf, np.inf))
    np.testing.assert_allclose(before.quaternion, after.quaternion, rtol=0.0, atol=40 * EPS)
    np.testing.assert_allclose(before.angular_velocity, after.angular_velocity, rtol=0.0, atol=400 * EPS)
    # ... in contrast to the slerps and to the angular acceleration.
    assert np.abs(before.angular_acceleration - after.angular_acceleration).max() > 0.1 * size


def test_angular_velocity_is_that_of_time_not_of_the_segment() -> None:
    """Knots on a turn at constant speed, at any times, give this speed."""
    q = quaternion_from_axis_angle([0.0, 0.6, 0.8], 0.9 * TIMES)
    motion = QuaternionSpline(TIMES, q)(np.linspace(0.0, 4.0, 50))
    np.testing.assert_allclose(motion.angular_velocity, [[0.0, 0.54, 0.72]] * 50, rtol=0.0, atol=40 * EPS)
    np.testing.assert_allclose(motion.angular_acceleration, np.zeros((50, 3)), rtol=0.0, atol=200 * EPS)


def test_parabolas_have_their_velocity_at_inner_knots() -> None:
    angles = 0.4 * TIMES + 0.1 * TIMES**2
    curve = QuaternionSpline(TIMES, quaternion_from_axis_angle([1.0, 0.0, 0.0], angles))
    speed = curve(TIMES[1:-1]).angular_velocity[:, 0]
    np.testing.assert_allclose(speed, 0.4 + 0.2 * TIMES[1:-1], rtol=0.0, atol=40 * EPS)


def test_faster_times_scale_velocity_and_acceleration() -> None:
    q, t = knots(), np.linspace(0.0, 4.0, 30)
    slow, fast = QuaternionSpline(TIMES, q)(t), QuaternionSpline(TIMES / 3.0, q)(t / 3.0 * (1.0 - EPS))
    np.testing.assert_allclose(fast.quaternion, slow.quaternion, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(fast.angular_velocity, 3.0 * slow.angular_velocity, rtol=0.0, atol=1e-13)
    inside = np.abs(t[:, None] - TIMES).min(axis=1) > 1e-3  # the acceleration jumps at the knots
    difference = fast.angular_acceleration - 9.0 * slow.angular_acceleration
    np.testing.assert_allclose(difference[inside], 0.0, rtol=0.0, atol=1e-12)


def test_knots_at_equal_times_are_shoemakes() -> None:
    q = knots()
    curve = QuaternionSpline(np.arange(6.0), q)
    controls = squad_control_quaternion(q[:-2], q[1:-1], q[2:])
    s = np.array([0.1, 0.4, 0.9])
    for k in (1, 2, 3):
        expected = squad_quaternion(q[k], controls[k - 1], controls[k], q[k + 1], s)
        np.testing.assert_allclose(curve(k + s).quaternion, expected, rtol=0.0, atol=20 * EPS)


def test_two_knots_are_a_slerp() -> None:
    q = knots(2)
    motion, slerp = QuaternionSpline([1.0, 3.0], q)(2.5), slerp_quaternion_motion(q[0], q[1], 0.75, 0.5, 0.0)
    for ours, expected in zip(motion, slerp, strict=True):
        np.testing.assert_allclose(ours, expected, rtol=0.0, atol=20 * EPS)


@pytest.mark.parametrize("frame", ["space", "body"])
@pytest.mark.parametrize("count", [2, 6])
def test_given_velocities_at_the_ends(count: int, frame: str) -> None:
    curve = QuaternionSpline(TIMES[:count], knots(count), start_velocity=START, end_velocity=END, frame=frame)
    velocity = curve(TIMES[[0, count - 1]]).angular_velocity
    np.testing.assert_allclose(velocity, [START, END], rtol=0.0, atol=40 * EPS)
    resting = QuaternionSpline(TIMES[:count], knots(count), start_velocity=np.zeros(3), end_velocity=np.zeros(3))
    np.testing.assert_allclose(resting(TIMES[[0, count - 1]]).angular_velocity, 0.0, rtol=0.0, atol=40 * EPS)


def test_half_turns_between_knots_are_no_break() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        axis = rng.normal(size=3)
        q0 = quaternion_from_rotation_vector(rng.normal(size=3))
        q1 = multiply_quaternions(q0, quaternion_from_axis_angle(axis / np.linalg.norm(axis), math.pi))
        curve = QuaternionSpline([0.0, 1.0, 2.5], [q0, q1, q0])
        t = np.linspace(0.0, 2.5, 200)
        motion = curve(t)
        steps = np.linalg.norm(np.diff(motion.quaternion, axis=0), axis=1)
        assert steps.max() < 0.5 * np.linalg.norm(motion.angular_velocity, axis=1).max() * 1.1 * (t[1] - t[0])
        before, after = (curve(np.nextafter(1.0, side)).angular_velocity for side in (-np.inf, np.inf))
        np.testing.assert_allclose(before, after, rtol=0.0, atol=400 * EPS)


def test_equal_knots_stay() -> None:
    q = knots(2)[1]
    motion = QuaternionSpline([0.0, 1.0, 3.0], [q, q, -q])(np.linspace(0.0, 3.0, 10))
    np.testing.assert_allclose(motion.quaternion, [q] * 10, rtol=0.0, atol=4 * EPS)
    for still in motion[1:]:
        np.testing.assert_allclose(still, 0.0, rtol=0.0, atol=4 * EPS)


def test_seen_from_another_frame_it_is_the_same_motion() -> None:
    turn = knots(2, seed=5)[1]
    t = np.linspace(0.0, 4.0, 20)
    here, there = QuaternionSpline(TIMES, knots())(t), QuaternionSpline(TIMES, multiply_quaternions(turn, knots()))(t)
    np.testing.assert_allclose(there.quaternion, multiply_quaternions(turn, here.quaternion), rtol=0.0, atol=20 * EPS)
    turned = rotate_by_quaternion(turn, here.angular_velocity)
    np.testing.assert_allclose(there.angular_velocity, turned, rtol=0.0, atol=100 * EPS)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2), (0,)])
def test_times_of_any_shape(shape: tuple[int, ...]) -> None:
    curve = QuaternionSpline(TIMES, knots())
    t = np.random.default_rng(0).uniform(0.0, 4.0, shape)
    motion = curve(t)
    assert [part.shape for part in motion] == [(*shape, n) for n in (4, 4, 4, 3, 3)]
    for index in np.ndindex(shape):
        np.testing.assert_array_equal(motion.quaternion[index], curve(t[index]).quaternion)


def test_nan_stays_in_its_sample() -> None:
    motion = QuaternionSpline(TIMES, knots())([0.5, math.nan, 4.0])
    for part in motion:
        np.testing.assert_array_equal(np.isnan(part).all(axis=1), [False, True, False])


def test_times_outside_are_refused() -> None:
    curve = QuaternionSpline(TIMES, knots())
    for t in (-1e-9, 4.1, [1.0, math.inf]):
        with pytest.raises(ArgumentError, match=r"outside of the knots, from 0 to 4 s"):
            curve(t)


def test_pickles_and_shows_itself() -> None:
    curve = QuaternionSpline(TIMES, knots(), frame="body")
    copy = pickle.loads(pickle.dumps(curve))
    np.testing.assert_array_equal(copy(1.7).angular_velocity, curve(1.7).angular_velocity)
    assert repr(curve) == "<QuaternionSpline of 6 knots from 0 to 4 s>"


@pytest.mark.parametrize(
    ("times", "quaternions", "options", "message"),
    [
        ([0.0], knots(1), {}, "n >= 2"),
        ([0.0, 1.0], knots(3), {}, r"not \(2,\) and \(3, 4\)"),
        ([[0.0, 1.0]], knots(2), {}, "times of shape"),
        ([0.0, 0.0], knots(2), {}, "increase"),
        ([1.0, 0.0], knots(2), {}, "increase"),
        ([0.0, math.nan], knots(2), {}, "increase"),
        ([0.0, math.inf], knots(2), {}, "finite"),
        ([0.0, 1.0], math.nan * knots(2), {}, "finite"),
        ([0.0, 1.0], 1.5 * knots(2), {}, "sample .* 0.5 away"),
        ([0.0, 1.0], knots(2), {"start_velocity": [0.0, 1.0]}, "three finite numbers"),
        ([0.0, 1.0], knots(2), {"end_velocity": [0.0, 1.0, math.nan]}, "three finite numbers"),
    ],
)
def test_bad_knots_are_refused(times: Any, quaternions: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        QuaternionSpline(times, quaternions, **options)


def test_unknown_frame_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no frame 'world'"):
        QuaternionSpline([0.0, 1.0], knots(2), frame="world")


@pytest.mark.parametrize("ratio", [2.0, 5.0, 30.0, 1e4])
def test_angular_velocity_is_continuous_at_unequal_times(ratio: float) -> None:
    times = np.cumsum([0.0, 1.0, ratio, 1.0, ratio, 1.0])
    for seed in range(10):
        curve = QuaternionSpline(times, knots(seed=seed, size=2.0))
        before, after = curve(np.nextafter(times[1:-1], 0.0)), curve(times[1:-1])
        largest = np.abs(curve(np.linspace(0.0, times[-1], 1000)).angular_velocity).max()
        np.testing.assert_allclose(before.angular_velocity, after.angular_velocity, atol=1e-9 * largest)


def test_velocities_that_no_squad_has_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"the angular velocity at knot 0 would turn the body by .* rad more than"):
        QuaternionSpline(TIMES, knots(), start_velocity=[30.0, 0.0, 0.0])
    with pytest.raises(ArgumentError, match="the angular velocity at knot 5 would turn"):
        QuaternionSpline(TIMES, knots(), end_velocity=[0.0, -30.0, 0.0])
