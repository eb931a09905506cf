"""Adjoints of poses and of twists: how twists change with the frame, and along one another."""

from __future__ import annotations

import numpy as np

from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.kinds import POSE


@batched(T_ab=POSE)
def adjoint(T_ab: Array) -> Array:
    """Adjoint of a pose: it maps a twist (omega, v) in b to the same twist in a.

    A wrench (m, f) in a maps to b by its transpose (Lynch & Park, Modern Robotics, sections 3.3.2 and 3.4).

    Parameters
    ----------
    T_ab
        Pose, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> from chasles.geometry import pose
    >>> adjoint(pose(np.eye(3), [1.0, 0.0, 0.0])) @ [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    array([ 0.,  0.,  1.,  0., -1.,  0.])
    """
    return elementary.adjoint(T_ab)


@batched(a=(6,), b=(6,))
def twist_cross(a: Array, b: Array) -> Array:
    """Rate of change of the twist b carried along by the twist a: the Lie bracket ad_a b.

    It is (omega_a x omega_b, omega_a x v_b + v_a x omega_b) (Lynch & Park, Modern Robotics, section 8.2).

    Parameters
    ----------
    a, b
        Twists (omega, v) in one frame, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6).

    Examples
    --------
    >>> twist_cross([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    array([0., 0., 0., 0., 1., 0.])
    """
    return elementary.twist_cross(a, b)


@batched(a=(6,))
def twist_cross_matrix(a: Array) -> Array:
    """Matrix ad_a of the Lie bracket: twist_cross_matrix(a) @ b = twist_cross(a, b).

    Its transpose with the sign turned is that of wrenches (m, f) carried along by the twist a.

    Parameters
    ----------
    a
        Twist (omega, v), shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> twist_cross_matrix([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) @ [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    array([0., 0., 0., 0., 1., 0.])
    """
    turning, moving, zero = elementary.skew(a[:3]), elementary.skew(a[3:]), np.zeros((3, 3))
    return np.concatenate([np.concatenate([turning, zero], axis=1), np.concatenate([moving, turning], axis=1)])
