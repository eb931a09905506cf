"""Alignment of a log with its robot: delays of the efforts and small zero offsets of the joints.

Both are linear to first order: an effort τ(t - d) is τ - d τ', and a joint whose zero is off by δ has τ(q + δ) ≈ τ +
(∂τ/∂q) δ. The derivative of the fitted torque is an additional column beside the columns of the fit, as in J.
Hollerbach, W. Khalil & M. Gautier, "Model identification" (Springer Handbook of Robotics, 2nd ed., 2016, ch. 6). Both
are told only where the unseen part of the log confirms them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule
from chasles.identification.equations import TorqueEquations
from chasles.identification.estimation import Estimate, Friction, estimate
from chasles.identification.filtering import Signals, delayed
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

Change = Callable[[Signals, float], Signals]

SURE = 5.0
"""Standard errors by which a delay or offset must differ from zero."""
LEAST_OFFSET, MOST_OFFSET = np.radians(1.0), np.radians(20.0)
"""Offsets that are told, rad: smaller ones do not matter, larger ones are beyond the linear range."""
_BECAUSE = "fits of two parts of a real log differ by 7 % in the mean, by 16 % once in ten joints"
LAG = Rule(
    "effort-delay", 0.1, _BECAUSE,
    "the efforts lag behind the positions by {delay:.3g} ± {half:.2g} s: this delay lowers the unseen errors by "
    "{value:.0%} (Log(..., delay={declared:.3g}), --delay {declared:.3g})", "caution",
)  # fmt: skip
ZERO = Rule(
    "zero-offset", 0.1, _BECAUSE,
    "the zero of '{joint}' seems to be off: its positions with {degrees:+.1f} ± {half:.1f}° lower the unseen errors by "
    "{value:.0%} (zero_positions=, --zero-positions)", "caution",
)  # fmt: skip
SEPARATE = 1e-6
"""Share of a column's squares that the other columns must leave."""
STEP = 1e-3
"""Step of the differences, rad, and in samples of the signals."""
REFITS, TRIED_JOINTS = 3, 2


@dataclass(frozen=True)
class Aligned:
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
        own = change(self.equations.signals, size) if size else self.equations.signals
        equations = TorqueEquations(self.robot, self.equations.inertial, own)
        used = equations.moving & self.log.measured
        if half:
            used = used & self._halves[0][:, None]
        return replace(self, equations=equations, found=estimate(self.robot, equations, used, self.friction))

    def column(self, model: Robot, change: Change) -> FloatArray:
        """Derivative of the torques of a model by a change of the signals, shape (k, n, 1)."""
        signals = self.equations.signals
        step = STEP * (signals.period if change is delayed else 1.0)
        states = (change(signals, h) for h in (step, -step))
        ahead, behind = (own.torque(model) for own in states)
        return signals.filter((ahead - behind) / (2.0 * step))[self.equations.kept][..., None]

    def unseen_errors(self) -> FloatArray:
        """Root of the squared errors of each joint in the second half of the log while it moves, shape (n,)."""
        rows = self.equations.moving & self._halves[1][:, None]
        return np.asarray(np.linalg.norm(np.where(rows, self.found.residuals, 0.0), axis=0))

    @property
    def _halves(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        return self.equations.held_out(1, 2)


def misalignments(fitted: FittedLog, model: Robot) -> Iterator[Finding]:
    """Delay of the efforts and the clearest zero offset of a joint, as far as the log shows them."""
    delay = _confirmed(fitted, model, delayed)
    if delay is not None:
        declared = fitted.log.delay + delay.size
        yield from LAG.told(delay.better, delay=delay.size, half=delay.half, declared=declared)
    scores = [
        (_additional(fitted.column(model, turned(joint)), fitted.found).score, joint)
        for joint, unit in enumerate(fitted.robot.description.displacement_units)
        if unit == "rad"
    ]
    tried = [
        (_confirmed(fitted, model, turned(joint)), joint) for _, joint in sorted(scores, reverse=True)[:TRIED_JOINTS]
    ]
    offsets = [(own, joint) for own, joint in tried if own is not None and LEAST_OFFSET < abs(own.size) < MOST_OFFSET]
    if offsets:
        offset, joint = max(offsets, key=lambda pair: pair[0].better)
        degrees, half = float(np.degrees(offset.size)), float(np.degrees(offset.half))
        yield from ZERO.told(offset.better, joint=fitted.robot.velocity_names[joint], degrees=degrees, half=half)


def turned(joint: int) -> Change:
    """Addition to the positions of one joint."""

    def change(signals: Signals, offset: float) -> Signals:
        q = signals.q.copy()
        q[:, joint] += offset
        return signals.at(q)

    return change


class Additional(NamedTuple):
    """One more column of a fit: changes of the other coefficients, its own one, and the squares it has for itself."""

    changes: FloatArray
    size: float
    squares: float

    @property
    def score(self) -> float:
        """Decrease of the weighted sum of squares."""
        return self.size**2 * self.squares


def _additional(column: FloatArray, found: Estimate) -> Additional:
    """Solve for one more column: the estimate satisfies its normal equations, so a block is eliminated."""
    root = np.sqrt(found.weights)
    rows = (column * root[..., None]).ravel()
    others = (found.columns @ found.minimum.motions * root[..., None]).reshape(len(rows), -1)
    taken = np.asarray(np.linalg.solve(found.minimum.hessian, others.T @ rows), dtype=np.float64)
    squares = float(rows @ rows - (others.T @ rows) @ taken)
    if squares < SEPARATE * float(rows @ rows) or squares <= 0.0:
        return Additional(np.zeros_like(taken), 0.0, 0.0)
    size = float(rows @ (found.residuals * root).ravel()) / squares
    return Additional(-size * taken, size, squares)


def _confirmed(fitted: FittedLog, model: Robot, change: Change) -> Aligned | None:
    """Size of a change, if the log asks for it and a half that was not fitted confirms it."""
    added = _additional(fitted.column(model, change), fitted.found)
    if added.score < SURE**2:
        return None
    first = own = fitted.changed(change, 0.0, half=True)
    told = fitted.log.measured & (first.unseen_errors() > 0.0)
    size, better = 0.0, 0.0
    for refit in range(REFITS):
        size += _additional(own.column(model, change), own.found).size
        own = fitted.changed(change, size, half=True)
        better = 1.0 - float(np.exp(np.mean(np.log(own.unseen_errors()[told] / first.unseen_errors()[told] + 1e-300))))
        if not better > (LAG.limit if refit == REFITS - 1 else 0.0):
            return None
    own = fitted.changed(change, size, half=False)
    column, found = own.column(model, change), own.found
    added = _additional(column, found)
    if added.squares == 0.0:
        return None
    A = np.concatenate([found.columns @ found.minimum.motions, column], axis=2)
    border = np.einsum("kip,ki,ki->p", A, found.weights, column[..., 0])
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
