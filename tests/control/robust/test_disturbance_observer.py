"""Disturbance observer: constant disturbances at the stated rate, payloads, and any inner controller."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from tests.control.adaptive.continuous_loops import waves
from tests.control.sampled_loop import Record, simulate

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import ComputedTorque, DisturbanceObserver, PythonLaw, SlotineLi

ARM = ch.load("planar2r").with_friction(viscous=0.3, coulomb=0.5, coulomb_velocity=0.2)
INNER = ComputedTorque(ARM, kp=400.0, kd=40.0)
MOTION = waves([[0.5, 0.4], [0.3, 0.2]], [[2.0, 3.0], [5.0, 3.7]])
PUSH = np.array([7.0, -4.0])


class Pushed(ch.control.Controller):
    """A controller whose torques reach the plant with an addition that it does not know of."""

    name = "pushed"

    def __init__(self, inner: Any, push: np.ndarray) -> None:
        self.inner, self.push, self.robot, self.memory = inner, push, inner.robot, {"inner": inner.memory}

    def law(self, now: ch.control.Now) -> Any:
        return self.inner.law(now.of("inner")) + self.push


def observe(law: DisturbanceObserver, period: float, duration: float, **options: Any) -> Record:
    start = {"q0": np.array([0.1, -0.2]), "qd0": np.array([1.0, -2.0])} | options
    return simulate(ARM, Pushed(law, PUSH), MOTION, duration=duration, period=period, **start)


@pytest.mark.parametrize("compensation", [0.0, 1.0])
def test_constant_disturbance_at_the_stated_rate(compensation: float) -> None:
    """r = d (1 - exp(-bandwidth t)), each joint for itself, from any state; sampling errs by period squared."""
    bandwidth = np.array([30.0, 80.0])
    law = DisturbanceObserver(ARM, INNER, bandwidth=bandwidth, compensation=compensation)
    errors = []
    for period in (2e-3, 1e-3):
        run = observe(law, period, 0.3)
        expected = PUSH * (1.0 - np.exp(-bandwidth * run.t[:, None]))
        errors.append(np.abs(run.memory[1:, :2] - expected[:-1]).max())
    assert errors[1] < 3e-3
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_nothing_is_seen_where_nothing_is() -> None:
    law = DisturbanceObserver(ARM, INNER, bandwidth=50.0)
    run = simulate(ARM, law, MOTION, duration=1.0, period=1e-3, q0=[0.1, -0.2], qd0=[1.0, -2.0])
    assert np.abs(run.memory[:, :2]).max() < 3e-3
    assert np.abs(run.tau).max() > 40.0


@pytest.mark.parametrize("bandwidth", [500.0, 5e4])
def test_no_bandwidth_makes_the_observer_unstable(bandwidth: float) -> None:
    run = observe(DisturbanceObserver(ARM, INNER, bandwidth=bandwidth, compensation=0.0), 1e-3, 0.5)
    assert np.abs(run.memory[100:, :2] - PUSH).max() < 0.05


@pytest.mark.parametrize(("heavier", "bandwidth"), [(3.0, 1e3 * np.log(3.0)), (2.2, 1e3 * np.log(11.0)), (0.1, 5e4)])
def test_a_model_that_is_too_heavy_makes_fast_compensation_unstable(heavier: float, bandwidth: float) -> None:
    """The pole of the loop is 1 - (1 - exp(-bandwidth h)) times the ratio of the inertias: above -1 below the limit."""
    rod = ch.Robot.from_dh([{"a": 0.5, "mass": 2.0, "inertia": [0.0, 0.1, 0.1]}], gravity=(0.0, 0.0, 0.0))
    model = rod.with_motor_inertia((heavier - 1.0) * rod.mass_matrix([0.0]).item()) if heavier > 1.0 else rod
    plant = rod if heavier > 1.0 else rod.with_motor_inertia((1.0 / heavier - 1.0) * rod.mass_matrix([0.0]).item())
    idle = PythonLaw(lambda now: 0.0 * now.qd)
    for share, stable in ((0.95, True), (1.05, heavier < 2.0)):
        law = DisturbanceObserver(model, idle, bandwidth=share * bandwidth)
        run = simulate(
            plant, Pushed(law, np.array([0.5])), waves([[0.0]], [[1.0]]), duration=0.4, period=1e-3, q0=[0.0]
        )
        assert (abs(run.memory[-1, 0] - 0.5) < 0.05) == stable


def test_unknown_payload_is_compensated() -> None:
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
    loaded = ARM.with_payload(2.0)
    plain = ch.simulate(loaded, INNER, motion, duration=4.0)
    law = DisturbanceObserver(ARM, INNER, bandwidth=100.0)
    ours = ch.simulate(loaded, law, motion, duration=4.0)
    assert np.sqrt((ours.error**2).mean().item()) < 0.1 * np.sqrt((plain.error**2).mean().item())
    assert np.abs(ours.error.isel(time=-1)).max() < 1e-9 < 1e-3 < np.abs(plain.error.isel(time=-1)).max()


def test_observer_only() -> None:
    """With no compensation it changes nothing and still knows the weight of the payload at rest."""
    motion = ch.PointToPoint([0.3, 0.4], [0.3, 0.4], duration=3.0)
    law = DisturbanceObserver(ARM, INNER, bandwidth=50.0, compensation=0.0)
    loaded = ARM.with_payload(2.0)
    plain, ours = ch.simulate(loaded, INNER, motion), ch.simulate(loaded, law, motion)
    assert np.allclose(plain.q.values, ours.q.values, rtol=0.0, atol=1e-12)
    run = simulate(loaded, law, lambda t: motion.motion(t, motion.parameters), duration=5.0, period=1e-3, q0=[0.3, 0.4])
    weight = ARM.gravity_torque(run.q[-1]) - loaded.gravity_torque(run.q[-1])
    assert np.abs(run.memory[-1, :2] - weight).max() < 1e-6


def test_any_controller_inside() -> None:
    adaptive = SlotineLi(ARM, rate=20.0, damping=40.0, adaptation=1.0)
    law = DisturbanceObserver(ARM, adaptive, bandwidth=20.0)
    assert set(law.parameters) == {*(f"inner.{name}" for name in adaptive.parameters), "bandwidth", "compensation"}
    assert law.memory_names[-len(adaptive.parameter_names) :] == adaptive.parameter_names
    assert len(law.memory_names) == law.memory_layout.size
    spring = PythonLaw(lambda now: 500.0 * (now.reference.q - now.q) - 40.0 * now.qd)
    motion = ch.PointToPoint([0.3, 0.4], [0.3, 0.4], duration=2.0)
    run = ch.simulate(ARM, DisturbanceObserver(ARM.with_gravity(np.zeros(3)), spring, bandwidth=20.0), motion)
    assert np.abs(run.error.isel(time=-1)).max() < 1e-4  # the weight is a disturbance of a weightless model


def test_what_the_inner_controller_asks_of_a_loop_is_asked_for() -> None:
    class Asking(Pushed):
        reference_kind = "pose"
        measured_wrench = "tool"

    law = DisturbanceObserver(ARM, Asking(INNER, PUSH), bandwidth=20.0)
    assert (law.reference_kind, law.measured_wrench, law.has_schedule) == ("pose", "tool", False)
    plain = DisturbanceObserver(ARM, INNER, bandwidth=20.0)
    assert (plain.has_schedule, plain.measured_wrench, plain.reference_kind) == (False, None, "joint")
    assert pickle.loads(pickle.dumps(plain)).name == plain.name


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"bandwidth\[1\] is 0.0; it must be positive"):
        DisturbanceObserver(ARM, INNER, bandwidth=[20.0, 0.0])
