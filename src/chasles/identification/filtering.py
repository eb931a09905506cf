"""Signals for identification: one regular rate, one low-pass filter without lag, derivatives.

Sources: M. Gautier, "Dynamic identification of robots with power model" (ICRA 1997): zero-phase filtering with a
cut-off well above the bandwidth of the motion, central differences, and the same filter for torques and for every
column of the regressor ("parallel filtering"), which leaves the equations true; then samples above the cut-off are
superfluous.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt

from chasles.base.errors import ArgumentError
from chasles.engine.validators import real
from chasles.identification.closed_configurations import closed_along, closed_near
from chasles.identification.logs.log import Log
from chasles.identification.logs.wrench_log import WrenchLog
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

ORDER = 4
MARGIN = 5.0
"""Cut-off in multiples of the bandwidth of the motion."""
ENERGY = 0.99
"""Share of the velocities' energy that defines the bandwidth of the motion."""
CLEAR = 300.0
"""Power relative to the noise floor above which a line of the spectrum belongs to the motion (25 dB)."""
ACCELERATION_NOISE = 0.1
"""Largest noise of the filtered accelerations relative to the accelerations."""
HIGHEST = 0.4
"""Highest cut-off relative to the sample rate."""
OVERSAMPLING = 12
"""Samples in a period of the cut-off frequency where derivatives and regressors are computed."""
THINNED = 3
"""Samples in a period of the cut-off frequency that the regression keeps."""
LEAST_SAMPLES = 30
SLOW = 0.02
"""Speed, relative to a joint's largest, below which it rests."""


@dataclass(frozen=True)
class Cutoff:
    """Cut-off frequency of the filters, with the reason.

    Attributes
    ----------
    frequency
        Cut-off frequency, Hz.
    reason
        Sentence.
    """

    frequency: float
    reason: str = "given"


@dataclass(frozen=True)
class Signals:
    """Filtered signals of a log at a regular rate.

    Attributes
    ----------
    robot
        Robot that moved.
    time, q, qd, qdd, effort
        Shapes (k,) and (k, n).
    configuration
        Configurations of the robot, shape (k, nq): q itself, unless loops let further joints follow.
    moving
        Whether each joint moves, shape (k, n): faster than 2 % of its largest speed. False where saturated.
    saturated
        Whether saturated efforts are within a period of the cut-off frequency, shape (k, n).
    segments, recordings
        Slices without gaps, and slices of the logs that were joined.
    period
        Time between samples, s.
    cutoff
        Filter.
    noise
        Standard deviation of the effort noise below the cut-off, shape (n,), if it is as dense there as the effort's
        spectrum above the cut-off: the lower bound on any model's error.
    derivative
        Source of the velocities: "measured velocities" or "positions".
    """

    robot: Robot
    time: FloatArray
    q: FloatArray
    qd: FloatArray
    qdd: FloatArray
    configuration: FloatArray
    effort: FloatArray
    moving: NDArray[np.bool_]
    saturated: NDArray[np.bool_]
    segments: tuple[slice, ...]
    recordings: tuple[slice, ...]
    period: float
    cutoff: Cutoff
    noise: FloatArray
    derivative: str

    def filter(self, columns: FloatArray) -> FloatArray:
        """Filter columns (k, ...) like the efforts, segment by segment."""
        filtered = np.empty_like(columns)
        for part in self.segments:
            filtered[part] = low_pass(columns[part], self.cutoff.frequency, 1.0 / self.period)
        return filtered

    def at(self, q: FloatArray) -> Signals:
        """Signals at other positions near these, shape (k, n)."""
        return replace(self, q=q, configuration=closed_near(self.robot, q, self.configuration))

    def torque(self, robot: Robot) -> FloatArray:
        """Torques of a robot in this motion, not filtered, shape (k, n)."""
        return np.asarray(robot.inverse_dynamics(self.configuration, self.qd, self.qdd))

    def kept(self) -> NDArray[np.intp]:
        """Indices of the samples that carry information below the cut-off, without the ends of the segments."""
        step = max(1, int(1.0 / (THINNED * self.cutoff.frequency * self.period)))
        edge = round(1.0 / (self.cutoff.frequency * self.period)) if self.is_filtered else 2
        parts = [
            np.arange(
                part.start + min(edge, (part.stop - part.start) // 4),
                part.stop - min(edge, (part.stop - part.start) // 4),
                step,
            )
            for part in self.segments
        ]
        return np.concatenate(parts)

    def kept_segments(self) -> tuple[slice, ...]:
        """Slices of the kept samples without gaps."""
        bounds = np.searchsorted(self.kept(), [0, *(part.stop for part in self.segments)]).tolist()
        return tuple(slice(a, b) for a, b in pairwise(bounds) if b > a)

    @property
    def is_filtered(self) -> bool:
        """Whether the cut-off frequency is low enough for a filter at this rate."""
        return self.cutoff.frequency * self.period < HIGHEST


def filtered_signals(log: Log, cutoff: float | None = None) -> Signals:
    """Filter a log with zero phase, differentiate it, and downsample it to the rate that the cut-off requires.

    Parameters
    ----------
    log
        Log.
    cutoff
        Cut-off frequency, Hz; default: chosen by `choose_cutoff`.

    Raises
    ------
    ArgumentError
        If no joint moves or the log is too short.

    Examples
    --------
    >>> import chasles as ch
    >>> t = np.arange(0.0, 10.0, 0.01)
    >>> q = np.stack([np.sin(t), np.cos(2.0 * t)], axis=1)
    >>> signals = filtered_signals(ch.Log(ch.load("planar2r"), {"t": t, "q": q, "tau": q}))
    >>> bool(np.abs(signals.qdd[50:-50, 0] + np.sin(signals.time[50:-50])).max() < 1e-3)
    True
    """
    if len(log.time) < LEAST_SAMPLES:
        raise ArgumentError(f"the log has {len(log.time)} samples; identification needs at least {LEAST_SAMPLES}")
    chosen = choose_cutoff(log) if cutoff is None else Cutoff(real(cutoff, "cutoff", above=0.0))
    rate = 1.0 / log.sample_period
    parts, step = _grids(log, chosen.frequency)
    q, effort = (_filtered(log, block, chosen.frequency) for block in (log.q, log.effort))
    saturated = np.concatenate([_saturated(log, part, grid[::step], chosen.frequency) for part, grid in parts])
    rates = _measured_rates(log, chosen.frequency)
    blocks: list[tuple[FloatArray, ...]] = []
    noise = np.zeros(log.n)
    for number, (part, grid) in enumerate(parts):
        noise = np.maximum(
            noise, white_noise(at_regular_times(log.time[part], log.effort[part], grid), chosen.frequency, rate)
        )
        time = grid[::step]
        qd = CubicSpline(time, q[number])(time, 1) if rates is None else rates[number]
        blocks.append((time, q[number], qd, CubicSpline(time, qd)(time, 1), effort[number]))
    ends = np.cumsum([0, *(len(block[0]) for block in blocks)])
    together = [np.concatenate(group) for group in zip(*blocks, strict=True)]
    time, position, velocity, acceleration, efforts = together
    segments = tuple(slice(int(a), int(b)) for a, b in pairwise(ends))
    closed = np.concatenate([closed_along(log.robot, time[part], position[part]) for part in segments])
    fastest = np.abs(velocity).max(axis=0)
    signals = Signals(
        log.robot, time, position, velocity, acceleration, closed, efforts,
        moving=(np.abs(velocity) > np.maximum(SLOW * fastest, 1e-12)) & ~saturated, saturated=saturated,
        segments=segments, recordings=_recordings(log, parts, ends),
        period=step * log.sample_period, cutoff=chosen, noise=noise,
        derivative="positions" if rates is None else "measured velocities",
    )  # fmt: skip
    return advanced(signals, log.delay)


def _recordings(log: Log, parts: list[tuple[slice, FloatArray]], ends: NDArray[np.intp]) -> tuple[slice, ...]:
    """Slices of the samples of each recording whose segments are `parts`, which end at these samples."""
    of_recordings = [
        [k for k, (part, _) in enumerate(parts) if own.start <= part.start < own.stop] for own in log.recordings
    ]
    return tuple(slice(int(ends[own[0]]), int(ends[own[-1] + 1])) for own in of_recordings if own)


def _measured_rates(log: Log, frequency: float) -> list[FloatArray] | None:
    """Filtered measured velocities; None if there are none, or the positions' derivatives are better."""
    if log.qd is None or not _prefers_measured(log, log.qd, frequency):
        return None
    return _filtered(log, log.qd, frequency)


def advanced(signals: Signals, delay: FloatArray) -> Signals:
    """Signals with the efforts of later times: their delays, shape (n,), s, are taken out."""
    effort = signals.effort.copy()
    for part in signals.segments:
        time = signals.time[part]
        for joint in np.flatnonzero(delay):
            wanted = np.clip(time + delay[joint], time[0], time[-1])
            effort[part, joint] = CubicSpline(time, signals.effort[part, joint])(wanted)
    return replace(signals, effort=effort)


def filtered_like(log: Log, signals: Signals, values: FloatArray) -> FloatArray:
    """Filter and thin out columns (samples, ...) at the times of a log as its signals were.

    Examples
    --------
    >>> import chasles as ch
    >>> t = np.arange(0.0, 10.0, 0.01)
    >>> q = np.stack([np.sin(t), np.cos(t)], axis=1)
    >>> log = ch.Log(ch.load("planar2r"), {"t": t, "q": q, "tau": q})
    >>> signals = filtered_signals(log)
    >>> bool(np.allclose(filtered_like(log, signals, log.q), signals.q))
    True
    """
    return np.concatenate(_filtered(log, values, signals.cutoff.frequency))


def _grids(log: Log, cutoff: float) -> tuple[list[tuple[slice, FloatArray]], int]:
    """Segments that are long enough, with regular times, and how many of these make one sample."""
    period = log.sample_period
    shortest = max(4.0 * period, 1.0 / cutoff)
    parts = [part for part in log.segments if log.time[part][-1] - log.time[part][0] > shortest]
    if not parts:
        raise ArgumentError(f"the log has no segment longer than {shortest:.3g} s, a period of the cut-off frequency")
    grids = [(part, np.arange(log.time[part][0], log.time[part][-1] + 1e-9 * period, period)) for part in parts]
    return grids, max(1, int(1.0 / (period * OVERSAMPLING * cutoff)))


def _filtered(log: Log, values: FloatArray, cutoff: float) -> list[FloatArray]:
    """Columns at the times of a log, segment by segment: at regular times, filtered, thinned out."""
    grids, step = _grids(log, cutoff)
    return [
        low_pass(at_regular_times(log.time[part], values[part], grid), cutoff, 1.0 / log.sample_period)[::step]
        for part, grid in grids
    ]


def _saturated(log: Log, part: slice, times: FloatArray, cutoff: float) -> NDArray[np.bool_]:
    """Whether a joint's effort saturates within the reach of the filter around these times, shape (times, n)."""
    reach = 1.0 / cutoff if cutoff < HIGHEST / log.sample_period else log.sample_period
    found = np.zeros((len(times), log.n), dtype=bool)
    for joint in np.flatnonzero(log.saturated[part].any(axis=0)):
        there = log.time[part][log.saturated[part, joint]]
        found[:, joint] = np.searchsorted(there, times + reach) > np.searchsorted(there, times - reach)
    return found


def choose_cutoff(log: Log | WrenchLog) -> Cutoff:
    """Choose the cut-off frequency from the spectra of the positions.

    It is 5 times the bandwidth of the motion (99 % of the energy of the velocities), or less where the position noise
    would exceed a tenth of the accelerations. All segments count that are at least half as long as the longest, and in
    each of them the joints that move there.

    Raises
    ------
    ArgumentError
        If no joint moves.
    """
    durations = [log.time[part][-1] - log.time[part][0] for part in log.segments]
    parts = [part for part, duration in zip(log.segments, durations, strict=True) if duration >= 0.5 * max(durations)]
    spans = np.array([np.ptp(log.q[part], axis=0) for part in parts])
    moves = spans > np.maximum(SLOW * spans.max(axis=0), 1e-6)
    found = [_spectral_limits(log, part, own) for part, own in zip(parts, moves, strict=True)]
    bandwidth = np.max([limits.bandwidth for limits in found], axis=0)
    if not (bandwidth > 0.0).any():
        raise ArgumentError("no joint moves in this log: identification needs motion; plan one with chasles.excite")
    joint = int(np.argmax(bandwidth))
    chosen, rate = MARGIN * float(bandwidth[joint]), 1.0 / log.sample_period
    reason = (
        f"{MARGIN:g} times the bandwidth of the motion ({bandwidth[joint]:.3g} Hz, {log.robot.velocity_names[joint]})"
    )
    quiet = min(limits.quiet for limits in found)
    if quiet < chosen:
        chosen, reason = max(quiet, float(bandwidth[joint])), "above it the noise of positions dominates accelerations"
    if chosen > HIGHEST * rate:
        chosen, reason = HIGHEST * rate, f"the sample rate of {rate:.4g} Hz admits no higher one"
    return Cutoff(max(chosen, 2.0 / max(durations)), reason)


class _SpectralLimits(NamedTuple):
    """Bandwidth of each joint's motion, shape (n,), and frequency from which noise dominates accelerations, Hz."""

    bandwidth: FloatArray
    quiet: float


def _spectral_limits(log: Log | WrenchLog, part: slice, moves: NDArray[np.bool_]) -> _SpectralLimits:
    period = log.sample_period
    time = np.arange(log.time[part][0], log.time[part][-1] + 1e-9 * period, period)
    q = at_regular_times(log.time[part], log.q[part], time)
    q = q - q[0] - np.linspace(0.0, 1.0, len(q))[:, None] * (q[-1] - q[0])
    frequency = np.fft.rfftfreq(len(q), period)
    power = np.abs(np.fft.rfft(q * np.hanning(len(q))[:, None], axis=0)) ** 2
    noise = np.median(power[2 * len(power) // 3 :], axis=0) / np.log(2.0)  # periodograms are exponentially distributed
    square = (2.0 * np.pi * frequency[:, None]) ** 2
    signal = square * np.where(power > CLEAR * noise, power, 0.0)
    energy = np.cumsum(signal, axis=0)
    moves = moves & (energy[-1] > 0.0)
    bandwidth = np.where(moves, frequency[np.argmax(energy >= ENERGY * energy[-1], axis=0)], 0.0)
    loud = np.cumsum(square**2 * noise, axis=0) > ACCELERATION_NOISE**2 * np.sum(square * signal, axis=0)
    first = np.where(loud.any(axis=0), frequency[np.argmax(loud, axis=0)], np.inf)
    return _SpectralLimits(bandwidth, float(first[moves].min(initial=np.inf)))


def at_regular_times(time: FloatArray, values: FloatArray, wanted: FloatArray) -> FloatArray:
    """Return samples (k, ...) at other times, by a cubic spline."""
    return np.asarray(CubicSpline(time, values)(wanted))


def low_pass(values: FloatArray, cutoff: float, rate: float) -> FloatArray:
    """Butterworth filter forwards and backwards: no lag; nothing where the cut-off is near half of the rate."""
    if cutoff >= HIGHEST * rate:
        return values
    sections = butter(ORDER, 2.0 * cutoff / rate, output="sos")
    padding = min(len(values) - 1, int(3.0 * rate / cutoff))
    return np.asarray(sosfiltfilt(sections, values, axis=0, padlen=padding))


def white_noise(effort: FloatArray, cutoff: float, rate: float) -> FloatArray:
    """Standard deviation below the cut-off of white noise as dense as the spectrum above it.

    The density is the least of those in the octave above the cut-off and in the spectrum's upper half: noise that rises
    with the frequency, and what is left of the motion above the cut-off, do not count.
    """
    if cutoff > 0.25 * rate:
        return np.zeros(effort.shape[1])
    window = np.hanning(len(effort))
    power = np.abs(np.fft.rfft((effort - effort.mean(axis=0)) * window[:, None], axis=0)) ** 2 / np.sum(window**2)
    first = int(len(power) * 2.0 * cutoff / rate)
    bands = (slice(first, max(2 * first, first + 2)), slice(len(power) // 2, None))
    density = np.min([np.median(power[band], axis=0) for band in bands], axis=0) / np.log(2.0)
    return np.asarray(np.sqrt(density * 2.0 * cutoff / rate))


def _prefers_measured(log: Log, qd: FloatArray, cutoff: float) -> bool:
    """Whether measured velocities fit the positions and carry less noise than their differences.

    Both are compared with the filtered slope of the positions over a short time, in all segments.
    """
    part = max(log.segments, key=lambda s: s.stop - s.start)
    period = log.sample_period
    time = np.arange(log.time[part][0], log.time[part][-1] + 1e-9 * period, period)
    slopes = CubicSpline(log.time[part], log.q[part])(time, 1)
    rates = at_regular_times(log.time[part], qd[part], time)
    smooth = low_pass(slopes, cutoff, 1.0 / period)
    near = low_pass(rates, cutoff, 1.0 / period)
    speed = np.std(smooth, axis=0)
    moves = speed > 1e-9
    if not moves.any() or (np.std(near - smooth, axis=0) > 0.05 * speed)[moves].any():
        return False
    return bool((np.std(rates - near, axis=0) < np.std(slopes - smooth, axis=0))[moves].mean() > 0.5)
