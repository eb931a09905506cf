"""Gains found by exact gradients: the least mean loss over drawn plants, with a disk margin and torques kept.

All values are searched on a logarithmic scale by sequential quadratic programming (D. Kraft, "A software package for
sequential quadratic programming", DFVLR-FB 88-28, 1988), whose gradients are those of whole simulations
(`chasles.simulation.loss_gradients`). Runs that are lost count as a bounded loss. A margin is linearised about the best
gains so far, and steps are shortened until it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.base.progress import is_watched, progress_bar
from chasles.control import Controller
from chasles.control.linear_law import Velocity
from chasles.control.loop_margins import loop_margins
from chasles.engine import Layout, maximum
from chasles.engine.validators import real, whole_number
from chasles.integrators import Integrator, Steps, Within
from chasles.robot.robot import Robot
from chasles.simulation.initial_state import State
from chasles.simulation.integrators import AUTOMATIC
from chasles.simulation.loss_gradients import Loss, RunLoss
from chasles.simulation.plant.plant import Plant, as_plant
from chasles.simulation.preparation import Setup
from chasles.trajectories import JointTrajectory

Floats = NDArray[np.float64]
_PREFIX = "controller."
#: Without bounds of its own a gain stays within this factor of its start, either way.
WIDEST = 100.0
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


class HeldOut(NamedTuple):
    """Loss of draws that the search has not seen.

    Attributes
    ----------
    before, after
        Mean loss with the gains at the start and with those found.
    change
        Mean of the changes, draw by draw, with half the width of its 95 % interval.
    lost
        Number of runs that diverged with the gains found.
    runs
        Number of runs.
    """

    before: float
    after: float
    change: tuple[float, float]
    lost: int
    runs: int


class Tuned(NamedTuple):
    """Gains that `tune` found, and how good they are.

    Attributes
    ----------
    law
        The law with these gains.
    values
        The gains, by the names of the law's parameters.
    before, after
        Mean loss over the training draws at the start and at the end.
    held_out
        Loss of the draws that were not trained on; None without such draws.
    margin
        Smallest disk margin of the law along the motion; None if none was asked for.
    active
        Gains at a bound, such as ``"kp[1] at its upper bound"``, and ``"margin"`` if that stops the search.
    evaluations
        Number of simulations of all training draws, each with its gradient.
    starts
        Mean loss that was reached from each start.
    """

    law: Controller
    values: Mapping[str, Floats]
    before: float
    after: float
    held_out: HeldOut | None
    margin: float | None
    active: tuple[str, ...]
    evaluations: int
    starts: tuple[float, ...]

    def __str__(self) -> str:
        lines = [
            f"{type(self.law).__name__}: loss {self.before:.4g} -> {self.after:.4g}, {self.evaluations} evaluations"
        ]
        if self.held_out is not None:
            h = self.held_out
            change, half = h.change
            lines.append(f"held out, {h.runs} runs: {h.before:.4g} -> {h.after:.4g}, change {change:.3g} ± {half:.2g}")
            lines += [f"{h.lost} of these runs are lost"] if h.lost else []
        if self.margin is not None:
            lines.append(f"disk margin {self.margin:.3g}")
        return "\n".join([*lines, *self.active])


def tune(
    plant: Robot | Plant,
    law: Controller,
    motion: JointTrajectory,
    loss: Loss | None = None,
    *,
    by: Sequence[str] | None = None,
    over: Mapping[str, ArrayLike] | None = None,
    final: Loss | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    margin: float | None = None,
    torque: float | None = None,
    duration: float | None = None,
    period: float = 1e-3,
    start: ArrayLike | State | None = None,
    integrator: str | Integrator | Steps | Within = AUTOMATIC,
    starts: int = 2,
    iterations: int = 40,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuned:
    """Find the gains of a law with the least mean loss over drawn plants, by exact gradients of whole simulations.

    Parameters
    ----------
    plant, motion, duration, period, start, integrator
        See `chasles.simulate`. Steps must have a fixed length; ``"automatic"`` takes one of the classical Runge–Kutta
        method a period and does not check its error.
    law
        Law whose gains are the first start.
    loss, final
        See `chasles.loss_gradient`; the default loss is the squared tracking error.
    by
        Names of the law's parameters to find; default all whose values are positive. Each joint has its own.
    over
        Drawn values of plant parameters by name, each with a leading axis of draws. The first 64, or three quarters if
        they are fewer than 86, train; the others judge. Default: the plant as it is.
    bounds
        Lowest and highest value of parameters by name, both positive. Default: a hundredth and a hundred times the
        start. A parameter that starts outside, as one that is 0, starts at the nearer bound.
    margin
        Disk margin that the law must keep on the plant's robot along the motion, see `control.loop_margins`. The law
        must have it at the start. Default: none is asked for.
    torque
        Share of the effort limits that torques should not exceed; excess is punished. Default: none.
    starts
        Number of starts: the law's gains, then these times drawn factors up to e.
    iterations
        Largest number of iterations of the search.
    seed
        Seed of the further starts.
    progress
        Whether to show a progress bar; by default on a terminal.

    Raises
    ------
    ArgumentError
        The law has no such gains, a gain is not positive and has no bounds, the draws do not fit together, or the law
        has no such margin at the start.

    Examples
    --------
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = ch.PDGravity(arm, kp=100.0, kd=20.0)
    >>> masses = np.linspace(0.0, 2.0, 20)
    >>> bounds = {"kp": (10, 400), "kd": (1, 40)}
    >>> found = ch.tune(arm, law, motion, over={"payload.mass": masses}, bounds=bounds, period=0.005)
    >>> found.after < 0.5 * found.before, found.held_out.after < 0.5 * found.held_out.before
    (True, True)
    """
    whole = as_plant(plant)
    search = _Search.of(
        _Problem(law, whole, motion, loss or _squared_error, final, torque, start, duration, period, integrator),
        _names(law, by),
        {name: np.asarray(values, dtype=float) for name, values in (over or {}).items()},
        bounds or {},
    )
    keeps = None if margin is None else real(margin, "margin", above=0.0)
    count = whole_number(starts, "starts", 1, 1000)
    budget = whole_number(iterations, "iterations", 1, 100_000)
    show = is_watched() if progress is None else progress
    with progress_bar(f"tuning {type(law).__name__}", count + 1, show=show) as advance:
        reached = []
        for x in search.starting_points(count, seed):
            reached.append(search.descend(x, max(1, budget // (2 * count)), keeps, rounds=1))
            advance(1)
        values = [search.cost(x)[0] for x in reached]
        x = search.descend(reached[int(np.argmin(values))], budget, keeps)
        advance(1)
    return search.result(x, keeps, tuple(values))


def _squared_error(now: Any) -> Any:
    return now.error @ now.error


def _names(law: Controller, by: Sequence[str] | None) -> tuple[str, ...]:
    known = law.parameters
    if isinstance(by, str):
        raise ArgumentError(f"by must be a list of names such as ['kp', 'kd'], not the text {by!r}")
    for name in by or ():
        if name not in known:
            raise UnknownNameError(f"parameter of {type(law).__name__}", name, known)
    names = tuple(name for name, value in known.items() if np.all(np.asarray(value) > 0.0)) if by is None else tuple(by)
    if not names:
        raise ArgumentError(f"{type(law).__name__} has no positive parameters to find; name them in by=, with bounds=")
    return names


@dataclass(frozen=True, eq=False)
class _Problem:
    """What `tune` is given, but for the draws and the gains."""

    law: Controller
    plant: Plant
    motion: JointTrajectory
    loss: Loss
    final: Loss | None
    torque: float | None
    start: ArrayLike | State | None
    duration: float | None
    period: float
    integrator: str | Integrator | Steps | Within

    def run_loss(self, names: Sequence[str], draws: Mapping[str, Floats], weight: float = 0.0) -> RunLoss:
        """Loss of the runs of some draws, with torques beyond their share punished by a weight."""
        setup = Setup(self.plant, self.law, self.motion, self.duration, self.period, self.start, self.integrator)
        loss, limits = self.loss, self.plant.robot.effort_limits
        bounded = [k for k in range(self.plant.n) if 0.0 < limits[k] < np.inf]
        share = 1.0 if self.torque is None else real(self.torque, "torque", above=0.0)

        def punished(now: Any) -> Any:
            excess = [maximum(abs(now.tau[k]) / limits[k] - share, 0.0) for k in bounded]
            return loss(now) + weight * sum(x * x for x in excess)

        by = [f"{_PREFIX}{name}" for name in names]
        return RunLoss.of(setup, punished if weight else loss, by, final=self.final, vary=draws)

    def margin(self, law: Controller, places: int = _KEPT_AT) -> float:
        """Smallest disk margin of the law along the motion."""
        sensors = self.plant.sensors
        velocity: Velocity = "measured" if sensors is None or sensors.velocity == "measured" else "differentiated"
        delay = self.plant.delay / self.period
        robot, period = self.plant.robot, self.period
        found = loop_margins(robot, law, self.motion, period=period, delay=delay, velocity=velocity, places=places)
        return float(found.disk.min())


class _Search:
    """Mean loss as a function of the logarithms of the gains, and its minimum."""

    def __init__(self, problem: _Problem, names: Sequence[str], limits: Floats, first: Floats, layout: Layout) -> None:
        self.problem, self.names, self.limits, self.first, self.layout = problem, names, limits, first, layout
        self.evaluations = 0

    @classmethod
    def of(
        cls,
        problem: _Problem,
        names: Sequence[str],
        draws: Mapping[str, Floats],
        bounds: Mapping[str, tuple[float, float]],
    ) -> _Search:
        """Prepare the search; the first start is the law's own gains, within the bounds."""
        own = {name: np.asarray(problem.law.parameters[name], dtype=float) for name in names}
        layout = Layout.of(own)
        for name in bounds:
            if name not in own:
                raise UnknownNameError("gain with bounds", name, own)
        rows = []
        for name, value in own.items():
            if name not in bounds and np.any(value <= 0.0):
                raise ArgumentError(
                    f"'{name}' is {value.tolist()}; give bounds={{'{name}': (lowest, highest)}}, positive"
                )
            low, high = bounds.get(name, (value / WIDEST, value * WIDEST))
            if np.any(np.asarray(low) <= 0.0) or np.any(np.asarray(high) <= np.asarray(low)):
                raise ArgumentError(
                    f"bounds['{name}'] must be two positive numbers, the lower first, not {low}, {high}"
                )
            rows.append(np.broadcast_arrays(low, high, value)[:2])
        ends = [layout.join(dict(zip(own, end, strict=True))) for end in zip(*rows, strict=True)]
        limits = np.log(np.stack([np.asarray(end, dtype=float) for end in ends], axis=-1))
        flat = np.clip(layout.join(own), np.exp(limits[:, 0]), np.exp(limits[:, 1]))
        search = cls(problem, names, limits, np.log(flat), layout)
        search._split(draws)
        return search

    def _split(self, draws: Mapping[str, Floats]) -> None:
        counts = {name: len(values) if values.ndim else 0 for name, values in draws.items()}
        if len(set(counts.values())) > 1 or 0 in counts.values():
            raise ArgumentError(
                f"each value of over must have as many draws, at least 1, along its first axis: {counts}"
            )
        count = next(iter(counts.values()), 1)
        training = count if count < 4 else min(MOST_TRAINING, (3 * count) // 4)
        self.training = {name: values[:training] for name, values in draws.items()}
        self.judging = {name: values[training:] for name, values in draws.items()} if count > training else None

    @cached_property
    def _training_loss(self) -> RunLoss:
        problem = self.problem
        plain = problem.run_loss(self.names, self.training)
        if problem.torque is None:
            return plain
        return problem.run_loss(self.names, self.training, EXCESS * self._worst(plain))

    def _worst(self, loss: RunLoss) -> float:
        """Largest finite loss of a run at the start."""
        finite = loss.evaluate(self.varied(self.first)).loss
        finite = finite[np.isfinite(finite)]
        if not finite.size:
            raise ArgumentError("all runs diverge with the gains at the start: begin with lower ones")
        return float(np.max(finite)) or 1.0

    @cached_property
    def _largest(self) -> float:
        """Loss beyond which a run counts less and less."""
        return LOST * self._worst(self._training_loss)

    def gains(self, x: Floats) -> dict[str, Floats]:
        """Gains by the law's names."""
        return dict(self.layout.split(np.exp(x)))

    def varied(self, x: Floats) -> dict[str, Floats]:
        """Gains by the loop's names."""
        return {f"{_PREFIX}{name}": value for name, value in self.gains(x).items()}

    def cost(self, x: Floats) -> tuple[float, Floats]:
        """Mean loss over the training draws and its gradient; a lost run counts as at most twice the largest loss."""
        self.evaluations += 1
        with np.errstate(all="ignore"):
            found = self._training_loss.evaluate(self.varied(x))
            counted, slope = _bounded(found.loss, self._largest)
            each = self.layout.join({name: found.gradient[f"{_PREFIX}{name}"] for name in self.names})
            terms = np.where(np.isfinite(each), slope[..., None] * each, 0.0) * np.exp(x)
        return float(np.mean(counted)), np.asarray(terms.reshape(-1, x.size).mean(axis=0))

    def starting_points(self, count: int, seed: int) -> list[Floats]:
        """The first start, and the same times factors drawn for each gain, within the bounds."""
        rng = np.random.default_rng(seed)
        sizes = [int(np.prod(self.layout.leaves[name], dtype=int)) for name in self.names]
        points = [self.first]
        for _ in range(count - 1):
            shift = np.repeat(rng.uniform(-1.0, 1.0, len(sizes)), sizes)
            points.append(np.clip(self.first + shift, self.limits[:, 0], self.limits[:, 1]))
        return points

    def law(self, x: Floats) -> Controller:
        """The law with some gains."""
        return self.problem.law.with_values(self.gains(x))

    def descend(self, x: Floats, iterations: int, margin: float | None, rounds: int = _ROUNDS) -> Floats:
        """Return better gains, with the margin kept."""
        if margin is None:
            return self._minimum(x, self.limits, iterations)
        x = self._with_margin(x, margin)
        for _ in range(rounds):
            at = self.problem.margin(self.law(x), _SLOPES_AT)
            moved = [self.problem.margin(self.law(x + d), _SLOPES_AT) for d in CHANGE * np.eye(x.size)]
            slopes = (np.array(moved) - at) / CHANGE
            box = np.clip(np.stack([x - ROUND, x + ROUND], axis=-1), self.limits[:, :1], self.limits[:, 1:])
            wanted = self._minimum(x, box, -(-iterations // rounds), (slopes, float(margin - at + slopes @ x)))
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
        at = self.problem.margin(self.law(self.first))
        if at < margin:
            raise ArgumentError(
                f"the law has a disk margin of {at:.3g} at the start, less than the {margin:g} asked for: begin with "
                "lower gains, such as those of its class's tuned(...)"
            )
        return self._back_to_margin(self.first, x, margin)

    def _back_to_margin(self, kept: Floats, x: Floats, margin: float) -> Floats:
        """Return the first of the points half as far away, from x on, that has the margin, as the kept one has."""
        for _ in range(_HALVINGS):
            if self.problem.margin(self.law(x)) >= margin:
                return x
            x = 0.5 * (x + kept)
        return kept

    def _minimum(self, x: Floats, box: Floats, iterations: int, row: tuple[Floats, float] | None = None) -> Floats:
        """Minimum within a box, and with row[0] @ x >= row[1]; the best point that was met."""
        from scipy.optimize import minimize  # takes as long to load as all of Chasles

        scale = self.cost(x)[0] or 1.0
        best: list[Any] = [np.inf, x]

        def scaled(at: Floats) -> tuple[float, Floats]:
            inside = np.clip(at, box[:, 0], box[:, 1])
            cost, gradient = self.cost(inside)
            if cost < best[0] and (row is None or row[0] @ inside >= row[1] - 1e-9):
                best[:] = [cost, inside]
            return cost / scale, gradient / scale

        rows = (
            [] if row is None else [{"type": "ineq", "fun": lambda at: row[0] @ at - row[1], "jac": lambda at: row[0]}]
        )
        options = {"maxiter": iterations, "ftol": 1e-5}
        minimize(scaled, x, jac=True, method="SLSQP", bounds=box, constraints=rows, options=options)
        return np.asarray(best[1])

    def result(self, x: Floats, margin: float | None, starts: tuple[float, ...]) -> Tuned:
        """Judge gains on the draws that were held out."""
        law = self.law(x)
        reached = None if margin is None else self.problem.margin(law)
        active = [
            f"{name} at its {side} bound"
            for side, end in (("lower", 0), ("upper", 1))
            for name, at, bound in zip(self.layout.names, x, self.limits[:, end], strict=True)
            if abs(at - bound) < 1e-6
        ]
        if reached is not None and margin is not None and reached < 1.02 * margin:
            active.append("margin")
        evaluations = self.evaluations
        before, after = self.cost(self.first)[0], self.cost(x)[0]
        held_out = None if self.judging is None else self._judged(x, self.judging)
        return Tuned(law, self.gains(x), before, after, held_out, reached, tuple(active), evaluations, starts)

    def _judged(self, x: Floats, draws: Mapping[str, Floats]) -> HeldOut:
        loss = self.problem.run_loss(self.names, draws)
        with np.errstate(all="ignore"):
            raw = [loss.evaluate(self.varied(at)).loss for at in (self.first, x)]
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
