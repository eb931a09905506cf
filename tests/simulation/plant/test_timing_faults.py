"""Jitter and lost samples: closed forms of a unit mass, statistics, seeds, compiled and plain laws, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError

ARM = ch.load("planar2r")
SLIDER = ch.Robot.from_dh([{"kind": "prismatic", "mass": 1.0}], gravity=(0.0, 0.0, 0.0))
PERIOD = 0.01
REST = ch.PointToPoint([0.0], [0.0], 2.0)
MOTION = ch.PointToPoint([0.0, 0.0], [0.8, 0.5], 0.5)


class Staircase(ch.Controller):
    """The k-th call asks for the force k."""

    name = "staircase"

    def __init__(self) -> None:
        self.memory = {"calls": np.zeros(1)}

    def law(self, now: Any) -> Any:
        tau = 1.0 * now.memory.calls
        now.memory.calls += 1.0
        return tau


def velocities(calls: int, *, period: float = PERIOD, **options: Any) -> np.ndarray:
    plant = ch.Plant(SLIDER, **options)
    run = ch.simulate(plant, Staircase(), REST, duration=calls * period, period=period)
    values: np.ndarray = run.qd.values[..., 0]
    return values


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.013])
def test_each_torque_acts_from_its_own_time_on(delay: float) -> None:
    """A unit mass under the force k: its velocity gains period (k - m) - lateness of the arrival, in each period."""
    jitter, late = 0.005, int(delay / PERIOD)
    faults = ch.TimingFaults(jitter=jitter, seed=3)
    gains = np.diff(velocities(100, delay=delay, timing=faults)) / 1.0
    drawn = np.random.default_rng(3).random((101, 2))[:, 0]
    k = np.arange(2 + late, 100)
    lateness = delay - late * PERIOD + jitter * drawn[k]
    np.testing.assert_allclose(gains[k], PERIOD * (k - late) - lateness, rtol=1e-9, atol=1e-12)


def test_lost_torques_leave_the_last_ones_in_force() -> None:
    gains = np.diff(velocities(300, timing=ch.TimingFaults(lost=0.3, seed=5))) / PERIOD
    lost = np.random.default_rng(5).random((301, 2))[:300, 1] < 0.3
    expected, last = [], 0.0
    for k in range(300):
        last = float(k) if k == 0 or not lost[k] else last
        expected.append(last)
    np.testing.assert_allclose(gains, expected, atol=1e-9)
    assert 60 < lost.sum() < 120


def test_no_faults_are_an_ordinary_loop() -> None:
    law = ch.ComputedTorque(ARM, kp=100.0, kd=20.0)
    for delay in (0.0, 0.004, PERIOD):
        none = ch.simulate(ch.Plant(ARM, delay=delay, timing=ch.TimingFaults()), law, MOTION, period=PERIOD)
        plain = ch.simulate(ch.Plant(ARM, delay=delay), law, MOTION, period=PERIOD, integrator="dormand-prince")
        np.testing.assert_allclose(none.q, plain.q, atol=1e-7)
        np.testing.assert_allclose(none.qd, plain.qd, atol=1e-6)


def test_compiled_plain_and_scipy_loops_have_the_same_faults() -> None:
    plant = ch.Plant(ARM.with_payload(1.0), timing=ch.TimingFaults(jitter=0.006, lost=0.2, seed=1))

    def law(now: Any) -> Any:
        return 20.0 * (now.reference.q - now.q) + 4.0 * (now.reference.qd - now.qd)

    def plain(now: Any) -> Any:
        return np.array([float(value) for value in law(now)])

    def run(law: Any, **options: Any) -> Any:
        return ch.simulate(plant, law, MOTION, period=PERIOD, **options)

    compiled, implicit = run(law), run(law, integrator="rodas5p")
    with pytest.warns(UserWarning, match="cannot be compiled"):
        python = run(plain)
    scipy = run(law, integrator="DOP853")
    for other in (python, scipy, implicit):
        np.testing.assert_allclose(other.q, compiled.q, atol=2e-6)
    assert np.abs(compiled.q - ch.simulate(ARM.with_payload(1.0), law, MOTION, period=PERIOD).q).max() > 1e-4


def test_seeds_make_runs_reproducible_and_vary_them() -> None:
    plant = ch.Plant(ARM, timing=ch.TimingFaults(jitter=0.005, lost=0.3, seed=7))
    law = ch.ComputedTorque(ARM, kp=100.0, kd=20.0)
    first, again = (ch.simulate(plant, law, MOTION, period=PERIOD) for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)
    seeds = ch.simulate(plant, law, MOTION, period=PERIOD, vary={"timing.seed": [7, 8, 7]})
    np.testing.assert_array_equal(seeds.q.isel(run=0), seeds.q.isel(run=2))
    assert np.abs(seeds.q.isel(run=0) - seeds.q.isel(run=1)).max() > 1e-6
    np.testing.assert_allclose(seeds.q.isel(run=0), first.q, atol=1e-9)


def test_jitter_costs_damping() -> None:
    """Errors of a unit mass, kp h² = 0.3 and kd h = 0.7, decay more slowly if torques come up to h / 2 late."""
    law = ch.control.PD(SLIDER, kp=0.3 / PERIOD**2, kd=0.7 / PERIOD)
    kicked = {"duration": 0.5, "period": PERIOD, "start": ch.State([0.01])}
    sizes = {
        jitter: float(
            np.abs(
                ch.simulate(ch.Plant(SLIDER, timing=ch.TimingFaults(jitter=jitter)), law, REST, **kicked).q.isel(
                    time=slice(-10, None)
                )
            ).max()
        )
        for jitter in (0.0, 0.5 * PERIOD)
    }
    assert sizes[0.0] < sizes[0.5 * PERIOD] < 0.01


@pytest.mark.parametrize(
    ("options", "simulation", "message"),
    [
        ({"timing": ch.TimingFaults(jitter=0.011)}, {}, r"timing.jitter is 0.011 s.*more than 0.01 s"),
        ({"timing": ch.TimingFaults(jitter=0.007), "delay": 0.004}, {}, "more than 0.006 s"),
        ({"timing": ch.TimingFaults()}, {"integrator": "rk4"}, "timing faults need steps that begin"),
        ({"timing": ch.TimingFaults()}, {"vary": {"timing.lost": [0.0, 1.5]}}, r"timing.lost'\] is 1.5 in run 1"),
        ({"timing": ch.TimingFaults()}, {"vary": {"timing.seed": 0.5}}, "seed of timing faults is 0.5"),
    ],
)
def test_faults_that_cannot_be_are_refused(options: Any, simulation: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ch.simulate(ch.Plant(SLIDER, **options), Staircase(), REST, period=PERIOD, **simulation)


def test_wrong_arguments() -> None:
    for wrong in ({"lost": -0.1}, {"lost": 1.1}, {"jitter": -1.0}, {"jitter": np.nan}, {"seed": 0.5}):
        with pytest.raises(ArgumentError):
            ch.TimingFaults(**wrong)
    with pytest.raises(ArgumentError, match="timing must be a TimingFaults"):
        ch.Plant(SLIDER, timing=0.1)  # type: ignore[arg-type]
