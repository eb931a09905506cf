"""`identify`: from a log of measured motion to a robot's base parameters, friction and bodies that can exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, IdentificationError, UnknownNameError, warn
from chasles.base.findings import Rule
from chasles.engine.validators import real, truth
from chasles.identification.comparison import Prediction
from chasles.identification.delays_and_offsets import FitAndHeldOut
from chasles.identification.drive_gains import DriveGains, gains_from_model
from chasles.identification.equations import PRIOR_WIDTH, Terms, TorqueEquations, UnknownNames, unknowns
from chasles.identification.estimation import V0_START, Estimate, estimate
from chasles.identification.filtering import Cutoff, Signals, filtered_signals
from chasles.identification.friction import ALWAYS, PERIODIC, TERMS, columns_of
from chasles.identification.identification import Identification, Parameter
from chasles.identification.judgement import DOUBTS, judge
from chasles.identification.logs.acceptance import accepted_log, refuse
from chasles.identification.logs.log import Log
from chasles.identification.regression import OUTLIER
from chasles.model import has_masses
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

PRIOR_WEIGHT = 10.0
"""Factor on the covariance beside which consistent bodies shall resemble the prior's."""
SATURATES = Rule(
    "saturates", 0.8, "a log has some five periods of its slowest motion: less than one of them is left",
    "the effort of '{joint}' saturates in or near {value:.0%} of the {part} samples; too few are left. Move slower or "
    "carry less; if the robot's effort limit is wrong, correct it", "refusal",
)  # fmt: skip
RESTS = Rule(
    "joint-rests", 2e-3, "such a motion is within the backlash of gears, and what the joint carries has no rank",
    "joint '{joint}' rests in the part of the log that is fitted (it moves by {value:.2g}): what it carries cannot be "
    "told apart. Move all joints at once (chasles.excite plans such a motion), or fix the resting ones: "
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
UNBOUNDED = Rule(
    "unbounded-parameters", np.nan, "the bodies' problem has no minimum",
    "the log leaves some parameters without any bound: its motion, its units or its sample rate are far from those of "
    "a robot", "refusal",
)  # fmt: skip


GO_ON = " (check=False goes on nevertheless)"


class IdentificationWarning(UserWarning):
    """A log may belong to another robot or be misread; `Identification.findings` says why."""


def identify(
    robot: Robot,
    log: Any,
    *,
    unseen: Any = None,
    training: float = 0.5,
    cutoff: float | None = None,
    friction: str | Sequence[str] | Mapping[str, Sequence[str]] = "auto",
    check: bool = True,
) -> Identification:
    """Identify a robot from a log of its motion.

    Weighted least squares on the filtered log estimates friction and base parameters (the combinations of masses,
    centres of mass, inertias and rotor inertias that affect torques). The identified robot has physically possible
    bodies, close to the prior where the data are not informative. It is validated on data not used in the fit.

    Parameters
    ----------
    robot
        Prior model: it provides the geometry; inertia and friction are identified. A robot without masses gets those of
        `chasles.model.with_nominal_bodies` as a prior.
    log
        `chasles.Log`, or a source that it reads: a file, a table, a mapping of arrays.
    unseen
        Second log for validation. Default: the rest of `log`.
    training
        Fraction of the log, from its beginning, used for the fit; 1 if `unseen` is given.
    cutoff
        Cut-off frequency of the filters, Hz. Default: chosen from the spectra of the positions.
    friction
        Friction terms. ``"auto"`` starts from viscous and Coulomb friction and an offset, and adds the terms that
        improve the prediction of left-out parts of the log (``"stribeck"``, ``"asymmetry"``, ``"load"``,
        ``"position"``, ``"ripple"``; in logs longer than 5 min ``"drift"``, with temperature). Alternatively the terms
        of all joints, or a mapping from joint names to terms.
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
    industrial robots" (IEEE Control Systems Magazine 27(5), 2007); C. Sousa & R. Cortesão, "Physical feasibility of
    robot base inertial parameter identification" (Int. J. Robotics Research 33(6), 2014); P. Wensing, S. Kim & J.-J.
    Slotine, "Linear matrix inequalities for physically consistent inertial parameter identification" (IEEE Robotics and
    Automation Letters 3(1), 2018).

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
    share = real(training, "training", above=0.0, at_most=1.0) if unseen is None else 1.0
    own = accepted_log(robot, log, check=check, advice=GO_ON)
    second = None if unseen is None else accepted_log(robot, unseen, check=check, advice=GO_ON)
    train, test = _signals(own, second, share, cutoff)
    for part, signals in (("fitted", train), ("unseen", test)):
        _require_unsaturated(part, signals, robot.velocity_names)
    _require_motion(train, robot.velocity_names)
    has_guessed_bodies = not has_masses(robot.description)
    if has_guessed_bodies:
        if own.currents:
            refuse(NO_UNIT_OF_EFFORT.told(0.0, robot=robot.name))
        robot = robot.edit.nominal_bodies()
    terms = _terms(friction, robot)
    first = unknowns(robot, dict.fromkeys(robot.velocity_names, ALWAYS))
    gains = _drive_gains(robot, own, first, train) if own.currents else None
    if gains is not None:
        scale = np.where(own.measured & gains.known, gains.values, 1.0)
        train, test = (_scaled(part, scale) for part in (train, test))
    equations = TorqueEquations(robot, first, train, own.coupling)
    _require_rows(equations, own)
    found = estimate(robot, equations, own.measured, terms)
    model, model_values = _consistent(robot, found)
    end = float(train.time[-1]) if second is None else None  # a second log is taken to end as warm
    other = TorqueEquations(robot, found.unknowns, test, own.coupling, end)
    predictions = {
        **_predictions("training", robot, found, model_values, equations),
        **_predictions("unseen", robot, found, model_values, other),
    }
    result = Identification(
        robot=robot, model=model, log=own, unknowns=found.unknowns, values=found.values, covariance=found.covariance,
        model_values=model_values, v0=found.v0, parameters=_parameters(robot, found), condition=found.condition,
        predictions=predictions, noise=train.noise,
        expected=_expected(found, other, predictions["least squares", "training"]),
        signals=train, unseen=test, drive_gains=gains, outliers=_outliers(found, equations.moving & own.measured),
    )  # fmt: skip
    findings = tuple(judge(result, FitAndHeldOut(robot, own, found, equations, other), has_guessed_bodies))
    if check:
        refuse(findings, GO_ON, doubts=DOUBTS)
    doubts = [finding for finding in findings if finding.rule.code in DOUBTS]
    if doubts:
        warn("; ".join(map(str, doubts)), IdentificationWarning)
    return replace(result, findings=findings)


def _require_unsaturated(part: str, signals: Signals, names: Sequence[str]) -> None:
    shares = signals.saturated.mean(axis=0)
    joint = int(np.argmax(shares))
    refuse(SATURATES.above(shares[joint], joint=names[joint], part=part))


def _require_motion(signals: Signals, names: Sequence[str]) -> None:
    motions = zip(names, np.ptp(signals.q, axis=0), signals.q.mean(axis=0), strict=True)
    refuse([own for name, span, place in motions for own in RESTS.below(span, joint=name, place=float(place))])


def _require_rows(equations: TorqueEquations, log: Log) -> None:
    rows, count = int((equations.moving & log.measured).sum()), len(equations.unknowns.names)
    facts = {"unknowns": count, "cutoff": equations.signals.cutoff.frequency}
    refuse(TOO_SHORT.below(rows / count, rows=rows, times=TOO_SHORT.limit * count / max(rows, 1), **facts))


def _outliers(found: Estimate, used: NDArray[np.bool_]) -> FloatArray:
    """Share of each joint's samples that are outliers, shape (n,)."""
    with np.errstate(invalid="ignore"):
        beyond = np.abs(found.fit.residuals) > OUTLIER * found.fit.deviations
    return np.asarray(np.where(used, beyond, False).sum(axis=0) / np.maximum(used.sum(axis=0), 1))


def _signals(own: Log, second: Log | None, share: float, cutoff: float | None) -> tuple[Signals, Signals]:
    try:
        train = filtered_signals(own, cutoff)
        if second is not None:
            return train, filtered_signals(
                second, Cutoff(train.cutoff.frequency, train.cutoff.bandwidth, "as in training")
            )
    except ArgumentError as error:
        raise IdentificationError(str(error)) from None
    if share == 1.0:
        return train, train
    return train.split(share)


def _terms(friction: str | Sequence[str] | Mapping[str, Sequence[str]], robot: Robot) -> Terms | None:
    if isinstance(friction, str):
        if friction != "auto":
            raise UnknownNameError("friction", friction, ["auto", *TERMS])
        return None
    by_joint = friction if isinstance(friction, Mapping) else dict.fromkeys(robot.velocity_names, friction)
    _require_terms_of_joints(by_joint, robot)
    terms = {
        name: tuple(column for term in dict.fromkeys(by_joint.get(name, ALWAYS)) for column in columns_of(term))
        for name in robot.velocity_names
    }
    for name, own in terms.items():
        if not {"viscous", "coulomb"} <= set(own):
            raise ArgumentError(f"friction of joint '{name}' needs 'viscous' and 'coulomb'; others can be added")
    return terms


def _require_terms_of_joints(by_joint: Mapping[str, Sequence[str]], robot: Robot) -> None:
    """Raise if a joint or a term does not exist, or a prismatic joint is given a term of the revolution."""
    for name, own in by_joint.items():
        if name not in robot.velocity_names:
            raise UnknownNameError("joint", name, robot.velocity_names)
        for term in own:
            if term not in TERMS:
                raise UnknownNameError("friction term", term, TERMS)
    for name, unit in zip(robot.velocity_names, robot.description.coordinate_units, strict=True):
        periodic = [term for term in by_joint.get(name, ()) if term in PERIODIC]
        if periodic and unit != "rad":
            raise ArgumentError(f"joint '{name}' is prismatic: it has no revolution for '{periodic[0]}'")


def _drive_gains(robot: Robot, log: Log, first: UnknownNames, train: Signals) -> DriveGains:
    equations = TorqueEquations(robot, first, train, log.coupling)
    v0 = V0_START * np.maximum(np.abs(equations.motor_rates).max(axis=0), 1e-12)
    return gains_from_model(equations, first, v0, first.base.values[first.inertial], log.measured)


def _scaled(signals: Signals, gains: FloatArray) -> Signals:
    return replace(signals, effort=signals.effort * gains, noise=signals.noise * np.abs(gains))


def _consistent(robot: Robot, found: Estimate) -> tuple[Robot, FloatArray]:
    """Robot with the most likely bodies that can exist, and the values of all unknowns that go with it."""
    own, base = found.unknowns, found.unknowns.base
    order = np.array([own.names.index(name) for name in _names_in_base(own)], dtype=np.intp)
    others = np.setdiff1d(np.arange(len(own.names)), order)
    scale = 1.0 / found.sizes
    spread = np.linalg.inv(found.information / np.outer(scale, scale)) * np.outer(found.sizes, found.sizes)
    spread *= float(np.median(np.diag(found.covariance) / np.diag(spread)))
    among = spread[np.ix_(order, order)]
    wanted = found.values[order]
    smooth = robot.with_friction(coulomb_velocity=found.v0)
    try:
        model = smooth.inertial.with_base(wanted, consistent=True, covariance=PRIOR_WEIGHT * among)
    except np.linalg.LinAlgError:
        refuse(UNBOUNDED.told(np.nan))
        raise
    reached = np.asarray(model.inertial.base().values)
    values = found.values.copy()
    values[order] = reached
    sizes = np.sqrt(np.diag(among))
    shift = np.linalg.lstsq(among / np.outer(sizes, sizes), (reached - wanted) / sizes, rcond=1e-12)[0] / sizes
    values[others] += spread[np.ix_(others, order)] @ shift
    if len(base) != len(order):
        raise IdentificationError("base parameters and friction do not match")
    return model, values


def _names_in_base(own: UnknownNames) -> list[str]:
    """Names of the unknowns in the order of the robot's base parameters."""
    renamed = {"viscous_friction": "viscous", "coulomb_friction": "coulomb"}
    names = []
    for name in own.base.names:
        joint, _, quantity = name.rpartition(".")
        names.append(f"{joint}.{renamed[quantity]}" if quantity in renamed else name)
    return names


def _predictions(
    part: str, robot: Robot, found: Estimate, model_values: FloatArray, equations: TorqueEquations
) -> dict[tuple[str, str], Prediction]:
    signals, columns = equations.signals, found.columns(equations)
    prior = signals.filter(np.asarray(robot.inverse_dynamics(signals.q, signals.qd, signals.qdd)))[equations.kept]
    torques = {"prior": prior, "least squares": columns @ found.values, "model": columns @ model_values}
    return {
        (name, part): Prediction(torque, equations.effort, equations.moving, equations.saturated)
        for name, torque in torques.items()
    }


def _expected(found: Estimate, equations: TorqueEquations, training: Prediction) -> FloatArray:
    """RMS error that residuals of the fit and the covariance of its estimates lead to expect, shape (n,)."""
    columns = found.columns(equations)
    variances = np.sum((columns @ found.covariance) * columns, axis=2)
    moving = equations.moving
    count = moving.sum(axis=0)
    mean = np.where(moving, variances, 0.0).sum(axis=0) / np.maximum(count, 1)
    return np.where(count > 0, np.sqrt(mean + training.rms() ** 2), np.nan)


def _parameters(robot: Robot, found: Estimate) -> tuple[Parameter, ...]:
    own = found.unknowns
    errors = np.sqrt(np.maximum(np.diag(found.covariance), 0.0))
    known_by_effect = errors * PRIOR_WIDTH < 0.02 * found.sizes
    names_in_base = _names_in_base(own)
    parameters = []
    for k, name in enumerate(own.names):
        place = names_in_base.index(name) if name in names_in_base else None
        parameters.append(
            Parameter(
                name=name,
                expression=name if place is None else own.base.expressions[place],
                value=float(found.values[k]),
                error=float(errors[k]),
                prior=float("nan") if place is None else float(own.base.values[place]),
                determined=bool(known_by_effect[k] or abs(found.values[k]) > 2.0 * errors[k]),
                freedom=float(found.freedom[k]),
            )
        )
    return tuple(parameters)
