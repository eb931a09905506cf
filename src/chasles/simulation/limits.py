"""Where a run met the robot's limits of effort and velocity: how long, and by how much."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.robot import Robot

Floats = NDArray[np.float64]
#: Values (..., n), their units, and what labels call them.
Labelled = tuple[Floats, str, str]


def limit_excesses(robot: Robot, times: Floats, tau: Floats, qd: Floats, *, limited: bool) -> dict[str, Labelled]:
    """Time beyond each joint's limits and the largest excess, (..., n); of limits that are never passed nothing.

    Parameters
    ----------
    robot
        Robot with the limits.
    times
        Times of the samples, (k,), s. Each sample stands for the time until the next.
    tau, qd
        Demanded torques and velocities, (..., k, n).
    limited
        Whether effort limits acted on the torques.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> tau = np.zeros((3, 7))
    >>> tau[0, 1] = 90.0  # the limit is 87 N m
    >>> found = limit_excesses(arm, np.array([0.0, 0.1, 0.2]), tau, 0.0 * tau, limited=True)
    >>> list(found), found["saturation_time"][0][1], found["saturation_excess"][0][1]
    (['saturation_time', 'saturation_excess'], np.float64(0.1), np.float64(3.0))
    """
    held = np.append(np.diff(times), 0.0)[:, None]
    found: dict[str, Labelled] = {}
    for name, values, limits, unit, what in (
        ("saturation", tau, robot.effort_limits, "effort", "the effort limit"),
        ("overspeed", qd, robot.velocity_limits, "velocity", "the velocity limit"),
    ):
        bounds = np.where(limits > 0.0, limits, np.inf)
        beyond = (values > bounds) | (values < -bounds)  # never of NaN
        if beyond.any() and (limited or name == "overspeed"):
            excess = np.where(beyond, np.abs(values) - bounds, 0.0)
            found[f"{name}_time"] = (beyond * held).sum(axis=-2), "s", f"time beyond {what}"
            found[f"{name}_excess"] = excess.max(axis=-2), unit, f"largest excess over {what}"
    return found


def within_limits(tau: Floats, limits: Floats) -> Floats:
    """Torques (..., n) within limits (n,); a limit of 0 or infinity is none."""
    bounds = np.where(limits > 0.0, limits, np.inf)
    return np.clip(tau, -bounds, bounds)
