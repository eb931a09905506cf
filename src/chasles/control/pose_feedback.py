"""Feedback of a frame's pose: the acceleration that draws its error to zero."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from chasles.engine.validators import choice
from chasles.geometry import (
    inverse_left_jacobian_rotation,
    left_jacobian_rotation,
    left_jacobian_rotation_rate,
    log_rotation,
    quaternion_from_rotation,
)
from chasles.geometry.elementary import Array, cross
from chasles.trajectories.motion import PoseMotion

#: How a rotation becomes a vector.
OrientationError = Literal["quaternion", "logarithm"]


def require_orientation_error(kind: str) -> None:
    """Raise UnknownNameError for a kind of orientation error that there is not."""
    choice(kind, "orientation error", get_args(OrientationError))


def orientation_error(R: Array, R_reference: Array, kind: OrientationError) -> Array:
    """Vector (3,) of the rotation R_reference Rᵀ that is still to be made, in world axes, rad for small angles.

    ``"quaternion"``: twice the vector part of its quaternion, 2 sin(θ/2) times the axis. ``"logarithm"``: its rotation
    vector, θ times the axis. Both point along the shorter way.

    >>> from chasles.geometry import rotation_z
    >>> orientation_error(np.eye(3), rotation_z(3.0), "quaternion").round(6)  # 2 sin(1.5)
    array([0.     , 0.     , 1.99499])
    >>> orientation_error(np.eye(3), rotation_z(3.0), "logarithm").round(6)
    array([0., 0., 3.])
    """
    R_error = R_reference @ R.T
    if kind == "logarithm":
        return np.asarray(log_rotation(R_error))
    return 2.0 * np.asarray(quaternion_from_rotation(R_error))[1:]


def acceleration_feedback(
    T: Array, twist: Array, reference: PoseMotion, kp: Array, kd: Array, kind: OrientationError
) -> Array:
    """Acceleration (6,) of a frame, angular part first, with which its error decays.

    The position's error e = p_ref - p obeys e'' + kd e' + kp e = 0. So does the rotation vector e of R_ref Rᵀ with
    ``"logarithm"``, as long as it stays below half a turn. With ``"quaternion"`` the acceleration is

        α = α_ref + kd (ω_ref - ω) + kp e,   e = 2 sin(θ/2) axis,

    and for one gain for all axes the energy |ω_ref - ω|²/2 + 4 kp (1 - cos(θ/2)) never grows.

    Parameters
    ----------
    T, twist
        Pose (4, 4) and twist (6,) in world axes, of the frame's origin.
    reference
        Reference values.
    kp, kd
        Gains (6,), angular part first, 1/s² and 1/s.
    kind
        Kind of the orientation's error.
    """
    R, R_reference = T[:3, :3], reference.pose[:3, :3]
    linear = (
        reference.acceleration[3:]
        + kd[3:] * (reference.twist[3:] - twist[3:])
        + kp[3:] * (reference.pose[:3, 3] - T[:3, 3])
    )
    if kind == "logarithm":
        angular = _linear_rotation(R, twist[:3], reference, kp[:3], kd[:3])
    else:
        error = orientation_error(R, R_reference, kind)
        angular = reference.acceleration[:3] + kd[:3] * (reference.twist[:3] - twist[:3]) + kp[:3] * error
    return np.concatenate([angular, linear])


def velocity_feedback(T: Array, reference: PoseMotion, gain: Array, kind: OrientationError) -> tuple[Array, Array]:
    """Twist (6,) of a frame, angular part first, with which its error decays, and the twist's derivative.

    The position's error obeys e' + gain e = 0. So does the rotation vector e of E = R_ref Rᵀ with ``"logarithm"``; for
    one gain for all axes its angular velocity is ω = Eᵀ ω_ref + gain e. With ``"quaternion"`` it is

        ω = ω_ref + gain e,   e = 2 sin(θ/2) axis.

    Parameters
    ----------
    T
        Pose (4, 4).
    reference
        Reference values.
    gain
        Gains (6,), angular part first, 1/s.
    kind
        Kind of the orientation's error.
    """
    E = reference.pose[:3, :3] @ T[:3, :3].T
    omega_reference, alpha_reference = reference.twist[:3], reference.acceleration[:3]
    K = gain[:3]
    if kind == "logarithm":
        x: Any = log_rotation(E)
        rate = -K * x
        w = left_jacobian_rotation(x) @ rate
        w_rate = left_jacobian_rotation(x) @ (-K * rate) + left_jacobian_rotation_rate(x, rate) @ rate
        omega = E.T @ (omega_reference - w)
        alpha = E.T @ (alpha_reference - w_rate - cross(w, omega_reference - w))
    else:
        quaternion = np.asarray(quaternion_from_rotation(E))
        omega = omega_reference + K * (2.0 * quaternion[1:])
        w = omega_reference - E @ omega
        alpha = alpha_reference + K * (quaternion[0] * w + cross(w, quaternion[1:]))
    error = reference.pose[:3, 3] - T[:3, 3]
    return (
        np.concatenate([omega, reference.twist[3:] + gain[3:] * error]),
        np.concatenate([alpha, reference.acceleration[3:] - gain[3:] ** 2 * error]),
    )


def _linear_rotation(R: Array, omega: Array, reference: PoseMotion, kp: Array, kd: Array) -> Array:
    """Angular acceleration with which x'' + kd x' + kp x = 0 holds for the rotation vector x of E = R_ref Rᵀ.

    E turns at w = ω_ref - E ω = J(x) x' with the left Jacobian J, hence ω = Eᵀ (ω_ref - w), whose derivative is the
    acceleration with w' = J x'' + J' x'.
    """
    E = reference.pose[:3, :3] @ R.T
    x: Any = log_rotation(E)
    omega_reference, alpha_reference = reference.twist[:3], reference.acceleration[:3]
    w = omega_reference - E @ omega
    rate = inverse_left_jacobian_rotation(x) @ w
    second = -kd * rate - kp * x
    w_rate = left_jacobian_rotation(x) @ second + left_jacobian_rotation_rate(x, rate) @ rate
    return np.asarray(E.T @ (alpha_reference - w_rate - cross(w, omega_reference - w)))
