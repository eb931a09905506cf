"""Inertial parameters that have given base parameters: those nearest to what a robot has."""

from __future__ import annotations

import numpy as np

from chasles.algorithms.regrouping import Grouping
from chasles.algorithms.similar_bodies import most_similar
from chasles.geometry.elementary import Array
from chasles.geometry.inertial_parameters import pseudo_inertia_from_inertial_parameters
from chasles.geometry.physical_consistency import nearest_physically_consistent

THINNEST = 1e-4
"""Least second moment of the bodies that a consistent solution shall resemble, relative to their largest."""


def equivalent_parameters(parameters: Array, bodies: int, grouping: Grouping, base: Array) -> Array:
    """Parameters with the given base parameters, with the least change of numbers (in SI units).

    Masses and armatures that are not base parameters themselves stay; but a body without mass is given 1 kg if it needs
    a first moment.

    Parameters
    ----------
    parameters
        Of the robot, shape (all,).
    bodies
        How many bodies have inertial parameters.
    grouping
        See `regroup`.
    base
        Base parameters, shape (base,).

    Examples
    --------
    >>> grouping = Grouping((0,), np.array([[1.0, *[0.0] * 3, 1.0, *[0.0] * 8]]))
    >>> equivalent_parameters(np.ones(13), 1, grouping, np.array([3.0]))[[0, 4]]
    array([1.5, 1.5])
    """
    masses = range(0, 10 * bodies, 10)
    armatures = range(10 * bodies + 2, len(parameters), 3)
    start = np.array(parameters, dtype=np.float64)
    while True:
        stays = {*masses, *armatures, *(k + axis for k in masses if start[k] == 0.0 for axis in (1, 2, 3))}
        free = [k for k in range(len(parameters)) if k in grouping.independent or k not in stays]
        result = start.copy()
        result[free] += np.linalg.lstsq(grouping.matrix[:, free], base - grouping.matrix @ start)[0]
        bare = [k for k in masses if result[k] == 0.0 and result[k + 1 : k + 4].any()]
        if not bare:
            return result
        start[bare] = 1.0


def consistent_parameters(
    parameters: Array, bodies: int, grouping: Grouping, base: Array, covariance: Array | None = None
) -> Array:
    """Parameters of possible bodies with the given base parameters, as like the robot's own as they can be.

    Likeness is the log-det divergence of pseudo-inertias, which depends neither on frames nor on units. An armature
    that acts only together with moments of inertia may change too, unless it is zero.

    Parameters
    ----------
    parameters, bodies, grouping, base
        As for `equivalent_parameters`.
    covariance
        Of the base parameters, shape (base, base), positive semidefinite. Half the squared deviation from `base`,
        measured by it, plus a thousandth of the divergence is made least: what the base parameters say counts most.
        Friction and armatures then stay positive too. None: no deviation.

    Raises
    ------
    ModelError
        If no possible bodies have these base parameters, and no covariance lets them deviate.

    Notes
    -----
    Lee, Wensing & Park, "Geometric robot dynamic identification: a convex programming approach" (IEEE Trans. Robotics
    36(2), 2020).

    Examples
    --------
    Of a rod's 1 kg about a fixed axis only the moment Izz and the first moments act. Asked for a larger first moment
    than 1 kg at 0.1 m, the rod becomes heavier too.

    >>> from chasles.geometry import inertial_parameters_from_pseudo_inertia, pseudo_inertia
    >>> rod = inertial_parameters_from_pseudo_inertia(pseudo_inertia(1.0, [0.1, 0.0, 0.0], 0.01 * np.eye(3)))
    >>> grouping = Grouping((1, 2, 9), np.eye(13)[[1, 2, 9]])
    >>> found = consistent_parameters(np.concatenate([rod, np.zeros(3)]), 1, grouping, np.array([0.4, 0.0, 0.1]))
    >>> found[[1, 9]].round(9), bool(found[0] > 1.6)
    (array([0.4, 0.1]), True)
    """
    inertial = 10 * bodies
    result = np.array(parameters, dtype=np.float64)
    independent = list(grouping.independent)
    if covariance is None:
        rows = [row for row, k in enumerate(independent) if k < inertial]
        result[[k for k in independent if k >= inertial]] = base[[i for i in range(len(base)) if i not in rows]]
        free = [k for k in range(inertial, len(result)) if k not in independent and result[k] > 0.0]
        spread = None
    else:
        rows, spread = list(range(len(base))), covariance
        likely = np.maximum(np.abs(base), np.sqrt(np.diagonal(covariance)))
        for row, column in enumerate(independent):
            if column >= inertial:
                result[column] = max(result[column], likely[row])
        free = [k for k in range(inertial, len(result)) if result[k] > 0.0]
    fixed = [k for k in range(inertial, len(result)) if k not in free]
    matrix = grouping.matrix[rows]
    wanted = base[rows] - matrix[:, fixed] @ result[fixed]
    columns = [*range(inertial), *free]
    reference = _thick(result[:inertial].reshape(-1, 10))
    result[columns] = most_similar(reference, result[free], matrix[:, columns], wanted, spread)
    return result


def _thick(parameters: Array) -> Array:
    """Pseudo-inertias (count, 4, 4) of bodies, made positive definite."""
    J = pseudo_inertia_from_inertial_parameters(parameters)
    largest = max(float(np.abs(J).max(initial=0.0)), 1e-300)
    least = [THINNEST * (float(np.trace(body[:3, :3])) or largest) for body in J]
    return np.array([nearest_physically_consistent(body, abs(small)) for body, small in zip(J, least, strict=True)])
