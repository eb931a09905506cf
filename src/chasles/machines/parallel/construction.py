"""Data of a Stewart platform, checked and completed: joints, legs, masses, home pose, axes and limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, ArgumentTypeError
from chasles.engine.validators import reals
from chasles.geometry.elementary import pose, rotation_of
from chasles.geometry.projections import pose_distance
from chasles.machines.parallel.kinematics import JointCenters, leg_vectors
from chasles.machines.parallel.legs import Leg
from chasles.model.numbers import LARGEST_NUMBER

#: Joints closer than this, relative to the size of their body, are one point; shorter legs have no length.
_COINCIDENT = 1e-9
_ROTATION_TOLERANCE = 1e-6
#: Sine of the angle between a leg and an axis below which they are parallel.
_PARALLEL = 1e-3

Doubles = NDArray[np.float64]


def frozen(values: ArrayLike) -> Doubles:
    """Return an array of doubles that cannot be written."""
    array = np.asarray(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def bounded(values: ArrayLike, name: str, shape: tuple[int, ...] | None = None) -> Doubles:
    """Return values of a platform, checked against the bound of a robot's, so that results stay finite."""
    return reals(values, name, shape, at_least=-LARGEST_NUMBER, at_most=LARGEST_NUMBER)


def radius(joints: Doubles) -> float:
    """Mean distance of points (n, 3) from their centroid."""
    return float(np.linalg.norm(joints - joints.mean(axis=0), axis=1).mean())


def distinct_points(joints: Doubles) -> int:
    """Number of different points among joints (6, 3)."""
    return len(np.unique(np.round(joints / (_COINCIDENT * radius(joints))), axis=0))


def require_distinct_joints(geometry: JointCenters) -> None:
    """Raise `ArgumentError` if joints of a body do not span a triangle, or two legs are the same."""
    for joints, of_body in zip(geometry, ("base", "platform"), strict=True):
        spread = np.linalg.svd(joints - joints.mean(axis=0), compute_uv=False)
        if not spread[1] > _COINCIDENT * spread[0]:
            shape = "on a line" if spread[0] > _COINCIDENT * np.abs(joints).max() else "in one point"
            raise ArgumentError(
                f"{of_body}: all joints lie {shape}, so the legs cannot hold the platform; give at least three joints "
                "that span a triangle"
            )
    near_base, near_platform = (
        np.linalg.norm(joints[:, None] - joints, axis=-1) <= _COINCIDENT * radius(joints) for joints in geometry
    )
    for i, j in np.argwhere(np.triu(near_base & near_platform, 1)):
        raise ArgumentError(
            f"legs {i} and {j} connect the same two points, base {geometry.base[i]} and platform "
            f"{geometry.platform[i]}; six different legs are needed"
        )


def six_legs(legs: Leg | Sequence[Leg]) -> tuple[Leg, ...]:
    """Return one leg for all, or six."""
    six = (legs,) * 6 if isinstance(legs, Leg) else tuple(legs)
    if len(six) != 6:
        raise ArgumentError(f"legs has {len(six)} legs; give one Leg for all, or six")
    for leg in six:
        if not isinstance(leg, Leg):
            raise ArgumentTypeError(f"legs must hold Leg objects, not {type(leg).__name__}")
    return six


def rotational_inertia(inertia: ArrayLike) -> Doubles:
    """Return a rotational inertia (3, 3), given whole or by its diagonal."""
    values = bounded(inertia, "inertia")
    matrix = np.diag(values) if values.shape == (3,) else bounded(values, "inertia", (3, 3))
    largest = np.abs(matrix).max(initial=0.0)
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-12 * largest):
        raise ArgumentError("inertia is not symmetric; give the full matrix about the centre of mass")
    least = np.linalg.eigvalsh(matrix)[0]
    if least < -1e-12 * largest:
        raise ArgumentError(f"inertia has the negative principal moment {least:g} kg·m²")
    return matrix


def home_pose(geometry: JointCenters, home: ArrayLike | None) -> Doubles:
    """Return the home pose: as given, or parallel to the base and above it by the base's radius."""
    if home is None:
        height = np.array([0.0, 0.0, radius(geometry.base)])
        T = pose(np.eye(3), geometry.base.mean(axis=0) + height - geometry.platform.mean(axis=0))
    else:
        T = bounded(home, "home", (4, 4))
        distance = float(pose_distance(T))
        if not distance <= _ROTATION_TOLERANCE:
            raise ArgumentError(f"home is not a pose: it is {distance:.3g} away from one")
    lengths = np.linalg.norm(leg_vectors(geometry, T), axis=1)
    if not np.all(lengths > _COINCIDENT * radius(geometry.platform)):
        raise ArgumentError(f"leg {int(np.argmin(lengths))} has no length at the home pose; give another home=")
    return np.asarray(T)


def universal_axes(geometry: JointCenters, home: Doubles, architecture: str, axes: ArrayLike | None) -> Doubles:
    """Return the first axes (6, 3) of the universal joints, unit vectors in base axes, or in platform axes (SPU).

    The default is perpendicular to the leg at home and to the normal of the plane through the joints.
    """
    legs, joints = leg_vectors(geometry, home), geometry.base
    if architecture == "SPU":
        legs, joints = legs @ rotation_of(home), geometry.platform
    directions = legs / np.linalg.norm(legs, axis=1, keepdims=True)
    if axes is None:
        longest, _, normal = np.linalg.svd(joints - joints.mean(axis=0))[2]
        across = np.cross(normal, directions)
        along_normal = np.linalg.norm(across, axis=1) < _PARALLEL
        across[along_normal] = np.cross(longest, directions[along_normal])
        return np.asarray(across / np.linalg.norm(across, axis=1, keepdims=True))
    vectors = reals(axes, "axes", (6, 3))
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(lengths > 0.0):
        raise ArgumentError(f"axes[{int(np.argmin(lengths))}] is zero; it must be the direction of a joint axis")
    units = vectors / lengths
    sines = np.linalg.norm(np.cross(units, directions), axis=1)
    if architecture != "SPS" and sines.min() < _PARALLEL:
        raise ArgumentError(
            f"axes[{int(np.argmin(sines))}] is parallel to its leg at the home pose, where the universal joint is "
            "singular; give an axis across the leg"
        )
    return np.asarray(units)


def limits_of_legs(leg_limits: ArrayLike) -> Doubles:
    """Return the smallest and the largest length of each leg, (6, 2), from those or from one pair for all."""
    limits = reals(leg_limits, "leg_limits", infinite=True, at_least=0.0)
    if limits.shape not in ((2,), (6, 2)):
        raise ArgumentError(
            f"leg_limits has shape {limits.shape}; expected (2,) or (6, 2): smallest and largest length"
        )
    limits = np.broadcast_to(limits, (6, 2)).copy()
    for leg, (low, high) in enumerate(limits):
        if not low < high:
            raise ArgumentError(f"leg_limits of leg {leg} are ({low:g}, {high:g}); the first must be the smaller one")
    return limits
