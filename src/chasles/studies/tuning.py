"""Each controller at its best: a search for the gains that do best on training draws, with one budget for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ChaslesError
from chasles.studies.controllers import knobs
from chasles.studies.definition import Definition
from chasles.studies.experiment import RunBatch, controller_of, perform
from chasles.studies.settings import KNOBS, UNBOUNDED, Tuning

Floats = NDArray[np.float64]

#: Name of the table of candidates among the arrays of a part.
CANDIDATES = "candidates"
#: Columns of a table of candidates behind the settings: mean error in which a lost run counts as `lost_beyond`, median
#: error (infinite where half of the runs are lost), share of lost runs, medians of effort and of torque rate.
SCORES = ("cost", "error", "lost", "effort", "torque_rate")
COLUMNS = (*KNOBS, *SCORES)


class Front(NamedTuple):
    """Candidates that no other candidate beats in both of two scores, from the smallest of the first on.

    Attributes
    ----------
    x, error
        Second score (effort, torque rate, share of lost runs) and median RMS joint error of each, shape (k,).
    settings
        Settings of each.
    """

    x: Floats
    error: Floats
    settings: tuple[dict[str, float], ...]


def tune(study: Definition, part: RunBatch) -> Floats:
    """Search the gains of a controller for one robot, rate and delay; return all candidates.

    The candidates are the study's own settings, points of a Sobol sequence that fill the ranges (on logarithmic
    scales), and two searches by Nelder and Mead from the best of them: for the least mean error, and for the least
    product of mean error and torque rate.

    Parameters
    ----------
    study
        A study with `Tuning`.
    part
        Controller, robot, rate and delay; its runs do not matter.

    Returns
    -------
    array
        Candidates in the order in which they were tried, shape (evaluations, columns) with the `COLUMNS`; NaN for
        settings that the controller does not have, and in rows that were not needed.
    """
    tuning, choice = study.tuning, study.controllers[part.controller]
    assert tuning is not None
    names = knobs(choice.kind, study.settings_of(choice))
    table = np.full((tuning.evaluations, len(COLUMNS)), np.nan)
    score = _scores(study, part, tuning)
    if not names:
        table[0, len(KNOBS) :] = score({})
        return table
    ranges = np.log(np.array([ranges_of(tuning, part.rate)[name] for name in names]))
    columns = [KNOBS.index(name) for name in names]
    tried = 0

    def evaluate(u: Floats, settings: Mapping[str, float] | None = None) -> Floats:
        nonlocal tried
        values = np.exp(ranges[:, 0] + np.clip(u, 0.0, 1.0) * (ranges[:, 1] - ranges[:, 0]))
        scores = score(dict(zip(names, values.tolist(), strict=True)) if settings is None else settings)
        if settings is None:
            table[tried, columns] = values
        table[tried, len(KNOBS) :] = scores
        tried += 1
        return scores

    evaluate(np.zeros(len(names)), {})  # the study's own design; its settings are not in the table
    from scipy.stats import qmc  # takes as long to load as all of Chasles

    spread = max(1, tuning.evaluations // 2 - 1)
    points = qmc.Sobol(len(names), seed=tuning.seed).random(1 << (spread - 1).bit_length())[:spread]
    scores = np.array([evaluate(u) for u in points])
    _descend(points, scores[:, 0], lambda u: float(evaluate(u)[0]), (tuning.evaluations - tried) // 2)
    compromise = scores[:, 0] * scores[:, 4]
    _descend(points, compromise, lambda u: float(np.prod(evaluate(u)[[0, 4]])), tuning.evaluations - tried)
    return table


def best(candidates: Floats) -> dict[str, float]:
    """Settings of the candidate with the least cost; empty for the study's own settings."""
    row = candidates[int(np.nanargmin(candidates[:, len(KNOBS)]))]
    chosen = {name: float(value) for name, value in zip(KNOBS, row, strict=False) if np.isfinite(value)}
    return chosen | {"damping_times_period": UNBOUNDED} if chosen else {}


def front(candidates: Floats, against: str) -> Front:
    """Return the Pareto front of the median error against another of the `SCORES`."""
    x, error = candidates[:, COLUMNS.index(against)], candidates[:, COLUMNS.index("error")]
    order = np.lexsort((error, x))
    nondominated: list[int] = []
    for k in order:
        if np.isfinite(error[k]) and np.isfinite(x[k]) and (not nondominated or error[k] < error[nondominated[-1]]):
            nondominated.append(int(k))
    return Front(x[nondominated], error[nondominated], tuple(best(candidates[k : k + 1]) for k in nondominated))


def ranges_of(tuning: Tuning, rate: float) -> dict[str, tuple[float, float]]:
    """Ranges of the settings at a sample rate, Hz: frequencies end at the Nyquist frequency."""
    low, high = tuning.frequency
    return {name: getattr(tuning, name) for name in KNOBS} | {"frequency": (low, max(min(high, np.pi * rate), low))}


def _scores(study: Definition, part: RunBatch, tuning: Tuning) -> Callable[[Mapping[str, float]], Floats]:
    """Return the function that scores settings on the training draws."""
    training = study.replace(
        tuning=None,
        factors=study.factors_at(part.rate, part.delay),
        design=tuning.design,
    )
    all_draws = RunBatch(part.robot, part.controller, part.rate, part.delay, 0, tuning.draws)
    worst = study.execution.lost_beyond
    lost = np.array([worst, np.inf, 1.0, np.inf, np.inf])

    def score(settings: Mapping[str, float]) -> Floats:
        freed = {**settings, "damping_times_period": UNBOUNDED} if settings else {}
        try:
            measures = perform(training, all_draws, controller_of(training, all_draws, freed))
        except (ChaslesError, np.linalg.LinAlgError):  # gains for which there is no such controller
            return lost
        error = measures["rms_error"]
        middle = (np.quantile(measures[name], 0.5, method="higher") for name in ("rms_error", "effort", "torque_rate"))
        median, effort, torque_rate = middle
        return np.array([np.minimum(error, worst).mean(), median, np.isinf(error).mean(), effort, torque_rate])

    return score


def _descend(points: Floats, values: Floats, objective: Callable[[Floats], float], budget: int) -> None:
    """Search by Nelder and Mead from the best of some points, within the unit cube and the budget."""
    if budget < points.shape[1] + 2 or not np.isfinite(values).any():
        return
    from scipy.optimize import minimize

    start = points[int(np.nanargmin(values))]
    simplex = np.vstack([start, start + np.where(start > 0.5, -0.15, 0.15) * np.eye(len(start))])
    options = {"maxfev": budget, "initial_simplex": simplex, "xatol": 1e-3, "fatol": 1e-9}
    minimize(objective, start, method="Nelder-Mead", bounds=[(0.0, 1.0)] * len(start), options=options)
