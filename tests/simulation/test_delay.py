"""The computation delay: torques take effect late, by parts of a period and by several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link

MASS, PERIOD = 2.0, 0.05
STAY = ch.PointToPoint([0.0], [0.0], 1.0)


def slider() -> ch.Robot:
    """A mass on a horizontal rail."""
    joint = Joint("rail", "prismatic", "base", "cart", axis=[1.0, 0.0, 0.0])
    return ch.Robot(Description("slider", links=(Link("base"), Link("cart", Inertia(mass=MASS))), joints=(joint,)))


def exact(delay: float, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States, torques called for and torques in force at the calls, by matrix exponentials between all switches."""
    kp, kd = 30.0, 8.0
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0 / MASS]])

    def move(x: np.ndarray, u: float, h: float) -> np.ndarray:
        blocks = scipy.linalg.expm(np.block([[A, B], [np.zeros((1, 3))]]) * h)
        return blocks[:2, :2] @ x + blocks[:2, 2] * u

    x, states, torques, in_force = np.array([0.3, 0.0]), [], [], []
    whole, part = int(delay / PERIOD + 1e-9), delay % PERIOD
    if PERIOD - part < 1e-9 or part < 1e-9:
        whole, part = round(delay / PERIOD), 0.0
    for k in range(steps):
        states.append(x)
        torques.append(-kp * x[0] - kd * x[1])
        before = torques[max(k - whole - 1, 0)]
        after = torques[max(k - whole, 0)]
        in_force.append(before if part else after)
        x = move(move(x, before, part), after, PERIOD - part)
    return np.array(states), np.array(torques), np.array(in_force)


@pytest.mark.parametrize("periods", [0.4, 1.0, 1.75, 3.0])
@pytest.mark.parametrize("integrator", ["rk4", "DOP853"])
def test_the_torque_takes_effect_exactly_by_the_delay_later(periods: float, integrator: str) -> None:
    delay = periods * PERIOD
    states, torques, in_force = exact(delay, 31)
    control = ch.PDGravity(slider(), kp=30.0, kd=8.0)
    run = ch.simulate(
        ch.Plant(slider(), delay=delay), control, STAY, duration=1.5, period=PERIOD, start=[0.3], integrator=integrator
    )
    np.testing.assert_allclose(run.q[:, 0], states[:, 0], atol=1e-10)
    np.testing.assert_allclose(run.qd[:, 0], states[:, 1], atol=1e-10)
    np.testing.assert_allclose(run.tau[:, 0], torques, atol=1e-9)
    np.testing.assert_allclose(run.tau_applied[:, 0], in_force, atol=1e-9)
    assert run.attrs["delay"] == delay


def test_without_a_delay_nothing_is_recorded_of_it() -> None:
    run = ch.simulate(slider(), ch.PDGravity(slider(), kp=30.0, kd=8.0), STAY, duration=0.5, start=[0.3])
    assert "tau_applied" not in run


def test_a_plain_law_sees_the_same_delay() -> None:
    def law(now: ch.control.Now) -> Any:
        return -30.0 * now.q - 8.0 * now.qd if float(now.t) >= 0.0 else None  # cannot be traced

    options: dict[str, Any] = {"duration": 1.0, "period": PERIOD, "start": [[0.3], [0.1]]}
    late = ch.Plant(slider(), delay=0.7 * PERIOD)
    with pytest.warns(ch.simulation.UncompiledWarning):
        plain = ch.simulate(late, law, STAY, **options)
    compiled = ch.simulate(late, ch.PDGravity(slider(), kp=30.0, kd=8.0), STAY, **options)
    for name in ("q", "qd", "tau", "tau_applied"):
        np.testing.assert_allclose(plain[name], compiled[name], atol=1e-12)


def test_too_long_a_delay_makes_the_loop_unstable() -> None:
    """m x'' = -kp x - kd x', late by T: the phase margin allows T < atan(kd w / kp) / w at the crossing."""
    kp, kd = 200.0, 20.0
    w = np.sqrt((kd**2 + np.sqrt(kd**4 + 4.0 * MASS**2 * kp**2)) / (2.0 * MASS**2))
    longest = np.arctan2(kd * w, kp) / w
    control = ch.PDGravity(slider(), kp=kp, kd=kd)
    period = 1e-4
    growth = {}
    for share in (0.9, 1.1):
        run = ch.simulate(
            ch.Plant(slider(), delay=share * longest),
            control,
            STAY,
            duration=8.0,
            period=period,
            start=[1e-4],
            record=ch.Recording(every=10),
        )
        swing = np.abs(run.q.values[:, 0])
        growth[share] = swing[-2000:].max() / swing[2000:4000].max()
    assert growth[0.9] < 0.5
    assert growth[1.1] > 2.0
