"""Search for the gains with the least mean loss over drawn plants, with a disk margin kept.

Runs that are lost count as a bounded loss. A margin is linearised about the best gains so far, and steps are shortened
until it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.control import Controller
from chasles.control.gain_box import GainBox
from chasles.control.linear_law import Velocity
from chasles.control.loop_margins import disk_margins
from chasles.engine import maximum
from chasles.engine.validators import real
from chasles.simulation.loss_gradients import Loss, RunLoss
from chasles.simulation.plant.plant import as_plant
from chasles.simulation.preparation import Setup
from chasles.simulation.tuned_gains import HeldOut, Tuned

Floats = NDArray[np.float64]
_PREFIX = "controller."
#: A run's loss beyond so many times the largest at the start counts less and less, and at most twice that.
LOST = 10.0
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
    """

    setup: Setup
    loss: Loss
    final: Loss | None
    torque: float | None
    draws: Mapping[str, Floats]
    held_out: Mapping[str, Floats] | None

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
        plant, motion, period = as_plant(self.setup.plant), self.setup.motion, self.setup.period
        sensors, delay = plant.sensors, plant.delay / period
        velocity: Velocity = "measured" if sensors is None or sensors.velocity == "measured" else "differentiated"
        margins = disk_margins(
            plant.robot,
            law,
            motion,
            period=period,
            delay=delay,
            velocity=velocity,
            places=places,
            elastic_joints=plant.elastic_joints,
            side="motor" if sensors is not None and sensors.side == "motor" else "link",
        )
        return float(margins.min())


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
    """Mean loss as a function of the logarithms of the gains, and its minimum.

    Attributes
    ----------
    problem, box
        Loss and margin, and the bounds of the gains.
    evaluations
        Number of simulations of all training draws so far, each with its gradient.
    """

    problem: TuningProblem
    box: GainBox
    evaluations: int = field(default=0, init=False)

    @cached_property
    def _training_loss(self) -> RunLoss:
        problem = self.problem
        plain = problem.run_loss(self.box, problem.draws)
        if problem.torque is None:
            return plain
        return problem.run_loss(self.box, problem.draws, EXCESS * self._worst(plain))

    def _worst(self, loss: RunLoss) -> float:
        """Largest finite loss of a run at the start."""
        losses = loss.evaluate(self._varied(self.box.first)).loss
        finite = losses[np.isfinite(losses)]
        if not finite.size:
            raise ArgumentError("all runs diverge with the gains at the start: begin with lower ones")
        return float(np.max(finite)) or 1.0

    @cached_property
    def _largest(self) -> float:
        """Loss beyond which a run counts less and less."""
        return LOST * self._worst(self._training_loss)

    def _varied(self, x: Floats) -> dict[str, Floats]:
        """Gains by the loop's names."""
        return {f"{_PREFIX}{name}": value for name, value in self.box.gains(x).items()}

    def cost(self, x: Floats) -> tuple[float, Floats]:
        """Mean loss over the training draws and its gradient; a lost run counts as at most twice the largest loss."""
        self.evaluations += 1
        with np.errstate(all="ignore"):
            runs = self._training_loss.evaluate(self._varied(x))
            counted, slope = _bounded(runs.loss, self._largest)
            gradient = self.box.layout.join({name: runs.gradient[f"{_PREFIX}{name}"] for name in self.box.names})
            terms = np.where(np.isfinite(gradient), slope[..., None] * gradient, 0.0) * np.exp(x)
        return float(np.mean(counted)), np.asarray(terms.reshape(-1, x.size).mean(axis=0))

    def descend(self, x: Floats, iterations: int, margin: float | None, rounds: int = _ROUNDS) -> Floats:
        """Return better gains, with the margin kept."""
        if margin is None:
            return self._minimum(x, self.box.limits, iterations)
        x = self._with_margin(x, margin)
        for _ in range(rounds):
            at = self.problem.margin(self.box.law_at(x), _SLOPES_AT)
            moved = [self.problem.margin(self.box.law_at(x + d), _SLOPES_AT) for d in CHANGE * np.eye(x.size)]
            slopes = (np.array(moved) - at) / CHANGE
            near = self.box.around(x, ROUND)
            wanted = self._minimum(x, near, -(-iterations // rounds), (slopes, float(margin - at + slopes @ x)))
            following = self._back_to_margin(x, wanted, margin)
            before, after = self.cost(x)[0], self.cost(following)[0]
            if after >= before:
                break
            x = following
            if after > 0.99 * before:
                break
        return x

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

        scale = self.cost(x)[0] or 1.0
        best: list[Any] = [np.inf, x]

        def scaled(at: Floats) -> tuple[float, Floats]:
            inside = np.clip(at, limits[:, 0], limits[:, 1])
            cost, gradient = self.cost(inside)
            if cost < best[0] and (row is None or row[0] @ inside >= row[1] - 1e-9):
                best[:] = [cost, inside]
            return cost / scale, gradient / scale

        rows = (
            [] if row is None else [{"type": "ineq", "fun": lambda at: row[0] @ at - row[1], "jac": lambda at: row[0]}]
        )
        options = {"maxiter": iterations, "ftol": 1e-5}
        minimize(scaled, x, jac=True, method="SLSQP", bounds=limits, constraints=rows, options=options)
        return np.asarray(best[1])

    def result(self, x: Floats, margin: float | None, starts: tuple[float, ...]) -> Tuned:
        """Judge gains on the draws that were held out."""
        law = self.box.law_at(x)
        attained = None if margin is None else self.problem.margin(law)
        active = self.box.at_bounds(x)
        if attained is not None and margin is not None and attained < 1.02 * margin:
            active.append("margin")
        evaluations = self.evaluations
        before, after = self.cost(self.box.first)[0], self.cost(x)[0]
        held_out = None if self.problem.held_out is None else self._judged(x, self.problem.held_out)
        return Tuned(law, self.box.gains(x), before, after, held_out, attained, tuple(active), evaluations, starts)

    def _judged(self, x: Floats, draws: Mapping[str, Floats]) -> HeldOut:
        loss = self.problem.run_loss(self.box, draws)
        with np.errstate(all="ignore"):
            raw = [loss.evaluate(self._varied(at)).loss for at in (self.box.first, x)]
        before, after = (_bounded(values, self._largest)[0] for values in raw)
        change = after - before
        half = 1.96 * float(change.std(ddof=1)) / np.sqrt(change.size) if change.size > 1 else np.inf
        lost = int((~np.isfinite(raw[1])).sum())
        return HeldOut(float(before.mean()), float(after.mean()), (float(change.mean()), half), lost, change.size)


def _bounded(loss: Floats, largest: float) -> tuple[Floats, Floats]:
    """Losses that beyond the largest approach twice that, and their slopes: l, then L (2 - L/l)."""
    finite = np.where(np.isfinite(loss), loss, np.inf)
    beyond = finite > largest
    share = np.where(beyond, largest / finite, 1.0)
    return np.where(beyond, largest * (2.0 - share), loss), share**2
