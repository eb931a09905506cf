"""Distance between two segments, and where they are nearest; in arithmetic that can be traced.

Source: Ericson, Real-Time Collision Detection (2005), section 5.1.9, Closest Points of Two Line Segments.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.engine import clip, maximum, sqrt, where
from chasles.geometry.elementary import Array

#: Squared sine of the angle below which segments count as parallel.
_PARALLEL = 1e-12
#: Squared distance, m², that keeps the gradient finite where axes meet.
_MEETING = 1e-24


class Nearest(NamedTuple):
    """Nearest points of two segments.

    Attributes
    ----------
    first, second
        Shares of the way from start to end, from 0 to 1.
    """

    first: Any
    second: Any


def nearest_shares(start: Array, way: Array | None, other_start: Array, other_way: Array | None) -> Nearest:
    """Where two segments are nearest; one without a way is a point.

    >>> nearest_shares(np.zeros(3), np.array([2.0, 0.0, 0.0]), np.array([0.5, 1.0, 0.0]), None)
    Nearest(first=np.float64(0.25), second=0.0)
    """
    between = start - other_start
    if way is None and other_way is None:
        return Nearest(0.0, 0.0)
    if other_way is None:
        assert way is not None
        return Nearest(clip(-(way @ between) / (way @ way), 0.0, 1.0), 0.0)
    if way is None:
        return Nearest(0.0, clip((other_way @ between) / (other_way @ other_way), 0.0, 1.0))
    a, e, b = way @ way, other_way @ other_way, way @ other_way
    c, f = way @ between, other_way @ between
    sine = a * e - b * b
    crossing = sine > _PARALLEL * a * e
    s = where(crossing, clip((b * f - c * e) / where(crossing, sine, 1.0), 0.0, 1.0), 0.0)
    t = (b * s + f) / e
    before, after = clip(-c / a, 0.0, 1.0), clip((b - c) / a, 0.0, 1.0)
    return Nearest(where(t < 0.0, before, where(t > 1.0, after, s)), clip(t, 0.0, 1.0))


def length_and_direction(vector: Array) -> tuple[Any, Array]:
    """Length of a vector (3,), and its direction, which is short of 1 where the length vanishes."""
    length = sqrt(maximum(vector @ vector, _MEETING))
    return length, np.asarray(vector / length)
