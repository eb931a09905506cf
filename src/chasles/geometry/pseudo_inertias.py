"""Pseudo-inertia: the 4x4 matrix of the second and first moments of mass and the mass of a rigid body.

It is the integral of (x, y, z, 1) (x, y, z, 1)ᵀ over the mass: the matrix J of Legnani, Casolo, Righettini & Zappa, "A
homogeneous matrix approach to 3D kinematics and dynamics" (Mechanism and Machine Theory, 1996), with second moments of
mass where a rotational inertia has moments of inertia. That of a real body is positive semidefinite (Wensing, Kim &
Slotine, "Linear Matrix Inequalities for Physically-Consistent Inertial Parameter Identification", RA-L 2018). The
pseudo-inertia of bodies together is the sum of theirs, in one frame.

A body is physically consistent if it can be made of point masses that are not negative. Its mass must not be negative,
and its second moments of mass about the centre of mass must not be negative in any direction. The latter is stronger
than moments of inertia that are not negative: it is their triangle inequality.

The vector of *inertial parameters* (10), in which forces and energies are linear, holds m, m c (3), then the moments of
inertia xx, xy, xz, yy, yz, zz about the origin of the frame; elements off the diagonal are the elements of the matrix.
*Log-Cholesky parameters* (10) are another vector of the same body, whose every value belongs to a possible body.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import exp, log, sqrt
from chasles.engine.program.scalar import Real
from chasles.geometry import elementary
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array, mirrored
from chasles.geometry.inertias import (
    MassProperties,
    first_moment_of,
    reciprocal_of_mass,
    spatial_inertia_from_moments,
)
from chasles.geometry.projections import POSE


@batched(mass=(), center_of_mass=(3,), rotational_inertia=(3, 3))
def pseudo_inertia(mass: Real, center_of_mass: Array, rotational_inertia: Array) -> Array:
    """Pseudo-inertia of a body.

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
        Mass properties; for a body without mass, the centre of mass is set to the origin.

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
    """Pseudo-inertia in a frame a, from that in a frame b: T_ab J_b T_abᵀ.

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


def pseudo_inertia_of_moments(mass: Real, first_moment: Array, second_moment: Array) -> Array:
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


@batched(parameters=(10,))
def pseudo_inertia_from_inertial_parameters(parameters: Array) -> Array:
    """Pseudo-inertia (4, 4) from the inertial parameters (10).

    Parameters
    ----------
    parameters
        m, m c, and xx, xy, xz, yy, yz, zz of the inertia about the origin, kg, kg·m, kg·m², shape (..., 10).

    Returns
    -------
    ndarray
        Symmetric, shape (..., 4, 4); see `pseudo_inertia`.

    Examples
    --------
    >>> np.diag(pseudo_inertia_from_inertial_parameters([10.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0, 4.0, 0.0, 3.0]))
    array([ 1.,  2.,  3., 10.])
    """
    mass, x, y, z, xx, xy, xz, yy, yz, zz = parameters
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pseudo_inertia_of_moments(mass, np.array([x, y, z]), second_moments(inertia))


@batched(J=(4, 4))
def inertial_parameters_from_pseudo_inertia(J: Array) -> Array:
    """Inertial parameters (10) from the pseudo-inertia: the inverse of `pseudo_inertia_from_inertial_parameters`.

    Parameters
    ----------
    J
        Pseudo-inertia, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 10).

    Examples
    --------
    >>> inertial_parameters_from_pseudo_inertia(np.diag([1.0, 2.0, 3.0, 10.0]))
    array([10.,  0.,  0.,  0.,  5., -0., -0.,  4., -0.,  3.])
    """
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = moments_of_inertia(J[:3, :3])
    return np.array([J[3, 3], J[0, 3], J[1, 3], J[2, 3], xx, xy, xz, yy, yz, zz])


@batched(parameters=(10,))
def pseudo_inertia_from_log_cholesky(parameters: Array) -> Array:
    """Pseudo-inertia (4, 4) from log-Cholesky parameters (10): positive definite for all parameter values.

    Parameters
    ----------
    parameters
        alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3, shape (..., 10). The mass is exp(2 alpha) and the centre of mass
        is t; d and s shape the body about it.

    Returns
    -------
    ndarray
        U Uᵀ with U = exp(alpha) [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3], [0, 0, 0, 1]],
        shape (..., 4, 4).

    Notes
    -----
    Rucker & Wensing, "Smooth Parameterization of Rigid-Body Inertia" (IEEE Robotics and Automation Letters 7(2), 2022).
    The map is smooth and one-to-one, so that an optimiser needs no constraints.

    Examples
    --------
    >>> pseudo_inertia_from_log_cholesky(np.zeros(10))  # 1 kg, with a second moment of 1 kg·m² in every direction
    array([[1., 0., 0., 0.],
           [0., 1., 0., 0.],
           [0., 0., 1., 0.],
           [0., 0., 0., 1.]])
    """
    alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3 = parameters
    rows = [[exp(d1), s12, s13, t1], [0.0, exp(d2), s23, t2], [0.0, 0.0, exp(d3), t3], [0.0, 0.0, 0.0, 1.0]]
    U = np.array(rows)
    J: Array = exp(2.0 * alpha) * (U @ U.T)
    return J


@batched(J=(4, 4))
def log_cholesky_from_pseudo_inertia(J: Array) -> Array:
    """Log-Cholesky parameters (10) of a body: the inverse of `pseudo_inertia_from_log_cholesky`.

    Parameters
    ----------
    J
        Positive definite pseudo-inertia, shape (..., 4, 4).

    Returns
    -------
    ndarray
        Shape (..., 10). NaN or infinite for a matrix that is not positive definite: a mass in one point, on a line or
        in a plane has none.

    Examples
    --------
    >>> log_cholesky_from_pseudo_inertia(np.diag([1.0, 1.0, 1.0, np.exp(2.0)])).round(12)
    array([ 1., -1., -1., -1.,  0.,  0.,  0.,  0.,  0.,  0.])
    """
    mass = J[3, 3]
    t = J[:3, 3] / mass
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = J[:3, :3] / mass - np.outer(t, t)
    third = sqrt(zz)
    s13, s23 = xz / third, yz / third
    rest = yy - s23 * s23
    s12 = (xy - s13 * s23) / sqrt(rest)
    logarithms: list[Any] = [0.5 * log(x) for x in (mass, xx - s12 * s12 - s13 * s13, rest, zz)]
    return np.array([*logarithms, s12, s23, s13, *t])


def is_physically_consistent(J: ArrayLike, tolerance: float = 1e-9) -> NDArray[np.bool_] | np.bool_:
    """Whether pseudo-inertias are those of physically consistent bodies.

    Parameters
    ----------
    J
        Pseudo-inertia, shape (..., 4, 4).
    tolerance
        Rounding tolerance: a second moment about the centre of mass may be negative by this fraction of the largest.

    Returns
    -------
    ndarray of bool
        Shape (...). False for NaN. True for the zero matrix, and for a mass at a point, on a line or in a plane.

    Notes
    -----
    Wensing, Kim & Slotine, "Linear Matrix Inequalities for Physically-Consistent Inertial Parameter Identification"
    (RA-L 2018); Traversaro, Brossette, Escande & Nori, "Identification of fully physical consistent inertial parameters
    using optimization on manifolds" (IROS 2016).

    Examples
    --------
    Moments of inertia of 1, 1 and 3 kg·m² break the triangle inequality:

    >>> from chasles.geometry import pseudo_inertia
    >>> moments = [np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 1.0, 3.0])]
    >>> is_physically_consistent(pseudo_inertia(1.0, [0.0, 0.0, 0.1], moments))
    array([ True, False])
    """
    A = _symmetric(J)
    mass, first = A[..., 3, 3], A[..., :3, 3]
    has_mass = mass > 0.0
    second = A[..., :3, :3] - first[..., :, None] * first[..., None, :] / np.where(has_mass, mass, 1.0)[..., None, None]
    finite = np.isfinite(A).all((-2, -1))
    moments = np.linalg.eigvalsh(np.where(finite[..., None, None], second, 0.0))
    is_spread = moments[..., 0] >= -tolerance * np.abs(moments).max(-1)
    is_possible: NDArray[np.bool_] = finite & is_spread & (has_mass | ((mass == 0.0) & (first == 0.0).all(-1)))
    return is_possible


def nearest_physically_consistent(J: ArrayLike, least: float = 0.0) -> NDArray[np.float64]:
    """Nearest physically consistent pseudo-inertia in the Frobenius norm: negative eigenvalues become zero.

    Parameters
    ----------
    J
        Symmetric matrix of second moments (kg·m²), first moments (kg·m) and mass (kg), shape (..., 4, 4).
    least
        Smallest eigenvalue of the result; a positive one makes it positive definite, as log-Cholesky parameters need.

    Returns
    -------
    ndarray
        Shape (..., 4, 4). Mass and centre of mass change too. The norm counts 1 kg, 1 kg·m and 1 kg·m² alike, so the
        result depends on the frame's origin, but not on its axes. NaN for a sample that is not finite.

    Raises
    ------
    ArgumentError
        If the shape is wrong or ``least`` is negative.

    Notes
    -----
    Higham, "Computing a nearest symmetric positive semidefinite matrix" (Linear Algebra Appl. 103, 1988).

    Examples
    --------
    >>> np.diag(nearest_physically_consistent(np.diag([0.2, -0.1, 0.3, 2.0])))
    array([0.2, 0. , 0.3, 2. ])
    """
    if not least >= 0.0:
        raise ArgumentError(f"the smallest eigenvalue must not be negative, but is {least}")
    A = _symmetric(J)
    finite = np.isfinite(A).all((-2, -1))[..., None, None]
    values, vectors = np.linalg.eigh(np.where(finite, A, 0.0))
    raised = vectors * np.maximum(values, least)[..., None, :] @ np.swapaxes(vectors, -1, -2)
    return np.where(finite, _symmetric(raised), np.nan)


def _symmetric(J: ArrayLike) -> NDArray[Any]:
    A = np.asarray(J, dtype=np.float64)
    if A.shape[-2:] != (4, 4):
        raise ArgumentError(f"a pseudo-inertia has shape (..., 4, 4), not {A.shape}")
    half: NDArray[Any] = 0.5 * (A + np.swapaxes(A, -1, -2))
    return half
