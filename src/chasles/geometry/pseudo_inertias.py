"""Pseudo-inertia: the 4x4 matrix of the second and first moments of mass and the mass of a rigid body.

It is the integral of (x, y, z, 1) (x, y, z, 1)^T over the mass: the matrix J of Legnani, Casolo, Righettini & Zappa, "A
homogeneous matrix approach to 3D kinematics and dynamics" (Mechanism and Machine Theory, 1996), with second moments of
mass where a rotational inertia has moments of inertia. That of a real body is positive semidefinite (Wensing, Kim &
Slotine, "Linear Matrix Inequalities for Physically-Consistent Inertial Parameter Identification", RA-L 2018). The
pseudo-inertia of bodies together is the sum of theirs, in one frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.inertias import (
    MassProperties,
    first_moment_of,
    mirrored,
    reciprocal_of_mass,
    spatial_inertia_from_moments,
)
from chasles.geometry.kinds import POSE


@batched(mass=(), center_of_mass=(3,), rotational_inertia=(3, 3))
def pseudo_inertia(mass: Any, center_of_mass: Array, rotational_inertia: Array) -> Array:
    """Pseudo-inertia of a body.

    Parameters
    ----------
    mass
        kg, shape (...).
    center_of_mass
        m, shape (..., 3).
    rotational_inertia
        About the centre of mass, kg m², shape (..., 3, 3).

    Returns
    -------
    ndarray
        Symmetric, shape (..., 4, 4): second moments about the origin, and first moments and mass in the last row.

    Examples
    --------
    >>> pseudo_inertia(2.0, [0.5, 0.0, 0.0], np.eye(3))
    array([[1. , 0. , 0. , 1. ],
           [0. , 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0. ],
           [1. , 0. , 0. , 2. ]])
    """
    second_moment = second_moments(rotational_inertia) + mass * np.outer(center_of_mass, center_of_mass)
    return pseudo_inertia_of_moments(mass, mass * center_of_mass, second_moment)


@batched(J=(4, 4))
def mass_properties_from_pseudo_inertia(J: Array) -> MassProperties:
    """Mass, centre of mass and rotational inertia of a body: the inverse of `pseudo_inertia`.

    Parameters
    ----------
    J
        Pseudo-inertia, shape (..., 4, 4).

    Returns
    -------
    MassProperties
        A body without mass has no centre of mass; it is put in the origin.

    Examples
    --------
    >>> mass, center, about_center = mass_properties_from_pseudo_inertia(
    ...     pseudo_inertia(2.0, [0.5, 0.0, 0.0], np.eye(3)))
    >>> float(mass), center, np.diag(about_center)
    (2.0, array([0.5, 0. , 0. ]), array([1., 1., 1.]))
    """
    mass = J[3, 3]
    center = J[:3, 3] * reciprocal_of_mass(mass)
    return MassProperties(mass, center, moments_of_inertia(J[:3, :3] - mass * np.outer(center, center)))


@batched(J=(4, 4))
def spatial_inertia_from_pseudo_inertia(J: Array) -> Array:
    """Spatial inertia (6, 6) from the pseudo-inertia (4, 4); there is no division, so the mass may be 0.

    Parameters
    ----------
    J
        Pseudo-inertia, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 6, 6).

    Examples
    --------
    >>> np.diag(spatial_inertia_from_pseudo_inertia(np.diag([1.0, 2.0, 3.0, 10.0])))
    array([ 5.,  4.,  3., 10., 10., 10.])
    """
    return spatial_inertia_from_moments(J[3, 3], J[:3, 3], moments_of_inertia(J[:3, :3]))


@batched(inertia=(6, 6))
def pseudo_inertia_from_spatial_inertia(inertia: Array) -> Array:
    """Pseudo-inertia (4, 4) from the spatial inertia (6, 6) of a rigid body; the mass may be 0.

    Parameters
    ----------
    inertia
        Spatial inertia, shape (..., 6, 6).

    Returns
    -------
    ndarray
        Shape (..., 4, 4).

    Examples
    --------
    >>> np.diag(pseudo_inertia_from_spatial_inertia(np.diag([5.0, 4.0, 3.0, 10.0, 10.0, 10.0])))
    array([ 1.,  2.,  3., 10.])
    """
    return pseudo_inertia_of_moments(inertia[5, 5], first_moment_of(inertia), second_moments(inertia[:3, :3]))


@batched(T_ab=POSE, J_b=(4, 4))
def transform_pseudo_inertia(T_ab: Array, J_b: Array) -> Array:
    """Pseudo-inertia in a frame a, from that in a frame b: T_ab J_b T_ab^T.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    J_b
        Symmetric, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Symmetric, shape (..., 4, 4).

    Examples
    --------
    >>> T_ab = np.eye(4)
    >>> T_ab[:3, 3] = [0.5, 0.0, 0.0]
    >>> transform_pseudo_inertia(T_ab, pseudo_inertia(2.0, np.zeros(3), np.eye(3)))[0]
    array([1., 0., 0., 1.])
    """
    R, p = elementary.rotation_of(T_ab), elementary.translation_of(T_ab)
    mass, turned = J_b[3, 3], R @ J_b[:3, 3]
    middle = turned + 0.5 * mass * p
    second_moment = R @ J_b[:3, :3] @ R.T + np.outer(p, middle) + np.outer(middle, p)
    return pseudo_inertia_of_moments(mass, turned + mass * p, mirrored(second_moment))


def pseudo_inertia_of_moments(mass: Any, first_moment: Array, second_moment: Array) -> Array:
    """Pseudo-inertia (4, 4) from the mass and its first (3,) and second moments (3, 3)."""
    rows = [[*row, first] for row, first in zip(second_moment, first_moment, strict=True)]
    return np.array([*rows, [*first_moment, mass]])


def moments_of_inertia(second_moment: Array) -> Array:
    """Moments of inertia (3, 3) from second moments of mass: tr(S) 1 - S."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = second_moment
    return np.array([[yy + zz, -xy, -xz], [-yx, xx + zz, -yz], [-zx, -zy, xx + yy]])


def second_moments(rotational_inertia: Array) -> Array:
    """Second moments of mass (3, 3) from moments of inertia: tr(I) / 2 1 - I."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = rotational_inertia
    return np.array(
        [
            [0.5 * (yy + zz - xx), -xy, -xz],
            [-yx, 0.5 * (xx + zz - yy), -yz],
            [-zx, -zy, 0.5 * (xx + yy - zz)],
        ]
    )
