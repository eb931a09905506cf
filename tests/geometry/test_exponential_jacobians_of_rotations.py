"""Jacobians of the exponential against its power series at 60 digits, and against the motions they describe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from tests.thinning import thinned

from chasles.geometry import (
    exp_rotation,
    inverse_left_jacobian_rotation,
    inverse_right_jacobian_rotation,
    left_jacobian_rotation,
    left_jacobian_rotation_rate,
    log_rotation,
    right_jacobian_rotation,
    right_jacobian_rotation_rate,
    vee,
)

ANGLES = [0.0, 1e-300, 1e-160, 1e-20, 1e-8, 1e-4, 0.1, 1.0, 2.0, 2.999999, 3.000001, np.pi - 1e-12, np.pi, 4.0, 6.0]
AXES = np.array([[0.0, 0.0, 1.0], [1.0, 1e-9, 0.0], [-2 / 7, 3 / 7, -6 / 7], [0.6, 0.0, -0.8]])
RATE = np.array([0.3, -1.1, 0.8])
SHAPES = [(), (1,), (3, 1, 2)]


@pytest.fixture(autouse=True)
def sixty_digits() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def exact_skew(v: Any) -> Any:
    x, y, z = v
    return mpmath.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def exact_left_jacobian(v: Any, v_rate: Any) -> tuple[Any, Any]:
    """Sum of [v]^k / (k + 1)! and its rate."""
    A, A_rate = exact_skew(v), exact_skew(v_rate)
    term, term_rate = mpmath.eye(3), mpmath.zeros(3)
    series, series_rate = mpmath.zeros(3), mpmath.zeros(3)
    for k in range(80):
        series += term
        series_rate += term_rate
        term, term_rate = term * A / (k + 2), (term_rate * A + term * A_rate) / (k + 2)
    return series, series_rate


def exactly(v: Any) -> list[Any]:
    return [mpmath.mpf(float(c)) for c in v]


def rounded(matrix: Any) -> np.ndarray:
    return np.array(matrix.tolist(), dtype=float)


@pytest.mark.parametrize("angle", thinned(ANGLES, keep=3))
def test_jacobians_are_exact_at_every_angle(angle):
    for v in angle * AXES:
        left, _ = exact_left_jacobian(exactly(v), exactly(RATE))
        inverse = rounded(left**-1)
        size = np.abs(inverse).max()  # large near a whole turn
        np.testing.assert_allclose(left_jacobian_rotation(v), rounded(left), rtol=0.0, atol=4e-16)
        np.testing.assert_allclose(right_jacobian_rotation(v), rounded(left).T, rtol=0.0, atol=4e-16)
        np.testing.assert_allclose(inverse_left_jacobian_rotation(v), inverse, rtol=0.0, atol=2e-15 * size**2)
        np.testing.assert_allclose(inverse_right_jacobian_rotation(v), inverse.T, rtol=0.0, atol=2e-15 * size**2)


@pytest.mark.parametrize("angle", thinned(ANGLES, keep=3))
def test_rates_are_exact_at_every_angle(angle):
    for v in angle * AXES:
        expected = rounded(exact_left_jacobian(exactly(v), exactly(RATE))[1])
        np.testing.assert_allclose(left_jacobian_rotation_rate(v, RATE), expected, rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(right_jacobian_rotation_rate(v, RATE), expected.T, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("angle", thinned(ANGLES, keep=3))
def test_the_engines_derivatives_are_the_rates(angle):
    for v in angle * AXES:
        for jacobian, rate in (
            (left_jacobian_rotation, left_jacobian_rotation_rate),
            (right_jacobian_rotation, right_jacobian_rotation_rate),
        ):
            derivative = jacobian.specialize().jvp()(v, RATE)
            np.testing.assert_allclose(derivative, rate(v, RATE), rtol=0.0, atol=2e-15)
        # d(J⁻¹) = -J⁻¹ dJ J⁻¹
        inverse = inverse_left_jacobian_rotation(v)
        derivative = inverse_left_jacobian_rotation.specialize().jvp()(v, RATE)
        expected = -inverse @ left_jacobian_rotation_rate(v, RATE) @ inverse
        np.testing.assert_allclose(derivative, expected, rtol=0.0, atol=1e-14 * np.abs(inverse).max() ** 2)


@pytest.mark.parametrize("angle", ANGLES)
def test_the_exponential_turns_with_the_angular_velocity_of_the_jacobian(angle):
    velocity = exp_rotation.specialize().jvp()
    for v in angle * AXES:
        R, R_rate = exp_rotation(v), velocity(v, RATE)
        np.testing.assert_allclose(vee(R_rate @ R.T), left_jacobian_rotation(v) @ RATE, rtol=0.0, atol=2e-15)
        np.testing.assert_allclose(vee(R.T @ R_rate), right_jacobian_rotation(v) @ RATE, rtol=0.0, atol=2e-15)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_relations_between_the_jacobians(shape, data):
    count = int(np.prod(shape))
    component = st.one_of(st.sampled_from([0.0, 1e-300, 1e-8, 1.0]), st.floats(-2.0, 2.0))
    v = np.array(data.draw(st.lists(component, min_size=3 * count, max_size=3 * count))).reshape(*shape, 3)
    left, right, R = left_jacobian_rotation(v), right_jacobian_rotation(v), exp_rotation(v)
    identity = np.broadcast_to(np.eye(3), R.shape)
    np.testing.assert_allclose(left, R @ right, rtol=0.0, atol=2e-15)
    np.testing.assert_allclose(inverse_left_jacobian_rotation(v) @ left, identity, rtol=0.0, atol=2e-14)
    np.testing.assert_allclose(inverse_right_jacobian_rotation(v) @ right, identity, rtol=0.0, atol=2e-14)
    # exp(v) = I + [v] J
    columns = np.cross(v[..., None], left, axisa=-2, axisb=-2, axisc=-2)
    np.testing.assert_allclose(R, identity + columns, rtol=0.0, atol=2e-15)


def test_first_order_expansions_of_the_logarithm():
    v, step = np.array([0.4, -0.9, 1.3]), 1e-6 * RATE
    ahead, behind = (log_rotation(exp_rotation(s * step) @ exp_rotation(v)) for s in (1.0, -1.0))
    np.testing.assert_allclose((ahead - behind) / 2e-6, inverse_left_jacobian_rotation(v) @ RATE, rtol=1e-9)
    ahead, behind = (log_rotation(exp_rotation(v) @ exp_rotation(s * step)) for s in (1.0, -1.0))
    np.testing.assert_allclose((ahead - behind) / 2e-6, inverse_right_jacobian_rotation(v) @ RATE, rtol=1e-9)


def test_nan_stays_in_its_sample():
    v = np.ones((3, 3))
    v[1, 2] = np.nan
    functions = [left_jacobian_rotation, right_jacobian_rotation]
    functions += [inverse_left_jacobian_rotation, inverse_right_jacobian_rotation]
    functions += [lambda v: left_jacobian_rotation_rate(v, RATE), lambda v: right_jacobian_rotation_rate(v, RATE)]
    for function in functions:
        assert np.array_equal(np.isnan(function(v)).all(axis=(1, 2)), [False, True, False])
        assert np.array_equal(np.isnan(function(v)).any(axis=(1, 2)), [False, True, False])


def test_symbols_give_the_closed_form():
    t = sympy.Symbol("t", positive=True)
    c, s = sympy.cos(t), sympy.sin(t)
    expected = sympy.Matrix([[s / t, -(1 - c) / t, 0], [(1 - c) / t, s / t, 0], [0, 0, 1]])
    assert sympy.simplify(sympy.Matrix(left_jacobian_rotation([0, 0, t])) - expected) == sympy.zeros(3)
