"""Clocks of logs: each fault, planted in a log whose true times are known, is told, and repaired where asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from tests.identification.synthetic_logs import fourier_motion, real_planar

import chasles as ch
from chasles.base.errors import UnknownNameError
from chasles.base.findings import codes
from chasles.identification.logs.clock import CLOCK_FAULTS, ClockFault

FloatArray = NDArray[np.float64]

ARM = ch.load("planar2r")
PERIOD = 0.01
MOTION = fourier_motion(2, 10.0)
TAU = np.asarray(real_planar().inverse_dynamics(MOTION.q, MOTION.qd, MOTION.qdd))
RNG = np.random.default_rng(0)
Q = MOTION.q + 1e-5 * RNG.normal(size=MOTION.q.shape)
QD = MOTION.qd + 1e-3 * RNG.normal(size=MOTION.q.shape)


def read(
    time: FloatArray, velocities: bool, rows: Sequence[int] | NDArray[np.intp] | slice = slice(None),
    clock: ClockFault | Sequence[ClockFault] = (),
) -> ch.Log:  # fmt: skip
    """Log with these stamps; `rows` says which samples were written."""
    data = {"t": time, "q": Q[rows], "tau": TAU[rows]} | ({"qd": QD[rows]} if velocities else {})
    return ch.Log(ARM, data, clock=clock)


def jittering() -> FloatArray:
    return MOTION.t + 0.003 * np.random.default_rng(1).uniform(-1.0, 1.0, len(MOTION.t))


@pytest.mark.parametrize("velocities", [False, True])
def test_right_clocks_are_left_alone(velocities: bool) -> None:
    assert codes(read(MOTION.t, velocities).findings) == []
    log = read(MOTION.t, velocities, clock=CLOCK_FAULTS)
    assert codes(log.findings) == ["clock-without-fault"] * 4
    assert np.array_equal(log.time, MOTION.t)


@pytest.mark.parametrize("velocities", [False, True])
def test_jitter_is_told_by_the_smoothness_of_the_positions(velocities: bool) -> None:
    stamps = jittering()
    log = read(stamps, velocities)
    assert np.array_equal(log.time, stamps)
    found = log.findings[0]
    assert found.rule.code == "clock-jitter"
    assert found.facts["rms"] == pytest.approx(0.003 / np.sqrt(3.0), rel=0.05)  # of a uniform distribution
    mended = read(stamps, velocities, clock="jitter")
    assert np.abs(np.diff(mended.time) - PERIOD).max() < 1e-6
    assert codes(mended.findings) == ["clock-jitter"]


def test_samples_that_were_really_taken_at_irregular_times_keep_them() -> None:
    times = np.sort(jittering())
    position = CubicSpline(MOTION.t, MOTION.q)
    noise = 1e-5 * np.random.default_rng(2).normal(size=MOTION.q.shape)
    data = {
        "t": times,
        "q": position(times) + noise,
        "qd": position(times, 1),
        "tau": CubicSpline(MOTION.t, TAU)(times),
    }
    log = ch.Log(ARM, data, clock="jitter")
    assert np.array_equal(log.time, times)
    assert codes(log.findings) == ["clock-without-fault", "irregular-samples"]


def test_lost_samples_are_no_jitter_and_keep_their_time() -> None:
    kept = np.setdiff1d(np.arange(1000), [300, 301, 650])
    log = read(jittering()[kept], False, kept, clock="jitter")
    assert np.abs(log.time - MOTION.t[kept]).max() < 4.0 * 2.0 * 0.003 / np.sqrt(3.0 * len(kept))  # ends of a line
    assert "missing-samples" in codes(log.findings)


def test_a_coarse_clock_keeps_the_first_sample_of_a_tick_unless_they_are_spread() -> None:
    ticks = np.floor(MOTION.t * 10.0 + 1e-9) / 10.0
    log = read(ticks, False)
    assert codes(log.findings) == ["coarse-clock", "equal-times"]
    found = log.findings[0]
    assert (found.facts["tick"], found.facts["count"]) == (pytest.approx(0.1), 10)
    assert found.value == pytest.approx(0.9, abs=0.01)  # nine of ten samples have the time of the one before
    assert np.allclose(log.q, Q[::10])
    log = read(ticks, False, clock="jitter")
    assert np.allclose(np.diff(log.time), PERIOD)
    assert codes(log.findings) == ["coarse-clock"]


@pytest.mark.parametrize("rate", [0.75, 1.04, 1.325])
def test_a_clock_that_runs_wrong_is_told_by_velocities_of_all_joints(rate: float) -> None:
    log = read(MOTION.t * rate, True)
    (found,) = log.findings
    assert found.rule.code == "clock-drift"
    assert abs(found.facts["ratio"] - rate) < max(found.facts["half"], 1e-6) * 2.0
    assert log.qd is None
    assert np.array_equal(log.time, MOTION.t * rate)
    mended = read(MOTION.t * rate, True, clock="drift")
    assert np.abs(mended.time - MOTION.t).max() < 1e-3 * MOTION.t[-1]
    assert mended.qd is not None


def test_units_and_single_joints_are_no_clock() -> None:
    for velocities in (np.degrees(QD), QD * [1.3, 1.0]):
        log = ch.Log(ARM, {"t": MOTION.t, "q": Q, "qd": velocities, "tau": TAU})
        assert set(codes(log.findings)) == {"velocity-unit"}


@pytest.mark.parametrize("velocities", [False, True])
def test_jumps_of_the_clock_alone_are_closed(velocities: bool) -> None:
    stamps = MOTION.t.copy()
    stamps[400:] += 3.0
    stamps[700:] -= 6.0
    told = read(stamps, velocities).findings[0]
    assert (told.rule.code, told.value, told.facts["total"]) == ("clock-jumps", 2.0, pytest.approx(9.0))
    log = read(stamps, velocities, clock="jumps")
    assert np.allclose(log.time, MOTION.t)
    assert codes(log.findings) == ["clock-jumps"]
    assert len(log.segments) == 1


def test_a_gap_in_which_the_robot_moved_is_no_jump_of_the_clock() -> None:
    kept = np.r_[0:400, 460:1000]
    log = read(MOTION.t[kept], True, kept, clock="jumps")
    assert np.array_equal(log.time, MOTION.t[kept])
    assert codes(log.findings) == ["clock-without-fault", "gap"]


@pytest.mark.parametrize("velocities", [False, True])
def test_messages_written_twice_are_left_out_and_their_time_if_asked(velocities: bool) -> None:
    rows = np.sort(np.append(np.arange(1000), [100, 333, 700]))
    stamps = PERIOD * np.arange(len(rows))
    log = read(stamps, velocities, rows)
    assert log.findings[0].rule.code == "repeated-samples"
    assert log.findings[0].value == 3.0
    assert "takes out their time (0.03 of 10.02 s)" in str(log.findings[0])
    assert log.time[-1] == pytest.approx(stamps[-1])
    mended = read(stamps, velocities, rows, clock="repeats")
    assert np.allclose(mended.time, MOTION.t)
    assert np.array_equal(mended.q, Q)


def test_a_repair_that_velocities_contradict_is_not_made() -> None:
    # Samples were held while the joints moved on; in the second log, longer steps elsewhere make up for repeated ones.
    held = np.arange(1000)
    held[[100, 333, 700]] -= 1
    log = read(MOTION.t, True, held, clock="repeats")
    assert np.allclose(log.time, np.delete(MOTION.t, [100, 333, 700]))
    assert codes(log.findings) == ["repeated-samples", "clock-repair-contradicted", "missing-samples"]
    rows = np.sort(np.append(np.setdiff1d(np.arange(1000), np.arange(13, 990, 20)), np.arange(10, 990, 20)))
    log = read(MOTION.t, True, rows, clock="repeats")
    assert "clock-repair-contradicted" in codes(log.findings)
    assert log.duration == pytest.approx(9.99)


def test_wrong_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="there is no fault of a clock 'drifts'"):
        read(MOTION.t, False, clock="drifts")  # type: ignore[arg-type]
