"""What a model is fitted to and judged by: logs that are read, checked and filtered, and their equations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError, IdentificationError
from chasles.base.findings import Rule
from chasles.engine.validators import real
from chasles.identification.drive_gains import DriveGains, gains_from_model
from chasles.identification.equations import InertialUnknowns, TorqueEquations, inertial_unknowns, with_drives_of
from chasles.identification.filtering import Signals, filtered_signals
from chasles.identification.logs.acceptance import accepted_log, refuse
from chasles.identification.logs.log import Log
from chasles.model import has_masses
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

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
    "the logs leave {rows} rows of what moves below the cut-off of {cutoff:.3g} Hz for {unknowns} unknowns; record "
    "{times:.1f} times as long", "refusal",
)  # fmt: skip
NO_UNIT_OF_EFFORT = Rule(
    "no-unit-of-effort", 0.0, "a scale of all torques is free if neither gains nor masses are known",
    "the log has currents and robot '{robot}' has no masses, so nothing tells newtons from amperes: give the log drive "
    "gains (drive_gains=[...], N·m for an ampere), or the robot masses", "refusal",
)  # fmt: skip

GO_ON = " (check=False goes on nevertheless)"


@dataclass(frozen=True)
class Data:
    """What a model is fitted to and judged by.

    Attributes
    ----------
    robot, has_guessed_bodies
        Prior model with the log's drives, and whether its masses are made up.
    log
        Log to fit.
    signals, judged
        Filtered samples to fit, and those to predict.
    band
        Frequency below which the latter are, Hz.
    equations, test
        Equations of both.
    has_unseen
        Whether the samples to predict are of another log.
    gains
        Drive gains of currents.
    """

    robot: Robot
    has_guessed_bodies: bool
    log: Log
    signals: Signals
    judged: Signals
    band: float
    equations: TorqueEquations
    test: TorqueEquations
    has_unseen: bool
    gains: DriveGains | None = None

    @property
    def used(self) -> NDArray[np.bool_]:
        """Rows of measured joints that move, shape (k, n)."""
        return self.equations.moving & self.log.measured


def prepared(robot: Robot, log: Any, unseen: Any, cutoff: float | None, bandwidth: float | None, check: bool) -> Data:
    """Read, check and filter the logs, and set up the equations."""
    fitted = _read(robot, log, check)
    other = None if unseen is None else _read(robot, unseen, check)
    signals = _signals(fitted, cutoff)
    band = signals.cutoff.frequency if bandwidth is None else real(bandwidth, "bandwidth", above=0.0)
    judged = signals if other is None and bandwidth is None else _signals(other or fitted, band)
    for one in (signals, judged):
        _require_unsaturated(one, robot.velocity_names)
    _require_motion(signals, robot.velocity_names)
    has_guessed_bodies = not has_masses(robot.description)
    if has_guessed_bodies:
        if fitted.currents:
            refuse(NO_UNIT_OF_EFFORT.told(0.0, robot=robot.name))
        robot = robot.edit.nominal_bodies()
    robot = with_drives_of(fitted, robot)
    equations, test = _equations(robot, inertial_unknowns(robot), signals, judged)
    return Data(robot, has_guessed_bodies, fitted, signals, judged, band, equations, test, other is not None)


def _equations(
    robot: Robot, unknowns: InertialUnknowns, signals: Signals, judged: Signals
) -> tuple[TorqueEquations, TorqueEquations]:
    equations = TorqueEquations(robot, unknowns, signals)
    return equations, equations if judged is signals else TorqueEquations(robot, unknowns, judged)


def in_torques(data: Data) -> Data:
    """Return the data with currents as torques, by the gains that the masses of the prior tell."""
    if not data.log.currents:
        return data
    gains = gains_from_model(data.robot, data.equations, data.log.measured)
    scale = np.where(data.log.measured & gains.known, gains.values, 1.0)
    signals = _scaled(data.signals, scale)
    judged = signals if data.judged is data.signals else _scaled(data.judged, scale)
    equations, test = _equations(data.robot, data.equations.inertial, signals, judged)
    return replace(data, signals=signals, judged=judged, equations=equations, test=test, gains=gains)


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


def require_rows(rows: int, unknowns: int, cutoff: float) -> None:
    """Refuse a fit to fewer rows than twice its unknowns, below a cut-off frequency, Hz.

    Raises
    ------
    IdentificationError
        The message says how much longer the log must be.
    """
    times = TOO_SHORT.limit * unknowns / max(rows, 1)
    refuse(TOO_SHORT.below(rows / unknowns, rows=rows, unknowns=unknowns, cutoff=cutoff, times=times))


def _signals(log: Log, cutoff: float | None) -> Signals:
    try:
        return filtered_signals(log, cutoff)
    except ArgumentError as error:
        raise IdentificationError(str(error)) from None


def _scaled(signals: Signals, gains: FloatArray) -> Signals:
    return replace(signals, effort=signals.effort * gains, noise=signals.noise * np.abs(gains))
