"""The last look at a motion before it is handed out: it passes its waypoints and does not jump at its knots.

Splines through waypoints at very unequal times overshoot by powers of the ratio of their spacings. Double precision
keeps sixteen digits of the overshoot, and may lose those of the waypoints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.motion import Floats

#: Share of the largest waypoint by which a motion may miss one.
MISS = 1e-9
#: Share of a derivative's size near a knot by which it may jump there.
JUMP = 1e-9
#: Relative rounding error of a sum of powers.
ROUNDING = 256.0 * np.finfo(float).eps
#: Highest derivative that is looked at.
_HIGHEST = 4
#: Knots that are looked at together.
_BLOCK = 20_000
ORDERS = ("position", "velocity", "acceleration", "jerk", "fourth derivative")
#: What most splines need instead.
REMEDY = "make the times between waypoints more equal, or give a HermiteSpline velocities at the waypoints"


def require_waypoints(
    motion: JointTrajectory,
    times: Floats,
    waypoints: Floats,
    *,
    size: ArrayLike = 0.0,
    what: str = "joint",
    remedy: str = REMEDY,
) -> None:
    """Raise an error if a motion misses its waypoints.

    Parameters
    ----------
    motion
        One trajectory or a batch.
    times
        Times of the waypoints, (k,), s.
    waypoints
        Configurations, (*batch, k, n).
    size
        Size of what else shapes the motion, such as velocities times durations, in the unit of the joints; it
        broadcasts with (*batch, 1, n).
    what, remedy
        Moving thing and advice, for the message.

    Raises
    ------
    ArgumentError
        If the motion is more than 1e-9 of the largest waypoint, or size, away from a waypoint.
    """
    allowed = MISS * np.maximum(np.abs(waypoints).max(axis=-2, keepdims=True), size)
    for first in range(0, len(times), _BLOCK):
        block = slice(first, first + _BLOCK)
        reached = motion.derivatives(times[block].reshape(-1, *(1,) * len(motion.batch)))[0]
        miss = np.abs(np.moveaxis(reached, 0, -2) - waypoints[..., block, :])
        if not (miss <= allowed).all():
            *batch, k, joint = first_index(~(miss <= allowed))
            raise ArgumentError(
                f"the motion misses waypoint {first + k}{of_trajectory(batch)}, at {times[first + k]:g} s, by "
                f"{miss[*batch, k, joint]:.3g} in {what} {joint}: it overshoots so far that double precision loses the "
                f"waypoint; {remedy}"
            )


def require_continuity(
    motion: PiecewisePolynomial,
    orders: ArrayLike,
    *,
    size: ArrayLike,
    rates: Sequence[ArrayLike] = (),
    periodic: bool = False,
    time_error: float = 0.0,
    what: str = "joint",
    remedy: str = REMEDY,
) -> None:
    """Raise an error if a derivative that should be continuous jumps at a knot.

    Both sides of a knot are compared, as the polynomials before and after it give them.

    Parameters
    ----------
    motion
        One trajectory or a batch.
    orders
        Highest derivative that is continuous at all inner knots, or at each, (k - 1,); -1 where the position jumps.
        Those above the fourth are not checked.
    size
        Largest position that was asked for, in the unit of the joints; it broadcasts with (*batch, 1, n).
    rates
        Largest velocity, acceleration, … that were asked for, if any; each broadcasts with (*batch, 1, n).
    periodic
        Whether the end must go on as the start.
    time_error
        Rounding error of the knots, s, where they are sums: what the motion covers in that time is no jump.
    what, remedy
        Moving thing and advice, for the message.

    Raises
    ------
    ArgumentError
        If a position jumps by more than 1e-9 of the size, or another derivative by more than 1e-9 of its own near the
        knot and rounding errors of the positions.
    """
    count = motion.coefficients.shape[-3]
    if np.max(orders, initial=-1) < 0:
        return
    highest = np.minimum(np.broadcast_to(orders, (count - 1,)), _HIGHEST)
    last = min(int(np.max(orders, initial=-1)), _HIGHEST)
    lengths = np.diff(motion.knots)

    def sides(pieces: slice) -> _Sides:
        return _Sides.of(motion.coefficients[..., pieces, :, :], lengths[pieces], last + 1, time_error)

    def compare(left: _Sides, right: _Sides, times: Floats, highest: ArrayLike) -> None:
        """Compare the ends of pieces with the starts of those that follow at some times."""
        jump, allowed = np.abs(right.start - left.end), np.maximum(left.slack, right.slack)
        allowed[..., 0, :] += MISS * np.asarray(size)
        for order, rate in zip(range(1, last + 1), rates, strict=False):
            allowed[..., order, :] += JUMP * np.asarray(rate)
        wrong = ~(jump <= allowed) & (np.arange(last + 1) <= np.asarray(highest)[..., None])[..., None]
        if wrong.any():
            *batch, k, order, joint = index = first_index(wrong)
            raise ArgumentError(
                f"the {ORDERS[order]} of {what} {joint}{of_trajectory(batch)} jumps by {jump[index]:.3g} at "
                f"{times[k]:g} s, because double precision loses it where the motion overshoots; {remedy}"
            )

    with np.errstate(over="ignore", invalid="ignore"):  # what is infinite jumps
        for first in range(0, count - 1, _BLOCK):
            block = sides(slice(first, first + _BLOCK + 1))
            left, right = block.part(slice(None, -1)), block.part(slice(1, None))
            compare(left, right, motion.knots[first + 1 :], highest[first : first + _BLOCK])
        if periodic:
            compare(sides(slice(-1, None)), sides(slice(0, 1)), motion.knots[-1:], [last])


class _Sides(NamedTuple):
    """Derivatives at both ends of some pieces, from the position on, (*batch, k, orders, n).

    Attributes
    ----------
    start, end
        At the start and at the end of each piece.
    slack
        Jumps next to each piece that are rounding.
    """

    start: Floats
    end: Floats
    slack: Floats

    @classmethod
    def of(cls, coefficients: Floats, lengths: Floats, count: int, time_error: float) -> _Sides:
        """Evaluate the first derivatives of polynomials, in the share of their duration that has passed."""
        h = lengths[:, None, None]
        powers, orders = np.arange(coefficients.shape[-2]), np.arange(count + 1)
        terms = coefficients * h ** powers[:, None]
        derivatives = np.array([[math.perm(power, order) for power in powers] for order in orders], dtype=np.float64)
        units = h ** orders[:, None]
        start, end = (derivatives * (powers == orders[:, None])) @ terms / units, derivatives @ terms / units
        sizes = np.maximum(np.abs(start), np.abs(end))
        slack = JUMP * sizes + ROUNDING * np.abs(terms).max(axis=-2, keepdims=True) / units
        slack[..., 0, :] = 0.0  # positions have a size of their own
        slack = slack[..., :-1, :] + time_error * sizes[..., 1:, :]
        return cls(start[..., :-1, :], end[..., :-1, :], slack)

    def part(self, pieces: slice) -> _Sides:
        """Some of the pieces."""
        return _Sides(*(side[..., pieces, :, :] for side in self))


def first_index(wrong: NDArray[np.bool_]) -> tuple[int, ...]:
    """Index of the first true value."""
    return tuple(int(i) for i in np.argwhere(wrong)[0])


def of_trajectory(batch: Sequence[int]) -> str:
    """Name of a trajectory of a batch, for messages."""
    return f" of trajectory {list(batch)}" if batch else ""
