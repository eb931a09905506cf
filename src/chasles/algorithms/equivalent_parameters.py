"""Inertial parameters that have given base parameters: those nearest to what a robot has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.algorithms.regrouping import Grouping
from chasles.errors import ModelError
from chasles.geometry.elementary import Array
from chasles.geometry.inertial_parameters import (
    inertial_parameters_from_pseudo_inertia,
    pseudo_inertia_from_inertial_parameters,
)
from chasles.geometry.physical_consistency import nearest_physically_consistent

NEWTON_STEPS = 30
SHRINKING = 0.2
FOLLOWED = 0.1
"""How near to the path its followers stay: gain of a Newton step."""
RIDGE = 1e-12
LIKENESS = 1e-3
"""Weight of the divergence beside half the squared deviation. Thin bodies diverge much when they move a little."""
TOLERANCE = 1e-11
ACCEPTED = 1e-6
"""Deviation from base parameters that bodies on the edge of the possible, such as flat ones, may have."""
SHORTEST_STEP = 1e-9
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
    those armatures that are base parameters take their values; other armatures stay.

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
    spread = np.zeros((len(rows), len(rows))) if covariance is None else covariance[np.ix_(rows, rows)]
    reference = _thick(result[:inertial].reshape(count, 10))
    result[:inertial] = _most_similar(reference, matrix[:, :inertial], wanted, LIKENESS * spread)
    return result


def _thick(parameters: Array) -> Array:
    """Pseudo-inertias (count, 4, 4) of bodies, made positive definite."""
    J = pseudo_inertia_from_inertial_parameters(parameters)
    largest = max(float(np.abs(J).max(initial=0.0)), 1e-300)
    least = [THINNEST * (float(np.trace(body[:3, :3])) or largest) for body in J]
    return np.array([nearest_physically_consistent(body, abs(small)) for body, small in zip(J, least, strict=True)])


def _most_similar(reference: Array, A: Array, b: Array, C: Array) -> Array:
    """Minimise the sum of tr(X) - log det X and half of (A x - b)^T C^-1 (A x - b), with J = L X L^T and J0 = L L^T.

    x holds the inertial parameters of all J. C starts large and shrinks to what it is, so that X goes gradually from 1,
    where all is well, to where it shall be: a path that Newton's method follows in few steps.
    """
    L = np.linalg.cholesky(reference)[:, None]
    basis = _symmetric_basis()
    parameters_of = inertial_parameters_from_pseudo_inertia(L @ basis @ np.swapaxes(L, -1, -2))  # (bodies, 10, 10)
    A = np.einsum("rbp,bkp->rbk", A.reshape(len(A), -1, 10), parameters_of)
    sizes = np.linalg.norm(A, axis=(1, 2))
    A, b, C = A / sizes[:, None, None], b / sizes, C / np.outer(sizes, sizes)
    dual = _Dual(np.einsum("rbk,kij->rbij", A, basis), b)
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    y = np.zeros(len(b))
    start = dual.excess(y, C)
    shape = C + RIDGE * np.trace(C) * np.eye(len(b)) if C.any() else np.eye(len(b))
    share = float(start @ np.linalg.solve(shape, start))
    while share > (1.0 if C.any() else (TOLERANCE * scale) ** 2):
        y = dual.climb(y, share * shape, FOLLOWED)
        share *= SHRINKING
    y = dual.climb(y, C, TOLERANCE**2)
    if np.abs(dual.excess(y, C)).max(initial=0.0) > ACCEPTED * scale:
        raise ModelError(
            "no physically consistent bodies have these base parameters (allow deviations with covariance=..., or let "
            "the robot have bodies that no masses can make, without consistent=True)"
        )
    return np.asarray(np.einsum("bij,kij,bkp->bp", np.linalg.inv(dual.inverse(y)), basis, parameters_of).ravel())


@dataclass(frozen=True)
class _Dual:
    """The dual problem: X = (1 + sum of the constraints' matrices times their multipliers y)^-1.

    The best y makes log det X^-1 - b^T y - y^T C y / 2 largest: without constraints, and self-concordant.
    """

    constraints: Array
    b: Array

    def inverse(self, y: Array) -> Array:
        return np.asarray(np.eye(4) + np.einsum("rbij,r->bij", self.constraints, y))

    def excess(self, y: Array, C: Array) -> Array:
        """Slope of the height: by how much X exceeds what it should satisfy."""
        X = np.linalg.inv(self.inverse(y))
        return np.asarray(np.einsum("rbij,bij->r", self.constraints, X) - self.b - C @ y)

    def height(self, y: Array, C: Array) -> float:
        inverse = self.inverse(y)
        if np.linalg.eigvalsh(inverse).min(initial=1.0) <= 0.0:
            return -np.inf
        return float(np.linalg.slogdet(inverse)[1].sum() - self.b @ y - 0.5 * y @ C @ y)

    def climb(self, y: Array, C: Array, tolerance: float) -> Array:
        """Newton's method with a line search, until a step promises to gain less than the tolerance."""
        height = self.height(y, C)
        for _ in range(NEWTON_STEPS):
            excess = self.excess(y, C)
            X = np.linalg.inv(self.inverse(y))
            curvature = np.einsum("rbij,sbij->rs", X @ self.constraints @ X, self.constraints) + C
            units = 1.0 / np.sqrt(np.diagonal(curvature))
            step = units * np.linalg.lstsq(curvature * np.outer(units, units), units * excess)[0]
            length, gain = 1.0, excess @ step
            if gain < tolerance:
                break
            while not (reached := self.height(y + length * step, C)) >= height - TOLERANCE * abs(height):
                length *= 0.5
                if length < SHORTEST_STEP:
                    return y
            y, height = y + length * step, reached
        return y


def _symmetric_basis() -> Array:
    """Orthonormal basis (10, 4, 4) of the symmetric matrices."""
    basis = []
    for i in range(4):
        for j in range(i, 4):
            element = np.zeros((4, 4))
            element[i, j] = element[j, i] = 1.0
            basis.append(element / np.linalg.norm(element))
    return np.array(basis)
