"""Judgement of an identification: what was found, what calls for caution, and what no robot can be.

A log is refused where the rank of the equations is lost, and where the result cannot exist. All else is told: whether
the log is of another robot or read otherwise than it was written is the owner's to decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from chasles.base.findings import Finding, Rule
from chasles.identification.comparison import Prediction
from chasles.identification.delays_and_offsets import FittedLog, misalignments
from chasles.identification.diagnosis import MOUNTED, OTHER_READING, better_readings, mounting
from chasles.identification.identification import NORMAL_QUANTILE, Identification
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

CUTOFF = Rule(
    "cutoff", np.nan, "chosen from the spectra of the positions, or given",
    "cut-off {value:.3g} Hz: {reason}; velocities from {derivative}",
)  # fmt: skip
DETERMINED = Rule(
    "determined-parameters", np.nan, "the log at least halves the deviation that the prior leaves",
    "{value:.0f} of {count} parameters are determined by this motion; condition number {condition:.3g}",
)  # fmt: skip
UNDETERMINED = Rule(
    "undetermined-parameters", 0.0, "the log at least halves the deviation that the prior leaves",
    "{value:.0f} parameters are not determined and stay near the prior: {names}",
)  # fmt: skip
INSEPARABLE = Rule(
    "inseparable", np.nan, "weight and offset are both constant along a vertical prismatic axis",
    "{names} act only together in this log, so the prior model decides between them: no motion separates the weight on "
    "a vertical prismatic joint from an offset",
)  # fmt: skip
TOGETHER = Rule(
    "act-together", 1e-10, "a direction whose share of the information is rounding",
    "{names} act only together in this log, so the prior model decides between them; chasles.excite plans a motion "
    "that separates them if one does", "caution",
)  # fmt: skip
SEPARATED = Rule(
    "poorly-separated", 1e4, "torques are measured to 1e-4 of their range: of some combination no digit is left",
    "the motion hardly separates some parameters (condition number {value:.2g}); chasles.excite plans a motion that "
    "does", "caution",
)  # fmt: skip
DRIVE_GAINS = Rule(
    "drive-gains", np.nan, "currents tell torques only by masses that are known",
    "drive gains relative to the masses of the prior model (absolute only if these are right; "
    "chasles.identification.gains_from_payload finds absolute ones): {gains}",
)  # fmt: skip
UNKNOWN_GAIN = Rule(
    "drive-gain-unknown", 5.0, "by chance once in three million",
    "the drive gain of '{joint}' cannot be told from this motion ({value:.1f} standard errors); 1 was taken", "caution",
)  # fmt: skip
GUESSED_MASSES = Rule(
    "guessed-masses", np.nan, "the robot has no masses",
    "robot '{robot}' has no masses: solid rods of {value:.3g} kg in all stand for the prior, and for what this motion "
    "does not determine",
)  # fmt: skip
MISSED = Rule(
    "unseen-torques-missed", 0.3,
    "logs of four real robots leave 0.01 to 0.14; read as logs of other robots they leave 0.35 to 0.83",
    "models fitted to parts of the log miss {value:.0%} of the torques of unseen parts: the log may be of another "
    "robot than '{robot}' (or with another tool, mounting or zero positions), or be too short for its motion",
    "caution",
)  # fmt: skip
WORSE_UNSEEN = Rule(
    "worse-on-unseen", 1.65, "between parts of 40 independent samples once in 1,000 by chance (F distribution)",
    "errors of '{joint}' on unseen data are {value:.1f} times those that the fit leads to expect: motions of "
    "the parts differ, or the robot does what the model does not know. Record longer, or plan the motion with "
    "chasles.excite",
    "caution",
)  # fmt: skip
WEIGHT = Rule(
    "other-weight", 2.0, "robots carry less than they weigh",
    "gravity torques of the identified model are {factor:.2g} times those of the prior model: the log may be of "
    "another robot than '{robot}', or carry a payload; or efforts are in another unit than N·m (units={{'effort': …}}, "
    "--unit), those of the motors (motor_from_joint=, --reductions) or currents (units={{'effort': 'A'}})", "caution",
)  # fmt: skip
WEIGHT_SHAPE = Rule(
    "other-weight-shape", np.sqrt(0.5), "below it they share less than half of their squares",
    "gravity torques of the identified model do not resemble those of the prior model (correlation {value:.2f}): the "
    "log may be of another robot than '{robot}', mounted otherwise, or with other signs or zero positions of the "
    "joints", "caution",
)  # fmt: skip
MASS = Rule(
    "other-mass", 1.5, "no arm carries more than half of what it weighs",
    "the moving bodies weigh {now:.3g} kg, those of the prior model {before:.3g} kg: something is carried or missing, "
    "or the prior or the units of the efforts are wrong", "caution",
)  # fmt: skip
FRICTION_SIGN = Rule(
    "friction-drives", -5.0, "by chance once in three million",
    "friction of {joint} would drive the motion instead of opposing it ({value:.1f} standard errors): effort and "
    "position have opposite signs there; change the sign of one of these columns (units=, --unit {joint}: factor -1)",
    "refusal",
)  # fmt: skip
NOTHING_PREDICTED = Rule(
    "nothing-predicted", 1.0, "the mean of the torques would be as good",
    "the fitted model misses {value:.0%} of the torques of the unseen part, so it is worth nothing: the log is not of "
    "robot '{robot}', or its columns are not what they are read as", "refusal",
)  # fmt: skip

DOUBTS = {MISSED.code, WEIGHT.code, WEIGHT_SHAPE.code, MOUNTED.code, OTHER_READING.code}
"""Findings that say that the log may be of another robot, or be read otherwise than it was written."""


def judge(
    result: Identification, fitted: FittedLog, together: tuple[str, ...], has_guessed_bodies: bool
) -> Iterator[Finding]:
    """Find what a fit calls for saying.

    Parameters
    ----------
    result
        The fit.
    fitted
        Estimate with its equations.
    together
        Parameters that act only together.
    has_guessed_bodies
        Whether the prior's masses are made up.
    """
    signals, robot = result.signals, result.robot
    yield from CUTOFF.told(signals.cutoff.frequency, reason=signals.cutoff.reason, derivative=signals.derivative)
    yield from result.log.findings
    yield from _determination(result, together)
    yield from _gains(result)
    signs, errors = tuple(_friction_signs(robot, fitted)), tuple(_unseen_errors(result))
    if has_guessed_bodies:
        yield from GUESSED_MASSES.told(robot.description.mass, robot=robot.name)
    else:
        unlike = (*_weights(result), *_masses(result))
        yield from unlike
        told = (*unlike, *signs, *errors)
        if not result.log.currents and any(one.rule.code in DOUBTS or one.rule.weight == "refusal" for one in told):
            yield from mounting(robot, signals, result.log.measured)
    yield from (*signs, *errors)
    inertial = fitted.equations.inertial
    yield from better_readings(robot, inertial, signals, result.log.measured)
    yield from misalignments(fitted, result.model)


def _determination(result: Identification, together: tuple[str, ...]) -> Iterator[Finding]:
    robot = result.robot
    open_ones = [parameter.name for parameter in result.parameters if not parameter.determined]
    count = len(result.parameters)
    yield from DETERMINED.told(count - len(open_ones), count=count, condition=result.condition)
    shown = ", ".join(open_ones[:8]) + (", …" if len(open_ones) > 8 else "")
    yield from UNDETERMINED.above(len(open_ones), names=shown)
    if together:
        units = zip(robot.velocity_names, robot.description.displacement_units, strict=True)
        offsets = {f"{name}.offset" for name, unit in units if unit != "rad"}
        rule = INSEPARABLE if offsets & set(together) else TOGETHER
        yield from rule.told(len(together), names=", ".join(together))
    yield from SEPARATED.above(result.condition)


def _gains(result: Identification) -> Iterator[Finding]:
    gains, names = result.drive_gains, result.robot.velocity_names
    if gains is None:
        return
    shown = ", ".join(
        f"{name} {value:.3g} ± {NORMAL_QUANTILE * error:.2g}"
        for name, value, error in zip(names, gains.values, gains.errors, strict=True)
        if np.isfinite(value)
    )
    yield from DRIVE_GAINS.told(gains.known.sum(), gains=shown)
    for joint in np.flatnonzero(result.log.measured & ~gains.known):
        yield from UNKNOWN_GAIN.told(abs(gains.values[joint]) / gains.errors[joint], joint=names[joint])


def _friction_signs(robot: Robot, fitted: FittedLog) -> Iterator[Finding]:
    """Find joints whose textbook friction came out negative beyond doubt: their effort has the wrong sign."""
    textbook = fitted.found.textbook
    for joint in np.flatnonzero((textbook.coulomb + textbook.viscous < 0.0) & fitted.log.measured):
        errors = textbook.coulomb[joint] / max(textbook.coulomb_error[joint], 1e-300)
        yield from FRICTION_SIGN.below(errors, joint=robot.velocity_names[joint])


def _masses(result: Identification) -> Iterator[Finding]:
    before, now = np.sum(list(result.masses.values()), axis=0)
    yield from MASS.above(max(now / before, before / now), now=now, before=before)


def _unseen_errors(result: Identification) -> Iterator[Finding]:
    robot, measured = result.robot, result.log.measured
    unseen = result.predictions["model", "unseen"]
    largest = unseen.rms()
    variation = _variation(unseen)
    told = measured & np.isfinite(largest) & (variation > 0.0)
    rotating = told & np.array([unit == "rad" for unit in robot.description.displacement_units])
    together = rotating if rotating.any() else told
    if together.any():
        size = float(np.linalg.norm(variation[together]))
        beyond_noise = np.sqrt(np.maximum(largest**2 - result.noise**2, 0.0))
        nothing = NOTHING_PREDICTED.above(float(np.linalg.norm(largest[together])) / size, robot=robot.name)
        yield from nothing or MISSED.above(float(np.linalg.norm(beyond_noise[together])) / size, robot=robot.name)
    ratio = unseen.rms() / result.expected
    for joint in np.flatnonzero(told & np.isfinite(ratio)):
        yield from WORSE_UNSEEN.above(ratio[joint], joint=robot.velocity_names[joint])


def _variation(unseen: Prediction) -> FloatArray:
    """Standard deviation of the measured efforts of each joint while it moves, shape (n,); NaN where it rests."""
    columns = zip(unseen.measured.T, unseen.moving.T, strict=True)
    return np.array([np.std(effort[moving]) if moving.any() else np.nan for effort, moving in columns])


def _weights(result: Identification) -> Iterator[Finding]:
    """Compare gravity torques of the identified with those of the prior model: similar robots differ in them.

    Nothing is said of currents, whose gains were chosen so that gravity agrees, and where gravity hardly matters.
    """
    signals, measured = result.signals, result.log.measured
    rest = np.zeros_like(signals.q)
    bare = result.model.with_friction(torque_offset=0.0)
    still = replace(signals, qd=rest, qdd=rest)
    before, now = (still.torque(one)[:, measured] for one in (result.robot, bare))
    whole = signals.torque(result.robot)[:, measured]
    sizes = float(np.linalg.norm(before)), float(np.linalg.norm(now))
    hardly = sizes[0] < 1e-3 * np.linalg.norm(whole) or sizes[1] < 1e-3 * np.linalg.norm(signals.effort[:, measured])
    if result.log.currents or hardly:
        return
    factor, likeness = sizes[1] / sizes[0], float(np.sum(before * now) / (sizes[0] * sizes[1]))
    yield from WEIGHT.above(max(factor, 1.0 / factor), factor=factor, robot=result.robot.name)
    yield from WEIGHT_SHAPE.below(likeness, robot=result.robot.name)
