"""The last look at the motion of a frame before it is handed out: its waypoints, and no jumps at knots."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.trajectories.cartesian.pose_pieces import PosePieces
from chasles.trajectories.cartesian.pose_waypoints import waypoint
from chasles.trajectories.joint.continuity import JUMP, MISS, ORDERS, first_index, of_trajectory
from chasles.trajectories.motion import Floats, PoseMotion

_PLACES = {"angular": "orientation", "linear": "place"}


def require_orientations(motion: PosePieces, rotations: Floats, remedy: str) -> None:
    """Raise an error if a frame misses an orientation at a knot, seen from the piece before it or after it.

    Parameters
    ----------
    motion
        One trajectory or a batch.
    rotations
        Orientations at all knots, (*batch, k, 3, 3).
    remedy
        Advice in the message.

    Raises
    ------
    ArgumentError
        If the orientation is more than 1e-9 rad away.
    """
    starts, _, ends = _sides(motion)
    for side, wanted, first in ((starts, rotations[..., :-1, :, :], 0), (ends, rotations[..., 1:, :, :], 1)):
        miss = np.abs(side.pose[..., :3, :3] - wanted).max(axis=(-2, -1))
        if not (miss <= MISS).all():
            index = first_index(~(miss <= MISS))
            missed = waypoint([*index[:-1], index[-1] + first])
            raise ArgumentError(
                f"the frame misses the orientation of {missed} by {miss[index]:.3g} rad: it turns so far between "
                f"waypoints that double precision loses them; {remedy}"
            )


def require_smooth_frame(
    motion: PosePieces,
    order: int,
    remedy: str,
    *,
    size: ArrayLike | None = None,
    turn_error: float = 0.0,
    time_error: float = 0.0,
    periodic: bool = False,
) -> None:
    """Raise an error if the orientation of a frame, or its place, or their derivatives jump at a knot.

    Parameters
    ----------
    motion
        One trajectory or a batch.
    order
        0 if only the pose is continuous, 1 if the twist is, 2 if the acceleration is.
    remedy
        Advice in the message.
    size
        Largest coordinate of a waypoint, m, (*batch, 1); without it only the orientation is checked.
    turn_error
        Rounding error of the turns that the pieces have been computed from, rad.
    time_error
        Rounding error of the knots, s, where they are sums: what the frame moves in that time is no jump.
    periodic
        Whether the end must go on as the start.

    Raises
    ------
    ArgumentError
        If the orientation jumps by more than 1e-9 rad, the place by more than 1e-9 of the size, or a derivative by more
        than 1e-9 of its own size near the knot and rounding errors.
    """
    h = np.diff(motion.knots)
    for kind, columns, unit in (("angular", slice(3), 1.0), ("linear", slice(3, 6), size)):
        if unit is None:
            continue
        starts, middles, ends = (
            [_place(side, kind), *(part[..., columns] for part in side[1:])] for side in _sides(motion)
        )
        sizes = [_largest(parts) for parts in zip(starts, middles, ends, strict=True)]
        for derivative in range(order + 1):
            allowed = MISS * np.asarray(unit) if derivative == 0 else JUMP * sizes[derivative]
            allowed = allowed + time_error * sizes[min(derivative + 1, 2)]
            if kind == "angular" and turn_error:
                allowed = allowed + turn_error / h**derivative
            jump = np.linalg.norm(np.roll(starts[derivative], -1, axis=-2) - ends[derivative], axis=-1)
            allowed = np.broadcast_to(allowed, jump.shape)
            wrong = ~(jump <= np.maximum(allowed, np.roll(allowed, -1, axis=-1)))
            wrong[..., -1] &= periodic
            if wrong.any():
                index = first_index(wrong)
                time = np.broadcast_to(motion.knots[..., 1:], jump.shape)[index]
                name = f"{kind} {ORDERS[derivative]}" if derivative else _PLACES[kind]
                whose = f"of the frame{of_trajectory(index[:-1])}"
                raise ArgumentError(f"the {name} {whose} jumps by {jump[index]:.3g} at {time:g} s; {remedy}")


def _sides(motion: PosePieces) -> list[PoseMotion]:
    """Motion at the start, in the middle and at the end of each piece, (*batch, k, ...)."""
    h = np.diff(motion.knots)
    return [PoseMotion(*motion.formula(share * h, *motion.pieces)) for share in (0.0, 0.5, 1.0)]


def _place(side: PoseMotion, kind: str) -> Floats:
    """Entries of the rotation matrix, or coordinates of the origin, on one axis."""
    R = side.pose[..., :3, :3]
    return np.asarray(R.reshape(*R.shape[:-2], 9) if kind == "angular" else side.pose[..., :3, 3])


def _largest(vectors: Iterable[Floats]) -> Floats:
    """Largest length of vectors."""
    largest: Floats = np.maximum.reduce([np.linalg.norm(vector, axis=-1) for vector in vectors])
    return largest
