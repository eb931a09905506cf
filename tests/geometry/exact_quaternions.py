"""Quaternions, their curves and the derivatives of these to 60 digits and more, from definitions alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
from tests.geometry.exact_poses import precise

DIGITS = 60
#: Half angles of rotations, up to the whole sphere of unit quaternions.
HALF_ANGLES = (
    1e-300, 1e-200, 1e-160, 1e-155, 1e-100, 1e-30, 1e-16, 1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.5, 1.0, 1.5,
    math.pi / 2 - 1e-3, math.pi / 2 - 1e-8, math.pi / 2 - 1e-12, math.pi / 2, math.pi / 2 + 1e-12, 1.6, 1.99, 2.01, 2.5,
    3.0, math.pi - 1e-3, math.pi - 1e-8, math.pi - 1e-12,
)  # fmt: skip

#: Products of the units 1, i, j, k: sign and unit, from i² = j² = k² = i j k = -1.
_TABLE = (
    ((1, 0), (1, 1), (1, 2), (1, 3)),
    ((1, 1), (-1, 0), (1, 3), (-1, 2)),
    ((1, 2), (-1, 3), (-1, 0), (1, 1)),
    ((1, 3), (1, 2), (-1, 1), (-1, 0)),
)


def directions(count: int, seed: int = 0) -> np.ndarray:
    """Unit vectors: random ones, and every fifth a coordinate axis."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, 3))
    vectors[::5] = np.eye(3)[np.arange(len(vectors[::5])) % 3] * rng.choice([-1.0, 1.0], size=(len(vectors[::5]), 1))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def product(p: Sequence, q: Sequence) -> np.ndarray:
    result = np.array([0 * p[0]] * 4)
    for m, a in enumerate(p):
        for n, b in enumerate(q):
            sign, unit = _TABLE[m][n]
            result[unit] += sign * a * b
    return result


def inverse(q: Sequence) -> np.ndarray:
    w, x, y, z = q
    return np.array([w, -x, -y, -z]) / (w * w + x * x + y * y + z * z)


def unit(q: Sequence) -> np.ndarray:
    """Brought to unit length, which doubles have only to rounding."""
    q = precise(q)
    return q / mpmath.sqrt(q @ q)


def exponential(q: Sequence) -> np.ndarray:
    """Sum of q^n / n!."""
    power = total = precise([1, 0, 0, 0])
    n = 0
    while max(abs(power)) > mpmath.mpf(10) ** (-mpmath.mp.dps - 5):
        n += 1
        power = product(power, q) / n
        total = total + power
    return total


def logarithm(q: Sequence) -> np.ndarray:
    w, *v = q
    length = mpmath.sqrt(sum(x * x for x in v))
    scale = mpmath.atan2(length, w) / length if length else 0
    return np.array([mpmath.log(mpmath.sqrt(w * w + length * length)), *(scale * x for x in v)])


def slerp(q0: Sequence, q1: Sequence, s: Any) -> np.ndarray:
    return product(q0, exponential(s * logarithm(product(inverse(q0), q1))))


def squad(q0: Sequence, control0: Sequence, control1: Sequence, q1: Sequence, s: Any) -> np.ndarray:
    return slerp(slerp(q0, q1, s), slerp(control0, control1, s), 2 * s * (1 - s))


def rotation(q: Sequence) -> np.ndarray:
    """Columns are the vector parts of q i q⁻¹, q j q⁻¹, q k q⁻¹."""
    return np.array([product(product(q, unit), inverse(q))[1:] for unit in precise(np.eye(4)[1:])]).T


def derivatives(curve: Callable[[Any], np.ndarray], t: Any, h: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Value and first two derivatives by central differences, whose errors are about 1e-30 at 100 digits."""
    h = mpmath.mpf(10) ** -18 if h is None else h
    below, here, above = curve(t - h), curve(t), curve(t + h)
    return here, (above - below) / (2 * h), (above - 2 * here + below) / (h * h)


def turning(curve: Callable[[Any], np.ndarray], t: Any, h: Any = None) -> dict[str, np.ndarray]:
    """Derivatives of a curve of quaternions, and the angular velocity and acceleration of its rotation matrix."""
    with mpmath.workdps(100):
        t = mpmath.mpf(t)
        q, rate, acceleration = derivatives(curve, t, h)
        R, R_rate, R_acceleration = derivatives(lambda t: rotation(curve(t)), t, h)
        omega, alpha = R_rate @ R.T, R_acceleration @ R.T + R_rate @ R_rate.T
        parts = {
            "quaternion": q,
            "rate": rate,
            "acceleration": acceleration,
            "omega_space": _vee(omega),
            "omega_body": R.T @ _vee(omega),
            "alpha_space": _vee(alpha),
            "alpha_body": R.T @ _vee(alpha),
        }
        return {name: part.astype(float) for name, part in parts.items()}


def partial_derivatives(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    """Jacobian at x, a result of as many rows as the function's and a column for each component of x."""
    with mpmath.workdps(2 * DIGITS):
        x, h = precise(x), mpmath.mpf(10) ** -40 * max(1, max(abs(precise(x))))
        columns = [(function(x + h * e) - function(x - h * e)) / (2 * h) for e in precise(np.eye(len(x)))]
        return np.array(columns).T.astype(float)


def _vee(A: np.ndarray) -> np.ndarray:
    return np.array([A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]]) / 2
