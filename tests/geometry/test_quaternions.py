from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.geometry import exact_quaternions as exact
from tests.geometry.exact_poses import precise
from tests.geometry.exact_quaternions import HALF_ANGLES, directions
from tests.thinning import thinned

from chasles import geometry
from chasles.engine import Function, trace
from chasles.geometry import (
    canonical_quaternion,
    conjugate_quaternion,
    exp_quaternion,
    inverse_quaternion,
    log_quaternion,
    log_rotation,
    multiply_quaternions,
    normalize_quaternion,
    power_quaternion,
    rotation_from_quaternion,
)

EPS = np.finfo(float).eps
SHAPES = ((), (1,), (3, 1, 2))
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
#: Rotations by all hard angles as exponents (0, u θ/2).
HARD = np.concatenate(
    [np.zeros((len(HALF_ANGLES), 1)), np.array(HALF_ANGLES)[:, None] * directions(len(HALF_ANGLES))], axis=1
)


@st.composite
def unit_quaternions(draw: st.DrawFn) -> np.ndarray:
    """Batches of unit quaternions, most of them next to 1, to -1, or to half turns."""
    shape = draw(st.sampled_from(SHAPES))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    half_angles = [draw(st.sampled_from(HALF_ANGLES) | st.floats(0.0, math.pi)) for _ in range(math.prod(shape))]
    half_angles = np.array(half_angles).reshape(*shape, 1)
    axes = rng.normal(size=(*shape, 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    return np.concatenate([np.cos(half_angles), np.sin(half_angles) * axes], axis=-1)


def random_quaternions(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(*shape, 4))


def relative_error(computed: np.ndarray, expected: np.ndarray) -> float:
    """Largest error of a vector relative to its largest component, which may be tiny."""
    return float(np.max(np.abs(computed - expected).max(axis=-1) / np.abs(expected).max(axis=-1)))


def complex_matrix(q: np.ndarray) -> np.ndarray:
    """Quaternions as complex 2x2 matrices: another algebra with the same products."""
    w, x, y, z = np.moveaxis(np.asarray(q), -1, 0)
    return np.moveaxis(np.array([[w + 1j * x, y + 1j * z], [-y + 1j * z, w - 1j * x]]), (0, 1), (-2, -1))


def test_units_multiply_as_hamilton_carved_them() -> None:
    _, i, j, k = np.eye(4)
    minus_one = -IDENTITY
    for square in (multiply_quaternions(u, u) for u in (i, j, k)):
        np.testing.assert_array_equal(square, minus_one)
    np.testing.assert_array_equal(multiply_quaternions(multiply_quaternions(i, j), k), minus_one)
    np.testing.assert_array_equal(multiply_quaternions(j, i), -k)


@pytest.mark.parametrize("shape", SHAPES)
def test_product_is_that_of_complex_matrices(shape: tuple[int, ...]) -> None:
    p, q = random_quaternions(shape, 1), random_quaternions(shape, 2)
    expected = complex_matrix(p) @ complex_matrix(q)
    np.testing.assert_allclose(complex_matrix(multiply_quaternions(p, q)), expected, rtol=0.0, atol=20 * EPS)


@given(unit_quaternions(), st.integers(0, 100))
@settings(max_examples=60)
def test_group_axioms(p: np.ndarray, seed: int) -> None:
    shape = p.shape[:-1]
    q, r = (normalize_quaternion(random_quaternions(shape, seed + k)) for k in (0, 1))
    left = multiply_quaternions(multiply_quaternions(p, q), r)
    right = multiply_quaternions(p, multiply_quaternions(q, r))
    np.testing.assert_allclose(left, right, rtol=0.0, atol=8 * EPS)
    np.testing.assert_allclose(np.linalg.norm(left, axis=-1), 1.0, rtol=0.0, atol=8 * EPS)
    for inverse in (conjugate_quaternion(p), inverse_quaternion(p)):
        np.testing.assert_allclose(
            multiply_quaternions(inverse, p), np.broadcast_to(IDENTITY, p.shape), rtol=0.0, atol=8 * EPS
        )
    np.testing.assert_array_equal(multiply_quaternions(IDENTITY, p), p)
    np.testing.assert_array_equal(multiply_quaternions(p, IDENTITY), p)
    reversed_product = multiply_quaternions(conjugate_quaternion(q), conjugate_quaternion(p))
    np.testing.assert_allclose(
        conjugate_quaternion(multiply_quaternions(p, q)), reversed_product, rtol=0.0, atol=8 * EPS
    )


@pytest.mark.parametrize("length", [1e-100, 0.3, 1.0, 7.0, 1e100])
def test_inverse_of_any_length(length: float) -> None:
    q = length * random_quaternions((5,))
    expected = np.linalg.inv(complex_matrix(q))
    np.testing.assert_allclose(complex_matrix(inverse_quaternion(q)) * length, expected * length, rtol=1e-13)


@pytest.mark.parametrize("length", [5e-324, 1e-310, 1e-200, 1e-20, 1.0, 1e20, 1e200, 8e307])
def test_normalized_at_every_magnitude(length: float) -> None:
    q = length * np.array([[1.0, -1.0, 1.0, -1.0], [0.0, 0.0, -1.0, 0.0]])
    np.testing.assert_allclose(
        normalize_quaternion(q), [[0.5, -0.5, 0.5, -0.5], [0.0, 0.0, -1.0, 0.0]], rtol=2 * EPS, atol=0.0
    )


def test_null_quaternion_has_neither_inverse_nor_direction() -> None:
    assert np.isnan(inverse_quaternion(np.zeros(4))).all()
    assert np.isnan(normalize_quaternion(np.zeros(4))).all()
    np.testing.assert_array_equal(log_quaternion(np.zeros(4)), [-np.inf, np.nan, np.nan, np.nan])


@pytest.mark.parametrize(
    ("q", "canonical"),
    [
        ([-0.5, 0.5, 0.5, 0.5], [0.5, -0.5, -0.5, -0.5]),
        ([5e-324, -1.0, 0.0, 0.0], [5e-324, -1.0, 0.0, 0.0]),
        ([-5e-324, 1.0, 0.0, 0.0], [5e-324, -1.0, 0.0, 0.0]),
        ([0.0, 0.6, -0.8, 0.0], [0.0, -0.6, 0.8, 0.0]),
        ([-0.0, -0.6, 0.0, 0.8], [0.0, -0.6, 0.0, 0.8]),
        ([0.0, -0.8, 0.0, 0.6], [0.0, 0.8, 0.0, -0.6]),
    ],
)
def test_canonical_sign(q: list[float], canonical: list[float]) -> None:
    np.testing.assert_array_equal(canonical_quaternion(q), canonical)
    np.testing.assert_array_equal(canonical_quaternion(-np.array(q)), canonical)


def test_canonical_half_turns_have_the_axes_of_the_logarithm() -> None:
    axes = [[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) != (0, 0, 0)]
    for axis in np.array(axes, dtype=float):
        R = 2.0 * np.outer(axis, axis) / (axis @ axis) - np.eye(3)
        q = canonical_quaternion([0.0, *axis])
        assert q[1:] @ log_rotation(R) > 0.0


@pytest.mark.parametrize("scalar", [0.0, -1.3, 2.0])
def test_exponential_against_its_power_series(scalar: float) -> None:
    h = HARD + scalar * IDENTITY
    with mpmath.workdps(exact.DIGITS):
        expected = np.array([exact.exponential(precise(x)).astype(float) for x in h])
    np.testing.assert_allclose(exp_quaternion(h), expected, rtol=0.0, atol=3 * EPS * math.exp(scalar))
    less_than_a_turn = np.array(HALF_ANGLES) < 3.0
    assert relative_error(exp_quaternion(h)[less_than_a_turn, 1:], expected[less_than_a_turn, 1:]) < 8 * EPS


@pytest.mark.parametrize("length", [1.0, 1e-3, 40.0])
def test_logarithm_to_sixty_digits(length: float) -> None:
    with mpmath.workdps(exact.DIGITS):
        q = length * np.array([exact.exponential(precise(h)).astype(float) for h in HARD])
        expected = np.array([exact.logarithm(precise(x)).astype(float) for x in q])
    computed = log_quaternion(q)
    np.testing.assert_allclose(computed[:, 0], expected[:, 0], rtol=4 * EPS, atol=4 * EPS)
    assert relative_error(computed[:, 1:], expected[:, 1:]) < 8 * EPS


@pytest.mark.parametrize("scalar", [0.0, 0.7])
def test_logarithm_undoes_the_exponential(scalar: float) -> None:
    h = HARD[:-3] + scalar * IDENTITY  # near pi the quaternion itself no longer tells its direction
    back = log_quaternion(exp_quaternion(h))
    assert relative_error(back[:, 1:], h[:, 1:]) < 1e-14
    np.testing.assert_allclose(back[:, 0], scalar, rtol=0.0, atol=4 * EPS)


@given(unit_quaternions())
@settings(max_examples=60)
def test_exponential_undoes_the_logarithm(q: np.ndarray) -> None:
    np.testing.assert_allclose(exp_quaternion(log_quaternion(3.0 * q)), 3.0 * q, rtol=0.0, atol=30 * EPS)


@pytest.mark.parametrize(("number", "angle"), [(1.0, 0.0), (2.0, 0.0), (-1.0, math.pi), (-2.0, math.pi)])
def test_logarithm_of_real_numbers(number: float, angle: float) -> None:
    np.testing.assert_allclose(log_quaternion(number * IDENTITY), [math.log(abs(number)), angle, 0.0, 0.0], rtol=EPS)


def test_logarithm_tells_directions_next_to_minus_one() -> None:
    for tiny in (5e-324, 1e-300, 1e-160, 1e-17):
        q = np.array([-1.0, 0.0, tiny, 0.0])
        np.testing.assert_allclose(log_quaternion(q), [0.0, 0.0, math.pi, 0.0], rtol=EPS, atol=0.0)


@pytest.mark.parametrize("h", thinned([*HARD[HARD[:, 1:].any(axis=1)], np.zeros(4)], keep=4))
def test_derivatives_of_the_exponential(h: np.ndarray) -> None:
    expected = exact.partial_derivatives(exact.exponential, h)
    np.testing.assert_allclose(exp_quaternion.jacobian()(h), expected, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("h", [*HARD[:-3], np.zeros(4)])
def test_derivatives_of_the_logarithm(h: np.ndarray) -> None:
    q = exp_quaternion(h)
    expected = exact.partial_derivatives(exact.logarithm, q)
    np.testing.assert_allclose(log_quaternion.jacobian()(q), expected, rtol=0.0, atol=1e-14 * np.abs(expected).max())


@pytest.mark.parametrize("exponent", range(-3, 5))
def test_whole_powers_are_products(exponent: int) -> None:
    q = 1.2 * normalize_quaternion(random_quaternions((20,)))
    factor = q if exponent >= 0 else inverse_quaternion(q)
    expected = np.broadcast_to(IDENTITY, q.shape)
    for _ in range(abs(exponent)):
        expected = multiply_quaternions(expected, factor)
    np.testing.assert_allclose(power_quaternion(q, exponent), expected, rtol=0.0, atol=50 * EPS)


def test_powers_of_rotations_next_to_the_identity_keep_their_digits() -> None:
    for angle in (1e-300, 1e-160, 1e-20, 1e-9):
        power = power_quaternion([1.0, 0.0, angle, 0.0], 0.25)
        np.testing.assert_allclose(power, [1.0, 0.0, 0.25 * angle, 0.0], rtol=4 * EPS, atol=0.0)


@given(unit_quaternions(), st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
@settings(max_examples=60)
def test_exponents_add(q: np.ndarray, a: float, b: float) -> None:
    product = multiply_quaternions(power_quaternion(q, a), power_quaternion(q, b))
    np.testing.assert_allclose(power_quaternion(q, a + b), product, rtol=0.0, atol=40 * EPS)


def test_power_of_minus_one_turns_about_x() -> None:
    np.testing.assert_allclose(power_quaternion(-IDENTITY, 0.5), [0.0, 1.0, 0.0, 0.0], rtol=0.0, atol=EPS)


@pytest.mark.parametrize(
    "function",
    [exp_quaternion, inverse_quaternion, log_quaternion, normalize_quaternion],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("position", range(4))
def test_nan_reaches_all_of_its_sample(function: geometry.Batched[np.ndarray], position: int) -> None:
    q = random_quaternions((9,))
    expected = function(q)
    q[4, position] = np.nan
    result = function(q)
    others = np.arange(9) != 4
    np.testing.assert_array_equal(result[others], expected[others])
    assert np.isnan(result[4]).all()


def test_nan_reaches_the_sign() -> None:
    assert np.isnan(canonical_quaternion([np.nan, 0.5, 0.5, 0.5])).all()
    np.testing.assert_array_equal(canonical_quaternion([-0.5, np.nan, 0.5, 0.5]), [0.5, np.nan, -0.5, -0.5])


def test_nan_reaches_products_logarithms_and_powers() -> None:
    q = np.array([0.5, np.nan, 0.5, 0.5])
    for result in (multiply_quaternions(q, IDENTITY + 1.0), log_quaternion(q), power_quaternion(q, 0.5)):
        assert np.isnan(result).all()


def test_batches_broadcast_and_fill_given_arrays() -> None:
    p, q = random_quaternions((3, 1)), random_quaternions((2,))
    out = np.empty((3, 2, 4))
    assert multiply_quaternions(p, q, out=out) is out
    expected = [[exact.product(a, b) for b in q] for a in p[:, 0]]
    np.testing.assert_allclose(out, expected, rtol=0.0, atol=20 * EPS)
    with pytest.raises(ValueError, match="multiply_quaternions"):
        multiply_quaternions(np.zeros(3), q)


def test_symbols_give_formulas() -> None:
    symbols = np.array(sympy.symbols("a:d"), dtype=object)
    norm = sympy.expand((multiply_quaternions(symbols, conjugate_quaternion(symbols)))[0])
    assert norm == sum(s**2 for s in symbols)
    half = sympy.Symbol("h", positive=True)
    cosine, sine, *_ = exp_quaternion(np.array([0, half, 0, 0], dtype=object))
    assert sympy.simplify(cosine - sympy.cos(half)) == 0
    assert sympy.simplify(sine - sympy.sin(half)) == 0


def test_traced_inside_other_functions() -> None:
    def double_turn(q: np.ndarray) -> np.ndarray:
        return rotation_from_quaternion(power_quaternion(q, 2.0))

    compiled = Function(trace(double_turn, {"q": (4,)}, name="double_turn"))
    q = normalize_quaternion(random_quaternions((4,)))
    R = rotation_from_quaternion(q)
    np.testing.assert_allclose(compiled(q), R @ R, rtol=0.0, atol=20 * EPS)
