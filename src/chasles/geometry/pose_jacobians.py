"""Jacobians of the exponential of SE(3): from rates of exponential coordinates to twists, and back.

A pose moves as T(t) = exp(x(t)) with exponential coordinates x = (phi, rho), the rotation vector first. Its twists are

    twist_space = J_left(x) dx/dt,    twist_body = J_right(x) dx/dt,    J_right(x) = J_left(-x).

All four Jacobians have the blocks [[J, 0], [Q, J]], with the Jacobian J of SO(3) (T. D. Barfoot, State Estimation for
Robotics, chapter 7, where the translation comes first). Twists are rotation vectors phi + ε rho of dual numbers, and
their Jacobian is that of SO(3), so Q is the rate of J while phi changes at the rate rho.
"""

from __future__ import annotations

import numpy as np

from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.rotation_jacobians import (
    inverse_left_jacobian_rotation,
    left_jacobian_rotation,
    left_jacobian_rotation_rate,
)


@batched(twist=(6,))
def left_jacobian_pose(twist: Array) -> Array:
    """Left Jacobian of SE(3): it maps rates of exponential coordinates to the twist seen from the space frame.

    exp(x + dx) = exp(J dx) exp(x) to first order. It is exact at every angle, and singular at whole turns other than 0.

    Parameters
    ----------
    twist
        Exponential coordinates x = (phi, rho), rad and m, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    Motion along the coordinates themselves has them for its twist:

    >>> twist = np.array([0.1, 0.2, 0.3, 4.0, 5.0, 6.0])
    >>> left_jacobian_pose(twist) @ twist
    array([0.1, 0.2, 0.3, 4. , 5. , 6. ])
    """
    phi, rho = twist[:3], twist[3:]
    return _blocks(left_jacobian_rotation(phi), left_jacobian_rotation_rate(phi, rho))


@batched(twist=(6,))
def right_jacobian_pose(twist: Array) -> Array:
    """Right Jacobian of SE(3): it maps rates of exponential coordinates to the twist seen from the body.

    exp(x + dx) = exp(x) exp(J dx) to first order. It is exact at every angle, and singular at whole turns other than 0.

    Parameters
    ----------
    twist
        Exponential coordinates x = (phi, rho), rad and m, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> right_jacobian_pose([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])[3:, :3] + 0.0
    array([[ 0.,  0.,  0.],
           [ 0.,  0.,  1.],
           [ 0., -1.,  0.]])
    """
    return left_jacobian_pose(-twist)


@batched(twist=(6,))
def inverse_left_jacobian_pose(twist: Array) -> Array:
    """Inverse of the left Jacobian of SE(3): it maps the twist seen from the space frame to rates of coordinates.

    log(exp(d) exp(x)) = x + J⁻¹ d to first order. It is exact at every angle up to pi and beyond; towards whole turns
    other than 0 it grows beyond all bounds.

    Parameters
    ----------
    twist
        Exponential coordinates x = (phi, rho), rad and m, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> twist = [0.1, 0.2, 0.3, 4.0, 5.0, 6.0]
    >>> np.allclose(inverse_left_jacobian_pose(twist) @ left_jacobian_pose(twist), np.eye(6), rtol=0.0, atol=1e-14)
    True
    """
    phi, rho = twist[:3], twist[3:]
    inverse = inverse_left_jacobian_rotation(phi)
    return _blocks(inverse, -(inverse @ left_jacobian_rotation_rate(phi, rho) @ inverse))


@batched(twist=(6,))
def inverse_right_jacobian_pose(twist: Array) -> Array:
    """Inverse of the right Jacobian of SE(3): it maps the twist seen from the body to rates of coordinates.

    log(exp(x) exp(d)) = x + J⁻¹ d to first order. It is exact at every angle up to pi and beyond; towards whole turns
    other than 0 it grows beyond all bounds.

    Parameters
    ----------
    twist
        Exponential coordinates x = (phi, rho), rad and m, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> inverse_right_jacobian_pose([0.0, 0.0, 0.0, 2.0, 0.0, 0.0])[3:, :3] + 0.0
    array([[ 0.,  0.,  0.],
           [ 0.,  0., -1.],
           [ 0.,  1.,  0.]])
    """
    return inverse_left_jacobian_pose(-twist)


def _blocks(J: Array, Q: Array) -> Array:
    return np.concatenate([np.concatenate([J, np.zeros((3, 3))], axis=1), np.concatenate([Q, J], axis=1)])
