"""Where a run met the robot's limits: how long, and by how much; limits that act, and limits that are required."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ChaslesError
from chasles.control.pid import saturated
from chasles.engine import where
from chasles.engine.program.scalar import Array
from chasles.inverse_kinematics.ranges import coordinate_limits
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]
#: Values (..., n), their units, and what labels call them.
Labelled = tuple[Floats, str, str]
#: Share of a limit that counts as rounding.
ROUNDING = 1e-9


class LimitError(ChaslesError, RuntimeError):
    """A joint exceeded a limit; see `chasles.simulation.results.Run.require_limits`."""


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
    excesses: dict[str, Labelled] = {}
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
        excesses[f"{name}_time"] = time, "s", f"time beyond {what}"
        excesses[f"{name}_excess"] = most, unit, f"largest excess over {what}"
    return excesses


def torques_within(robot: Robot, tau: Floats, qd: Floats, *, effort: bool, velocity: bool) -> Floats:
    """Torques (..., n) that acted, of those demanded; as `limited_torques`, over all samples."""
    if effort:
        bounds = np.where(robot.effort_limits > 0.0, robot.effort_limits, np.inf)
        tau = np.clip(tau, -bounds, bounds)
    if velocity:
        fastest = np.where(robot.velocity_limits > 0.0, robot.velocity_limits, np.inf)
        tau = np.where((np.abs(qd) >= fastest) & (tau * qd > 0.0), 0.0, tau)
    return tau


class _Checked(NamedTuple):
    """A recorded quantity, and what a message about it says."""

    limit: str
    verb: str
    advice: str
    values: Floats
    lower: Floats
    upper: Floats
    names: Sequence[str]
    units: Sequence[str]


def require_limits(robot: Robot, times: Floats, q: Floats, qd: Floats, tau: Floats) -> None:
    """Raise a `LimitError` that names the first joint beyond a limit of the robot.

    Parameters
    ----------
    robot
        Robot with the limits; limits of velocity and effort of 0 are none.
    times
        Times of the samples, (k,), s.
    q, qd, tau
        Positions (..., k, nq), velocities and demanded torques (..., k, n).
    """
    description, ranges = robot.description, coordinate_limits(robot)
    fastest, strongest = (np.where(size > 0.0, size, np.inf) for size in (robot.velocity_limits, robot.effort_limits))
    rates = description.velocity_units
    efforts = ["N" if unit == "m/s" else "N·m" for unit in rates]
    slower, inside = "plan a slower motion", "plan a motion inside the limits"
    weaker = "plan a slower motion, lower the gains, or carry less"
    checked = (
        _Checked("position", "stands at", inside, q, *ranges, robot.coordinate_names, description.coordinate_units),
        _Checked("velocity", "moves at", slower, qd, -fastest, fastest, robot.velocity_names, rates),
        _Checked("effort", "needs", weaker, tau, -strongest, strongest, robot.velocity_names, efforts),
    )
    first = [_first_beyond(quantity) for quantity in checked]
    excesses = [(place, quantity) for place, quantity in zip(first, checked, strict=True) if place is not None]
    if not excesses:
        return
    (sample, run, joint), quantity = min(excesses, key=lambda one: one[0][0])
    values = quantity.values.reshape(-1, *quantity.values.shape[-2:])
    value, unit = float(values[run, sample, joint]), quantity.units[joint]
    bound = float((quantity.upper if value > quantity.upper[joint] else quantity.lower)[joint])
    if quantity.limit != "position":
        value, bound = abs(value), abs(bound)
    of_run = "" if len(values) == 1 else f" of run {run}"
    raise LimitError(
        f"{quantity.names[joint]}{of_run} {quantity.verb} {value:.4g} {unit} at t = {times[sample]:g} s, beyond its "
        f"{quantity.limit} limit of {bound:g} {unit}: {quantity.advice}"
    )


def _first_beyond(quantity: _Checked) -> tuple[int, int, int] | None:
    """Sample, run and joint of the first value beyond its limits; a motion planned to them may pass by rounding."""
    _, _, _, values, lower, upper, *_ = quantity
    slack = ROUNDING * np.maximum(*(np.where(np.isfinite(bound), np.abs(bound), 0.0) for bound in (lower, upper)))
    beyond = (values > upper + slack) | (values < lower - slack)  # never of NaN
    if not beyond.any():
        return None
    rows = beyond.reshape(-1, *beyond.shape[-2:])
    sample = int(rows.any(axis=(0, 2)).argmax())
    run, joint = (int(place[0]) for place in np.nonzero(rows[:, sample]))
    return sample, run, joint
