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

from chasles.base.errors import ArgumentError, IdentificationError, warn
from chasles.base.findings import Rule
from chasles.engine.validators import choice, real, truth, whole_number
from chasles.identification.comparison import Prediction
from chasles.identification.delays_and_offsets import FittedLog
from chasles.identification.drive_gains import gains_from_model
from chasles.identification.equations import TorqueEquations, inertial_unknowns
from chasles.identification.estimation import Estimate, Friction, estimate
from chasles.identification.filtering import Cutoff, Signals, filtered_signals
from chasles.identification.identification import Identification
from chasles.identification.intervals import with_intervals
from chasles.identification.judgement import DOUBTS, judge
from chasles.identification.logs.acceptance import accepted_log, refuse
from chasles.identification.logs.log import Log
from chasles.identification.regression import OUTLIER
from chasles.model import has_masses
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

MOST_LOAD = 0.99
"""Largest load friction of a robot: at 1 it locks."""
VOID = 1e-10
"""Singular value, relative to the largest, below which a direction of the unknowns has no effect."""
SATURATES = Rule(
    "saturates", 0.8, "a log has some five periods of its slowest motion: less than one of them is left",
    "the effort of '{joint}' saturates in or near {value:.0%} of the samples; too few are left. Move slower or "
    "carry less; if the robot's effort limit is wrong, correct it", "refusal",
)  # fmt: skip
RESTS = Rule(
    "joint-rests", 2e-3, "such a motion is within the backlash of gears, and what the joint carries has no rank",
    "joint '{joint}' rests throughout (it moves by {value:.2g}): what it carries cannot be "
    "told apart. Move all joints at once (chasles.excite plans such a motion), add a log in which it moves, or fix it: "
    "robot.edit.lock({{'{joint}': {place:.4g}}})", "refusal",
)  # fmt: skip
TOO_SHORT = Rule(
    "too-short", 2.0, "rows for an unknown: one for the estimate, one for its error",
    "the log leaves {rows} torques of moving joints below the cut-off of {cutoff:.3g} Hz for {unknowns} unknowns; "
    "record {times:.1f} times as long", "refusal",
)  # fmt: skip
NO_UNIT_OF_EFFORT = Rule(
    "no-unit-of-effort", 0.0, "a scale of all torques is free if neither gains nor masses are known",
    "the log has currents and robot '{robot}' has no masses, so nothing tells newtons from amperes: give the log drive "
    "gains (drive_gains=[...], N·m for an ampere), or the robot masses", "refusal",
)  # fmt: skip

GO_ON = " (check=False goes on nevertheless)"
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
    own = _read(robot, log, check)
    other = None if unseen is None else _read(robot, unseen, check)
    signals = _signals(own, cutoff)
    band = signals.cutoff.frequency if bandwidth is None else real(bandwidth, "bandwidth", above=0.0)
    judged = (
        signals
        if other is None and bandwidth is None
        else _signals(other or own, Cutoff(band, signals.cutoff.bandwidth, "given"))
    )
    for one in (signals, judged):
        _require_unsaturated(one, robot.velocity_names)
    _require_motion(signals, robot.velocity_names)
    has_guessed_bodies = not has_masses(robot.description)
    if has_guessed_bodies:
        if own.currents:
            refuse(NO_UNIT_OF_EFFORT.told(0.0, robot=robot.name))
        robot = robot.edit.nominal_bodies()
    unknowns = inertial_unknowns(robot, own.coupling)
    equations = TorqueEquations(robot, unknowns, signals, own.coupling)
    gains = gains_from_model(robot, equations, own.measured) if own.currents else None
    if gains is not None:
        scale = np.where(own.measured & gains.known, gains.values, 1.0)
        same = judged is signals
        signals = _scaled(signals, scale)
        judged = signals if same else _scaled(judged, scale)
        equations = TorqueEquations(robot, unknowns, signals, own.coupling)
    test = equations if judged is signals else TorqueEquations(robot, unknowns, judged, own.coupling)
    used = equations.moving & own.measured
    left = [] if other is not None else [
        (used & equations.held_out(part, parts)[0][:, None], test.held_out(part, parts)[1]) for part in range(parts)
    ]  # fmt: skip
    for rows in [rows for rows, _ in left] or [used]:
        _require_rows(equations, rows)
    fits = [(estimate(robot, equations, rows, friction), predicted) for rows, predicted in left]
    found = estimate(robot, equations, used, friction)
    model = exported(robot, found)
    unseen_fits = fits or [(found, np.ones(len(test.time), dtype=bool))]
    predictions = {**_predictions("training", robot, [(found, np.ones(len(equations.time), dtype=bool))], equations),
                   **_predictions("unseen", robot, unseen_fits, test)}  # fmt: skip
    parameters, covariance = with_intervals(robot, found, equations)
    condition, together = _condition(found, robot)
    result = Identification(
        robot=robot, model=model, log=own, terms=found.terms, names=_names(robot, found), values=found.values,
        covariance=covariance, parameters=parameters, condition=condition, predictions=predictions, noise=judged.noise,
        expected=_expected(found, covariance, test, predictions, parts if fits else None), signals=signals, band=band,
        drive_gains=gains, outliers=_outliers(found, used),
    )  # fmt: skip
    findings = tuple(judge(result, FittedLog(robot, own, equations, found, friction), together, has_guessed_bodies))
    if check:
        refuse(findings, GO_ON, doubts=DOUBTS)
    doubts = [finding for finding in findings if finding.rule.code in DOUBTS]
    if doubts:
        warn("; ".join(map(str, doubts)), IdentificationWarning)
    return replace(result, findings=findings)


def exported(robot: Robot, found: Estimate) -> Robot:
    """Robot with all that was estimated: bodies, rotors and friction, which it has at the joints."""
    own = found.unknowns
    values = np.zeros(len(robot.inertial.names))
    values[: 10 * own.bodies] = found.inertial[: 10 * own.bodies]
    values[own.rotors] = found.inertial[10 * own.bodies :]
    terms = found.friction
    dry = found.coulomb
    total = dry.sum(axis=1)
    none = np.zeros(robot.n)
    bodies = robot.inertial.with_values(values, check=False)
    return bodies.with_friction(
        viscous=terms["viscous"], coulomb=total, coulomb_velocity=found.terms.transitions,
        coulomb_shares=dry / total[:, None], load=np.clip(terms.get("load", none), -MOST_LOAD, MOST_LOAD),
        load_velocity=found.terms.load_velocity,
        torque_offset=terms.get("offset", none), torque_sine=_by_joint(robot, terms.get("sine", none)),
        torque_cosine=_by_joint(robot, terms.get("cosine", none)),
    )  # fmt: skip


def _by_joint(robot: Robot, values: FloatArray) -> dict[str, float]:
    """Values of the revolute joints by name."""
    columns = zip(robot.velocity_names, values.tolist(), robot.description.coordinate_units, strict=True)
    return {name: value for name, value, unit in columns if unit == "rad"}


def _names(robot: Robot, found: Estimate) -> tuple[str, ...]:
    names, own = robot.inertial.names, found.unknowns
    of_friction = (f"{joint}.{term}" for joint in robot.velocity_names for term in found.terms.names)
    return (*names[: 10 * own.bodies], *(names[k] for k in own.rotors), *of_friction)


def _read(robot: Robot, source: Any, check: bool) -> Log:
    """One log of all sources, if it fits the robot."""
    sources = source if isinstance(source, list | tuple) else [source]
    if not sources:
        raise ArgumentError("identify needs a log; the list is empty")
    return Log.joined([accepted_log(robot, one, check=check, advice=GO_ON) for one in sources])


def _require_unsaturated(signals: Signals, names: Sequence[str]) -> None:
    shares = signals.saturated.mean(axis=0)
    joint = int(np.argmax(shares))
    refuse(SATURATES.above(shares[joint], joint=names[joint]))


def _require_motion(signals: Signals, names: Sequence[str]) -> None:
    spans = np.max([np.ptp(signals.q[part], axis=0) for part in signals.segments], axis=0)
    motions = zip(names, spans, signals.q.mean(axis=0), strict=True)
    refuse([own for name, span, place in motions for own in RESTS.below(span, joint=name, place=float(place))])


def _require_rows(equations: TorqueEquations, used: NDArray[np.bool_]) -> None:
    rows, count = int(used.sum()), len(equations.inertial.names) + 3 * used.shape[1]
    facts = {"unknowns": count, "cutoff": equations.signals.cutoff.frequency}
    refuse(TOO_SHORT.below(rows / count, rows=rows, times=TOO_SHORT.limit * count / max(rows, 1), **facts))


def _outliers(found: Estimate, used: NDArray[np.bool_]) -> FloatArray:
    """Share of each joint's samples that are outliers, shape (n,)."""
    beyond = np.abs(found.residuals) > OUTLIER * found.deviations
    return np.asarray((beyond & used).sum(axis=0) / np.maximum(used.sum(axis=0), 1))


def _signals(log: Log, cutoff: float | Cutoff | None) -> Signals:
    try:
        return filtered_signals(log, cutoff)
    except ArgumentError as error:
        raise IdentificationError(str(error)) from None


def _scaled(signals: Signals, gains: FloatArray) -> Signals:
    return replace(signals, effort=signals.effort * gains, noise=signals.noise * np.abs(gains))


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


def _predictions(
    part: str, robot: Robot, fits: Sequence[tuple[Estimate, NDArray[np.bool_]]], equations: TorqueEquations
) -> dict[tuple[str, str], Prediction]:
    """Predictions of samples, each by the fit that goes with it."""
    signals, rows = equations.signals, np.any([own for _, own in fits], axis=0)
    prior = signals.filter(np.asarray(robot.inverse_dynamics(signals.q, signals.qd, signals.qdd)))[equations.kept]
    textbook, model = np.zeros_like(prior), np.zeros_like(prior)
    for found, own in fits:
        textbook[own], model[own] = found.textbook.torque(equations)[own], _of_file(robot, found, equations)[own]
    torques = {"prior": prior, "least squares": textbook, "model": model}
    measured, moving, saturated, time = equations.effort, equations.moving, equations.saturated, equations.time
    return {
        (name, part): Prediction(torque, measured, moving, saturated, time).at(rows) for name, torque in torques.items()
    }


def _of_file(robot: Robot, found: Estimate, equations: TorqueEquations) -> FloatArray:
    """Torques of the exported robot at the kept samples: those of the estimate unless motors are coupled or lock."""
    signals, load = equations.signals, found.friction.get("load", np.zeros(robot.n))
    if (equations.coupling == np.eye(robot.n)).all() and np.abs(load).max() <= MOST_LOAD:
        return found.torque(equations)
    tau = exported(robot, found).inverse_dynamics(signals.q, signals.qd, signals.qdd)
    return signals.filter(np.asarray(tau))[equations.kept]


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
