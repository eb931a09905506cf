"""Sliding mode: the inequality of its theorem at every state, reaching in the promised time, and staying."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.control.adaptive.continuous_loops import kinetic_part, waves
from tests.control.calls import called
from tests.control.sampled_loop import simulate

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import ComputedTorque, SlidingMode
from chasles.trajectories import Motion

ARM = ch.load("planar2r").with_friction(viscous=0.3, coulomb=0.5, coulomb_velocity=0.2)
BOUNDS = np.array([2.0, 0.2, 0.2, 0.2, 0.07, 0.02, 0.02, 0.07, 0.02, 0.07])  # m, m c and I of a payload
RATE, REACHING, LAYER = 10.0, np.array([6.0, 4.0]), np.array([0.2, 0.3])
MOTION = waves([[0.5, 0.4], [0.3, 0.2]], [[2.0, 3.0], [5.0, 3.7]])


def controller(**options: Any) -> SlidingMode:
    given = {
        "rate": RATE,
        "reaching": REACHING,
        "layer": LAYER,
        "uncertain": "payload",
        "uncertainty": BOUNDS,
    } | options
    return SlidingMode(ARM, **given)


def plants(count: int, seed: int) -> list[ch.Robot]:
    """Arms with payloads within the bounds; every other one has the largest mass."""
    rng = np.random.default_rng(seed)
    result = []
    for k in range(count):
        mass = 2.0 if k % 2 else rng.uniform(0.0, 2.0)
        result.append(ARM.with_payload(mass, rng.uniform(-0.1, 0.1, 3), np.diag(rng.uniform(0.02, 0.03, 3))))
    return result


@pytest.mark.parametrize("disturbance", [0.0, 3.0])
def test_kinetic_part_falls_at_every_state_outside_the_layer(disturbance: float) -> None:
    """With M s' = tau + d - (M qdd_r + C qd_r + ...) and dM/dt - 2 C skew: V' = s^T that <= -reaching |s|."""
    law = controller(disturbance=disturbance)
    rng = np.random.default_rng(0)
    outside = 0
    for plant in plants(60, 1):
        for _ in range(10):
            q, qd = rng.normal(size=(2, 2)) * [[1.0], [3.0]]
            motion = Motion(q + 0.3 * rng.normal(size=2), qd + 2.0 * rng.normal(size=2), 5.0 * rng.normal(size=2))
            tau, _ = called(law, q, qd, motion)
            qd_r = motion.qd + RATE * (motion.q - q)
            qdd_r = motion.qdd + RATE * (motion.qd - qd)
            s = qd - qd_r
            push = disturbance * rng.uniform(-1.0, 1.0, 2)
            power = s * (tau + push - plant.regressors.passivity_torque(q, qd, qd_r, qdd_r))
            beyond = np.abs(s) > LAYER
            outside += beyond.sum()
            assert (power[beyond] <= -(REACHING * np.abs(s))[beyond] + 1e-9).all()
    assert outside > 600


def test_a_larger_error_breaks_the_inequality() -> None:
    """The bounds are not idle: with a tenth of them the gain is not enough."""
    law = controller(uncertainty=0.1 * BOUNDS, reaching=0.1)
    rng = np.random.default_rng(0)
    broken = 0
    for plant in plants(20, 1):
        q, qd = rng.normal(size=(2, 2))
        motion = Motion(q + 0.3, qd + 2.0, np.array([20.0, -20.0]))
        tau, _ = called(law, q, qd, motion)
        qd_r, qdd_r = motion.qd + RATE * (motion.q - q), motion.qdd + RATE * (motion.qd - qd)
        s = qd - qd_r
        broken += int(s @ (tau - plant.regressors.passivity_torque(q, qd, qd_r, qdd_r)) > 0.0)
    assert broken > 0


def test_layer_is_reached_in_the_promised_time_and_kept() -> None:
    law = controller()
    for k, plant in enumerate(plants(4, 2)):
        run = simulate(
            plant,
            law,
            MOTION,
            duration=3.0,
            period=2e-4,
            save_every=5,
            q0=np.array([0.3, -0.4]),
            qd0=np.array([-2.0, 3.0]),
        )
        planned = [MOTION(t) for t in run.t]
        e = np.array([m.q for m in planned]) - run.q
        s = run.qd - np.array([m.qd for m in planned]) - RATE * e
        V = kinetic_part(plant, run.q, s)
        inertia = np.linalg.eigvalsh(plant.mass_matrix(run.q)).max()
        promised = np.sqrt(2.0 * V[0] * inertia) / REACHING.min()
        inside = (np.abs(s) <= LAYER * 1.02).all(axis=1)
        assert not inside[0]
        arrived = run.t[np.argmax(inside)]
        assert arrived <= promised, k
        assert inside[run.t > promised].all(), k
        bound = 1.02 * LAYER / RATE
        assert (np.abs(e[run.t > promised + 1.0]) <= bound).all(), k


def test_kinetic_part_falls_no_slower_than_promised() -> None:
    """sqrt(V) decreases at least at the rate reaching / sqrt(2 largest eigenvalue of M) until a joint arrives."""
    law = controller(layer=1e-3)
    plant = plants(2, 3)[1]
    run = simulate(plant, law, MOTION, duration=0.05, period=2e-5, q0=np.array([0.3, -0.4]), qd0=np.array([-2.0, 3.0]))
    planned = [MOTION(t) for t in run.t]
    s = run.qd - np.array([m.qd for m in planned]) - RATE * (np.array([m.q for m in planned]) - run.q)
    both = (np.abs(s) > 1e-3).all(axis=1)
    until = len(both) if both.all() else int(np.argmin(both))
    assert until > 100
    root = np.sqrt(kinetic_part(plant, run.q, s))[:until]
    inertia = np.linalg.eigvalsh(plant.mass_matrix(run.q)).max()
    assert (np.diff(root) / 2e-5 <= -0.99 * REACHING.min() / np.sqrt(2.0 * inertia)).all()


def test_sampled_at_a_kilohertz_it_beats_a_fixed_model() -> None:
    motion = ch.CubicSpline(np.linspace(0.0, 4.0, 9), 0.7 * np.random.default_rng(0).normal(size=(9, 2)))
    model, payloads = ch.load("planar2r"), {"payload.mass": np.linspace(0.0, 2.0, 5)}
    law = SlidingMode(model, rate=20.0, reaching=5.0, layer=0.2, uncertain="payload", uncertainty=[2.0, *np.zeros(9)])
    fixed = ComputedTorque(model, kp=400.0, kd=40.0)
    errors = [
        np.sqrt((ch.simulate(model, c, motion, vary=payloads).error ** 2).mean("time")).values for c in (fixed, law)
    ]
    assert (np.abs(ch.simulate(model, law, motion, vary=payloads).error.values) <= 1.01 * 0.2 / 20.0).all()
    assert errors[1].max() < 0.1 * errors[0].max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 0.0}, r"layer\[0\] is 0.0; it must be positive"),
        ({"reaching": -1.0}, r"reaching\[0\] is -1.0; it must be at least 0"),
        ({"uncertainty": [1.0, 2.0]}, r"uncertainty has shape \(2,\); expected \(10,\)"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        controller(**options)
