"""Constant rigid motions of a description: checked, exact where they can be, and composed without losing zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ModelError
from chasles.geometry.elementary import pose, rotation_from_roll_pitch_yaw
from chasles.geometry.quaternion_rotations import rotation_from_quaternion
from chasles.model.numbers import frozen_array

FloatArray = NDArray[np.float64]
_NO_ROTATION = np.eye(3)


def tidy_rotation(R: NDArray[Any]) -> NDArray[Any]:
    """Return the rotation with entries within 1e-15 of 0, 1 and -1 made exact, so that tracing can fold them away.

    One of traced scalars stays as it is.
    """
    if R.dtype == object:
        return R
    nearest = np.round(R)
    return np.where(np.abs(R - nearest) <= 1e-15, nearest, R) + 0.0


def homogeneous(R: ArrayLike | None = None, p: ArrayLike | None = None) -> FloatArray:
    """Return the (4, 4) matrix of a rotation (default: none) and a position (default: zero)."""
    T = np.eye(4)
    if R is not None:
        T[:3, :3] = R
    if p is not None:
        T[:3, 3] = p
    return T


def from_position_and_angles(position: ArrayLike, roll_pitch_yaw: ArrayLike) -> FloatArray:
    """Return the (4, 4) placement with this position and these fixed-axis roll, pitch and yaw angles."""
    angles = np.asarray(roll_pitch_yaw)
    return homogeneous(tidy_rotation(rotation_from_roll_pitch_yaw(angles)) if angles.any() else None, position)


def replaced_placement(T: NDArray[Any], position: ArrayLike | None = None, roll_pitch_yaw: Any = None) -> NDArray[Any]:
    """Return a (4, 4) placement with another position, other angles, or both; the numbers may be traced scalars."""
    if position is None and roll_pitch_yaw is None:
        return T
    R = T[:3, :3] if roll_pitch_yaw is None else tidy_rotation(rotation_from_roll_pitch_yaw(roll_pitch_yaw))
    p = T[:3, 3] if position is None else np.asarray(position)
    return pose(R, p)


def from_position_and_quaternion(position: ArrayLike | None, quaternion: ArrayLike) -> FloatArray:
    """Return the (4, 4) placement with this position and this quaternion (w, x, y, z), which need not be unit."""
    q = np.asarray(quaternion, dtype=np.float64)
    R = np.asarray(rotation_from_quaternion.formula(q / np.linalg.norm(q)), dtype=np.float64)
    return homogeneous(tidy_rotation(R), position)


def compose(*motions: FloatArray) -> FloatArray:
    """Return the product of (4, 4) rigid motions, its rotation tidied."""
    T = np.eye(4)
    for motion in motions:
        T = homogeneous(tidy_rotation(T[:3, :3] @ motion[:3, :3]), T[:3, :3] @ motion[:3, 3] + T[:3, 3])
    return T + 0.0


def inverse(T: FloatArray) -> FloatArray:
    """Return the inverse of a (4, 4) rigid motion."""
    return homogeneous(T[:3, :3].T, -T[:3, :3].T @ T[:3, 3]) + 0.0


def frozen_placement(value: ArrayLike | None, what: str) -> FloatArray:
    """Return a read-only (4, 4) rigid motion, or a ModelError that says what is wrong with `what`.

    A rotation that is off by a printed table's rounding (up to 1e-6) is replaced by the nearest one.
    """
    T = frozen_array(np.eye(4) if value is None else value, (4, 4), what)
    if T[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise ModelError(f"{what} is not a rigid motion: its last row must be 0 0 0 1")
    R = T[:3, :3]
    if (R == _NO_ROTATION).all():
        return T
    error = float(np.abs(R @ R.T - np.eye(3)).max())
    if error > 1e-6 or np.linalg.det(R) < 0.0:
        raise ModelError(f"{what} is not a rigid motion: its upper left part is not a rotation matrix")
    if error > 1e-13:
        left, _, right = np.linalg.svd(R)
        T = frozen_array(homogeneous(left @ right, T[:3, 3]), (4, 4), what)
    return T
