"""Filters behind laws: SciPy's filters, exact gains at their frequency, loops with resonances, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import LeadLagFilter, LowPassFilter, NotchFilter, OnlineLaw
from chasles.control.torque_filters import AnalogFilter, sampled

ARM = ch.load("planar2r")
PERIOD = 0.005
REST = ch.PointToPoint([0.0, 0.0], [0.0, 0.0], 1.0)
FILTERS: dict[str, tuple[Any, list[float], list[float], float]] = {
    "notch": (
        lambda law: NotchFilter(ARM, law, frequency=80.0, width=0.4, depth=0.1),
        [1.0, 2 * 0.1 * 0.4 * 80.0, 80.0**2],
        [1.0, 2 * 0.4 * 80.0, 80.0**2],
        80.0,
    ),
    "lead": (lambda law: LeadLagFilter(ARM, law, zero=20.0, pole=125.0), [1 / 20.0, 1.0], [1 / 125.0, 1.0], 50.0),
    "lag": (lambda law: LeadLagFilter(ARM, law, zero=40.0, pole=10.0), [1 / 40.0, 1.0], [1 / 10.0, 1.0], 20.0),
    "low pass": (
        lambda law: LowPassFilter(ARM, law, frequency=300.0, damping=0.6),
        [300.0**2],
        [1.0, 2 * 0.6 * 300.0, 300.0**2],
        300.0,
    ),
}


def filtered(law: Any, signal: np.ndarray) -> np.ndarray:
    """The first joint's filtered torques for a law that sends measured positions as they are."""
    online = OnlineLaw(law, REST, period=PERIOD)
    return np.array([online(k * PERIOD, [value, 0.0], [0.0, 0.0])[0] for k, value in enumerate(signal)])


@pytest.mark.parametrize("name", FILTERS)
def test_torques_are_those_of_scipy(name: str) -> None:
    """SciPy's bilinear transform about the prewarped rate, from the steady state of the first value."""
    make, b, a, omega = FILTERS[name]
    rate = 0.5 * omega / np.tan(0.5 * omega * PERIOD)
    B, A = scipy.signal.bilinear(b, a, rate)
    signal = 1.0 + np.cumsum(np.random.default_rng(0).normal(size=100))
    expected, _ = scipy.signal.lfilter(B, A, signal, zi=scipy.signal.lfilter_zi(B, A) * signal[0])
    np.testing.assert_allclose(filtered(make(lambda now: 1.0 * now.q), signal), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FILTERS)
def test_gain_and_phase_at_the_frequency_are_those_of_continuous_time(name: str) -> None:
    make, b, a, omega = FILTERS[name]
    z = np.exp(-1j * omega * PERIOD * np.arange(4000))
    impulse = filtered(make(lambda now: 1.0 * now.q), np.r_[0.0, 1.0, np.zeros(2998)])[1:]
    response = (impulse * z[: len(impulse)]).sum()
    np.testing.assert_allclose(response, np.polyval(b, 1j * omega) / np.polyval(a, 1j * omega), atol=1e-9)


def test_a_notch_makes_a_stiff_law_of_elastic_joints_stable() -> None:
    """Torques at the motor, velocities at the link: the law excites the resonance, and the notch leaves it alone."""
    rod = ch.Robot.from_dh([{"a": 0.5, "mass": 2.0, "inertia": [0.0, 0.1, 0.1]}], gravity=(0.0, 0.0, 0.0))
    J, rotor, stiffness = rod.mass_matrix([0.0]).item(), 0.05, 200.0
    plant = ch.Plant(rod, elastic_joints=ch.ElasticJoints(rod, stiffness=stiffness, rotor_inertia=rotor, damping=0.05))
    resonance = np.sqrt(stiffness * (1.0 / J + 1.0 / rotor))
    law = ch.control.PD(rod, kp=100.0 * (J + rotor), kd=20.0 * (J + rotor))
    motion = ch.PointToPoint([0.0], [0.5], 0.5)
    notched = NotchFilter(rod, law, frequency=resonance, width=0.7)
    plain, quiet = (ch.simulate(plant, each, motion, duration=2.0) for each in (law, notched))
    late = [np.ptp(run.error.isel(time=run.time > 1.7).values) for run in (plain, quiet)]
    assert late[1] < 1e-3 < 0.05 < late[0]


def test_filters_are_compiled_varied_and_part_of_the_margins() -> None:
    law = NotchFilter(ARM, ch.ComputedTorque(ARM, kp=100.0, kd=20.0), frequency=60.0, width=0.5)
    motion = ch.PointToPoint([0.0, 0.0], [0.5, 0.5], 0.5)
    depths = {"controller.depth": [[1.0, 1.0], [0.0, 0.0]]}
    run = ch.simulate(ARM, law, motion, period=PERIOD, vary=depths)
    plain = ch.simulate(ARM, law.inner, motion, period=PERIOD)
    np.testing.assert_allclose(run.tau.isel(run=0), plain.tau, atol=1e-9)  # a depth of 1 is no filter
    assert np.abs(run.tau.isel(run=1) - plain.tau).max() > 0.1
    margins = [ch.control.loop_margins(ARM, each, motion, period=PERIOD).disk.min() for each in (law, law.inner)]
    assert margins[0] < margins[1]


def test_frequencies_beyond_half_the_sample_rate_are_refused() -> None:
    law = LowPassFilter(ARM, ch.control.PD(ARM, kp=1.0, kd=1.0), frequency=700.0)
    with pytest.raises(ArgumentError, match=r"low-pass filter at 700 rad/s needs a period below .*0.00448799 s"):
        ch.simulate(ARM, law, REST, period=PERIOD)
    with pytest.raises(ArgumentError, match=r"depth\[0\] is 2.0; it must be at most 1"):
        NotchFilter(ARM, law, frequency=10.0, depth=2.0)
    with pytest.raises(ArgumentError, match=r"zero\[1\] is -1.0; it must be positive"):
        LeadLagFilter(ARM, law, zero=[1.0, -1.0], pole=2.0)


def test_filters_of_first_order_have_no_pole_on_the_unit_circle() -> None:
    """With rate = 1 / tan(ω h / 2) it is (0.5 rate (z - 1) + z + 1) / (0.25 rate (z - 1) + z + 1)."""
    (b0, b1, b2), (a1, a2) = sampled(AnalogFilter(8.0, (0.0, 0.5, 1.0), (0.0, 0.25, 1.0)), 0.01)
    rate = 1.0 / np.tan(0.04)
    np.testing.assert_allclose(
        [b0[0], b1[0], b2[0]], np.array([1.0 + 0.5 * rate, 1.0 - 0.5 * rate, 0.0]) / (1.0 + 0.25 * rate)
    )
    np.testing.assert_allclose([a1[0], a2[0]], [(1.0 - 0.25 * rate) / (1.0 + 0.25 * rate), 0.0])
