"""Limits of a Stewart platform's poses: leg lengths, joint angles, and collisions of legs."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.engine import acos, maximum, minimum, sqrt, where
from chasles.engine.program.scalar import Real, Verdict
from chasles.geometry.elementary import Array, rotation_of
from chasles.machines.parallel.kinematics import JointCenters, leg_vectors

_TINY = 1e-12


class PoseLimits(NamedTuple):
    """Limits of the poses of a platform.

    Attributes
    ----------
    legs
        Smallest and largest leg lengths, (6, 2), m.
    base_angle, platform_angle
        Largest angle between a leg and its direction at the home pose, seen from base and platform, rad.
    leg_diameter
        Diameter of the legs, m.
    base_directions, platform_directions
        Directions of the legs at the home pose, in base axes and in platform axes, (6, 3).
    base_normal, platform_normal
        Normals of the planes through the joints, on the side from which legs leave the base and towards which they
        pass the platform's joints, (3,).
    """

    legs: NDArray[np.float64]
    base_angle: float
    platform_angle: float
    leg_diameter: float
    base_directions: NDArray[np.float64]
    platform_directions: NDArray[np.float64]
    base_normal: NDArray[np.float64]
    platform_normal: NDArray[np.float64]


class Margins(NamedTuple):
    """Distances of poses from their limits, (...); negative beyond a limit.

    Attributes
    ----------
    leg
        Smallest distance of a leg length from its limits, m.
    base_joint, platform_joint
        Smallest distance of a joint angle from its limit, rad.
    clearance
        Smallest distance between the surfaces of two legs that share no joint, m.
    base_side, platform_side
        Smallest sine of the angle between a leg and the plane of the base's or the platform's joints; negative where a
        leg would pass through the base or the platform.
    """

    leg: Real
    base_joint: Real
    platform_joint: Real
    clearance: Real
    base_side: Real
    platform_side: Real


def make_limits(
    geometry: JointCenters,
    home: NDArray[np.float64],
    legs: NDArray[np.float64],
    angles: NDArray[np.float64],
    diameter: float,
) -> PoseLimits:
    """Limits with the directions of the legs at the home pose."""
    vectors = leg_vectors(geometry, home)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    seen_from_platform = directions @ rotation_of(home)
    return PoseLimits(
        legs, float(angles[0]), float(angles[1]), diameter, directions, seen_from_platform,
        _normal(geometry.base, directions), _normal(geometry.platform, seen_from_platform),
    )  # fmt: skip


def margins(geometry: JointCenters, limits: PoseLimits, T_base_platform: Array) -> Margins:
    """Distances of a pose from the limits."""
    R = rotation_of(T_base_platform)
    vectors = leg_vectors(geometry, T_base_platform)
    lengths = [sqrt(d @ d) for d in vectors]
    directions = [d / length for d, length in zip(vectors, lengths, strict=True)]
    of_legs = [
        side * (length - bound)
        for length, bounds in zip(lengths, limits.legs, strict=True)
        for side, bound in zip((1.0, -1.0), bounds, strict=True)
        if np.isfinite(bound)
    ]
    normals = [R.T @ n for n in directions]
    base_angles = [_angle(n, home) for n, home in zip(directions, limits.base_directions, strict=True)]
    platform_angles = [_angle(n, home) for n, home in zip(normals, limits.platform_directions, strict=True)]
    apart = [
        _segment_distance(geometry.base[i], vectors[i], geometry.base[j], vectors[j])
        for i, j in combinations(range(6), 2)
        if not any(np.array_equal(joints[i], joints[j]) for joints in geometry)
    ]
    return Margins(
        _least(of_legs),
        limits.base_angle + _least([-angle for angle in base_angles]),
        limits.platform_angle + _least([-angle for angle in platform_angles]),
        _least(apart) - limits.leg_diameter,
        _least([n @ limits.base_normal for n in directions]),
        _least([n @ limits.platform_normal for n in normals]),
    )


def _normal(joints: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Normal of the plane nearest to joints, on the side of the legs' mean direction."""
    normal = np.linalg.svd(joints - joints.mean(axis=0))[2][2]
    return np.asarray(normal if normal @ directions.sum(axis=0) >= 0.0 else -normal)


def _least(values: list[Any]) -> Real:
    """Smallest of some values; infinity of none."""
    least = values[0] if values else np.inf
    for value in values[1:]:
        least = minimum(least, value)
    return least


def _angle(a: Array, b: Array) -> Real:
    """Angle between two unit vectors."""
    return acos(minimum(maximum(a @ b, -1.0), 1.0))


def _segment_distance(p: Array, d: Array, q: Array, e: Array) -> Real:
    """Distance between the segments p + s d and q + t e, s and t from 0 to 1.

    Source: Ericson, Real-Time Collision Detection (2005), section 5.1.9.
    """
    r = p - q
    dd, ee, de, dr, er = d @ d, e @ e, d @ e, d @ r, e @ r
    determinant = dd * ee - de * de
    parallel = determinant <= _TINY * dd * ee
    s = where(parallel, 0.0, _unit((de * er - dr * ee) / where(parallel, 1.0, determinant)))
    t = (de * s + er) / ee
    s = where(t < 0.0, _unit(-dr / dd), where(t > 1.0, _unit((de - dr) / dd), s))
    between = r + s * d - _unit(t) * e
    return sqrt(between @ between)


def _unit(value: Real) -> Real:
    """The number from 0 to 1 that is nearest."""
    return minimum(maximum(value, 0.0), 1.0)


#: Sentences for the limits, in the order of `Margins`.
SENTENCES = (
    "a leg is too short or too long",
    "a base joint turns beyond its limit",
    "a platform joint turns beyond its limit",
    "two legs touch",
    "a leg passes through the base",
    "a leg passes through the platform",
)


class PoseCheck:
    """Result of a check of poses against the limits, with the leading axes of the poses.

    Attributes
    ----------
    margins
        `Margins` of the poses.
    """

    __slots__ = ("margins",)

    def __init__(self, margins: Margins) -> None:
        self.margins = margins

    @property
    def ok(self) -> Verdict:
        """Whether a pose respects all limits, (...); False for NaN."""
        verdict: Verdict = np.all([np.asarray(margin) >= 0.0 for margin in self.margins], axis=0)[()]
        return verdict

    @property
    def broken(self) -> NDArray[np.bool_]:
        """Flags of the violated limits, (6, ...), in the order of `Margins`."""
        return np.array([~(np.asarray(margin) >= 0.0) for margin in self.margins])

    def __str__(self) -> str:
        broken = self.broken.reshape(6, -1)
        poses = broken.shape[1]
        if not broken.any():
            return f"{poses} of {poses} poses keep all limits"
        counts = zip(SENTENCES, broken.sum(axis=1), strict=True)
        lines = [f"in {count} of {poses} poses {sentence}" for sentence, count in counts if count]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PoseCheck: {str(self).splitlines()[0]}>"
