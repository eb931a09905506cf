"""Quaternions (w, x, y, z), scalar first, of any length: product, inverse, exponential, logarithm, power."""

from __future__ import annotations

import math

import numpy as np

from chasles.engine import exp, log, maximum, sign, where
from chasles.engine.program.scalar import Real
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.quotients import angle_quotient, cosine_quotient, sine_quotient
from chasles.geometry.vectors import euclidean_norm


@batched(p=(4,), q=(4,))
def multiply_quaternions(p: Array, q: Array) -> Array:
    """Hamilton product p q; for unit quaternions the composed rotation q_ac = q_ab q_bc.

    Parameters
    ----------
    p, q
        Quaternions, shape (..., 4).

    Returns
    -------
    ndarray
        Shape (..., 4).

    Examples
    --------
    >>> multiply_quaternions([0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0])  # i j = k
    array([0., 0., 0., 1.])
    """
    pw, px, py, pz = p
    qw, qx, qy, qz = q
    return np.array(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ]
    )


@batched(q=(4,))
def conjugate_quaternion(q: Array) -> Array:
    """Conjugate (w, -x, -y, -z); for a unit quaternion the inverse, so q_ba of q_ab.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4).

    Returns
    -------
    ndarray
        Shape (..., 4).

    Examples
    --------
    >>> conjugate_quaternion([0.5, 0.5, -0.5, 0.5])
    array([ 0.5, -0.5,  0.5, -0.5])
    """
    return np.array([q[0], -q[1], -q[2], -q[3]])


@batched(q=(4,))
def inverse_quaternion(q: Array) -> Array:
    """Inverse of a quaternion of any length: the conjugate over the squared length.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4). For a unit quaternion `conjugate_quaternion` is cheaper.

    Returns
    -------
    ndarray
        Shape (..., 4); NaN for the null quaternion, which has no inverse.

    Examples
    --------
    >>> inverse_quaternion([0.0, 2.0, 0.0, 0.0]) + 0.0
    array([ 0. , -0.5,  0. ,  0. ])
    """
    inverse: Array = conjugate_quaternion(q) / (q @ q)
    return inverse


@batched(q=(4,))
def normalize_quaternion(q: Array) -> Array:
    """Unit quaternion of the same direction.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4).

    Returns
    -------
    ndarray
        Shape (..., 4); NaN for the null quaternion, which has no direction.

    Examples
    --------
    >>> normalize_quaternion([1e-200, 0.0, 1e-200, 0.0]).round(6)
    array([0.707107, 0.      , 0.707107, 0.      ])
    """
    unit: Array = q / euclidean_norm(q)
    return unit


@batched(q=(4,))
def canonical_quaternion(q: Array) -> Array:
    """The one of q and -q with w > 0, or if w = 0, with a positive component of largest magnitude.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4).

    Returns
    -------
    ndarray
        Shape (..., 4). Among equally large components that of y precedes x, and x precedes z, as in `log_rotation`.

    Examples
    --------
    >>> canonical_quaternion([[-0.6, 0.0, 0.8, 0.0], [0.0, -1.0, 0.0, 0.0]]) + 0.0
    array([[ 0.6,  0. , -0.8,  0. ],
           [ 0. ,  1. ,  0. ,  0. ]])
    """
    w, x, y, z = q
    largest = where(abs(z) > maximum(abs(x), abs(y)), z, where(abs(x) > abs(y), x, y))
    canonical: Array = sign(where(w == 0.0, largest, w)) * q
    return canonical


@batched(q=(4,))
def exp_quaternion(q: Array) -> Array:
    """Exponential of a quaternion: e^w (cos |v|, v sin|v| / |v|) for q = (w, v).

    For a unit axis u, exp(0, u θ/2) is the rotation about u by θ. It is exact at every length of v, with its
    derivatives.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4).

    Returns
    -------
    ndarray
        Shape (..., 4).

    Examples
    --------
    >>> exp_quaternion([0.0, np.pi / 2, 0.0, 0.0]).round(12)  # half a turn about x
    array([0., 1., 0., 0.])
    """
    v = q[1:]
    squared_length = v @ v
    cosine = 1.0 - squared_length * cosine_quotient(squared_length)
    exponential: Array = exp(q[0]) * np.array([cosine, *(sine_quotient(squared_length) * v)])
    return exponential


@batched(q=(4,))
def log_quaternion(q: Array) -> Array:
    """Principal logarithm of a quaternion: (log |q|, u θ/2) with the unit axis u and 0 <= θ/2 <= pi.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4). The vector part of q and that of -q differ: the longer one belongs to w < 0, to
        rotations by more than pi.

    Returns
    -------
    ndarray
        Shape (..., 4); the first component of a unit quaternion's is 0 but for rounding. A negative real number has
        no axis, and gets that of x. The null quaternion has no logarithm: -inf and NaN.

    Examples
    --------
    >>> log_quaternion([0.0, 0.0, 0.0, np.e])
    array([1.        , 0.        , 0.        , 1.57079633])
    """
    w, v = q[0], q[1:]
    shorter = angle_quotient(v @ v, abs(w)) * v
    length = euclidean_norm(v)
    is_real = length <= 0.0
    axis = where(is_real, np.array([1.0, 0.0, 0.0]), v / where(is_real, 1.0, length))
    return np.array([0.5 * log(q @ q), *where(w < 0.0, math.pi * axis - shorter, shorter)])


@batched(q=(4,), exponent=())
def power_quaternion(q: Array, exponent: Real) -> Array:
    """Power exp(exponent log q); of a unit quaternion the rotation about the same axis by the multiple of its angle.

    Parameters
    ----------
    q
        Quaternion, shape (..., 4). For a power of the shorter of its two rotations, for example half of it, use the
        `canonical_quaternion`.
    exponent
        Any real number, shape (...).

    Returns
    -------
    ndarray
        Shape (..., 4). The axis of a negative real number is taken to be x, as in `log_quaternion`.

    Examples
    --------
    >>> power_quaternion([0.0, 0.0, 0.0, 1.0], 0.5)  # half of half a turn about z
    array([0.70710678, 0.        , 0.        , 0.70710678])
    """
    return exp_quaternion(exponent * log_quaternion(q))
