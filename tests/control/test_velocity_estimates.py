"""Velocities from encoders for any law: against sensors, Riccati equations, poles and margins computed elsewhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import DifferencedVelocity, KalmanVelocity, MomentumVelocity
from chasles.control.linear_quadratic.kalman import stationary_kalman_gains
from chasles.control.velocity_estimates import VelocityEstimate
from chasles.engine import Record

ARM = ch.load("planar2r")
MASS = ch.Robot.from_dh([{"kind": "prismatic", "mass": 2.0}], gravity=(0.0, 0.0, 0.0))
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 0.5)
REST = ch.PointToPoint([0.0], [0.0], 1.0)
PERIOD = 0.005
LAW = ch.ComputedTorque(ARM, kp=400.0, kd=40.0, ki=800.0)


def twice_the_velocity(now: Any) -> Any:
    return 2.0 * now.qd


def called(estimate: VelocityEstimate, q: float, **memory: float) -> tuple[float, Record]:
    """Estimated velocity of the mass, and the memory after it, for a memory of one joint."""
    states = {name: np.atleast_1d(value) for name, value in memory.items()}
    started = {**states, "started": 1.0, "inner": {}}
    command = estimate.evaluate([q], [7.0], REST(0.0), memory=started, period=PERIOD)
    return float(command.tau[0]) / 2.0, command.memory


@pytest.mark.parametrize("filter_time", [0.0, 0.012])
def test_differences_are_those_of_the_plants_sensors(filter_time: float) -> None:
    """The sensors of the plant differentiate by code of their own; from rest both begin with the velocity 0."""
    sensors = ch.Sensors(ARM, velocity="differentiated", filter_time=filter_time)
    heavy = ARM.with_payload(1.0)
    expected = ch.simulate(ch.Plant(heavy, sensors=sensors), LAW, MOTION, period=PERIOD)
    run = ch.simulate(heavy, DifferencedVelocity(ARM, LAW, filter_time=filter_time), MOTION, period=PERIOD)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-12)


@pytest.mark.parametrize("noise", [0.5, 1e3, 1e5])
def test_kalman_gains_are_those_of_the_riccati_equation(noise: float) -> None:
    """For a unit mass under an unknown acceleration that is constant for a period, and an encoder's noise of 1."""
    h = PERIOD
    effect = np.array([0.5 * h**2, h])
    L = stationary_kalman_gains([[1.0, h], [0.0, 1.0]], [[1.0, 0.0]], noise**2 * np.outer(effect, effect), 1.0).L[:, 0]
    r = math.sqrt(1.0 - L[0])
    law = KalmanVelocity(MASS, twice_the_velocity, bandwidth=-math.sqrt(2.0) * math.log(r) / h)
    velocity, memory = called(law, 1.0, position=0.0, velocity=0.0)
    assert velocity == pytest.approx(L[1], rel=1e-8)
    acceleration = 2.0 * velocity / 2.0  # of 2 kg under the torque sent
    assert memory.position[0] == pytest.approx(L[0] + h * velocity + 0.5 * h**2 * acceleration, rel=1e-8)
    assert memory.velocity[0] == pytest.approx(velocity + h * acceleration, rel=1e-8)


@pytest.mark.parametrize("bandwidth", [10.0, 150.0])
def test_errors_of_the_momentum_observer_have_three_equal_poles(bandwidth: float) -> None:
    """Differences of the memory do not depend on the torque, which both copies send: here none."""
    law = MomentumVelocity(MASS, lambda now: 0.0 * now.qd, bandwidth=bandwidth)
    columns = [called(law, 0.0, **dict(zip(("position", "velocity", "disturbance"), row, strict=True)))[1] for row in
               np.eye(3)]  # fmt: skip
    step = np.array(
        [[float(column[name][0]) for column in columns] for name in ("position", "velocity", "disturbance")]
    )
    expected = np.poly(np.full(3, math.exp(-bandwidth * PERIOD)))
    np.testing.assert_allclose(np.poly(step), expected, atol=1e-9)


@pytest.mark.parametrize("bandwidth", [50.0, 352.0, 1e4])
def test_errors_of_the_kalman_filter_decay_with_its_poles_and_never_alternate(bandwidth: float) -> None:
    """Poles of z² - (2 - α - β) z + 1 - α: damping ratio 1/√2 at low bandwidths, no slower at high ones."""
    law = KalmanVelocity(MASS, lambda now: 0.0 * now.qd, bandwidth=bandwidth)
    columns = [called(law, 0.0, position=p, velocity=v)[1] for p, v in np.eye(2)]
    z = np.linalg.eigvals([[float(column[name][0]) for column in columns] for name in ("position", "velocity")])
    expected = max(math.exp(-bandwidth * PERIOD / math.sqrt(2.0)), 3.0 - math.sqrt(8.0))
    np.testing.assert_allclose(np.abs(z), expected, atol=1e-6)


def test_an_unknown_force_misleads_the_kalman_filter_as_stated_and_the_observer_not_at_all() -> None:
    """A mass of 2 kg under an unknown force of 3 N, held still: true velocity 0."""
    h, bandwidth, force = 1e-3, 40.0, 3.0
    laws = {
        "kalman": KalmanVelocity(MASS, lambda now: 0.0 * now.qd - force, bandwidth=bandwidth),
        "momentum": MomentumVelocity(MASS, lambda now: 0.0 * now.qd - force, bandwidth=bandwidth),
    }
    end = {}
    for name, law in laws.items():
        memory: Any = law.memory
        for _ in range(1000):
            memory = law.evaluate([0.0], [0.0], REST(0.0), memory=memory, period=h).memory
        end[name] = float(memory.velocity[0])
    assert end["kalman"] == pytest.approx(-math.sqrt(2.0) * force / 2.0 / bandwidth, rel=0.05)
    assert abs(end["momentum"]) < 1e-9


def test_margins_of_plain_differences_are_those_of_differentiated_velocities() -> None:
    """`loop_margins` puts differences into the loop by code of its own; for laws that are linear in the velocity."""
    for law in (ch.PDGravity(ARM, kp=400.0, kd=40.0), ch.control.TimeVaryingRegulator(ARM)):
        expected = ch.control.loop_margins(ARM, law, MOTION, period=PERIOD, delay=1.0)
        margins = ch.control.loop_margins(
            ARM, DifferencedVelocity(ARM, law), MOTION, period=PERIOD, delay=1.0, velocity="measured"
        )
        np.testing.assert_allclose(margins.radius, expected.radius, rtol=1e-7)
        np.testing.assert_allclose(margins.disk, expected.disk, rtol=1e-6)


@pytest.mark.parametrize("kind", [KalmanVelocity, MomentumVelocity])
def test_slow_filters_cost_margin(kind: Any) -> None:
    measured = ch.control.loop_margins(ARM, LAW, MOTION, period=PERIOD, velocity="measured").disk.min()
    margins = [
        ch.control.loop_margins(
            ARM, kind(ARM, LAW, bandwidth=bandwidth), MOTION, period=PERIOD, velocity="measured"
        ).disk.min()
        for bandwidth in (100.0, 400.0)
    ]
    assert 0.0 < margins[0] < margins[1] < measured


def test_estimates_are_compiled_varied_and_run_from_python() -> None:
    law = MomentumVelocity(ARM, ch.control.TimeVaryingRegulator(ARM), bandwidth=100.0)
    run = ch.simulate(ARM, law, MOTION, period=PERIOD, vary={"controller.bandwidth": [[50.0, 50.0], [100.0, 100.0]]})
    online = ch.control.OnlineLaw(law, MOTION, period=PERIOD)
    torques = [online(t, q, [9.0, -9.0]) for t, q in zip(run.time.values[:20], run.q.values[1, :20], strict=True)]
    np.testing.assert_allclose(torques, run.tau.values[1, :20], rtol=1e-7, atol=1e-7)


def test_what_has_no_estimate_is_refused() -> None:
    satellite = ch.load("planar2r").with_free_base()
    with pytest.raises(ArgumentError, match="revolute and prismatic joints only"):
        DifferencedVelocity(satellite, lambda now: 0.0 * now.qd)
    with pytest.raises(ArgumentError, match="bandwidth"):
        KalmanVelocity(ARM, LAW, bandwidth=0.0)
    with pytest.raises(ArgumentError, match="filter_time"):
        DifferencedVelocity(ARM, LAW, filter_time=-1.0)
