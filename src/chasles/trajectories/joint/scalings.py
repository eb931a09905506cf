"""Time scalings: how a motion along a given path progresses from 0 to 1, at rest before and after.

All of them are symmetric, s(T - t) = 1 - s(t), so each is written for its first half alone, as a function of the
fraction x = t/T of its duration that has passed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import UnknownNameError
from chasles.engine import cos, maximum, minimum, sin, where
from chasles.engine.program.scalar import Real
from chasles.geometry.batched import batched
from chasles.geometry.quotients import third_quotient
from chasles.trajectories.joint.durations import SHORTEST, checked_durations

Scaling = Literal[
    "linear",
    "cubic",
    "quintic",
    "minimum-jerk",
    "septic",
    "cycloid",
    "thirds",
    "trapezoid",
    "modified-trapezoid",
    "s-curve",
]
#: Share of the duration in which a motion accelerates, unless it is said, and again the one in which it decelerates.
RAMP = 0.25
#: Share of this time in which an S-curve's acceleration rises, unless it is said, and again the one in which it falls.
ROUNDING = 1.0 / 3.0
#: Least ramp and rounding: those of shorter ramps overflow.
LEAST_SHARES = {"ramp": 1e-18, "rounding": 0.0}
#: Share of the ramp in which the acceleration of an S-curve without rounding rises.
_SHARPEST = 1e-80


class TimeScaling(NamedTuple):
    """Progress at one time.

    Attributes
    ----------
    s
        Progress from 0 to 1, shape (...).
    sd, sdd, sddd
        Time derivatives of s, 1/s, 1/s², 1/s³.
    remaining
        1 - s, as accurate near the end as s is near the start.
    """

    s: Real
    sd: Real
    sdd: Real
    sddd: Real
    remaining: Real


def time_scaling(
    t: ArrayLike | Real,
    duration: ArrayLike | Real,
    scaling: Scaling = "quintic",
    *,
    ramp: Real = RAMP,
    rounding: Real = ROUNDING,
) -> TimeScaling:
    """Return the progress of a motion from rest to rest, with exact derivatives.

    Parameters
    ----------
    t
        Time, shape (...), s. The progress rests at 0 before 0 and at 1 after `duration`.
    duration
        Time from start to end, shape (...), s; from 1e-18 to 1e18 s, or 0.
    scaling
        Name of the function:

        - ``"linear"``: constant velocity, with jumps at both ends.
        - ``"cubic"``: the velocity vanishes at the ends.
        - ``"quintic"``, also called ``"minimum-jerk"``: velocity and acceleration vanish at the ends. This motion
          minimises the integral of the squared jerk.
        - ``"septic"``: velocity, acceleration and jerk vanish at the ends.
        - ``"cycloid"``: the acceleration is one period of a sine.
        - ``"trapezoid"``: constant acceleration, constant velocity, constant deceleration.
        - ``"thirds"``: the trapezoid whose three parts are equally long.
        - ``"modified-trapezoid"``: each ramp's acceleration rises as a quarter of a sine, stays, and falls as a quarter
          of a cosine, all three equally long.
        - ``"s-curve"``: the jerk is constant in each of up to seven parts (double S).
    ramp
        Fraction of the duration in which the motion accelerates, equal to that in which it decelerates, shape (...),
        from 1e-18 to 1/2. Used by trapezoids and S-curves, ignored by other scalings.
    rounding
        Fraction of the ramp in which the acceleration of an S-curve rises, equal to that in which it falls, shape
        (...), from 0 (a trapezoid) to 1/2. Ignored by other scalings.

    Returns
    -------
    TimeScaling
        Progress and derivatives. Where a derivative jumps, it has the value of one side.

    Raises
    ------
    UnknownNameError
        For another scaling.
    ArgumentError
        If a duration is negative, not finite, or too short or too long for double precision.

    Notes
    -----
    Lynch and Park, Modern Robotics (2017), section 9.2: cubic, quintic, trapezoid, S-curve. Flash and Hogan, The
    coordination of arm movements (1985): minimum jerk. SpaceLib User's Manual 2.2a, section 7.6.3: thirds.

    Examples
    --------
    >>> progress = time_scaling([0.0, 0.5, 1.0, 2.0], 2.0, "cubic")
    >>> progress.s, progress.sd
    (array([0.     , 0.15625, 0.5    , 1.     ]), array([0.    , 0.5625, 0.75  , 0.    ]))
    """
    law_named(scaling)
    if np.asarray(duration).dtype != object:  # a traced duration has no value yet
        checked_durations(duration, zero=True)
    return _time_scaling(t, duration, ramp, rounding, scaling=scaling)


@batched(t=(), duration=(), ramp=(), rounding=())
def _time_scaling(t: Real, duration: Real, ramp: Real, rounding: Real, scaling: Scaling) -> TimeScaling:
    left = duration - t
    known = (t < 0.0) | (t >= 0.0)
    rate = where(known, 1.0 / maximum(duration, SHORTEST), math.nan)  # a time that is NaN makes everything NaN
    resting = (t < 0.0) | (left < 0.0)
    late = left < t
    x = maximum(minimum(t, left), 0.0) * rate
    half, first, second, third = LAWS[scaling].first_half(x, ramp, rounding)
    return TimeScaling(
        s=where(late, 1.0 - half, half),
        sd=where(resting, 0.0, rate * first),
        sdd=where(resting, 0.0, rate * rate * where(late, -1.0 * second, second)),
        sddd=where(resting, 0.0, rate * rate * rate * third),
        remaining=where(late, half, 1.0 - half),
    )


class _Derivatives(NamedTuple):
    """A value and its first three derivatives."""

    value: Any
    first: Real
    second: Real
    third: Real


def _linear(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    return _Derivatives(x, 1.0, 0.0, 0.0)


def _cubic(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    return _Derivatives(x**2 * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x), 6.0 - 12.0 * x, -12.0)


def _quintic(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    y = x * (1.0 - x)
    value = x**3 * (10.0 - x * (15.0 - 6.0 * x))
    return _Derivatives(value, 30.0 * y**2, 60.0 * y * (1.0 - 2.0 * x), 60.0 * (1.0 - 6.0 * y))


def _septic(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    y = x * (1.0 - x)
    value = x**4 * (35.0 - x * (84.0 - x * (70.0 - 20.0 * x)))
    return _Derivatives(value, 140.0 * y**3, 420.0 * y**2 * (1.0 - 2.0 * x), 840.0 * y * (1.0 - 5.0 * y))


def _cycloid(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    turn = 2.0 * math.pi
    angle = turn * x
    return _Derivatives(
        turn**2 * x**3 * third_quotient(angle * angle),
        2.0 * sin(0.5 * angle) ** 2,
        turn * sin(angle),
        turn**2 * cos(angle),
    )


def _thirds(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    return _ramped(x, 1.0 / 3.0, _constant_rise)


def _trapezoid(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    return _ramped(x, ramp, _constant_rise)


def _modified_trapezoid(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    return _ramped(x, ramp, _sine_rise)


def _s_curve(x: Real, ramp: Real, rounding: Real) -> _Derivatives:
    return _ramped(x, ramp, lambda r: _linear_rise(r, rounding))


def _ramped(x: Real, ramp: Real, rise: Callable[[Any], _Derivatives]) -> _Derivatives:
    """Acceleration up to x = `ramp`, then constant velocity.

    In the ramp the velocity rises from 0 to 1 over u from 0 to 1, symmetrically about its middle; `rise` is its first
    half.
    """
    u = x / ramp
    ramping, late = u < 1.0, u > 0.5
    distance, velocity, acceleration, jerk = rise(maximum(minimum(u, 1.0 - u), 0.0))
    speed = 1.0 / (1.0 - ramp)
    return _Derivatives(
        speed * where(late, x - 0.5 * ramp + ramp * distance, ramp * distance),
        speed * where(late, 1.0 - velocity, velocity),
        speed / ramp * where(ramping, acceleration, 0.0),
        speed / (ramp * ramp) * where(ramping, where(late, -1.0 * jerk, jerk), 0.0),
    )


def _constant_rise(r: Real) -> _Derivatives:
    return _Derivatives(0.5 * r * r, r, 1.0, 0.0)


_SINE_RATE = 1.5 * math.pi  # a quarter of a sine in a third of the ramp
_SINE_HEIGHT = 3.0 / (1.0 + 4.0 / math.pi)


def _sine_rise(r: Real) -> _Derivatives:
    a, w, third = _SINE_HEIGHT, _SINE_RATE, 1.0 / 3.0
    rising, after = r < third, r - third
    angle = w * minimum(r, third)
    return _Derivatives(
        where(
            rising,
            a * w * r**3 * third_quotient(angle * angle),
            a / w**2 * (0.5 * math.pi - 1.0) + after * (a / w + 0.5 * a * after),
        ),
        where(rising, 2.0 * a / w * sin(0.5 * angle) ** 2, a / w + a * after),
        a * sin(angle),
        where(rising, a * w * cos(angle), 0.0),
    )


def _linear_rise(r: Real, rounding: Real) -> _Derivatives:
    """Acceleration that rises linearly up to r = `rounding` and stays."""
    height = 1.0 / (1.0 - rounding)
    jerk = height / maximum(rounding, _SHARPEST)
    rising, after = r < rounding, r - 0.5 * rounding
    return _Derivatives(
        where(rising, jerk * r * r * r / 6.0, height * (0.5 * after * after + rounding * rounding / 24.0)),
        where(rising, 0.5 * jerk * r * r, height * after),
        where(rising, jerk * r, height),
        where(rising, jerk, 0.0),
    )


@dataclass(frozen=True)
class Law:
    """One time scaling.

    Attributes
    ----------
    first_half
        (x, ramp, rounding) -> progress and its derivatives by x, for x from 0 to 1/2.
    parameters
        Which of ``ramp`` and ``rounding`` shape it.
    peaks
        Largest derivatives by x, of the first three orders, where no parameter shapes it; infinite if the one before
        jumps.
    knots
        (ramp, rounding) -> values of x in the first half between which it is smooth, from 0 on.
    """

    first_half: Callable[[Any, Any, Any], _Derivatives]
    parameters: tuple[str, ...] = ()
    peaks: tuple[float, ...] = ()
    knots: Callable[[Any, Any], tuple[Any, ...]] = lambda ramp, rounding: (0.0 * ramp,)


_QUINTIC = Law(_quintic, peaks=(1.875, 10.0 / math.sqrt(3.0), 60.0))

LAWS: dict[str, Law] = {
    "linear": Law(_linear, peaks=(1.0, math.inf, math.inf)),
    "cubic": Law(_cubic, peaks=(1.5, 6.0, math.inf)),
    "quintic": _QUINTIC,
    "minimum-jerk": _QUINTIC,
    "septic": Law(_septic, peaks=(2.1875, 84.0 / math.sqrt(125.0), 52.5)),
    "cycloid": Law(_cycloid, peaks=(2.0, 2.0 * math.pi, 4.0 * math.pi**2)),
    "thirds": Law(
        _thirds, peaks=(1.5, 4.5, math.inf), knots=lambda ramp, rounding: (0.0 * ramp, 0.0 * ramp + 1.0 / 3.0)
    ),
    "trapezoid": Law(_trapezoid, ("ramp",), knots=lambda ramp, rounding: (0.0 * ramp, ramp)),
    "modified-trapezoid": Law(
        _modified_trapezoid, ("ramp",), knots=lambda ramp, rounding: (0.0 * ramp, ramp / 3.0, ramp / 1.5, ramp)
    ),
    "s-curve": Law(
        _s_curve,
        ("ramp", "rounding"),
        knots=lambda ramp, rounding: (0.0 * ramp, rounding * ramp, (1.0 - rounding) * ramp, ramp),
    ),
}


def law_named(scaling: str) -> Law:
    """Return the time scaling of this name."""
    law = LAWS.get(scaling) if isinstance(scaling, str) else None
    if law is None:
        raise UnknownNameError("scaling", str(scaling), LAWS)
    return law
