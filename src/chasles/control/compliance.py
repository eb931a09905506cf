"""The motion of a frame relative to its reference, and the springs between the two.

A compliance frame C stands at the reference's origin. Its axes are those of the reference, with which they rotate, or
those of the world. In C the frame has the offset x and the rotation S from the reference; all equations of impedance
are written for their rates and accelerations in C, so that they hold however the reference moves.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from chasles.control.pose_feedback import OrientationError
from chasles.engine.validators import choice
from chasles.geometry import inverse_right_jacobian_rotation, log_rotation, quaternion_from_rotation
from chasles.geometry.elementary import Array, cross, pose
from chasles.trajectories.motion import PoseMotion

#: Axes along which stiffness, damping and inertia are given.
Axes = Literal["reference", "world"]
AXES: tuple[Axes, ...] = get_args(Axes)


class Offset(NamedTuple):
    """Pose and motion of a frame relative to its reference, in axes of C.

    Attributes
    ----------
    x
        From the reference's origin to the frame's, (3,), m.
    S
        Rotation from the reference's orientation to the frame's, (3, 3).
    velocity
        Relative twist (ω, x'), (6,), rad/s and m/s.
    """

    x: Array
    S: Array
    velocity: Array


def require_axes(axes: str) -> None:
    """Raise UnknownNameError for axes that there are not."""
    choice(axes, "axes", AXES)


def offset(T: Array, twist: Array, reference: PoseMotion, axes: Axes) -> Offset:
    """Offset of a frame from its reference; pose (4, 4) and twist (6,) in world axes, of the origins."""
    R_c, omega_c, _ = _compliance_axes(reference, axes)
    way = T[:3, 3] - reference.pose[:3, 3]
    R_wr, R_wf = reference.pose[:3, :3], T[:3, :3]
    S = R_wr.T @ R_wf if axes == "reference" else R_wf @ R_wr.T
    drifting = twist[3:] - reference.twist[3:] - cross(omega_c, way)
    return Offset(
        R_c.T @ way, S, np.concatenate([R_c.T @ (twist[:3] - reference.twist[:3]), R_c.T @ np.asarray(drifting)])
    )


def moved(reference: PoseMotion, away: Offset, acceleration: Array, axes: Axes) -> PoseMotion:
    """Motion in world axes of a frame that stands off its reference and is accelerated relative to it, (6,), in C."""
    R_c, omega_c, alpha_c = _compliance_axes(reference, axes)
    R_wr = reference.pose[:3, :3]
    way, turning, moving = R_c @ away.x, R_c @ away.velocity[:3], R_c @ away.velocity[3:]
    R = R_wr @ away.S if axes == "reference" else away.S @ R_wr
    twist = reference.twist + np.concatenate([turning, moving + cross(omega_c, way)])
    angular = reference.acceleration[:3] + R_c @ acceleration[:3] + cross(omega_c, turning)
    linear = (
        reference.acceleration[3:]
        + R_c @ acceleration[3:]
        + 2.0 * cross(omega_c, moving)
        + cross(alpha_c, way)
        + cross(omega_c, cross(omega_c, way))
    )
    return PoseMotion(pose(R, reference.pose[:3, 3] + way), twist, np.concatenate([angular, linear]))


def spring_wrench(away: Offset, stiffness: Array, kind: OrientationError) -> Array:
    """Wrench (m, f) with which the springs pull the frame to its reference, in axes of C, (6,).

    It is the negative gradient of an energy. The translational one is xᵀ K x / 2. Of the rotational one,
    ``"quaternion"`` is 2 vᵀ K v with the vector part v of the quaternion (w, v) of S, whose moment 2 (w K v + v × K v)
    is smooth at every angle and grows as K sin θ for a rotation about a principal axis; ``"logarithm"`` is rᵀ K r / 2
    with the rotation vector r, whose moment grows as K θ up to half a turn, where it changes sign. Either way it pulls
    back wherever it pulls at all.

    Parameters
    ----------
    away
        Offset of the frame.
    stiffness
        (6,), angular part first, N·m/rad and N/m.
    kind
        Kind of the rotational energy.
    """
    K = stiffness[:3]
    if kind == "logarithm":
        r: Any = log_rotation(away.S)
        moment = np.asarray(inverse_right_jacobian_rotation(r)) @ (K * r)
    else:
        q = np.asarray(quaternion_from_rotation(away.S))
        w, v = q[0], q[1:]
        moment = 2.0 * (w * K * v + cross(v, K * v))
    return -np.concatenate([moment, stiffness[3:] * away.x])


def world_wrench(wrench: Array, reference: PoseMotion, axes: Axes) -> Array:
    """Wrench (6,) in world axes of one in axes of C."""
    R_c, _, _ = _compliance_axes(reference, axes)
    return np.concatenate([R_c @ wrench[:3], R_c @ wrench[3:]])


def compliance_wrench(wrench: Array, reference: PoseMotion, axes: Axes) -> Array:
    """Wrench (6,) in axes of C of one in world axes."""
    R_c, _, _ = _compliance_axes(reference, axes)
    return np.concatenate([R_c.T @ wrench[:3], R_c.T @ wrench[3:]])


def _compliance_axes(reference: PoseMotion, axes: Axes) -> tuple[Array, Array, Array]:
    """Axes of C in the world (3, 3), their angular velocity and acceleration (3,)."""
    if axes == "reference":
        return reference.pose[:3, :3], reference.twist[:3], reference.acceleration[:3]
    return np.eye(3), np.zeros(3), np.zeros(3)
