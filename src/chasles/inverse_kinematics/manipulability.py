"""How well a robot can move its frame at a configuration, judged by its Jacobian, over batches.

A Jacobian mixes rad and m. Hand over its angular rows ``J[..., :3, :]`` or its linear rows ``J[..., 3:, :]`` where a
number has to mean something by itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.errors import ArgumentError
from chasles.inverse_kinematics.jacobian_inverse import singular_values


class Ellipsoid(NamedTuple):
    """Twists that unit joint rates give: an ellipsoid with these half axes.

    Attributes
    ----------
    axes
        Directions of the half axes as columns, (..., m, k), longest first.
    lengths
        Their lengths, (..., k). The ellipsoid of the forces that unit joint torques hold has the reciprocals.
    """

    axes: Any
    lengths: Any


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


def condition_number(J: ArrayLike) -> Any:
    """Largest singular value over the smallest: 1 where all directions are alike, inf when singular.

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


def velocity_ellipsoid(J: ArrayLike) -> Ellipsoid:
    """Ellipsoid of the twists that joint rates of length 1 give (Lynch and Park, Modern Robotics, section 5.4).

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
    return Ellipsoid(U, sigma)


def singular_directions(J: ArrayLike, relative_tolerance: float = 1e-9) -> Any:
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
