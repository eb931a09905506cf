"""The fastest motions from rest to rest that keep limits of velocity, acceleration and jerk."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.trajectories.joint.durations import checked_durations
from chasles.trajectories.joint.scalings import LAWS, LEAST_SHARES, RAMP, ROUNDING, Scaling, law_named
from chasles.trajectories.motion import Floats

#: Velocity that the modified trapezoid reaches in a ramp of 1 s with an acceleration of at most 1.
_MODIFIED_SPEED = (1.0 + 4.0 / math.pi) / 3.0
#: And with a jerk of at most 1.
_MODIFIED_JERK_SPEED = _MODIFIED_SPEED / (1.5 * math.pi)

#: Limits that a scaling with variable ramps keeps, and those of which it needs one.
_KEPT = {
    "trapezoid": (("velocity", "acceleration"), ("acceleration",)),
    "modified-trapezoid": (("velocity", "acceleration", "jerk"), ("acceleration", "jerk")),
    "s-curve": (("velocity", "acceleration", "jerk"), ("acceleration", "jerk")),
}


#: Largest quotient of a limit by an amount.
_LARGEST = 1e300


class Profile(NamedTuple):
    """Shape of a motion from rest to rest, an argument of `time_scaling`.

    Attributes
    ----------
    duration
        Time from start to end, shape (...), s.
    ramp
        Fraction of the duration in which it accelerates, shape (...).
    rounding
        Fraction of the ramp in which the acceleration of an S-curve rises, shape (...).
    """

    duration: Floats
    ramp: Floats
    rounding: Floats


def fastest_profile(
    distance: ArrayLike,
    *,
    velocity: ArrayLike = math.inf,
    acceleration: ArrayLike = math.inf,
    jerk: ArrayLike = math.inf,
    scaling: Scaling = "s-curve",
) -> Profile:
    """Return the shape of the fastest motion of a kind over a distance, from rest to rest.

    The S-curve is the fastest of all motions within the limits; without a jerk limit it equals the trapezoid. Over a
    short distance not all limits are reached.

    Parameters
    ----------
    distance
        Distance, at least 0, shape (...), rad or m. The duration of a zero distance is zero.
    velocity, acceleration, jerk
        Largest magnitudes, positive, shape (...); infinite where there is no limit. They broadcast with the distance.
    scaling
        Name of a time scaling, see `time_scaling`.

    Returns
    -------
    Profile
        Duration and shape.

    Raises
    ------
    ArgumentError
        If a value is negative, zero (for limits) or NaN, if nothing limits the speed, if the scaling cannot keep a
        limit because the limited quantity is infinite where a lower derivative jumps, or if the duration is too short
        or too long for double precision.
    UnknownNameError
        For another scaling.

    Notes
    -----
    Biagiotti and Melchiorri, Trajectory Planning for Automatic Machines and Robots (2008), chapter 3.

    Examples
    --------
    >>> fastest_profile([4.0, 1.0], velocity=1.0, acceleration=0.5)  # there is no time to reach full speed over 1
    Profile(duration=array([6.        , 2.828...]), ramp=array([0.333..., 0.5       ]), rounding=array([0., 0.]))
    """
    law_named(scaling)
    limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
    arrays = [magnitudes(distance, "distance")]
    arrays += [magnitudes(limit, name, positive=True) for name, limit in limits.items()]
    try:
        d, v, a, j = np.broadcast_arrays(*arrays)
    except ValueError:
        raise ArgumentError("the shapes of distance, velocity, acceleration and jerk do not broadcast") from None
    _require_fitting_limits(scaling, d > 0.0, dict(zip(limits, (v, a, j), strict=True)))
    # There may be no distance, or no limit; what overflows or vanishes is refused below.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if scaling in ("trapezoid", "s-curve"):
            profile = _s_curve(d, v, a, j)
        elif scaling == "modified-trapezoid":
            profile = _modified_trapezoid(d, v, a, j)
        else:
            profile = _fixed_shape(scaling, d, (v, a, j))
    checked_durations(np.where(d > 0.0, profile.duration, 1.0), "the duration of the fastest motion")
    return profile


def magnitudes(values: ArrayLike, name: str, *, positive: bool = False) -> Floats:
    """Return finite numbers that are at least 0, or limits, which are positive and may be infinite."""
    return reals(values, name, above=0, infinite=True) if positive else reals(values, name, at_least=0)


def limit_per_amount(limit: ArrayLike, amount: ArrayLike) -> Floats:
    """Quotient of a limit by what it limits; infinite for no amount and for no limit.

    >>> limit_per_amount(1.0, [0.0, 0.5, 1e-320])  # a limit stays one, even if the quotient overflows
    array([    inf, 2.e+000, 1.e+300])
    """
    values, amounts = np.asarray(limit, dtype=np.float64), np.asarray(amount, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # no amount
        quotient = np.where(np.isinf(values), np.inf, np.minimum(values / amounts, _LARGEST))
    return np.where(amounts == 0.0, np.inf, quotient)


def _s_curve(d: Floats, v: Floats, a: Floats, j: Floats) -> Profile:
    """Shape of the S-curve; without a limit of jerk it is a trapezoid."""
    rise = a / j  # time in which the acceleration reaches its limit
    free = np.where(  # the speed it would reach if there were no limit
        d >= 2.0 * a * rise * rise,
        2.0 * d / (rise + np.hypot(rise, 2.0 * np.sqrt(d) / np.sqrt(a))),
        np.cbrt(d) ** 2 * np.cbrt(0.25 * j),
    )
    speed = np.minimum(v, free)
    reached = speed >= a * rise
    rounded = np.where(reached, rise, np.sqrt(speed / j))
    return _profile(d, speed, rounded + np.where(reached, speed / a, rounded), rounded)


def _modified_trapezoid(d: Floats, v: Floats, a: Floats, j: Floats) -> Profile:
    by_a, by_j = _MODIFIED_SPEED * a, _MODIFIED_JERK_SPEED * j
    speed = np.minimum(v, np.minimum(np.sqrt(d) * np.sqrt(by_a), np.cbrt(d) ** 2 * np.cbrt(by_j)))
    ramp_time = np.maximum(speed / by_a, np.sqrt(speed / by_j))
    return _profile(d, speed, ramp_time, ROUNDING * ramp_time)


def _fixed_shape(scaling: str, d: Floats, limits: tuple[Floats, ...]) -> Profile:
    """Stretch a scaling without parameters until it keeps all limits."""
    least = [
        (peak * d / limit) ** (1.0 / order)
        for order, (peak, limit) in enumerate(zip(LAWS[scaling].peaks, limits, strict=True), start=1)
        if np.isfinite(peak)
    ]
    return Profile(np.maximum.reduce(least), np.full(d.shape, RAMP), np.full(d.shape, ROUNDING))


def _profile(d: Floats, speed: Floats, ramp_time: Floats, rounded: Floats) -> Profile:
    moving = d > 0.0
    duration = np.where(moving, d / speed + ramp_time, 0.0)
    return Profile(
        duration,
        np.where(moving, np.clip(ramp_time / duration, LEAST_SHARES["ramp"], 0.5), RAMP),
        np.where(moving, np.minimum(rounded / ramp_time, 0.5), ROUNDING),
    )


def _require_fitting_limits(scaling: str, moving: NDArray[np.bool_], limits: dict[str, Floats]) -> None:
    """Refuse limits that a scaling cannot keep, and those that leave its speed or its ramps without limit."""
    if scaling in _KEPT:
        kept, needed = _KEPT[scaling]
    else:
        kept = needed = tuple(name for name, peak in zip(limits, LAWS[scaling].peaks, strict=True) if np.isfinite(peak))
    for name, limit in limits.items():
        if name not in kept and (np.isfinite(limit) & moving).any():
            raise ArgumentError(
                f"the scaling '{scaling}' cannot keep a limit of {name}, which is infinite where the "
                f"{'velocity' if name == 'acceleration' else 'acceleration'} jumps; 's-curve' and 'quintic' can"
            )
    free = moving & np.all([np.isinf(limits[name]) for name in needed], axis=0)
    if free.any():
        index = [int(i) for i in np.argwhere(free)[0]]
        place = f"; there is none at {index}" if index else ""
        raise ArgumentError(f"the scaling '{scaling}' needs a limit of {' or '.join(needed)}{place}")
