"""The squared rate of a path's parameter as a spline over it: b = θ̇², and with it u = θ̈ = b'/2 and p = b''/2.

As functions of the place θ these are linear in the coefficients of the spline, and θ̈ follows from θ̇ without any
equation of motion. Source: Verscheure, Demeulenaere, Swevers, De Schutter and Diehl, Time-optimal path tracking for
robots: a convex optimization approach, IEEE Transactions on Automatic Control 54 (2009).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.trajectories.motion import Floats


@dataclass(frozen=True)
class Samples:
    """The spline at places, as a linear function of its coefficients.

    Attributes
    ----------
    first
        First of the coefficients that count at each place, (k,).
    weights
        Weights of these coefficients in b, u and p, (k, 3, degree + 1).
    size
        Number of all coefficients.
    """

    first: NDArray[np.intp]
    weights: Floats
    size: int

    def of(self, coefficients: Floats) -> tuple[Floats, Floats, Floats]:
        """Return b, u and p at the places, each (k,)."""
        local = coefficients[self.first[:, None] + np.arange(self.weights.shape[-1])]
        b, u, p = np.einsum("kij,kj->ik", self.weights, local)
        return b, u, p

    def gradient(self, by_place: Floats) -> Floats:
        """Gradient to the coefficients of what has slopes (k, 3) to (b, u, p) at the places."""
        local = np.einsum("ki,kij->jk", by_place, self.weights)
        return np.asarray(sum(self._added(part, j) for j, part in enumerate(local)))

    def hessian(self, by_place: Floats) -> Floats:
        """Upper bands, as SciPy has them, of second derivatives to the coefficients from those at places, (k, 3, 3)."""
        local = np.moveaxis(np.swapaxes(self.weights, 1, 2) @ by_place @ self.weights, 0, -1)
        order = len(local)
        bands = np.zeros((order, self.size))
        for i in range(order):
            for j in range(i, order):
                bands[order - 1 - (j - i)] += self._added(local[i, j], j)
        return bands

    def _added(self, values: Floats, offset: int) -> Floats:
        return np.bincount(self.first + offset, weights=values, minlength=self.size).astype(float, copy=False)


def knots_of(nodes: Floats, degree: int) -> Floats:
    """Knots of the spline with pieces between nodes.

    Near the ends, where the path rests, u and p move no joint, and nothing would keep a piece of its own in place: the
    nodes next to an end are no knots, as in splines that are "not a knot".
    """
    ends = np.ones(degree + 1)
    return np.concatenate([nodes[0] * ends, nodes[degree:-degree], nodes[-1] * ends])


def samples(knots: Floats, degree: int, places: Floats) -> Samples:
    """Return the spline at places.

    Examples
    --------
    >>> flat = samples(knots_of(np.linspace(0.0, 1.0, 9), 2), 2, np.array([0.3, 1.0]))
    >>> [part.round(12).tolist() for part in flat.of(np.ones(flat.size))]
    [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    """
    from scipy.interpolate import BSpline

    size = len(knots) - degree - 1
    first = np.clip(np.searchsorted(knots, places, side="right") - 1, degree, size - 1) - degree
    weights = np.zeros((len(places), 3, degree + 1))
    for remainder in range(degree + 1):  # of any degree + 1 coefficients in a row, one has each remainder
        chosen = (np.arange(size) % (degree + 1) == remainder).astype(float)
        spline, column = BSpline(knots, chosen, degree), (remainder - first) % (degree + 1)
        for row, share in enumerate((1.0, 0.5, 0.5)):
            weights[np.arange(len(places)), row, column] = share * spline(places, nu=row)
    return Samples(first, weights, size)
