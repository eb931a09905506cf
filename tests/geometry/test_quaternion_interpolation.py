from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation, Slerp
from tests.geometry import exact_quaternions as exact
from tests.geometry.exact_poses import precise
from tests.geometry.exact_quaternions import directions
from tests.thinning import thinned

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import Function
from chasles.geometry import (
    QuaternionMotion,
    angle_between_quaternions,
    multiply_quaternions,
    quaternion_from_axis_angle,
    quaternion_from_rotation_vector,
    rotate_by_quaternion,
    rotation_vector_from_quaternion,
    slerp_quaternion,
    slerp_quaternion_motion,
    squad_control_quaternion,
    squad_quaternion,
    squad_quaternion_motion,
)

EPS = np.finfo(float).eps
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
PLACES = (0.0, 0.25, 0.5, 0.8, 1.0)
#: Angles between the ends of an interpolation by the short way.
ANGLES = (1e-15, 1e-9, 1e-4, 0.1, 1.0, 2.5, 3.1, math.pi - 1e-6, math.pi - 1e-12)


def random_quaternions(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def ends(angle: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    q0 = random_quaternions((), seed)
    return q0, multiply_quaternions(q0, quaternion_from_rotation_vector(angle * directions(2, seed)[1]))


def squad_quadruple(size: float, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Two ends and two controls, with rotations of about a size between neighbours."""
    rng = np.random.default_rng(seed)
    q0 = random_quaternions((), seed)
    turns = quaternion_from_rotation_vector(size * rng.normal(size=(3, 3)))
    q1 = multiply_quaternions(q0, turns[0])
    return q0, multiply_quaternions(q0, turns[1]), multiply_quaternions(q1, turns[2]), q1


def assert_moves_as(motion: QuaternionMotion, expected: dict[str, np.ndarray], frame: str, slack: float) -> None:
    """Compare with the exact motion; slack in units of the rounding error of the largest component."""
    parts = {
        "quaternion": motion.quaternion,
        "rate": motion.rate,
        "acceleration": motion.acceleration,
        f"omega_{frame}": motion.angular_velocity,
        f"alpha_{frame}": motion.angular_acceleration,
    }
    speed = np.abs(expected["rate"]).max()
    scales = {"quaternion": 1.0, "rate": speed, f"omega_{frame}": 2.0 * speed}
    acceleration = max(np.abs(expected["acceleration"]).max(), np.abs(expected["alpha_body"]).max())
    for name, part in parts.items():
        scale = scales.get(name, acceleration)
        np.testing.assert_allclose(part, expected[name], rtol=0.0, atol=slack * EPS * scale, err_msg=name)


@pytest.mark.parametrize("angle", ANGLES)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slerp_to_sixty_digits(angle: float, sign: float) -> None:
    q0, q1 = ends(angle)
    with mpmath.workdps(exact.DIGITS):
        expected = [exact.slerp(exact.unit(q0), exact.unit(q1), mpmath.mpf(s)).astype(float) for s in PLACES]
    np.testing.assert_allclose(slerp_quaternion(q0, sign * q1, PLACES), expected, rtol=0.0, atol=4 * EPS)


@pytest.mark.parametrize("angle", [1e-12, 0.3, 3.0, 4.0, 6.0, 2 * math.pi - 1e-5])
def test_slerp_the_way_the_quaternions_stand(angle: float) -> None:
    q0, q1 = ends(angle)
    with mpmath.workdps(exact.DIGITS):
        expected = [exact.slerp(exact.unit(q0), exact.unit(q1), mpmath.mpf(s)).astype(float) for s in PLACES]
    # From q0 to nearly -q0, the ends' rounding errors are magnified: they alone tell the axis.
    atol = 8 * EPS / max(abs(math.sin(angle / 2)), 0.1) if angle > math.pi else 4 * EPS
    np.testing.assert_allclose(slerp_quaternion(q0, q1, PLACES, short_way=False), expected, rtol=0.0, atol=atol)


def test_slerp_agrees_with_scipy() -> None:
    q = random_quaternions((2,))
    s = np.linspace(0.0, 1.0, 21)
    peer = Slerp([0.0, 1.0], Rotation.from_quat(np.roll(q, -1, axis=-1)))(s).as_matrix()
    ours = Rotation.from_quat(np.roll(slerp_quaternion(q[0], q[1], s), -1, axis=-1)).as_matrix()
    np.testing.assert_allclose(ours, peer, rtol=0.0, atol=10 * EPS)


def test_slerp_between_equal_and_opposite_quaternions_stays() -> None:
    q = random_quaternions((50,))
    s = np.linspace(-1.0, 2.0, 50)
    for end in (q, -q):
        np.testing.assert_allclose(slerp_quaternion(q, end, s), q, rtol=0.0, atol=EPS)
        motion = slerp_quaternion_motion(q, end, s, 1.0, 1.0)
        np.testing.assert_array_equal(motion.angular_velocity, 0.0)
        np.testing.assert_array_equal(motion.angular_acceleration, 0.0)


def test_turn_to_the_opposite_quaternion_is_about_x() -> None:
    half_way = slerp_quaternion(IDENTITY, -IDENTITY, 0.5, short_way=False)
    np.testing.assert_allclose(half_way, [0.0, 1.0, 0.0, 0.0], rtol=0.0, atol=EPS)
    motion = slerp_quaternion_motion(IDENTITY, -IDENTITY, 0.5, 1.0, 0.0, short_way=False)
    np.testing.assert_allclose(motion.angular_velocity, [2.0 * math.pi, 0.0, 0.0], rtol=EPS)


def test_half_turns_go_to_the_quaternion_as_it_stands() -> None:
    for end in ([0.0, 0.0, 1.0, 0.0], [0.0, 0.0, -1.0, 0.0]):
        half_way = slerp_quaternion(IDENTITY, end, 0.5)
        np.testing.assert_allclose(half_way, math.sqrt(0.5) * (IDENTITY + end), rtol=0.0, atol=2 * EPS)


@given(st.sampled_from(ANGLES) | st.floats(0.0, 3.0), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_slerp_divides_the_angle(angle: float, s: float, seed: int) -> None:
    q0, q1 = ends(angle, seed)
    whole = angle_between_quaternions(q0, q1)
    q = slerp_quaternion(q0, q1, s)
    np.testing.assert_allclose(angle_between_quaternions(q0, q), s * whole, rtol=0.0, atol=8 * EPS)
    np.testing.assert_allclose(angle_between_quaternions(q, q1), (1.0 - s) * whole, rtol=0.0, atol=8 * EPS)
    np.testing.assert_allclose(slerp_quaternion(q1, q0, 1.0 - s), np.sign(q0 @ q1) * q, rtol=0.0, atol=8 * EPS)


@pytest.mark.parametrize("frame", ["space", "body"])
@pytest.mark.parametrize("angle", ANGLES)
def test_slerp_motion_to_thirty_digits(angle: float, frame: str) -> None:
    q0, q1 = ends(angle)

    def curve(t: Any) -> np.ndarray:
        return exact.slerp(exact.unit(q0), exact.unit(q1), 0.3 + t * (0.5 + 0.75 * t))

    expected = exact.turning(curve, 0.0)
    motion = slerp_quaternion_motion(q0, q1, 0.3, 0.5, 1.5, frame=frame)
    assert_moves_as(motion, expected, frame, 8.0)


def test_slerp_between_near_quaternions_has_all_digits_of_the_velocity() -> None:
    for angle in (1e-300, 1e-100, 1e-20, 1e-10):
        motion = slerp_quaternion_motion(IDENTITY, [1.0, 0.0, 0.5 * angle, 0.0], 0.3, 2.0, -1.0)
        np.testing.assert_allclose(motion.angular_velocity, [0.0, 2.0 * angle, 0.0], rtol=4 * EPS, atol=0.0)
        np.testing.assert_allclose(motion.angular_acceleration, [0.0, -angle, 0.0], rtol=4 * EPS, atol=0.0)


@pytest.mark.parametrize("size", [1e-200, 1e-12, 1e-5, 0.1, 0.7, 1.0])
@pytest.mark.parametrize("s", PLACES)
def test_squad_to_sixty_digits(size: float, s: float) -> None:
    quadruple = squad_quadruple(size)
    with mpmath.workdps(exact.DIGITS):
        expected = exact.squad(*map(exact.unit, quadruple), mpmath.mpf(s)).astype(float)
    np.testing.assert_allclose(squad_quaternion(*quadruple, s), expected, rtol=0.0, atol=8 * EPS)


@pytest.mark.parametrize("frame", ["space", "body"])
@pytest.mark.parametrize("size", thinned([1e-12, 1e-5, 0.1, 0.7, 1.0]))
@pytest.mark.parametrize("s", thinned([0.0, 0.5, 0.3, 1.0]))
def test_squad_motion_to_thirty_digits(size: float, s: float, frame: str) -> None:
    quadruple = squad_quadruple(size)

    def curve(t: Any) -> np.ndarray:
        return exact.squad(*map(exact.unit, quadruple), s + t * (0.5 + 0.75 * t))

    expected = exact.turning(curve, 0.0)
    motion = squad_quaternion_motion(*quadruple, s, 0.5, 1.5, frame=frame)
    assert_moves_as(motion, expected, frame, 20.0)


@pytest.mark.parametrize("short_way", [True, False])
def test_squad_motion_is_the_derivative_by_the_engine(short_way: bool) -> None:
    """The closed form against automatic differentiation of `squad_quaternion`, twice."""
    quadruples = [random_quaternions((40,), seed) for seed in range(4)]
    s = np.linspace(0.0, 1.0, 40)
    velocity = squad_quaternion.specialize(short_way=short_way).jvp("s")
    acceleration: Callable[..., Any] = Function(velocity.program).jvp("s")
    motion = squad_quaternion_motion(*quadruples, s, 1.0, 0.0, short_way=short_way)
    np.testing.assert_allclose(motion.quaternion, squad_quaternion(*quadruples, s, short_way=short_way), atol=1e-13)
    np.testing.assert_allclose(motion.rate, velocity(*quadruples, s, 1.0), rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(motion.acceleration, acceleration(*quadruples, s, 1.0, 1.0), rtol=0.0, atol=1e-8)


def test_squad_about_one_axis_is_a_scalar_polynomial() -> None:
    axis, s = np.array([0.6, 0.0, 0.8]), np.linspace(0.0, 1.0, 11)
    a0, c0, c1, a1 = 0.2, 0.9, -0.4, 1.1
    weight = 2.0 * s * (1.0 - s)
    angle = (1.0 - weight) * (a0 + s * (a1 - a0)) + weight * (c0 + s * (c1 - c0))
    slope, control_slope = a1 - a0, c1 - c0
    difference = (c0 + s * control_slope) - (a0 + s * slope)
    speed = slope + (2.0 - 4.0 * s) * difference + weight * (control_slope - slope)
    change = -4.0 * difference + 2.0 * (2.0 - 4.0 * s) * (control_slope - slope)
    motion = squad_quaternion_motion(*(quaternion_from_axis_angle(axis, x) for x in (a0, c0, c1, a1)), s, 1.0, 0.0)
    close = {"rtol": 0.0, "atol": 30 * EPS}
    np.testing.assert_allclose(motion.quaternion, quaternion_from_axis_angle(axis, angle), **close)
    np.testing.assert_allclose(motion.angular_velocity, speed[:, None] * axis, **close)
    np.testing.assert_allclose(motion.angular_acceleration, change[:, None] * axis, **close)


def test_angular_velocity_of_squad_at_its_ends() -> None:
    q0, control0, control1, q1 = squad_quadruple(0.5)

    def between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with mpmath.workdps(exact.DIGITS):
            return (2 * exact.logarithm(exact.product(exact.inverse(precise(a)), precise(b)))[1:]).astype(float)

    start, end = (
        squad_quaternion_motion(q0, control0, control1, q1, s, 1.0, 0.0, frame="body").angular_velocity
        for s in (0.0, 1.0)
    )
    np.testing.assert_allclose(start, between(q0, q1) + 2.0 * between(q0, control0), rtol=0.0, atol=20 * EPS)
    np.testing.assert_allclose(end, between(q0, q1) - 2.0 * between(q1, control1), rtol=0.0, atol=20 * EPS)


def test_signs_do_not_matter_by_the_short_way() -> None:
    q0, control0, control1, q1 = squad_quadruple(0.5)
    expected = squad_quaternion(q0, control0, control1, q1, PLACES)
    for signs in np.ndindex(2, 2, 2):
        a, b, c = 1.0 - 2.0 * np.array(signs)
        np.testing.assert_array_equal(squad_quaternion(q0, a * control0, b * control1, c * q1, PLACES), expected)


def test_squad_with_its_ends_for_controls_is_slerp() -> None:
    q0, q1 = random_quaternions((2, 30))
    s = np.linspace(0.0, 1.0, 30)
    np.testing.assert_allclose(squad_quaternion(q0, q0, q1, q1, s), slerp_quaternion(q0, q1, s), rtol=0.0, atol=8 * EPS)


def test_squad_turns_with_the_frames_it_is_seen_from() -> None:
    quadruple, turn = squad_quadruple(0.6), random_quaternions((), 9)
    motion = squad_quaternion_motion(*quadruple, 0.3, 1.0, 0.0)
    seen = squad_quaternion_motion(*(multiply_quaternions(turn, q) for q in quadruple), 0.3, 1.0, 0.0)
    close = {"rtol": 0.0, "atol": 40 * EPS}
    np.testing.assert_allclose(seen.quaternion, multiply_quaternions(turn, motion.quaternion), **close)
    np.testing.assert_allclose(seen.angular_velocity, rotate_by_quaternion(turn, motion.angular_velocity), **close)
    turned_alpha = rotate_by_quaternion(turn, motion.angular_acceleration)
    np.testing.assert_allclose(seen.angular_acceleration, turned_alpha, rtol=0.0, atol=200 * EPS)


def test_control_quaternions_are_those_of_shoemake() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        q = random_quaternions((), seed)
        before, after = (
            multiply_quaternions(q, quaternion_from_rotation_vector(rng.uniform(-1.0, 1.0, 3))) for _ in range(2)
        )
        with mpmath.workdps(exact.DIGITS):
            inverse = exact.inverse(precise(q))
            logarithms = [exact.logarithm(exact.product(inverse, precise(x))) for x in (before, after)]
            expected = exact.product(precise(q), exact.exponential(-sum(logarithms) / 4)).astype(float)
        for sign in (1.0, -1.0):
            control = squad_control_quaternion(sign * before, q, -sign * after)
            np.testing.assert_allclose(control, expected, rtol=0.0, atol=4 * EPS)


def test_segments_at_equal_times_join_with_the_mean_velocity() -> None:
    q = random_quaternions(())
    knots = [q]
    for turn in np.random.default_rng(2).uniform(-1.0, 1.0, (4, 3)):
        knots.append(multiply_quaternions(knots[-1], quaternion_from_rotation_vector(turn)))
    controls = [squad_control_quaternion(*knots[k - 1 : k + 2]) for k in (1, 2, 3)]
    end = squad_quaternion_motion(knots[1], controls[0], controls[1], knots[2], 1.0, 1.0, 0.0, frame="body")
    start = squad_quaternion_motion(knots[2], controls[1], controls[2], knots[3], 0.0, 1.0, 0.0, frame="body")
    turns = rotation_vector_from_quaternion(
        multiply_quaternions(np.array(knots[1:3]) * [1, -1, -1, -1], np.array(knots[2:4]))
    )
    np.testing.assert_allclose(end.angular_velocity, turns.mean(axis=0), rtol=0.0, atol=20 * EPS)
    np.testing.assert_allclose(start.angular_velocity, turns.mean(axis=0), rtol=0.0, atol=20 * EPS)


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_batches(shape: tuple[int, ...]) -> None:
    q0, c0, c1, q1 = (random_quaternions(shape, seed) for seed in range(4))
    s = np.random.default_rng(0).uniform(size=shape)
    motion = squad_quaternion_motion(q0, c0, c1, q1, s, 1.0, 0.0)
    for index in np.ndindex(shape):
        alone = squad_quaternion_motion(*(x[index] for x in (q0, c0, c1, q1, s)), 1.0, 0.0)
        for ours, single in zip(motion, alone, strict=True):
            np.testing.assert_array_equal(ours[index], single)
    assert slerp_quaternion(q0, q1, s).shape == (*shape, 4)


def test_nan_stays_in_its_sample() -> None:
    q0, c0, c1, q1 = (random_quaternions((3,), seed) for seed in range(4))
    s = np.array([0.1, np.nan, 0.7])
    for result in squad_quaternion_motion(q0, c0, c1, q1, s, 1.0, 0.0):
        np.testing.assert_array_equal(np.isnan(result).all(axis=1), [False, True, False])
        assert np.isfinite(result[[0, 2]]).all()


def test_unknown_frames_and_other_lengths_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="no frame 'world'"):
        slerp_quaternion_motion(IDENTITY, IDENTITY, 0.0, 1.0, 0.0, frame="world")
    with pytest.raises(ArgumentError, match="q1 is not a unit quaternion"):
        slerp_quaternion(IDENTITY, 2.0 * IDENTITY, 0.5, check=True)
