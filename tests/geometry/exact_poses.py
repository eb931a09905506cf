"""Exponentials of twists, left Jacobians and their derivatives to 60 digits, from their power series alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import mpmath
import numpy as np

DIGITS = 60
ANGLES = (
    0.0, 1e-300, 1e-200, 1e-160, 1e-155, 1e-100, 1e-16, 1e-12, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 1.5, 1.999,
    2.001, 2.5, 3.0, 3.14, math.pi - 1e-4, math.pi - 1e-6, math.pi - 1e-8, math.pi - 1e-10, math.pi - 1e-12,
)  # fmt: skip


def hard_twists(seed: int = 0, translation: float = 1.0) -> np.ndarray:
    """One twist for each of the angles, about random axes and, every fifth, about coordinate axes in turn."""
    rng = np.random.default_rng(seed)
    axes = rng.normal(size=(len(ANGLES), 3))
    axes[::5] = np.eye(3)[np.arange(len(axes[::5])) % 3] * rng.choice([-1.0, 1.0], size=(len(axes[::5]), 1))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    return np.concatenate([np.array(ANGLES)[:, None] * axes, translation * rng.normal(size=(len(ANGLES), 3))], axis=1)


def precise(array: Sequence) -> np.ndarray:
    """Array of mpmath's numbers."""
    return np.frompyfunc(mpmath.mpf, 1, 1)(np.asarray(array, dtype=object))


def hat(twist: Sequence) -> np.ndarray:
    """Matrix (4, 4) of a twist, in the type of its components."""
    x, y, z, *v = twist
    return np.array([[0 * x, -z, y, v[0]], [z, 0 * x, -x, v[1]], [-y, x, 0 * x, v[2]], [0 * x] * 4])


def ad(twist: Sequence) -> np.ndarray:
    """Matrix (6, 6) of the Lie bracket with a twist."""
    turning, moving = hat(twist)[:3, :3], hat([*twist[3:], *twist[3:]])[:3, :3]
    return np.block([[turning, 0 * turning], [moving, turning]])


def exponential(X: np.ndarray) -> np.ndarray:
    """Exponential of a matrix of mpmath's numbers."""
    return _series(X, [], 0)[0]


def exact_pose(twist: np.ndarray) -> np.ndarray:
    """Pose (4, 4)."""
    with mpmath.workdps(DIGITS):
        return exponential(hat(precise(twist))).astype(float)


def exact_pose_derivatives(twist: np.ndarray) -> np.ndarray:
    """Derivatives (4, 4, 6) of the pose to the components of the twist."""
    with mpmath.workdps(DIGITS):
        _, derivatives = _series(hat(precise(twist)), [hat(precise(e)) for e in np.eye(6)], 0)
        return np.stack(derivatives, axis=-1).astype(float)


def exact_left_jacobian(twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Left Jacobian (6, 6) and its derivatives (6, 6, 6) to the components of the twist."""
    J, derivatives = _precise_left_jacobian(twist)
    return J.astype(float), np.stack(derivatives, axis=-1).astype(float)


def exact_inverse_left_jacobian(twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse (6, 6) of the left Jacobian and its derivatives (6, 6, 6) to the components of the twist."""
    J, derivatives = _precise_left_jacobian(twist)
    with mpmath.workdps(DIGITS):
        inverse = np.array(mpmath.inverse(mpmath.matrix(J.tolist())).tolist())
        return inverse.astype(float), np.stack([-inverse @ d @ inverse for d in derivatives], axis=-1).astype(float)


def _precise_left_jacobian(twist: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    with mpmath.workdps(DIGITS):
        return _series(ad(precise(twist)), [ad(precise(e)) for e in np.eye(6)], 1)


def _series(X: np.ndarray, directions: Sequence[np.ndarray], shift: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Sum of X^n / (n + shift)! and its derivatives in some directions."""
    power = precise(np.eye(len(X))) / math.factorial(shift)
    total, rates, sums = power, [0 * power for _ in directions], [0 * power for _ in directions]
    n = shift
    while np.abs(power).max() > mpmath.mpf(10) ** (-mpmath.mp.dps - 5):
        n += 1
        rates = [(rate @ X + power @ D) / n for rate, D in zip(rates, directions, strict=True)]
        power = power @ X / n
        total, sums = total + power, [part + rate for part, rate in zip(sums, rates, strict=True)]
    return total, sums
