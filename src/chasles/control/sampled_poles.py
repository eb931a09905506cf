"""Poles of a unit mass under a force that is held between samples: gains and weights that place them exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Complex = NDArray[np.complex128]


def error_poles(frequency: float, damping: float, integral: float = 0.0) -> Complex:
    """Return the roots of (s² + 2 ζ ω s + ω²)(s + κ ω), without the last factor for κ = 0, in 1/s.

    Examples
    --------
    >>> error_poles(10.0, 0.8, 0.5).real.tolist()
    [-8.0, -8.0, -5.0]
    """
    turn = np.sqrt(complex(damping**2 - 1.0))
    pair = [-(damping - turn) * frequency, -(damping + turn) * frequency]
    return np.array([*pair, -integral * frequency] if integral else pair, dtype=np.complex128)


def held_gains(poles: Complex, period: float) -> Floats:
    """Return the feedback of a unit mass whose sampled loop has poles exp(s h).

    The force u = -(k_q q + k_v q̇ + k_z z) is held for a period h, and z[k+1] = z[k] + h q[k]. In the variable w = z - 1
    the loop's polynomial is w³ + (k_q h²/2 + k_v h) w² + (k_q h² + k_z h³/2) w + k_z h³.

    Source: Åström and Wittenmark, Computer-Controlled Systems (3rd ed., 1997), section 4.3, pole placement.

    Parameters
    ----------
    poles
        Poles s, 1/s: two, or three with integral action; complex ones in pairs.
    period
        h, s.

    Returns
    -------
    array
        k_q in 1/s², k_v in 1/s and, for three poles, k_z in 1/s³.

    Examples
    --------
    As the period goes to zero, (s + 10)³ = s³ + 30 s² + 300 s + 1000:

    >>> held_gains(np.array([-10.0, -10.0, -10.0]), 1e-6).round(1)
    array([ 300.,   30., 1000.])
    """
    polynomial = np.poly(np.expm1(np.asarray(poles) * period)).real
    w_2, w_1, w_0 = polynomial[1:] if len(poles) == 3 else (*polynomial[1:], 0.0)
    position = (w_1 - 0.5 * w_0) / period**2
    velocity = (w_2 - 0.5 * position * period**2) / period
    return np.array([position, velocity, w_0 / period**3][: len(poles)])


def held_weights(poles: Complex, period: float) -> Floats:
    """Return the weights of q, q̇ and z, for a weight 1 of u, under which `held_gains` are optimal.

    For a force held over a period h the return difference of the regulator says
    Π (g + x) = x³ + N(x), with x = |exp(jθ) - 1|², g = 4 sinh²(s h/2) for each pole s, and the numerator N of the
    weighted states: q_q h⁴ x (1 - x/4) + q_v h² x² + q_z h⁶ (1 - x/4). Its coefficients are compared. For real poles
    all weights are positive at every period; as h goes to zero, they are those of continuous time.

    Source: Anderson and Moore, Optimal Control: Linear Quadratic Methods (1990), section 5.6 and appendix B, inverse
    problem and return difference, here for the pulse-transfer functions of a held force.

    Parameters
    ----------
    poles, period
        As for `held_gains`; pairs of complex poles are damped by 1/√2 at least.

    Examples
    --------
    >>> held_weights(np.array([-10.0, -10.0]), 1e-6).round(3)
    array([10000.,   200.])
    """
    growth = 4.0 * np.sinh(0.5 * np.asarray(poles, dtype=np.complex128) * period) ** 2
    coefficients = np.poly(-growth).real  # x³ + e₁ x² + e₂ x + e₃, or x² + e₁ x + e₂
    e_1, e_2, e_3 = coefficients[1:] if len(poles) == 3 else (*coefficients[1:], 0.0)
    position = e_2 + 0.25 * e_3
    weights = np.array([position / period**4, (e_1 + 0.25 * position) / period**2, e_3 / period**6])
    return np.asarray(np.maximum(weights, 0.0)[: len(poles)])
