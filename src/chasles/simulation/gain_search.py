"""Search for the gains with the least average loss over drawn plants, with a disk margin kept.

Runs that are lost count as a bounded loss, and the slope of each run is bounded: next to an unstable loop, slopes of
whole simulations grow without bound and say nothing about the loss a little further. Without a margin, normalised
steps leave such places, and sequential quadratic programming ends at a minimum. A margin is linearised about the best
gains so far, and steps are shortened until it is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.control import Controller
from chasles.control.gain_box import GainBox
from chasles.control.linear_quadratic import RegulatorError
from chasles.engine import maximum
from chasles.engine.validators import real
from chasles.simulation.loss_gradients import Loss, LossGradient, RunLoss
from chasles.simulation.plant.plant import as_plant
from chasles.simulation.plant_margin import least_disk_margin
from chasles.simulation.preparation import Setup
from chasles.simulation.tuned_gains import HeldOut, Tuned

Floats = NDArray[np.float64]
_PREFIX = "controller."
#: A run's loss beyond so many times the largest at the start counts less and less, and at most twice that.
LOST = 10.0
#: Largest share of a run in the slope of the average, in average losses: its loss changes by a factor e within a tenth
#: of the same change of a gain. Steeper slopes hold over no distance.
STEEPEST = 10.0
#: First step of the logarithms of gains, a quarter: 40 steps of half that on average cross the widest bounds.
STEP = 0.25
#: Means of slopes and of their squares forget within 5 and 20 steps, a few times in the default 40. The path returns
#: to its best point where the average loss is a fifth above it, with half the step.
_FORGET_SLOPE, _FORGET_SQUARE, _RETURN = 0.8, 0.95, 0.2
#: Draws on which gains are searched at most; the others judge them.
MOST_TRAINING = 64
#: Largest change of the logarithm of a gain in a round that keeps a margin, and change of the logarithm by which the
#: slopes of the margin are measured.
ROUND, CHANGE = 0.7, 1e-3
_ROUNDS, _HALVINGS = 3, 8
#: Places along the motion at which the slopes of the margin are measured, and at which it must be kept.
_SLOPES_AT, _KEPT_AT = 3, 9
#: Weight of the mean square excess of torques over their share, relative to the loss at the start.
EXCESS = 1e3


class Rank(NamedTuple):
    """How good gains are: fewer lost runs come first, then a smaller average loss.

    Attributes
    ----------
    lost
        Number of runs whose loss is beyond `LOST` times the largest at the start.
    loss
        Average loss.
    """

    lost: int
    loss: float


WORST = Rank(sys.maxsize, np.inf)


@dataclass(frozen=True, eq=False)
class TuningProblem:
    """Loss and margin that gains are searched for.

    Attributes
    ----------
    setup
        Plant and motion, and how they are simulated.
    loss, final
        Loss of a sample, and of the last one.
    torque
        Share of the effort limits that torques should not exceed; None for all torques.
    draws
        Drawn values of plant parameters that train, by name, each with a leading axis.
    held_out
        Draws that judge; None without such draws.
    exponent
        Exponent of the power mean of the draws' losses: 1 for the mean, 0 for the geometric mean.
    """

    setup: Setup
    loss: Loss
    final: Loss | None
    torque: float | None
    draws: Mapping[str, Floats]
    held_out: Mapping[str, Floats] | None
    exponent: float = 1.0

    def run_loss(self, box: GainBox, draws: Mapping[str, Floats], weight: float = 0.0) -> RunLoss:
        """Loss of the runs of some draws, with torques beyond their share punished by a weight."""
        loss, robot = self.loss, as_plant(self.setup.plant).robot
        limits = robot.effort_limits
        bounded = [k for k in range(robot.n) if 0.0 < limits[k] < np.inf]
        share = 1.0 if self.torque is None else real(self.torque, "torque", above=0.0)

        def punished(now: Any) -> Any:
            excess = [maximum(abs(now.tau[k]) / limits[k] - share, 0.0) for k in bounded]
            return loss(now) + weight * sum(x * x for x in excess)

        by = [f"{_PREFIX}{name}" for name in box.names]
        return RunLoss.of(self.setup, punished if weight else loss, by, final=self.final, vary=draws)

    def margin(self, law: Controller, places: int = _KEPT_AT) -> float:
        """Smallest disk margin of a law along the motion."""
        setup = self.setup
        return least_disk_margin(as_plant(setup.plant), law, setup.motion, setup.period, places)


def split_draws(over: Mapping[str, ArrayLike]) -> tuple[dict[str, Floats], dict[str, Floats] | None]:
    """Return the draws that train and those that are held out; None without such draws."""
    draws = {name: np.asarray(values, dtype=float) for name, values in over.items()}
    counts = {name: len(values) if values.ndim else 0 for name, values in draws.items()}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        raise ArgumentError(f"each value of over must have as many draws, at least 1, along its first axis: {counts}")
    count = next(iter(counts.values()), 1)
    training = count if count < 4 else min(MOST_TRAINING, (3 * count) // 4)
    held_out = {name: values[training:] for name, values in draws.items()}
    return {name: values[:training] for name, values in draws.items()}, held_out if count > training else None


@dataclass(eq=False)
class GainSearch:
    """Average loss as a function of the logarithms of the gains, and its minimum.

    Attributes
    ----------
    problem, box
        Loss and margin, and the bounds of the gains.
    evaluations
        Number of simulations of all training draws so far.
    """

    problem: TuningProblem
    box: GainBox
    evaluations: int = field(default=0, init=False)
    _ranks: dict[bytes, Rank] = field(default_factory=dict, init=False)
    _gradients: dict[bytes, Floats] = field(default_factory=dict, init=False)

    @cached_property
    def _training_loss(self) -> RunLoss:
        problem = self.problem
        plain = problem.run_loss(self.box, problem.draws)
        if problem.torque is None:
            return plain
        return problem.run_loss(self.box, problem.draws, EXCESS * self._worst(plain))

    def _worst(self, loss: RunLoss) -> float:
        """Largest size of a finite loss of a run at the start."""
        losses = loss.losses(self._varied(self.box.first))
        finite = losses[np.isfinite(losses)]
        if not finite.size:
            raise ArgumentError("all runs diverge with the gains at the start: begin with lower ones")
        return float(np.abs(finite).max()) or 1.0

    @cached_property
    def _largest(self) -> float:
        """Loss beyond which a run counts less and less."""
        return LOST * self._worst(self._training_loss)

    def _varied(self, x: Floats) -> dict[str, Floats]:
        """Gains by the loop's names."""
        return {f"{_PREFIX}{name}": value for name, value in self.box.gains(x).items()}

    def rank(self, x: Floats) -> Rank:
        """Number of lost runs and average loss over the training draws.

        A lost run counts as at most twice the largest loss.
        """
        key = x.tobytes()
        if key not in self._ranks:
            self.evaluations += 1
            try:
                with np.errstate(all="ignore"):
                    self._ranks[key] = self._ranked(self._training_loss.losses(self._varied(x)))
            except RegulatorError:
                self._ranks[key] = self._without_gains
        return self._ranks[key]

    def cost(self, x: Floats) -> tuple[Rank, Floats]:
        """`rank`, and the gradient of the average loss, to which a run adds at most `STEEPEST` average losses."""
        key = x.tobytes()
        if key not in self._gradients:
            self.evaluations += 1
            try:
                with np.errstate(all="ignore"):
                    runs = self._training_loss.evaluate(self._varied(x))
                    self._gradients[key] = self._mean_gradient(x, runs)
                rank = self._ranked(runs.loss)
            except RegulatorError:
                rank, self._gradients[key] = self._without_gains, np.zeros_like(x)
            self._ranks.setdefault(key, rank)
        return self._ranks[key], self._gradients[key]

    def _ranked(self, losses: Floats) -> Rank:
        lost = int((~(losses <= self._largest)).sum())
        return Rank(lost, power_mean(_bounded(losses, self._largest)[0], self.problem.exponent))

    @property
    def _without_gains(self) -> Rank:
        """Rank of weights that no gains follow from: all runs are lost."""
        return Rank(int(np.prod(self._training_loss.ready.state.shape[:-1], dtype=int)), 2.0 * self._largest)

    def _mean_gradient(self, x: Floats, runs: LossGradient) -> Floats:
        counted, slope = _bounded(runs.loss, self._largest)
        gradient = self.box.layout.join({name: runs.gradient[f"{_PREFIX}{name}"] for name in self.box.names})
        terms = np.where(np.isfinite(gradient), slope[..., None] * gradient, 0.0) * np.exp(x)
        exponent = self.problem.exponent
        if exponent != 1.0:
            terms = terms * ((power_mean(counted, exponent) / counted) ** (1.0 - exponent))[..., None]
        steepest = np.abs(terms).max(axis=-1, keepdims=True) / (STEEPEST * np.abs(counted).mean() or 1.0)
        terms = terms / np.maximum(steepest, 1.0)
        return np.asarray(terms.reshape(-1, x.size).mean(axis=0))

    def descend(self, x: Floats, iterations: int, margin: float | None, rounds: int = _ROUNDS) -> Floats:
        """Return gains that are at least as good, with the margin kept."""
        if margin is None:
            return self._minimum(self._explored(x, iterations), self.box.limits, -(-iterations // 8))
        x = self._with_margin(x, margin)
        for _ in range(rounds):
            at = self.problem.margin(self.box.law_at(x), _SLOPES_AT)
            moved = [self.problem.margin(self.box.law_at(x + d), _SLOPES_AT) for d in CHANGE * np.eye(x.size)]
            slopes = (np.array(moved) - at) / CHANGE
            near = self.box.around(x, ROUND)
            wanted = self._minimum(x, near, -(-iterations // rounds), (slopes, float(margin - at + slopes @ x)))
            following = self._back_to_margin(x, wanted, margin)
            before, after = self.rank(x), self.rank(following)
            if after >= before:
                break
            x = following
            if after.lost == before.lost and after.loss > before.loss - 0.01 * abs(before.loss):
                break
        return x

    def _explored(self, x: Floats, iterations: int) -> Floats:
        """Best point of a path of normalised steps whose length falls to 0 (Kingma and Ba 2015, "Adam")."""
        best, lowest, share = x, WORST, 1.0
        slope, square = np.zeros_like(x), np.zeros_like(x)
        for k in range(iterations):
            rank, gradient = self.cost(x)
            if rank < lowest:
                best, lowest, share = x, rank, min(1.0, 1.2 * share)
            elif rank.lost > lowest.lost or rank.loss > lowest.loss + _RETURN * abs(lowest.loss):
                x, share = best, 0.5 * share
            slope = _FORGET_SLOPE * slope + (1.0 - _FORGET_SLOPE) * gradient
            square = _FORGET_SQUARE * square + (1.0 - _FORGET_SQUARE) * gradient**2
            mean, size = slope / (1.0 - _FORGET_SLOPE ** (k + 1)), np.sqrt(square / (1.0 - _FORGET_SQUARE ** (k + 1)))
            length = 0.5 * share * STEP * (1.0 + np.cos(np.pi * k / iterations))
            x = np.clip(x - length * mean / np.where(size > 0.0, size, 1.0), *self.box.limits.T)
        return best

    def _with_margin(self, x: Floats, margin: float) -> Floats:
        """A start that has the margin: towards the law's own gains."""
        at = self.problem.margin(self.box.law_at(self.box.first))
        if at < margin:
            raise ArgumentError(
                f"the law has a disk margin of {at:.3g} at the start, less than the {margin:g} asked for: begin with "
                "lower gains, such as those of its class's tuned(...)"
            )
        return self._back_to_margin(self.box.first, x, margin)

    def _back_to_margin(self, kept: Floats, x: Floats, margin: float) -> Floats:
        """Return the first of the points half as far away, from x on, that has the margin, as the kept one has."""
        for _ in range(_HALVINGS):
            if self.problem.margin(self.box.law_at(x)) >= margin:
                return x
            x = 0.5 * (x + kept)
        return kept

    def _minimum(self, x: Floats, limits: Floats, iterations: int, row: tuple[Floats, float] | None = None) -> Floats:
        """Minimum within a box, and with row[0] @ x >= row[1]; the best point that was met."""
        from scipy.optimize import minimize  # takes as long to load as all of Chasles

        scale = abs(self.rank(x).loss) or 1.0
        best: tuple[Rank, Floats] = WORST, x

        def inside(at: Floats) -> Floats:
            return np.clip(at, limits[:, 0], limits[:, 1])

        def value(at: Floats) -> float:
            nonlocal best
            rank = self.rank(inside(at))
            if rank < best[0] and (row is None or row[0] @ inside(at) >= row[1] - 1e-9):
                best = rank, inside(at)
            return rank.loss / scale

        def slope(at: Floats) -> Floats:
            return self.cost(inside(at))[1] / scale

        rows = (
            [] if row is None else [{"type": "ineq", "fun": lambda at: row[0] @ at - row[1], "jac": lambda at: row[0]}]
        )
        options = {"maxiter": iterations, "ftol": 1e-5}
        minimize(value, x, jac=slope, method="SLSQP", bounds=limits, constraints=rows, options=options)
        return best[1]

    def result(self, x: Floats, margin: float | None, starts: tuple[float, ...]) -> Tuned:
        """Judge gains on the draws that were held out."""
        law = self.box.law_at(x)
        attained = None if margin is None else self.problem.margin(law)
        active = self.box.at_bounds(x)
        if attained is not None and margin is not None and attained < 1.02 * margin:
            active.append("margin")
        evaluations = self.evaluations
        before, after = self.rank(self.box.first).loss, self.rank(x).loss
        held_out = None if self.problem.held_out is None else self._judged(x, self.problem.held_out)
        return Tuned(law, self.box.gains(x), before, after, held_out, attained, tuple(active), evaluations, starts)

    def _judged(self, x: Floats, draws: Mapping[str, Floats]) -> HeldOut:
        loss = self.problem.run_loss(self.box, draws)
        with np.errstate(all="ignore"):
            raw = [loss.losses(self._varied(at)) for at in (self.box.first, x)]
        before, after = (_bounded(values, self._largest)[0] for values in raw)
        change = after - before
        half = 1.96 * float(change.std(ddof=1)) / np.sqrt(change.size) if change.size > 1 else np.inf
        lost = int((~np.isfinite(raw[1])).sum())
        averages = [power_mean(values, self.problem.exponent) for values in (before, after)]
        return HeldOut(averages[0], averages[1], (float(change.mean()), half), lost, change.size)


def power_mean(losses: Floats, exponent: float) -> float:
    """Power mean of losses, which must be positive unless the exponent is 1."""
    if exponent == 1.0:
        return float(np.mean(losses))
    if np.any(losses <= 0.0):
        raise ArgumentError(
            f"exponent={exponent:g} takes positive losses, but the loss of a run is {np.min(losses):.3g}; use 1"
        )
    if exponent == 0.0:
        return float(np.exp(np.log(losses).mean()))
    return float(np.mean(losses**exponent) ** (1.0 / exponent))


def _bounded(loss: Floats, largest: float) -> tuple[Floats, Floats]:
    """Losses that beyond the largest approach twice that, and their slopes: l, then L (2 - L/l)."""
    finite = np.where(np.isfinite(loss), loss, np.inf)
    beyond = finite > largest
    share = np.where(beyond, largest / finite, 1.0)
    return np.where(beyond, largest * (2.0 - share), loss), share**2
