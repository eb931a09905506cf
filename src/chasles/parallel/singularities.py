"""How near a Stewart platform's poses are to singular ones, and which motion is free there.

The angular columns of the Jacobian are divided by the platform's size, which makes all elements numbers without unit.
At a singular pose the legs' axes are dependent: a twist is free with all legs locked, and the platform cannot resist
wrenches along it. Source: Merlet, Jacobian, manipulability, condition number, and accuracy of parallel robots, Journal
of Mechanical Design 128 (2006).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SingularityMeasure(NamedTuple):
    """Distance of poses from singular ones.

    Attributes
    ----------
    dexterity
        Smallest over largest singular value of the Jacobian without units, (...), from 0 (singular) to 1.
    determinant
        Determinant of that Jacobian, (...); singular surfaces lie where its sign changes.
    free_twist
        World-aligned unit twist (..., 6) that moves the legs least; free at a singular pose. Its angular part is in
        radians per size of the platform.
    """

    dexterity: NDArray[np.float64]
    determinant: NDArray[np.float64]
    free_twist: NDArray[np.float64]


def singularity(jacobians: NDArray[np.float64], size: float) -> SingularityMeasure:
    """Measure for Jacobians (..., 6, 6) of a platform of a size; NaN where they are not finite."""
    J = jacobians / np.array([size] * 3 + [1.0] * 3)
    finite = np.isfinite(J).all(axis=(-2, -1))
    J = np.where(finite[..., None, None], J, 0.0)
    _, values, right = np.linalg.svd(J)
    with np.errstate(invalid="ignore"):
        dexterity = np.where(finite, values[..., -1] / values[..., 0], np.nan)
    determinant = np.where(finite, np.linalg.det(J), np.nan)
    return SingularityMeasure(dexterity, determinant, np.where(finite[..., None], right[..., -1, :], np.nan))
