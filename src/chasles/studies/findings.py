"""What a study shows, in words: every sentence follows from an interval or a test that excludes chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from chasles.studies.results import StudyResults, study_findings
from chasles.studies.settings import shown_unknown
from chasles.studies.statistics import ControllerComparison, Interval, proportion
from chasles.studies.summaries import Findings, StudyCase

#: Rank regression coefficients below this are not worth a word.
_NOTABLE = 0.1


@study_findings.register(StudyResults)
def findings(results: StudyResults) -> Findings:
    """Say in words what a study shows."""
    robots = [robot.title for robot in results.study.robots]
    texts = {
        robot: " ".join([*_ranking(results, robot), *_lost(results, robot), *_effects(results, robot)])
        for robot in robots
    }
    return Findings(_overall(results, robots), texts)


def _overall(results: StudyResults, robots: Sequence[str]) -> str:
    names = list(dict.fromkeys(choice.title for choice in results.study.controllers))
    said = [
        f"{_first_upper(_count(len(names), 'controller'))} made the same {_count(len(results.runs), 'run')} "
        f"on {_listed(robots)}, with {_count(results.runs.distinct, 'different combination')} of unknowns."
    ]
    tuning = results.study.tuning
    if tuning is not None:
        said.append(
            f"The gains of each are the best of {_count(tuning.evaluations, 'candidate')} on "
            f"{_count(tuning.draws, 'other draw')}, for each robot, rate and delay."
        )
    said += _best(results, robots)
    lowered = _lowered(results, robots)
    if lowered:
        said.append(lowered)
    return " ".join([*said, _runs_lost(results, robots, names)])


def _best(results: StudyResults, robots: Sequence[str]) -> list[str]:
    """Name the controllers that none is better than, a sentence for all robots on which they are the same."""
    best: dict[tuple[str, ...], list[str]] = {}
    for robot in robots:
        ranked = results.ranks(robot)
        if len(ranked) > 1:
            best.setdefault(tuple(name for name, rank in ranked.items() if rank == 1), []).append(robot)
    said = []
    for first, where in best.items():
        if len(first) == 1:
            said.append(f"No other controller is significantly better than {first[0]} on {_listed(where)}.")
        elif first:
            said.append(f"On {_listed(where)} no controller is significantly better than {_listed(first, 'or')}.")
        else:
            said.append(f"On {_listed(where)} every controller is significantly worse than some other.")
    return said


def _runs_lost(results: StudyResults, robots: Sequence[str], names: Sequence[str]) -> str:
    losses = dict.fromkeys(names, (0, 0))
    for robot in robots:
        for name in results.controllers(robot):
            lost, made = losses[name]
            error = results.of_pair(robot, name)["rms_error"]
            losses[name] = lost + int(np.isinf(error).sum()), made + len(error)
    never = [name for name, (lost, made) in losses.items() if made and not lost]
    if len(never) == len(names):
        return "No run was lost."
    if not never:
        return "Every controller lost some of its runs."
    least = max(proportion(0, losses[name][1]).high for name in never)
    return f"No run of {_listed(never)} was lost, so that at most {_share(least)} would be (95 %)."


def _lowered(results: StudyResults, robots: Sequence[str]) -> str:
    """Name the controllers whose frequency the sample period lowered: their errors are not those of equal poles."""
    low: dict[str, list[float]] = {}
    for robot in robots:
        for name in results.controllers(robot):
            for cell in results.cells(robot, name):
                if cell.poles is not None and cell.poles.is_lowered:
                    low.setdefault(name, []).append(cell.poles.frequency / cell.poles.wanted)
    if not low:
        return ""
    entries = [f"{name} (down to {_share(min(shares))})" for name, shares in low.items()]
    return f"At some sample rates the frequency was lowered for {_listed(entries)}; the tables say where."


def _ranking(results: StudyResults, robot: str) -> list[str]:
    unit = results.unit(robot)
    ranked = results.ranks(robot)
    rows = {row.controller: row for row in results.summaries() if row.robot == robot}
    order = sorted(ranked, key=lambda name: (ranked[name], rows[name].rms_error.median))
    fit = [name for name in order if math.isfinite(rows[name].rms_error.median)]
    said = []
    if fit:
        entries = [f"{1e3 * rows[name].rms_error.median:.3g} m{unit} for {name}" for name in fit]
        said.append(f"The median of the RMS joint error is {_listed(entries)}.")
    hopeless = [name for name in order if name not in fit]
    if hopeless:
        said.append(f"{_first_upper(_listed(hopeless))} lost at least half of the runs.")
    if len(order) > 1:
        said.append(_compared(results.compare(robot, order[0], order[1])))
    return said


def _compared(pair: ControllerComparison) -> str:
    if pair.fewer_lost is not None:
        other = pair.second if pair.fewer_lost == pair.first else pair.first
        return f"{_first_upper(pair.fewer_lost)} loses significantly fewer runs than {other}."
    if pair.smaller_error is None:
        return f"{_first_upper(pair.first)} and {pair.second} do not differ significantly."
    better, ratio = pair.better, pair.ratio
    other = pair.second
    if pair.smaller_error != pair.first:
        other = pair.first
        better = Interval(1.0 - better.high, 1.0 - better.value, 1.0 - better.low)
        ratio = Interval(_inverse(ratio.high), _inverse(ratio.value), _inverse(ratio.low))
    return (
        f"{_first_upper(pair.smaller_error)} errs less than {other} in {_share(better.value)} of the runs "
        f"({_share(better.low)} to {_share(better.high)}); the median ratio of their errors is {_round(ratio.value)} "
        f"({_round(ratio.low)} to {_round(ratio.high)})."
    )


def _lost(results: StudyResults, robot: str) -> list[str]:
    said = []
    for name in results.controllers(robot):
        error = results.of_pair(robot, name)["rms_error"]
        count = int(np.isinf(error).sum())
        if not count:
            continue
        share = proportion(count, len(error))
        text = f"{name} lost {_share(share.value)} of its runs ({_share(share.low)} to {_share(share.high)})"
        cells = results.cells(robot, name)
        worst = max(cells, key=lambda cell: cell.lost.low)
        least = min(cells, key=lambda cell: cell.lost.high)
        if worst.lost.low > least.lost.high:
            text += f", most at {_place(worst)} ({_share(worst.lost.value)}), fewest at {_place(least)}"
            text += f" ({_share(least.lost.value)})"
        said.append(text)
    return [f"{_first_upper('; '.join(said))}."] if said else []


def _effects(results: StudyResults, robot: str) -> list[str]:
    """Name the unknown with the strongest effect on each controller, if its interval excludes that of the next."""
    groups: dict[str, list[str]] = {}
    for name in results.controllers(robot):
        effects = results.effects(robot, name)
        ordered = sorted(effects, key=lambda factor: abs(effects[factor].value), reverse=True)
        if not ordered or abs(effects[ordered[0]].value) < _NOTABLE:
            continue
        first, weakest = effects[ordered[0]], min(abs(effects[ordered[0]].low), abs(effects[ordered[0]].high))
        next_most = max((max(abs(effects[k].low), abs(effects[k].high)) for k in ordered[1:]), default=0.0)
        if first.low * first.high > 0.0 and weakest > next_most:
            groups.setdefault(ordered[0], []).append(f"{name} ({first.value:.2f})")
    return [
        f"With all else held, the {shown_unknown(factor)[0]} orders the errors most (rank regression coefficient) for "
        f"{_listed(entries)}."
        for factor, entries in groups.items()
    ]


def _place(cell: StudyCase) -> str:
    late = f" with a delay of {cell.delay:g} T" if cell.delay else ""
    return f"{cell.rate:g} Hz{late}"


def _inverse(ratio: float) -> float:
    return math.inf if ratio == 0.0 else 1.0 / ratio


def _share(share: float) -> str:
    percent = 100.0 * share
    if 0.0 < percent < 1.0 or 99.0 < percent < 100.0:
        return f"{percent:.1f} %"
    return f"{percent:.0f} %"


def _round(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 99.5 else "∞" if math.isinf(ratio) else f"{ratio:,.0f}"


def _count(number: int, thing: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    text = words[number] if number < len(words) else f"{number:,}"
    return f"{text} {thing}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
