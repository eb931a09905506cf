"""Other readings of a log that would fit its robot better: swapped columns, other signs or zero positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule
from chasles.identification.equations import InertialUnknowns, TorqueEquations
from chasles.identification.estimation import textbook_columns
from chasles.identification.filtering import Signals
from chasles.identification.friction import FrictionTerms
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

TRIED_SAMPLES = 300
OTHER_READING = Rule(
    "other-reading", 0.6,
    "20 independent samples of each joint then make the other reading e^12 times as likely; some hundred are tried",
    "the log fits robot '{robot}' far better with {reading} (logarithms of the errors, summed over the joints, fall by "
    "{value:.2f}): columns, signs or zeros may be wrong (columns=, units=, zero_positions=)", "caution",
)  # fmt: skip
RIDGE = 1e-6
"""Weight of the least coefficients in these fits, beside columns of unit length."""


@dataclass(frozen=True)
class LogInterpretation:
    """Another way to read a log: which signals have other signs, places or zero positions."""

    words: str
    q_order: tuple[int, ...]
    q_sign: FloatArray
    effort_order: tuple[int, ...]
    effort_sign: FloatArray
    q_offset: FloatArray | float = 0.0


def better_readings(
    robot: Robot, unknowns: InertialUnknowns, signals: Signals, coupling: FloatArray, measured: NDArray[np.bool_]
) -> tuple[Finding, ...]:
    """Find the reading of the log that fits the robot best, if it does so far better than the log as it is.

    Every single change of a sign, every offset of a joint by a multiple of 90° and every exchange of two columns is
    tried on a few hundred samples.
    """
    names, n = robot.velocity_names, robot.n
    turning = np.array([unit == "rad" for unit in robot.description.coordinate_units])
    kept = signals.kept()
    thin = _thinned(signals, kept[np.unique(np.linspace(0, len(kept) - 1, TRIED_SAMPLES).astype(int))])
    as_read = _log_errors(robot, unknowns, thin, coupling, measured)
    best: tuple[Finding, ...] = ()
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
        if not best or gain > best[0].value:
            best = OTHER_READING.above(gain, robot=robot.name, reading=reading.words)
    return best


def _thinned(signals: Signals, rows: NDArray[np.intp]) -> Signals:
    return replace(
        signals, time=signals.time[rows], q=signals.q[rows], qd=signals.qd[rows], qdd=signals.qdd[rows],
        effort=signals.effort[rows], moving=signals.moving[rows],
        saturated=signals.saturated[rows], segments=(slice(0, len(rows)),), recordings=(slice(0, len(rows)),),
        cutoff=replace(signals.cutoff, frequency=1.0 / signals.period),
    )  # fmt: skip


def _log_errors(
    robot: Robot, unknowns: InertialUnknowns, signals: Signals, coupling: FloatArray, measured: NDArray[np.bool_]
) -> FloatArray:
    """Logarithm of each joint's relative residual in a fit of all joints, shape (n,)."""
    equations = TorqueEquations(robot, unknowns, signals, coupling)
    terms = FrictionTerms.of(equations.motor_rates, robot.description.coordinate_units, (0.05,), ("offset",))
    A = textbook_columns(equations, terms)
    scale = np.where(equations.moving & measured, 1.0 / (equations.effort.std(axis=0) + 1e-12), 0.0)
    rows = (A * scale[..., None]).reshape(-1, A.shape[2])
    rows /= np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
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
