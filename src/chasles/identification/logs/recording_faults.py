"""What is wrong with the samples of a recording: missing, repeated and irregular ones, jumps in time and position."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.base.findings import Finding, Rule
from chasles.identification.logs.clock import (
    GAP_STEPS,
    ClockFault,
    repaired_clock,
    sample_period,
    spread_evenly,
    without_repeats,
)
from chasles.identification.logs.column_checks import (
    checked_clock,
    checked_positions,
    checked_velocities,
    efforts_and_saturation,
    too_fast,
)
from chasles.identification.logs.logged_signals import LoggedSignals
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot

LEAST_SEGMENT = 8
"""Samples of the shortest segment that is kept: twice the order of the filter."""
NO_MOTION = 10.0
"""Multiple of the 99th percentile of all steps beyond which a step is no motion."""

_BY_CHANCE = "steps of a normal distribution pass ten times their 99th percentile once in 10^120 samples"
INCOMPLETE = Rule(
    "incomplete-samples", 0.0, "an equation of motion needs each of its values",
    "{value:.0f} of {samples} samples have missing values and were left out",
)  # fmt: skip
INCOMPLETE_VELOCITIES = Rule(
    "incomplete-velocities", 0.0, "a filter needs a value at each sample",
    "measured velocities have {value:.0f} missing values; positions are differentiated instead",
)  # fmt: skip
EQUAL_TIMES = Rule(
    "equal-times", 0.0, "time passes between two samples",
    "{value:.0f} samples have the same time as the one before and were left out",
)  # fmt: skip
SPIKE = Rule(
    "spike", NO_MOTION, _BY_CHANCE,
    "{quantity} of '{joint}' jumps and returns in {samples} samples (first at {time:.4g} s, by {value:.3g} times the "
    "99th percentile of its steps); they were left out",
)  # fmt: skip
WRAPPED = Rule(
    "wrapped-angle", np.pi, "beyond half a revolution the other way round is shorter",
    "the position of '{joint}' jumps by {value:.3g} rad, a revolution; it was unwrapped",
)  # fmt: skip
TIME_BACK = Rule(
    "time-jumps-back", 0.0, "time does not run backwards",
    "time jumps back {value:.0f} times (first after sample {sample}); the log was parted there",
)  # fmt: skip
GAP = Rule(
    "gap", GAP_STEPS, "five steps are less than half of the shortest period that the filters keep, 12 samples",
    "time jumps by up to {longest:.3g} s ({value:.3g} sample periods) in {places} places (first at {time:.4g} s); the "
    "log was parted there",
)  # fmt: skip
JUMP = Rule(
    "position-jump", NO_MOTION, _BY_CHANCE,
    "the position of '{joint}' jumps in {places} places (first at {time:.4g} s, {value:.3g} times as fast as the 99th "
    "percentile of its rates); the log was parted there",
)  # fmt: skip
IRREGULAR = Rule(
    "irregular-samples", 0.1, "a tenth of a step is 5 % of phase at the cut-off, where a period has 12 samples",
    "time steps vary by {value:.0%}; samples were interpolated",
)  # fmt: skip
MISSING = Rule(
    "missing-samples", 0.0, "steps of several periods lack the samples between",
    "{value:.0f} samples are missing in {places} places; they were interpolated",
)  # fmt: skip
SHORT = Rule(
    "short-segments", 0.0, f"shorter segments than {LEAST_SEGMENT} samples cannot be filtered",
    f"{{value:.0f}} samples in segments shorter than {LEAST_SEGMENT} were left out",
)  # fmt: skip
STILL = Rule(
    "position-constant", 0.0, "a joint that is measured moves by noise at least",
    "the position of '{joint}' is constant",
)  # fmt: skip


class Inspection(NamedTuple):
    """LoggedSignals after repair, its parts without gaps, and what was noticed; see `chasles.identification.Log`."""

    recording: LoggedSignals
    segments: tuple[slice, ...]
    measured: NDArray[np.bool_]
    saturated: NDArray[np.bool_]
    findings: tuple[Finding, ...]


def inspect(
    recording: LoggedSignals,
    robot: Robot,
    *,
    unit_known: bool,
    clock_known: bool = True,
    clock: Collection[ClockFault] = (),
) -> Inspection:
    """Repair single samples, and find what cannot be as it is read.

    Parameters
    ----------
    recording
        Samples as read.
    robot
        Gives joint names and limits.
    unit_known
        Whether names or the user told the unit of q; else positions that fit the limits only in degrees are refused.
    clock_known
        Whether names or the user told the unit of the time; else times that cannot be seconds are refused.
    clock
        Faults of the clock to repair; see `chasles.identification.logs.clock`.

    Raises
    ------
    ArgumentError
        If fewer than `LEAST_SEGMENT` samples are left, a column has no values at all, or a unit must be declared.
    """
    names = robot.velocity_names
    findings: list[Finding] = []
    for label, block in (("position", recording.q), ("effort", recording.effort)):
        empty = np.isnan(block).all(axis=0)
        if empty.any():
            raise ArgumentError(f"the {label} of joint '{names[int(np.argmax(empty))]}' has no values in this log")
    recording = _complete_rows(recording, findings)
    if not np.isfinite(sample_period(recording.time)):
        raise ArgumentError("the time column does not increase; is it the right one?")
    if not clock_known:
        checked_clock(recording)
    recording = without_repeats(recording, clock, findings)
    recording = spread_evenly(recording, clock, findings)
    recording = _without_spikes(recording, names, findings)
    findings += checked_positions(recording, robot, unit_known)
    recording = _unwrapped(recording, robot, findings)
    recording = _without_equal_times(recording, findings)
    recording = repaired_clock(recording, clock, findings)
    recording, segments = _segments(recording, names, findings)
    findings += too_fast(recording, segments, robot)
    measured, saturated, about_efforts = efforts_and_saturation(recording, robot)
    findings += about_efforts
    spans = np.ptp(recording.q, axis=0)
    findings += [f for name, span in zip(names, spans, strict=True) if span == 0.0 for f in STILL.told(0.0, joint=name)]
    recording, about_velocities = checked_velocities(recording, segments, names)
    return Inspection(recording, segments, measured, saturated, (*findings, *about_velocities))


def _complete_rows(recording: LoggedSignals, findings: list[Finding]) -> LoggedSignals:
    complete = ~np.isnan(recording.time) & ~np.isnan(recording.q).any(axis=1) & ~np.isnan(recording.effort).any(axis=1)
    if recording.qd is not None and np.isnan(recording.qd).any():
        findings += INCOMPLETE_VELOCITIES.above(np.isnan(recording.qd).sum())
        recording = recording._replace(qd=None)
    findings += INCOMPLETE.above((~complete).sum(), samples=len(complete))
    if complete.sum() < LEAST_SEGMENT:
        raise ArgumentError(f"the log has {int(complete.sum())} complete samples; at least {LEAST_SEGMENT} are needed")
    return recording.rows(complete)


def _without_spikes(recording: LoggedSignals, names: tuple[str, ...], findings: list[Finding]) -> LoggedSignals:
    """Leave out samples that are far from both neighbours, on the same side."""
    bad = np.zeros(len(recording.time), dtype=bool)
    for quantity, block in (("position", recording.q), ("effort", recording.effort)):
        steps = np.diff(block, axis=0)
        usual = np.quantile(np.abs(steps), 0.99, axis=0)
        size = np.minimum(np.abs(steps[1:]), np.abs(steps[:-1])) / np.where(usual > 0.0, usual, np.inf)
        alone = (steps[1:] * steps[:-1] < 0.0) & (size > SPIKE.limit)
        for joint in np.flatnonzero(alone.any(axis=0)):
            own = alone[:, joint]
            first = recording.time[1 + np.argmax(own)]
            facts = {"quantity": quantity, "joint": names[joint], "samples": int(own.sum()), "time": float(first)}
            findings += SPIKE.told(size[own, joint].max(), **facts)
        bad[1:-1] |= alone.any(axis=1)
    return recording.rows(~bad) if bad.any() else recording


def _unwrapped(recording: LoggedSignals, robot: Robot, findings: list[Finding]) -> LoggedSignals:
    """Take out jumps by a revolution."""
    turning = np.array([unit == "rad" for unit in robot.description.displacement_units])
    steps = np.where(turning, np.abs(np.diff(recording.q, axis=0)).max(axis=0), 0.0)
    wrapped = steps > WRAPPED.limit
    if not wrapped.any():
        return recording
    for joint in np.flatnonzero(wrapped):
        findings += WRAPPED.told(steps[joint], joint=robot.velocity_names[joint])
    q = recording.q.copy()
    q[:, wrapped] = np.unwrap(q[:, wrapped], axis=0)
    return recording._replace(q=q)


def _without_equal_times(recording: LoggedSignals, findings: list[Finding]) -> LoggedSignals:
    forward = np.append(True, np.diff(recording.time) != 0.0)
    findings += EQUAL_TIMES.above((~forward).sum())
    return recording.rows(forward)


def _segments(
    recording: LoggedSignals, names: tuple[str, ...], findings: list[Finding]
) -> tuple[LoggedSignals, tuple[slice, ...]]:
    """Part the recording where time or positions jump, and leave out parts that are too short."""
    time, steps = recording.time, np.diff(recording.time)
    period = sample_period(time)
    back, gaps = steps < 0.0, steps > GAP.limit * period
    jumps = _jumps(recording, period, back | gaps)
    findings += TIME_BACK.above(back.sum(), sample=int(np.argmax(back)))
    longest, places = float(steps.max()), int(gaps.sum())
    findings += GAP.above(longest / period, longest=longest, places=places, time=float(time[np.argmax(gaps)]))
    for joint in np.flatnonzero((jumps > JUMP.limit).any(axis=0)):
        own = jumps[:, joint] > JUMP.limit
        first = float(time[np.argmax(own)])
        findings += JUMP.told(jumps[:, joint].max(), joint=names[joint], places=int(own.sum()), time=first)
    parted = back | gaps | (jumps > JUMP.limit).any(axis=1)
    findings += _irregularities(steps[~parted], period)
    bounds = [0, *(np.flatnonzero(parted) + 1).tolist(), len(time)]
    parts = [slice(a, b) for a, b in pairwise(bounds) if b - a >= LEAST_SEGMENT]
    if not parts:
        raise ArgumentError(f"the log has no {LEAST_SEGMENT} samples in a row without a jump in time")
    keep = np.zeros(len(time), dtype=bool)
    for part in parts:
        keep[part] = True
    findings += SHORT.above((~keep).sum())
    ends = np.cumsum([0, *(part.stop - part.start for part in parts)]).tolist()
    return recording.rows(keep), tuple(slice(a, b) for a, b in pairwise(ends))


def _jumps(recording: LoggedSignals, period: float, apart: NDArray[np.bool_]) -> FloatArray:
    """Rates of the positions relative to their 99th percentile, (k - 1, n); 0 where time jumps."""
    rates = np.abs(np.diff(recording.q, axis=0)) / np.maximum(np.diff(recording.time), period)[:, None]
    usual = np.quantile(rates, 0.99, axis=0)
    return np.where(apart[:, None], 0.0, rates / np.where(usual > 0.0, usual, np.inf))


def _irregularities(steps: FloatArray, period: float) -> Iterator[Finding]:
    regular = steps < 1.5 * period
    spread = float(np.std(steps[regular]) / period) if regular.any() else 0.0
    irregular = IRREGULAR.above(spread)
    yield from irregular
    if not irregular:
        lost = np.sum(np.rint(steps[~regular] / period) - 1.0)
        yield from MISSING.above(lost, places=int((~regular).sum()))
