"""Jacobians of the exponential of rotations, left and right, their inverses and their rates.

While a rotation vector changes, R = exp_rotation(rotation_vector) turns: with the angular velocity J_left · rate, seen
in the fixed frame, and J_right · rate, seen in the moving one. Formulas: Barfoot, State Estimation for Robotics,
section on matrix Lie groups; Chirikjian, Stochastic Models, Information Theory, and Lie Groups 2, section on SO(3).
"""

from __future__ import annotations

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
        Shape (..., 3, 3). Singular where the angle is a whole number of turns, except at 0.

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
        Shape (..., 3, 3). Singular where the angle is a whole number of turns, except at 0.

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
        Shape (..., 3, 3). It grows without bound towards a whole turn.

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
        Shape (..., 3, 3). It grows without bound towards a whole turn.

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
