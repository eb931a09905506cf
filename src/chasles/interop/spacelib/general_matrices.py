"""General operations: inverse of a position, vectors and skew matrices, trace (section 3.4.3 of the manual)."""

from __future__ import annotations

import numpy as np

from chasles.engine.program.scalar import Real
from chasles.geometry import elementary, inverse_pose, vee
from chasles.geometry.elementary import Array
from chasles.geometry.projections import POSE
from chasles.interop.matrix_mechanics import skew_operator, trace_form
from chasles.interop.spacelib.legality import legal_position
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.sizes import embedded, square, upper_left


@routine(m=POSE)
def invers(m: Array) -> Array:
    """Inverse of a position matrix, eq. (3.14).

    Parameters
    ----------
    m
        Position matrix, shape (..., 4, 4). Other matrices have another inverse; see `minvers`.

    Returns
    -------
    ndarray
        mi, shape (..., 4, 4).

    Examples
    --------
    >>> invers([[0, 1, 0, 3], [-1, 0, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1]])
    array([[ 0., -1.,  0., -0.],
           [ 1.,  0.,  0., -3.],
           [ 0.,  0.,  1., -2.],
           [ 0.,  0.,  0.,  1.]])
    """
    mi: Array = inverse_pose(legal_position(m))
    return mi


def mtov(A: Array, dim: int | None = None) -> Array:
    """Vector of the skew-symmetric upper-left 3×3 part of a matrix: the inverse of `vtom`.

    Parameters
    ----------
    A
        Square matrix, shape (..., dim, dim).
    dim
        Size of A, 3 or more; it may be left out.

    Returns
    -------
    ndarray
        v, shape (..., 3): half the differences across the diagonal, as in the original; for a skew-symmetric part
        simply (A[2, 1], A[0, 2], A[1, 0]).

    Examples
    --------
    >>> mtov([[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    array([1., 2., 3.])
    """
    return _mtov(upper_left(A, dim, "mtov"))


@routine(A=(3, 3))
def _mtov(A: Array) -> Array:
    v: Array = vee(A)
    return v


def mtov3(A: Array) -> Array:
    """Vector (..., 3) of a skew-symmetric matrix (..., 3, 3): ``mtov(A, 3)``.

    Examples
    --------
    >>> mtov3([[0, -3, 2], [3, 0, -1], [-2, 1, 0]])
    array([1., 2., 3.])
    """
    return mtov(A, 3)


def mtov4(A: Array) -> Array:
    """Vector (..., 3) of the skew-symmetric upper-left part of a matrix (..., 4, 4): ``mtov(A, 4)``.

    Examples
    --------
    >>> mtov4([[0, -3, 2, 9], [3, 0, -1, 9], [-2, 1, 0, 9], [9, 9, 9, 9]])
    array([1., 2., 3.])
    """
    return mtov(A, 4)


@routine(v=(3,))
def vtom(v: Array, dim: int = 3) -> Array:
    """Skew-symmetric matrix of a vector: the inverse of `mtov`.

    Parameters
    ----------
    v
        Vector, shape (..., 3).
    dim
        Size of the result, 3 or more.

    Returns
    -------
    ndarray
        A, shape (..., dim, dim): the skew-symmetric matrix in the upper-left 3×3 part, zeros elsewhere.

    Examples
    --------
    >>> vtom([1, 2, 3])
    array([[ 0., -3.,  2.],
           [ 3.,  0., -1.],
           [-2.,  1.,  0.]])
    """
    return embedded(elementary.skew(v), dim, "vtom")


@routine(v=(3,))
def vtom3(v: Array) -> Array:
    """Skew-symmetric matrix (..., 3, 3) of a vector (..., 3): ``vtom(v, 3)``.

    Examples
    --------
    >>> mtov3(vtom3([1, 2, 3]))
    array([1., 2., 3.])
    """
    return embedded(elementary.skew(v), 3, "vtom3")


@routine(v=(3,))
def vtom4(v: Array) -> Array:
    """Matrix (..., 4, 4) with the skew-symmetric matrix of a vector (..., 3) in its upper-left part: ``vtom(v, 4)``.

    Examples
    --------
    >>> mtov4(vtom4([1, 2, 3]))
    array([1., 2., 3.])
    """
    return embedded(elementary.skew(v), 4, "vtom4")


def skew(A: Array, B: Array, dim: int | None = None) -> Array:
    """Skew operator: C = A B - Bᵗ Aᵗ, without a half; eq. (3.15).

    Parameters
    ----------
    A, B
        Square matrices, shape (..., dim, dim).
    dim
        Their size; it may be left out.

    Returns
    -------
    ndarray
        C, shape (..., dim, dim).

    Examples
    --------
    >>> skew([[0, 1], [0, 0]], [[1, 0], [0, 1]], 2)
    array([[ 0.,  1.],
           [-1.,  0.]])
    """
    product = square(A, dim, "skew", "A", least=1) @ square(B, dim, "skew", "B", least=1)
    C: Array = product - np.swapaxes(product, -2, -1)
    return C


@routine(A=(4, 4), B=(4, 4))
def skew4(A: Array, B: Array) -> Array:
    """Skew operator on matrices (..., 4, 4): ``skew(A, B, 4)``.

    Examples
    --------
    >>> skew4(vtom4([0, 0, 2]), np.diag([1.0, 1.0, 1.0, 5.0]))[:2, :2]  # momentum of a body that spins
    array([[ 0., -4.],
           [ 4.,  0.]])
    """
    C: Array = skew_operator(A @ B)
    return C


@routine(L1=(4, 4), J=(4, 4), L2=(4, 4))
def trac_ljlt4(L1: Array, J: Array, L2: Array) -> Real:
    """Trace of L1 J L2ᵗ: with W twice, twice the kinetic energy; with L of two joints, an element of the mass matrix.

    Parameters
    ----------
    L1, L2
        Matrices L or W, shape (..., 4, 4).
    J
        Inertia matrix, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> trac_ljlt4(vtom4([0, 0, 2]), np.diag([1.0, 1.0, 1.0, 5.0]), vtom4([0, 0, 2]))
    np.float64(8.0)
    """
    return trace_form(L1, J, L2)
