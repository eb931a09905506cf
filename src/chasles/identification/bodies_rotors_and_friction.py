"""Bodies that can exist, rotors and friction of a robot from torques: one convex problem.

A body exists if its pseudo-inertia J (4 × 4: second moments, first moments, mass) is positive definite (P. Wensing, S.
Kim & J.-J. Slotine, "Linear matrix inequalities for physically consistent inertial parameter identification", IEEE
Robotics and Automation Letters 3(1), 2018), a rotor or a friction that dissipates if its number is positive. The
torques are linear in all of them, τ = A x, and what the data leave open stays near references:

    minimise  ½ (x - x*)ᵀ G (x - x*)                       errors of the torques, G = Aᵀ W A, G x* = Aᵀ W τ
            + γ Σ_b (tr X_b - log det X_b)                 bodies, J_b = L_b X_b L_bᵀ near J0_b = L_b L_bᵀ
            + κ Σ_p (z_p - log z_p)                        positive numbers, p = p0 z_p
            + ½ Σ_s (s / σ_s)²                             numbers of either sign

The divergence tr X - log det X depends neither on frames nor on units (T. Lee, P. Wensing & F. Park, "Geometric robot
dynamic identification: a convex programming approach", IEEE Trans. Robotics 36(2), 2020), and keeps X positive
definite. Newton's method goes along X = K Kᵀ → K (1 + S) Kᵀ and z → z (1 + s): there the second derivatives of the
divergences are γ and κ exactly, wherever it stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from chasles.geometry import inertial_parameters_from_pseudo_inertia
from chasles.model.placement import FloatArray

GAMMA = 3.0
"""Weight of a body's divergence: its logarithms deviate by 1/√γ, so a body of CAD is right to 60 % of itself."""
KAPPA = 1.0 / 9.0
"""Weight of a positive number's: its logarithm deviates by 3, so its size is known within a factor of e³ = 20."""
DECADES = 10.0 ** np.arange(-6.0, 1.0)
"""Shares with which the data count on the way from the references to the minimum."""
FOLLOWED, FOUND = 0.1, 1e-3
"""Decrease that a Newton step promises where it is near enough to the way, and to the minimum; a likelihood's unit is
1."""
STEPS_ON_THE_WAY, STEPS = 8, 40
SHORTEST_STEP = 1e-7
RIDGE = 1e-12
THINNEST = 0.01
"""Least size of another reference, of the present one: e^-5, far enough for what data do not hold to follow it."""
_UNITS = [
    np.eye(4)[:, [i]] @ np.eye(4)[[j]] + np.eye(4)[:, [j]] @ np.eye(4)[[i]] for i in range(4) for j in range(i, 4)
]
BASIS = np.array([unit / np.linalg.norm(unit) for unit in _UNITS])
"""Orthonormal basis of the symmetric matrices, shape (10, 4, 4)."""
TRACES = np.einsum("kii->k", BASIS)


class Point(NamedTuple):
    """Bodies X (b, 4, 4), positive numbers z (p,) and others (s,), relative to their references."""

    X: FloatArray
    z: FloatArray
    s: FloatArray


class References(NamedTuple):
    """What bodies and numbers resemble where the data say nothing, and their places among the unknowns.

    The unknowns x are ten inertial parameters of each body, then numbers.

    Attributes
    ----------
    L
        Cholesky factors of the bodies' pseudo-inertias, shape (b, 4, 4).
    positive, sizes
        Places and sizes p0 of the positive numbers, shape (p,).
    signed, deviations
        Places and deviations σ of the numbers of either sign, shape (s,).
    """

    L: FloatArray
    positive: NDArray[np.intp]
    sizes: FloatArray
    signed: NDArray[np.intp]
    deviations: FloatArray

    @property
    def start(self) -> Point:
        """References themselves."""
        return Point(np.tile(np.eye(4), (len(self.L), 1, 1)), np.ones(len(self.sizes)), np.zeros(len(self.signed)))

    def unknowns(self, point: Point) -> FloatArray:
        """Unknowns x at a point, shape (unknowns,)."""
        bodies = np.asarray(inertial_parameters_from_pseudo_inertia(self.L @ point.X @ np.swapaxes(self.L, 1, 2)))
        x = np.empty(10 * len(self.L) + len(self.positive) + len(self.signed))
        x[: bodies.size], x[self.positive], x[self.signed] = bodies.ravel(), self.sizes * point.z, point.s
        return x

    @property
    def curvature(self) -> FloatArray:
        """Second derivatives of the divergences in local coordinates, in the unknowns' order, shape (unknowns,)."""
        found = np.full(10 * len(self.L) + len(self.positive) + len(self.signed), GAMMA)
        found[self.positive], found[self.signed] = KAPPA, self.deviations**-2.0
        return found


class Minimum(NamedTuple):
    """Minimum of the problem, and its neighbourhood in local coordinates (S, s).

    Attributes
    ----------
    point
        Minimum.
    unknowns
        Unknowns x there, shape (unknowns,).
    motions
        Derivatives of x by the local coordinates, shape (unknowns, unknowns).
    hessian
        Second derivatives in local coordinates, shape (unknowns, unknowns).
    slope, curvature
        The share of the references in the first derivatives, and in the second ones: its diagonal, shapes (unknowns,).
    references
        Reference values with which the problem was solved.
    """

    point: Point
    unknowns: FloatArray
    motions: FloatArray
    hessian: FloatArray
    slope: FloatArray
    curvature: FloatArray
    references: References

    def with_bodies(self, J: FloatArray) -> FloatArray:
        """Unknowns that the same data lead to where the references of the bodies are others, shape (unknowns,).

        Parameters
        ----------
        J
            Pseudo-inertias, shape (b, 4, 4). What is thinner than `THINNEST` of the present reference counts as that.
        """
        L = self.references.L
        inverse = np.linalg.inv(L)
        sizes, axes = np.linalg.eigh(inverse @ J @ np.swapaxes(inverse, 1, 2))
        shape = axes @ (np.maximum(sizes, THINNEST)[..., None] * np.swapaxes(axes, 1, 2))
        K = np.linalg.cholesky(0.5 * (shape + np.swapaxes(shape, 1, 2)))
        outward, inward = np.linalg.inv(self.motions), np.linalg.inv(K)
        G = outward.T @ (self.hessian - np.diag(self.curvature)) @ outward
        g = G @ self.unknowns + outward.T @ self.slope
        start = self.point._replace(X=inward @ self.point.X @ np.swapaxes(inward, 1, 2))
        return minimum(G, g, self.references._replace(L=L @ K), start).unknowns


def minimum(G: FloatArray, g: FloatArray, references: References, start: Point | None = None) -> Minimum:
    """Solve the problem by Newton's method.

    Parameters
    ----------
    G, g
        Normal equations of the torques, Aᵀ W A and Aᵀ W τ, shapes (unknowns, unknowns) and (unknowns,).
    references
        Bodies and numbers that others resemble.
    start
        Minimum of a similar problem; without it the weight of the data grows along the `DECADES`.

    Examples
    --------
    A ball of 1 kg that was weighed with 2 kg, to 1 %:

    >>> ball = References(np.diag([0.1, 0.1, 0.1, 1.0])[None], *2 * (np.zeros(0, int), np.zeros(0)))
    >>> G, g = np.zeros((10, 10)), np.zeros(10)
    >>> G[0, 0], g[0] = 1e4, 2e4
    >>> minimum(G, g, ball).unknowns[0].round(2)
    np.float64(2.0)
    """
    point = references.start if start is None else start
    for share in DECADES if start is None else DECADES[-1:]:
        last = share == 1.0
        point = _descend(share * G, share * g, references, point, FOUND if last else FOLLOWED, last)
    motions = _motions(references, point)
    hessian = motions.T @ G @ motions + np.diag(references.curvature)
    slope, curvature = _slope(references, point), references.curvature
    return Minimum(point, references.unknowns(point), motions, hessian, slope, curvature, references)


def _descend(G: FloatArray, g: FloatArray, references: References, point: Point, enough: float, last: bool) -> Point:
    """Newton's method with bisection of the steps, until a step promises less than enough."""
    here, curvature = _height(G, g, references, point), references.curvature
    for _ in range(STEPS if last else STEPS_ON_THE_WAY):
        T = _motions(references, point)
        slope = T.T @ (G @ references.unknowns(point) - g) + _slope(references, point)
        H = T.T @ G @ T + np.diag(curvature)
        scale = np.sqrt(np.diag(H))
        factor = cho_factor(H / np.outer(scale, scale) + RIDGE * np.eye(len(H)))
        step = -cho_solve(factor, slope / scale) / scale
        promised = -float(slope @ step)
        if promised < enough:
            break
        S = np.einsum("bk,kij->bij", step[: 10 * len(point.X)].reshape(-1, 10), BASIS)
        shrinking = -min(
            float(np.linalg.eigvalsh(S)[:, 0].min()), float(step[references.positive].min(initial=0.0)), -1e-9
        )
        length = min(1.0, 0.9 / shrinking)
        while (
            there := _height(G, g, references, _ahead(references, point, length * step))
        ) > here - 0.01 * length * promised:
            length *= 0.5
            if length < SHORTEST_STEP:
                return point
        point, here = _ahead(references, point, length * step), there
    return point


def _ahead(references: References, point: Point, step: FloatArray) -> Point:
    K = np.linalg.cholesky(point.X)
    S = np.einsum("bk,kij->bij", step[: 10 * len(K)].reshape(-1, 10), BASIS)
    z = point.z * (1.0 + step[references.positive])
    return Point(point.X + K @ S @ np.swapaxes(K, 1, 2), z, point.s + step[references.signed])


def _height(G: FloatArray, g: FloatArray, references: References, point: Point) -> float:
    X, z, s = point
    sign, logarithm = np.linalg.slogdet(X)
    if (z <= 0.0).any() or (sign <= 0.0).any() or (np.linalg.eigvalsh(X)[:, 0] <= 0.0).any():
        return np.inf
    x = references.unknowns(point)
    of_bodies = GAMMA * float(np.trace(X, axis1=1, axis2=2).sum() - logarithm.sum())
    of_numbers = KAPPA * float(np.sum(z - np.log(z))) + 0.5 * float(np.sum((s / references.deviations) ** 2))
    return float(0.5 * x @ G @ x - g @ x) + of_bodies + of_numbers


def _slope(references: References, point: Point) -> FloatArray:
    """Derivatives of the divergences in local coordinates, in the order of the unknowns."""
    K = np.linalg.cholesky(point.X)
    slope = np.empty(len(references.curvature))
    slope[: 10 * len(K)] = GAMMA * (np.einsum("bij,kjl,bil->bk", K, BASIS, K) - TRACES).ravel()
    slope[references.positive] = KAPPA * (point.z - 1.0)
    slope[references.signed] = point.s / references.deviations**2
    return slope


def _motions(references: References, point: Point) -> FloatArray:
    """Derivatives of the unknowns by the local coordinates."""
    LK = references.L @ np.linalg.cholesky(point.X)
    moved = LK[:, None] @ BASIS @ np.swapaxes(LK, 1, 2)[:, None]
    of_bodies = np.asarray(inertial_parameters_from_pseudo_inertia(moved))
    T = np.zeros((len(references.curvature),) * 2)
    for body, columns in enumerate(of_bodies):
        own = slice(10 * body, 10 * body + 10)
        T[own, own] = columns.T
    T[references.positive, references.positive] = references.sizes * point.z
    T[references.signed, references.signed] = 1.0
    return T
