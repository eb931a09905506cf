"""Other readings of a log that would fit its robot better: swapped columns, other signs or zero positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule
from chasles.identification.equations import InertialUnknowns, TorqueEquations
from chasles.identification.estimation import textbook_columns
from chasles.identification.filtering import Signals
from chasles.identification.friction import FrictionTerms
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

TRIED_SAMPLES = 300
OTHER_READING = Rule(
    "other-reading", 0.6,
    "20 independent samples of each joint then make the other reading e^12 times as likely; some hundred are tried",
    "the log fits robot '{robot}' far better with {reading} (logarithms of the errors, summed over the joints, fall by "
    "{value:.2f}): columns, signs or zeros may be wrong (columns=, units=, zero_positions=)", "caution",
)  # fmt: skip
RIDGE = 1e-6
"""Weight of the least coefficients in these fits, beside columns of unit length."""
MOUNTED = Rule(
    "other-mounting", 45.0, "half way from upright to a wall",
    "the efforts show gravity along ({x:.2f}, {y:.2f}, {z:.2f}) of the base, {value:.0f}° from the model's: if the "
    "robot is mounted so, say it with robot.with_gravity(...)", "caution",
)  # fmt: skip


class LogInterpretation(NamedTuple):
    """Another way to read a log: signed permutations of positions and efforts, (n, n), and zero positions, (n,)."""

    words: str
    of_positions: FloatArray
    of_efforts: FloatArray
    zeros: FloatArray | float = 0.0


def better_readings(
    robot: Robot, unknowns: InertialUnknowns, signals: Signals, measured: NDArray[np.bool_]
) -> tuple[Finding, ...]:
    """Find the reading of the log that fits the robot best, if it does so far better than the log as it is.

    Every single change of a sign, that of all efforts, every offset of a joint by a multiple of 90° and every exchange
    of two columns is tried on a few hundred samples.
    """
    names, n = robot.velocity_names, robot.n
    turning = np.array([unit == "rad" for unit in robot.description.displacement_units])
    kept = signals.kept()
    thin = _thinned(signals, kept[np.unique(np.linspace(0, len(kept) - 1, TRIED_SAMPLES).astype(int))])
    as_read = _log_errors(robot, unknowns, thin, measured)
    best: tuple[Finding, ...] = ()
    for reading in _readings(names, n, turning):
        moved = thin.at(thin.q @ reading.of_positions.T + reading.zeros)
        if not np.isfinite(moved.configuration).all():  # no loops close there
            continue
        other = replace(
            moved, qd=thin.qd @ reading.of_positions.T, qdd=thin.qdd @ reading.of_positions.T,
            effort=thin.effort @ reading.of_efforts.T,
        )  # fmt: skip
        errors = _log_errors(robot, unknowns, other, measured)[measured]
        gain = float(np.sum(as_read[measured] - errors))
        if not best or gain > best[0].value:
            best = OTHER_READING.above(gain, robot=robot.name, reading=reading.words)
    return best


def mounting(robot: Robot, signals: Signals, measured: NDArray[np.bool_]) -> tuple[Finding, ...]:
    """Find whether gravity pulls otherwise than the model says: torques of the prior's weight are linear in it.

    The efforts of the measured joints, less the prior's other torques, are fitted by the weight along each axis of the
    base, and by each joint's friction and offset.
    """
    kept = signals.kept()
    thin = _thinned(signals, kept[np.unique(np.linspace(0, len(kept) - 1, TRIED_SAMPLES).astype(int))])
    along = [np.asarray(robot.gravity_torque(thin.configuration, vary={"gravity": np.eye(3)[k]})) for k in range(3)]
    moved = thin.torque(robot) - np.asarray(robot.gravity_torque(thin.configuration))
    top = np.abs(thin.qd).max(axis=0) + 1e-12
    friction = [np.tanh(thin.qd / (0.05 * top)), thin.qd / top, np.ones_like(thin.qd)]
    n, joints = robot.n, np.flatnonzero(measured)
    rows, right = [], []
    for joint in joints:
        own = np.zeros((len(thin.q), 3 + 3 * n))
        own[:, :3] = np.stack([torque[:, joint] for torque in along], axis=1)
        own[:, 3 + 3 * joint : 6 + 3 * joint] = np.stack([column[:, joint] for column in friction], axis=1)
        scale = 1.0 / (thin.effort[:, joint].std() + 1e-12)
        rows.append(scale * own)
        right.append(scale * (thin.effort[:, joint] - moved[:, joint]))
    pull = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=1e-9)[0][:3]
    size, usual = float(np.linalg.norm(pull)), robot.description.gravity
    if not size > 0.0 or not np.any(usual):
        return ()
    cosine = float(pull @ usual) / (size * float(np.linalg.norm(usual)))
    x, y, z = (pull / size).tolist()
    return MOUNTED.above(float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))), x=x, y=y, z=z)


def _thinned(signals: Signals, rows: NDArray[np.intp]) -> Signals:
    return replace(
        signals, time=signals.time[rows], q=signals.q[rows], qd=signals.qd[rows], qdd=signals.qdd[rows],
        configuration=signals.configuration[rows], effort=signals.effort[rows], moving=signals.moving[rows],
        saturated=signals.saturated[rows], segments=(slice(0, len(rows)),), recordings=(slice(0, len(rows)),),
        cutoff=replace(signals.cutoff, frequency=1.0 / signals.period),
    )  # fmt: skip


def _log_errors(robot: Robot, unknowns: InertialUnknowns, signals: Signals, measured: NDArray[np.bool_]) -> FloatArray:
    """Logarithm of each joint's relative residual in a fit of all joints, shape (n,)."""
    equations = TorqueEquations(robot, unknowns, signals)
    terms = FrictionTerms.of(equations.motor_rates, robot.description.displacement_units, (0.05,), ("offset",))
    A = textbook_columns(equations, terms)
    scale = np.where(equations.moving & measured, 1.0 / (equations.effort.std(axis=0) + 1e-12), 0.0)
    rows = (A * scale[..., None]).reshape(-1, A.shape[2])
    rows /= np.maximum(np.linalg.norm(rows, axis=0), 1e-300)
    efforts = equations.effort * scale
    x = np.linalg.solve(rows.T @ rows + RIDGE * np.eye(rows.shape[1]), rows.T @ efforts.ravel())
    residuals = efforts - (rows @ x).reshape(scale.shape)
    return np.asarray(0.5 * np.log(np.mean(residuals**2, axis=0) + 1e-12))


def _readings(names: tuple[str, ...], n: int, turning: NDArray[np.bool_]) -> Iterator[LogInterpretation]:
    straight = np.eye(n)
    for joint in np.flatnonzero(turning):
        for quarters in (1, 2, -1):
            words = f"{90 * quarters:+d}° added to the position of '{names[joint]}'"
            yield LogInterpretation(words, straight, straight, quarters * 0.5 * np.pi * straight[joint])
    yield LogInterpretation("all efforts with the opposite sign", straight, -straight)
    changes = {f" of '{name}' with the opposite sign": np.diag(1.0 - 2.0 * straight[k]) for k, name in enumerate(names)}
    for a, b in combinations(range(n), 2):
        order = [b if k == a else a if k == b else k for k in range(n)]
        changes[f"s of '{names[a]}' and '{names[b]}' exchanged"] = straight[order]
    for words, change in changes.items():
        plural = words[0].strip()
        yield LogInterpretation(f"the position{words}", change, straight)
        yield LogInterpretation(f"the effort{words}", straight, change)
        yield LogInterpretation(f"position{plural} and effort{words}", change, change)
