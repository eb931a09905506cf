"""Products, lengths and angles of vectors against NumPy, exact fractions and mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chasles.base.errors import ArgumentError
from chasles.geometry import angle_between, cross, dot, norm, normalize, skew, vee

SHAPES = [(), (1,), (3, 1, 2)]
SIZES = [5e-324, 1e-310, 1e-300, 1e-160, 1e-10, 1.0, 1e10, 1e160, 1e300]


def vectors(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(*shape, 3))


@pytest.mark.parametrize("shape", SHAPES)
def test_products_agree_with_numpy(shape):
    a, b = vectors(1, shape), vectors(2, shape)
    np.testing.assert_allclose(cross(a, b), np.cross(a, b), rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(dot(a, b), np.sum(a * b, axis=-1), rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(norm(a), np.linalg.norm(a, axis=-1), rtol=4e-16)
    np.testing.assert_allclose(normalize(a), a / np.linalg.norm(a, axis=-1, keepdims=True), rtol=4e-16)


@pytest.mark.parametrize("shape", SHAPES)
def test_skew_is_the_cross_product_and_vee_its_inverse(shape):
    a, b = vectors(1, shape), vectors(2, shape)
    S = skew(a)
    np.testing.assert_allclose((S @ b[..., None])[..., 0], np.cross(a, b), rtol=1e-15, atol=1e-16)
    assert np.array_equal(S, -np.swapaxes(S, -1, -2))
    assert np.array_equal(vee(S), a)


def test_vee_ignores_the_symmetric_part():
    A = np.random.default_rng(0).normal(size=(3, 3))
    np.testing.assert_allclose(vee(A + A.T + skew([1.0, 2.0, 3.0])), [1.0, 2.0, 3.0], rtol=1e-14)


def test_arguments_broadcast():
    assert cross(np.ones((4, 1, 3)), np.ones((5, 3))).shape == (4, 5, 3)
    assert angle_between(np.ones((4, 1, 3)), [1.0, 0.0, 0.0]).shape == (4, 1)


@pytest.mark.parametrize("size", SIZES)
def test_lengths_neither_overflow_nor_underflow(size):
    assert norm([0.0, -size, 0.0]) == size
    assert norm(size * np.array([2.0, 3.0, 6.0])) == pytest.approx(7.0 * size, rel=1e-15, abs=5e-324)
    assert np.array_equal(normalize([0.0, -size, 0.0]), [0.0, -1.0, 0.0])
    assert norm(normalize(size * np.array([2.0, -3.0, 6.0]))) == pytest.approx(1.0, rel=4e-16, abs=0.0)


@given(hnp.arrays(np.float64, 3, elements=st.floats(-1e300, 1e300)))
def test_length_of_any_vector(a):
    with mpmath.workdps(60):
        expected = float(mpmath.sqrt(mpmath.fsum(mpmath.mpf(float(x)) ** 2 for x in a)))
    assert norm(a) == pytest.approx(expected, rel=1e-15, abs=5e-324)


def test_null_and_infinite_vectors():
    assert norm(np.zeros(3)) == 0.0
    assert np.isnan(normalize(np.zeros(3))).all()
    assert norm([1.0, -np.inf, 0.0]) == np.inf
    assert angle_between(np.zeros(3), [1.0, 2.0, 3.0]) == 0.0


def test_derivative_of_the_length_is_the_direction_and_zero_where_there_is_none():
    a = np.array([[2.0, 3.0, 6.0], [2e-200, 3e-200, 6e-200], [2e200, 3e200, 6e200]])
    np.testing.assert_allclose(norm.jacobian()(a), np.tile([2 / 7, 3 / 7, 6 / 7], (3, 1)), rtol=1e-15)
    assert np.array_equal(norm.jacobian()(np.zeros(3)), np.zeros(3))
    assert np.array_equal(norm.specialize().vjp()(np.zeros(3), 1.0), np.zeros(3))


def test_derivative_of_the_direction_is_the_projection_over_the_length():
    a = np.array([2.0, 3.0, 6.0])
    n = a / 7.0
    np.testing.assert_allclose(normalize.jacobian()(a), (np.eye(3) - np.outer(n, n)) / 7.0, rtol=1e-14, atol=1e-17)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-160, 1e-20, 1e-8, 0.1, 1.0, 1.5, 3.0, np.pi - 1e-8, np.pi - 1e-15])
@pytest.mark.parametrize("size", [1e-5, 1.0, 1e200])
def test_angles_keep_all_digits_near_zero_and_near_pi(angle, size):
    a, b = size * np.array([1.0, 0.0, 0.0]), np.array([np.cos(angle), np.sin(angle), 0.0])
    with mpmath.workdps(60):
        expected = float(mpmath.atan2(mpmath.mpf(b[1]), mpmath.mpf(b[0])))
    assert angle_between(a, b) == pytest.approx(expected, rel=4e-16, abs=0.0)
    assert angle_between(b, a) == angle_between(a, b)
    assert angle_between(1e-200 * a, 1e-100 * b) == pytest.approx(expected, rel=4e-16, abs=1e-300)
    assert angle_between(-a, b) == pytest.approx(np.pi - expected, rel=4e-16, abs=2e-16)


def test_derivative_of_the_angle():
    a, b = np.array([1.0, 2.0, -0.5]), np.array([0.3, -1.0, 2.0])
    normal = np.cross(a, b) / np.linalg.norm(np.cross(a, b))
    # Turning b about the normal by dφ moves it by normal x b; stretching it does nothing.
    np.testing.assert_allclose(angle_between.jacobian(wrt="b")(a, b), np.cross(normal, b) / (b @ b), rtol=1e-14)
    assert np.array_equal(angle_between.jacobian(wrt="b")(a, 2.0 * a), np.zeros(3))


def test_nan_stays_in_its_sample():
    a = np.ones((3, 3))
    a[1, 0] = np.nan
    for function in (norm, normalize, lambda a: angle_between(a, [1.0, 0.0, 0.0]), lambda a: dot(a, a)):
        values = np.asarray(function(a)).reshape(3, -1)
        assert np.array_equal(np.isnan(values).all(axis=1), [False, True, False])
        assert np.array_equal(np.isnan(values).any(axis=1), [False, True, False])


def test_symbols_give_plain_formulas():
    x, y = sympy.symbols("x y", real=True)
    assert norm([x, y, 0]) == sympy.sqrt(x**2 + y**2)
    assert list(normalize([x, y, 0])) == [x / sympy.sqrt(x**2 + y**2), y / sympy.sqrt(x**2 + y**2), 0]
    assert angle_between([1, 0, 0], [x, y, 0]) == sympy.atan2(sympy.Abs(y), x)
    assert list(cross([x, 0, 0], [0, y, 0])) == [0, 0, x * y]


def test_wrong_shapes_are_refused_by_name():
    with pytest.raises(ValueError, match="norm"):
        norm([1.0, 2.0])
    with pytest.raises(ArgumentError, match=r"cross\(a, b\): b has shape \(2,\)"):
        cross([sympy.Symbol("x"), 0, 0], [1, 2])
