"""Faults of a log's clock: jitter, drift, jumps and repeated samples, as positions and measured velocities show them.

A fault is told with its figures and the argument that repairs it, ``Log(..., clock="jitter")``; times change only where
the owner of the log asks for it, and never where measured velocities contradict the repair: their integral over the
time that passed is the displacement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule
from chasles.engine.validators import choice
from chasles.identification.logs.logged_signals import LoggedSignals
from chasles.model.placement import FloatArray

ClockFault = Literal["jitter", "drift", "jumps", "repeats"]
CLOCK_FAULTS: tuple[ClockFault, ...] = get_args(ClockFault)

GAP_STEPS = 5.5
"""Sample periods that a step of the clock may take before it is a jump in time."""
WINDOW = 6
"""Steps around a repeated sample over which velocities are integrated: they cover 7/6 of the way if none passed."""
BLOCKS = 20
"""Parts of a log in which the rate of its clock is told; their scatter gives its error."""
HALF_WAY = 7.57
"""Half way, on a logarithmic scale, from 1 to the smallest factor between units, that of degrees."""
FASTEST_SHARE = 0.3
"""Speed relative to the median one from which a joint's motion tells times."""
JITTER_SPREAD = 0.1
"""Deviation of the steps, in sample periods, that matters: 5 % of phase at the cut-off, a period of 12 samples."""
LEVEL = 15
"""Stamps whose median tells where the clock is: that of jitter within half a period is right to an eighth of it."""
LEAST_MISS = 1e-12
"""Share of the way that rounding makes integrals of velocities miss."""

COARSE = Rule(
    "coarse-clock", 0.25, "half way between a tick for each sample (no equal times) and one for two (half of them)",
    "the clock advances by {tick:.3g} s every {count:.0f} samples ({value:.0%} of the samples have the time of the one "
    "before); {done}", "caution",
)  # fmt: skip
JITTER = Rule(
    "clock-jitter", 2.0, "above it the clock makes more than three quarters of the squared deviations",
    "time steps vary by {spread:.0%}, yet at even times the positions are {value:.3g} times as close to the cubics "
    "through their neighbours: the clock jitters (by {rms:.3g} s RMS, at most {most:.3g} s), not the sampling; {done}",
    "caution",
)  # fmt: skip
DRIFT = Rule(
    "clock-drift", 0.025, "inertias then err by twice as much, 5 %, which a good log determines them to",
    "integrated over the recorded times, the velocities of all joints are {ratio:.4g} ± {half:.1g} times the changes "
    "of position ({least:.4g} to {greatest:.4g} by joint): a clock that runs {words}, or velocities of another scale "
    "(units={{'qd': …}}, --unit qd=…); {done}", "caution",
)  # fmt: skip
FALSE_JUMPS = Rule(
    "clock-jumps", 0.0, "joints move on by their rate times the time that passed",
    "at {value:.0f} of {places} jumps in time the joints moved on as in one sample period: the clock jumped (by "
    "{total:.4g} s in all), the motion did not; {done}", "caution",
)  # fmt: skip
REPEATED = Rule(
    "repeated-samples", 0.0, "measured signals of a moving joint do not repeat to the last digit",
    "{value:.0f} samples repeat the one before during motion and were left out; {done}", "caution",
)  # fmt: skip
CONTRADICTED = Rule(
    "clock-repair-contradicted", 1.0, "integrated over the times that passed, velocities give the displacements",
    "clock='{fault}' was not applied: with it the measured velocities miss the changes of position by {after:.2%}, "
    "with the recorded times by {before:.2%}", "caution",
)  # fmt: skip
NO_FAULT = Rule(
    "clock-without-fault", np.nan, "a repair is made where a fault shows",
    "clock='{fault}' changed nothing: the log shows no such fault",
)  # fmt: skip
_RULES: dict[ClockFault, set[Rule]] = {
    "jitter": {COARSE, JITTER}, "drift": {DRIFT}, "jumps": {FALSE_JUMPS}, "repeats": {REPEATED}
}  # fmt: skip


def known_faults(names: str | Sequence[str]) -> tuple[ClockFault, ...]:
    """Faults by name, one or several.

    >>> known_faults("drift"), known_faults(["repeats", "jitter"])
    (('drift',), ('jitter', 'repeats'))
    """
    told = [choice(name, "fault of a clock", CLOCK_FAULTS) for name in ([names] if isinstance(names, str) else names)]
    return tuple(fault for fault in CLOCK_FAULTS if fault in told)


def offered(fault: ClockFault, what: str) -> str:
    """End of a sentence that offers a repair.

    >>> offered("jumps", "closes these gaps")
    "clock='jumps' (--clock jumps) closes these gaps"
    """
    return f"clock='{fault}' (--clock {fault}) {what}"


def without_repeats(recording: LoggedSignals, asked: Collection[ClockFault], findings: list[Finding]) -> LoggedSignals:
    """Leave out messages that were recorded twice, and their time if no time passed and the owner asks for it.

    A sample that is held while the joints move on leaves the clock right. A message that is written twice makes the
    clock count a period that did not pass: velocities integrated over the steps around then cover 7/6 of the way. Where
    none were measured, the next step tells: one period's way, or two.
    """
    blocks = [block for block in (recording.q, recording.qd, recording.effort) if block is not None]
    rows = np.hstack(blocks)
    same = np.append(False, (rows[1:] == rows[:-1]).all(axis=1))
    steps = np.diff(recording.q, axis=0)
    speed = np.linalg.norm(steps, axis=1)
    places = np.flatnonzero(same[:-1])
    places = places[(places >= 2) & (places < len(steps))]
    if not len(places) or not np.median(speed) > 0.0:
        return recording
    places = places[speed[places - 2] > FASTEST_SHARE * np.median(speed)]
    if not len(places):
        return recording
    taken = np.zeros(len(rows), dtype=bool)
    taken[places] = True
    counted = np.where(taken, np.diff(recording.time, prepend=recording.time[0]), 0.0)
    shorter = recording._replace(time=recording.time - np.cumsum(counted)).rows(~taken)
    kept = recording.rows(~taken)
    ways = _ways_around(recording, places)
    if ways is None:
        before, after = steps[places - 2], steps[places]
        periods = float(np.median(np.sum(before * after, axis=1) / np.sum(before**2, axis=1)))
        passed, how = periods > 1.5, f"afterwards the joints moved on by {periods:.2f} of a period's way"
    else:
        passed = ways < 1.0 + 0.5 / WINDOW
        how = f"around them measured velocities cover {ways:.3f} of the displacements in the recorded times"
    told = partial(REPEATED.told, len(places))
    if passed:
        findings += told(done=f"their time passed ({how})")
        if "repeats" in asked:
            _repaired("repeats", kept, shorter, findings)
        return kept
    took = f"their time ({counted.sum():.3g} of {np.ptp(recording.time):.4g} s)"
    done = f"{took} was taken out ({how})"
    return _settled(
        "repeats", told, kept, shorter, asked, findings, f"takes out {took}, which did not pass, it seems ({how})", done
    )


def spread_evenly(recording: LoggedSignals, asked: Collection[ClockFault], findings: list[Finding]) -> LoggedSignals:
    """Spread samples evenly that a coarse clock gave the same time, if the owner asks for it."""
    same = np.diff(recording.time) == 0.0
    ticks = np.flatnonzero(np.append(True, ~same))
    if len(ticks) < 3:
        return recording
    found = partial(
        COARSE.above, same.mean(), tick=np.median(np.diff(recording.time[ticks])), count=np.median(np.diff(ticks))
    )
    inner = np.arange(ticks[1], ticks[-1])  # the first and the last tick may have been cut off
    keep = np.zeros(len(recording.time), dtype=bool)
    keep[inner] = True
    even = recording.rows(keep)._replace(time=np.interp(inner, ticks, recording.time[ticks]))
    offer = "spreads all samples of a tick evenly, of which the first is kept"
    return _settled("jitter", found, recording, even, asked, findings, offer, "they were spread evenly")


def repaired_clock(recording: LoggedSignals, asked: Collection[ClockFault], findings: list[Finding]) -> LoggedSignals:
    """Tell jumps, jitter and drift of the clock, and take out those that the owner asks to take out."""
    recording = _without_false_jumps(recording, asked, findings)
    recording = _without_jitter(recording, asked, findings)
    recording = _without_drift(recording, asked, findings)
    told = {finding.rule for finding in findings}
    for fault in asked:
        if not told & _RULES[fault]:
            findings += NO_FAULT.told(np.nan, fault=fault)
    return recording


def sample_period(time: FloatArray) -> float:
    """Median of the steps forward in time; NaN if there is none."""
    steps = np.diff(time)
    forward = steps[steps > 0.0]
    return float(np.median(forward)) if len(forward) else np.nan


def _ways_around(recording: LoggedSignals, places: NDArray[np.intp]) -> float | None:
    """Median ratio of the integral of the velocities to the displacement around samples; None without velocities."""
    if not _tells_rates(recording):
        return None
    first = np.maximum(places - WINDOW // 2, 0)
    last = np.minimum(places + WINDOW // 2, len(recording.time) - 1)
    moves, ways = _moves_and_ways(recording, first, last)
    return float(np.median(np.sum(ways * moves, axis=1) / np.maximum(np.sum(moves**2, axis=1), 1e-300)))


def _moves_and_ways(
    recording: LoggedSignals, first: NDArray[np.intp] | slice, last: NDArray[np.intp] | slice
) -> tuple[FloatArray, FloatArray]:
    """Displacements from some samples to others, and integrals of the measured velocities, shapes (..., n)."""
    path = np.concatenate([np.zeros((1, recording.q.shape[1])), np.cumsum(_areas(recording), axis=0)])
    return recording.q[last] - recording.q[first], path[last] - path[first]


def _areas(recording: LoggedSignals) -> FloatArray:
    """Integral of the measured velocities over each step, shape (k - 1, n); 0 where time does not go forward."""
    assert recording.qd is not None
    steps = np.maximum(np.diff(recording.time), 0.0)[:, None]
    return 0.5 * steps * (recording.qd[1:] + recording.qd[:-1])


def _tells_rates(recording: LoggedSignals) -> bool:
    """Whether measured velocities are the slopes of the positions, but for a clock that runs somewhat fast or slow."""
    if recording.qd is None or not np.isfinite(recording.qd).all():
        return False
    steps, area = np.diff(recording.q, axis=0), _areas(recording)
    lengths = np.linalg.norm(steps) * np.linalg.norm(area)
    return bool(lengths > 0.0 and np.sum(steps * area) > np.sqrt(0.5) * lengths)


def _miss(recording: LoggedSignals) -> float:
    """RMS of what integrals of the velocities over `WINDOW` steps miss of the displacements, relative to these."""
    moves, ways = _moves_and_ways(recording, slice(None, -WINDOW), slice(WINDOW, None))
    return float(np.linalg.norm(ways - moves) / max(float(np.linalg.norm(moves)), 1e-300))


def _repaired(
    fault: ClockFault, recorded: LoggedSignals, repaired: LoggedSignals, findings: list[Finding]
) -> LoggedSignals:
    """The repaired recording, unless measured velocities fit the recorded times better."""
    if not _tells_rates(recorded) or min(len(recorded.time), len(repaired.time)) <= WINDOW:
        return repaired
    before, after = _miss(recorded), _miss(repaired)
    found = CONTRADICTED.above(after / max(before, LEAST_MISS), fault=fault, before=before, after=after)
    findings += found
    return recorded if found else repaired


def _settled(
    fault: ClockFault, found: Callable[..., tuple[Finding, ...]], recorded: LoggedSignals, repaired: LoggedSignals,
    asked: Collection[ClockFault], findings: list[Finding], offer: str, done: str,
) -> LoggedSignals:  # fmt: skip
    """The recording, repaired if it shows the fault, the owner asks for it and velocities agree; says what was done."""
    if fault not in asked or not found(done=done):
        findings += found(done=offered(fault, offer))
        return recorded
    result = _repaired(fault, recorded, repaired, findings)
    findings += found(done=done if result is repaired else "the recorded times were kept")
    return result


def _without_false_jumps(
    recording: LoggedSignals, asked: Collection[ClockFault], findings: list[Finding]
) -> LoggedSignals:
    """Close jumps in time over which the joints moved on as in one sample period."""
    time, period = recording.time, sample_period(recording.time)
    steps = np.diff(time)
    jumps = np.flatnonzero((steps < 0.0) | (steps > GAP_STEPS * period))
    inner = jumps[(jumps >= 1) & (jumps < len(steps) - 1)]
    moved = np.diff(recording.q, axis=0)
    around = 0.5 * (moved[inner - 1] / steps[inner - 1, None] + moved[inner + 1] / steps[inner + 1, None])
    usual = np.median(np.linalg.norm(moved, axis=1))
    way = period * np.linalg.norm(around, axis=1)
    miss = np.linalg.norm(moved[inner] - period * around, axis=1)
    regular = (steps[inner - 1] > 0.0) & (steps[inner + 1] > 0.0)
    false = inner[regular & (way > FASTEST_SHARE * usual) & (miss < 0.5 * way)]
    if not len(false):
        return recording
    excess = np.zeros(len(time))
    excess[false + 1] = steps[false] - period
    told = partial(FALSE_JUMPS.told, len(false), places=len(jumps), total=float(np.abs(excess).sum()))
    closed = recording._replace(time=time - np.cumsum(excess))
    done = "these steps were set to one period"
    return _settled("jumps", told, recording, closed, asked, findings, "closes these gaps", done)


def _without_jitter(recording: LoggedSignals, asked: Collection[ClockFault], findings: list[Finding]) -> LoggedSignals:
    """Space samples evenly between jumps in time, if the positions are far smoother so."""
    time, period = recording.time, sample_period(recording.time)
    steps = np.diff(time)
    jumps = (steps <= 0.0) | (steps > GAP_STEPS * period)
    near = steps[~jumps & (steps < 1.5 * period)]
    spread = float(np.std(near) / period) if len(near) else 0.0
    if not spread > JITTER_SPREAD:
        return recording
    parts = np.split(np.arange(len(time)), np.flatnonzero(jumps) + 1)
    even = _even(time, parts, period)
    smooth = _roughness(even, recording.q, parts)
    away = even - time
    ratio = _roughness(time, recording.q, parts) / max(smooth, 1e-300)
    found = partial(JITTER.above, ratio, spread=spread, rms=float(np.std(away)), most=float(np.abs(away).max()))
    spaced, done = recording._replace(time=even), "the samples were spaced evenly"
    return _settled("jitter", found, recording, spaced, asked, findings, "spaces the samples evenly", done)


def _even(time: FloatArray, parts: list[NDArray[np.intp]], period: float) -> FloatArray:
    """Times on the straight line through those recorded, part by part; lost samples leave their periods."""
    even = time.copy()
    for part in parts:
        if len(part) > 2:
            index = np.arange(len(part)) + _lost(time[part], period)
            slope, start = np.polyfit(index, time[part] - time[part[0]], 1)
            even[part] = time[part[0]] + start + slope * index
    return even


def _lost(time: FloatArray, period: float) -> FloatArray:
    """Samples lost before each, shape (k,): the medians of the stamps before and after then differ by periods."""
    if len(time) > 2 * LEVEL:
        period = float(np.median(time[LEVEL:] - time[:-LEVEL])) / LEVEL
    late = time - period * np.arange(len(time))
    lost = np.zeros(len(time))
    steps = np.diff(time)
    longest_first = np.argsort(-steps, kind="stable")[: int((steps > 1.5 * period).sum())]
    for k in longest_first + 1:
        before, after = late[max(k - LEVEL, 0) : k], late[k : k + LEVEL]
        periods = max(np.rint((np.median(after) - np.median(before)) / period), 0.0)
        late[k:] -= periods * period
        lost[k:] += periods
    return lost


def _roughness(time: FloatArray, q: FloatArray, parts: list[NDArray[np.intp]]) -> float:
    """RMS distance of positions from the cubics through the two neighbours on each side, in units of their steps."""
    total, count = 0.0, 0
    scale = np.std(np.diff(q, axis=0), axis=0)
    moves = scale > 0.0
    for part in parts:
        if len(part) < 5:
            continue
        t, y = time[part], q[part][:, moves] / scale[moves]
        places = [slice(k, len(t) - 4 + k) for k in (0, 1, 3, 4)]
        middle = t[2:-2]
        left = y[2:-2].copy()
        for own in places:
            others = [t[other] for other in places if other != own]
            weight = np.prod([(middle - x) / np.where(t[own] != x, t[own] - x, np.inf) for x in others], axis=0)
            left -= weight[:, None] * y[own]
        total, count = total + float(np.sum(left**2)), count + left.size
    return float(np.sqrt(total / max(count, 1)))


def _without_drift(recording: LoggedSignals, asked: Collection[ClockFault], findings: list[Finding]) -> LoggedSignals:
    """Scale the time if measured velocities of all joints are too large or too small by the same ratio."""
    if not _tells_rates(recording):
        return recording
    steps, area = np.diff(recording.q, axis=0), _areas(recording)
    period, elapsed = sample_period(recording.time), np.diff(recording.time)
    regular = (elapsed > 0.0) & (elapsed < GAP_STEPS * period)
    steps, area = steps[regular], area[regular]
    window = max(WINDOW, len(steps) // (10 * BLOCKS))  # sums of some steps: noise of single positions does not count
    count = len(steps) // window
    moves, ways = (values[: count * window].reshape(count, window, -1).sum(axis=1) for values in (steps, area))
    squares = np.sum(moves**2, axis=0)
    tells = squares > 1e-6 * squares.max()
    ratios = np.sum(moves * ways, axis=0)[tells] / squares[tells]
    weights = moves[:, tells] / np.sqrt(squares[tells])
    of_blocks = [
        float(np.sum(own * way) / max(float(np.sum(own**2)), 1e-300))
        for own, way in zip(
            np.array_split(weights, BLOCKS), np.array_split(ways[:, tells] / np.sqrt(squares[tells]), BLOCKS),
            strict=True,
        )
    ]  # fmt: skip
    ratio, error = float(np.mean(of_blocks)), float(np.std(of_blocks, ddof=1) / np.sqrt(BLOCKS))
    size = abs(np.log(max(ratio, 1e-300)))
    common = bool((np.abs(np.log(np.maximum(ratios, 1e-300) / ratio)) < 0.5 * size).all())
    if not (common and size > np.log1p(DRIFT.limit) and abs(ratio - 1.0) > 5.0 * error and size < np.log(HALF_WAY)):
        return recording
    words = f"{abs(1.0 - ratio):.1%} {'fast' if ratio > 1.0 else 'slow'}"
    start = recording.time[0]
    told = partial(
        DRIFT.told, size, ratio=ratio, half=1.96 * error, words=words, least=ratios.min(), greatest=ratios.max()
    )
    offer, done = (f"{verb} the time steps by {ratio:.4g}" for verb in ("divides", "divided"))
    return _settled(
        "drift", told, recording._replace(qd=None), recording._replace(time=start + (recording.time - start) / ratio),
        asked, findings, f"{offer}; else the velocities are not used", done,
    )  # fmt: skip
