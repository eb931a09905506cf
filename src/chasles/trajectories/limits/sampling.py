"""Where a joint trajectory is looked at: on both sides of each knot, and where a derivative may be largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.motion import Floats
from chasles.trajectories.trajectory import checked_step

if TYPE_CHECKING:
    from chasles.trajectories.joint.trajectory import JointTrajectory

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
    knots = trajectory.knots[..., :-1, None]
    length = np.diff(trajectory.knots)[..., None]
    rows = list(np.moveaxis(trajectory.coefficients, -2, 0))  # each (*batch, k, n)
    derivatives = [rows]
    while len(derivatives[-1]) > 1:
        derivatives.append([power * row for power, row in enumerate(derivatives[-1])][1:])
    shape = rows[0].shape
    roots = np.zeros((0, *shape))
    moments = []
    for order in range(len(derivatives) - 2, 0, -1):  # the roots of one derivative part those of the one below
        ends = np.broadcast_to(length, shape)
        roots = _roots(derivatives[order], np.concatenate([np.zeros((1, *shape)), roots, ends[None]]))
        if order <= 4:
            moments.append(knots + roots)
    if not moments:
        return np.empty((0, *trajectory.batch))
    times = np.concatenate(moments)
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


_STEPS = 1000  # in a trajectory, where no step is given
_STEPS_OF_PIECE = 16  # at least, between two knots
_STATIONARY = 4_000_000  # more places where derivatives vanish are not computed; samples find them, too
_MOST_SAMPLES = 10_000_000
_JUMP = 1e-7  # of the largest value nearby; smaller differences at a knot are rounding of coefficients


def check_times(trajectory: JointTrajectory, batch: tuple[int, ...], dt: float | None) -> Floats:
    """Sample times of a trajectory, shape (m, b) for a batch of size b, including both sides of each knot."""
    count = trajectory.knots.shape[-1]
    knots = np.broadcast_to(trajectory.knots, (*batch, count)).reshape(-1, count)
    if not len(knots):
        return np.empty((1, 0))
    lengths = np.diff(knots, axis=-1).max(axis=0)
    duration = float((knots[:, -1] - knots[:, 0]).max())
    step = duration / _STEPS if dt is None else checked_step(dt)
    if duration > _MOST_SAMPLES * step:
        raise ArgumentError(f"{duration:g} s in steps of {step:g} s are more than {_MOST_SAMPLES:,} samples")
    parts = []
    for k, length in enumerate(lengths):
        count = max(_STEPS_OF_PIECE, int(np.ceil(length / step * (1.0 - 1e-12)))) if length > 0.0 else 1
        start, end = knots[:, k], knots[:, k + 1]
        part = start + np.linspace(0.0, 1.0, count + 1)[:, None] * (end - start)
        part[-1] = np.maximum(np.nextafter(end, -np.inf), start)
        parts.append(np.minimum(part, part[-1]))
    times = np.concatenate([*parts, knots[None, :, -1]])
    if isinstance(trajectory, PiecewisePolynomial) and 10 * trajectory.coefficients.size < _STATIONARY:
        extra = stationary_times(trajectory)
        extra = extra.reshape(len(extra), *(1,) * (len(batch) - len(trajectory.batch)), *trajectory.batch)
        extra = np.broadcast_to(extra, (len(extra), *batch)).reshape(len(extra), len(knots))
        times = np.sort(np.concatenate([times, extra]), axis=0)
    return times


class Jump(NamedTuple):
    """Where a derivative of some order (0 for the position) jumps at a knot, and when.

    The indices are those of an array (*batch, n), or of rates (*batch, nv).
    """

    order: int
    where: tuple[NDArray[np.intp], ...]
    time: Floats


def jumps(trajectory: JointTrajectory, batch: tuple[int, ...]) -> list[Jump]:
    """Jumps of positions, velocities and accelerations at the knots between start and end."""
    knots = np.moveaxis(np.broadcast_to(trajectory.knots, (*batch, trajectory.knots.shape[-1])), -1, 0)
    start, end = knots[0], knots[-1]
    length = np.diff(knots, axis=0)
    shortest = np.where(length > 0.0, length, np.inf).min(axis=0, initial=np.inf)[..., None]
    inner = np.where((knots[1:-1] > start) & (knots[1:-1] < end), knots[1:-1], start)
    left = trajectory.derivatives(np.where(inner > start, np.nextafter(inner, -np.inf), inner))
    right = trajectory.derivatives(inner)
    within = trajectory.derivatives(np.concatenate([knots[:-1] + part * length for part in (0.1, 0.3, 0.5, 0.7, 0.9)]))
    found_jumps, position = [], np.zeros(trajectory.n)
    for order in range(3):
        count = trajectory.nv if order else trajectory.n
        sides = [np.broadcast_to(side[order], (*inner.shape, count)) for side in (left, right)]
        size = np.maximum.reduce([np.abs(side).max(axis=0, initial=0.0) for side in (*sides, within[order])])
        if order == 0:  # on a manifold no coordinate is on its own: the largest stands for all
            position = size if trajectory.nv == trajectory.n else size.max(axis=-1, keepdims=True)
        rounding = 64.0 * np.finfo(float).eps * position / shortest**order
        knot, *where = np.nonzero(np.abs(sides[1] - sides[0]) > _JUMP * size + rounding)
        found_jumps.append(Jump(order, tuple(where), inner[(knot, *where[:-1])]))
    return found_jumps
