"""Each controller at its best on training draws: its settings by a search, then its gains by exact gradients.

The search tells which frequency and damping a law can bear. Gradients of whole simulations (`chasles.tune`) then find
the gains of each joint, or the weights and noises that gains follow from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ChaslesError
from chasles.control.controller import Controller
from chasles.control.gain_box import GainBox
from chasles.simulation.gain_search import GainSearch, TuningProblem
from chasles.studies.controllers import knobs
from chasles.studies.definition import Definition
from chasles.studies.experiment import RunBatch, controller_of, perform, setup_of
from chasles.studies.settings import KNOBS, UNBOUNDED, Tuning

Floats = NDArray[np.float64]

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


class Found(NamedTuple):
    """Settings that were tried, and gains that gradients found.

    Attributes
    ----------
    candidates
        Candidates in the order in which they were tried, shape (evaluations, columns) with the `COLUMNS`;
        NaN for settings that the controller does not have, and in rows that were not needed.
    gains
        Gains of all joints, shape (k,), in the order of `gains_by_name`; empty where the best candidate's are kept.
    start
        Row of the candidate from which gradients led to the gains, or of the best one, shape ().
    """

    candidates: Floats
    gains: Floats
    start: Floats

    @classmethod
    def of(cls, arrays: Mapping[str, Floats]) -> Found | None:
        """Return what was found of the arrays of a part, which have the names of the fields; None without a search."""
        return cls(*(arrays[name] for name in cls._fields)) if "candidates" in arrays else None

    @property
    def settings(self) -> dict[str, float]:
        """Settings at the start; empty for the study's own."""
        return settings_of(self.candidates[int(self.start)])


def tune(study: Definition, part: RunBatch) -> Found:
    """Find the gains of a controller for one robot, rate and delay.

    The candidates are the study's own settings, and points of a Sobol sequence that fill the ranges (on logarithmic
    scales). From the best of them, and from the study's own, gradients lead to the gains of each joint with the least
    mean squared error; those with the smallest cost are taken if it is smaller than that of all candidates.

    Parameters
    ----------
    study
        A study with `Tuning`.
    part
        Controller, robot, rate and delay; its runs do not matter.
    """
    tuning, choice = study.tuning, study.controllers[part.controller]
    assert tuning is not None
    training = study.replace(tuning=None, factors=study.factors_at(part.rate, part.delay), design=tuning.design)
    draws = RunBatch(part.robot, part.controller, part.rate, part.delay, 0, tuning.draws)
    names = knobs(choice.kind, study.settings_of(choice))
    candidates = search(training, draws, tuning, names)
    costs = candidates[:, COLUMNS.index("cost")]
    least = int(np.nanargmin(costs))
    found, cost = Found(candidates, np.empty(0), np.array(float(least))), float(costs[least])
    for start in dict.fromkeys((least, 0)) if names and tuning.iterations else ():
        begun = found._replace(start=np.array(float(start)))
        gains, reached = _descend(training, draws, begun.settings, tuning.iterations)
        if reached < cost:
            found, cost = begun._replace(gains=gains), reached
    return found


def tuned_law(study: Definition, part: RunBatch, found: Found) -> Controller:
    """Controller of a part as it was tuned."""
    law = controller_of(study, part, found.settings)
    return law.with_values(gains_by_name(law, found.gains)) if found.gains.size else law


def gains_by_name(law: Controller, gains: Floats) -> dict[str, Floats]:
    """Gains by the names of a law's parameters, as they are found for it together."""
    return dict(GainBox.of(law, None, {}).layout.split(gains))


def search(training: Definition, draws: RunBatch, tuning: Tuning, names: Sequence[str]) -> Floats:
    """Return the candidates and their scores."""
    table = np.full((tuning.evaluations, len(COLUMNS)), np.nan)
    table[0, len(KNOBS) :] = _scores(training, draws, {})  # the study's own design; its settings are not in the table
    if not names:
        return table
    from scipy.stats import qmc  # takes as long to load as all of Chasles

    ranges = np.log(np.array([ranges_of(tuning, draws.rate)[name] for name in names]))
    count = tuning.evaluations - 1
    points = qmc.Sobol(len(names), seed=tuning.seed).random(1 << (count - 1).bit_length())[:count]
    for row, u in zip(table[1:], points, strict=True):
        values = np.exp(ranges[:, 0] + u * (ranges[:, 1] - ranges[:, 0]))
        row[[KNOBS.index(name) for name in names]] = values
        row[len(KNOBS) :] = _scores(training, draws, dict(zip(names, values.tolist(), strict=True)))
    return table


def settings_of(candidate: Floats) -> dict[str, float]:
    """Settings of a candidate; empty for the study's own."""
    chosen = {name: float(value) for name, value in zip(KNOBS, candidate, strict=False) if np.isfinite(value)}
    return chosen | {"damping_times_period": UNBOUNDED} if chosen else {}


def front(candidates: Floats, against: str) -> Front:
    """Return the Pareto front of the median error against another of the `SCORES`."""
    x, error = candidates[:, COLUMNS.index(against)], candidates[:, COLUMNS.index("error")]
    order = np.lexsort((error, x))
    nondominated: list[int] = []
    for k in order:
        if np.isfinite(error[k]) and np.isfinite(x[k]) and (not nondominated or error[k] < error[nondominated[-1]]):
            nondominated.append(int(k))
    return Front(x[nondominated], error[nondominated], tuple(settings_of(candidates[k]) for k in nondominated))


def ranges_of(tuning: Tuning, rate: float) -> dict[str, tuple[float, float]]:
    """Ranges of the settings at a sample rate, Hz: frequencies end at the Nyquist frequency."""
    low, high = tuning.frequency
    return {name: getattr(tuning, name) for name in KNOBS} | {"frequency": (low, max(min(high, np.pi * rate), low))}


def _scores(training: Definition, draws: RunBatch, settings: Mapping[str, float]) -> Floats:
    """Return the `SCORES` of settings on the training draws."""
    freed = {**settings, "damping_times_period": UNBOUNDED} if settings else {}
    try:
        return _judged(training, draws, controller_of(training, draws, freed))
    except (ChaslesError, np.linalg.LinAlgError):  # gains for which there is no such controller
        return np.array([training.execution.lost_beyond, np.inf, 1.0, np.inf, np.inf])


def _judged(training: Definition, draws: RunBatch, law: Controller) -> Floats:
    """Return the `SCORES` of a law on the training draws."""
    measures = perform(training, draws, law)
    error = measures["rms_error"]
    middle = (np.quantile(measures[name], 0.5, method="higher") for name in ("rms_error", "effort", "torque_rate"))
    median, effort, torque_rate = middle
    cost = np.minimum(error, training.execution.lost_beyond).mean()
    return np.array([cost, median, np.isinf(error).mean(), effort, torque_rate])


def _descend(
    training: Definition, draws: RunBatch, settings: Mapping[str, float], iterations: int
) -> tuple[Floats, float]:
    """Return gains to which gradients lead from settings, and their cost: infinite if there are none."""
    try:
        law = controller_of(training, draws, settings)
        box = GainBox.of(law, None, {})
        setup, values = setup_of(training, draws, law)
        search = GainSearch(TuningProblem(setup, _squared_error, None, None, values, None), box)
        gains = box.gains(search.descend(box.first, iterations, None))
        return np.asarray(box.layout.join(gains)), float(_judged(training, draws, law.with_values(gains))[0])
    except (ChaslesError, np.linalg.LinAlgError):  # no gains of its own, or none from which a run ends
        return np.empty(0), np.inf


def _squared_error(now: Any) -> Any:
    return now.error @ now.error
