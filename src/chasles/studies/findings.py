"""What a study shows, in words that are computed from its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chasles.studies.results import Curve, Findings, StudyResults, Summary, study_findings

Floats = NDArray[np.float64]

_FACTORS = {"payload": "payload", "friction": "friction", "model_error": "model error"}
_UNITS = {"payload": (1.0, "kg"), "friction": (100.0, "% of the peak torque"), "model_error": (100.0, "%")}
#: A change smaller than this is not worth a word.
_NOTABLE = 1.1


@study_findings.register(StudyResults)
def findings(results: StudyResults) -> Findings:
    """Say in words what a study shows."""
    rows: dict[str, list[Summary]] = {}
    for row in results.summaries():
        rows.setdefault(row.robot, []).append(row)
    ranked = {robot: sorted(own, key=_merit) for robot, own in rows.items()}
    texts = {
        robot: " ".join(
            [
                *_ranking(results, robot, own),
                *_lost(results, robot, own),
                *_factors(results, robot, own),
                *_rates(results, robot, own[0]),
            ]
        )
        for robot, own in ranked.items()
    }
    return Findings(_overall(results, ranked), texts)


def _overall(results: StudyResults, ranked: dict[str, list[Summary]]) -> str:
    names = list(dict.fromkeys(choice.title for choice in results.study.controllers))
    said = [
        f"{_first_upper(_count(len(names), 'controller'))} made the same {_count(len(results.runs), 'run')} "
        f"on {_listed([robot.title for robot in results.study.robots])}."
    ]
    if len(names) > 1:
        said += _winners(ranked)
        said += _compared(ranked)
    losers = {row.controller for own in ranked.values() for row in own if row.lost > 0.0}
    never = [name for name in names if name not in losers]
    if not losers:
        said.append("No run was lost.")
    elif never:
        said.append(f"{_first_upper(_listed(never))} lost no run on any robot.")
    else:
        said.append("Every controller lost some of its runs.")
    return " ".join(said)


def _winners(ranked: dict[str, list[Summary]]) -> list[str]:
    best: dict[str, list[str]] = {}
    for robot, own in ranked.items():
        if math.isfinite(own[0].rms_error.median):
            best.setdefault(own[0].controller, []).append(robot)
    if not best:
        return ["All controllers lost more than half of their runs."]
    if len(best) == 1 and 1 < len(ranked) == len(next(iter(best.values()))):
        return [f"The smallest median error is that of {next(iter(best))}, on every robot."]
    entries = [f"{name} on {_listed(robots)}" for name, robots in best.items()]
    return [f"The smallest median error is that of {_listed(entries)}."]


def _compared(ranked: dict[str, list[Summary]]) -> list[str]:
    """Errors in multiples of the best, over the robots."""
    ratios: dict[str, list[float]] = {}
    for own in ranked.values():
        for row in own:
            best = own[0].rms_error.median
            if math.isfinite(best) and best > 0.0:
                ratios.setdefault(row.controller, []).append(row.rms_error.median / best)
    said, hopeless = [], []
    for name, own_ratios in sorted(ratios.items(), key=lambda item: float(np.median(item[1]))):
        low, high = min(own_ratios), max(own_ratios)
        if math.isinf(low):
            hopeless.append(name)
        elif high > 1.0:  # not the best everywhere
            most = "more" if math.isinf(high) else _round(high)
            said.append(f"{_round(low) if _round(low) == most else f'{_round(low)} to {most}'} for {name}")
    texts = []
    if said:
        texts.append(f"In multiples of the smallest on a robot, the median error is {_listed(said)}.")
    if hopeless:
        texts.append(f"{_first_upper(_listed(hopeless))} lost more than half of the runs on every robot.")
    return texts


def _ranking(results: StudyResults, robot: str, ranked: Sequence[Summary]) -> list[str]:
    unit = results.unit(robot)
    fit = [row for row in ranked if math.isfinite(row.rms_error.median)]
    entries = [f"{1e3 * row.rms_error.median:.3g} m{unit} for {row.controller}" for row in fit]
    said = [f"The median of the RMS joint error is {_listed(entries)}."] if fit else []
    if len(fit) > 1:
        first, second = (results.of_pair(robot, row.controller)["rms_error"] for row in fit[:2])
        share = _share(float((first < second).mean()))
        said.append(f"{_first_upper(fit[0].controller)} does better than {fit[1].controller} in {share} of the runs.")
    return said


def _lost(results: StudyResults, robot: str, ranked: Sequence[Summary]) -> list[str]:
    said = []
    for row in ranked:
        if row.lost == 0.0:
            continue
        text = f"{row.controller} lost {_share(row.lost)} of its runs"
        curve = results.curve(robot, row.controller, "rate", "rms_error")
        worst = int(np.argmax(curve.lost))
        if len(curve.x) > 1 and row.lost > 0.01 and curve.lost[worst] >= 1.5 * row.lost:
            text += f", most often at {curve.x[worst]:g} Hz ({_share(float(curve.lost[worst]))})"
        said.append(text + _where_lost(results, robot, row.controller))
    return [f"{_first_upper('; '.join(said))}."] if said else []


def _where_lost(results: StudyResults, robot: str, controller: str) -> str:
    """What the lost runs have in common: an unknown that is in the upper half of its range in all of them."""
    lost = np.isinf(results.of_pair(robot, controller)["rms_error"])
    for factor, (scale, unit) in _UNITS.items():
        values = getattr(results.runs, factor)
        least = values[lost].min()
        if values.min() < values.max() and least > 0.5 * (values.min() + values.max()):
            return f", none with a {_FACTORS[factor]} below {scale * least:.3g} {unit}"
    return ""


def _factors(results: StudyResults, robot: str, ranked: Sequence[Summary]) -> list[str]:
    """Which unknown costs each controller most."""
    groups: dict[str, list[str]] = {}
    calm = []
    for row in ranked:
        if math.isinf(row.rms_error.median):
            continue
        growth = {factor: _growth(results.curve(robot, row.controller, factor)) for factor in _FACTORS}
        factor, most = max(growth.items(), key=lambda item: item[1])
        if most < _NOTABLE:
            calm.append(row.controller)
        else:
            grown = f"{_times(most)} for" if math.isfinite(most) else "until more than half of the runs are lost for"
            groups.setdefault(factor, []).append(f"{grown} {row.controller}")
    said = [
        f"The unknown that matters most is the {_FACTORS[factor]}: from its lowest to its highest values the median "
        f"error grows {_listed(entries)}."
        for factor, entries in groups.items()
    ]
    if calm:
        said.append(f"None of the unknowns raises the median error of {_listed(calm)} by more than 10 %.")
    return said


def _rates(results: StudyResults, robot: str, best: Summary) -> list[str]:
    """Beyond which rate the best controller gains no more."""
    curve = results.curve(robot, best.controller, "rate")
    if len(curve.x) < 2 or not math.isfinite(curve.median[-1]) or curve.median[-1] <= 0.0:
        return []
    close = curve.median <= _NOTABLE * curve.median[-1]
    enough = len(close) - int(np.argmin(close[::-1])) if not close.all() else 0
    if enough == 0:
        return [
            f"Sampling faster than {curve.x[0]:g} Hz changes the median error of {best.controller} by less than 10 %."
        ]
    slowest = curve.median[0] / curve.median[-1]
    price = f"{_times(slowest)} that at {curve.x[-1]:g} Hz" if math.isfinite(slowest) else "infinite, for runs are lost"
    text = f"At {curve.x[0]:g} Hz the median error of {best.controller} is {price}"
    if enough < len(curve.x) - 1:
        text += f"; from {curve.x[enough]:g} Hz on, sampling faster gains less than 10 %"
    return [text + "."]


def _growth(curve: Curve) -> float:
    if len(curve.x) < 2 or not curve.median[0] > 0.0 or math.isinf(curve.median[0]):
        return 1.0
    return float(curve.median[-1] / curve.median[0])


def _merit(row: Summary) -> tuple[float, float]:
    return row.rms_error.median, row.lost


def _share(share: float) -> str:
    percent = 100.0 * share
    if 0.0 < percent < 1.0 or 99.0 < percent < 100.0:
        return f"{percent:.1f} %"
    return f"{percent:.0f} %"


def _round(ratio: float) -> str:
    return f"{ratio:.2g}" if ratio < 99.5 else f"{ratio:,.0f}"


def _times(ratio: float) -> str:
    return f"{_round(ratio)} times"


def _count(number: int, thing: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    text = words[number] if number < len(words) else f"{number:,}"
    return f"{text} {thing}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
