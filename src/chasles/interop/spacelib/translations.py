"""Translation matrices (section 3.1 of the manual)."""

from __future__ import annotations

import numpy as np

from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.elementary import Array
from chasles.interop.spacelib.codes import POINT, U, checked_axis, unit_axis
from chasles.interop.spacelib.routines import routine
from chasles.interop.spacelib.vectors import unitv


@routine(u=(3,), h=())
def traslat(u: Array, h: Real) -> Array:
    """Translation by h along a vector.

    Parameters
    ----------
    u
        Vector, shape (..., 3). Only its direction counts, as in the original; a null one gives no translation.
    h
        Displacement, m, shape (...).

    Returns
    -------
    ndarray
        m, shape (..., 4, 4).

    Examples
    --------
    >>> traslat([0, 3, 4], 10.0)[:3, 3]
    array([0., 6., 8.])
    """
    return elementary.pose(np.eye(3), h * unitv(u)[0])


@routine(h=())
def traslat2(a: int, h: Real) -> Array:
    """Translation by h (m) along the frame axis a, shape (..., 4, 4); along `U` there is none.

    Examples
    --------
    >>> from chasles.interop.spacelib import Y
    >>> traslat2(Y, 2.0)[:3, 3]
    array([0., 2., 0.])
    """
    return elementary.pose(np.eye(3), h * unit_axis(checked_axis(a, "traslat2", with_u=True)))


@routine(h=(), P=POINT)
def traslat24(a: int, h: Real, P: Array) -> Array:
    """Translation by h (m) along the frame axis a, with the origin in P (..., 4): shape (..., 4, 4).

    Examples
    --------
    >>> from chasles.interop.spacelib import X
    >>> traslat24(X, 2.0, [1, 1, 1, 1])[:3, 3]
    array([3., 1., 1.])
    """
    return elementary.pose(np.eye(3), P[:U] + h * unit_axis(checked_axis(a, "traslat24", with_u=True)))
