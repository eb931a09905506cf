"""Screw axes of joints and screw parameters of velocities, with the 4x4 matrices L, W and H.

Source: Legnani, Casolo, Righettini & Zappa, "A homogeneous matrix approach to 3D kinematics and dynamics" (Mechanism
and Machine Theory, 1996), and the user's manual of SpaceLib in C, version 2.2.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.base.errors import UnknownNameError
from chasles.engine import where
from chasles.engine.program.scalar import Real
from chasles.engine.symbols import is_symbol
from chasles.geometry.batched import UNIT_VECTOR, batched
from chasles.geometry.elementary import Array
from chasles.geometry.screws import (
    Screw,
    screw_from_twist,
    twist_from_screw,
    twist_from_velocity_matrix,
    velocity_matrix,
)
from chasles.geometry.vectors import euclidean_norm

ScrewJoint = Literal["revolute", "prismatic"]
SCREW_JOINTS: tuple[ScrewJoint, ...] = ("revolute", "prismatic")
"""Revolute and helical joints (by their pitch), and prismatic joints."""


@comparable
class MotionMatrices(NamedTuple):
    """Velocity and acceleration matrix of a motion, shape (..., 4, 4)."""

    W: Array
    H: Array


@batched(axis=UNIT_VECTOR, point=(3,), pitch=())
def joint_screw_matrix(axis: Array, point: Array, pitch: Real, joint: ScrewJoint = "revolute") -> Array:
    """Screw matrix L of a joint: its velocity matrix for a unit rate, W = L dq/dt.

    Parameters
    ----------
    axis
        Unit vector along the joint's axis, shape (..., 3).
    point
        Any point of the axis, m, shape (..., 3). It does not matter for a prismatic joint.
    pitch
        Translation for each radian of rotation, m/rad, shape (...). It does not matter for a prismatic joint.
    joint
        ``"revolute"``, also for a helical joint, or ``"prismatic"``.

    Returns
    -------
    ndarray
        ``[[skew(u), -u x p + pitch u], [0, 0]]`` or ``[[0, u], [0, 0]]``, shape (..., 4, 4).

    Raises
    ------
    UnknownNameError
        For another joint.

    Examples
    --------
    >>> twist_from_velocity_matrix(joint_screw_matrix([0.0, 0.0, 1.0], [0.4, 0.1, 0.0], 0.0))
    array([ 0. ,  0. ,  1. ,  0.1, -0.4,  0. ])
    """
    if joint not in SCREW_JOINTS:
        raise UnknownNameError("joint of this kind", joint, SCREW_JOINTS)
    if joint == "prismatic":
        return velocity_matrix(np.concatenate([np.zeros(3), axis]))
    return velocity_matrix(twist_from_screw(axis, point, 1.0, pitch))


@batched(L=(4, 4), qd=(), qdd=())
def joint_motion_matrices(L: Array, qd: Real, qdd: Real) -> MotionMatrices:
    """Velocity and acceleration of a joint about a screw axis at rest: W = L q', H = L q'' + L² q'².

    Parameters
    ----------
    L
        Screw matrix of the joint, shape (..., 4, 4).
    qd, qdd
        First and second rate of its coordinate, rad/s and rad/s² (m/s and m/s² if it is prismatic), shape (...).

    Returns
    -------
    MotionMatrices
        W and H.

    Examples
    --------
    >>> L = joint_screw_matrix([0.0, 0.0, 1.0], [0.4, 0.1, 0.0], 0.0)
    >>> joint_motion_matrices(L, 1.5, 0.9).H[:2].round(12)
    array([[-2.25 , -0.9  ,  0.   ,  0.99 ],
           [ 0.9  , -2.25 ,  0.   , -0.135]])
    """
    W = qd * L
    return MotionMatrices(W, qdd * L + W @ W)


@batched(W=(4, 4))
def screw_from_velocity_matrix(W: Array, tolerance: float = 0.0) -> Screw:
    """Instantaneous screw of a velocity matrix: axis, angular speed about it and speed along it.

    Parameters
    ----------
    W
        Shape (..., 4, 4).
    tolerance
        Angular speeds up to this many times the linear speed, 1/m, count as rounding errors of a pure
        translation. It has no effect on symbols.

    Returns
    -------
    Screw
        ``angle`` is the angular speed, ``translation`` the speed along the axis; see the class for translations and
        bodies at rest.

    Examples
    --------
    >>> screw = screw_from_velocity_matrix(velocity_matrix([0.0, 0.0, 0.5, 0.0, -1.0, 0.1]))
    >>> screw.axis, screw.point[:2], float(screw.angle), float(screw.translation)
    (array([0., 0., 1.]), array([2., 0.]), 0.5, 0.1)
    """
    screw: Screw = screw_from_twist(_without_negligible_turning(W, tolerance))
    return screw


@batched(axis=UNIT_VECTOR, point=(3,), angular_speed=(), sliding_speed=())
def velocity_matrix_from_screw(axis: Array, point: Array, angular_speed: Real, sliding_speed: Real) -> Array:
    """Velocity matrix W of a body that rotates about an axis and translates along it.

    Parameters
    ----------
    axis
        Unit vector along the axis, shape (..., 3).
    point
        Any point of the axis, m, shape (..., 3).
    angular_speed, sliding_speed
        rad/s and m/s, shape (...).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> twist_from_velocity_matrix(velocity_matrix_from_screw([0.0, 0.0, 1.0], [2.0, 0.0, 0.0], 0.5, 0.1))
    array([ 0. ,  0. ,  0.5,  0. , -1. ,  0.1])
    """
    return velocity_matrix(twist_from_screw(axis, point, angular_speed, sliding_speed))


@batched(W=(4, 4))
def unit_screw_matrix(W: Array, tolerance: float = 0.0) -> Array:
    """Screw matrix L of a velocity matrix: W for a unit of angular speed, or of speed if the body does not rotate.

    Parameters
    ----------
    W
        Shape (..., 4, 4).
    tolerance
        Angular speeds up to this many times the linear speed, 1/m, count as rounding errors of a pure
        translation. It has no effect on symbols.

    Returns
    -------
    ndarray
        Shape (..., 4, 4); null for a body at rest.

    Examples
    --------
    >>> twist_from_velocity_matrix(unit_screw_matrix(velocity_matrix([0.0, 0.0, 0.5, 0.0, -1.0, 0.1])))
    array([ 0. ,  0. ,  1. ,  0. , -2. ,  0.2])
    >>> twist_from_velocity_matrix(unit_screw_matrix(velocity_matrix([0.0, 0.0, 0.0, 0.0, -3.0, 4.0])))
    array([ 0. ,  0. ,  0. ,  0. , -0.6,  0.8])
    """
    twist = _without_negligible_turning(W, tolerance)
    screw = screw_from_twist(twist)
    speed = where(screw.angle <= 0.0, screw.translation, screw.angle)
    return velocity_matrix(twist / where(speed <= 0.0, 1.0, speed))


def _without_negligible_turning(W: Array, tolerance: float) -> Array:
    twist = twist_from_velocity_matrix(W)
    if tolerance == 0.0 or any(map(is_symbol, twist)):
        return twist
    negligible = euclidean_norm(twist[:3]) <= tolerance * euclidean_norm(twist[3:])
    return np.concatenate([where(negligible, 0.0, twist[:3]), twist[3:]])
