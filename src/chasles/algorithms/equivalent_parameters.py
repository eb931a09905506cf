"""Inertial parameters with given base parameters: the nearest, and the most similar that are physically consistent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.algorithms.grouping import Grouping
from chasles.base.errors import ModelError
from chasles.geometry.elementary import Array
from chasles.geometry.pseudo_inertias import (
    inertial_parameters_from_pseudo_inertia,
    nearest_physically_consistent,
    pseudo_inertia_from_inertial_parameters,
)

THINNEST = 1e-4
"""Least second moment of the bodies that a consistent solution shall resemble, relative to their largest."""


def equivalent_parameters(parameters: Array, bodies: int, grouping: Grouping, base: Array) -> Array:
    """Inertial parameters with the given base parameters and the least change of values (in SI units).

    Masses and armatures that are not base parameters themselves are unchanged, except that a body without mass gets 1
    kg if it needs a first moment.

    Parameters
    ----------
    parameters
        Inertial parameters of the robot, shape (all,).
    bodies
        Number of bodies that have inertial parameters.
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
    """Physically consistent parameters with the given base parameters, as similar as possible to the robot's own.

    Similarity is measured by the log-det divergence of pseudo-inertias, which depends neither on frames nor on units.
    An armature that acts only together with moments of inertia may change too, unless it is zero.

    Parameters
    ----------
    parameters, bodies, grouping, base
        See `equivalent_parameters`.
    covariance
        Covariance of the base parameters, shape (base, base), positive semidefinite. The minimised cost is half the
        squared deviation from `base`, weighted by the covariance, plus a thousandth of the divergence, so the base
        parameters dominate. Friction and armatures then stay positive too. None: no deviation.

    Raises
    ------
    ModelError
        If no physically consistent bodies have these base parameters, and no covariance allows a deviation.

    Notes
    -----
    Lee, Wensing & Park, "Geometric robot dynamic identification: a convex programming approach" (IEEE Trans. Robotics
    36(2), 2020).

    Examples
    --------
    For a rod of 1 kg that turns about a fixed axis, only the moment Izz and the first moments act. Asked for a
    larger first moment than 1 kg at 0.1 m, the rod becomes heavier too.

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
        deviations = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
        correlation = covariance / np.outer(deviations, deviations) + CORRELATION_RIDGE * np.eye(len(base))
        known = deviations / np.sqrt(np.diagonal(np.linalg.inv(correlation)))  # beside all others
        beyond = base - grouping.matrix @ parameters  # what the bodies as they are leave to armatures and friction
        for row, column in enumerate(independent):
            if column >= inertial:
                result[column] = max(result[column], abs(beyond[row] + parameters[column]), known[row])
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


NEWTON_STEPS = 50
SHRINKING = 0.2
FOLLOWED, FOUND = 0.1, 1e-16
"""Gain of a Newton step that is near enough to the path, and to its end."""
SHORTEST_STEP = 1e-9
TOLERANCE = 1e-9
"""Deviation from the equations that the end of the path stands for where none is allowed."""
ACCEPTED = 1e-6
"""Deviation that bodies on the edge of the possible, such as flat ones, may have."""
RIDGE = 1e-12
CORRELATION_RIDGE = 1e-9
LIKENESS = 1e-3
"""Weight of the divergence beside half the squared deviation. Thin bodies diverge much when they move a little."""


class Bodies(NamedTuple):
    """Bodies and positive numbers, by what they are of others: J = L X Lᵀ with J0 = L Lᵀ, number = z * reference."""

    X: Array
    z: Array


def most_similar(reference: Array, numbers: Array, A: Array, b: Array, C: Array | None) -> Array:
    """Minimise divergences plus half of (A x - b)ᵀ C⁻¹ (A x - b) / LIKENESS; without C, A x = b.

    The divergence of a body is tr X - log det X, where J = L X Lᵀ and J0 = L Lᵀ; that of a number is z - log z. The
    deviation counts little at first and then more and more: a path from X = 1 that Newton's method follows.

    Parameters
    ----------
    reference
        Positive definite pseudo-inertias J0 that the bodies shall resemble, shape (bodies, 4, 4).
    numbers
        Positive numbers that others shall resemble, shape (k,).
    A, b, C
        Equations for x: ten inertial parameters of each body, then the numbers; shapes (m, 10 bodies + k), (m,) and
        (m, m).

    Returns
    -------
    ndarray
        x, shape (10 bodies + k,).

    Raises
    ------
    ModelError
        If there is no C and no possible bodies satisfy the equations.

    Examples
    --------
    A ball that shall weigh twice as much grows, and no more than it must:

    >>> from chasles.geometry import pseudo_inertia
    >>> ball = pseudo_inertia(1.0, [0.0, 0.0, 0.0], 0.4 * np.eye(3))
    >>> most_similar(ball[None], np.zeros(0), np.eye(10)[:1], np.array([2.0]), None)[[0, 4]].round(6)
    array([2. , 0.4])
    """
    L = np.linalg.cholesky(reference)
    sizes = np.linalg.norm(A, axis=1)
    A, b = A / sizes[:, None], b / sizes
    spread = np.eye(len(b)) if C is None else C / np.outer(sizes, sizes)
    spread = spread + RIDGE * np.trace(spread) * np.eye(len(b))
    weigh = np.linalg.inv(np.linalg.cholesky(spread))
    A, b = weigh @ A, weigh @ b
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    bodies = Bodies(np.tile(np.eye(4), (len(L), 1, 1)), np.ones(len(numbers)))
    last = LIKENESS if C is not None else (TOLERANCE * scale) ** 2
    share = max(last, float(np.sum((A @ _parameters(L, numbers, bodies) - b) ** 2)))
    while share > last:
        bodies = _descend(L, numbers, bodies, A / np.sqrt(share), b / np.sqrt(share), FOLLOWED)
        share = max(last, SHRINKING * share)
    bodies = _descend(L, numbers, bodies, A / np.sqrt(last), b / np.sqrt(last), FOUND)
    x = _parameters(L, numbers, bodies)
    if C is None and np.abs(A @ x - b).max(initial=0.0) > ACCEPTED * scale:
        raise ModelError(
            "no physically consistent bodies have these base parameters (allow deviations with covariance=..., or let "
            "the robot have bodies that no masses can make, without consistent=True)"
        )
    return x


def _descend(L: Array, numbers: Array, bodies: Bodies, A: Array, b: Array, tolerance: float) -> Bodies:
    """Newton's method for the divergences plus half of |A x - b|², until a step gains less than the tolerance.

    A step goes from X = K Kᵀ to K (1 + S) Kᵀ, and from z to z (1 + s): there the logarithms curve by 1.
    """
    basis = _symmetric_basis()
    here = _height(L, numbers, bodies, A, b)
    for _ in range(NEWTON_STEPS):
        X, z = bodies
        try:
            K = np.linalg.cholesky(X)[:, None]
        except np.linalg.LinAlgError:  # the path leads out of what is possible
            break
        motions = K @ basis @ np.swapaxes(K, -1, -2)
        slope = np.concatenate([(np.einsum("bkii->bk", motions) - np.einsum("kii->k", basis)).ravel(), z - 1.0])
        of_bodies, of_numbers = A[:, : 10 * len(X)].reshape(len(A), -1, 10), A[:, 10 * len(X) :]
        along = np.einsum("rbp,bkp->rbk", of_bodies, _inertial(L[:, None], motions)).reshape(len(A), -1)
        matrix = np.vstack([np.eye(slope.size), np.hstack([along, of_numbers * (numbers * z)])])
        deviation = A @ _parameters(L, numbers, bodies) - b
        step = -np.linalg.lstsq(matrix, np.concatenate([slope, deviation]))[0]
        gain = float(np.sum((matrix @ step) ** 2))
        if gain < tolerance:
            break
        of_X, of_z = step[: 10 * len(X)].reshape(-1, 10), step[10 * len(X) :]
        shrinking = np.linalg.eigvalsh(np.einsum("bk,kij->bij", of_X, basis)).min(initial=0.0)
        length = 0.9 / max(0.9, -float(min(shrinking, of_z.min(initial=0.0))))
        turn = np.einsum("bk,bkij->bij", of_X, motions)
        while True:
            ahead = Bodies(X + length * turn, z * (1.0 + length * of_z))
            there = _height(L, numbers, ahead, A, b)
            if there <= here - 0.01 * length * gain:
                break
            length *= 0.5
            if length < SHORTEST_STEP:
                return bodies
        bodies, here = ahead, there
    return bodies


def _height(L: Array, numbers: Array, bodies: Bodies, A: Array, b: Array) -> float:
    X, z = bodies
    deviation = A @ _parameters(L, numbers, bodies) - b
    of_bodies = np.trace(X, axis1=1, axis2=2).sum() - np.linalg.slogdet(X)[1].sum()
    return float(of_bodies + np.sum(z - np.log(z)) + 0.5 * deviation @ deviation)


def _parameters(L: Array, numbers: Array, bodies: Bodies) -> Array:
    return np.concatenate([_inertial(L, bodies.X).ravel(), numbers * bodies.z])


def _inertial(L: Array, X: Array) -> Array:
    """Inertial parameters of J = L X Lᵀ."""
    return np.asarray(inertial_parameters_from_pseudo_inertia(L @ X @ np.swapaxes(L, -1, -2)))


def _symmetric_basis() -> Array:
    """Orthonormal basis (10, 4, 4) of the symmetric matrices."""
    basis = []
    for i in range(4):
        for j in range(i, 4):
            element = np.zeros((4, 4))
            element[i, j] = element[j, i] = 1.0
            basis.append(element / np.linalg.norm(element))
    return np.array(basis)
