"""Friction of joints as columns of a regression: what each term multiplies.

The friction torque of a joint at the rate v is

    offset + viscous v + coulomb d(v) + stribeck exp(-(v/vs)²) d(v) + asymmetry |v| + load |τ| d(v) + drift t v
        + (position_sine sin q + position_cosine cos q) d(v) + ripple_sine sin q + ripple_cosine cos q,

with the direction d(v) = tanh(v / v0). `offset` is also a bias of the torque sensor, and Coulomb friction that differs
by direction; `asymmetry` is viscous friction that does; `load` grows with the torque τ that the joint transmits, as
that of gears does; `drift` is viscous friction that changes while the lubricant warms up, with the time t in hours
before (negative) and after the end of the fitted part of the log, so that the other terms hold for the warm robot.
`position` is dry friction that changes once per revolution of the joint, as that of eccentric gears and bearings does;
`ripple` is a torque that does, whatever the velocity: eccentric torque sensors, cables, springs. Each is a sine and a
cosine.
Sources: Armstrong-Hélouvry, Dupont & Canudas de Wit, Automatica 30(7), 1994; P. Hamon, M. Gautier &
P. Garrec, "Dynamic identification of robots with a dry friction model depending on load and velocity" (IROS 2010);
A. Bittencourt & P. Axelsson, "Modeling and experiment design for identification of wear in a robot joint under load and
temperature uncertainties based on friction data" (IEEE/ASME Trans. Mechatronics 19(5), 2014); M. Popović & A.
Goldenberg, "Modeling of friction using spectral analysis" (IEEE Trans. Robotics and Automation 14(1), 1998).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ALWAYS = ("viscous", "coulomb", "offset")
OPTIONAL = ("stribeck", "asymmetry", "load", "drift", "position", "ripple")
TERMS = (*ALWAYS, *OPTIONAL)
PERIODIC = ("position", "ripple")
"""Terms of the joint's angle; each has two columns."""

LONG = 300.0
"""Duration of a log, s, from which friction may drift with temperature."""

STRIBECK_RATIO = 4.0
"""Stribeck velocity vs in multiples of v0."""


def columns_of(term: str) -> tuple[str, ...]:
    """Names of a term's columns.

    >>> columns_of("load"), columns_of("ripple")
    (('load',), ('ripple_sine', 'ripple_cosine'))
    """
    return (f"{term}_sine", f"{term}_cosine") if term in PERIODIC else (term,)


def term_of(column: str) -> str:
    """Term that a column belongs to.

    >>> term_of("viscous"), term_of("position_cosine")
    ('viscous', 'position')
    """
    return column.removesuffix("_sine").removesuffix("_cosine")


def friction_column(
    column: str,
    rate: FloatArray,
    v0: float,
    load: FloatArray,
    hours: FloatArray | float = 0.0,
    angle: FloatArray | float = 0.0,
) -> FloatArray:
    """Torque of a unit of one column.

    Parameters
    ----------
    column
        One of `columns_of` the `TERMS`.
    rate
        Joint rates, rad/s (m/s).
    v0
        Velocity of the direction's transition, rad/s.
    load
        Torques that the joint transmits without friction, N·m, of the rates' shape.
    hours
        Time after the end of the fitted part of the log, h.
    angle
        Joint angles, rad.

    Examples
    --------
    >>> friction_column("viscous", np.array([-2.0, 1.0]), 0.1, np.zeros(2))
    array([-2.,  1.])
    """
    direction = np.tanh(rate / v0)
    term = term_of(column)
    if term == "offset":
        return np.ones_like(rate)
    if term == "viscous":
        return rate
    if term == "asymmetry":
        return np.abs(rate)
    if term == "drift":
        return np.asarray(hours * rate)
    if term in PERIODIC:
        wave = np.sin(angle) if column.endswith("_sine") else np.cos(angle)
        return np.asarray(wave * (direction if term == "position" else np.ones_like(rate)))
    factor = {"coulomb": 1.0, "load": np.abs(load), "stribeck": np.exp(-((rate / (STRIBECK_RATIO * v0)) ** 2))}[term]
    return np.asarray(factor * direction)


def friction_slope(
    columns: Sequence[str],
    coefficients: FloatArray,
    rate: FloatArray,
    v0: float,
    load: FloatArray,
    angle: FloatArray | float = 0.0,
) -> FloatArray:
    """Derivative of one joint's friction torque by log v0.

    Examples
    --------
    >>> rate, load = np.array([0.05, -0.2]), np.zeros(2)
    >>> ahead, behind = (3.0 * friction_column("coulomb", rate, 0.1 * np.exp(h), load) for h in (1e-6, -1e-6))
    >>> found = friction_slope(["coulomb"], np.array([3.0]), rate, 0.1, load)
    >>> bool(np.allclose(found, (ahead - behind) / 2e-6))
    True
    """
    ratio = rate / v0
    direction = np.tanh(ratio)
    turning = -ratio * (1.0 - direction**2)
    film = np.exp(-((ratio / STRIBECK_RATIO) ** 2))
    slopes = {
        "coulomb": turning,
        "stribeck": film * (turning + 2.0 * (ratio / STRIBECK_RATIO) ** 2 * direction),
        "load": np.abs(load) * turning,
        "position_sine": np.sin(angle) * turning,
        "position_cosine": np.cos(angle) * turning,
    }
    total = np.zeros_like(rate)
    for column, coefficient in zip(columns, coefficients, strict=True):
        if column in slopes:
            total += coefficient * slopes[column]
    return total
