"""Checks of waypoints: their times, poses and orientations."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.geometry.batched import CHECK_TOLERANCE
from chasles.geometry.projections import pose_distance, project_pose, project_rotation, rotation_distance
from chasles.geometry.quaternion_rotations import rotation_from_quaternion
from chasles.geometry.quaternions import normalize_quaternion
from chasles.trajectories.joint.waypoints import bounded, checked_times
from chasles.trajectories.motion import Floats

#: Poses this near to one are left as they are.
_ROUNDING = 1e-14


def single_pose(values: ArrayLike, name: str) -> Floats:
    """Return poses (..., 4, 4), each the nearest one to what was given, without the errors of rounding."""
    T = bounded(values, name, (..., 4, 4))
    distances = np.asarray(pose_distance(T))
    if (distances > CHECK_TOLERANCE).any():
        farthest = distances.max()
        raise ArgumentError(
            f"{name} is not a pose: it is {farthest:.3g} away from one; `project_pose` gives the nearest"
        )
    return np.where(distances[..., None, None] > _ROUNDING, project_pose(T), T)


def pose_waypoints(values: ArrayLike, fewest: int = 2) -> Floats:
    """Return poses (*batch, n, 4, 4) of waypoints."""
    T = _waypoints(values, "poses", (4, 4), fewest, 3)
    distances = np.asarray(pose_distance(T))
    _require_near(distances, "pose", "project_pose")
    return np.where(distances[..., None, None] > _ROUNDING, project_pose(T), T)


def rotation_waypoints(values: ArrayLike) -> Floats:
    """Return rotations (*batch, n, 3, 3) of waypoints given as such or as unit quaternions (*batch, n, 4)."""
    shape = np.shape(values)
    if shape[-1:] == (4,):
        q = _waypoints(values, "quaternions", (4,), 2, 2)
        _require_near(np.abs(np.linalg.norm(q, axis=-1) - 1.0), "unit quaternion", "normalize_quaternion")
        return np.asarray(rotation_from_quaternion(normalize_quaternion(q)))
    R = _waypoints(values, "orientations", (3, 3), 2, 3)
    distances = np.asarray(rotation_distance(R))
    _require_near(distances, "rotation matrix", "project_rotation")
    return np.where(distances[..., None, None] > _ROUNDING, project_rotation(R), R)


def waypoint_times(values: ArrayLike, count: int) -> Floats:
    """Return times (n,) that increase from waypoint to waypoint.

    >>> waypoint_times([0.0, 1.0], 3)
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: 3 waypoints need as many times, not 2
    """
    times = checked_times(values)
    if len(times) != count:
        raise ArgumentError(f"{count} waypoints need as many times, not {len(times)}")
    return times


def _waypoints(values: ArrayLike, name: str, shape: tuple[int, ...], fewest: int, axes: int) -> Floats:
    array = bounded(values, name, (..., "n", *shape))
    count = array.shape[-axes]
    if count < fewest:
        raise ArgumentError(f"a motion needs {fewest} waypoints at least, not {count}")
    return array


def _require_near(distances: ArrayLike, noun: str, remedy: str) -> None:
    far = np.argwhere(np.asarray(distances) > CHECK_TOLERANCE)
    if len(far):
        where, distance = tuple(far[0]), np.asarray(distances)[tuple(far[0])]
        raise ArgumentError(f"{waypoint(where)} is not a {noun}: it is {distance:.3g} away from one; `{remedy}` helps")


def waypoint(index: ArrayLike) -> str:
    """Name of a waypoint by its index: the batch's axes, then its number.

    >>> waypoint([4]), waypoint([0, 4])
    ('waypoint 4', 'waypoint 4 of trajectory (0,)')
    """
    *batch, number = (int(k) for k in np.asarray(index))
    return f"waypoint {number}" + (f" of trajectory {tuple(batch)}" if batch else "")
