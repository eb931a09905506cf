"""Times of several candidates that take turns, so that drift of the machine hits all of them."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time

from benchmarks.tables import seconds
from chasles.engine.running import aside


@dataclass(frozen=True)
class Timing:
    """A median with the ends of its 95 % interval, s."""

    median: float
    low: float
    high: float

    def over(self, count: int) -> str:
        """Return the ends of the interval for one of so many parts."""
        return f"{seconds(self.low / count)} to {seconds(self.high / count)}"


def interleaved(
    candidates: Mapping[str, Callable[[], object]], *, repeats: int = 25, least: float = 0.01
) -> dict[str, float]:
    """Median seconds of processor time of one call of each candidate, which other programs do not lengthen.

    Each is called as often in a row as fills ``least`` seconds, ``repeats`` times, in turns; before, it is warmed up
    by finding how often that is.
    """
    return {name: timing.median for name, timing in medians(candidates, repeats=repeats, least=least).items()}


def medians(
    candidates: Mapping[str, Callable[[], object]], *, repeats: int = 25, least: float = 0.01
) -> dict[str, Timing]:
    """Return the same medians with their intervals.

    The times of ranks (n ± 1.96 √n) / 2 of n in order enclose the median with 95 %, whatever their distribution is.
    """
    counts = {name: _calls_that_fill(least, call) for name, call in candidates.items()}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repeats):
            for name, call in candidates.items():
                times[name].append(_time(call, counts[name], process_time) / counts[name])
    finally:
        if collecting:
            gc.enable()
    rank = max(int((repeats - 1.96 * math.sqrt(repeats)) / 2.0), 0)
    return {name: Timing(median(x), sorted(x)[rank], sorted(x)[-1 - rank]) for name, x in times.items()}


def fastest(candidates: Mapping[str, Callable[[], object]], *, repeats: int = 40, row: int = 4) -> dict[str, float]:
    """Least seconds of a single call of each candidate, which take turns with a few calls in a row.

    What a row begins with finds its memory outside the caches; the least time is that of a call that finds it there.
    """
    least = dict.fromkeys(candidates, math.inf)
    for call in candidates.values():
        _calls_that_fill(0.01, call)  # until the code for such calls is there
    for _ in range(repeats):
        for name, call in candidates.items():
            least[name] = min(least[name], *(_time(call, 1) for _ in range(row)))
    return least


def _calls_that_fill(least: float, call: Callable[[], object]) -> int:
    call()  # which may compile
    count = 1
    while (seconds := _time(call, count, process_time)) < least:
        aside.wait()  # for the code that is compiled meanwhile, whose time is the process's too
        count = max(2 * count, int(count * least / max(seconds, 1e-9)))
    aside.wait()
    return count


def _time(call: Callable[[], object], count: int, clock: Callable[[], float] = perf_counter) -> float:
    start = clock()
    for _ in range(count):
        call()
    return clock() - start
