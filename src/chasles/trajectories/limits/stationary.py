"""Where the derivatives of piecewise polynomials vanish: between such places every derivative rises or falls."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.trajectories.joint.piecewise import PiecewisePolynomial

_BISECTIONS = 60


def stationary_times(trajectory: PiecewisePolynomial) -> NDArray[np.float64]:
    """Times at which the position, velocity, acceleration or jerk of a joint may be largest inside a piece.

    Parameters
    ----------
    trajectory
        One trajectory or a batch.

    Returns
    -------
    ndarray
        Shape (m, *batch), s, within the pieces and in no order; knots stand in for places that do not exist.

    Examples
    --------
    >>> throw = PiecewisePolynomial([0.0, 3.0], [[[0.0], [9.81], [-4.905]]])  # highest after 1 s
    >>> stationary_times(throw).max().round(9)
    np.float64(1.0)
    """
    knots = trajectory.knots[:-1, None]
    length = np.diff(trajectory.knots)[:, None]
    rows = list(np.moveaxis(trajectory.coefficients, -2, 0))  # each (*batch, k, n)
    derivatives = [rows]
    while len(derivatives[-1]) > 1:
        derivatives.append([power * row for power, row in enumerate(derivatives[-1])][1:])
    shape = rows[0].shape
    places = np.zeros((0, *shape))
    found = []
    for order in range(len(derivatives) - 2, 0, -1):  # the roots of one derivative part those of the one below
        ends = np.broadcast_to(length, shape)
        places = _roots(derivatives[order], np.concatenate([np.zeros((1, *shape)), places, ends[None]]))
        if order <= 4:
            found.append(knots + places)
    if not found:
        return np.empty((0, *trajectory.batch))
    times = np.concatenate(found)
    return np.moveaxis(times, (-2, -1), (0, 1)).reshape(-1, *trajectory.batch)


def _roots(rows: list[NDArray[np.float64]], brackets: NDArray[np.float64]) -> NDArray[np.float64]:
    """One root of the polynomial between each two neighbours of the brackets (b, ...), 0 where there is none."""
    low, high = brackets[:-1].copy(), brackets[1:].copy()
    begins_below = _value(rows, low) < 0.0
    exists = begins_below != (_value(rows, high) < 0.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        before = (_value(rows, middle) < 0.0) == begins_below
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.sort(np.where(exists, high, 0.0), axis=0)


def _value(rows: list[NDArray[np.float64]], u: NDArray[np.float64]) -> NDArray[np.float64]:
    value = np.zeros_like(u)
    for row in reversed(rows):
        value = value * u + row
    return value
