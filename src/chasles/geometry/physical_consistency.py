"""Which pseudo-inertias belong to a possible body, and the one nearest to a matrix that does not.

A body is possible if masses, none of them negative, can make it: its pseudo-inertia is positive semidefinite. That asks
for a mass that is not negative and for second moments of mass about the centre of mass that are not negative in any
direction; the latter says more than moments of inertia that are not negative: it is their triangle inequality.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError


def is_physically_consistent(J: ArrayLike, tolerance: float = 1e-9) -> NDArray[np.bool_] | np.bool_:
    """Whether pseudo-inertias belong to possible bodies.

    Parameters
    ----------
    J
        Pseudo-inertia, shape (..., 4, 4).
    tolerance
        How far below zero the second moments about the centre of mass may be, relative to their largest: for rounding.

    Returns
    -------
    ndarray of bool
        Shape (...). False for NaN. Nothing at all, and a mass in one point, on a line or in a plane, are possible.

    Notes
    -----
    Wensing, Kim & Slotine, "Linear Matrix Inequalities for Physically-Consistent Inertial Parameter Identification"
    (RA-L 2018); Traversaro, Brossette, Escande & Nori, "Identification of fully physical consistent inertial parameters
    using optimization on manifolds" (IROS 2016).

    Examples
    --------
    Moments of inertia of 1, 1 and 3 kg m² break the triangle inequality:

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
    """The possible pseudo-inertia nearest to a matrix, in the Frobenius norm: its negative eigenvalues become zero.

    Parameters
    ----------
    J
        Symmetric matrix of second moments (kg m²), first moments (kg m) and mass (kg), shape (..., 4, 4).
    least
        Smallest eigenvalue of the result; a positive one makes it positive definite, as log-Cholesky parameters need.

    Returns
    -------
    ndarray
        Shape (..., 4, 4). Mass and centre of mass change too. The norm counts 1 kg, 1 kg m and 1 kg m² alike, so the
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
