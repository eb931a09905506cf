"""Momentum, kinetic energy and equation of motion of one rigid body."""

from __future__ import annotations

from chasles.engine.program.scalar import Real
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.spatial_vectors import wrench_cross


@batched(inertia=(6, 6), twist=(6,))
def momentum(inertia: Array, twist: Array) -> Array:
    """Momentum of a body: its spatial inertia times its twist.

    Parameters
    ----------
    inertia
        Spatial inertia, shape (..., 6, 6).
    twist
        (omega, v) in the same frame, rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        Angular momentum about the origin and linear momentum, kg·m²/s and kg·m/s, shape (..., 6). It changes frame
        by `transform_wrench`.

    Examples
    --------
    >>> import numpy as np
    >>> momentum(np.diag([1.0, 1.0, 1.5, 2.0, 2.0, 2.0]), [0.0, 0.0, 2.0, 1.0, 0.0, 0.0])
    array([0., 0., 3., 2., 0., 0.])
    """
    return inertia @ twist


@batched(inertia=(6, 6), twist=(6,))
def kinetic_energy(inertia: Array, twist: Array) -> Real:
    """Kinetic energy of a body, from its spatial inertia and its twist.

    Parameters
    ----------
    inertia
        Spatial inertia, shape (..., 6, 6).
    twist
        (omega, v) in the same frame, rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        J, shape (...).

    Examples
    --------
    >>> import numpy as np
    >>> kinetic_energy(np.diag([1.0, 1.0, 1.5, 2.0, 2.0, 2.0]), [0.0, 0.0, 2.0, 1.0, 0.0, 0.0])
    np.float64(4.0)
    """
    return 0.5 * (twist @ (inertia @ twist))


@batched(inertia=(6, 6), spatial_acceleration=(6,), twist=(6,))
def newton_euler_wrench(inertia: Array, spatial_acceleration: Array, twist: Array) -> Array:
    """Wrench that gives a body an acceleration: the rate of change of its momentum.

    Parameters
    ----------
    inertia
        Spatial inertia, shape (..., 6, 6).
    spatial_acceleration
        Rate of change of the twist, rad/s² and m/s², shape (..., 6).
    twist
        (omega, v), rad/s and m/s, shape (..., 6).

    Returns
    -------
    ndarray
        I a + v x* I v (Featherstone, Rigid Body Dynamics Algorithms (2008), section 2.14): (m, f) about the origin,
        N·m and N, shape (..., 6).

    Examples
    --------
    A body turns steadily about an axis 0.5 m beside its centre; it is drawn there with m r omega² = 2 * 0.5 * 2².

    >>> import numpy as np
    >>> newton_euler_wrench(np.diag([1.0, 1.0, 1.5, 2.0, 2.0, 2.0]), np.zeros(6), [0, 0, 2.0, 1.0, 0, 0])
    array([0., 0., 0., 0., 4., 0.])
    """
    return inertia @ spatial_acceleration + wrench_cross(twist, inertia @ twist)
