"""Rates and accelerations of Euler and Cardan angles, to and from angular velocity and angular acceleration.

    omega = A(q) q'        omega' = A(q) q'' + B(q) (q2' q3', q1' q3', q1' q2')

The columns of A are the three axes of rotation, in the coordinates of the fixed frame or of the body. The columns of B
are the cross products of two of them, outer axis x inner axis: an inner axis is carried along by the turns about the
outer ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import absolute, where
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.euler_angles import ELEMENTARY_ROTATIONS, SINGULAR_TOLERANCE, euler_sequence
from chasles.geometry.quaternion_rates import VelocityFrame, require_velocity_frame


@comparable
class EulerRates(NamedTuple):
    """Rates of Euler angles.

    Attributes
    ----------
    rates
        First derivatives of the three angles, rad/s, shape (..., 3).
    singular
        Whether the middle angle is so near to a singular value that the rates are ill-determined, shape (...).
    """

    rates: Array
    singular: Array


@comparable
class EulerAccelerations(NamedTuple):
    """Accelerations of Euler angles.

    Attributes
    ----------
    accelerations
        Second derivatives of the three angles, rad/s², shape (..., 3).
    singular
        Whether the middle angle is so near to a singular value that the accelerations are ill-determined, shape (...).
    """

    accelerations: Array
    singular: Array


@batched(angles=(3,))
def euler_rate_matrix(angles: Array, sequence: str, frame: VelocityFrame = "space") -> Array:
    """Matrix A of the angular velocity: omega = A q'.

    Parameters
    ----------
    angles
        Euler or Cardan angles, rad, shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`: capital letters for axes that move with the body, small letters for fixed axes.
    frame
        ``"space"`` for omega in the axes of the fixed frame, ``"body"`` for omega in the axes of the body.

    Returns
    -------
    ndarray
        A, shape (..., 3, 3). Its columns are the unit vectors of the three axes of rotation.

    Examples
    --------
    >>> euler_rate_matrix([0.0, 0.0, 0.0], "ZYX") + 0.0
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """
    return np.array(_axes(angles, sequence, frame)).T


@batched(angles=(3,))
def euler_product_matrix(angles: Array, sequence: str, frame: VelocityFrame = "space") -> Array:
    """Matrix B of the angular acceleration: omega' = A q'' + B (q2' q3', q1' q3', q1' q2').

    Parameters
    ----------
    angles
        Euler or Cardan angles, rad, shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`.
    frame
        ``"space"`` or ``"body"``: the axes in which omega' is given.

    Returns
    -------
    ndarray
        B, shape (..., 3, 3), 1/rad.

    Examples
    --------
    >>> euler_product_matrix([0.0, 0.0, 0.0], "ZYX") + 0.0
    array([[ 0.,  0., -1.],
           [ 0.,  1.,  0.],
           [-1.,  0.,  0.]])
    """
    return np.array(_axis_products(_axes(angles, sequence, frame), sequence)).T


@batched(angles=(3,))
def inverse_euler_rate_matrix(angles: Array, sequence: str, frame: VelocityFrame = "space") -> Array:
    """Inverse of the matrix A: q' = inverse(A) omega.

    Parameters
    ----------
    angles
        Euler or Cardan angles, rad, shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`.
    frame
        ``"space"`` or ``"body"``: the axes in which omega is given.

    Returns
    -------
    ndarray
        Shape (..., 3, 3). Where the middle angle is singular its entries are huge, infinite or NaN.

    Examples
    --------
    >>> inverse_euler_rate_matrix([0.0, 0.0, 0.0], "ZYX") + 0.0
    array([[0., 0., 1.],
           [0., 1., 0.],
           [1., 0., 0.]])
    """
    return np.array([_solve(angles, unit, sequence, frame)[0] for unit in np.eye(3)]).T


@batched(angles=(3,), rates=(3,))
def angular_velocity_from_euler_rates(
    angles: Array, rates: Array, sequence: str, frame: VelocityFrame = "space"
) -> Array:
    """Angular velocity of a body from the rates of its Euler or Cardan angles.

    Parameters
    ----------
    angles
        The angles, rad, shape (..., 3).
    rates
        Their first derivatives, rad/s, shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`: capital letters for axes that move with the body, small letters for fixed axes.
    frame
        ``"space"`` for omega in the axes of the fixed frame, ``"body"`` for omega in the axes of the body.

    Returns
    -------
    ndarray
        omega, rad/s, shape (..., 3).

    Examples
    --------
    >>> angular_velocity_from_euler_rates([0.0, np.pi / 2, 0.0], [1.0, 0.0, 2.0], "ZYX").round(12)
    array([ 0.,  0., -1.])
    """
    return _combined(_axes(angles, sequence, frame), rates)


@batched(angles=(3,), omega=(3,), dtypes={"singular": bool})
def euler_rates_from_angular_velocity(
    angles: Array,
    omega: Array,
    sequence: str,
    frame: VelocityFrame = "space",
    tolerance: float = SINGULAR_TOLERANCE,
) -> EulerRates:
    """Rates of Euler or Cardan angles from the angular velocity of the body.

    Parameters
    ----------
    angles
        The angles, rad, shape (..., 3).
    omega
        Angular velocity, rad/s, shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`.
    frame
        ``"space"`` or ``"body"``: the axes in which omega is given.
    tolerance
        Bound on the middle angle's cosine (Cardan) or sine (Euler) up to which the sample is flagged as singular.

    Returns
    -------
    EulerRates
        ``rates`` and ``singular``. The rates are the exact solution up to the singularity: flagged samples have large
        ones, and infinite or NaN ones where the cosine or sine is 0.

    Examples
    --------
    >>> euler_rates_from_angular_velocity([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], "ZYX")
    EulerRates(rates=array([3., 2., 1.]), singular=np.False_)
    """
    rates, distance = _solve(angles, omega, sequence, frame)
    return EulerRates(rates, where(absolute(distance) <= tolerance, 1.0, 0.0))


@batched(angles=(3,), rates=(3,), accelerations=(3,))
def angular_acceleration_from_euler_accelerations(
    angles: Array, rates: Array, accelerations: Array, sequence: str, frame: VelocityFrame = "space"
) -> Array:
    """Angular acceleration of a body from its Euler or Cardan angles and their derivatives.

    Parameters
    ----------
    angles
        The angles, rad, shape (..., 3).
    rates
        Their first derivatives, rad/s, shape (..., 3).
    accelerations
        Their second derivatives, rad/s², shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`.
    frame
        ``"space"`` or ``"body"``: the axes in which the result is given.

    Returns
    -------
    ndarray
        omega', rad/s², shape (..., 3). It is the same vector in both frames, as the derivatives of omega seen from the
        fixed frame and from the body are the same.

    Examples
    --------
    >>> angular_acceleration_from_euler_accelerations([0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 5.0], "ZYX")
    array([4., 0., 0.])
    """
    axes = _axes(angles, sequence, frame)
    return _combined(axes, accelerations) + _combined(_axis_products(axes, sequence), _rate_products(rates))


@batched(angles=(3,), rates=(3,), alpha=(3,), dtypes={"singular": bool})
def euler_accelerations_from_angular_acceleration(
    angles: Array,
    rates: Array,
    alpha: Array,
    sequence: str,
    frame: VelocityFrame = "space",
    tolerance: float = SINGULAR_TOLERANCE,
) -> EulerAccelerations:
    """Second derivatives of Euler or Cardan angles from the angular acceleration of the body.

    Parameters
    ----------
    angles
        The angles, rad, shape (..., 3).
    rates
        Their first derivatives, rad/s, shape (..., 3); see `euler_rates_from_angular_velocity`.
    alpha
        Angular acceleration omega', rad/s², shape (..., 3).
    sequence
        One of `EULER_SEQUENCES`.
    frame
        ``"space"`` or ``"body"``: the axes in which omega' is given.
    tolerance
        Bound on the middle angle's cosine (Cardan) or sine (Euler) up to which the sample is flagged as singular.

    Returns
    -------
    EulerAccelerations
        ``accelerations`` and ``singular``; at the singularity as for the rates.

    Examples
    --------
    >>> result = euler_accelerations_from_angular_acceleration([0.0] * 3, [1.0, 1.0, 0.0], [4.0, 0.0, 0.0], "ZYX")
    >>> result.accelerations
    array([0., 0., 5.])
    """
    axes = _axes(angles, sequence, frame)
    rest = alpha - _combined(_axis_products(axes, sequence), _rate_products(rates))
    accelerations, distance = _solve(angles, rest, sequence, frame)
    return EulerAccelerations(accelerations, where(absolute(distance) <= tolerance, 1.0, 0.0))


def _axes(angles: Array, sequence: str, frame: VelocityFrame) -> tuple[Array, Array, Array]:
    """Return the unit vectors of the three axes of rotation, in the order of the sequence's letters."""
    (i, j, k), (first, second, third), reversed_order = _about_moving_axes(angles, sequence)
    e_i, e_j, e_k = np.eye(3)[[i, j, k]]
    require_velocity_frame(frame)
    if frame == "space":
        turn = ELEMENTARY_ROTATIONS[i](first)
        axes = e_i, turn @ e_j, turn @ (ELEMENTARY_ROTATIONS[j](second) @ e_k)
    else:
        turn_back = ELEMENTARY_ROTATIONS[k](third).T
        axes = turn_back @ (ELEMENTARY_ROTATIONS[j](second).T @ e_i), turn_back @ e_j, e_k
    return axes[::-1] if reversed_order else axes


def _axis_products(axes: tuple[Array, Array, Array], sequence: str) -> tuple[Array, Array, Array]:
    """Return the columns of B, for the products of rates 2 and 3, 1 and 3, 1 and 2.

    The outer of two axes, which carries the other along, is the earlier one for moving axes, the later for fixed ones.
    """
    u, v, w = axes
    carried = elementary.cross(v, w), elementary.cross(u, w), elementary.cross(u, v)
    if euler_sequence(sequence).intrinsic:
        return carried
    return -carried[0], -carried[1], -carried[2]


def _rate_products(rates: Array) -> Array:
    first, second, third = rates
    return np.array([second * third, first * third, first * second])


def _solve(angles: Array, omega: Array, sequence: str, frame: VelocityFrame) -> tuple[Array, Any]:
    """Return the rates that give omega, and the cosine (Cardan) or sine (Euler), with a sign, by which was divided.

    The first (space) or third (body) turn is undone. Then the axis of that turn and the second one are coordinate axes,
    and the remaining axis is in the plane of the coordinate axes other than the second.
    """
    (i, j, k), (first, second, third), reversed_order = _about_moving_axes(angles, sequence)
    require_velocity_frame(frame)
    if frame == "space":
        omega = ELEMENTARY_ROTATIONS[i](first).T @ omega
        n = 3 - i - j
        axis = ELEMENTARY_ROTATIONS[j](second)[:, k]
        third_rate = omega[n] / axis[n]
        rates = [omega[i] - axis[i] * third_rate, omega[j], third_rate]
    else:
        omega = ELEMENTARY_ROTATIONS[k](third) @ omega
        n = 3 - j - k
        axis = ELEMENTARY_ROTATIONS[j](second)[i, :]
        first_rate = omega[n] / axis[n]
        rates = [first_rate, omega[j], omega[k] - axis[k] * first_rate]
    return np.array(rates[::-1] if reversed_order else rates), axis[n]


def _about_moving_axes(angles: Array, sequence: str) -> tuple[tuple[int, int, int], tuple[Any, Any, Any], bool]:
    """Return axes and angles of the same turns about moving axes, and whether the order was reversed for that."""
    (i, j, k), intrinsic, _ = euler_sequence(sequence)
    first, second, third = angles
    if intrinsic:
        return (i, j, k), (first, second, third), False
    return (k, j, i), (third, second, first), True


def _combined(vectors: tuple[Array, Array, Array], factors: Array) -> Array:
    total: Array = np.array(vectors).T @ factors
    return total
