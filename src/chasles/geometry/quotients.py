"""Quotients of an angle's sine and cosine by its powers, which rotations and their Jacobians are made of.

They are functions of the squared angle s = θ², smooth and finite everywhere, and exact at s = 0 in value and in all
derivatives: a Taylor polynomial up to θ = 3, the closed form beyond, where nothing cancels any more. The series

    c_n(s) = 1/n! - s/(n+2)! + s²/(n+4)! - …

are Stumpff's functions (K. Stumpff, Himmelsmechanik I, 1959), with c_n = 1/n! - s c_(n+2) and, useful for rates,
dc_n/ds = (n c_(n+2) - c_(n+1)) / 2. All functions here are plain formulas for numbers, arrays, traced scalars and
symbols; symbols of SymPy get the closed forms alone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

from chasles.engine import atan2, cos, sin, sqrt, where
from chasles.engine.program.scalar import Real
from chasles.engine.symbols import is_symbol

_LARGEST_OF_SERIES = 9.0
_TERMS = 14  # the first one left out is 2e-20 of the first at s = 9
_ARCTANGENT_TERMS = 13  # the first one left out is 2e-20 of the first at tan(π/16)²


def sine_quotient(s: Real) -> Real:
    """Return sin(θ) / θ for s = θ²."""
    return _joined(s, lambda s: 1.0 - s * _series(3, s), _far_sine_quotient)


def cosine_quotient(s: Real) -> Real:
    """Return (1 - cos(θ)) / θ² for s = θ²."""
    return _joined(s, lambda s: 0.5 - s * _series(4, s), _far_cosine_quotient)


def third_quotient(s: Real) -> Real:
    """Return (θ - sin(θ)) / θ³ for s = θ²."""
    return _joined(s, lambda s: _series(3, s), _far_third_quotient)


def fourth_quotient(s: Real) -> Real:
    """Return (θ²/2 - 1 + cos(θ)) / θ⁴ for s = θ²."""
    return _joined(s, lambda s: _series(4, s), lambda s: (0.5 - _far_cosine_quotient(s)) / s)


def fifth_quotient(s: Real) -> Real:
    """Return (θ³/6 - θ + sin(θ)) / θ⁵ for s = θ²."""
    return _joined(s, lambda s: _series(5, s), lambda s: (1.0 / 6.0 - _far_third_quotient(s)) / s)


def inverse_quotient(s: Real) -> Real:
    """Return (1 - θ/2 cot(θ/2)) / θ² for s = θ²; infinite where θ is a whole number of turns, except at 0."""
    return (third_quotient(s) - 2.0 * fourth_quotient(s)) / (2.0 * cosine_quotient(s))


def angle_quotient(opposite_squared: Real, adjacent: Real) -> Real:
    """Return φ / a for φ = atan2(a, b) in [0, π/2], given a² and b ≥ 0.

    The tangent of φ/8, three halvings away, is so small that a Taylor polynomial gives the angle. There is no case to
    tell apart, so values and derivatives are exact down to a = 0.
    """
    if is_symbol(opposite_squared) or is_symbol(adjacent):
        opposite = sqrt(opposite_squared)
        return atan2(opposite, adjacent) / opposite
    hypotenuse = sqrt(opposite_squared + adjacent * adjacent)
    to_half = hypotenuse + adjacent  # tan(φ/2) = a / to_half, and so on
    to_quarter = to_half + sqrt(2.0 * hypotenuse * to_half)
    to_eighth = to_quarter + sqrt(to_quarter * to_quarter + opposite_squared)
    inverse = 1.0 / to_eighth
    z = opposite_squared * (inverse * inverse)
    return 8.0 * inverse * _horner([1.0 / (2 * k + 1) for k in range(_ARCTANGENT_TERMS)], z)


def _joined(s: Real, near: Callable[[Any], Any], far: Callable[[Any], Any]) -> Real:
    if is_symbol(s):
        return far(s)
    small = s < _LARGEST_OF_SERIES
    return where(small, near(s), far(where(small, _LARGEST_OF_SERIES, s)))


def _series(n: int, s: Real) -> Real:
    return _horner([1.0 / factorial(2 * k + n) for k in range(_TERMS)], s)


def _horner(coefficients: list[float], s: Real) -> Real:
    """Return the sum of c_k (-s)^k."""
    result: Real = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient - s * result
    return result


def _far_sine_quotient(s: Real) -> Real:
    half = 0.5 * sqrt(s)
    return sin(half) / half * cos(half)


def _far_cosine_quotient(s: Real) -> Real:
    half = 0.5 * sqrt(s)
    quotient = sin(half) / half  # 1 - cos(θ) = 2 sin(θ/2)² keeps all digits near whole turns
    return 0.5 * quotient * quotient


def _far_third_quotient(s: Real) -> Real:
    return (1.0 - _far_sine_quotient(s)) / s
