"""Where a run met the robot's limits of effort and velocity: how long, and by how much; and limits that act."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ChaslesError
from chasles.control.pid import saturated
from chasles.engine import where
from chasles.engine.program.scalar import Array
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
#: Values (..., n), their units, and what labels call them.
Labelled = tuple[Floats, str, str]


class VelocityLimitError(ChaslesError, RuntimeError):
    """A joint moved faster than its velocity limit; see `chasles.simulation.results.Run.require_limits`."""


def limited_torques(robot: Robot, tau: Array, qd: Array, effort: bool, velocity: bool) -> Array:
    """Return torques (n,) that the robot's drives can give, of numbers or traced scalars.

    Parameters
    ----------
    robot
        Robot with the limits; limits of 0 or infinity do not act.
    tau, qd
        Demanded torques and the velocities at which they are to act, (n,).
    effort
        Whether effort limits act: torques are cut off.
    velocity
        Whether velocity limits act: a drive at its highest speed, or beyond, gives no torque that speeds it up.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> limited_torques(arm, np.array([9.0, 9.0]), np.zeros(2), True, True)
    array([9., 9.])
    """
    limited = saturated(tau, robot.effort_limits) if effort else tau
    if not velocity:
        return limited
    bounds = robot.velocity_limits
    return np.array(
        [
            where((abs(v) >= bound) & (t * v > 0.0), 0.0, t) if 0.0 < bound < np.inf else t
            for t, v, bound in zip(limited, qd, bounds, strict=True)
        ]
    )


def limit_excesses(robot: Robot, times: Floats, tau: Floats, qd: Floats, *, limited: bool) -> dict[str, Labelled]:
    """Time beyond each joint's limits and the largest excess, (..., n); 0 where no limit is passed.

    Parameters
    ----------
    robot
        Robot with the limits.
    times
        Times of the samples, (k,), s. Each sample stands for the time until the next.
    tau, qd
        Demanded torques and velocities, (..., k, n).
    limited
        Whether effort limits acted on the torques; if not, none are passed.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("panda")
    >>> tau = np.zeros((3, 7))
    >>> tau[0, 1] = 90.0  # the limit is 87 N m
    >>> found = limit_excesses(arm, np.array([0.0, 0.1, 0.2]), tau, 0.0 * tau, limited=True)
    >>> list(found), found["saturation_time"][0][1], found["saturation_excess"][0][1]
    (['saturation_time', 'saturation_excess', 'overspeed_time', 'overspeed_excess'], np.float64(0.1), np.float64(3.0))
    """
    held = np.append(np.diff(times), 0.0)[:, None]
    found: dict[str, Labelled] = {}
    for name, values, limits, unit, what in (
        ("saturation", tau, robot.effort_limits, "effort", "the effort limit"),
        ("overspeed", qd, robot.velocity_limits, "velocity", "the velocity limit"),
    ):
        bounds = np.where(limits > 0.0, limits, np.inf)
        if name == "saturation" and not limited:
            bounds = np.full_like(bounds, np.inf)
        sizes = np.abs(values)
        beyond = sizes > bounds  # never of NaN
        if beyond.any():
            excess = np.where(beyond, sizes - bounds, 0.0)
            time, most = (beyond * held).sum(axis=-2), excess.max(axis=-2)
        else:  # the usual case, without arrays as large as the values
            time = most = np.zeros((*values.shape[:-2], values.shape[-1]))
        found[f"{name}_time"] = time, "s", f"time beyond {what}"
        found[f"{name}_excess"] = most, unit, f"largest excess over {what}"
    return found


def torques_within(robot: Robot, tau: Floats, qd: Floats, *, effort: bool, velocity: bool) -> Floats:
    """Torques (..., n) that acted, of those demanded; as `limited_torques`, over all samples."""
    if effort:
        bounds = np.where(robot.effort_limits > 0.0, robot.effort_limits, np.inf)
        tau = np.clip(tau, -bounds, bounds)
    if velocity:
        fastest = np.where(robot.velocity_limits > 0.0, robot.velocity_limits, np.inf)
        tau = np.where((np.abs(qd) >= fastest) & (tau * qd > 0.0), 0.0, tau)
    return tau


def require_velocity_limits(robot: Robot, times: Floats, qd: Floats) -> None:
    """Raise a VelocityLimitError that names the first joint beyond its velocity limit, of velocities (..., k, n)."""
    fastest = np.where(robot.velocity_limits > 0.0, robot.velocity_limits, np.inf)
    beyond = np.abs(qd) > fastest * (1.0 + 1e-9)  # a motion planned to the limit may pass it by rounding
    if not beyond.any():
        return
    rows = beyond.reshape(-1, *beyond.shape[-2:])
    sample = int(rows.any(axis=(0, 2)).argmax())
    run, joint = (int(place[0]) for place in np.nonzero(rows[:, sample]))
    speed = abs(float(qd.reshape(rows.shape)[run, sample, joint]))
    unit = robot.description.velocity_units[joint]
    among = "" if rows.shape[0] == 1 else f" of run {run}"
    raise VelocityLimitError(
        f"{robot.velocity_names[joint]}{among} moves at {speed:.4g} {unit} at t = {times[sample]:g} s, beyond its "
        f"velocity limit of {fastest[joint]:g} {unit}: plan a slower motion"
    )
