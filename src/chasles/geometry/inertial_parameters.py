"""Inertial parameters of a body as one vector (10): what forces and energies are linear in.

The order is m, m c (3), then the moments of inertia xx, xy, xz, yy, yz, zz about the origin of the frame; elements off
the diagonal are the elements of the matrix. *Log-Cholesky parameters* (10) are another vector of the same body, whose
every value belongs to a possible body.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import exp, log, sqrt
from chasles.geometry.batched import batched
from chasles.geometry.elementary import Array
from chasles.geometry.pseudo_inertias import moments_of_inertia, pseudo_inertia_of_moments, second_moments


@batched(parameters=(10,))
def pseudo_inertia_from_inertial_parameters(parameters: Array) -> Array:
    """Pseudo-inertia (4, 4) from the inertial parameters (10).

    Parameters
    ----------
    parameters
        m, m c, and xx, xy, xz, yy, yz, zz of the inertia about the origin, kg, kg m, kg m², shape (..., 10).

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
    """Pseudo-inertia (4, 4) from log-Cholesky parameters (10): positive definite whatever the parameters are.

    Parameters
    ----------
    parameters
        alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3, shape (..., 10). The mass is exp(2 alpha) and the centre of mass
        is t; d and s shape the body about it.

    Returns
    -------
    ndarray
        U U^T with U = exp(alpha) [[exp(d1), s12, s13, t1], [0, exp(d2), s23, t2], [0, 0, exp(d3), t3], [0, 0, 0, 1]],
        shape (..., 4, 4).

    Notes
    -----
    Rucker & Wensing, "Smooth Parameterization of Rigid-Body Inertia" (IEEE Robotics and Automation Letters 7(2), 2022).
    The map is smooth and one-to-one, so that an optimiser needs no constraints.

    Examples
    --------
    >>> pseudo_inertia_from_log_cholesky(np.zeros(10))  # 1 kg, with a second moment of 1 kg m² in every direction
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
