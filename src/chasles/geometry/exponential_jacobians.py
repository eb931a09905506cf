"""Jacobians of the exponential maps of rotations and rigid motions: from rates of coordinates to velocities, and back.

While a rotation vector changes, R = exp_rotation(rotation_vector) rotates: with the angular velocity J_left · rate,
seen in the fixed frame, and J_right · rate, seen in the moving one. Formulas: Barfoot, State Estimation for Robotics,
section on matrix Lie groups; Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, section on SO(3).

A pose moves as T(t) = exp(x(t)) with exponential coordinates x = (phi, rho), the rotation vector first. Its twists are

    twist_space = J_left(x) dx/dt,    twist_body = J_right(x) dx/dt,    J_right(x) = J_left(-x).

All four Jacobians have the blocks [[J, 0], [Q, J]], with the Jacobian J of SO(3) (T. D. Barfoot, State Estimation for
Robotics, chapter 7, where the translation comes first). Twists are rotation vectors phi + ε rho of dual numbers, and
their Jacobian is that of SO(3), so Q is the rate of J while phi changes at the rate rho.
"""

from __future__ import annotations

import numpy as np

from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array, skew
from chasles.geometry.quotients import (
    cosine_quotient,
    fifth_quotient,
    fourth_quotient,
    inverse_quotient,
    third_quotient,
)
from chasles.geometry.rotations import skew_polynomial


@batched(rotation_vector=(3,))
def left_jacobian_rotation(rotation_vector: Array) -> Array:
    """Left Jacobian of SO(3): angular velocity in the fixed frame for a rate of the rotation vector.

    exp(a + δ) = exp(J_left(a) δ) exp(a) to first order in δ.

    Parameters
    ----------
    rotation_vector
        Rotation vector, rad, shape (..., 3); exact down to the null vector.

    Returns
    -------
    ndarray
        Shape (..., 3, 3). Singular where the angle is a nonzero multiple of 2 pi.

    Examples
    --------
    >>> import math
    >>> left_jacobian_rotation([0.0, 0.0, math.pi]).round(4)
    array([[ 0.    , -0.6366,  0.    ],
           [ 0.6366,  0.    ,  0.    ],
           [ 0.    ,  0.    ,  1.    ]])
    """
    s = rotation_vector @ rotation_vector
    return skew_polynomial(rotation_vector, cosine_quotient(s), third_quotient(s))


@batched(rotation_vector=(3,))
def right_jacobian_rotation(rotation_vector: Array) -> Array:
    """Right Jacobian of SO(3): angular velocity in the moving frame for a rate of the rotation vector.

    exp(a + δ) = exp(a) exp(J_right(a) δ) to first order in δ. It is the transpose of the left one.

    Parameters
    ----------
    rotation_vector
        Rotation vector, rad, shape (..., 3); exact down to the null vector.

    Returns
    -------
    ndarray
        Shape (..., 3, 3). Singular where the angle is a nonzero multiple of 2 pi.

    Examples
    --------
    >>> a = [0.3, -0.2, 0.5]
    >>> abs(right_jacobian_rotation(a) - left_jacobian_rotation(a).T).max()
    np.float64(0.0)
    """
    return left_jacobian_rotation(-rotation_vector)


@batched(rotation_vector=(3,))
def inverse_left_jacobian_rotation(rotation_vector: Array) -> Array:
    """Inverse of the left Jacobian of SO(3): rate of the rotation vector for an angular velocity in the fixed frame.

    log(exp(δ) exp(a)) = a + J_left(a)⁻¹ δ to first order in δ.

    Parameters
    ----------
    rotation_vector
        Rotation vector, rad, shape (..., 3); exact down to the null vector.

    Returns
    -------
    ndarray
        Shape (..., 3, 3). It grows without bound as the angle approaches 2 pi.

    Examples
    --------
    >>> a = [0.3, -0.2, 0.5]
    >>> (inverse_left_jacobian_rotation(a) @ left_jacobian_rotation(a)).round(12) + 0.0
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    return skew_polynomial(rotation_vector, -0.5, inverse_quotient(rotation_vector @ rotation_vector))


@batched(rotation_vector=(3,))
def inverse_right_jacobian_rotation(rotation_vector: Array) -> Array:
    """Inverse of the right Jacobian of SO(3): rate of the rotation vector for an angular velocity in the moving frame.

    log(exp(a) exp(δ)) = a + J_right(a)⁻¹ δ to first order in δ.

    Parameters
    ----------
    rotation_vector
        Rotation vector, rad, shape (..., 3); exact down to the null vector.

    Returns
    -------
    ndarray
        Shape (..., 3, 3). It grows without bound as the angle approaches 2 pi.

    Examples
    --------
    >>> import math
    >>> inverse_right_jacobian_rotation([0.0, 0.0, math.pi / 2]).round(4)
    array([[ 0.7854, -0.7854,  0.    ],
           [ 0.7854,  0.7854,  0.    ],
           [ 0.    ,  0.    ,  1.    ]])
    """
    return inverse_left_jacobian_rotation(-rotation_vector)


@batched(rotation_vector=(3,), rate=(3,))
def left_jacobian_rotation_rate(rotation_vector: Array, rate: Array) -> Array:
    """Rate of the left Jacobian of SO(3) while the rotation vector changes.

    The angular acceleration in the fixed frame is J_left · second rate + this rate · rate.

    Parameters
    ----------
    rotation_vector
        Rotation vector, rad, shape (..., 3).
    rate
        Its derivative with respect to time, rad/s, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3, 3), 1/s.

    Examples
    --------
    >>> left_jacobian_rotation_rate([0.0, 0.0, 0.0], [0.0, 0.0, 2.0]) + 0.0
    array([[ 0., -1.,  0.],
           [ 1.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    s = rotation_vector @ rotation_vector
    s_rate = 2.0 * (rotation_vector @ rate)
    second, third, fourth, fifth = cosine_quotient(s), third_quotient(s), fourth_quotient(s), fifth_quotient(s)
    second_rate = (fourth - 0.5 * third) * s_rate
    third_rate = (1.5 * fifth - 0.5 * fourth) * s_rate
    a, da = skew(rotation_vector), skew(rate)
    result: Array = second_rate * a + second * da + third_rate * (a @ a) + third * (a @ da + da @ a)
    return result


@batched(rotation_vector=(3,), rate=(3,))
def right_jacobian_rotation_rate(rotation_vector: Array, rate: Array) -> Array:
    """Rate of the right Jacobian of SO(3) while the rotation vector changes.

    The angular acceleration in the moving frame is J_right · second rate + this rate · rate.

    Parameters
    ----------
    rotation_vector
        Rotation vector, rad, shape (..., 3).
    rate
        Its derivative with respect to time, rad/s, shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 3, 3), 1/s.

    Examples
    --------
    >>> right_jacobian_rotation_rate([0.0, 0.0, 0.0], [0.0, 0.0, 2.0]) + 0.0
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """
    return left_jacobian_rotation_rate(-rotation_vector, -rate)


@batched(twist=(6,))
def left_jacobian_pose(twist: Array) -> Array:
    """Left Jacobian of SE(3): it maps rates of exponential coordinates to the twist seen from the space frame.

    exp(x + dx) = exp(J dx) exp(x) to first order. It is exact at every angle, and singular at nonzero multiples of 2
    pi.

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

    exp(x + dx) = exp(x) exp(J dx) to first order. It is exact at every angle, and singular at nonzero multiples of 2
    pi.

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

    log(exp(d) exp(x)) = x + J⁻¹ d to first order. It is exact at every angle up to pi and beyond, and grows without
    bound towards nonzero multiples of 2 pi.

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

    log(exp(x) exp(d)) = x + J⁻¹ d to first order. It is exact at every angle up to pi and beyond, and grows without
    bound towards nonzero multiples of 2 pi.

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
