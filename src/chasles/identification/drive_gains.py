"""Drive gains: torque of each joint for a unit of motor current.

Each joint's current is fitted by the torque of a model with known masses and by the joint's own friction; the gain is
the reciprocal of the model's coefficient. Gains are absolute as far as the masses of the model are right. With a second
log in which the robot carries a payload of known mass, the model's masses need not be right: only the difference that
the payload makes counts. Its centre and inertia may be unknown: they are the same for all joints. Source: M. Gautier &
S. Briot, "Global identification of joint drive gains and dynamic parameters of robots" (ASME J. Dynamic Systems 136(5),
2014).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import least_squares

from chasles.base.errors import ArgumentError, IdentificationError
from chasles.engine.validators import reals
from chasles.identification.equations import TorqueEquations, inertial_unknowns, with_drives_of
from chasles.identification.filtering import filtered_signals
from chasles.identification.friction import FrictionTerms
from chasles.identification.logs.acceptance import accepted_log
from chasles.identification.payload_columns import payload_frame, payload_regressor
from chasles.identification.regression import Prior, coloured_covariance, weighted_fit
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

LEAST_VARIANCE = 1e-10
"""Share of the largest variance, of combinations of the payload's coefficients, that rounding leaves."""
TRANSITION = 0.05
"""Velocity of the transition of friction, relative to the joint's largest rate."""


@dataclass(frozen=True)
class DriveGains:
    """Torque per unit of current, and its standard error, shapes (n,), N·m/A.

    A gain whose error is not much smaller than the gain is not identifiable from this motion; see `known`.

    Attributes
    ----------
    values, errors
        Gains and their standard errors.
    center_of_mass, center_error
        Centre of mass of the payload in its frame and its standard errors, shape (3,), m, if it was estimated.
    """

    values: FloatArray
    errors: FloatArray
    center_of_mass: FloatArray | None = None
    center_error: FloatArray | None = None

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
    torque = equations.columns @ equations.inertial.of(robot) + equations.passive
    currents, friction = equations.effort + equations.passive, _friction(robot, equations)
    fits = {
        int(joint): _slopes(
            torque[:, joint, None], friction[:, joint, joint], currents[:, joint], equations.moving[:, joint],
            equations.segments,
        )
        for joint in np.flatnonzero(measured)
    }  # fmt: skip
    return _gains(fits, len(measured))


def _friction(robot: Robot, equations: TorqueEquations) -> FloatArray:
    """Columns of viscous and Coulomb friction and an offset, shape (k, n joints, n motors, 3)."""
    units = robot.description.displacement_units
    terms = FrictionTerms.of(equations.motor_rates, units, (TRANSITION,), ("offset",))
    columns = equations.friction(terms, np.zeros_like(equations.motor_rates))
    return columns.reshape(*columns.shape[:2], len(units), -1)


def gains_from_payload(
    robot: Robot,
    log: Any,
    loaded: Any,
    *,
    mass: float,
    center_of_mass: ArrayLike | None = None,
    inertia: ArrayLike | None = None,
    frame: str | None = None,
    cutoff: float | None = None,
) -> DriveGains:
    """Identify absolute drive gains from two logs of motor currents, one with a payload of known mass.

    The masses of the robot's model need not be correct. In each joint's equation, base parameters and friction are
    unknowns in units of current; only the payload's torque in the second log is known. Where its centre is not given,
    centre and inertia are unknowns that all joints share, and the mass alone makes the gains absolute.

    Parameters
    ----------
    robot
        Robot without the payload; only its geometry is used.
    log, loaded
        Logs without and with the payload, each a `chasles.Log` or a source that it reads. The motion may be the same.
    mass
        Mass of the payload, kg.
    center_of_mass, inertia
        Centre of mass in the frame, m, and inertia about it, kg·m², as for `Robot.with_payload`. Default: identified.
    frame
        Frame that carries the payload; default the tool.
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
        If the payload loads no joint, or its centre is needed and not determined.

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
    second = filtered_signals(carrying, first.cutoff.frequency)
    robot = with_drives_of(without, robot)
    own = inertial_unknowns(robot)
    where = payload_frame(robot, frame)
    parameters = None if center_of_mass is None else _known_payload(mass, center_of_mass, inertia)
    columns, payload, efforts, moving, segments = [], [], [], [], []
    start = 0
    for signals, is_loaded in ((first, 0.0), (second, 1.0)):
        equations = TorqueEquations(robot, own, signals)
        friction = _friction(robot, equations)
        columns.append(np.concatenate([equations.base_columns, friction.reshape(*friction.shape[:2], -1)], axis=2))
        of_payload = payload_regressor(robot, where, signals.configuration, signals.qd, signals.qdd)
        payload.append(is_loaded * signals.filter(of_payload)[equations.kept])
        efforts.append(equations.effort + equations.passive)
        moving.append(equations.moving)
        segments += [slice(part.start + start, part.stop + start) for part in equations.segments]
        start += len(equations.effort)
    A, W, y, used = (np.concatenate(parts) for parts in (columns, payload, efforts, moving))
    if parameters is not None:
        W = (W @ parameters)[..., None]
    measured = np.flatnonzero(without.measured & carrying.measured)
    fits = {
        int(joint): _slopes(W[:, joint], A[:, joint], y[:, joint], used[:, joint], tuple(segments))
        for joint in measured
        if np.abs(W[:, joint]).max() >= 1e-9 * np.abs(W).max()
    }
    found = _gains(fits, robot.n) if parameters is not None else _gains_and_center(fits, robot.n, mass)
    if not found.known.any():
        raise IdentificationError(
            "no joint's current tells the payload apart from friction and the robot's own weight: use a heavier "
            "payload, or a motion that lifts and accelerates it"
        )
    return found


def _known_payload(mass: float, center_of_mass: ArrayLike, inertia: ArrayLike | None) -> FloatArray:
    """Inertial parameters of a payload about its frame's origin, shape (10,)."""
    c = reals(center_of_mass, "center_of_mass", (3,))
    about_center = np.zeros((3, 3)) if inertia is None else reals(inertia, "inertia", (3, 3))
    about_origin = about_center + mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return np.array([mass, *(mass * c), *about_origin[np.triu_indices(3)]])


class _Slopes(NamedTuple):
    """Current for a unit of each column of the payload in one joint, shape (p,), and the covariance, (p, p)."""

    values: FloatArray
    covariance: FloatArray


def _gains(fits: Mapping[int, _Slopes], n: int) -> DriveGains:
    """Gains from currents for the torque of a known payload."""
    values, errors = np.full(n, np.nan), np.full(n, np.nan)
    for joint, (slope, covariance) in fits.items():
        if slope[0]:
            values[joint], errors[joint] = 1.0 / slope[0], np.sqrt(covariance[0, 0]) / slope[0] ** 2
        else:
            values[joint] = errors[joint] = np.inf
    return DriveGains(values, errors)


def _gains_and_center(fits: Mapping[int, _Slopes], n: int, mass: float) -> DriveGains:
    """Gains k and further parameters φ of the payload whose currents (mass, φ) / k agree in all joints."""
    joints, values, errors = list(fits), np.full(n, np.nan), np.full(n, np.nan)
    whitened = []
    for fit in fits.values():
        sizes = np.sqrt(np.diag(fit.covariance))
        w, V = np.linalg.eigh(fit.covariance / np.outer(sizes, sizes))
        whitened.append((V / np.sqrt(np.maximum(w, LEAST_VARIANCE))).T / sizes)

    def misses(x: FloatArray) -> FloatArray:
        parameters = np.append(mass, x[len(joints) :])
        parts = zip(x, whitened, fits.values(), strict=False)
        return np.concatenate([W @ (inverse * parameters - fit.values) for inverse, W, fit in parts])

    def slopes(x: FloatArray) -> FloatArray:
        parameters, J = np.append(mass, x[len(joints) :]), np.zeros((10 * len(joints), len(x)))
        for k, W in enumerate(whitened):
            rows = slice(10 * k, 10 * k + 10)
            J[rows, k] = W @ parameters
            J[rows, len(joints) :] = x[k] * W[:, 1:]
        return J

    start = np.array([fit.values[0] / mass for fit in fits.values()])
    loaded = int(np.argmax([abs(fit.values[0]) / np.sqrt(fit.covariance[0, 0]) for fit in fits.values()]))
    first = list(fits.values())[loaded].values[1:] / (start[loaded] or 1.0)
    solution = least_squares(misses, np.append(start, first), slopes, method="lm", x_scale="jac")
    covariance = np.linalg.pinv(solution.jac.T @ solution.jac, hermitian=True)
    for k, joint in enumerate(joints):
        inverse, error = float(solution.x[k]), float(np.sqrt(covariance[k, k]))
        values[joint], errors[joint] = (1.0 / inverse, error / inverse**2) if inverse else (np.inf, np.inf)
    moments = slice(len(joints), len(joints) + 3)
    center, error = solution.x[moments] / mass, np.sqrt(np.diag(covariance)[moments]) / mass
    return DriveGains(values, errors, np.asarray(center), np.asarray(error))


def _slopes(
    W: FloatArray, A: FloatArray, y: FloatArray, used: NDArray[np.bool_], segments: tuple[slice, ...]
) -> _Slopes:
    """Coefficients of the columns W (k, p) in a fit of currents y (k,) by them and columns A (k, others)."""
    acting = np.abs(A).max(axis=0) > 0.0
    rows, currents = np.concatenate([W, A[:, acting]], axis=1)[:, None, :], y[:, None]
    sizes = 100.0 * (np.abs(y).max() + 1e-12) / (np.abs(rows[:, 0]).max(axis=0) + 1e-12)
    prior = Prior(np.zeros(rows.shape[2]), sizes)
    fit = weighted_fit(rows, currents, used[:, None], prior, np.ones(1) * (y.std() + 1e-12))
    covariance = coloured_covariance(rows, fit, prior, segments)
    own = W.shape[1]
    return _Slopes(np.asarray(fit.values[:own]), np.asarray(covariance[:own, :own]))
