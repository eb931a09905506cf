"""The laws of motion that made the sample files of SpaceLib: ``JOINT.MOT`` and ``TEST.MOT``."""

from __future__ import annotations

import math
from typing import NamedTuple

from chasles.base.comparable import comparable
from chasles.engine import maximum, minimum, sin, where
from chasles.geometry.elementary import Array
from chasles.geometry.quotients import third_quotient
from chasles.interop.spacelib.routines import routine


@comparable
class LawOfMotion(NamedTuple):
    """Where a joint is at an instant.

    Attributes
    ----------
    q, qp, qpp
        Position, velocity and acceleration, shape (...).
    """

    q: Array
    qp: Array
    qpp: Array


@routine(t=(), D=(), T=())
def thirds_law(t: Array, D: Array, T: Array) -> LawOfMotion:
    """Law of motion 1/3-1/3-1/3: constant acceleration, constant velocity, constant deceleration, equally long.

    Parameters
    ----------
    t
        Time, shape (...), s. At rest before 0 and after `T`.
    D
        Displacement, shape (...), rad or m.
    T
        Duration, shape (...), s. The results are NaN if it is not positive.

    Returns
    -------
    LawOfMotion
        The acceleration is ``4.5 D / T²`` for 0 ≤ t < T/3 and the opposite for 2T/3 < t ≤ T.

    Notes
    -----
    SpaceLib User's Manual 2.2a, §7.6.3 and figure 7.19.

    Examples
    --------
    >>> from math import pi
    >>> [float(value.round(6)) for value in thirds_law(0.1, pi / 2, 0.3)]
    [0.392699, 7.853982, 0.0]
    """
    third = T / 3.0
    A = 4.5 * D / (T * T)
    s = maximum(minimum(t, T - t), 0.0)
    accelerating = s < third
    q = where(accelerating, 0.5 * A * s * s, A * third * (s - 0.5 * third))
    qp = where(accelerating, A * s, A * third)
    qpp = where(accelerating & (t >= 0.0) & (t <= T), A, 0.0)
    return _mirrored(t, D, T, LawOfMotion(q, qp, qpp), (T > 0.0) & (s >= 0.0))


@routine(t=(), D=(), T=(), Ta=())
def modified_trapezoid_law(t: Array, D: Array, T: Array, Ta: Array) -> LawOfMotion:
    """Modified trapezoid: the acceleration rises as a quarter of a sine, stays, and falls as a quarter of a cosine.

    These three parts are equally long and take the time `Ta`. Constant velocity follows, and the same mirrored.

    Parameters
    ----------
    t
        Time, shape (...), s. At rest before 0 and after `T`.
    D
        Displacement, shape (...), rad or m.
    T
        Duration, shape (...), s.
    Ta
        Duration of the acceleration, and of the deceleration, shape (...), s. The results are NaN if it is not
        positive or more than T/2.

    Returns
    -------
    LawOfMotion
        The velocity in between is ``D / (T - Ta)``.

    Notes
    -----
    ``TEST.MOT`` (SpaceLib User's Manual 2.2a, table 7.7) has D = pi, T = 1 s and Ta = 0.25 s.

    Examples
    --------
    >>> from math import pi
    >>> [float(value.round(6)) for value in modified_trapezoid_law(0.002, pi, 1.0, 0.25)]
    [1e-06, 0.000833, 0.833399]
    """
    third = Ta / 3.0
    V = D / (T - Ta)
    A = V / (third * (1.0 + 4.0 / math.pi))
    w = 0.5 * math.pi / third
    s = maximum(minimum(t, T - t), 0.0)
    # The acceleration is symmetric about Ta / 2: what is missing to V after it had been reached as long before it.
    r = maximum(minimum(s, Ta - s), 0.0)
    rising = r < third
    x = w * minimum(r, third)
    q = where(
        rising,
        A * w * r * r * r * third_quotient(x * x),
        A / (w * w) * (0.5 * math.pi - 1.0) + (r - third) * (A / w + 0.5 * A * (r - third)),
    )
    qp = where(rising, 2.0 * A / w * sin(0.5 * x) * sin(0.5 * x), A / w + A * (r - third))
    qpp = A * sin(x)
    late = s > 0.5 * Ta
    first_half = LawOfMotion(where(late, q + V * (s - 0.5 * Ta), q), where(late, V - qp, qp), qpp)
    return _mirrored(t, D, T, first_half, (Ta > 0.0) & (2.0 * Ta <= T))


def _mirrored(t: Array, D: Array, T: Array, first_half: LawOfMotion, possible: Array) -> LawOfMotion:
    """Law of a motion whose second half is the first one backwards; NaN where it is not possible."""
    q, qp, qpp = first_half
    late = T - t < t
    law = LawOfMotion(where(late, D - q, q), qp, where(late, -qpp, qpp))
    return LawOfMotion(*(where(possible, value, math.nan) for value in law))
