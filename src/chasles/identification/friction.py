"""Friction of joints as columns of a regression: what each term multiplies.

The friction torque of a joint at the rate v is

    offset + viscous v + coulomb d(v) + stribeck exp(-(v/vs)²) d(v) + asymmetry |v| + load |τ| d(v) + drift t v,

with the direction d(v) = tanh(v / v0). `offset` is also a bias of the torque sensor, and Coulomb friction that differs
by direction; `asymmetry` is viscous friction that does; `load` grows with the torque τ that the joint transmits, as
that of gears does; `drift` is viscous friction that changes while the lubricant warms up, with the time t in hours
before (negative) and after the end of the fitted part of the log, so that the other terms hold for the warm robot.
Sources: Armstrong-Hélouvry, Dupont & Canudas de Wit, Automatica 30(7), 1994; P. Hamon, M. Gautier &
P. Garrec, "Dynamic identification of robots with a dry friction model depending on load and velocity" (IROS 2010);
A. Bittencourt & P. Axelsson, "Modeling and experiment design for identification of wear in a robot joint under load and
temperature uncertainties based on friction data" (IEEE/ASME Trans. Mechatronics 19(5), 2014).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

ALWAYS = ("viscous", "coulomb", "offset")
OPTIONAL = ("stribeck", "asymmetry", "load", "drift")
TERMS = (*ALWAYS, *OPTIONAL)

LONG = 300.0
"""Duration of a log, s, from which friction may drift with temperature."""

STRIBECK_RATIO = 4.0
"""Stribeck velocity vs in multiples of v0."""


def friction_column(
    term: str, rate: FloatArray, v0: float, load: FloatArray, hours: FloatArray | float = 0.0
) -> FloatArray:
    """Torque of a unit of one term.

    Parameters
    ----------
    term
        One of `TERMS`.
    rate
        Joint rates, rad/s (m/s).
    v0
        Velocity of the direction's transition, rad/s.
    load
        Torques that the joint transmits without friction, N·m, of the rates' shape.
    hours
        Time after the end of the fitted part of the log, h.

    Examples
    --------
    >>> friction_column("viscous", np.array([-2.0, 1.0]), 0.1, np.zeros(2))
    array([-2.,  1.])
    """
    direction = np.tanh(rate / v0)
    if term == "offset":
        return np.ones_like(rate)
    if term == "viscous":
        return rate
    if term == "asymmetry":
        return np.abs(rate)
    if term == "drift":
        return np.asarray(hours * rate)
    factor = {"coulomb": 1.0, "load": np.abs(load), "stribeck": np.exp(-((rate / (STRIBECK_RATIO * v0)) ** 2))}[term]
    return np.asarray(factor * direction)


def friction_slope(
    terms: Sequence[str], coefficients: FloatArray, rate: FloatArray, v0: float, load: FloatArray
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
    }
    total = np.zeros_like(rate)
    for term, coefficient in zip(terms, coefficients, strict=True):
        if term in slopes:
            total += coefficient * slopes[term]
    return total
