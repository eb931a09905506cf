"""What is wrong with a recording: gaps, repeated and missing samples, saturation, constant columns, contradictions."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.robot.robot import Robot

FloatArray = NDArray[np.float64]

GAP = 5.5
"""Steps of time longer than this many median ones part two segments."""
AT_LIMIT = 0.999
"""Share of the effort limit from which an effort that never exceeds it is saturated."""
LEAST_SEGMENT = 8
"""Samples of the shortest segment that is kept."""
JITTER = 0.1
"""Relative deviation of the time steps above which a finding mentions it."""
SLOWEST = 0.4
"""Sample period, s, from which times without a unit are read in a smaller one."""
COARSE = 0.3
"""Share of samples with the time of the one before from which the clock is taken to be coarser than the samples."""
TOO_FAST = 20.0
"""Mean speed, in multiples of the velocity limit, that a robot does not have."""
FASTEST = 10.0
"""Changes in a sample beyond this many times the 99th percentile are no motion."""


class LoggedSignals(NamedTuple):
    """Samples at the joints in SI units: time (k,), positions, velocities and efforts (k, n); NaN where missing."""

    time: FloatArray
    q: FloatArray
    qd: FloatArray | None
    effort: FloatArray

    def rows(self, keep: NDArray[np.bool_]) -> LoggedSignals:
        """Some of the samples."""
        qd = None if self.qd is None else self.qd[keep]
        return LoggedSignals(self.time[keep], self.q[keep], qd, self.effort[keep])


class Inspection(NamedTuple):
    """Recording after repair, its parts without gaps, and what was noticed; see `chasles.identification.Log`."""

    recording: LoggedSignals
    segments: tuple[slice, ...]
    measured: NDArray[np.bool_]
    saturated: NDArray[np.bool_]
    findings: tuple[str, ...]
    guesses: tuple[str, ...]
    contradictions: tuple[str, ...]


def inspect(recording: LoggedSignals, robot: Robot, *, unit_known: bool, clock_known: bool = True) -> Inspection:
    """Repair what can be repaired, and put the rest into words.

    Parameters
    ----------
    recording
        Samples as read.
    robot
        Gives joint names and limits.
    unit_known
        Whether names or the user told the unit of q; if not, degrees are recognised by the joints' limits.
    clock_known
        Whether names or the user told the unit of the time; if not, it is recognised by the sample period.

    Raises
    ------
    ArgumentError
        If fewer than `LEAST_SEGMENT` samples are left, or a column has no values at all.
    """
    names = robot.velocity_names
    findings: list[str] = []
    for label, block in (("position", recording.q), ("effort", recording.effort)):
        empty = np.isnan(block).all(axis=0)
        if empty.any():
            raise ArgumentError(f"the {label} of joint '{names[int(np.argmax(empty))]}' has no values in this log")
    contradictions: list[str] = []
    recording = _complete_rows(recording, findings)
    if not clock_known:
        recording = _in_seconds(recording, findings)
    recording = _without_repeated_rows(recording, findings)
    recording = _even_times(recording, findings)
    recording = _without_spikes(recording, names, findings)
    before = len(findings)
    recording = _units(recording, robot, unit_known, findings, contradictions)
    guesses = findings[before:]
    recording = _unwrapped(recording, robot, findings)
    recording, segments = _segments(recording, names, findings)
    _too_fast(recording, segments, robot, contradictions)
    measured, saturated = _efforts(recording, robot, findings)
    still = np.ptp(recording.q, axis=0) == 0.0
    if still.any():
        findings.append(f"position is constant: {_listed(names, still)}")
    recording = _velocities(recording, segments, names, findings, contradictions)
    return Inspection(recording, segments, measured, saturated, tuple(findings), tuple(guesses), tuple(contradictions))


def _complete_rows(recording: LoggedSignals, findings: list[str]) -> LoggedSignals:
    complete = ~np.isnan(recording.time) & ~np.isnan(recording.q).any(axis=1) & ~np.isnan(recording.effort).any(axis=1)
    if recording.qd is not None and np.isnan(recording.qd).any():
        recording = recording._replace(qd=None)
        findings.append("measured velocities have missing values; positions are differentiated instead")
    if not complete.all():
        findings.append(f"{int((~complete).sum())} of {len(complete)} samples have missing values and were left out")
    if complete.sum() < LEAST_SEGMENT:
        raise ArgumentError(f"the log has {int(complete.sum())} complete samples; at least {LEAST_SEGMENT} are needed")
    return recording.rows(complete)


def _in_seconds(recording: LoggedSignals, findings: list[str]) -> LoggedSignals:
    """Recognise times in ms, µs and ns by measured velocities, else by a sample period that no robot is logged with."""
    steps = np.diff(recording.time)
    if not (steps > 0.0).any():
        return recording
    period = float(np.median(steps[steps > 0.0]))
    powers = [power for power in (0, 3, 6, 9) if period * 10.0**-power <= SLOWEST]
    power = powers[0] if powers else 0
    how = f"the sample period would be {period:.4g} s"
    if recording.qd is not None:
        shifts = np.diff(recording.q, axis=0)[steps > 0.0]
        paths = (recording.qd[1:] * steps[:, None])[steps > 0.0]
        ratio = np.sum(paths * shifts, axis=0) / np.maximum(np.sum(shifts**2, axis=0), 1e-300)
        factor = float(np.median(ratio))
        told = min((0, 3, 6, 9), key=lambda k: abs(np.log10(max(factor, 1e-300)) - k))
        if 0.5 < factor * 10.0**-told < 2.0:
            power, how = told, "velocities would not fit the positions"
    if power == 0:
        return recording
    findings.append(f"times were read as { {3: 'ms', 6: 'us', 9: 'ns'}[power] }: as seconds {how}")
    return recording._replace(time=recording.time * 10.0**-power)


def _even_times(recording: LoggedSignals, findings: list[str]) -> LoggedSignals:
    """Spread samples evenly that a coarse clock gave the same time."""
    same = np.diff(recording.time) == 0.0
    ticks = np.flatnonzero(np.append(True, ~same))
    if same.mean() < COARSE or len(ticks) < LEAST_SEGMENT:
        return recording
    inner = np.arange(ticks[1], ticks[-1])  # the first and the last tick may have been cut off
    time = np.interp(inner, ticks, recording.time[ticks])
    findings.append(
        f"the clock advances by {np.median(np.diff(recording.time[ticks])):.3g} s every "
        f"{np.median(np.diff(ticks)):.0f} samples; they were spread evenly"
    )
    keep = np.zeros(len(recording.time), dtype=bool)
    keep[inner] = True
    return recording.rows(keep)._replace(time=time)


def _without_spikes(recording: LoggedSignals, names: tuple[str, ...], findings: list[str]) -> LoggedSignals:
    """Leave out samples that are far from both neighbours, on the same side."""
    bad = np.zeros(len(recording.time), dtype=bool)
    for label, block in (("position", recording.q), ("effort", recording.effort)):
        steps = np.diff(block, axis=0)
        highest = FASTEST * np.quantile(np.abs(steps), 0.99, axis=0)
        alone = (steps[1:] * steps[:-1] < 0.0) & (np.minimum(np.abs(steps[1:]), np.abs(steps[:-1])) > highest)
        alone &= highest > 0.0
        for joint in np.flatnonzero(alone.any(axis=0)):
            findings.append(
                f"{label} of '{names[joint]}' jumps and returns in {int(alone[:, joint].sum())} samples (first at "
                f"{recording.time[1 + np.argmax(alone[:, joint])]:.4g} s); they were left out"
            )
        bad[1:-1] |= alone.any(axis=1)
    return recording.rows(~bad) if bad.any() else recording


def _unwrapped(recording: LoggedSignals, robot: Robot, findings: list[str]) -> LoggedSignals:
    """Take out jumps by a revolution."""
    turning = np.array([unit == "rad" for unit in robot.coordinate_units])
    wrapped = turning & (np.abs(np.diff(recording.q, axis=0)) > 1.5 * np.pi).any(axis=0)
    if not wrapped.any():
        return recording
    findings.append(f"positions jump by a revolution; they were unwrapped: {_listed(robot.velocity_names, wrapped)}")
    q = recording.q.copy()
    q[:, wrapped] = np.unwrap(q[:, wrapped], discont=1.5 * np.pi, axis=0)
    return recording._replace(q=q)


def _without_repeated_rows(recording: LoggedSignals, findings: list[str]) -> LoggedSignals:
    """Leave out messages that were recorded twice.

    Where the joints move on afterwards as if no time had passed, the clock counted a period for each repetition; these
    periods are taken out too. Where they catch up, the sample was held, and only the row goes.
    """
    blocks = [block for block in (recording.q, recording.qd, recording.effort) if block is not None]
    rows = np.hstack(blocks)
    same = np.append(False, (rows[1:] == rows[:-1]).all(axis=1))
    steps = np.diff(recording.q, axis=0)
    places = np.flatnonzero(same[:-1])
    places = places[(places >= 2) & (places < len(steps))]
    if not len(places):
        return recording
    before, after = steps[places - 2], steps[places]
    speed = np.linalg.norm(steps, axis=1)
    moving = np.sum(before**2, axis=1) > (0.3 * np.median(speed)) ** 2
    if not moving.any() or not np.median(speed) > 0.0:
        return recording
    ratio = np.median(np.sum(before * after, axis=1)[moving] / np.sum(before**2, axis=1)[moving])
    taken = np.zeros(len(rows), dtype=bool)
    taken[places[moving]] = True
    time = recording.time.copy()
    if ratio < 1.5:
        time -= np.cumsum(np.where(taken, np.diff(time, prepend=time[0]), 0.0))
        how = "the joints moved on as if no time had passed, so their time was taken out too"
    else:
        how = "the joints had moved on in between"
    findings.append(f"{int(taken.sum())} samples repeat the one before during motion and were left out; {how}")
    return recording._replace(time=time).rows(~taken)


def _segments(
    recording: LoggedSignals, names: tuple[str, ...], findings: list[str]
) -> tuple[LoggedSignals, tuple[slice, ...]]:
    time = recording.time
    forward = np.append(True, np.diff(time) != 0.0)
    if not forward.all():
        findings.append(f"{int((~forward).sum())} samples have the same time as the one before and were left out")
        recording = recording.rows(forward)
        time = recording.time
    steps = np.diff(time)
    if not (steps > 0.0).any():
        raise ArgumentError("the time column does not increase; is it the right one?")
    period = float(np.median(steps[steps > 0.0]))
    back, gaps = steps < 0.0, steps > GAP * period
    if back.any():
        findings.append(f"time jumps back {int(back.sum())} times (first after sample {int(np.argmax(back))})")
    if gaps.any():
        findings.append(
            f"time jumps by up to {steps.max():.3g} s in {int(gaps.sum())} places (first at "
            f"{time[np.argmax(gaps)]:.4g} s);"
            " the log was parted there"
        )
    rates = np.abs(np.diff(recording.q, axis=0)) / np.maximum(steps, period)[:, None]
    highest = FASTEST * np.quantile(rates, 0.99, axis=0)
    jumps = (rates > highest) & (highest > 0.0) & (~back & ~gaps)[:, None]
    if jumps.any():
        places, joints = jumps.any(axis=1), np.asarray(jumps.any(axis=0))
        findings.append(
            f"positions jump in {int(places.sum())} places (first at {time[np.argmax(places)]:.4g} s: "
            f"{_listed(names, joints)}); the log was parted there"
        )
        gaps |= jumps.any(axis=1)
    within = steps[~back & ~gaps]
    regular = within < 1.5 * period
    spread = float(np.std(within[regular]) / period) if regular.any() else 0.0
    if spread > JITTER:
        findings.append(f"samples are irregular (time steps vary by {spread:.0%}); they were interpolated")
    elif not regular.all():
        lost = int(np.sum(np.rint(within[~regular] / period) - 1.0))
        findings.append(f"{lost} samples are missing in {int((~regular).sum())} places; they were interpolated")
    bounds = [0, *(np.flatnonzero(back | gaps) + 1).tolist(), len(time)]
    parts = [slice(a, b) for a, b in pairwise(bounds) if b - a >= LEAST_SEGMENT]
    if not parts:
        raise ArgumentError(f"the log has no {LEAST_SEGMENT} samples in a row without a jump in time")
    kept = sum(part.stop - part.start for part in parts)
    if kept < len(time):
        findings.append(f"{len(time) - kept} samples in segments shorter than {LEAST_SEGMENT} were left out")
        keep = np.zeros(len(time), dtype=bool)
        for part in parts:
            keep[part] = True
        recording = recording.rows(keep)
        ends = np.cumsum([part.stop - part.start for part in parts])
        parts = [slice(int(b) - (p.stop - p.start), int(b)) for p, b in zip(parts, ends, strict=True)]
    return recording, tuple(parts)


def _units(
    recording: LoggedSignals, robot: Robot, unit_known: bool, findings: list[str], contradictions: list[str]
) -> LoggedSignals:
    """Recognise degrees by the limits of turning joints; tell of positions far outside of the limits."""
    turning = np.array([unit == "rad" for unit in robot.coordinate_units])
    turning &= robot.upper_limits > robot.lower_limits  # some files have zeros for unknown limits
    lower, upper = np.maximum(robot.lower_limits, -4 * np.pi), np.minimum(robot.upper_limits, 4 * np.pi)
    room = 0.2 * (upper - lower)

    def outside(q: FloatArray) -> NDArray[np.bool_]:
        return np.asarray(((q.min(axis=0) < lower - room) | (q.max(axis=0) > upper + room)) & turning)

    far = outside(recording.q)
    if not far.any():
        return recording
    in_degrees = np.where(turning, np.pi / 180.0, 1.0)
    if not unit_known and not outside(recording.q * in_degrees).any():
        findings.append(
            f"positions were read as degrees: as radians {_listed(robot.velocity_names, far)} would leave the limits"
        )
        qd = None if recording.qd is None else recording.qd * in_degrees
        return recording._replace(q=recording.q * in_degrees, qd=qd)
    joint = int(np.argmax(far))
    contradictions.append(
        f"joint '{robot.velocity_names[joint]}' moves from {recording.q[:, joint].min():.3g} to "
        f"{recording.q[:, joint].max():.3g} rad, far beyond its limits {robot.lower_limits[joint]:.3g} to "
        f"{robot.upper_limits[joint]:.3g} rad: another robot, other units, or positions of the motors"
    )
    return recording


def _too_fast(recording: LoggedSignals, segments: tuple[slice, ...], robot: Robot, contradictions: list[str]) -> None:
    """Compare the changes of positions over a tenth of each segment, which noise hardly moves, with velocity limits."""
    limits = np.where(robot.velocity_limits > 0.0, robot.velocity_limits, np.inf)
    rates = np.zeros(robot.n)
    for part in segments:
        step = max(1, (part.stop - part.start) // 10)
        q, time = recording.q[part][::step], recording.time[part][::step]
        rates = np.maximum(rates, np.abs(np.diff(q, axis=0) / np.diff(time)[:, None]).max(axis=0, initial=0.0))
    joint = int(np.argmax(rates / limits))
    if rates[joint] > TOO_FAST * limits[joint]:
        contradictions.append(
            f"joint '{robot.velocity_names[joint]}' moves at {rates[joint]:.3g} {robot.coordinate_units[joint]}/s, "
            f"{rates[joint] / limits[joint]:.3g} times its velocity limit: times in another unit, or positions of the "
            "motors"
        )


def _efforts(
    recording: LoggedSignals, robot: Robot, findings: list[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell measured efforts from constant columns, and find saturated samples: joints (n,) and samples (k, n)."""
    names, effort = robot.velocity_names, recording.effort
    constant = np.ptp(effort, axis=0) == 0.0
    if constant.any():
        findings.append(f"effort is constant, so it was not measured: {_listed(names, constant)}")
    saturated = np.zeros(effort.shape, dtype=bool)
    for joint in np.flatnonzero(~constant):
        column, limit = effort[:, joint], robot.effort_limits[joint]
        for extreme in (column.max(), column.min()):
            there = column == extreme
            if 0.0 < AT_LIMIT * limit <= abs(extreme) <= limit * (1.0 + 1e-9):
                there = np.sign(extreme) * column >= AT_LIMIT * limit
            elif there.sum() < 5 or (there[1:] & there[:-1]).sum() < 3 or abs(extreme) <= 0.5 * np.abs(column).max():
                continue
            saturated[there, joint] = True
            findings.append(
                f"effort of '{names[joint]}' stays at {extreme:.4g} in {int(there.sum())} samples: saturated; they and "
                "those that the filter mixes with them are left out of the fit"
            )
    over = (np.abs(effort).max(axis=0) > 1.05 * robot.effort_limits) & ~constant & (robot.effort_limits > 0.0)
    if over.any():
        findings.append(f"efforts exceed the model's limits, so their unit may not be N·m: {_listed(names, over)}")
    return np.asarray(~constant), saturated


def _velocities(
    recording: LoggedSignals,
    segments: tuple[slice, ...],
    names: tuple[str, ...],
    findings: list[str],
    contradictions: list[str],
) -> LoggedSignals:
    """Compare measured velocities with differences of positions: unit, sign, order and use."""
    if recording.qd is None:
        return recording
    slopes = np.concatenate([np.gradient(recording.q[s], recording.time[s], axis=0) for s in segments])
    rates = np.concatenate([recording.qd[s] for s in segments])
    slopes, rates = slopes - slopes.mean(axis=0), rates - rates.mean(axis=0)
    sizes, others = np.linalg.norm(slopes, axis=0), np.linalg.norm(rates, axis=0)
    moves = (sizes > 1e-6) & (others > 1e-12)
    likeness = (slopes.T @ rates) / np.where(np.outer(sizes, others) > 0.0, np.outer(sizes, others), np.inf)
    useful = True
    constant = np.ptp(recording.qd, axis=0) == 0.0
    if constant.any():
        useful = False
        findings.append(f"velocity is constant, so it was not measured: {_listed(names, constant)}")
    for joint in np.flatnonzero(moves):
        own, best = likeness[joint, joint], int(np.argmax(np.abs(likeness[joint])))
        if own < -0.7:
            contradictions.append(f"velocity of '{names[joint]}' has the opposite sign of its position's slope")
        elif own < 0.7 and best != joint and abs(likeness[joint, best]) > 0.9:
            contradictions.append(
                f"the position of '{names[joint]}' moves with the velocity column of '{names[best]}': columns are "
                "swapped"
            )
        elif own < 0.7:
            useful = False
            findings.append(f"velocity of '{names[joint]}' does not fit its position (correlation {own:.2f}); not used")
        else:
            ratio = sizes[joint] / others[joint]  # noise in one of both moves it from ratio · own to ratio / own
            if not (ratio * own < 1.25 and ratio / own > 0.8):
                useful = False
                findings.append(
                    f"velocity of '{names[joint]}' is {1.0 / ratio:.3g} times the slope of its position: another "
                    "unit or the motor's; not used"
                )
    if useful and not contradictions and moves.any():
        return recording
    return recording._replace(qd=None)


def _listed(names: tuple[str, ...], which: NDArray[np.bool_]) -> str:
    return ", ".join(f"'{name}'" for name, one in zip(names, which, strict=True) if one)
