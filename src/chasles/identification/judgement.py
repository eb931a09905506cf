"""Judgement of an identification in words: what was found, what calls for caution, and when the fit is refused."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from chasles.identification.comparison import Prediction
from chasles.identification.diagnosis import better_readings, wrong_friction_signs
from chasles.identification.drive_gains import DriveGains
from chasles.identification.equations import UnknownNames
from chasles.identification.estimation import Estimate
from chasles.identification.filtering import Signals
from chasles.identification.friction import ALWAYS, term_of
from chasles.identification.identification import NORMAL_QUANTILE, Parameter
from chasles.identification.logs.log import Log
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

SUSPICIOUS, REFUSED = 0.3, 0.6
"""Unseen error of the worst joint, relative to the variation of its efforts, above which what was guessed of the log is
doubted, and of the median joint, above which a fit is refused."""
MISSED = 0.3
"""Unseen error of all rotating joints together, relative to the variation of their torques, above which a fit is
refused. The logs of four real robots leave 0.01 to 0.14; read as logs of other robots they leave 0.35 to 0.83."""
GRAVITY_FACTOR, GRAVITY_LIKENESS = 2.0, 0.9
"""Factor and correlation between gravity torques of the identified and the prior model that call for a warning."""
UNLIKE = 0.5
"""Correlation between these below which a fit is refused."""
ANOTHER_UNIT = 50.0
"""Factor between these that no error of a prior model explains."""
OVERFITTED = 1.6
"""Ratio of unseen to training errors that calls for a warning."""
ILL_CONDITIONED = 1e4


def remarks_and_warnings(
    robot: Robot, log: Log, train: Signals, found: Estimate, parameters: tuple[Parameter, ...], gains: DriveGains | None
) -> tuple[list[str], list[str]]:
    """Sentences on what was found, and on what calls for caution."""
    remarks = [
        str(train.cutoff)[0].upper() + str(train.cutoff)[1:] + f"; velocities from {train.derivative}.",
        *log.findings,
    ]
    warnings: list[str] = []
    open_ones = [parameter.name for parameter in parameters if not parameter.determined]
    sentence = f"{len(parameters) - len(open_ones)} of {len(parameters)} parameters are determined by this motion"
    if open_ones:
        shown = ", ".join(open_ones[:8]) + (f", … ({len(open_ones)})" if len(open_ones) > 8 else "")
        sentence += f"; not determined, kept near the prior: {shown}"
    remarks.append(f"{sentence}. Condition number {found.condition:.3g}.")
    if found.together:
        prismatic = [n for n, unit in zip(robot.velocity_names, robot.coordinate_units, strict=True) if unit != "rad"]
        text = f"{', '.join(found.together)} act only together in this log, so the prior model decides between them"
        if any(f"{name}.offset" in found.together for name in prismatic):
            remarks.append(f"{text}: no motion separates the weight on a vertical prismatic joint from an offset.")
        else:
            warnings.append(f"{text}; chasles.excite plans a motion that separates them if one does")
    if found.condition > ILL_CONDITIONED:
        warnings.append(
            f"the motion hardly separates some parameters (condition number {found.condition:.2g}); chasles.excite "
            "plans a motion that does"
        )
    added = {
        name: list(dict.fromkeys(term_of(column) for column in own if column not in ALWAYS))
        for name, own in found.unknowns.terms.items()
    }
    if any(added.values()):
        text = "; ".join(f"{name}: {', '.join(own)}" for name, own in added.items() if own)
        remarks.append(f"Friction terms beyond viscous and Coulomb friction and an offset: {text}.")
    if gains is not None:
        text = ", ".join(
            f"{name} {value:.3g} ± {NORMAL_QUANTILE * error:.2g}"
            for name, value, error in zip(robot.velocity_names, gains.values, gains.errors, strict=True)
            if np.isfinite(value)
        )
        remarks.append(
            f"Drive gains relative to the masses of the prior model (absolute only if these are right; "
            f"chasles.identification.gains_from_payload finds absolute ones): {text}."
        )
        unknown = [
            n
            for n, known, there in zip(robot.velocity_names, gains.known, log.measured, strict=True)
            if there and not known
        ]
        if unknown:
            warnings.append(f"drive gains cannot be told from this motion, 1 was taken: {', '.join(unknown)}")
    if not log.measured.all():
        rest = [name for name, there in zip(robot.velocity_names, log.measured, strict=True) if not there]
        warnings.append(f"efforts of {', '.join(rest)} were not measured; their friction stays near the prior")
    return remarks, warnings


def reason_to_refuse(
    robot: Robot, log: Log, train: Signals, first: UnknownNames, found: Estimate,
    predictions: Mapping[tuple[str, str], Prediction], noise: FloatArray,
) -> str | None:  # fmt: skip
    """Reason to refuse the fit, if there is one."""
    names = robot.velocity_names
    errors = np.sqrt(np.diag(found.covariance))
    values = dict(zip(found.unknowns.names, found.values, strict=True))
    wrong = wrong_friction_signs(values, dict(zip(found.unknowns.names, errors, strict=True)), names)
    if wrong:
        return (
            f"friction of {', '.join(wrong)} would drive the motion instead of opposing it: effort and position have "
            "opposite signs there; change the sign of one of these columns"
        )
    unseen, bodies = (predictions[model, "unseen"] for model in ("least squares", "model"))
    variation = np.array(
        [
            np.std(unseen.measured[unseen.moving[:, k], k]) if unseen.moving[:, k].any() else np.nan
            for k in range(robot.n)
        ]
    )
    missed = np.sqrt(np.maximum(np.maximum(unseen.rms(), bodies.rms()) ** 2 - noise**2, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = missed / variation
    told = log.measured & np.isfinite(excess)
    if log.guesses and told.any() and np.max(excess[told]) > SUSPICIOUS:
        worst = int(np.nanargmax(np.where(told, excess, np.nan)))
        return (
            f"the fitted model misses {excess[worst]:.0%} of the torque of '{names[worst]}', so this is doubtful: "
            f"{log.guesses[0]}. If they are those of the motors, give motor_from_joint (--reductions), else units"
        )
    another = (
        f"a log of another robot than '{robot.name}' (or with another tool, mounting or zero positions), or the part "
        "that is fitted is too short for its motion"
    )
    readings = better_readings(robot, first, train, log.coupling, log.measured)
    if readings:
        better = ", or with ".join(readings)
        words = f"far better with {better}: columns, signs or zeros are wrong (columns=, units=, zero_positions=)"
        return f"the log fits robot '{robot.name}' {words}, or it is {another}"
    if not told.any():
        return None
    rotating = told & np.array([unit == "rad" for unit in robot.coordinate_units])
    together = rotating if rotating.any() else told
    share = float(np.linalg.norm(missed[together]) / np.linalg.norm(variation[together]))
    median = float(np.median(excess[told]))
    if share > MISSED or median > REFUSED:
        return (
            f"the model fitted to the first part of the log misses {max(share, median):.0%} of the torques of the "
            f"unseen part: it is {another}"
        )
    return None


def reason_in_weights(robot: Robot, log: Log, model: Robot, train: Signals) -> str | None:
    """Reason to refuse a model whose weights are of another order or shape than the prior's."""
    factor, likeness = _gravity_ratio(robot, log, model, train)
    if likeness < UNLIKE:
        return (
            f"gravity torques of the identified model do not resemble those of the prior model (correlation "
            f"{likeness:.2f}): the log is of another robot than '{robot.name}', mounted otherwise, or with other signs "
            "or zero positions of the joints"
        )
    if likeness < GRAVITY_LIKENESS or 1.0 / ANOTHER_UNIT < factor < ANOTHER_UNIT:
        return None
    return (
        f"gravity torques of the identified model are {factor:.2g} times those of the prior model, so efforts are in "
        "another unit than N·m (units={'effort': ...}, --unit), those of the motors (motor_from_joint=, --reductions) "
        "or currents (units={'effort': 'A'})"
    )


def _gravity_ratio(robot: Robot, log: Log, model: Robot, train: Signals) -> tuple[float, float]:
    """Size of the identified model's gravity torques relative to the prior's, and their correlation.

    (1, 1) for currents, whose gains were chosen so that gravity agrees, and where gravity hardly matters.
    """
    rest = np.zeros_like(train.q)
    before, now = (np.asarray(one.inverse_dynamics(train.q, rest, rest))[:, log.measured] for one in (robot, model))
    whole = np.asarray(robot.inverse_dynamics(train.q, train.qd, train.qdd))[:, log.measured]
    sizes = float(np.linalg.norm(before)), float(np.linalg.norm(now))
    hardly = sizes[0] < 1e-3 * np.linalg.norm(whole) or sizes[1] < 1e-3 * np.linalg.norm(train.effort[:, log.measured])
    if log.currents or hardly:
        return 1.0, 1.0
    return sizes[1] / sizes[0], float(np.sum(before * now) / (sizes[0] * sizes[1]))


def other_weights(robot: Robot, log: Log, model: Robot, train: Signals) -> list[str]:
    """Compare gravity torques of the identified with those of the prior model: similar robots differ in them."""
    factor, likeness = _gravity_ratio(robot, log, model, train)
    if likeness >= GRAVITY_LIKENESS and 1.0 / GRAVITY_FACTOR < factor < GRAVITY_FACTOR:
        return []
    return [
        f"gravity torques of the identified model are {factor:.2g} times those of the prior model (correlation "
        f"{likeness:.2f}): the log may be of another robot than '{robot.name}', carry a payload, or have efforts in "
        "another unit than N·m"
    ]


def overfitting(robot: Robot, log: Log, predictions: Mapping[tuple[str, str], Prediction]) -> list[str]:
    """Say which joints the fit predicts worse than it fits them."""
    ratio = predictions["least squares", "unseen"].rms() / predictions["least squares", "training"].rms()
    worse = [
        f"{name} ({r:.1f} times)"
        for name, r, there in zip(robot.velocity_names, ratio, log.measured, strict=True)
        if there and r > OVERFITTED
    ]
    if not worse:
        return []
    return [
        f"errors on unseen data are larger than the fit's: {', '.join(worse)}; the motions of the two parts differ, "
        "or the model has more parameters than the data determine. Record longer, or plan the motion with "
        "chasles.excite"
    ]
