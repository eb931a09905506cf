"""Where functions of time are largest, and when they lie above zero: samples, refined.

A *signal* is called with times of shape (m, b) and gives values (m, b, c): c channels for each of b elements of a
batch. A *place* is a time at which something happens in one channel of one element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.trajectories.motion import Floats

Places = NDArray[np.void]
Signal = Callable[[Floats], Floats]

#: The bound of a place is what the value may rise to between the neighbouring samples.
_PLACE = np.dtype(
    [("element", "i8"), ("channel", "i8"), *((field, "f8") for field in ("before", "time", "after", "value", "bound"))]
)
_INTERVAL = np.dtype(
    [("element", "i8"), ("channel", "i8"), *((field, "f8") for field in ("start", "end", "peak", "time"))]
)
_POINTS = np.linspace(0.0, 1.0, 9)
_ROUNDS = 8  # of refinement; each divides the distance of points by four or more
_HELD = 4_000_000  # values held at a time, 32 MB
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Extremes:
    """What `extremes` finds.

    Attributes
    ----------
    largest, time
        Largest value of each channel and the time at which it occurs, shape (b, c).
    above
        Intervals in which a channel lies above zero, by element, channel and time: a structured array with the fields
        element, channel, start, end, peak (the largest value) and time (of the peak).
    """

    largest: Floats
    time: Floats
    above: Places


def extremes(signal: Signal, times: Floats, *, intervals: bool) -> Extremes:
    """Find the largest value of each channel of a signal, and optionally all intervals in which it is positive.

    Local maxima of the samples are refined if they may matter: if the value, plus what neighbouring samples differ by,
    reaches the largest sample or zero. So a maximum between two samples is found as well, if the samples are close
    enough to show its slopes.

    Parameters
    ----------
    signal
        See the module.
    times
        Samples, shape (m, b), not decreasing along the first axis.
    intervals
        Whether to look for intervals above zero.
    """
    batch = times.shape[1]
    largest, time, peaks, crossings = _survey(signal, times, intervals)
    matters = peaks["bound"] >= largest[peaks["element"], peaks["channel"]]
    samples = peaks[matters | ((peaks["bound"] > 0.0) & intervals)]
    peaks = _refined(signal, samples, batch)
    best = peaks[_largest_of_each(peaks["value"], peaks["element"], peaks["channel"])]
    where = best["element"], best["channel"]
    time[where] = np.where(best["value"] > largest[where], best["time"], time[where])
    largest[where] = np.maximum(best["value"], largest[where])
    if not intervals:
        return Extremes(largest, time, np.empty(0, _INTERVAL))
    hidden = peaks[(peaks["value"] > 0.0) & (samples["value"] <= 0.0)]  # between two samples that are not above zero
    rises, falls = (np.concatenate([crossing, hidden]) for crossing in crossings)
    rises["after"][len(crossings[0]) :] = hidden["time"]
    falls["before"][len(crossings[1]) :] = hidden["time"]
    starts = _crossing(signal, rises, batch, rising=True)
    ends = _crossing(signal, falls, batch, rising=False)
    return Extremes(largest, time, _intervals(starts, ends, peaks[peaks["value"] > 0.0]))


def _survey(signal: Signal, times: Floats, intervals: bool) -> tuple[Floats, Floats, Places, tuple[Places, Places]]:
    """Largest samples with their times, local maxima, and where the samples rise above zero and fall below it."""
    largest = time = np.empty(0)
    peaks, rises, falls = [], [], []
    for t, e in _windows(signal, times):
        if not largest.size:
            largest, time = np.full(e.shape[1:], -np.inf), np.full(e.shape[1:], np.nan)
        inner = e[2:-2]
        at = np.argmax(inner, axis=0)[None]
        top = np.take_along_axis(inner, at, axis=0)[0]
        better = top > largest
        moment = np.take_along_axis(np.broadcast_to(t[2:-2, :, None], inner.shape), at, axis=0)[0]
        largest, time = np.where(better, top, largest), np.where(better, moment, time)

        with np.errstate(invalid="ignore"):
            steps = np.abs(np.diff(e, axis=0))
        steps[~np.isfinite(steps)] = 0.0
        larger = np.maximum(steps[:-1], steps[1:])
        bound = inner + np.maximum(larger[:-2], larger[2:])
        # Both sides of a knot are samples, equal to rounding; the maximum may lie beside either.
        twin = _close(t[1:-3], t[2:-2], t[3:-1])[..., None] & np.isfinite(e[3:-1])
        local = ((inner > e[1:-3]) | twin) & (inner >= e[3:-1])
        peaks.append(_places(t, e, bound, local & ((bound >= largest) | ((bound > 0.0) & intervals))))
        if intervals:
            above, following = inner > 0.0, e[3:-1] > 0.0
            rises.append(_places(t, e, bound, following & ~above))
            falls.append(_places(t, e, bound, above & ~following))
    crossings = (_joined(rises), _joined(falls))
    for crossing in crossings:
        crossing["before"] = crossing["time"]  # it lies between the chosen sample and the next
    return largest, time, _joined(peaks), crossings


def _windows(signal: Signal, times: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Times and values of some samples with two neighbours on each side; beyond the ends the values are -inf."""
    count, batch = times.shape
    step = max(16, _HELD // max(1, batch * signal(times[:1]).shape[-1]))
    for first in range(-1, count, step):
        index = np.arange(first - 2, min(first + step, count) + 2)
        t = times[np.clip(index, 0, count - 1)]
        e = signal(t)
        e[(index < 0) | (index >= count)] = -np.inf
        yield t, e


def _close(before: Floats, time: Floats, after: Floats) -> NDArray[np.bool_]:
    """Whether the sample before is no other place than this one, by the measure of the step to the next."""
    close: NDArray[np.bool_] = time - before <= 1e-9 * (after - time)
    return close


def _places(t: Floats, e: Floats, bound: Floats, chosen: NDArray[np.bool_]) -> Places:
    """The chosen samples of a window, with the times around them."""
    m, b, c = np.nonzero(chosen)
    peaks = np.empty(len(m), _PLACE)
    peaks["element"], peaks["channel"], peaks["value"], peaks["bound"] = b, c, e[m + 2, b, c], bound[m, b, c]
    peaks["time"], peaks["after"] = t[m + 2, b], t[m + 3, b]
    twin = _close(t[m + 1, b], t[m + 2, b], t[m + 3, b])
    peaks["before"] = np.where(twin, t[m, b], t[m + 1, b])
    return peaks


def values_at(signal: Signal, peaks: Places, t: Floats, batch: int) -> Floats:
    """Values of a signal in the channel and element of each place, at times (places, p)."""
    element, channel = peaks["element"], peaks["channel"]
    order = np.argsort(element, kind="stable")
    rank = np.empty(len(peaks), dtype=np.intp)  # of a place among those of its element
    rank[order] = np.arange(len(peaks)) - np.searchsorted(element[order], element[order])
    filled = np.full((int(rank.max(initial=-1)) + 1, t.shape[1], batch), t.flat[0] if t.size else 0.0)
    filled[rank, :, element] = t
    values = np.empty(t.shape)
    step = max(1, _HELD // max(1, t.shape[1] * batch * (1 + int(channel.max(initial=0)))))
    for first in range(0, len(filled), step):
        part = filled[first : first + step]
        computed = signal(part.reshape(-1, batch)).reshape(*part.shape, -1)
        in_block = (rank >= first) & (rank < first + step)
        values[in_block] = computed[rank[in_block] - first, :, element[in_block], channel[in_block]]
    return values


def _refined(signal: Signal, peaks: Places, batch: int) -> Places:
    """Maxima between the neighbouring samples."""
    uncertain = peaks["bound"] - peaks["value"] > _ROUNDING * np.abs(peaks["value"])
    bracketed = peaks[uncertain]
    low, high = bracketed["before"], bracketed["after"]
    for _ in range(_ROUNDS if bracketed.size else 0):
        t = low[:, None] + (high - low)[:, None] * _POINTS
        values = values_at(signal, bracketed, t, batch)
        best = np.argmax(values, axis=1)[:, None]
        value, time, low, high = (
            np.take_along_axis(array, np.clip(best + shift, 0, len(_POINTS) - 1), axis=1)[:, 0]
            for array, shift in ((values, 0), (t, 0), (t, -1), (t, 1))
        )
        bracketed["time"] = np.where(value > bracketed["value"], time, bracketed["time"])
        bracketed["value"] = np.maximum(value, bracketed["value"])
    refined = peaks.copy()
    refined[uncertain] = bracketed
    return refined


def _crossing(signal: Signal, peaks: Places, batch: int, *, rising: bool) -> Places:
    """The places with the time of the first crossing of zero between the times around them, on its lower side."""
    low, high = peaks["before"], peaks["after"]
    for _ in range(_ROUNDS if peaks.size else 0):
        t = low[:, None] + (high - low)[:, None] * _POINTS
        beyond = (values_at(signal, peaks, t, batch) > 0.0) == rising
        first = np.argmax(beyond, axis=1)[:, None]
        high = np.take_along_axis(t, first, axis=1)[:, 0]
        low = np.take_along_axis(t, np.maximum(first - 1, 0), axis=1)[:, 0]
    crossings = peaks.copy()
    crossings["time"] = low if rising else high
    return crossings


def _intervals(starts: Places, ends: Places, peaks: Places) -> Places:
    """Intervals from each start to the next end of the same channel, with the largest peak between them."""
    starts, ends = (
        ends_of_intervals[
            np.lexsort((ends_of_intervals["time"], ends_of_intervals["channel"], ends_of_intervals["element"]))
        ]
        for ends_of_intervals in (starts, ends)
    )
    intervals = np.empty(len(starts), _INTERVAL)
    for field in ("element", "channel"):
        intervals[field] = starts[field]
    intervals["start"], intervals["end"] = starts["time"], ends["time"]
    intervals["time"], intervals["peak"] = starts["time"], 0.0

    both = np.concatenate([starts, peaks])
    is_peak = np.arange(len(both)) >= len(starts)
    order = np.lexsort((is_peak, both["time"], both["channel"], both["element"]))
    interval = np.empty(len(both), dtype=np.intp)
    interval[order] = np.cumsum(~is_peak[order]) - 1
    interval_of_peak = interval[is_peak]
    best = _largest_of_each(peaks["value"], interval_of_peak)
    intervals["peak"][interval_of_peak[best]], intervals["time"][interval_of_peak[best]] = (
        peaks["value"][best],
        peaks["time"][best],
    )
    return intervals


def _joined(parts: list[Places]) -> Places:
    return np.concatenate([np.empty(0, _PLACE), *parts])


def _largest_of_each(values: Floats, *keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """Indices of the largest value among those of the same keys."""
    order = np.lexsort((values, *keys))
    last = np.arange(len(order)) == len(order) - 1
    for key in keys:
        last[:-1] |= np.diff(key[order]) != 0
    return np.asarray(order[last])
