"""Change of the frame in which a matrix is given (section 3.4.2 of the manual).

With m = M_rs, the position of frame (s) seen from (r). The names read like the formulas: m A m-inverse, and so on.
"""

from __future__ import annotations

import numpy as np

from chasles.geometry import inverse_pose
from chasles.geometry.elementary import Array
from chasles.geometry.projections import POSE
from chasles.interop.matrix_mechanics import transform_action_matrix, transform_motion_matrix
from chasles.interop.spacelib.legality import legal_position
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import square


@routine(A1=(4, 4), m=POSE)
def trasf_mami(A1: Array, m: Array) -> Array:
    """Matrix Q, L, W, Wp or H in frame (r), from that in (s): A2 = m A1 m⁻¹, eq. (3.10).

    Parameters
    ----------
    A1
        Matrix in (s), shape (..., 4, 4).
    m
        M_rs, shape (..., 4, 4); its inverse is taken as that of a position matrix.

    Returns
    -------
    ndarray
        A2, shape (..., 4, 4).

    Notes
    -----
    In example 3.14 the manual prints H[0][3] = 0.900; it is 0.990.

    Examples
    --------
    >>> W = np.array([[0, -1.5, 0, 0], [1.5, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> trasf_mami(W, [[1, 0, 0, 0.4], [0, 1, 0, 0.1], [0, 0, 1, 0], [0, 0, 0, 1]]).round(12) + 0.0
    array([[ 0.  , -1.5 ,  0.  ,  0.15],
           [ 1.5 ,  0.  ,  0.  , -0.6 ],
           [ 0.  ,  0.  ,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ,  0.  ]])
    """
    A2: Array = transform_motion_matrix(legal_position(m), A1)
    return A2


@routine(A1=(4, 4), m=POSE)
def trasf_miam(A1: Array, m: Array) -> Array:
    """Matrix Q, L, W, Wp or H in frame (s), from that in (r): A2 = m⁻¹ A1 m, eq. (3.11), the inverse of `trasf_mami`.

    Parameters
    ----------
    A1
        Matrix in (r), shape (..., 4, 4).
    m
        M_rs, shape (..., 4, 4).

    Returns
    -------
    ndarray
        A2, shape (..., 4, 4).

    Examples
    --------
    >>> W = np.array([[0, -1.5, 0, 0.15], [1.5, 0, 0, -0.6], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> trasf_miam(W, [[1, 0, 0, 0.4], [0, 1, 0, 0.1], [0, 0, 1, 0], [0, 0, 0, 1]])[:3, 3].round(12) + 0.0
    array([0., 0., 0.])
    """
    m = legal_position(m)
    return inverse_pose(m) @ A1 @ m


def trasf_mamt(A1: Array, m: Array, dim: int | None = None) -> Array:
    """Matrix J, GAMMA or PHI in frame (r), from that in (s): A2 = m A1 mᵗ, eq. (3.12).

    Parameters
    ----------
    A1
        Matrix in (s), shape (..., dim, dim).
    m
        M_rs, shape (..., dim, dim).
    dim
        Size of the matrices; it may be left out.

    Returns
    -------
    ndarray
        A2, shape (..., dim, dim).

    Notes
    -----
    In example 3.15 the manual displays an m with the wrong signs of the first two coordinates of its origin (the
    listing is right), and leaves the linear momentum of the result as it was; it turns with m, to (0.5, -9, 13.5).

    Examples
    --------
    >>> trasf_mamt(np.diag([1.0, 2.0, 3.0]), [[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
    array([[2., 0., 0.],
           [0., 1., 0.],
           [0., 0., 3.]])
    """
    matrix, position = square(A1, dim, "trasf_mamt", "A1"), square(m, dim, "trasf_mamt", "m")
    transformed: Array = position @ matrix @ np.swapaxes(position, -2, -1)
    return transformed


@routine(A1=(4, 4), m=POSE)
def trasf_mamt4(A1: Array, m: Array) -> Array:
    """Matrix J, GAMMA or PHI in frame (r), from that in (s), (..., 4, 4): ``trasf_mamt(A1, m, 4)``.

    Examples
    --------
    >>> trasf_mamt4(np.diag([0.0, 0.0, 0.0, 2.0]), [[1, 0, 0, 3], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])[0]
    array([18.,  0.,  0.,  6.])
    """
    A2: Array = transform_action_matrix(m, A1)
    return A2


@routine(A1=(4, 4), m=POSE)
def trasf_miamit(A1: Array, m: Array) -> Array:
    """Matrix J, GAMMA or PHI in frame (s), from that in (r): A2 = m⁻¹ A1 m⁻ᵗ, eq. (3.13), the inverse of `trasf_mamt`.

    Parameters
    ----------
    A1
        Matrix in (r), shape (..., 4, 4).
    m
        M_rs, shape (..., 4, 4).

    Returns
    -------
    ndarray
        A2, shape (..., 4, 4).

    Examples
    --------
    >>> J = np.array([[18.0, 0, 0, 6], [0, 0, 0, 0], [0, 0, 0, 0], [6, 0, 0, 2]])
    >>> trasf_miamit(J, [[1, 0, 0, 3], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])[0]
    array([0., 0., 0., 0.])
    """
    A2: Array = transform_action_matrix(inverse_pose(legal_position(m)), A1)
    return A2
