"""Reasons why a log does not fit a robot: joints at rest, swapped columns, wrong signs or zeros, another robot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from chasles.identification.equations import TorqueEquations, UnknownNames, plausible_sizes
from chasles.identification.filtering import Signals
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

STILL = 2e-3
"""Range of positions, rad (m), below which a joint is at rest throughout."""
TRIED_SAMPLES = 300
CONVINCING = 0.6
"""Sum over joints of the logarithms of error ratios from which another reading of the log is believed.

Set by experience on simulated logs with and without such mistakes, not derived: with errors that are independent and
normal, 20 samples would make the other reading e¹² times as likely, but those of real logs are coloured and have a
structure. 105 readings of 7 joints are tried.
"""
RIDGE = 1e-6
"""Weight of the prior in these fits."""
STILL_BAD = 0.25
"""Relative error of a fit that no other reading of the log may leave: it is of another robot then."""
SURE = 5.0
"""Standard errors by which a friction must be negative to be taken for a wrong sign."""


@dataclass(frozen=True)
class LogInterpretation:
    """Another way to read a log: which signals have other signs, places or zero positions."""

    words: str
    q_order: tuple[int, ...]
    q_sign: FloatArray
    effort_order: tuple[int, ...]
    effort_sign: FloatArray
    q_offset: FloatArray | float = 0.0


def resting_joints(signals: Signals, names: tuple[str, ...]) -> list[str]:
    """Names of the joints that do not move."""
    return [name for name, span in zip(names, np.ptp(signals.q, axis=0), strict=True) if span < STILL]


def better_readings(
    robot: Robot, unknowns: UnknownNames, signals: Signals, coupling: FloatArray, measured: NDArray[np.bool_]
) -> list[str]:
    """Readings of the log, in words, that fit the robot far better than the log as it is; best first.

    Every single change of a sign, every offset of a joint by a multiple of 90° and every exchange of two columns is
    tried on a few hundred samples.
    """
    names, n = robot.velocity_names, robot.n
    turning = np.array([unit == "rad" for unit in robot.coordinate_units])
    kept = signals.kept()
    thin = _thinned(signals, kept[np.unique(np.linspace(0, len(kept) - 1, TRIED_SAMPLES).astype(int))])
    as_read = _log_errors(robot, unknowns, thin, coupling, measured)
    found = []
    for reading in _readings(names, n, turning):
        order, effort_order = list(reading.q_order), list(reading.effort_order)
        sign = reading.q_sign
        other = replace(
            thin, q=sign * thin.q[:, order] + reading.q_offset,
            qd=sign * thin.qd[:, order], qdd=sign * thin.qdd[:, order],
            effort=reading.effort_sign * thin.effort[:, effort_order],
        )  # fmt: skip
        errors = _log_errors(robot, unknowns, other, coupling, measured)[measured]
        gain = float(np.sum(as_read[measured] - errors))
        if gain > CONVINCING and np.median(errors) < np.log(STILL_BAD):
            found.append((gain, reading.words))
    return [words for _, words in sorted(found, reverse=True)[:3]]


def wrong_friction_signs(values: dict[str, float], errors: dict[str, float], names: tuple[str, ...]) -> list[str]:
    """Joints whose Coulomb friction came out negative beyond doubt: their effort has the wrong sign."""
    return [
        name
        for name in names
        if values[f"{name}.coulomb"] < -SURE * errors[f"{name}.coulomb"]
        and values[f"{name}.coulomb"] + values[f"{name}.viscous"] < 0.0
    ]


def _thinned(signals: Signals, rows: NDArray[np.intp]) -> Signals:
    return replace(
        signals, time=signals.time[rows], q=signals.q[rows], qd=signals.qd[rows], qdd=signals.qdd[rows],
        effort=signals.effort[rows], moving=signals.moving[rows],
        saturated=signals.saturated[rows], segments=(slice(0, len(rows)),),
        cutoff=replace(signals.cutoff, frequency=1.0 / signals.period),
    )  # fmt: skip


def _log_errors(
    robot: Robot, unknowns: UnknownNames, signals: Signals, coupling: FloatArray, measured: NDArray[np.bool_]
) -> FloatArray:
    """Logarithm of each joint's relative residual in a fit of all joints, shape (n,)."""
    equations = TorqueEquations(robot, unknowns, signals, coupling)
    v0 = 0.05 * np.maximum(np.abs(equations.motor_rates).max(axis=0), 1e-12)
    A = np.concatenate([equations.columns, equations.friction(unknowns, v0, np.zeros_like(signals.qd))], axis=2)
    scale = np.where(equations.moving & measured, 1.0 / (equations.effort.std(axis=0) + 1e-12), 0.0)
    rows = (A * scale[..., None]).reshape(-1, A.shape[2]) * plausible_sizes(robot, unknowns, signals.effort)
    efforts = equations.effort * scale
    x = np.linalg.solve(rows.T @ rows + RIDGE * np.eye(rows.shape[1]), rows.T @ efforts.ravel())
    residuals = efforts - (rows @ x).reshape(scale.shape)
    return np.asarray(0.5 * np.log(np.mean(residuals**2, axis=0) + 1e-12))


def _readings(names: tuple[str, ...], n: int, turning: NDArray[np.bool_]) -> Iterator[LogInterpretation]:
    straight, ones = tuple(range(n)), np.ones(n)

    def flipped(joint: int) -> FloatArray:
        return np.where(np.arange(n) == joint, -1.0, 1.0)

    for joint in map(int, np.flatnonzero(turning)):
        for quarters in (1, 2, -1):
            offset = np.where(np.arange(n) == joint, quarters * 0.5 * np.pi, 0.0)
            words = f"{90 * quarters:+d}° added to the position of '{names[joint]}'"
            yield LogInterpretation(words, straight, ones, straight, ones, offset)
    for joint in range(n):
        yield LogInterpretation(
            f"the position of '{names[joint]}' with the opposite sign", straight, flipped(joint), straight, ones
        )
        yield LogInterpretation(
            f"the effort of '{names[joint]}' with the opposite sign", straight, ones, straight, flipped(joint)
        )
        yield LogInterpretation(
            f"position and effort of '{names[joint]}' with the opposite sign",
            straight,
            flipped(joint),
            straight,
            flipped(joint),
        )
    for a, b in combinations(range(n), 2):
        order = list(straight)
        order[a], order[b] = b, a
        both = f"'{names[a]}' and '{names[b]}'"
        yield LogInterpretation(f"the positions of {both} exchanged", tuple(order), ones, straight, ones)
        yield LogInterpretation(f"the efforts of {both} exchanged", straight, ones, tuple(order), ones)
        yield LogInterpretation(f"positions and efforts of {both} exchanged", tuple(order), ones, tuple(order), ones)
