"""Mechanics of rigid bodies with one 4x4 matrix for each physical notion, as in SpaceLib.

The angular part of each matrix stands in the upper left block, the linear part in the last column:

- M and Q, pose and displacement: ``[[R, p], [0, 1]]``;
- L, W and its rate, screw axis of a joint, twist and spatial acceleration: ``[[skew(omega), v], [0, 0]]``;
- H, acceleration: ``[[skew(alpha) + skew(omega)², a], [0, 0]]`` with the *classical* acceleration a, that of the body's
  point which is passing through the origin. H is therefore not the rate of W: it is that rate plus W²;
- Φ and Γ, action (wrench) and momentum: ``[[skew(m), f], [-fᵀ, 0]]``;
- J, inertia: the pseudo-inertia of `chasles.geometry.pseudo_inertias`.

So W p and H p are the velocity and acceleration of the body's point p, and dM/dt = W M, d²M/dt² = H M. In one frame,
motions that follow one another add up: W_02 = W_01 + W_12; for H see `compose_acceleration_matrices`.

Source: Legnani, Casolo, Righettini & Zappa, "A homogeneous matrix approach to 3D kinematics and dynamics" (Mechanism
and Machine Theory, 1996), and the user's manual of SpaceLib in C, version 2.2.
"""

from __future__ import annotations

import numpy as np

from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array, skew
from chasles.geometry.projections import POSE
from chasles.geometry.screws import motion_matrix
from chasles.geometry.vectors import vee


@batched(T_world_1=POSE, T_world_2=POSE)
def displacement_matrix(T_world_1: Array, T_world_2: Array) -> Array:
    """Displacement Q, seen from a world frame, that moves the frame 1 onto the frame 2: Q = T_world_2 T_world_1⁻¹.

    Parameters
    ----------
    T_world_1, T_world_2
        Poses, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4): a point p that moves along goes to Q p, with coordinates in the world.

    Examples
    --------
    >>> T_world_1, T_world_2 = np.eye(4), np.eye(4)
    >>> T_world_1[:3, 3], T_world_2[:3, 3] = [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]
    >>> displacement_matrix(T_world_1, T_world_2)[:3, 3]
    array([0., 2., 0.])
    """
    R = elementary.rotation_of(T_world_2) @ elementary.rotation_of(T_world_1).T
    return elementary.pose(R, elementary.translation_of(T_world_2) - R @ elementary.translation_of(T_world_1))


@batched(classical_acceleration=(6,), omega=(3,))
def acceleration_matrix(classical_acceleration: Array, omega: Array) -> Array:
    """Acceleration matrix H of a classical acceleration.

    Parameters
    ----------
    classical_acceleration
        (alpha, a): angular acceleration, and acceleration of the body's point in the origin, rad/s² and m/s², shape
        (..., 6).
    omega
        Angular velocity in the same axes, rad/s, shape (..., 3).

    Returns
    -------
    ndarray
        ``[[skew(alpha) + skew(omega)², a], [0, 0]]``, shape (..., 4, 4).

    Examples
    --------
    >>> acceleration_matrix([0.0, 0.0, 0.9, 1.0, 2.0, 3.0], [0.0, 0.0, 1.5])[:2]
    array([[-2.25, -0.9 ,  0.  ,  1.  ],
           [ 0.9 , -2.25,  0.  ,  2.  ]])
    """
    x, y, z = omega
    squared = np.array([[-y * y - z * z, x * y, x * z], [x * y, -x * x - z * z, y * z], [x * z, y * z, -x * x - y * y]])
    return motion_matrix(skew(classical_acceleration[:3]) + squared, classical_acceleration[3:])


@batched(H=(4, 4))
def classical_acceleration_from_acceleration_matrix(H: Array) -> Array:
    """Classical acceleration of an acceleration matrix.

    Parameters
    ----------
    H
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        (alpha, a): angular acceleration, and acceleration of the body's point in the origin, rad/s² and m/s², shape
        (..., 6).

    Examples
    --------
    >>> H = acceleration_matrix([0.0, 0.0, 0.9, 1.0, 2.0, 3.0], [0.0, 0.0, 1.5])
    >>> classical_acceleration_from_acceleration_matrix(H)
    array([0. , 0. , 0.9, 1. , 2. , 3. ])
    """
    return np.concatenate([vee(H[:3, :3]), H[:3, 3]])


@batched(W_rate=(4, 4), W=(4, 4))
def acceleration_matrix_from_rate(W_rate: Array, W: Array) -> Array:
    """Acceleration matrix H = dW/dt + W², from the rate of the velocity matrix.

    Parameters
    ----------
    W_rate, W
        Rate of the velocity matrix, and the velocity matrix, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.geometry import velocity_matrix
    >>> W = velocity_matrix([0.0, 0.0, 2.0, 0.0, -2.0, 0.0])
    >>> acceleration_matrix_from_rate(np.zeros((4, 4)), W)[:3, 3]  # the point in the origin is drawn to the axis
    array([4., 0., 0.])
    """
    H: Array = W_rate + W @ W
    return H


@batched(H=(4, 4), W=(4, 4))
def velocity_matrix_rate(H: Array, W: Array) -> Array:
    """Rate dW/dt = H - W² of the velocity matrix: the inverse of `acceleration_matrix_from_rate`.

    Parameters
    ----------
    H, W
        Acceleration matrix and velocity matrix of the same motion, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.geometry import velocity_matrix
    >>> W = velocity_matrix([0.0, 0.0, 2.0, 0.0, -2.0, 0.0])
    >>> float(abs(velocity_matrix_rate(W @ W, W)).max())  # a steady turn
    0.0
    """
    W_rate: Array = H - W @ W
    return W_rate


@batched(wrench=(6,))
def action_matrix(wrench: Array) -> Array:
    """Action matrix Φ of a wrench.

    Parameters
    ----------
    wrench
        (m, f), N·m and N, shape (..., 6).

    Returns
    -------
    ndarray
        ``[[skew(m), f], [-fᵀ, 0]]``, shape (..., 4, 4).

    Examples
    --------
    >>> action_matrix([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])
    array([[ 0., -6.,  5.,  1.],
           [ 6.,  0., -4.,  2.],
           [-5.,  4.,  0.,  3.],
           [-1., -2., -3.,  0.]])
    """
    return _skew_matrix(wrench)


@batched(Phi=(4, 4))
def wrench_from_action_matrix(Phi: Array) -> Array:
    """Wrench of an action matrix.

    Parameters
    ----------
    Phi
        Shape (..., 4, 4). Its symmetric part is ignored.

    Returns
    -------
    ndarray
        (m, f), N·m and N, shape (..., 6).

    Examples
    --------
    >>> wrench_from_action_matrix(action_matrix([4.0, 5.0, 6.0, 1.0, 2.0, 3.0]))
    array([4., 5., 6., 1., 2., 3.])
    """
    return _vector_of_skew(Phi)


@batched(momentum=(6,))
def momentum_matrix(momentum: Array) -> Array:
    """Momentum matrix Γ, laid out like an action matrix.

    Parameters
    ----------
    momentum
        Angular momentum about the origin and linear momentum, kg·m²/s and kg·m/s, shape (..., 6).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> momentum_matrix([4.0, 5.0, 6.0, 1.0, 2.0, 3.0])[0]
    array([ 0., -6.,  5.,  1.])
    """
    return _skew_matrix(momentum)


@batched(Gamma=(4, 4))
def momentum_from_momentum_matrix(Gamma: Array) -> Array:
    """Angular and linear momentum of a momentum matrix.

    Parameters
    ----------
    Gamma
        Shape (..., 4, 4). Its symmetric part is ignored.

    Returns
    -------
    ndarray
        Angular momentum about the origin and linear momentum, kg·m²/s and kg·m/s, shape (..., 6).

    Examples
    --------
    >>> momentum_from_momentum_matrix(momentum_matrix([4.0, 5.0, 6.0, 1.0, 2.0, 3.0]))
    array([4., 5., 6., 1., 2., 3.])
    """
    return _vector_of_skew(Gamma)


@batched(T_ab=POSE, A_b=(4, 4))
def transform_motion_matrix(T_ab: Array, A_b: Array) -> Array:
    """Matrix Q, L, W, dW/dt or H in a frame a, from that in a frame b: T_ab A_b T_ab⁻¹.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    A_b
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.geometry import velocity_matrix
    >>> T_ab = np.eye(4)
    >>> T_ab[:3, 3] = [0.4, 0.1, 0.0]
    >>> transform_motion_matrix(T_ab, velocity_matrix([0.0, 0.0, 1.5, 0.0, 0.0, 0.0])).round(12)
    array([[ 0.  , -1.5 ,  0.  ,  0.15],
           [ 1.5 ,  0.  ,  0.  , -0.6 ],
           [ 0.  ,  0.  ,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ,  0.  ]])
    """
    A_a: Array = T_ab @ A_b @ elementary.inverse_pose(T_ab)
    return A_a


@batched(T_ab=POSE, A_b=(4, 4))
def transform_action_matrix(T_ab: Array, A_b: Array) -> Array:
    """Matrix Φ, Γ or J in a frame a, from that in a frame b: T_ab A_b T_abᵀ.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    A_b
        Shape (..., 4, 4). For an inertia `transform_pseudo_inertia` is faster and exactly symmetric.

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> T_ab = np.eye(4)
    >>> T_ab[:3, 3] = [1.0, 0.0, 0.0]
    >>> wrench_from_action_matrix(transform_action_matrix(T_ab, action_matrix([0.0, 0.0, 0.0, 0.0, 2.0, 0.0])))
    array([0., 0., 2., 0., 2., 0.])
    """
    return T_ab @ A_b @ T_ab.T


@batched(H_01=(4, 4), H_12=(4, 4), W_01=(4, 4), W_12=(4, 4))
def compose_acceleration_matrices(H_01: Array, H_12: Array, W_01: Array, W_12: Array) -> Array:
    """Acceleration of a body 2 seen from a body 0, by way of a body 1: H_01 + H_12 + 2 W_01 W_12.

    The product holds the Coriolis acceleration, and what makes the square of the angular velocity whole.

    Parameters
    ----------
    H_01, H_12
        Acceleration matrices of 1 seen from 0 and of 2 seen from 1, in one frame, shape (..., 4, 4).
    W_01, W_12
        Velocity matrices of the same motions in the same frame, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.geometry import velocity_matrix
    >>> W_01, W_12 = velocity_matrix([[0.0, 0.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]])
    >>> compose_acceleration_matrices(W_01 @ W_01, W_12 @ W_12, W_01, W_12)[:3, 3]
    array([0., 6., 0.])
    """
    return H_01 + H_12 + 2.0 * (W_01 @ W_12)


def _skew_matrix(vector: Array) -> Array:
    moment, force = vector[:3], vector[3:]
    return np.array([*([*row, f] for row, f in zip(skew(moment), force, strict=True)), [*(-force), 0.0]])


def _vector_of_skew(A: Array) -> Array:
    return np.concatenate([vee(A[:3, :3]), 0.5 * (A[:3, 3] - A[3, :3])])
