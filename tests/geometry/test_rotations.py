"""Rotations against the matrix exponential at 60 digits, SciPy, singular values and the axioms of a group."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.thinning import thinned

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    angle_between_rotations,
    axis_angle_from_rotation,
    compose_rotations,
    elementary,
    exp_rotation,
    inverse_rotation,
    log_rotation,
    project_rotation,
    random_rotation,
    relative_rotation,
    rotate,
    rotation_angle,
    rotation_distance,
    rotation_from_axis_angle,
    rotation_x,
    rotation_y,
    rotation_z,
    skew,
)

HARD_ANGLES = [0.0, 1e-300, 1e-160, 1e-100, 1e-20, 1e-8, 1e-4, 0.1, 1.0, 2.0, 2.999999, 3.000001, np.pi - 1e-6]
HARD_ANGLES += [np.pi - 1e-12]
LARGE_ANGLES = [np.pi, 4.0, 2 * np.pi - 1e-9, 2 * np.pi, 7.0, 100.0]
AXES = np.array(
    [[1, 0, 0], [0, -1, 0], [0, 0, 1], [0.6, 0, -0.8], [1, 1e-9, 0], [1e-20, 1, 0], [-2, 3, -6], [1, 1, 1], [1, 1, -1]]
)
AXES = AXES / np.linalg.norm(AXES, axis=1, keepdims=True)
SHAPES = [(), (1,), (3, 1, 2)]

directions = st.tuples(*[st.floats(-1.0, 1.0)] * 3).filter(lambda v: np.linalg.norm(v) > 1e-3)
angles = st.one_of(st.sampled_from([*HARD_ANGLES, np.pi]), st.floats(0.0, np.pi))


@st.composite
def rotation_vectors(draw: Any, shape: tuple[int, ...]) -> np.ndarray:
    count = int(np.prod(shape))
    axes = np.array(draw(st.lists(directions, min_size=count, max_size=count)))
    sizes = np.array(draw(st.lists(angles, min_size=count, max_size=count)))
    return (axes / np.linalg.norm(axes, axis=1, keepdims=True) * sizes[:, None]).reshape(*shape, 3)


def exact_skew(v: Any) -> Any:
    x, y, z = (mpmath.mpf(float(c)) for c in v)
    return mpmath.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def rounded(matrix: Any) -> np.ndarray:
    return np.array(matrix.tolist(), dtype=float)


def exact_exp(v: Any) -> np.ndarray:
    with mpmath.workdps(60):
        return rounded(mpmath.expm(exact_skew(v)))


def exact_derivative(v: Any, direction: Any) -> np.ndarray:
    """Derivative of the matrix exponential: a block of the exponential of a matrix of twice the size."""
    with mpmath.workdps(60):
        block = mpmath.zeros(6)
        block[:3, :3] = block[3:, 3:] = exact_skew(v)
        block[:3, 3:] = exact_skew(direction)
        return rounded(mpmath.expm(block)[:3, 3:])


def exact_inverse_right_jacobian(v: Any) -> np.ndarray:
    """Inverse of the sum of (-[v])^k / (k + 1)!, in which log_rotation changes along the group."""
    with mpmath.workdps(60):
        A, term, series = -exact_skew(v), mpmath.eye(3), mpmath.zeros(3)
        for k in range(80):
            series += term
            term = term * A / (k + 2)
        return rounded(series**-1)


def same_rotation_vector(a: np.ndarray, b: np.ndarray, tolerance: float) -> None:
    """Compare relative to the largest component; two opposite vectors of half a turn are the same."""
    error = np.abs(a - b).max()
    if np.linalg.norm(b) >= np.pi * (1.0 - 1e-15):
        error = min(error, np.abs(a + b).max())
    assert error <= tolerance * np.abs(b).max()


@pytest.mark.parametrize("angle", HARD_ANGLES + LARGE_ANGLES)
def test_exponential_at_every_angle(angle):
    for axis in AXES:
        R = exact_exp(angle * axis)
        np.testing.assert_allclose(exp_rotation(angle * axis), R, rtol=0.0, atol=1e-15 * max(1.0, angle))
        # Near the identity the small entries are as exact as the others.
        np.testing.assert_allclose(vee_of(exp_rotation(angle * axis)), vee_of(R), rtol=1e-15, atol=angle * 1e-15)


def vee_of(R: np.ndarray) -> np.ndarray:
    return np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])


@pytest.mark.parametrize("angle", thinned(HARD_ANGLES + LARGE_ANGLES, keep=4))
def test_derivatives_of_the_exponential_at_every_angle(angle):
    forward, reverse = exp_rotation.jacobian(), exp_rotation.specialize().vjp()
    for axis in AXES:
        v = angle * axis
        expected = np.stack([exact_derivative(v, e) for e in np.eye(3)], axis=-1)
        np.testing.assert_allclose(forward(v), expected, rtol=0.0, atol=1e-15 * max(1.0, angle))
        # One derivative for each entry of R, in both modes.
        adjoint = reverse(v, np.eye(9).reshape(9, 3, 3)).reshape(3, 3, 3)
        np.testing.assert_allclose(adjoint, forward(v), rtol=1e-14, atol=1e-15 * max(1.0, angle))


def test_second_derivatives_of_the_exponential_at_the_null_vector():
    # exp(v) = I + [v] + [v]²/2 + …
    expected = np.zeros((3, 3, 3, 3))
    E = skew(np.eye(3))
    for i in range(3):
        for j in range(3):
            expected[:, :, i, j] = 0.5 * (E[i] @ E[j] + E[j] @ E[i])
    assert np.array_equal(exp_rotation.jacobian().jacobian()(np.zeros(3)), expected)


@pytest.mark.parametrize("angle", HARD_ANGLES)
def test_logarithm_of_the_exact_rotation_at_every_angle(angle):
    for axis in AXES:
        same_rotation_vector(log_rotation(exact_exp(angle * axis)), angle * axis, 1e-15)


@pytest.mark.parametrize("angle", HARD_ANGLES)
def test_round_trip_at_every_angle(angle):
    v = angle * AXES
    for vector, back in zip(v, log_rotation(exp_rotation(v)), strict=True):
        same_rotation_vector(back, vector, 2e-15)


@pytest.mark.parametrize("angle", thinned([*HARD_ANGLES, np.pi], keep=4))
def test_derivatives_of_the_logarithm_along_the_group_at_every_angle(angle):
    forward, reverse = log_rotation.jacobian(), log_rotation.specialize().vjp()
    for axis in AXES:
        R = exact_exp(angle * axis)
        expected = exact_inverse_right_jacobian(log_rotation(R))
        turned = R @ skew(np.eye(3))  # d/dt R exp(t [w]) for each unit vector w
        np.testing.assert_allclose(np.einsum("kij,wij->kw", forward(R), turned), expected, rtol=0.0, atol=4e-15)
        np.testing.assert_allclose(reverse(R, np.eye(3)), forward(R), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("axis", AXES)
def test_half_a_turn_gives_the_vector_whose_largest_component_is_positive(axis):
    v = log_rotation(2.0 * np.outer(axis, axis) - np.eye(3))
    np.testing.assert_allclose(np.linalg.norm(v), np.pi, rtol=1e-15)
    np.testing.assert_allclose(np.abs(v @ axis), np.pi, rtol=1e-15)
    assert v[np.argmax(np.abs(v))] > 0.0 or len(set(np.abs(v).round(12))) < 3  # of equal ones, any


def test_no_angle_is_beyond_half_a_turn():
    """Rounding takes the length of the rotation vector of half a turn beyond pi, the angle of a rotation never."""
    axes = np.random.default_rng(12).normal(size=(5_000, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    R = 2.0 * axes[:, :, np.newaxis] * axes[:, np.newaxis] - np.eye(3)
    R_ab = exp_rotation(axes[::-1])
    angles = [rotation_angle(R), axis_angle_from_rotation(R).angle, angle_between_rotations(R_ab, R_ab @ R)]
    angles.append(rotation_angle(rotation_from_axis_angle(axes, np.pi)))
    for angle in angles:
        assert np.all(angle <= np.pi)
        np.testing.assert_allclose(angle, np.pi, rtol=1e-15)
    assert rotation_angle(R[0]) <= np.pi


@pytest.mark.parametrize("shape", SHAPES)
def test_agree_with_scipy(shape):
    v = np.random.default_rng(0).normal(size=(*shape, 3))
    theirs = Rotation.from_rotvec(v.reshape(-1, 3))
    R = exp_rotation(v)
    np.testing.assert_allclose(R.reshape(-1, 3, 3), theirs.as_matrix(), rtol=0.0, atol=2e-15)
    np.testing.assert_allclose(log_rotation(R).reshape(-1, 3), theirs.as_rotvec(), rtol=0.0, atol=4e-15)
    np.testing.assert_allclose(rotation_angle(R).ravel(), theirs.magnitude(), rtol=1e-14)
    p = np.random.default_rng(1).normal(size=3)
    np.testing.assert_allclose(rotate(R, p).reshape(-1, 3), theirs.apply(p), rtol=0.0, atol=4e-15)


@pytest.mark.parametrize("shape", thinned(SHAPES))
@given(data=st.data())
def test_rotations_are_a_group(shape, data):
    A, B, C = (exp_rotation(data.draw(rotation_vectors(shape))) for _ in range(3))
    identity = np.broadcast_to(np.eye(3), A.shape)
    same = lambda X, Y: np.testing.assert_allclose(X, Y, rtol=0.0, atol=4e-15)  # noqa: E731
    same(compose_rotations(compose_rotations(A, B), C), compose_rotations(A, compose_rotations(B, C)))
    same(compose_rotations(A, inverse_rotation(A)), identity)
    same(compose_rotations(A, identity), A)
    same(relative_rotation(A, compose_rotations(A, B)), B)
    same(np.linalg.det(A), np.ones(shape))
    same(rotate(A, rotate(B, C[..., 0])), compose_rotations(A, compose_rotations(B, C))[..., 0])


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_exponential_and_logarithm_are_inverse(shape, data):
    v = data.draw(rotation_vectors(shape))
    R = exp_rotation(v)
    np.testing.assert_allclose(exp_rotation(log_rotation(R)), R, rtol=0.0, atol=2e-15)
    for vector, back in zip(v.reshape(-1, 3), log_rotation(R).reshape(-1, 3), strict=True):
        same_rotation_vector(back, vector, 1e-14)
    np.testing.assert_allclose(exp_rotation(-v), inverse_rotation(R), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(compose_rotations(exp_rotation(0.5 * v), exp_rotation(0.5 * v)), R, rtol=0.0, atol=2e-15)


@pytest.mark.parametrize("angle", [*HARD_ANGLES, np.pi])
def test_axis_and_angle_at_every_angle(angle):
    for axis in AXES:
        R = rotation_from_axis_angle(axis, angle)
        np.testing.assert_allclose(R, exp_rotation(angle * axis), rtol=0.0, atol=2e-15)
        found = axis_angle_from_rotation(R)
        assert rotation_angle(R) == found.angle == pytest.approx(angle, rel=1e-14, abs=0.0)
        np.testing.assert_allclose(np.linalg.norm(found.axis), 1.0, rtol=4e-16)
        if angle > 0.0:
            sign = np.sign(found.axis @ axis) if angle > 3.14159 else 1.0
            np.testing.assert_allclose(sign * found.axis, axis, rtol=0.0, atol=4e-15)


def test_the_identity_has_the_angle_zero_and_the_x_axis():
    axis, angle = axis_angle_from_rotation(np.eye(3))
    assert np.array_equal(axis, [1.0, 0.0, 0.0])
    assert angle == 0.0
    for derivative in (rotation_angle.jacobian()(np.eye(3)), axis_angle_from_rotation.jacobian("angle")(np.eye(3))):
        assert np.array_equal(derivative, np.zeros((3, 3)))
    assert np.isfinite(axis_angle_from_rotation.jacobian("axis")(np.eye(3))).all()


@pytest.mark.parametrize("angle", [0.0, -1e-300, 0.3, np.pi / 2, -2.0, 10.0])
def test_elementary_rotations(angle):
    for ours, single, axis in zip((rotation_x, rotation_y, rotation_z), "xyz", np.eye(3), strict=True):
        expected = Rotation.from_euler(single, angle).as_matrix()
        np.testing.assert_allclose(ours(angle), expected, rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(ours(angle), exp_rotation(angle * axis), rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(ours(angle), getattr(elementary, f"rotation_{single}")(angle), rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("angle", HARD_ANGLES)
def test_angle_between_rotations(angle):
    for axis in AXES:
        step = rotation_from_axis_angle(axis, angle)
        assert angle_between_rotations(np.eye(3), step) == pytest.approx(angle, rel=2e-15, abs=0.0)
        R = exp_rotation([0.4, -1.0, 2.0])
        assert angle_between_rotations(R, R @ step) == pytest.approx(angle, rel=0.0, abs=2e-15)


def nearest_by_singular_values(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest rotation by NumPy's decomposition, and the relative gap on which its uncertainty depends."""
    U, s, Vt = np.linalg.svd(A)
    side = np.where(np.linalg.det(U @ Vt) < 0.0, -1.0, 1.0)
    U[..., 2] *= side[..., None]
    return U @ Vt, (s[..., 1] + side * s[..., 2]) / s[..., 0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1.0, 1e200, 1e307])
def test_projection_of_any_matrix(shape, size):
    unit = np.random.default_rng(0).normal(size=(*shape, 3, 3))
    unit = np.concatenate([unit[..., None, :, :], -unit[..., None, :, :]], axis=-3)  # both signs of the determinant
    A = size * unit
    expected, gap = nearest_by_singular_values(A / size)
    assert (gap > 0.01).all()
    tolerance = 1e-13 if size > 1e-300 else 1e-11  # subnormal numbers have fewer digits
    np.testing.assert_allclose(project_rotation(A), expected, rtol=0.0, atol=tolerance)


def with_singular_values(values: Any, seed: int) -> np.ndarray:
    left, right = random_rotation(seed, shape=(2, 50))
    return (left * np.asarray(values)) @ right.swapaxes(-1, -2)


@pytest.mark.parametrize("gap", [1e-1, 1e-3, 1e-5])
def test_projection_of_nearly_ambiguous_matrices_is_as_exact_as_can_be(gap):
    for values in ([1, gap, gap / 2], [1, gap, 0], [1, gap, -gap / 2], [1, 0.5 + gap, -0.5]):
        A = with_singular_values(values, seed=3)
        expected, _ = nearest_by_singular_values(A)
        np.testing.assert_allclose(project_rotation(A), expected, rtol=0.0, atol=1e-14 / gap)


@pytest.mark.parametrize(
    "values", [[0, 0, 0], [1, 0, 0], [1, 1e-12, 0], [2, 1, -1], [1, 1, -1], [2, 2, -2], [1, 1e-9, -1e-9]]
)
def test_projection_of_ambiguous_matrices_is_one_of_the_nearest(values):
    A = with_singular_values(values, seed=4)
    R = project_rotation(A)
    np.testing.assert_allclose(R @ R.swapaxes(-1, -2), np.broadcast_to(np.eye(3), R.shape), rtol=0.0, atol=3e-15)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, rtol=3e-15)
    # |A - R|² = |A|² + 3 - 2 tr(Rᵀ A), and the trace is at most the sum of the values.
    np.testing.assert_allclose(np.sum(R * A, axis=(-1, -2)), sum(values), rtol=0.0, atol=1e-11)


def test_projection_leaves_rotations_alone_and_the_null_matrix_gives_the_identity():
    R = np.concatenate([exp_rotation(angle * AXES) for angle in (0.0, 1e-8, 1.0, np.pi)])
    np.testing.assert_allclose(project_rotation(R), R, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(project_rotation(np.zeros((3, 3))), np.eye(3), rtol=0.0, atol=1e-15)


def test_derivative_of_the_projection():
    rng = np.random.default_rng(0)
    A = np.concatenate(
        [rng.normal(size=(20, 3, 3)), exp_rotation(np.pi * AXES), [np.eye(3), np.diag([2.0, 1.0, -0.5])]]
    )
    R = project_rotation(A)
    for matrix, rotation, derivative in zip(A, R, project_rotation.jacobian()(A), strict=True):
        S = rotation.T @ matrix  # symmetric; R changes by R [w] with (tr(S) I - S) w = vee(Rᵀ dA - dAᵀ R)
        for i, j in np.ndindex(3, 3):
            M = np.outer(rotation[i], np.eye(3)[j])
            w = np.linalg.solve(np.trace(S) * np.eye(3) - S, vee_of(M))
            np.testing.assert_allclose(derivative[:, :, i, j], rotation @ skew(w), rtol=1e-12, atol=1e-12)


def test_distance_from_the_rotations():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 3, 3))
    expected, _ = nearest_by_singular_values(A)
    np.testing.assert_allclose(rotation_distance(A), np.linalg.norm(A - expected, axis=(-1, -2)), rtol=1e-13)
    assert (rotation_distance(exp_rotation(rng.normal(size=(50, 3)))) < 4e-15).all()
    R = exp_rotation([1.0, 2.0, 3.0])
    for distance in (1e-14, 1e-9, 1e-3):
        assert rotation_distance(R + distance * R / np.sqrt(3.0)) == pytest.approx(distance, rel=1e-12, abs=1e-15)
    assert rotation_distance(-np.eye(3)) == pytest.approx(2.0, rel=1e-15, abs=0.0)  # from every half turn
    assert rotation_distance(np.zeros((3, 3))) == pytest.approx(np.sqrt(3.0), rel=1e-15, abs=0.0)
    assert rotation_distance(np.diag([1.0, np.inf, 1.0])) == np.inf


ONE_ARGUMENT = (log_rotation, rotation_angle, inverse_rotation, project_rotation, rotation_distance)


@pytest.mark.parametrize("function", ONE_ARGUMENT, ids=lambda f: f.__name__)
def test_nan_stays_in_its_sample(function):
    for i, j in np.ndindex(3, 3):
        R = np.tile(np.eye(3), (5, 1, 1))
        R[2, i, j] = np.nan
        is_nan = np.isnan(np.asarray(function(R)).reshape(5, -1))
        expected = is_nan[2].sum() == 1 if function is inverse_rotation else is_nan[2].all()
        assert expected
        assert not np.delete(is_nan, 2, axis=0).any()


def test_nan_in_a_rotation_vector_or_an_angle_stays_in_its_sample():
    v = np.ones((3, 3))
    v[1, 2] = np.nan
    assert np.array_equal(np.isnan(exp_rotation(v)).all(axis=(1, 2)), [False, True, False])
    assert np.array_equal(np.isnan(exp_rotation(v)).any(axis=(1, 2)), [False, True, False])
    R = rotation_from_axis_angle([0.0, 0.0, 1.0], [1.0, np.nan])
    assert np.array_equal(np.isnan(R).all(axis=(1, 2)), [False, True])


def test_symbols_give_the_closed_forms():
    t = sympy.Symbol("t", positive=True)
    c, s = sympy.cos(t), sympy.sin(t)
    expected = sympy.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    for R in (exp_rotation([0, 0, t]), rotation_z(t), rotation_from_axis_angle([0, 0, 1], t)):
        assert sympy.simplify(sympy.Matrix(R) - expected) == sympy.zeros(3)
    # The traced program of the same function holds the series, too, and agrees.
    x, y, z = sympy.symbols("rotation_vector:3", real=True)
    values = exp_rotation.to_sympy().subs({x: 0, y: 0, z: 0.3})
    np.testing.assert_allclose(np.array(values, dtype=float), rotation_z(0.3), rtol=0.0, atol=1e-15)


def test_no_formula_of_symbols_gives_the_nearest_rotation():
    entries = np.array(sympy.symbols("a:9")).reshape(3, 3)
    for function in (project_rotation, rotation_distance):
        with pytest.raises(ArgumentError, match="no formula of symbols"):
            function(entries)


def test_the_formulas_run_on_numbers_as_they_stand():
    v = np.array([0.3, -1.2, 0.7])
    np.testing.assert_allclose(exp_rotation.formula(v), exp_rotation(v), rtol=0.0, atol=1e-15)
    R = exp_rotation(v)
    for function in ONE_ARGUMENT:
        np.testing.assert_allclose(function.formula(R + 0.1), function(R + 0.1), rtol=0.0, atol=1e-14)


def test_symbols_give_a_logarithm_without_cases():
    t = sympy.Symbol("t", positive=True)
    n = [sympy.Rational(2, 7), sympy.Rational(3, 7), sympy.Rational(6, 7)]
    formula = sympy.Matrix(log_rotation(rotation_from_axis_angle(n, t)))
    assert not formula.has(sympy.Piecewise, sympy.Max, sympy.Min)
    for angle in (0.3, 3.0):
        values = np.array(formula.subs(t, angle).evalf(), dtype=float).ravel()
        np.testing.assert_allclose(values, angle * np.array([2.0, 3.0, 6.0]) / 7.0, rtol=1e-14)
    half = np.array(sympy.diag(-1, 1, -1).tolist(), dtype=object)  # half a turn about y: its row of w is null
    np.testing.assert_allclose(np.array(log_rotation(half), dtype=float), [0.0, np.pi, 0.0], atol=1e-15)


def test_axis_and_angle_of_symbols() -> None:
    t = sympy.Symbol("t", positive=True)
    axis, angle = axis_angle_from_rotation(rotation_y(t))
    found = [complex(x.subs(t, 0.7)) if hasattr(x, "subs") else x for x in (*axis, angle)]
    np.testing.assert_allclose(found, [0.0, 1.0, 0.0, 0.7], atol=1e-12)
