"""Inertia and action matrices (section 3.3 of the manual)."""

from __future__ import annotations

import numpy as np

from chasles.engine.program.scalar import Real
from chasles.geometry import pseudo_inertia
from chasles.geometry.elementary import Array
from chasles.interop.matrix_mechanics import action_matrix, pseudo_scalar_product
from chasles.interop.spacelib.routines import routine


@routine(fx=(), fy=(), fz=(), cx=(), cy=(), cz=())
def actom(fx: Real, fy: Real, fz: Real, cx: Real, cy: Real, cz: Real) -> Array:
    """Action matrix PHI of a force (N) and a couple (N·m) about the origin: forces first.

    Parameters
    ----------
    fx, fy, fz, cx, cy, cz
        Components, shape (...).

    Returns
    -------
    ndarray
        PHI, shape (..., 4, 4).

    Examples
    --------
    >>> actom(1, 2, 3, 4, 5, 6)
    array([[ 0., -6.,  5.,  1.],
           [ 6.,  0., -4.,  2.],
           [-5.,  4.,  0.,  3.],
           [-1., -2., -3.,  0.]])
    """
    PHI: Array = action_matrix(np.array([cx, cy, cz, fx, fy, fz]))
    return PHI


@routine(mass=(), jxx=(), jyy=(), jzz=(), jxy=(), jyz=(), jxz=(), xg=(), yg=(), zg=())
def jtoJ(
    mass: Real, jxx: Real, jyy: Real, jzz: Real, jxy: Real, jyz: Real, jxz: Real, xg: Real, yg: Real, zg: Real
) -> Array:
    """Inertia matrix J of a body from its mass, barycentral moments of inertia and centre of mass.

    Parameters
    ----------
    mass
        kg, shape (...).
    jxx, jyy, jzz, jxy, jyz, jxz
        Moments and products of inertia about the centre of mass, kg·m², shape (...), in axes parallel to those of the
        frame. jxx is the integral of y² + z² over the mass, jxy that of -x y: the elements of the inertia tensor.
    xg, yg, zg
        Centre of mass, m, shape (...).

    Returns
    -------
    ndarray
        J, shape (..., 4, 4): second moments of mass Ixx = (-jxx + jyy + jzz)/2 + mass xg², Ixy = -jxy + mass xg yg, …,
        the products of the mass with (xg, yg, zg), and the mass. Those of a real body are positive about its centre of
        mass, which is not examined.

    Notes
    -----
    The manual's formula leaves out the terms mass xg², … that its example 3.13 has, and the example's symbolic matrix
    shows -mass xg, … in the last row; J is symmetric.

    Examples
    --------
    >>> jtoJ(15.71, 36.633, 36.633, 7.85, 0, 0, 0, 0, 3, 4).round(3)
    array([[  3.925,   0.   ,   0.   ,   0.   ],
           [  0.   , 145.315, 188.52 ,  47.13 ],
           [  0.   , 188.52 , 284.068,  62.84 ],
           [  0.   ,  47.13 ,  62.84 ,  15.71 ]])
    """
    moments = np.array([[jxx, jxy, jxz], [jxy, jyy, jyz], [jxz, jyz, jzz]])
    J: Array = pseudo_inertia(mass, np.array([xg, yg, zg]), moments)
    return J


@routine(L=(4, 4), F=(4, 4))
def psedot(L: Array, F: Array) -> Real:
    """Pseudo-scalar product of the matrices of a motion and an action.

    Parameters
    ----------
    L
        Matrix W or L, shape (..., 4, 4).
    F
        Matrix PHI in the same frame, shape (..., 4, 4).

    Returns
    -------
    ndarray
        omega . c + v . f, shape (...): for W the power, W; for the L of a joint the force or torque of its actuator.

    Examples
    --------
    >>> W = [[0, -3, 2, 4], [3, 0, -1, 5], [-2, 1, 0, 6], [0, 0, 0, 0]]
    >>> psedot(W, actom(7, 8, 9, 10, 11, 12))
    np.float64(190.0)
    """
    return pseudo_scalar_product(L, F)
