"""Inertia of rigid bodies: mass properties and spatial inertia, change of frame, parallel axes, sum.

- *Mass properties*: mass, centre of mass, and rotational inertia about the centre of mass.
- *Spatial inertia* (6, 6) about the origin of the frame: it maps a twist to the momentum. The spatial inertia of
  several bodies is the sum of theirs, in one frame.

For the *pseudo-inertia* (4, 4) see `chasles.geometry.pseudo_inertias`. Elements off the diagonal of a rotational
inertia are the elements of the matrix: minus the integral of x y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.base.comparable import comparable
from chasles.engine import where
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array, mirrored, skew
from chasles.geometry.projections import POSE


@comparable
class MassProperties(NamedTuple):
    """Inertia of a rigid body in a frame.

    Attributes
    ----------
    mass
        kg, shape (...).
    center_of_mass
        m, shape (..., 3).
    rotational_inertia
        About the centre of mass in the axes of the frame, kg·m², shape (..., 3, 3).
    """

    mass: Real
    center_of_mass: Array
    rotational_inertia: Array


@batched(mass=(), center_of_mass=(3,), rotational_inertia=(3, 3))
def spatial_inertia(mass: Real, center_of_mass: Array, rotational_inertia: Array) -> Array:
    """Spatial inertia of a body (Featherstone, Rigid Body Dynamics Algorithms (2008), section 2.13).

    Parameters
    ----------
    mass
        kg, shape (...).
    center_of_mass
        m, shape (..., 3).
    rotational_inertia
        About the centre of mass, kg·m², shape (..., 3, 3).

    Returns
    -------
    ndarray
        Symmetric, shape (..., 6, 6): it maps a twist (omega, v) to the momentum (angular, linear), both about the
        origin.

    Examples
    --------
    >>> spatial_inertia(2.0, [0.5, 0.0, 0.0], np.eye(3))
    array([[ 1. ,  0. ,  0. ,  0. , -0. ,  0. ],
           [ 0. ,  1.5,  0. ,  0. ,  0. , -1. ],
           [ 0. ,  0. ,  1.5, -0. ,  1. ,  0. ],
           [ 0. ,  0. , -0. ,  2. ,  0. ,  0. ],
           [-0. ,  0. ,  1. ,  0. ,  2. ,  0. ],
           [ 0. , -1. ,  0. ,  0. ,  0. ,  2. ]])
    """
    about_origin = rotational_inertia + inertia_of_point(mass, center_of_mass)
    return spatial_inertia_from_moments(mass, mass * center_of_mass, about_origin)


@batched(inertia=(6, 6))
def mass_properties_from_spatial_inertia(inertia: Array) -> MassProperties:
    """Mass, centre of mass and rotational inertia of a body: the inverse of `spatial_inertia`.

    Parameters
    ----------
    inertia
        Spatial inertia of a rigid body, shape (..., 6, 6).

    Returns
    -------
    MassProperties
        Mass properties; for a body without mass, the centre of mass is set to the origin.

    Examples
    --------
    >>> mass, center, about_center = mass_properties_from_spatial_inertia(
    ...     spatial_inertia(2.0, [0.5, 0.0, 0.0], np.eye(3)))
    >>> float(mass), center, np.diag(about_center)
    (2.0, array([0.5, 0. , 0. ]), array([1., 1., 1.]))
    """
    mass = inertia[5, 5]
    center = first_moment_of(inertia) * reciprocal_of_mass(mass)
    return MassProperties(mass, center, inertia[:3, :3] - inertia_of_point(mass, center))


@batched(T_ab=POSE, mass=(), center_of_mass_b=(3,), rotational_inertia_b=(3, 3))
def transform_mass_properties(
    T_ab: Array, mass: Real, center_of_mass_b: Array, rotational_inertia_b: Array
) -> MassProperties:
    """Mass properties in a frame a, from those in a frame b.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    mass, center_of_mass_b, rotational_inertia_b
        Mass properties in b, shapes (...), (..., 3) and (..., 3, 3).

    Returns
    -------
    MassProperties
        Mass properties in a: transformed centre of mass, and rotated inertia about it.

    Examples
    --------
    >>> T_ab = np.array([[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> _, center, about_center = transform_mass_properties(T_ab, 2.0, [0.5, 0.0, 0.0], np.diag([1.0, 2.0, 3.0]))
    >>> center, np.diag(about_center)
    (array([1. , 0.5, 0. ]), array([2., 1., 3.]))
    """
    R, p = elementary.rotation_of(T_ab), elementary.translation_of(T_ab)
    return MassProperties(mass, R @ center_of_mass_b + p, mirrored(R @ rotational_inertia_b @ R.T))


@batched(T_ab=POSE, inertia_b=(6, 6))
def transform_spatial_inertia(T_ab: Array, inertia_b: Array) -> Array:
    """Spatial inertia in a frame a, from that in a frame b.

    The same transformation holds for every symmetric matrix that maps twists to momenta or wrenches, such as
    articulated-body and operational-space inertias, stiffnesses and dampings.

    Parameters
    ----------
    T_ab
        Pose of b seen from a, shape (..., 4, 4).
    inertia_b
        Symmetric, about b's origin in b's axes, shape (..., 6, 6).

    Returns
    -------
    ndarray
        Ad(T_ba)ᵀ I_b Ad(T_ba), symmetric, shape (..., 6, 6).

    Examples
    --------
    >>> T_ab = np.eye(4)
    >>> T_ab[:3, 3] = [0.5, 0.0, 0.0]
    >>> np.diag(transform_spatial_inertia(T_ab, spatial_inertia(2.0, np.zeros(3), np.eye(3))))
    array([1. , 1.5, 1.5, 2. , 2. , 2. ])
    """
    R, P = elementary.rotation_of(T_ab), skew(elementary.translation_of(T_ab))
    turning, coupling, moving = (R @ block @ R.T for block in (inertia_b[:3, :3], inertia_b[:3, 3:], inertia_b[3:, 3:]))
    moving = mirrored(moving)
    shifted = coupling + P @ moving
    turning = mirrored(turning - coupling @ P + P @ shifted.T)
    return np.concatenate([np.concatenate([turning, shifted], axis=1), np.concatenate([shifted.T, moving], axis=1)])


@batched(rotational_inertia=(3, 3), mass=(), offset=(3,))
def parallel_axes(rotational_inertia: Array, mass: Real, offset: Array) -> Array:
    """Rotational inertia about a point, from that about the centre of mass (the Huygens-Steiner theorem).

    Parameters
    ----------
    rotational_inertia
        About the centre of mass, kg·m², shape (..., 3, 3).
    mass
        Mass, kg, shape (...). A negative mass gives the inverse: from the point to the centre of mass.
    offset
        From the point to the centre of mass or back, m, shape (..., 3).

    Returns
    -------
    ndarray
        I + m (d² 1 - d dᵀ), shape (..., 3, 3).

    Examples
    --------
    >>> np.diag(parallel_axes(np.eye(3), 2.0, [0.5, 0.0, 0.0]))
    array([1. , 1.5, 1.5])
    """
    return rotational_inertia + inertia_of_point(mass, offset)


@batched(
    mass_1=(),
    center_of_mass_1=(3,),
    rotational_inertia_1=(3, 3),
    mass_2=(),
    center_of_mass_2=(3,),
    rotational_inertia_2=(3, 3),
)
def add_mass_properties(
    mass_1: Real,
    center_of_mass_1: Array,
    rotational_inertia_1: Array,
    mass_2: Real,
    center_of_mass_2: Array,
    rotational_inertia_2: Array,
) -> MassProperties:
    """Mass properties of two bodies together: ``add_mass_properties(*first, *second)``.

    No moments are taken about the origin, so that small bodies far from it lose no digits.

    Parameters
    ----------
    mass_1, center_of_mass_1, rotational_inertia_1
        Mass properties of the first body, shapes (...), (..., 3) and (..., 3, 3).
    mass_2, center_of_mass_2, rotational_inertia_2
        Mass properties of the second body in the same frame. A negative mass and inertia remove a part.

    Returns
    -------
    MassProperties
        Mass properties of both bodies together. If the masses cancel out, the centre of mass is that of the first.

    Examples
    --------
    >>> ball = MassProperties(1.0, np.array([1.0, 0.0, 0.0]), np.zeros((3, 3)))
    >>> mass, center, about_center = add_mass_properties(*ball, *ball._replace(center_of_mass=-ball.center_of_mass))
    >>> float(mass), center, np.diag(about_center)
    (2.0, array([0., 0., 0.]), array([0., 2., 2.]))
    """
    mass = mass_1 + mass_2
    share = mass_2 * reciprocal_of_mass(mass)
    between = center_of_mass_2 - center_of_mass_1
    rotational_inertia = rotational_inertia_1 + rotational_inertia_2 + inertia_of_point(mass_1 * share, between)
    return MassProperties(mass, center_of_mass_1 + share * between, rotational_inertia)


def spatial_inertia_from_moments(mass: Real, first_moment: Array, about_origin: Array) -> Array:
    """Spatial inertia from the mass, its first moment and the rotational inertia about the origin."""
    coupling = skew(first_moment)
    return np.concatenate(
        [np.concatenate([about_origin, coupling], axis=1), np.concatenate([coupling.T, mass * np.eye(3)], axis=1)]
    )


def first_moment_of(inertia: Array) -> Array:
    """Mass times centre of mass, from a spatial inertia."""
    return np.array([inertia[2, 4], inertia[0, 5], inertia[1, 3]])


def inertia_of_point(mass: Real, offset: Array) -> Array:
    """Rotational inertia of a mass in one point about another: m (d² 1 - d dᵀ)."""
    x, y, z = offset
    for_unit_mass = [[y * y + z * z, -x * y, -x * z], [-x * y, x * x + z * z, -y * z], [-x * z, -y * z, x * x + y * y]]
    inertia: Array = mass * np.array(for_unit_mass)
    return inertia


def reciprocal_of_mass(mass: Real) -> Real:
    """1 / mass, and 0 for no mass."""
    return where(mass == 0.0, 0.0, 1.0 / where(mass == 0.0, 1.0, mass))
