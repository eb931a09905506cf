"""`identify`: from logs of measured motion to a robot with bodies that can exist, rotors and friction.

Read the logs and check them; fit parts of them and judge each fit by what it was not fitted to; then fit everything,
and export all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, warn
from chasles.engine.validators import choice, truth, whole_number
from chasles.identification.comparison import Prediction
from chasles.identification.delays_and_offsets import FittedLog
from chasles.identification.equations import TorqueEquations
from chasles.identification.estimation import Estimate, Friction, estimate
from chasles.identification.identification import Identification
from chasles.identification.intervals import with_intervals
from chasles.identification.judgement import DOUBTS, judge
from chasles.identification.logs.acceptance import refuse
from chasles.identification.preparation import GO_ON, Data, in_torques, prepared, require_rows
from chasles.identification.regression import OUTLIER
from chasles.model.joint import LARGEST_LOAD_FRICTION
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

VOID = 1e-10
"""Singular value, relative to the largest, below which a direction of the unknowns has no effect."""
FRICTION: tuple[Friction, ...] = ("all", "urdf")


class IdentificationWarning(UserWarning):
    """A log may belong to another robot or be misread; `Identification.findings` says why."""


def identify(
    robot: Robot,
    log: Any,
    *,
    unseen: Any = None,
    parts: int = 2,
    cutoff: float | None = None,
    bandwidth: float | None = None,
    friction: Friction = "all",
    check: bool = True,
) -> Identification:
    """Identify a robot from logs of its motion.

    Bodies that can exist, rotor inertias and friction are the minimum of one convex problem: errors of the torques,
    weighted by their size and correlation time, and likeness to the prior's bodies where the data say nothing. Each
    part of the log is predicted by a fit to the other parts, which tells how well the method predicts what it was not
    fitted to; the identified robot is then fitted to all data.

    Parameters
    ----------
    robot
        Prior model: it provides the geometry; inertia and friction are identified. A robot without masses gets those of
        `chasles.model.with_nominal_bodies` as a prior.
    log
        `chasles.Log`, or a source that it reads: a file, a table, a mapping of arrays. Or a list of logs, in some of
        which joints may rest.
    unseen
        Second log, or list of logs, for validation. Default: left-out parts of `log`.
    parts
        Number of contiguous parts of each log that are left out one after another.
    cutoff
        Cut-off frequency of the filters for the fit, Hz. Default: chosen from the spectra of the positions.
    bandwidth
        Frequency below which predictions are judged, Hz: where the model will be used. Default: the cut-off frequency.
    friction
        ``"all"``: viscous and load-dependent friction, dry friction with three transitions, and torques that depend on
        the position alone. ``"urdf"``: what a URDF file can hold, viscous and dry friction with one transition.
    check
        Whether to raise an error for a log that contradicts itself or the robot, or whose model is physically
        impossible. With False these refusals are among the findings.

    Returns
    -------
    Identification
        Parameters with intervals, the identified robot ``model``, predictions of unseen data, and findings.

    Raises
    ------
    IdentificationError
        If joints do not move, the log is too short, columns contradict each other, friction would drive the motion, or
        the model has no predictive power; the message suggests a remedy, and `findings` of the error has the codes.
    ArgumentError
        If the log cannot be read, columns or units have to be declared, or an argument is out of range.

    Warns
    -----
    IdentificationWarning
        If the log may belong to another robot, or another interpretation of its columns, signs or zeros fits far
        better.

    Notes
    -----
    M. Gautier & W. Khalil, "Direct calculation of minimum set of inertial parameters of serial robots" (IEEE Trans.
    Robotics and Automation 6(3), 1990); J. Swevers, W. Verdonck & J. De Schutter, "Dynamic model identification for
    industrial robots" (IEEE Control Systems Magazine 27(5), 2007); P. Wensing, S. Kim & J.-J. Slotine, "Linear matrix
    inequalities for physically consistent inertial parameter identification" (IEEE Robotics and Automation Letters
    3(1), 2018); T. Lee, P. Wensing & F. Park, "Geometric robot dynamic identification: a convex programming approach"
    (IEEE Trans. Robotics 36(2), 2020).

    Examples
    --------
    >>> import chasles as ch
    >>> import numpy as np
    >>> arm = ch.load("planar2r")
    >>> t = np.arange(0.0, 20.0, 0.01)[:, None]
    >>> w = np.array([[1.0, 1.7], [2.3, 3.1]])
    >>> q, qd, qdd = np.sin(t * w[0]) + 0.5 * np.sin(t * w[1]), None, None
    >>> qd = w[0] * np.cos(t * w[0]) + 0.5 * w[1] * np.cos(t * w[1])
    >>> qdd = -(w[0] ** 2) * np.sin(t * w[0]) - 0.5 * w[1] ** 2 * np.sin(t * w[1])
    >>> real = arm.with_payload(1.0).with_friction(viscous=0.4, coulomb=0.3, coulomb_velocity=0.1)
    >>> tau = real.inverse_dynamics(q, qd, qdd) + 0.05 * np.random.default_rng(0).normal(size=q.shape)
    >>> result = ch.identify(arm, {"t": t[:, 0], "q": q, "tau": tau})
    >>> bool(result.predictions["model", "unseen"].relative().max() < 0.01)
    True
    """
    if not isinstance(robot, Robot):
        raise ArgumentError(f"identify takes a robot first, not {type(robot).__name__}")
    truth(check, "check")
    whole_number(parts, "parts", 2, 20)
    choice(friction, "friction", FRICTION)
    data = in_torques(prepared(robot, log, unseen, cutoff, bandwidth, check))
    fits = () if data.has_unseen else _fits_without_parts(data, parts, friction)
    result, fitted, together = _fitted(data, fits, friction)
    findings = tuple(judge(result, fitted, together, data.has_guessed_bodies))
    if check:
        refuse(findings, GO_ON, doubts=DOUBTS)
    doubts = [finding for finding in findings if finding.rule.code in DOUBTS]
    if doubts:
        warn("; ".join(map(str, doubts)), IdentificationWarning)
    return replace(result, findings=findings)


Fits = Sequence[tuple[Estimate, NDArray[np.bool_]]]
"""Fits, each with the samples that it predicts, shape (k,)."""


def _fits_without_parts(data: Data, parts: int, friction: Friction) -> Fits:
    """Fit the log without each of its parts, which the fit predicts."""
    left = [
        (data.used & data.equations.held_out(part, parts)[0][:, None], data.test.held_out(part, parts)[1])
        for part in range(parts)
    ]
    for rows, _ in left:
        _require_rows(data.equations, rows)
    return [(estimate(data.robot, data.equations, rows, friction), predicted) for rows, predicted in left]


def _fitted(data: Data, fits: Fits, friction: Friction) -> tuple[Identification, FittedLog, tuple[str, ...]]:
    """Fit all of the log, and predict what the fits without its parts have not seen; name what acts only together."""
    robot, equations, test = data.robot, data.equations, data.test
    _require_rows(equations, data.used)
    found = estimate(robot, equations, data.used, friction)
    predictions = _predictions("training", robot, [(found, np.ones(len(equations.time), dtype=bool))], equations)
    predictions |= _predictions("unseen", robot, fits or [(found, np.ones(len(test.time), dtype=bool))], test)
    parameters, covariance = with_intervals(robot, found, equations)
    condition, together = _condition(found, robot)
    result = Identification(
        robot=robot, model=exported(robot, found), log=data.log, terms=found.terms, names=_names(robot, found),
        values=found.values, covariance=covariance, parameters=parameters, condition=condition,
        predictions=predictions, noise=data.judged.noise,
        expected=_expected(found, covariance, test, predictions, len(fits) or None), signals=data.signals,
        band=data.band, drive_gains=data.gains, outliers=_outliers(found, data.used),
    )  # fmt: skip
    return result, FittedLog(robot, data.log, equations, found, friction), together


def exported(robot: Robot, found: Estimate) -> Robot:
    """Robot with all that was estimated: bodies, rotors and friction of the motors."""
    own = found.unknowns
    values = robot.inertial.values
    values[: 10 * own.bodies] = found.inertial[: 10 * own.bodies]
    values[own.rotors] = found.inertial[10 * own.bodies :]
    terms = found.friction
    dry = found.coulomb
    total = dry.sum(axis=1)
    none = np.zeros(robot.n)
    load = np.clip(terms.get("load", none), -LARGEST_LOAD_FRICTION, LARGEST_LOAD_FRICTION)
    turning = [unit == "rad" for unit in robot.description.displacement_units]

    def of_motors(values: FloatArray, *, where: Sequence[bool] = (True,) * robot.n) -> dict[str, Any]:
        columns = zip(robot.velocity_names, values.tolist(), where, strict=True)
        return {name: value for name, value, has_it in columns if has_it}

    bodies = robot.inertial.with_values(values, check=False)
    return bodies.with_friction(
        viscous=of_motors(terms["viscous"]), coulomb=of_motors(total),
        coulomb_velocity=of_motors(found.terms.transitions), coulomb_shares=of_motors(dry / total[:, None]),
        load=of_motors(load), load_velocity=of_motors(found.terms.load_velocity),
        torque_offset=of_motors(terms.get("offset", none)),
        torque_sine=of_motors(terms.get("sine", none), where=turning),
        torque_cosine=of_motors(terms.get("cosine", none), where=turning),
    )  # fmt: skip


def _names(robot: Robot, found: Estimate) -> tuple[str, ...]:
    names, own = robot.inertial.names, found.unknowns
    of_friction = (f"{joint}.{term}" for joint in robot.velocity_names for term in found.terms.names)
    return (*names[: 10 * own.bodies], *(names[k] for k in own.rotors), *of_friction)


def _outliers(found: Estimate, used: NDArray[np.bool_]) -> FloatArray:
    """Share of each joint's samples that are outliers, shape (n,)."""
    beyond = np.abs(found.residuals) > OUTLIER * found.deviations
    return np.asarray((beyond & used).sum(axis=0) / np.maximum(used.sum(axis=0), 1))


def _condition(found: Estimate, robot: Robot) -> tuple[float, tuple[str, ...]]:
    """Condition number of the textbook's observation matrix without directions that it does not see; their names."""
    rows = found.textbook.rows
    lengths = np.linalg.norm(rows, axis=0)
    of_friction = (f"{joint}.{term}" for joint in robot.velocity_names for term in ("viscous", "coulomb", "offset"))
    names = np.array([*found.unknowns.names, *of_friction])[lengths > 0.0]
    _, singular, directions = np.linalg.svd(rows[:, lengths > 0.0] / lengths[lengths > 0.0], full_matrices=False)
    void = singular < VOID * singular[0]
    together = names[(np.abs(directions[void]) > 1e-4).any(axis=0)]
    return float(singular[0] / singular[~void][-1]), tuple(together.tolist())


def _predictions(part: str, robot: Robot, fits: Fits, equations: TorqueEquations) -> dict[tuple[str, str], Prediction]:
    """Predictions of samples, each by the fit that goes with it."""
    signals, rows = equations.signals, np.any([own for _, own in fits], axis=0)
    prior = signals.filter(signals.torque(robot))[equations.kept]
    textbook, model = np.zeros_like(prior), np.zeros_like(prior)
    for found, own in fits:
        textbook[own], model[own] = found.textbook.torque(equations)[own], _of_file(robot, found, equations)[own]
    torques = {"prior": prior, "least squares": textbook + equations.passive, "model": model}
    measured, moving = equations.effort + equations.passive, equations.moving
    saturated, time = equations.saturated, equations.time
    return {
        (name, part): Prediction(torque, measured, moving, saturated, time).at(rows) for name, torque in torques.items()
    }


def _of_file(robot: Robot, found: Estimate, equations: TorqueEquations) -> FloatArray:
    """Torques of the exported robot at the kept samples: those of the estimate unless a motor would lock."""
    signals, load = equations.signals, found.friction.get("load", np.zeros(robot.n))
    if np.abs(load).max() <= LARGEST_LOAD_FRICTION:
        return found.torque(equations) + equations.passive
    return signals.filter(signals.torque(exported(robot, found)))[equations.kept]


def _expected(
    found: Estimate, covariance: FloatArray, equations: TorqueEquations,
    predictions: dict[tuple[str, str], Prediction], parts: int | None,
) -> FloatArray:  # fmt: skip
    """RMS error that residuals of the fit and the covariance of its estimates lead to expect, shape (n,).

    With a part left out the covariance is parts / (parts - 1) times that of the fit to all data.
    """
    columns = found.columns_of(equations)
    variances = np.sum((columns @ covariance) * columns, axis=2) * (1.0 if parts is None else parts / (parts - 1.0))
    moving = equations.moving
    count = moving.sum(axis=0)
    mean = np.where(moving, variances, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.where(count > 0, np.sqrt(mean + predictions["model", "training"].rms() ** 2), np.nan)


def _require_rows(equations: TorqueEquations, used: NDArray[np.bool_]) -> None:
    """Refuse a fit to fewer rows than twice its unknowns: base parameters, and textbook friction of each motor."""
    unknowns = len(equations.inertial.names) + 3 * used.shape[1]
    require_rows(int(used.sum()), unknowns, equations.signals.cutoff.frequency)
