"""Coefficients of splines piece by piece: cubic interpolation, Hermite's polynomials, and any B-spline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.trajectories.motion import Floats


def cubic_pieces(times: Floats, values: Floats, conditions: Any) -> Floats:
    """Coefficients (..., k - 1, 4, n) of the cubic spline through values (..., k, n), by `scipy.interpolate`.

    The conditions at the ends are SciPy's ``bc_type``.

    >>> cubic_pieces(np.array([0.0, 1.0]), np.array([[0.0], [1.0]]), "clamped")[0, :, 0]
    array([ 0.,  0.,  3., -2.])
    """
    from scipy.interpolate import CubicSpline

    with np.errstate(over="ignore", invalid="ignore"):  # PiecewisePolynomial refuses what is not finite
        powers = CubicSpline(times, np.moveaxis(values, -2, 0), bc_type=conditions).c[::-1]
    return np.moveaxis(powers, (1, 0), (-3, -2))


def polynomials_of(spline: Any) -> tuple[Floats, Floats]:
    """Return the knots, and coefficients (..., k, order + 1, n), of SciPy's B-spline with values of shape (..., n)."""
    order = spline.k
    knots = np.unique(spline.t[order : len(spline.t) - order])
    powers = [spline(knots[:-1], nu=power) / math.factorial(power) for power in range(order + 1)]
    return knots, np.moveaxis(np.stack(powers), (1, 0), (-3, -2))


def hermite_pieces(lengths: Floats, start: Sequence[Floats], end: Sequence[Floats]) -> Floats:
    """Coefficients (..., k, powers, n) of polynomials with given derivatives at both ends.

    Parameters
    ----------
    lengths
        Duration of each piece, (k,), s.
    start, end
        Position and velocity, and acceleration for quintic polynomials, each (..., k, n).

    Examples
    --------
    >>> rest = np.zeros((1, 1))
    >>> hermite_pieces(np.array([2.0]), [rest, rest], [rest + 1.0, rest])[0, :, 0]  # (3 x² - 2 x³) at x = t/2
    array([ 0.  ,  0.  ,  0.75, -0.25])
    """
    h = lengths[:, None]
    by_length = [[part * h**order for order, part in enumerate(side)] for side in (start, end)]
    hermite = _cubic_hermite if len(start) == 2 else _quintic_hermite
    powers = hermite(*by_length[0], *by_length[1])
    return np.stack([power / h**order for order, power in enumerate(powers)], axis=-2)


def _cubic_hermite(q0: Floats, v0: Floats, q1: Floats, v1: Floats) -> list[Floats]:
    """Powers of x from 0 to 1, given positions and derivatives by x at both ends."""
    way = q1 - q0
    return [q0, v0, 3.0 * way - 2.0 * v0 - v1, v0 + v1 - 2.0 * way]


def _quintic_hermite(q0: Floats, v0: Floats, a0: Floats, q1: Floats, v1: Floats, a1: Floats) -> list[Floats]:
    way = q1 - q0
    return [
        q0,
        v0,
        0.5 * a0,
        10.0 * way - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
        -15.0 * way + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
        6.0 * way - 3.0 * v0 - 3.0 * v1 - 0.5 * a0 + 0.5 * a1,
    ]
