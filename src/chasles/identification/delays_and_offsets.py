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
from chasles.identification.estimation import Estimate, estimate
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
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]
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
class FitAndHeldOut:
    """Estimate with the equations that it came from and those of the unseen part."""

    robot: Robot
    log: Log
    found: Estimate
    train: TorqueEquations
    unseen: TorqueEquations

    def changed(self, change: Change, size: float) -> FitAndHeldOut:
        """Estimate from changed signals, with the same friction terms."""
        train, unseen = (self._equations(own, change, size) for own in (self.train, self.unseen))
        found = estimate(self.robot, train, self.log.measured, self.found.unknowns.terms)
        return replace(self, found=found, train=train, unseen=unseen)

    def column(self, change: Change) -> FloatArray:
        """Derivative of the fitted torques by a change of the signals, shape (k, n, 1)."""
        step = STEP * (self.train.signals.period if change is delayed else 1.0)
        ahead, behind = (
            self.found.columns(self._equations(self.train, change, h)) @ self.found.values for h in (step, -step)
        )
        return np.asarray((ahead - behind) / (2.0 * step))[..., None]

    def all_columns(self) -> FloatArray:
        """Columns of the unknowns and of log v0, shape (k, n, p + n)."""
        own, load = self.found, self.train.load(self.found.inertial)
        slopes = self.train.friction_slopes(own.unknowns, own.values, own.v0, load)
        return np.concatenate([own.columns(self.train), slopes], axis=2)

    def unseen_errors(self) -> FloatArray:
        """Root of the squared unseen errors of each joint while it moves, shape (n,)."""
        errors = self.unseen.effort - self.found.columns(self.unseen) @ self.found.values
        return np.asarray(np.linalg.norm(np.where(self.unseen.moving, errors, 0.0), axis=0))

    def _equations(self, own: TorqueEquations, change: Change, size: float) -> TorqueEquations:
        end = float(own.signals.time[-1] - 3600.0 * own.hours[-1])
        return TorqueEquations(self.robot, self.found.unknowns, change(own.signals, size), self.log.coupling, end)


def misalignments(parts: FitAndHeldOut) -> Iterator[Finding]:
    """Delay of the efforts and the clearest zero offset of a joint, as far as the log shows them."""
    delay = _confirmed(parts, delayed)
    if delay is not None:
        yield from LAG.told(delay.better, delay=delay.size, half=delay.half, declared=parts.log.delay + delay.size)
    columns = parts.all_columns()
    scores = [
        (_additional(parts.column(turned(joint)), columns, parts.found).score, joint)
        for joint, unit in enumerate(parts.robot.description.coordinate_units)
        if unit == "rad"
    ]
    tried = [(_confirmed(parts, turned(joint)), joint) for _, joint in sorted(scores, reverse=True)[:TRIED_JOINTS]]
    offsets = [(own, joint) for own, joint in tried if own is not None and LEAST_OFFSET < abs(own.size) < MOST_OFFSET]
    if offsets:
        offset, joint = max(offsets, key=lambda pair: pair[0].better)
        degrees, half = float(np.degrees(offset.size)), float(np.degrees(offset.half))
        yield from ZERO.told(offset.better, joint=parts.robot.velocity_names[joint], degrees=degrees, half=half)


def turned(joint: int) -> Change:
    """Addition to the positions of one joint."""

    def change(signals: Signals, offset: float) -> Signals:
        q = signals.q.copy()
        q[:, joint] += offset
        return replace(signals, q=q)

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


def _information(columns: FloatArray, found: Estimate) -> FloatArray:
    """Matrix of the normal equations of columns of the unknowns and of log v0, prior included, (p + n, p + n)."""
    rows = (columns * found.fit.weights[..., None]).reshape(-1, columns.shape[2])
    prior = np.concatenate([found.sizes**-2.0, np.ones(columns.shape[2] - len(found.sizes))])
    return np.asarray(rows.T @ rows + np.diag(prior))


def _additional(column: FloatArray, columns: FloatArray, found: Estimate) -> Additional:
    """Solve for one more column: the fit satisfies its normal equations, so a block is eliminated."""
    weights = found.fit.weights
    rows = (column * weights[..., None]).ravel()
    others = (columns * weights[..., None]).reshape(len(rows), -1)
    information = _information(columns, found)
    sizes = np.sqrt(np.diag(information))
    taken = np.linalg.solve(information / np.outer(sizes, sizes), others.T @ rows / sizes) / sizes
    squares = float(rows @ rows - (others.T @ rows) @ taken)
    if squares < SEPARATE * float(rows @ rows) or squares <= 0.0:
        return Additional(np.zeros_like(taken), 0.0, 0.0)
    size = float(rows @ (found.fit.residuals * weights).ravel()) / squares
    return Additional(-size * taken, size, squares)


def _confirmed(parts: FitAndHeldOut, change: Change) -> Aligned | None:
    """Size of a change, if the fitted part of the log asks for it and the unseen part confirms it."""
    size, own = 0.0, parts
    told = parts.log.measured & (parts.unseen_errors() > 0.0)

    def better() -> float:
        ratios = own.unseen_errors()[told] / parts.unseen_errors()[told]
        return 1.0 - float(np.exp(np.mean(np.log(ratios + 1e-300))))

    for refit in range(REFITS):
        added = _additional(own.column(change), own.all_columns(), own.found)
        if refit == 0 and added.score < SURE**2:
            return None
        size += added.size
        own = parts.changed(change, size)
        if not better() > (LAG.limit if refit == REFITS - 1 else 0.0):
            return None
    fit, column = own.found.fit, own.column(change)
    columns = own.all_columns()
    added = _additional(column, columns, own.found)
    if added.squares == 0.0:
        return None
    A = np.concatenate([columns, column], axis=2)
    border = np.einsum("kip,ki,ki->p", A, fit.weights**2, column[..., 0])
    information = np.block([[_information(columns, own.found), border[:-1, None]], [border[None]]])
    residuals = fit.residuals - A @ np.append(added.changes, added.size)
    larger = WeightedFit(
        np.append(fit.values + added.changes, added.size), residuals, fit.deviations, fit.weights, information
    )
    errors = error_model(A, larger, own.train.segments)
    free = Prior(np.zeros(A.shape[2]), np.full(A.shape[2], np.inf))
    error = float(np.sqrt(coloured_covariance(A, larger, free, own.train.segments, errors)[-1, -1]))
    freedom = float(degrees_of_freedom(A, larger, own.train.segments, errors)[-1])
    return Aligned(size, student_quantile(freedom) * error, better()) if abs(size) > SURE * error else None
