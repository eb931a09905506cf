"""Weight, action, momentum and energy of one rigid body with 4x4 matrices.

Source: Legnani, Casolo, Righettini & Zappa, "A homogeneous matrix approach to 3D kinematics and dynamics" (Mechanism
and Machine Theory, 1996), and the user's manual of SpaceLib in C, version 2.2.
"""

from __future__ import annotations

import numpy as np

from chasles.engine.program.scalar import Real
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.screws import motion_matrix


@batched(gravity=(3,))
def gravity_matrix(gravity: Array) -> Array:
    """Acceleration matrix of a body that falls freely, without rotation: its action on an inertia J is the weight.

    Parameters
    ----------
    gravity
        m/s², shape (..., 3).

    Returns
    -------
    ndarray
        Shape (..., 4, 4): zeros but for the gravity in the last column.

    Examples
    --------
    >>> gravity_matrix([0.0, 0.0, -9.81])[2]
    array([ 0.  ,  0.  ,  0.  , -9.81])
    """
    return motion_matrix(np.zeros((3, 3)), gravity)


@batched(X=(4, 4))
def skew_operator(X: Array) -> Array:
    """X - Xᵀ, twice the skew part of a matrix.

    Parameters
    ----------
    X
        Shape (..., 4, 4).

    Returns
    -------
    ndarray
        Skew, shape (..., 4, 4).

    Examples
    --------
    >>> skew_operator(np.arange(16.0).reshape(4, 4))[0]
    array([ 0., -3., -6., -9.])
    """
    return X - X.T


@batched(H=(4, 4), J=(4, 4))
def action_matrix_from_acceleration(H: Array, J: Array) -> Array:
    """Action Φ = skew{H J} that gives a body an acceleration; with the matrix of gravity, the weight.

    Parameters
    ----------
    H
        Acceleration matrix in an inertial frame, shape (..., 4, 4).
    J
        Pseudo-inertia in the same frame, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Skew, shape (..., 4, 4): moment about the origin, N·m, and force, N.

    Examples
    --------
    >>> from chasles.interop.matrix_mechanics import wrench_from_action_matrix
    >>> J = np.diag([1.0, 1.0, 1.0, 2.0])
    >>> wrench_from_action_matrix(action_matrix_from_acceleration(gravity_matrix([0.0, 0.0, -9.81]), J))
    array([  0.  ,   0.  ,   0.  ,   0.  ,   0.  , -19.62])
    """
    return skew_operator(H @ J)


@batched(W=(4, 4), J=(4, 4))
def momentum_matrix_from_velocity(W: Array, J: Array) -> Array:
    """Momentum Γ = skew{W J} of a body.

    Parameters
    ----------
    W
        Velocity matrix, shape (..., 4, 4).
    J
        Pseudo-inertia in the same frame, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Skew, shape (..., 4, 4): angular momentum about the origin, kg·m²/s, and linear momentum, kg·m/s.

    Examples
    --------
    >>> from chasles.geometry import velocity_matrix
    >>> from chasles.interop.matrix_mechanics import momentum_from_momentum_matrix
    >>> J = np.diag([1.0, 1.0, 1.0, 2.0])
    >>> momentum_from_momentum_matrix(momentum_matrix_from_velocity(velocity_matrix([0.0, 0.0, 3.0, 1.0, 0.0, 0.0]), J))
    array([0., 0., 6., 2., 0., 0.])
    """
    return skew_operator(W @ J)


@batched(A=(4, 4), B=(4, 4))
def pseudo_scalar_product(A: Array, B: Array) -> Real:
    """Pseudo-scalar product of two matrices: that of their angular and linear parts, as vectors of six.

    Parameters
    ----------
    A, B
        Matrices of a motion (L, W) or an action (Φ), shape (..., 4, 4). Read are the last column and, of the upper left
        block, the elements (2, 1), (0, 2) and (1, 0).

    Returns
    -------
    ndarray
        Shape (...). For W and Φ it is the power, for L and Φ the force or torque of the joint's actuator.

    Examples
    --------
    >>> from chasles.geometry import velocity_matrix
    >>> from chasles.interop.matrix_mechanics import action_matrix
    >>> W, Phi = velocity_matrix([0.0, 0.0, 2.0, 1.0, 0.0, 0.0]), action_matrix([0.0, 0.0, 3.0, 4.0, 0.0, 0.0])
    >>> pseudo_scalar_product(W, Phi)
    np.float64(10.0)
    """
    return A[2, 1] * B[2, 1] + A[0, 2] * B[0, 2] + A[1, 0] * B[1, 0] + A[:3, 3] @ B[:3, 3]


@batched(A=(4, 4), J=(4, 4), B=(4, 4))
def trace_form(A: Array, J: Array, B: Array) -> Real:
    """Trace of A J Bᵀ: the bilinear form of kinetic energy.

    Parameters
    ----------
    A, B
        Matrices of motions (L, W), shape (..., 4, 4).
    J
        Pseudo-inertia in the same frame, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (...). With W twice it is twice the kinetic energy, with the L of two joints what the body adds to their
        element of the mass matrix.

    Examples
    --------
    >>> from chasles.geometry import velocity_matrix
    >>> W = velocity_matrix([0.0, 0.0, 3.0, 1.0, 0.0, 0.0])
    >>> 0.5 * trace_form(W, np.diag([1.0, 1.0, 1.0, 2.0]), W)  # (2 * 3² + 2 * 1²) / 2
    np.float64(10.0)
    """
    return sum((A @ J)[i] @ B[i] for i in range(4))
