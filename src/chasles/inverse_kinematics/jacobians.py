"""Inverses of Jacobians, exact and damped, and manipulability measures, over batches.

A Jacobian mixes rad and m. For results with a physical unit, pass only its angular rows ``J[..., :3, :]`` or only its
linear rows ``J[..., 3:, :]``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array
from chasles.engine.program.scalar import Array, Quantity
from chasles.engine.validators import real


def pseudo_inverse(J: ArrayLike, relative_tolerance: float = 1e-12) -> NDArray[np.float64]:
    """Moore–Penrose inverse: the smallest joint rates for a twist, or the rates that come closest to it.

    Near singular configurations the rates grow without bound; see `damped_inverse`.

    Parameters
    ----------
    J
        Shape (..., m, n).
    relative_tolerance
        Singular values below this fraction of the largest count as zero.

    Returns
    -------
    ndarray
        Shape (..., n, m); NaN for samples with NaN or infinities.

    Examples
    --------
    >>> pseudo_inverse([[2.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    array([[0.5 , 0.  ],
           [0.  , 0.  ],
           [0.  , 0.25]])
    """
    U, sigma, Vt = singular_values(J)
    kept = sigma > relative_tolerance * sigma[..., :1]
    return _composed(U, np.where(kept, 1.0 / np.where(kept, sigma, 1.0), 0.0 * sigma), Vt)


def damped_inverse(J: ArrayLike, damping: float) -> NDArray[np.float64]:
    """Damped least-squares inverse Jᵀ (J Jᵀ + damping² I)⁻¹, which accepts an error to keep all rates bounded.

    Source: Nakamura and Hanafusa, Inverse kinematic solutions with singularity robustness for robot manipulator
    control (1986).

    Parameters
    ----------
    J
        Shape (..., m, n).
    damping
        Damping, positive, in the unit of J's singular values.

    Returns
    -------
    ndarray
        Shape (..., n, m); its largest singular value is at most 1 / (2 damping).

    Examples
    --------
    >>> damped_inverse([[1.0, 0.0], [0.0, 0.0]], damping=0.5)
    array([[0.8, 0. ],
           [0. , 0. ]])
    """
    damping = real(damping, "damping", above=0)
    U, sigma, Vt = singular_values(J)
    return _composed(U, _damped(sigma, damping), Vt)


def selectively_damped_inverse(
    J: ArrayLike, threshold: float = 0.04, largest_damping: float = 0.04
) -> NDArray[np.float64]:
    """Inverse that is exact away from singularities and damped near them, according to the smallest singular value s.

    The squared damping is ``(1 - (s / threshold)²) largest_damping²`` where s < threshold, and 0 elsewhere.

    Source: Chiaverini, Siciliano and Egeland, Review of the damped least-squares inverse kinematics with experiments on
    an industrial robot manipulator (1994).

    Parameters
    ----------
    J
        Shape (..., m, n).
    threshold
        Singular value, positive, at and above which there is no damping.
    largest_damping
        Damping at a singularity, positive.

    Returns
    -------
    ndarray
        Shape (..., n, m).

    Examples
    --------
    >>> selectively_damped_inverse([[2.0, 0.0], [0.0, 1.0]])
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    threshold = real(threshold, "threshold", above=0)
    largest_damping = real(largest_damping, "largest_damping", above=0)
    U, sigma, Vt = singular_values(J)
    with np.errstate(invalid="ignore"):  # samples that are not finite
        share = np.minimum(sigma[..., -1:], threshold) / threshold
        return _composed(U, _damped(sigma, np.sqrt(1.0 - share**2) * largest_damping), Vt)


def singular_values(J: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Thin singular value decomposition (U, sigma, Vᵀ) over batches; NaN for samples that are not finite.

    >>> U, sigma, Vt = singular_values([[3.0, 0.0], [0.0, 2.0]])
    >>> sigma
    array([3., 2.])
    """
    matrix = np.asarray(as_array(J, "", "J"), dtype=np.float64)
    if matrix.ndim < 2 or 0 in matrix.shape[-2:]:
        raise ArgumentError(f"J has shape {matrix.shape}; expected (..., m, n)")
    finite = np.asarray(np.isfinite(matrix).all(axis=(-2, -1)))[..., None]
    U, sigma, Vt = np.linalg.svd(np.where(finite[..., None], matrix, 0.0), full_matrices=False)
    return U, np.where(finite, sigma, np.nan), Vt


def _damped(sigma: NDArray[np.float64], damping: Quantity) -> NDArray[np.float64]:
    """Return s / (s² + damping²) for singular values s, without squares that overflow or vanish."""
    with np.errstate(invalid="ignore"):  # samples that are not finite
        size = np.hypot(sigma, damping)
        return np.asarray(sigma / size / size)


def _composed(U: Array, inverse: Array, Vt: Array) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        composed: NDArray[np.float64] = np.swapaxes(Vt, -1, -2) * inverse[..., None, :] @ np.swapaxes(U, -1, -2)
    return composed


class ManipulabilityEllipsoid(NamedTuple):
    """Ellipsoid of the twists for joint rates of unit norm, given by its semi-axes.

    Attributes
    ----------
    axes
        Directions of the semi-axes as columns, (..., m, k), longest first.
    lengths
        Lengths of the semi-axes, (..., k). The force ellipsoid, for joint torques of unit norm, has their reciprocals.
    """

    axes: Array
    lengths: Array


def manipulability(J: ArrayLike) -> Any:
    """Product of the singular values, sqrt(det(J Jᵀ)): volume of the ellipsoid up to a factor; 0 when singular.

    Source: Yoshikawa, Manipulability of robotic mechanisms (1985).

    Parameters
    ----------
    J
        Shape (..., m, n).

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> manipulability([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    np.float64(6.0)
    """
    return singular_values(J)[1].prod(axis=-1)


def condition_number(J: ArrayLike) -> Array:
    """Ratio of the largest to the smallest singular value: 1 if isotropic, inf if singular.

    Parameters
    ----------
    J
        Shape (..., m, n).

    Returns
    -------
    ndarray
        Shape (...).

    Examples
    --------
    >>> condition_number([[3.0, 0.0], [0.0, 2.0]])
    np.float64(1.5)
    """
    sigma = singular_values(J)[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = sigma[..., 0] / sigma[..., -1]
    return np.where(sigma[..., -1] == 0.0, np.inf, ratio)[()]


def velocity_ellipsoid(J: ArrayLike) -> ManipulabilityEllipsoid:
    """Ellipsoid of the twists for joint rates of unit norm (Lynch and Park, Modern Robotics, section 5.4).

    Parameters
    ----------
    J
        Shape (..., m, n).

    Examples
    --------
    >>> velocity_ellipsoid([[0.0, 2.0], [3.0, 0.0]]).lengths
    array([3., 2.])
    """
    U, sigma, _ = singular_values(J)
    return ManipulabilityEllipsoid(U, sigma)


def singular_directions(J: ArrayLike, relative_tolerance: float = 1e-9) -> Array:
    """Directions in which the frame cannot move at one configuration.

    Parameters
    ----------
    J
        Shape (m, n).
    relative_tolerance
        Singular values below this fraction of the largest count as zero.

    Returns
    -------
    ndarray
        Orthonormal columns (m, k); k = 0 away from singularities. With fewer joints than rows, k is m - n at least.

    Examples
    --------
    >>> np.abs(singular_directions([[1.0, 2.0], [0.0, 0.0]]))
    array([[0.],
           [1.]])
    """
    sigma = singular_values(J)[1]
    if sigma.ndim != 1 or np.isnan(sigma).any():
        raise ArgumentError(f"singular directions are those of one finite Jacobian, not of shape {np.shape(J)}")
    U = np.linalg.svd(np.asarray(J, dtype=np.float64), full_matrices=True)[0]
    rank = int((sigma > relative_tolerance * sigma[0]).sum()) if sigma[0] > 0.0 else 0
    return U[:, rank:]
