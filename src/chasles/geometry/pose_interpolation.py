"""Motion from one pose to another: along the screw between them, or by decoupled rotation and translation."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import UnknownNameError
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import (
    Array,
    ReferenceFrame,
    cross,
    require_reference_frame,
    rotation_of,
    translation_of,
)
from chasles.geometry.projections import POSE
from chasles.geometry.rigid_motions import compose_poses, exp_pose, log_pose, relative_pose
from chasles.geometry.rotations import exp_rotation, log_rotation

Path = Literal["screw", "decoupled"]
PATHS: tuple[Path, ...] = ("screw", "decoupled")


@comparable
class PoseMotion(NamedTuple):
    """A pose that moves.

    Attributes
    ----------
    pose
        Pose T_world_b of the moving frame, shape (..., 4, 4).
    twist
        Twist (omega, v), rad/s and m/s, in the requested reference frame, shape (..., 6).
    acceleration
        Rate of change of the twist's components, rad/s² and m/s², shape (..., 6). In the frame ``"world-aligned"`` its
        linear part is the acceleration of the moving frame's origin.
    """

    pose: Array
    twist: Array
    acceleration: Array


@batched(T0=POSE, T1=POSE, s=())
def interpolate_pose(T0: Array, T1: Array, s: Real, path: Path = "screw") -> Array:
    """Pose between two poses.

    Parameters
    ----------
    T0, T1
        Poses at s = 0 and s = 1, seen from one frame, shape (..., 4, 4).
    s
        Path parameter, shape (...). The motion continues below 0 and above 1.
    path
        ``"screw"``: along the screw from one to the other, with constant twist (Lynch & Park, Modern Robotics, section
        9.2.1); it does not depend on the frame from which the poses are seen, and the origin moves along a helix.
        ``"decoupled"``: the origin moves along a straight line while the frame rotates about a fixed axis.

    Returns
    -------
    ndarray
        Shape (..., 4, 4); T0 itself at s = 0. The rotation is by the smaller angle; at the angle pi, where two opposite
        axes are possible, it is about the axis of `log_rotation`.

    Raises
    ------
    UnknownNameError
        For another path.

    Examples
    --------
    >>> T0, T1 = np.eye(4), exp_pose([0.0, 0.0, np.pi / 2, np.pi / 2, 0.0, 0.0])  # a quarter of a circle
    >>> interpolate_pose(T0, T1, 0.5)[:3, 3].round(6)
    array([0.707107, 0.292893, 0.      ])
    >>> interpolate_pose(T0, T1, 0.5, path="decoupled")[:3, 3].round(6)
    array([0.5, 0.5, 0. ])
    """
    _require_path(path)
    if path == "screw":
        return compose_poses(T0, exp_pose(s * log_pose(relative_pose(T0, T1))))
    p0, p1 = translation_of(T0), translation_of(T1)
    return elementary.pose(rotation_of(T0) @ exp_rotation(s * _rotation_vector(T0, T1)), p0 + s * (p1 - p0))


@batched(T0=POSE, T1=POSE, s=(), s_rate=(), s_acceleration=())
def interpolate_pose_motion(
    T0: Array,
    T1: Array,
    s: Real,
    s_rate: Real,
    s_acceleration: Real,
    path: Path = "screw",
    frame: ReferenceFrame = "body",
) -> PoseMotion:
    """Pose between two poses, its twist and its acceleration.

    Parameters
    ----------
    T0, T1
        Poses at s = 0 and s = 1, seen from one frame (the world), shape (..., 4, 4).
    s, s_rate, s_acceleration
        Path parameter, and its first and second time derivatives, 1/s and 1/s², shape (...). With 1 and 0 the results
        are the derivatives with respect to s itself.
    path
        ``"screw"`` or ``"decoupled"``; see `interpolate_pose`.
    frame
        Reference frame of the twist of the moving frame b: ``"body"``, in b's axes about b's origin; ``"space"``, in
        the world's axes about the world's origin; ``"world-aligned"``, in the world's axes about b's origin, so that
        its linear part is the velocity of b's origin.

    Returns
    -------
    PoseMotion
        Pose, twist, and the rate of change of the twist's components in that frame.

    Raises
    ------
    UnknownNameError
        For another path or frame.

    Examples
    --------
    >>> T0, T1 = np.eye(4), exp_pose([0.0, 0.0, np.pi / 2, np.pi / 2, 0.0, 0.0])  # a quarter of a circle
    >>> motion = interpolate_pose_motion(T0, T1, 1.0, 2.0 / np.pi, 0.0, frame="world-aligned")
    >>> motion.twist.round(12) + 0.0
    array([0., 0., 1., 0., 1., 0.])
    >>> motion.acceleration.round(12) + 0.0  # towards the centre
    array([ 0.,  0.,  0., -1.,  0.,  0.])
    """
    _require_path(path)
    require_reference_frame(frame)
    T = interpolate_pose(T0, T1, s, path=path)
    R = rotation_of(T)
    if path == "screw":
        twist_body = log_pose(relative_pose(T0, T1))
        direction, v = R @ twist_body[:3], R @ twist_body[3:]
        curvature = cross(direction, v)
    else:
        direction, v = R @ _rotation_vector(T0, T1), translation_of(T1) - translation_of(T0)
        curvature = np.zeros(3)
    omega, velocity = s_rate * direction, s_rate * v
    alpha, acceleration = s_acceleration * direction, s_acceleration * v + s_rate * s_rate * curvature
    twist, twist_rate = _seen_from(T, omega, velocity, alpha, acceleration, frame)
    return PoseMotion(T, twist, twist_rate)


def _rotation_vector(T0: Array, T1: Array) -> Array:
    return log_rotation(rotation_of(T0).T @ rotation_of(T1))


def _seen_from(
    T: Array, omega: Array, velocity: Array, alpha: Array, acceleration: Array, frame: ReferenceFrame
) -> tuple[Array, Array]:
    """Twist and its rate in a frame, from the motion of the pose's origin and its turning in the world's axes."""
    if frame == "space":
        p = translation_of(T)
        v, v_rate = velocity + cross(p, omega), acceleration + cross(velocity, omega) + cross(p, alpha)
        return np.concatenate([omega, v]), np.concatenate([alpha, v_rate])
    if frame == "body":
        R_body_world = rotation_of(T).T
        v_rate = R_body_world @ (acceleration + cross(velocity, omega))
        twist = np.concatenate([R_body_world @ omega, R_body_world @ velocity])
        return twist, np.concatenate([R_body_world @ alpha, v_rate])
    return np.concatenate([omega, velocity]), np.concatenate([alpha, acceleration])


def _require_path(path: str) -> None:
    if path not in PATHS:
        raise UnknownNameError("path", path, PATHS)
