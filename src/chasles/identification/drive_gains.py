"""Drive gains: torque of each joint for a unit of motor current.

Each joint's current is fitted by the torque of a model with known masses and by the joint's own friction; the gain is
the reciprocal of the model's coefficient. Gains are absolute as far as the masses of the model are right. With a second
log in which the robot carries a known payload, the model's masses need not be right: only the difference that the
payload makes counts. Source: M. Gautier & S. Briot, "Global identification of joint drive gains and dynamic parameters
of robots" (ASME J. Dynamic Systems 136(5), 2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, IdentificationError
from chasles.identification.equations import TorqueEquations, inertial_unknowns, with_drives_of
from chasles.identification.filtering import Cutoff, filtered_signals
from chasles.identification.friction import FrictionTerms
from chasles.identification.logs.acceptance import accepted_log
from chasles.identification.regression import Prior, coloured_covariance, weighted_fit
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

TRANSITION = 0.05
"""Velocity of the transition of friction, relative to the joint's largest rate."""


@dataclass(frozen=True)
class DriveGains:
    """Torque per unit of current, and its standard error, shapes (n,), N·m/A.

    A gain whose error is not much smaller than the gain is not identifiable from this motion; see `known`.
    """

    values: FloatArray
    errors: FloatArray

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whether each gain is at least five standard errors from zero, shape (n,)."""
        return np.asarray(np.abs(self.values) > 5.0 * self.errors)


def gains_from_model(robot: Robot, equations: TorqueEquations, measured: NDArray[np.bool_]) -> DriveGains:
    """Gains with which currents fit the torques of a robot's bodies and rotors.

    Parameters
    ----------
    robot
        Robot whose masses are taken for true.
    equations
        Equations with currents as efforts.
    measured
        Joints whose current was measured. The others get NaN.
    """
    n = len(measured)
    torque = equations.columns @ equations.inertial.of(robot)
    friction = _friction(robot, equations)
    values, errors = np.full(n, np.nan), np.full(n, np.nan)
    for joint in np.flatnonzero(measured):
        A = np.concatenate([torque[:, joint, None], friction[:, joint, joint]], axis=1)
        y, moving = equations.effort[:, joint], equations.moving[:, joint]
        values[joint], errors[joint] = _gain(A, y, moving, equations.segments)
    return DriveGains(values, errors)


def _friction(robot: Robot, equations: TorqueEquations) -> FloatArray:
    """Columns of viscous and Coulomb friction and an offset, shape (k, n joints, n motors, 3)."""
    units = robot.description.coordinate_units
    terms = FrictionTerms.of(equations.motor_rates, units, (TRANSITION,), ("offset",))
    columns = equations.friction(terms, np.zeros_like(equations.motor_rates))
    return columns.reshape(*columns.shape[:2], len(units), -1)


def gains_from_payload(
    robot: Robot,
    log: Any,
    loaded: Any,
    *,
    mass: float,
    center_of_mass: ArrayLike = (0.0, 0.0, 0.0),
    inertia: ArrayLike | None = None,
    frame: str | None = None,
    cutoff: float | None = None,
) -> DriveGains:
    """Identify absolute drive gains from two logs of motor currents, one with a known payload.

    The masses of the robot's model need not be correct. In each joint's equation, base parameters and friction are
    unknowns in units of current; only the payload's torque in the second log is known.

    Parameters
    ----------
    robot
        Robot without the payload; only its geometry is used.
    log, loaded
        Logs without and with the payload, each a `chasles.Log` or a source that it reads. The motion may be the same.
    mass, center_of_mass, inertia, frame
        Payload, as for `Robot.with_payload`.
    cutoff
        Cut-off frequency of the filters, Hz. Default: chosen from the first log.

    Returns
    -------
    DriveGains
        Gains, for ``Log(..., drive_gains=gains.values)``. A joint that the payload does not load has a large error: see
        ``known``.

    Raises
    ------
    ArgumentError
        If a log cannot be read, or the mass is not positive.
    IdentificationError
        If the payload loads no joint.

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm, t = ch.load("planar2r"), np.arange(0.0, 20.0, 0.02)[:, None]
    >>> w = np.array([[1.0, 1.7]])
    >>> q, qd, qdd = np.sin(w * t) + 0.3 * np.sin(2.6 * w * t), None, None
    >>> qd = w * np.cos(w * t) + 0.78 * w * np.cos(2.6 * w * t)
    >>> qdd = -(w**2) * np.sin(w * t) - 2.028 * w**2 * np.sin(2.6 * w * t)
    >>> heavy = arm.with_payload(2.0)
    >>> currents = [robot.inverse_dynamics(q, qd, qdd) / [8.0, 3.0] for robot in (arm, heavy)]
    >>> logs = [{"t": t[:, 0], "q": q, "current": current} for current in currents]
    >>> gains_from_payload(arm.inertial.perturbed({"mass": 0.5}, seed=0), *logs, mass=2.0).values.round(1)
    array([8., 3.])
    """
    if not mass > 0.0:
        raise ArgumentError(f"the known payload needs a positive mass, not {mass!r}")
    without, carrying = accepted_log(robot, log), accepted_log(robot, loaded)
    first = filtered_signals(without, cutoff)
    second = filtered_signals(carrying, Cutoff(first.cutoff.frequency, first.cutoff.bandwidth, "as without payload"))
    robot = with_drives_of(without, robot)
    own = inertial_unknowns(robot)
    loads = robot.with_payload(mass, center_of_mass, inertia, frame=frame)
    bare = robot.with_payload(0.0) if frame is None else robot  # at the tool a payload replaces that of the model
    columns, payload, efforts, moving, segments = [], [], [], [], []
    start = 0
    for signals, is_loaded in ((first, 0.0), (second, 1.0)):
        equations = TorqueEquations(robot, own, signals)
        friction = _friction(robot, equations)
        columns.append(np.concatenate([equations.base_columns, friction.reshape(*friction.shape[:2], -1)], axis=2))
        state = signals.q, signals.qd, signals.qdd
        torque = np.asarray(loads.inverse_dynamics(*state)) - np.asarray(bare.inverse_dynamics(*state))
        payload.append(is_loaded * signals.filter(torque)[equations.kept])
        efforts.append(equations.effort)
        moving.append(equations.moving)
        segments += [slice(part.start + start, part.stop + start) for part in equations.segments]
        start += len(equations.effort)
    A, torques, y, used = (np.concatenate(parts) for parts in (columns, payload, efforts, moving))
    n = robot.n
    values, errors = np.full(n, np.nan), np.full(n, np.nan)
    for joint in np.flatnonzero(without.measured & carrying.measured):
        if np.abs(torques[:, joint]).max() < 1e-9 * np.abs(torques).max():
            continue
        acting = np.abs(A[:, joint]).max(axis=0) > 0.0
        rows = np.concatenate([torques[:, joint, None], A[:, joint][:, acting]], axis=1)
        values[joint], errors[joint] = _gain(rows, y[:, joint], used[:, joint], tuple(segments))
    found = DriveGains(values, errors)
    if not found.known.any():
        raise IdentificationError(
            "no joint's current tells the payload apart from friction and the robot's own weight: use a heavier "
            "payload, or a motion that lifts and accelerates it"
        )
    return found


def _gain(A: FloatArray, y: FloatArray, used: NDArray[np.bool_], segments: tuple[slice, ...]) -> tuple[float, float]:
    """Reciprocal of the first coefficient in a fit of currents y (k,) by columns A (k, p), and its standard error."""
    rows, currents = A[:, None, :], y[:, None]
    sizes = 100.0 * (np.abs(y).max() + 1e-12) / (np.abs(A).max(axis=0) + 1e-12)
    prior = Prior(np.zeros(A.shape[1]), sizes)
    fit = weighted_fit(rows, currents, used[:, None], prior, np.ones(1) * (y.std() + 1e-12))
    covariance = coloured_covariance(rows, fit, prior, segments)
    slope = float(fit.values[0])
    if not slope:
        return np.inf, np.inf
    return 1.0 / slope, float(np.sqrt(covariance[0, 0])) / slope**2
