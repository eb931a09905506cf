"""Inertial parameters that have given base parameters: those nearest to what a robot has."""

from __future__ import annotations

import numpy as np

from chasles.algorithms.regrouping import Grouping
from chasles.errors import ModelError
from chasles.geometry.elementary import Array
from chasles.geometry.inertial_parameters import (
    inertial_parameters_from_pseudo_inertia,
    pseudo_inertia_from_inertial_parameters,
)
from chasles.geometry.physical_consistency import nearest_physically_consistent

NEWTON_STEPS = 50
SHRINKING = 0.2
FOLLOWED, FOUND = 0.1, 1e-16
"""Gain of a Newton step that is near enough to the path, and to its end."""
SHORTEST_STEP = 1e-9
TOLERANCE = 1e-9
"""Deviation from base parameters that the end of the path stands for."""
ACCEPTED = 1e-6
"""Deviation that bodies on the edge of the possible, such as flat ones, may have."""
RIDGE = 1e-12
LIKENESS = 1e-3
"""Weight of the divergence beside half the squared deviation. Thin bodies diverge much when they move a little."""
THINNEST = 1e-4
"""Least second moment of the bodies that a consistent solution shall resemble, relative to their largest."""


def equivalent_parameters(parameters: Array, grouping: Grouping, base: Array) -> Array:
    """Parameters with the given base parameters, with the least change of numbers (in SI units).

    Masses and armatures that are not base parameters themselves stay; but a body without mass is given 1 kg if it needs
    a first moment.

    Parameters
    ----------
    parameters
        Of the robot, shape (all,).
    grouping
        See `regroup`.
    base
        Base parameters, shape (base,).

    Examples
    --------
    >>> grouping = Grouping((0,), np.array([[1.0, *[0.0] * 3, 1.0, *[0.0] * 8]]))
    >>> equivalent_parameters(np.ones(13), grouping, np.array([3.0]))[[0, 4]]
    array([1.5, 1.5])
    """
    count = len(parameters) // 13
    masses = [10 * index for index in range(count)]
    armatures = [10 * count + 3 * index + 2 for index in range(count)]
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


def consistent_parameters(parameters: Array, grouping: Grouping, base: Array, covariance: Array | None = None) -> Array:
    """Parameters of possible bodies with the given base parameters, as like the robot's own as they can be.

    Likeness is the log-det divergence of pseudo-inertias, which depends neither on frames nor on units. Friction and
    those armatures that are base parameters take their values; other armatures stay, and moments of inertia account for
    all else that acts with them.

    Parameters
    ----------
    parameters, grouping, base
        As for `equivalent_parameters`.
    covariance
        Of the base parameters, shape (base, base), positive semidefinite. Half the squared deviation from `base`,
        measured by it, plus a thousandth of the divergence is made least: what the base parameters say counts most.
        None: no deviation.

    Raises
    ------
    ModelError
        If no possible bodies have these base parameters, and no covariance lets them deviate.

    Notes
    -----
    Lee, Wensing & Park, "Geometric robot dynamic identification: a convex programming approach" (IEEE Trans. Robotics
    36(2), 2020). Solved by Newton's method for the dual problem (Boyd & Vandenberghe, Convex Optimization (2004),
    chapters 5 and 9).

    Examples
    --------
    Of a rod's 1 kg about a fixed axis only the moment Izz and the first moments act. Asked for a larger first moment
    than 1 kg at 0.1 m, the rod becomes heavier too.

    >>> from chasles.geometry import inertial_parameters_from_pseudo_inertia, pseudo_inertia
    >>> rod = inertial_parameters_from_pseudo_inertia(pseudo_inertia(1.0, [0.1, 0.0, 0.0], 0.01 * np.eye(3)))
    >>> grouping = Grouping((1, 2, 9), np.eye(13)[[1, 2, 9]])
    >>> found = consistent_parameters(np.concatenate([rod, np.zeros(3)]), grouping, np.array([0.4, 0.0, 0.1]))
    >>> found[[1, 9]].round(9), bool(found[0] > 1.6)
    (array([0.4, 0.1]), True)
    """
    count = len(parameters) // 13
    inertial = 10 * count
    result = np.array(parameters, dtype=np.float64)
    for row, column in enumerate(grouping.independent):
        if column >= inertial:
            result[column] = base[row]
    rows = [row for row, k in enumerate(grouping.independent) if k < inertial]
    matrix = grouping.matrix[rows]
    wanted = base[rows] - matrix[:, inertial:] @ result[inertial:]
    spread = None if covariance is None else covariance[np.ix_(rows, rows)]
    reference = _thick(result[:inertial].reshape(count, 10))
    result[:inertial] = _most_similar(reference, matrix[:, :inertial], wanted, spread)
    return result


def _thick(parameters: Array) -> Array:
    """Pseudo-inertias (count, 4, 4) of bodies, made positive definite."""
    J = pseudo_inertia_from_inertial_parameters(parameters)
    largest = max(float(np.abs(J).max(initial=0.0)), 1e-300)
    least = [THINNEST * (float(np.trace(body[:3, :3])) or largest) for body in J]
    return np.array([nearest_physically_consistent(body, abs(small)) for body, small in zip(J, least, strict=True)])


def _most_similar(reference: Array, A: Array, b: Array, C: Array | None) -> Array:
    """Minimise the divergences of bodies J from J0 plus half of (A x - b)^T C^-1 (A x - b); no C stands for zero.

    x holds the inertial parameters of all J. With J = L X L^T and J0 = L L^T the divergence is tr X - log det X. The
    deviation counts little at first and then more and more: a path from X = 1 that Newton's method follows.
    """
    L = np.linalg.cholesky(reference)
    sizes = np.linalg.norm(A, axis=1)
    A, b = A / sizes[:, None], b / sizes
    spread = np.eye(len(b)) if C is None else C / np.outer(sizes, sizes)
    spread = spread + RIDGE * np.trace(spread) * np.eye(len(b))
    weigh = np.linalg.inv(np.linalg.cholesky(spread))
    A, b = weigh @ A, weigh @ b
    X = np.tile(np.eye(4), (len(L), 1, 1))
    last = LIKENESS if C is not None else (TOLERANCE * max(1.0, float(np.abs(b).max(initial=0.0)))) ** 2
    share = max(last, float(np.sum((A @ _parameters(L, X) - b) ** 2)))
    while True:
        X = _descend(L, X, A / np.sqrt(share), b / np.sqrt(share), FOLLOWED if share > last else FOUND)
        if share <= last:
            break
        share = max(last, SHRINKING * share)
    x = _parameters(L, X)
    if C is None and np.abs(A @ x - b).max(initial=0.0) > ACCEPTED * max(1.0, float(np.abs(b).max(initial=0.0))):
        raise ModelError(
            "no physically consistent bodies have these base parameters (allow deviations with covariance=..., or let "
            "the robot have bodies that no masses can make, without consistent=True)"
        )
    return x


def _descend(L: Array, X: Array, A: Array, b: Array, tolerance: float) -> Array:
    """Newton's method for the sum of tr(X) - log det X plus half of |A x - b|^2, until a step gains less than given.

    A step goes from X = K K^T to K (1 + S) K^T: there the curvature of the logarithm is 1.
    """
    basis = _symmetric_basis()

    def height(X: Array) -> float:
        deviation = A @ _parameters(L, X) - b
        return float(np.trace(X, axis1=1, axis2=2).sum() - np.linalg.slogdet(X)[1].sum() + 0.5 * deviation @ deviation)

    here = height(X)
    for _ in range(NEWTON_STEPS):
        try:
            K = np.linalg.cholesky(X)[:, None]
        except np.linalg.LinAlgError:  # the path leads out of what is possible
            break
        motions = K @ basis @ np.swapaxes(K, -1, -2)
        slope = np.einsum("bkii->bk", motions) - np.einsum("kii->k", basis)
        M = np.einsum("rbp,bkp->rbk", A.reshape(len(A), -1, 10), _parameters_of_bodies(L[:, None], motions))
        matrix = np.vstack([np.eye(slope.size), M.reshape(len(A), -1)])
        step = -np.linalg.lstsq(matrix, np.concatenate([slope.ravel(), A @ _parameters(L, X) - b]))[0]
        S = np.einsum("bk,kij->bij", step.reshape(slope.shape), basis)
        gain = float(np.sum((matrix @ step) ** 2))
        if gain < tolerance:
            break
        length = min(1.0, 0.9 / max(1e-300, -float(np.linalg.eigvalsh(S).min())))
        while True:
            ahead = X + length * np.einsum("bk,bkij->bij", step.reshape(slope.shape), motions)
            there = height(ahead)
            if there <= here - 0.01 * length * gain:
                break
            length *= 0.5
            if length < SHORTEST_STEP:
                return X
        X, here = ahead, there
    return X


def _parameters(L: Array, X: Array) -> Array:
    return np.asarray(_parameters_of_bodies(L, X).ravel())


def _parameters_of_bodies(L: Array, X: Array) -> Array:
    """Inertial parameters of J = L X L^T."""
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
