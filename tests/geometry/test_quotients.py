"""Quotients of angles: values and derivatives to rounding, wherever the angle is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest
import sympy

from chasles.engine import Function, trace
from chasles.geometry import quotients

EPSILON = np.finfo(float).eps
ORDERS = {"sine_quotient": 1, "cosine_quotient": 2, "third_quotient": 3, "fourth_quotient": 4, "fifth_quotient": 5}
NAMES = [*ORDERS, "inverse_quotient"]
CLOSED_FORMS = {
    "sine_quotient": lambda t: sympy.sin(t) / t,
    "cosine_quotient": lambda t: (1 - sympy.cos(t)) / t**2,
    "third_quotient": lambda t: (t - sympy.sin(t)) / t**3,
    "fourth_quotient": lambda t: (t**2 / 2 - 1 + sympy.cos(t)) / t**4,
    "fifth_quotient": lambda t: (t**3 / 6 - t + sympy.sin(t)) / t**5,
    "inverse_quotient": lambda t: (1 - t / 2 * sympy.cot(t / 2)) / t**2,
}
HARD = [0.0, 5e-324, 1e-300, 1e-30, 1e-16, 1e-8, 1e-3, 39.4]
SQUARED_ANGLES = np.concatenate(
    [HARD, np.linspace(0.1, 8.9, 30), np.linspace(8.98, 9.02, 9), np.linspace(9.2, 38.0, 30)]
)


@pytest.fixture(autouse=True)
def sixty_digits() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def compiled(name: str) -> Function:
    return Function(trace(getattr(quotients, name), {"s": ()}, name=name))


def stumpff(n: int, s: Any) -> Any:
    """Sum of (-s)^k / (2k + n)!, which is entire, as a hypergeometric function."""
    return mpmath.hyp1f2(1, mpmath.mpf(n + 1) / 2, mpmath.mpf(n + 2) / 2, -s / 4) / mpmath.factorial(n)


def inverse(s: Any) -> Any:
    """Sum of |B_2k| s^(k-1) / (2k)! near 0, by Bernoulli's numbers, and the closed form elsewhere."""
    if abs(s) < 0.05:
        terms = [abs(mpmath.bernoulli(2 * k)) / mpmath.factorial(2 * k) * s ** (k - 1) for k in range(1, 30)]
        return mpmath.fsum(terms)
    t = mpmath.sqrt(s)
    return (1 - t / 2 * mpmath.cot(t / 2)) / s


def exact(name: str) -> Callable[[Any], Any]:
    return partial(stumpff, ORDERS[name]) if name in ORDERS else inverse


def derivatives(function: Callable[[Any], Any], s: float, order: int) -> list[float]:
    return [float(mpmath.diff(function, mpmath.mpf(float(s)), k)) for k in range(order + 1)]


@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives_are_exact_to_rounding_at_every_angle(name):
    f = compiled(name)
    first, second = f.jacobian(), f.jacobian().jacobian()
    for s in SQUARED_ANGLES:
        expected = derivatives(exact(name), s, 3)
        for order, (function, ulps) in enumerate([(f, 4), (first, 20), (second, 300)]):
            # What a rounding error of the argument alone does, times a small factor.
            bound = ulps * EPSILON * (abs(expected[order]) + abs(s * expected[order + 1]))
            assert abs(function(s) - expected[order]) <= bound, (s, order)


@pytest.mark.parametrize("name", NAMES)
def test_reverse_mode_is_finite_and_right_at_zero(name):
    gradient = compiled(name).vjp()
    assert gradient(0.0, 1.0) == pytest.approx(derivatives(exact(name), 0.0, 1)[1], rel=1e-15, abs=0.0)
    assert gradient(1e300, 1.0) == pytest.approx(0.0, abs=1e-300)


@pytest.mark.parametrize("name", NAMES)
def test_symbols_get_the_closed_form(name):
    t = sympy.Symbol("t", positive=True)
    difference = getattr(quotients, name)(t**2) - CLOSED_FORMS[name](t)
    assert sympy.simplify(sympy.nsimplify(difference)) == 0


def test_inverse_quotient_grows_without_bound_towards_a_whole_turn():
    near = (2 * np.pi - 1e-6) ** 2
    assert compiled("inverse_quotient")(near) == pytest.approx(float(inverse(mpmath.mpf(near))), rel=1e-8, abs=0.0)


@pytest.mark.parametrize("name", NAMES)
def test_nan_stays_in_its_sample(name):
    values = compiled(name)([0.0, np.nan, 1.0, np.nan, 9.0])
    assert np.array_equal(np.isnan(values), [False, True, False, True, False])


def angle_quotient(opposite: Any, adjacent: Any) -> Any:
    return mpmath.atan2(opposite, adjacent) / opposite


def test_angle_quotient_from_zero_to_a_quarter_turn():
    f = Function(trace(quotients.angle_quotient, {"opposite_squared": (), "adjacent": ()}, name="angle_quotient"))
    for angle in [1e-150, 1e-20, 1e-8, 1e-3, 0.1, 0.5, 1.0, 1.3, 1.5, np.pi / 2 - 1e-12, np.pi / 2]:
        for length in (1e-3, 1.0, 7.0):
            opposite, adjacent = length * np.sin(angle), length * np.cos(angle)
            square = opposite**2
            expected = angle_quotient(mpmath.sqrt(mpmath.mpf(square)), mpmath.mpf(adjacent))
            assert abs(f(square, adjacent) - expected) <= 4 * EPSILON * abs(expected)


def test_angle_quotient_has_exact_derivatives_down_to_zero():
    f = Function(trace(quotients.angle_quotient, {"opposite_squared": (), "adjacent": ()}, name="angle_quotient"))
    for square in (1e-20, 1e-6, 0.1, 1.0, 30.0):
        for adjacent in (1e-12, 0.5, 2.0):
            if square / adjacent**2 < 1e-7:
                continue
            for wrt, moved in ((0, "opposite_squared"), (1, "adjacent")):
                order = (1 - wrt, wrt)
                expected = mpmath.diff(
                    lambda q, b: angle_quotient(mpmath.sqrt(q), b), (mpmath.mpf(square), mpmath.mpf(adjacent)), order
                )
                assert f.jacobian(wrt=moved)(square, adjacent) == pytest.approx(float(expected), rel=2e-14, abs=0.0)
    # atan(x) / x = 1 - x²/3 + …, so at 0 the quotient is 1/b - a² / (3 b³) + …
    assert f.vjp()(0.0, 2.0, 1.0) == pytest.approx((-1 / 24, -1 / 4), rel=1e-15, abs=0.0)


def test_angle_quotient_of_symbols():
    a, b = sympy.symbols("a b", positive=True)
    assert quotients.angle_quotient(a**2, b) == sympy.atan2(a, b) / a
