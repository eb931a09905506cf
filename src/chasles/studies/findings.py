"""Findings of a study: every finding follows from an interval or a test that excludes chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from chasles.base.findings import Finding, Rule
from chasles.studies.results import StudyResults, study_findings
from chasles.studies.settings import shown_unknown
from chasles.studies.statistics import ControllerComparison, Interval, proportion
from chasles.studies.summaries import StudyCase

_NAMED = 3  # controllers that a sentence names
_TEST = "sign tests of the same runs whose joint error probability is 5 %"
_ALWAYS = "each report says it"
MADE = Rule("runs", np.nan, _ALWAYS, "{controllers} made the same {runs} on {robots}, with {distinct} of unknowns")
TUNED = Rule(
    "tuned", np.nan, _ALWAYS,
    "the gains of each are the best of {candidates} on {draws}, and those to which gradients lead from there and from "
    "the study's settings, for each robot, rate and delay",
)  # fmt: skip
BEYOND = Rule(
    "beyond-motors", 0.0, "inverse dynamics along the planned motion",
    "{count} of the runs on {where} take more torque than the motors may give: no law can do them, and none counts",
)  # fmt: skip
BEST = Rule("best", 1.0, _TEST, "no other controller is significantly better than {controllers} on {robots}")
SEVERAL_BEST = Rule("several-best", 1.0, _TEST, "on {robots} no controller is significantly better than {controllers}")
NONE_BEST = Rule("none-best", 0.0, _TEST, "on {robots} every controller is significantly worse than some other")
LOWERED = Rule(
    "lowered-frequency", 1.0, "poles faster than the samples cannot be had",
    "at some sample rates the frequency was lowered for {controllers} (down to {shown}); the tables say where",
)  # fmt: skip
NONE_LOST = Rule("no-run-lost", 0.0, "runs that were made", "no run was lost")
ALL_LOST = Rule("each-lost-some", 0.0, "runs that were made", "every controller lost some of its runs")
NEVER_LOST = Rule(
    "never-lost", 0.0, "95 % interval of a share of none",
    "no run of {controllers} was lost, so that at most {shown} would be (95 %)",
)  # fmt: skip
MEDIANS = Rule("median-errors", np.nan, _ALWAYS, "first by rank: the median of the RMS joint error is {shown}")
HOPELESS = Rule(
    "half-lost", 0.5, "lost and refused runs count as infinite",
    "{controllers} lost at least half of the runs, or were refused there",
)  # fmt: skip
FEWER_LOST = Rule("fewer-lost", np.nan, _TEST, "{first} loses significantly fewer runs than {second}")
ALIKE = Rule("no-difference", np.nan, _TEST, "{first} and {second} do not differ significantly in their errors")
SMALLER = Rule(
    "smaller-error", 0.5, _TEST,
    "{first} errs less than {second} in {shown} of the runs ({low} to {high}); the median ratio of their errors is "
    "{ratio}",
)  # fmt: skip
REFUSED = Rule(
    "refused", 0.0, "no gains have the margin that is asked for",
    "{controller} is refused at {places}: {reason}",
)  # fmt: skip
LOST = Rule("runs-lost", 0.0, "95 % intervals", "{controller} lost {shown} of its runs ({low} to {high})")
LOST_MOST = Rule(
    "lost-most", 0.0, "the 95 % intervals of both places do not overlap",
    "{controller} lost most at {worst} ({most}), fewest at {best} ({fewest})",
)  # fmt: skip
STRONGEST = Rule(
    "strongest-unknown", 0.1, "less explains below a hundredth of the variance of the errors' ranks",
    "with all else held, the {unknown} orders the errors of {controllers} most (rank regression coefficient {shown})",
)  # fmt: skip


#: Codes of findings that the tables of a report hold as well.
IN_TABLES = (LOST.code, LOST_MOST.code)


@study_findings.register(StudyResults)
def findings(results: StudyResults) -> tuple[Finding, ...]:
    """Find what a study shows, over all robots first; what is found on one has the fact ``robot``."""
    robots = [robot.title for robot in results.study.robots]
    rules = (_ranking, _lost, _effects)
    on_each = (finding for robot in robots for rule in rules for finding in rule(results, robot))
    return (*_overall(results, robots), *on_each)


def on_robot(all_findings: Iterable[Finding], robot: str | None) -> list[Finding]:
    """Return the findings on one robot, or those over all."""
    return [finding for finding in all_findings if finding.facts.get("robot") == robot]


def _overall(results: StudyResults, robots: Sequence[str]) -> Iterator[Finding]:
    names = list(dict.fromkeys(choice.title for choice in results.study.controllers))
    yield from MADE.told(
        len(results.runs),
        controllers=_count(len(names), "controller"),
        runs=_count(len(results.runs), "run"),
        robots=_listed(robots),
        distinct=_count(results.runs.distinct, "different combination"),
    )
    tuning = results.study.tuning
    if tuning is not None:
        draws = _count(tuning.draws, "other draw")
        yield from TUNED.told(tuning.evaluations, candidates=_count(tuning.evaluations, "candidate"), draws=draws)
    for robot in robots:
        left_out = len(results.runs) - len(results.runs_on(robot))
        yield from BEYOND.above(float(left_out), where=robot, count=f"{left_out:,}")
    yield from _best(results, robots)
    yield from _lowered(results, robots)
    yield from _runs_lost(results, robots, names)


def _best(results: StudyResults, robots: Sequence[str]) -> Iterator[Finding]:
    """Name the controllers that none is better than, a finding for all robots on which they are the same."""
    best: dict[tuple[str, ...], list[str]] = {}
    for robot in robots:
        ranked = results.ranks(robot)
        if len(ranked) > 1:
            first = (name for name, rank in ranked.items() if rank.best == 1)
            best.setdefault(tuple(_with_losses(results, robot, name) for name in first), []).append(robot)
    for names, where in best.items():
        rule = (NONE_BEST, BEST, SEVERAL_BEST)[min(len(names), 2)]
        yield from rule.told(len(names), controllers=_listed(names, "or"), robots=_listed(where))


def _with_losses(results: StudyResults, robot: str, controller: str) -> str:
    """Name a controller, with the share of its runs that were lost if there are any."""
    lost, made = _lost_of(results, robot, controller)
    return f"{controller} (which lost {_share(lost / made)})" if lost else controller


def _runs_lost(results: StudyResults, robots: Sequence[str], names: Sequence[str]) -> tuple[Finding, ...]:
    losses = dict.fromkeys(names, (0, 0))
    for robot in robots:
        for name in results.controllers(robot):
            lost, total = losses[name]
            more, made = _lost_of(results, robot, name)
            losses[name] = lost + more, total + made
    never = [name for name, (lost, total) in losses.items() if total and not lost]
    if len(never) == len(names):
        return NONE_LOST.told(0.0)
    if not never:
        return ALL_LOST.told(sum(lost for lost, _ in losses.values()))
    least = max(proportion(0, losses[name][1]).high for name in never)
    return NEVER_LOST.told(least, controllers=_shortened(never), shown=_share(least))


def _lowered(results: StudyResults, robots: Sequence[str]) -> Iterator[Finding]:
    """Name the controllers whose frequency the sample period lowered: their errors are not those of equal poles."""
    low: dict[str, float] = {}
    for robot in robots:
        for name in results.controllers(robot):
            for cell in results.cells(robot, name):
                if cell.poles is not None and cell.poles.is_lowered:
                    low[name] = min(low.get(name, 1.0), cell.poles.frequency / cell.poles.wanted)
    if low:
        least = min(low.values())
        yield from LOWERED.told(least, controllers=_shortened(sorted(low, key=low.__getitem__)), shown=_share(least))


def _ranking(results: StudyResults, robot: str) -> Iterator[Finding]:
    unit = results.unit(robot)
    ranked = results.ranks(robot)
    medians = {row.controller: row.rms_error.median for row in results.summaries() if row.robot == robot}
    order = sorted(ranked, key=lambda name: (ranked[name], medians[name]))
    fit = {name: medians[name] for name in order if math.isfinite(medians[name])}
    if fit:
        listed = _listed([f"{1e3 * median:.3g} m{unit} for {name}" for name, median in list(fit.items())[:_NAMED]])
        yield from MEDIANS.told(min(fit.values()), robot=robot, medians=fit, shown=listed)
    hopeless = [name for name in order if name not in fit]
    if hopeless:
        yield from HOPELESS.told(len(hopeless), robot=robot, controllers=_listed(hopeless))
    if len(order) > 1:
        yield from _compared(results.compare(robot, order[0], order[1]), robot)


def _compared(pair: ControllerComparison, robot: str) -> tuple[Finding, ...]:
    winner = pair.winner
    losses: tuple[Finding, ...] = ()
    if pair.fewer_lost is not None:
        other = pair.second if pair.fewer_lost == pair.first else pair.first
        losses = FEWER_LOST.told(np.nan, robot=robot, first=pair.fewer_lost, second=other)
    if winner is None:
        return ALIKE.told(pair.better.value, robot=robot, first=pair.first, second=pair.second) + losses
    names = {"robot": robot, "first": winner, "second": pair.second if winner == pair.first else pair.first}
    better, ratio = pair.better, pair.ratio
    if winner != pair.first:
        better = Interval(1.0 - better.high, 1.0 - better.value, 1.0 - better.low)
        ratio = Interval(_inverse(ratio.high), _inverse(ratio.value), _inverse(ratio.low))
    ends = {"shown": _share(better.value), "low": _share(better.low), "high": _share(better.high)}
    ratios = f"{_round(ratio.value)} ({_round(ratio.low)} to {_round(ratio.high)})"
    return SMALLER.told(better.value, ratio=ratios, **names, **ends) + losses


def _lost(results: StudyResults, robot: str) -> Iterator[Finding]:
    for name in results.controllers(robot):
        cells = results.cells(robot, name)
        yield from _refused(robot, name, cells)
        count, made = _lost_of(results, robot, name)
        if not count:
            continue
        share = proportion(count, made)
        texts = {"shown": _share(share.value), "low": _share(share.low), "high": _share(share.high)}
        yield from LOST.told(share.value, robot=robot, controller=name, **texts)
        cells = [cell for cell in cells if not cell.refusal]
        worst = max(cells, key=lambda cell: cell.lost.low)
        least = min(cells, key=lambda cell: cell.lost.high)
        yield from LOST_MOST.above(
            worst.lost.low - least.lost.high,
            robot=robot,
            controller=name,
            worst=_place(worst),
            most=_share(worst.lost.value),
            best=_place(least),
            fewest=_share(least.lost.value),
        )


def _lost_of(results: StudyResults, robot: str, controller: str) -> tuple[int, int]:
    """Numbers of runs that were lost and made; refused ones were not made."""
    refused = sum(cell.runs for cell in results.cells(robot, controller) if cell.refusal)
    lost = int(np.isfinite(results.of_pair(robot, controller)["lost_at"]).sum())
    return lost, len(results.runs_on(robot)) - refused


def _refused(robot: str, controller: str, cells: Sequence[StudyCase]) -> Iterator[Finding]:
    reasons: dict[str, list[StudyCase]] = {}
    for cell in cells:
        if cell.refusal:
            reasons.setdefault(cell.refusal, []).append(cell)
    for reason, where in reasons.items():
        places = _listed([_place(cell) for cell in where])
        yield from REFUSED.told(len(where), robot=robot, controller=controller, places=places, reason=reason)


def _effects(results: StudyResults, robot: str) -> Iterator[Finding]:
    """Name the unknown with the strongest effect on each controller, if its interval excludes that of the next."""
    strongest: dict[str, dict[str, float]] = {}
    for name in results.controllers(robot):
        effects = results.effects(robot, name)
        ordered = sorted(effects, key=lambda factor: abs(effects[factor].value), reverse=True)
        if not ordered:
            continue
        first, weakest = effects[ordered[0]], min(abs(effects[ordered[0]].low), abs(effects[ordered[0]].high))
        next_most = max((max(abs(effects[k].low), abs(effects[k].high)) for k in ordered[1:]), default=0.0)
        if first.low * first.high > 0.0 and weakest > next_most:
            strongest.setdefault(ordered[0], {})[name] = first.value
    for factor, by_name in strongest.items():
        ends = " to ".join(dict.fromkeys(f"{end:.2f}" for end in (min(by_name.values()), max(by_name.values()))))
        facts = {"robot": robot, "factor": factor, "unknown": shown_unknown(factor)[0], "coefficients": by_name}
        most = max(map(abs, by_name.values()))
        yield from STRONGEST.above(most, shown=ends, controllers=_shortened(list(by_name)), **facts)


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


def _count(number: int, noun: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    text = words[number] if number < len(words) else f"{number:,}"
    return f"{text} {noun}{'' if number == 1 else 's'}"


def _shortened(names: Sequence[str]) -> str:
    """List names, the first of many."""
    more = len(names) - _NAMED
    return _listed(names) if more < 2 else f"{', '.join(names[:_NAMED])} and {_count(more, 'other controller')}"


def _listed(names: Sequence[str], last: str = "and") -> str:
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} {last} {names[-1]}"
