"""Pieces of motions: in which one each time lies, and its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def piece_at(knots: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.intp]:
    """Number of the piece in which each time lies; times beyond the ends lie in the first or last one.

    Parameters
    ----------
    knots
        Times at which pieces meet, (k + 1,), or (*batch, k + 1) with a batch that broadcasts with the times.
    t
        Times, (...).

    Examples
    --------
    >>> piece_at(np.array([0.0, 1.0, 2.0]), np.array([-3.0, 0.9, 1.0, 5.0]))
    array([0, 0, 1, 1])
    >>> piece_at(np.array([[0.0, 1.0, 2.0], [0.0, 0.5, 1.0]]), np.array([0.7, 0.7]))
    array([0, 1])
    """
    if knots.ndim == 1:
        return np.asarray(np.searchsorted(knots[1:-1], t, side="right"))
    return np.asarray((t[..., None] >= knots[..., 1:-1]).sum(axis=-1))


def of_piece(part: NDArray[np.float64], piece: NDArray[np.intp], batch: tuple[int, ...]) -> Any:
    """Values of the piece in which each time lies: part (*batch, k, ...) at piece (...) -> (..., ...)."""
    if not batch:
        return part[piece]
    shape = np.broadcast_shapes(piece.shape, batch)
    rest = part.shape[len(batch) + 1 :]
    spread = np.broadcast_to(part, (*shape, *part.shape[len(batch) :]))
    index = np.broadcast_to(piece, shape).reshape(*shape, *(1,) * (1 + len(rest)))
    return np.take_along_axis(spread, index, axis=len(shape)).reshape(*shape, *rest)
