"""Placements as URDF has them: ``<origin xyz="…" rpy="…"/>``, read and written."""

from __future__ import annotations

import math

import numpy as np

from chasles.model.formats.xml import Element, numbers_text
from chasles.model.placement import FloatArray, from_position_and_angles

_ZERO = (0.0, 0.0, 0.0)


def snapped_angle(angle: float) -> float:
    """Return the angle, or the multiple of pi/2 within 1e-11 of it: files print pi with more or fewer digits.

    Examples
    --------
    >>> snapped_angle(1.570796326795) == math.pi / 2
    True
    """
    nearest = round(angle / (math.pi / 2)) * (math.pi / 2)
    return nearest if abs(angle - nearest) <= 1e-11 else angle


def read_origin(element: Element) -> FloatArray:
    """Return the placement in the ``<origin>`` of an element; default the identity."""
    origin = element.one("origin")
    if origin is None:
        return np.eye(4)
    angles = [snapped_angle(angle) for angle in origin.numbers("rpy", 3, _ZERO)]
    return from_position_and_angles(origin.numbers("xyz", 3, _ZERO), angles)


def roll_pitch_yaw(R: FloatArray) -> tuple[float, float, float]:
    """Angles about the fixed axes x, y and z that give a rotation to rounding, also where the pitch is a right angle.

    Examples
    --------
    >>> R = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> np.degrees(roll_pitch_yaw(R))
    array([ 0., 90.,  0.])
    """
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    # Near a pitch of 90° the yaw is anything; the roll that goes with it is what the rotation has besides.
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return roll, pitch, yaw


def origin(T: FloatArray) -> dict[str, str]:
    """Return the attributes of the ``<origin>`` of a placement."""
    origin = {"xyz": numbers_text(T[:3, 3])}
    if (T[:3, :3] != np.eye(3)).any():
        origin["rpy"] = numbers_text(roll_pitch_yaw(T[:3, :3]))
    return origin
