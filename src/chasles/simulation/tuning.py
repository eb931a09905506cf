"""Gains found by exact gradients: the least average loss over drawn plants, with a disk margin and torques kept.

All values are searched on a logarithmic scale: by normalised steps (D. P. Kingma and J. Ba, "Adam: a method for
stochastic optimization", ICLR 2015), then by sequential quadratic programming (D. Kraft, "A software package for
sequential quadratic programming", DFVLR-FB 88-28, 1988), which alone searches where a margin is kept. The gradients are
those of whole simulations (`chasles.simulation.loss_gradients`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from chasles.base.progress import is_watched, progress_bar
from chasles.control import Controller
from chasles.control.gain_box import GainBox
from chasles.engine.validators import real, whole_number
from chasles.integrators import Integrator, Steps, Within
from chasles.robot.robot import Robot
from chasles.simulation.gain_search import GainSearch, TuningProblem, split_draws
from chasles.simulation.initial_state import State
from chasles.simulation.integrators import AUTOMATIC
from chasles.simulation.loss_gradients import Loss
from chasles.simulation.plant.plant import Plant, as_plant
from chasles.simulation.preparation import Setup
from chasles.simulation.tuned_gains import Tuned
from chasles.trajectories import JointTrajectory


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
    exponent: float = 1.0,
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
    """Find the gains of a law with the least average loss over drawn plants, by exact gradients of simulations.

    Parameters
    ----------
    plant, motion, duration, period, start, integrator
        See `chasles.simulate`, and `chasles.loss_gradient` for steps. Sensors do not round what they read.
    law
        Law whose gains are the first start. Gains that lose more of the training runs, whose loss is then beyond ten
        times the largest at the start, are never preferred to these.
    loss, final
        See `chasles.loss_gradient`; the default loss is the squared tracking error.
    by
        Names of the law's parameters to find; default all whose values are positive and finite. Each joint has its own.
        Gains of regulators and LQG follow from weights: there they are ``"Q"`` and ``"R"``, the diagonals of weights
        whose correlations stay, and the noises ``"torque_error"`` and ``"lasting_error"``.
    over
        Drawn values of plant parameters by name, each with a leading axis of draws. The first 64, or three quarters if
        they are fewer than 86, train; the others judge. Default: the plant as it is.
    bounds
        Lowest and highest value of parameters by name, both positive. Default: a hundredth and a hundred times the
        start. A parameter that starts outside, as one that is 0, starts at the nearer bound.
    exponent
        Exponent of the power mean of the draws' losses, from 0 to 1. The worst draws decide the mean, 1. The geometric
        mean, 0, counts each draw by the factor of its change, as a comparison of medians does; 1/2 is the mean RMS
        error, squared, of squared errors. Losses must be positive unless it is 1.
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
        has no such margin at the start; a loss is not positive with an exponent below 1.

    Examples
    --------
    >>> import numpy as np
    >>> import chasles as ch
    >>> arm = ch.load("planar2r")
    >>> motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    >>> law = ch.PDGravity(arm, kp=100.0, kd=20.0)
    >>> masses = np.linspace(0.0, 2.0, 20)
    >>> bounds = {"kp": (10, 400), "kd": (1, 40)}
    >>> tuned = ch.tune(arm, law, motion, over={"payload.mass": masses}, bounds=bounds, period=0.005)
    >>> tuned.after < 0.5 * tuned.before, tuned.held_out.after < 0.5 * tuned.held_out.before
    (True, True)
    """
    training, held_out = split_draws(over or {})
    power = real(exponent, "exponent", at_least=0.0, at_most=1.0)
    setup = Setup(as_plant(plant), law, motion, duration, period, start, integrator)
    problem = TuningProblem(setup, loss or _squared_error, final, torque, training, held_out, power)
    box = GainBox.of(law, by, bounds or {})
    search = GainSearch(problem, box)
    least = None if margin is None else real(margin, "margin", above=0.0)
    count = whole_number(starts, "starts", 1, 1000)
    budget = whole_number(iterations, "iterations", 1, 100_000)
    show = is_watched() if progress is None else progress
    with progress_bar(f"tuning {type(law).__name__}", count + 1, show=show) as advance:
        ends = []
        for x in box.starting_points(count, seed):
            ends.append(search.descend(x, max(1, budget // (2 * count)), least, rounds=1))
            advance(1)
        ranks = [search.rank(x) for x in ends]
        x = search.descend(ends[ranks.index(min(ranks))], budget, least)
        advance(1)
    return search.result(x, least, tuple(rank.loss for rank in ranks))


def _squared_error(now: Any) -> Any:
    return now.error @ now.error
