"""Alignment of a log with its robot: delays of the efforts and small zero offsets of the joints.

Both are linear to first order: an effort τ(t - d) is τ - d τ', and a joint whose zero is off by δ has τ(q + δ) ≈ τ +
(∂τ/∂q) δ. The derivative of the fitted torque is an additional column beside the columns of the fit, as in J.
Hollerbach, W. Khalil & M. Gautier, "Model identification" (Springer Handbook of Robotics, 2nd ed., 2016, ch. 6). Both
are told only where the unseen part of the log confirms them. Efforts lag together, or those of one joint alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from chasles.base.findings import Finding, Rule
from chasles.identification.equations import TorqueEquations
from chasles.identification.estimation import Estimate, Friction, estimate
from chasles.identification.filtering import Signals, advanced
from chasles.identification.identification import student_quantile
from chasles.identification.logs.log import Log
from chasles.identification.regression import (
    Prior,
    WeightedFit,
    coloured_covariance,
    degrees_of_freedom,
    error_model,
)
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

SURE = 5.0
"""Standard errors by which a delay or offset must differ from zero."""
LOOKED_INTO = 9.0
"""Decrease of the weighted squares from which it is looked into: three standard errors, as weights divide by residuals
in which it still is."""
LEAST_OFFSET, MOST_OFFSET = np.radians(1.0), np.radians(20.0)
"""Offsets that are told, rad: smaller ones do not matter, larger ones are beyond the linear range."""
_BECAUSE = "fits of two parts of a real log differ by 7 % in the mean, by 16 % once in ten joints"
LAG = Rule(
    "effort-delay", 0.1, _BECAUSE,
    "the efforts lag behind the positions by {delay:.3g} ± {half:.2g} s: this delay lowers the unseen errors by "
    "{value:.0%} (Log(..., delay={declared}), --delay {declared})", "caution",
)  # fmt: skip
LATE = Rule(
    "joint-effort-delay", 0.3, "fits of two parts of a real log differ by 16 % once in ten joints: by 30 % once in 100",
    "the effort of '{joint}' alone lags behind its position by {delay:.3g} ± {half:.2g} s: this delay lowers its "
    "unseen errors by {value:.0%} (Log(..., delay=[{declared}]), --delay {declared})", "caution",
)  # fmt: skip
ZERO = Rule(
    "zero-offset", 0.1, _BECAUSE,
    "the zero of '{joint}' seems to be off: its positions with {degrees:+.1f} ± {half:.1f}° lower the unseen errors by "
    "{value:.0%} (zero_positions=, --zero-positions)", "caution",
)  # fmt: skip
SEPARATE = 1e-6
"""Share of a column's squares that the other columns must leave."""
STEP = 1e-3
"""Step of the differences, rad."""
REFITS, TRIED_JOINTS = 3, 2


class Change(NamedTuple):
    """Change of the signals by one number: its effect on them, and its derivative of a model's torques less efforts.

    Attributes
    ----------
    of_signals
        Function of signals and the number.
    of_torques
        Function of signals and a model, with values of shape (samples, n).
    judged
        Joints whose unseen errors tell whether it is right, shape (n,).
    least
        Share by which it must lower them.
    """

    of_signals: Callable[[Signals, float], Signals]
    of_torques: Callable[[Signals, Robot], FloatArray]
    judged: NDArray[np.bool_]
    least: float


def later(joints: NDArray[np.bool_]) -> Change:
    """Efforts of some joints (n,) that were measured later."""

    def of_torques(signals: Signals, model: Robot) -> FloatArray:
        tau, time = signals.torque(model), signals.time
        rates = [CubicSpline(time[part], tau[part])(time[part], 1) for part in signals.segments]
        return np.where(joints, -np.concatenate(rates), 0.0)

    least = LAG.limit if joints.all() else LATE.limit
    return Change(lambda signals, delay: advanced(signals, np.where(joints, delay, 0.0)), of_torques, joints, least)


def turned(joint: int, n: int) -> Change:
    """Addition to the positions of one of n joints."""

    def of_signals(signals: Signals, offset: float) -> Signals:
        return signals.at(signals.q + offset * np.eye(n)[joint])

    def of_torques(signals: Signals, model: Robot) -> FloatArray:
        ahead, behind = (of_signals(signals, h).torque(model) for h in (STEP, -STEP))
        return (ahead - behind) / (2.0 * STEP)

    return Change(of_signals, of_torques, np.ones(n, dtype=bool), ZERO.limit)


class Aligned(NamedTuple):
    """Size of a delay (s) or offset (rad), half its 95 % interval, and the share by which unseen errors fall."""

    size: float
    half: float
    better: float


@dataclass(frozen=True)
class FittedLog:
    """Estimate from all of a log, with the equations that it came from."""

    robot: Robot
    log: Log
    equations: TorqueEquations
    found: Estimate
    friction: Friction

    def changed(self, change: Change, size: float, *, half: bool) -> FittedLog:
        """Estimate from changed signals, of all the log or of its first half."""
        own = change.of_signals(self.equations.signals, size) if size else self.equations.signals
        equations = TorqueEquations(self.robot, self.equations.inertial, own)
        used = equations.moving & self.log.measured
        if half:
            used = used & self._halves[0][:, None]
        return replace(self, equations=equations, found=estimate(self.robot, equations, used, self.friction))

    def column(self, model: Robot, change: Change) -> FloatArray:
        """Derivative of the torques of a model, less the efforts, by a change of the signals, shape (k, n)."""
        signals = self.equations.signals
        return signals.filter(change.of_torques(signals, model))[self.equations.kept]

    def unseen_errors(self) -> FloatArray:
        """Root of the squared errors of each joint in the second half of the log while it moves, shape (n,)."""
        rows = self.equations.moving & self._halves[1][:, None]
        return np.asarray(np.linalg.norm(np.where(rows, self.found.residuals, 0.0), axis=0))

    @property
    def _halves(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.equations.held_out(1, 2)


def misalignments(fitted: FittedLog, model: Robot) -> Iterator[Finding]:
    """Delay of the efforts, of all joints or of one, and the clearest zero offset, as far as the log shows them.

    Parameters
    ----------
    fitted
        Estimate from all of the log.
    model
        The robot that came of it.
    """
    n, names = fitted.robot.n, fitted.robot.velocity_names
    yield from _delays(fitted, model)
    units = fitted.robot.description.displacement_units
    turns = [turned(joint, n) for joint in range(n)]
    rotating = [joint for joint in range(n) if units[joint] == "rad"]
    scores = _scores(fitted, model, [turns[joint] for joint in rotating])
    clearest = [rotating[k] for k in np.argsort(-scores)[:TRIED_JOINTS]]
    tried = [(_confirmed(fitted, model, turns[joint]), joint) for joint in clearest]
    offsets = [(own, joint) for own, joint in tried if own is not None and LEAST_OFFSET < abs(own.size) < MOST_OFFSET]
    if offsets:
        offset, joint = max(offsets, key=lambda pair: pair[0].better)
        degrees, half = float(np.degrees(offset.size)), float(np.degrees(offset.half))
        yield from ZERO.told(offset.better, joint=names[joint], degrees=degrees, half=half)


def _delays(fitted: FittedLog, model: Robot) -> Iterator[Finding]:
    """One joint's delay if it explains clearly more than a delay of all, which moves that joint's efforts, too."""
    joints = np.flatnonzero(fitted.log.measured)
    every = np.ones(fitted.robot.n, dtype=bool)
    changes = [later(every), *(later(every & (np.arange(len(every)) == joint)) for joint in joints)]
    scores = _scores(fitted, model, changes)
    k = int(np.argmax(scores[1:]))
    alone = _confirmed(fitted, model, changes[1 + k]) if scores[1 + k] > scores[0] + LOOKED_INTO else None
    together = _confirmed(fitted, model, changes[0]) if alone is None else None
    for rule, delay, own in ((LATE, alone, changes[1 + k]), (LAG, together, changes[0])):
        if delay is not None:
            each = [f"{one:.3g}" for one in fitted.log.delay + delay.size * own.judged]
            yield from rule.told(
                delay.better, delay=delay.size, half=delay.half, joint=fitted.robot.velocity_names[joints[k]],
                declared=each[0] if len(set(each)) == 1 else ",".join(each),
            )  # fmt: skip


class Additional(NamedTuple):
    """One more column of a fit: changes of the other coefficients, its own one, and the squares it has for itself."""

    changes: FloatArray
    size: float
    squares: float

    @property
    def score(self) -> float:
        """Decrease of the weighted sum of squares."""
        return self.size**2 * self.squares


def _additional(columns: list[FloatArray], found: Estimate) -> list[Additional]:
    """Solve for one more column, each by itself: the estimate satisfies its normal equations, so a block goes."""
    A = found.columns @ found.minimum.motions
    rows = np.stack([(column * found.weights).ravel() for column in columns])
    right = rows @ A.reshape(rows.shape[1], -1)
    taken = np.linalg.solve(found.minimum.hessian, right.T).T
    solved = []
    for own, weighted, pull, changes in zip(columns, rows, right, taken, strict=True):
        whole = float(weighted @ own.ravel())
        squares = whole - float(pull @ changes)
        is_separate = squares > max(SEPARATE * whole, 0.0)
        size = float(weighted @ found.residuals.ravel()) / squares if is_separate else 0.0
        solved.append(Additional(-size * changes, size, squares if is_separate else 0.0))
    return solved


def _scores(fitted: FittedLog, model: Robot, changes: list[Change]) -> FloatArray:
    """Decrease of the weighted sum of squares by each of some changes alone, shape (changes,)."""
    columns = [fitted.column(model, change) for change in changes]
    return np.array([own.score for own in _additional(columns, fitted.found)] if columns else [])


def _confirmed(fitted: FittedLog, model: Robot, change: Change) -> Aligned | None:
    """Size of a change, if the log asks for it and a half that was not fitted confirms it."""
    if _scores(fitted, model, [change])[0] < LOOKED_INTO:
        return None
    first = own = fitted.changed(change, 0.0, half=True)
    told = fitted.log.measured & change.judged & (first.unseen_errors() > 0.0)
    size, better = 0.0, 0.0
    for refit in range(REFITS):
        size += _additional([own.column(model, change)], own.found)[0].size
        own = fitted.changed(change, size, half=True)
        better = 1.0 - float(np.exp(np.mean(np.log(own.unseen_errors()[told] / first.unseen_errors()[told] + 1e-300))))
        if not better > (change.least if refit == REFITS - 1 else 0.0):
            return None
    own = fitted.changed(change, size, half=False)
    column, found = own.column(model, change), own.found
    (added,) = _additional([column], found)
    if added.squares == 0.0:
        return None
    A = np.concatenate([found.columns @ found.minimum.motions, column[..., None]], axis=2)
    border = np.einsum("kip,ki,ki->p", A, found.weights, column)
    information = np.block([[found.minimum.hessian, border[:-1, None]], [border[None]]])
    residuals = found.residuals - A @ np.append(added.changes, added.size)
    larger = WeightedFit(
        np.append(added.changes, added.size), residuals, found.deviations, np.sqrt(found.weights), information
    )
    segments = own.equations.segments
    errors = error_model(A, larger, segments)
    prior = Prior(np.zeros(A.shape[2]), np.append(found.minimum.curvature**-0.5, np.inf))
    error = float(np.sqrt(coloured_covariance(A, larger, prior, segments, errors)[-1, -1]))
    freedom = float(degrees_of_freedom(A, larger, segments, errors)[-1])
    return Aligned(size, student_quantile(freedom) * error, better) if abs(size) > SURE * error else None
