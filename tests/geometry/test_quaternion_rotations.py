from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.geometry import exact_quaternions as exact
from tests.geometry.exact_poses import precise
from tests.geometry.exact_quaternions import HALF_ANGLES, directions

from chasles.base.errors import ArgumentError
from chasles.engine import Function, trace
from chasles.geometry import (
    angle_between_quaternions,
    axis_angle_from_quaternion,
    axis_angle_from_rotation,
    canonical_quaternion,
    exp_rotation,
    log_rotation,
    multiply_quaternions,
    quaternion_angle,
    quaternion_from_axis_angle,
    quaternion_from_rotation,
    quaternion_from_rotation_vector,
    relative_quaternion,
    rotate_by_quaternion,
    rotation_from_quaternion,
    rotation_vector_from_quaternion,
)

EPS = np.finfo(float).eps
SHAPES = ((), (1,), (3, 1, 2))
#: Rotation vectors of all hard angles in (0, pi].
VECTORS = np.array(
    [2.0 * half * u for half, u in zip(HALF_ANGLES, directions(len(HALF_ANGLES)), strict=True) if half < math.pi / 2]
)


def random_quaternions(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def scipy_rotation(q: np.ndarray) -> Rotation:
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


def relative_error(computed: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(computed - expected).max(axis=-1) / np.abs(expected).max(axis=-1)))


@st.composite
def rotation_vectors(draw: st.DrawFn) -> np.ndarray:
    """Batches of rotation vectors not longer than pi, most of them of hard lengths."""
    shape = draw(st.sampled_from(SHAPES))
    hard = st.sampled_from([0.0, *(2.0 * half for half in HALF_ANGLES if half < math.pi / 2)])
    angles = [draw(hard | st.floats(0.0, math.pi)) for _ in range(math.prod(shape))]
    axes = np.random.default_rng(draw(st.integers(0, 2**32 - 1))).normal(size=(*shape, 3))
    return np.array(angles).reshape(*shape, 1) * axes / np.linalg.norm(axes, axis=-1, keepdims=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_agrees_with_scipy(shape: tuple[int, ...]) -> None:
    p, q = random_quaternions(shape, 1), random_quaternions(shape, 2)
    v = np.random.default_rng(3).normal(size=(*shape, 3))
    peer_p, peer_q = (scipy_rotation(x.reshape(-1, 4)) for x in (p, q))
    R, tolerance = rotation_from_quaternion(q), {"rtol": 0.0, "atol": 8 * EPS}
    np.testing.assert_allclose(R.reshape(-1, 3, 3), peer_q.as_matrix(), **tolerance)
    np.testing.assert_allclose(
        quaternion_from_rotation(R).reshape(-1, 4), np.roll(peer_q.as_quat(canonical=True), 1, axis=-1), **tolerance
    )
    np.testing.assert_allclose(rotate_by_quaternion(q, v).reshape(-1, 3), peer_q.apply(v.reshape(-1, 3)), **tolerance)
    np.testing.assert_allclose(rotation_vector_from_quaternion(q).reshape(-1, 3), peer_q.as_rotvec(), **tolerance)
    np.testing.assert_allclose(quaternion_angle(q).reshape(-1), peer_q.magnitude(), **tolerance)
    between = (peer_p.inv() * peer_q).magnitude()
    np.testing.assert_allclose(angle_between_quaternions(p, q).reshape(-1), between, **tolerance)


@given(rotation_vectors(), rotation_vectors())
@settings(max_examples=60)
def test_products_of_quaternions_are_products_of_rotations(a: np.ndarray, b: np.ndarray) -> None:
    if a.shape != b.shape:
        b = np.broadcast_to(b.reshape(-1, 3)[0], a.shape)
    p, q = quaternion_from_rotation_vector(a), quaternion_from_rotation_vector(b)
    R = rotation_from_quaternion(multiply_quaternions(p, q))
    product = rotation_from_quaternion(p) @ rotation_from_quaternion(q)
    np.testing.assert_allclose(R, product, rtol=0.0, atol=12 * EPS)
    np.testing.assert_allclose(np.swapaxes(R, -1, -2) @ R, np.broadcast_to(np.eye(3), R.shape), rtol=0.0, atol=12 * EPS)
    turned = rotate_by_quaternion(p, rotate_by_quaternion(q, [0.3, -0.4, 1.2]))
    np.testing.assert_allclose(turned, R @ [0.3, -0.4, 1.2], rtol=0.0, atol=12 * EPS)


def test_rotation_is_conjugation_to_sixty_digits() -> None:
    for q in random_quaternions((10,)):
        with mpmath.workdps(exact.DIGITS):
            expected = exact.rotation(precise(q)).astype(float)
        np.testing.assert_allclose(rotation_from_quaternion(q), expected, rtol=0.0, atol=4 * EPS)


@given(rotation_vectors())
@settings(max_examples=100)
def test_round_trips_through_matrices_and_vectors(vector: np.ndarray) -> None:
    q = quaternion_from_rotation_vector(vector)
    back = quaternion_from_rotation(rotation_from_quaternion(q))
    sign = np.sign((back * q).sum(axis=-1, keepdims=True))  # half a turn has two quaternions with w = 0
    np.testing.assert_allclose(sign * back, q, rtol=0.0, atol=4 * EPS)
    np.testing.assert_allclose(rotation_from_quaternion(back), exp_rotation(vector), rtol=0.0, atol=8 * EPS)
    np.testing.assert_allclose(np.linalg.norm(back, axis=-1), 1.0, rtol=2 * EPS)


def test_rotation_vectors_come_back_with_all_digits() -> None:
    for q in (quaternion_from_rotation_vector(VECTORS), -quaternion_from_rotation_vector(VECTORS)):
        assert relative_error(rotation_vector_from_quaternion(q), VECTORS) < 1e-15
        scaled = rotation_vector_from_quaternion(1e3 * q)
        assert relative_error(scaled, VECTORS) < 1e-15
    axis, angle = axis_angle_from_quaternion(quaternion_from_rotation_vector(VECTORS))
    assert relative_error(angle[:, None] * axis, VECTORS) < 1e-15


def test_matrices_keep_the_digits_of_small_and_near_half_turns() -> None:
    for vector in VECTORS:
        with mpmath.workdps(exact.DIGITS):
            q = exact.exponential(precise([0, *(vector / 2)]))
            R = exact.rotation(q).astype(float)
        expected = q.astype(float)
        assert relative_error(quaternion_from_rotation(R)[1:], expected[1:]) < 4 * EPS
        np.testing.assert_allclose(quaternion_from_rotation(R), expected, rtol=0.0, atol=4 * EPS)


@pytest.mark.parametrize("axis", np.eye(3))
def test_half_turns_about_coordinate_axes_are_exact(axis: np.ndarray) -> None:
    q = quaternion_from_rotation(2.0 * np.outer(axis, axis) - np.eye(3))
    np.testing.assert_array_equal(q, [0.0, *axis])
    np.testing.assert_array_equal(rotation_from_quaternion(-q), 2.0 * np.outer(axis, axis) - np.eye(3))


def test_half_turns_have_the_canonical_sign_and_the_axis_of_the_logarithm() -> None:
    axes = [[x, y, z] for x in (-2, 0, 1) for y in (-1, 0, 2) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]
    for axis in np.array(axes, dtype=float):
        R = 2.0 * np.outer(axis, axis) / (axis @ axis) - np.eye(3)
        q = quaternion_from_rotation(R)
        np.testing.assert_array_equal(q, canonical_quaternion(q))
        np.testing.assert_allclose(math.pi * q[1:], log_rotation(R), rtol=0.0, atol=8 * EPS)


def test_matrices_that_are_no_rotations_give_unit_quaternions() -> None:
    q = quaternion_from_rotation(np.random.default_rng(0).normal(size=(100, 3, 3)))
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, rtol=4 * EPS)


def test_axis_and_angle() -> None:
    np.testing.assert_array_equal(quaternion_from_axis_angle([0.0, 0.6, 0.8], 0.0), [1.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(quaternion_from_axis_angle([0.0, 0.6, 0.8], 2 * math.pi), [-1, 0, 0, 0], atol=2 * EPS)
    np.testing.assert_allclose(
        quaternion_from_axis_angle([0.0, 0.6, 0.8], math.pi / 3), [math.sqrt(0.75), 0.0, 0.3, 0.4], rtol=2 * EPS
    )
    for sign in (1.0, -1.0):
        axis, angle = axis_angle_from_quaternion([sign, 0.0, 0.0, 0.0])
        np.testing.assert_array_equal(np.abs(axis), [1.0, 0.0, 0.0])
        assert angle == 0.0
    q = random_quaternions((50,))
    of_matrix, of_quaternion = axis_angle_from_rotation(rotation_from_quaternion(q)), axis_angle_from_quaternion(q)
    np.testing.assert_allclose(of_quaternion.angle, of_matrix.angle, rtol=0.0, atol=8 * EPS)
    np.testing.assert_allclose(of_quaternion.axis, of_matrix.axis, rtol=0.0, atol=50 * EPS)


def test_angles_keep_all_digits() -> None:
    vectors = VECTORS[:-1]
    q = quaternion_from_rotation_vector(vectors)
    expected = [math.hypot(*(v * 2.0**600)) * 2.0**-600 if abs(v).max() < 1e-100 else math.hypot(*v) for v in vectors]
    np.testing.assert_allclose(quaternion_angle(q), expected, rtol=4 * EPS, atol=0.0)
    np.testing.assert_allclose(quaternion_angle(-q), expected, rtol=4 * EPS, atol=0.0)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_relative_quaternions_of_near_rotations_keep_all_digits(sign: float) -> None:
    q = random_quaternions((30,))
    step = 10.0 ** -np.linspace(1.0, 16.0, 30)[:, None] * np.random.default_rng(1).normal(size=(30, 4))
    near = (q + step) / np.linalg.norm(q + step, axis=-1, keepdims=True)
    with mpmath.workdps(exact.DIGITS):
        exact_relative = [
            exact.product(exact.inverse(precise(a)), precise(b)) for a, b in zip(q, sign * near, strict=True)
        ]
        angles = [float(2 * mpmath.atan2(mpmath.norm(list(r[1:])), abs(r[0]))) for r in exact_relative]
        expected = np.array(exact_relative).astype(float)
    computed = relative_quaternion(q, sign * near)
    np.testing.assert_allclose(computed, expected, rtol=0.0, atol=4 * EPS)
    moved = np.abs(expected[:, 1:]).max(axis=-1) > 0.0
    assert relative_error(computed[moved, 1:], expected[moved, 1:]) < 20 * EPS
    np.testing.assert_allclose(angle_between_quaternions(q, sign * near), angles, rtol=20 * EPS, atol=0.0)


def test_equal_and_opposite_quaternions_have_no_angle_between_them() -> None:
    q = random_quaternions((100,))
    np.testing.assert_array_equal(angle_between_quaternions(q, q), 0.0)
    np.testing.assert_array_equal(angle_between_quaternions(q, -q), 0.0)


@pytest.mark.parametrize("vector", [np.zeros(3), *VECTORS[::2], 1.5 * VECTORS[-1]])
def test_derivatives_of_rotation_vectors(vector: np.ndarray) -> None:
    expected = exact.partial_derivatives(lambda v: exact.exponential(np.array([0 * v[0], *(v / 2)])), vector)
    np.testing.assert_allclose(quaternion_from_rotation_vector.jacobian()(vector), expected, rtol=0.0, atol=1e-15)

    def shorter(q: np.ndarray) -> np.ndarray:
        return 2 * exact.logarithm(q if q[0] >= 0 else -q)[1:]

    q = quaternion_from_rotation_vector(vector)
    expected = exact.partial_derivatives(shorter, q)
    np.testing.assert_allclose(rotation_vector_from_quaternion.jacobian()(q), expected, rtol=0.0, atol=4e-15)


def test_derivatives_through_matrices() -> None:
    def by_matrix(vector: np.ndarray) -> np.ndarray:
        return quaternion_from_rotation(exp_rotation(vector))

    compiled = Function(trace(by_matrix, {"vector": (3,)}, name="by_matrix"))
    vectors = np.concatenate([np.zeros((1, 3)), VECTORS[:-1]])
    np.testing.assert_allclose(
        compiled.jacobian()(vectors), quaternion_from_rotation_vector.jacobian()(vectors), rtol=0.0, atol=8 * EPS
    )


def test_check_tells_the_sample_and_the_distance() -> None:
    q = random_quaternions((2, 3))
    q[1, 2] *= 1.25
    with pytest.raises(ArgumentError, match=r"q_ab is not a unit quaternion: sample \(1, 2\) of it is 0\.25 away"):
        rotation_from_quaternion(q, check=True)
    with pytest.raises(ArgumentError, match="R_ab is not a rotation matrix"):
        quaternion_from_rotation(1.1 * np.eye(3), check=True)
    with pytest.raises(ArgumentError, match="axis is not a unit vector"):
        quaternion_from_axis_angle([1.0, 1.0, 0.0], 1.0, check=True)
    q[1, 2] = np.nan
    assert np.isnan(rotation_from_quaternion(q, check=True)).sum() == 9


@pytest.mark.parametrize("entry", range(9))
def test_nan_in_a_matrix_reaches_the_whole_quaternion_of_its_sample(entry: int) -> None:
    R = rotation_from_quaternion(random_quaternions((40,)))
    expected = quaternion_from_rotation(R)
    R.reshape(40, 9)[::2, entry] = np.nan
    q = quaternion_from_rotation(R)
    assert np.isnan(q[::2]).all()
    np.testing.assert_array_equal(q[1::2], expected[1::2])


@pytest.mark.parametrize("position", range(4))
def test_nan_in_a_quaternion_reaches_all_of_its_sample(position: int) -> None:
    q = random_quaternions((5,))
    spoilt = q.copy()
    spoilt[2, position] = np.nan
    others = np.arange(5) != 2
    for function in (rotation_vector_from_quaternion, quaternion_angle, axis_angle_from_quaternion):
        before, after = (np.column_stack(x if isinstance(x, tuple) else (x,)) for x in (function(q), function(spoilt)))
        assert np.isnan(after[2]).all()
        np.testing.assert_array_equal(after[others], before[others])


def test_symbols_give_the_textbook_matrix() -> None:
    angle = sympy.Symbol("theta", real=True)
    q = quaternion_from_axis_angle(np.array([0, 0, 1], dtype=object), angle)
    R = rotation_from_quaternion(q)
    expected = [[sympy.cos(angle), -sympy.sin(angle), 0], [sympy.sin(angle), sympy.cos(angle), 0], [0, 0, 1]]
    assert sympy.simplify(sympy.Matrix(R) - sympy.Matrix(expected)) == sympy.zeros(3)
