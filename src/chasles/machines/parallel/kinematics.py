"""Leg lengths of a Stewart-Gough platform, their rates and accelerations, the Jacobian, and its singularities.

Leg i runs from the base joint a_i (base axes) to the platform joint b_i (platform axes). The platform's frame has the
pose T_base_platform = (R, p); its twist (omega, v) and the rate of that twist are world-aligned: v is the velocity of
the platform's origin, and all components are in base axes. Source: Merlet, Parallel Robots (2nd ed., 2006), chapters 3
and 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import sqrt
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, cross, rotation_of, translation_of


class JointCenters(NamedTuple):
    """Joint centres: `base` in base axes and `platform` in platform axes, both (6, 3), m."""

    base: Array
    platform: Array


class LegMotion(NamedTuple):
    """Motion of one leg, in base axes."""

    arm: Array
    """Vector (3,) from the platform's origin to the platform joint."""
    direction: Array
    """Unit vector (3,) from the base joint to the platform joint."""
    length: Real
    """Distance between the two joints."""
    rate: Real
    """Rate of the length."""
    acceleration: Real
    """Acceleration of the length."""
    joint_velocity: Array
    """Velocity (3,) of the platform joint."""
    joint_acceleration: Array
    """Acceleration (3,) of the platform joint."""


def leg_vectors(geometry: JointCenters, T_base_platform: Array) -> Array:
    """Vectors (6, 3) from the base joints to the platform joints, in base axes."""
    R, p = rotation_of(T_base_platform), translation_of(T_base_platform)
    return np.array([p + R @ b - a for a, b in zip(*geometry, strict=True)])


def leg_lengths(geometry: JointCenters, T_base_platform: Array) -> Array:
    """Distances (6,) between the joints of each leg."""
    return np.array([sqrt(d @ d) for d in leg_vectors(geometry, T_base_platform)])


def leg_motions(geometry: JointCenters, T_base_platform: Array, twist: Array, acceleration: Array) -> list[LegMotion]:
    """Motion of every leg for the platform's pose, twist (6,) and rate of the twist (6,).

    The derivatives of l² = d · d give l l' = d · d' and l l'' + l'² = d · d'' + d' · d'.
    """
    omega, v, omega_dot, v_dot = twist[:3], twist[3:], acceleration[:3], acceleration[3:]
    R = rotation_of(T_base_platform)
    motions = []
    for d, b in zip(leg_vectors(geometry, T_base_platform), geometry.platform, strict=True):
        r = R @ b
        swing = cross(omega, r)
        velocity = v + swing
        joint_acceleration = v_dot + cross(omega_dot, r) + cross(omega, swing)
        length = sqrt(d @ d)
        n = d / length
        rate = n @ velocity
        second = n @ joint_acceleration + (velocity @ velocity - rate * rate) / length
        motions.append(LegMotion(r, n, length, rate, second, velocity, joint_acceleration))
    return motions


def jacobian(geometry: JointCenters, T_base_platform: Array) -> Array:
    """Matrix (6, 6) from the twist of the platform to the rates of the legs: rows (r_i x n_i, n_i).

    Each row holds the Plücker coordinates of a leg's axis about the platform's origin, so forces of the legs make the
    wrench Jᵀ f about it.
    """
    R = rotation_of(T_base_platform)
    rows = []
    for d, b in zip(leg_vectors(geometry, T_base_platform), geometry.platform, strict=True):
        n = d / sqrt(d @ d)
        rows.append(np.concatenate([cross(R @ b, n), n]))
    return np.array(rows)


def leg_rates(geometry: JointCenters, T_base_platform: Array, twist: Array) -> Array:
    """Rates (6,) of the leg lengths."""
    return jacobian(geometry, T_base_platform) @ twist


def leg_accelerations(geometry: JointCenters, T_base_platform: Array, twist: Array, acceleration: Array) -> Array:
    """Accelerations (6,) of the leg lengths: J acceleration + J' twist."""
    return np.array([leg.acceleration for leg in leg_motions(geometry, T_base_platform, twist, acceleration)])


def out_of_reach(geometry: JointCenters, lengths: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether no pose can have leg lengths (..., 6), as the distances between pairs of joints prove, (...).

    From joint to joint of the base runs a chain of two legs and the platform: none of the four sides is longer than the
    other three together.
    """
    i, j = np.triu_indices(6, 1)
    between_base, between_platform = (np.linalg.norm(joints[i] - joints[j], axis=1) for joints in geometry)
    sides = np.stack(np.broadcast_arrays(lengths[..., i], lengths[..., j], between_base, between_platform), axis=-1)
    with np.errstate(invalid="ignore", over="ignore"):
        excess = 2.0 * sides.max(axis=-1) - sides.sum(axis=-1)
        return np.asarray(np.any(excess > 1e-12 * sides.sum(axis=-1), axis=-1))


class SingularityMeasure(NamedTuple):
    """Distance of poses from singular ones.

    The angular columns of the Jacobian are divided by the platform's size, which makes all elements dimensionless. At a
    singular pose the legs' axes are linearly dependent: a twist is free with all legs locked, and the platform cannot
    resist wrenches along it. Source: Merlet, Jacobian, manipulability, condition number, and accuracy of parallel
    robots, Journal of Mechanical Design 128 (2006).

    Attributes
    ----------
    dexterity
        Ratio of the smallest to the largest singular value of the dimensionless Jacobian, (...), from 0 (singular) to
        1.
    determinant
        Determinant of that Jacobian, (...); singular surfaces lie where its sign changes.
    free_twist
        World-aligned twist (..., 6), rad/s and m/s, that moves the legs least; free at a singular pose. It is of unit
        length once its angular part is multiplied by the platform's size.
    """

    dexterity: NDArray[np.float64]
    determinant: NDArray[np.float64]
    free_twist: NDArray[np.float64]


def singularity(jacobians: NDArray[np.float64], size: float) -> SingularityMeasure:
    """Measure for Jacobians (..., 6, 6) of a platform of a size; NaN where they are not finite."""
    units = np.array([size] * 3 + [1.0] * 3)
    J = jacobians / units
    finite = np.isfinite(J).all(axis=(-2, -1))
    J = np.where(finite[..., None, None], J, 0.0)
    _, values, right = np.linalg.svd(J)
    with np.errstate(invalid="ignore"):
        dexterity = np.where(finite, values[..., -1] / values[..., 0], np.nan)
    determinant = np.where(finite, np.linalg.det(J), np.nan)
    return SingularityMeasure(dexterity, determinant, np.where(finite[..., None], right[..., -1, :] / units, np.nan))
