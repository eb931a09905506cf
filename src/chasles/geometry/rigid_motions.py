"""Poses as 4 x 4 matrices, and what they do to points, twists and wrenches."""

from __future__ import annotations

import numpy as np

from chasles.geometry.vectors import Array, cross, skew


def pose(R_ab: Array, p_ab: Array) -> Array:
    """Pose T_ab (4, 4) of frame b seen from a: rotation R_ab (3, 3) and origin p_ab (3,) in metres.

    >>> pose(np.eye(3), np.array([1.0, 2.0, 3.0]))
    array([[1., 0., 0., 1.],
           [0., 1., 0., 2.],
           [0., 0., 1., 3.],
           [0., 0., 0., 1.]])
    """
    return np.array([[*row, p] for row, p in zip(R_ab, p_ab, strict=True)] + [[0.0, 0.0, 0.0, 1.0]])


def rotation_of(T_ab: Array) -> Array:
    """Rotation R_ab (3, 3) of a pose.

    >>> rotation_of(np.eye(4)).shape
    (3, 3)
    """
    return T_ab[:3, :3]


def translation_of(T_ab: Array) -> Array:
    """Origin p_ab (3,) of a pose, metres in a.

    >>> translation_of(np.eye(4))
    array([0., 0., 0.])
    """
    return T_ab[:3, 3]


def inverse_pose(T_ab: Array) -> Array:
    """Pose T_ba of a seen from b (Lynch & Park, Modern Robotics, section 3.3.1).

    >>> T = pose(np.eye(3), np.array([1.0, 2.0, 3.0]))
    >>> np.array_equal(inverse_pose(T) @ T, np.eye(4))
    True
    """
    R_ba = rotation_of(T_ab).T
    return pose(R_ba, -(R_ba @ translation_of(T_ab)))


def adjoint(T_ab: Array) -> Array:
    """Adjoint (6, 6) of a pose: it maps a twist (omega, v) in b to the same twist in a.

    A wrench (m, f) maps from a to b by the transpose (Modern Robotics, sections 3.3.2 and 3.4).

    >>> T = pose(np.eye(3), np.array([1.0, 0.0, 0.0]))
    >>> adjoint(T) @ np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    R = rotation_of(T_ab)
    pR = skew(translation_of(T_ab)) @ R
    upper = [[*row, 0.0, 0.0, 0.0] for row in R]
    return np.array(upper + [[*left, *right] for left, right in zip(pR, R, strict=True)])


def twist_cross(a: Array, b: Array) -> Array:
    """Rate of change of the twist b carried along by the twist a: the Lie bracket ad_a b (Modern Robotics, 8.2).

    >>> twist_cross(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]))
    array([0., 0., 0., 0., 1., 0.])
    """
    return np.concatenate([cross(a[:3], b[:3]), cross(a[:3], b[3:]) + cross(a[3:], b[:3])])
