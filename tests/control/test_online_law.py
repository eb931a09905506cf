"""Laws on line: a loop of one's own gives the torques of a simulation, for laws with schedules and memories."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import OnlineLaw

ARM = ch.load("planar2r")
LOADED = ARM.with_payload(1.0)
MOTION = ch.PointToPoint([0.1, -0.2], [0.8, 0.4], 0.5)
PERIOD = 0.01
LAWS: dict[str, Any] = {
    "regulator": lambda: ch.control.TimeVaryingRegulator(ARM, integral_error=0.01),
    "LQG": lambda: ch.control.LinearQuadraticGaussian(ARM, integral_error=0.01),
    "scheduled": lambda: ch.control.GainScheduledRegulator(ARM, update_period=0.1),
    "adaptive": lambda: ch.control.SlotineLi(ARM, rate=10.0, damping=10.0, adaptation=1.0),
    "observer": lambda: ch.control.DisturbanceObserver(ARM, ch.control.TimeVaryingRegulator(ARM), bandwidth=20.0),
}


def driven(online: OnlineLaw, duration: float) -> np.ndarray:
    """Torques of a loop in Python: the classical method in four steps a period."""
    q, qd, torques = np.array([0.12, -0.2]), np.zeros(2), []
    h = PERIOD / 4

    def rates(x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return np.concatenate([x[2:], LOADED.forward_dynamics(x[:2], x[2:], tau)])

    for k in range(round(duration / PERIOD) + 1):
        tau = online(k * PERIOD, q, qd)
        torques.append(tau)
        x = np.concatenate([q, qd])
        for _ in range(4):
            k1 = rates(x, tau)
            k2 = rates(x + 0.5 * h * k1, tau)
            k3 = rates(x + 0.5 * h * k2, tau)
            k4 = rates(x + h * k3, tau)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        q, qd = x[:2], x[2:]
    return np.array(torques)


@pytest.mark.parametrize("name", LAWS)
def test_a_loop_of_ones_own_gives_the_torques_of_a_simulation(name: str) -> None:
    law = LAWS[name]()
    online = OnlineLaw(law, MOTION, period=PERIOD)
    steps = ch.integrators.Steps("rk4", 4)
    run = ch.simulate(LOADED, law, MOTION, period=PERIOD, start=[0.12, -0.2], integrator=steps)
    first = driven(online, MOTION.duration)
    np.testing.assert_allclose(first, run.tau.values, atol=1e-9)
    online.reset()
    np.testing.assert_array_equal(driven(online, MOTION.duration), first)


def test_times_beside_the_calls_take_the_nearest_row_and_the_last_one_holds() -> None:
    online = OnlineLaw(ch.control.TimeVaryingRegulator(ARM), MOTION, period=PERIOD)
    end = MOTION(MOTION.duration)
    hold = ARM.gravity_torque(end.q)
    np.testing.assert_allclose(online(3.0, end.q, end.qd), hold, atol=1e-6)
    now = MOTION(0.2031)
    np.testing.assert_allclose(online(0.2031, now.q, now.qd), online(0.1999, *MOTION(0.1999)[:2]), atol=1e-12)


def test_a_wrong_measurement_leaves_the_memory_as_it_was() -> None:
    online = OnlineLaw(LAWS["adaptive"](), MOTION, period=PERIOD)
    online(0.0, [0.1, 0.0], [0.0, 0.0])
    before = np.array(online.memory.estimate)
    with pytest.raises(ArgumentError, match=r"q\[0\] is nan"):
        online(0.01, [np.nan, 0.0], [0.0, 0.0])
    np.testing.assert_array_equal(online.memory.estimate, before)
