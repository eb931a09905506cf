"""Sliding mode: the inequality of its theorem at every state, reaching in the promised time, staying."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh
from tests.control.adaptive.continuous_loops import kinetic_part, waves
from tests.control.calls import called
from tests.control.sampled_loop import simulate

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import ComputedTorque, SlidingMode
from chasles.engine import sin, where
from chasles.trajectories import Motion

ARM = ch.load("planar2r").with_friction(viscous=0.3, coulomb=0.5, coulomb_velocity=0.2)
BOUNDS = np.array([2.0, 0.2, 0.2, 0.2, 0.07, 0.02, 0.02, 0.07, 0.02, 0.07])  # m, m c and I of a payload
RATE, REACHING, LAYER = 10.0, 8.0, 0.3
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


def size_of(model: ch.Robot, q: np.ndarray, s: np.ndarray) -> np.ndarray:
    """|s| by the model's masses along a course."""
    return np.sqrt(2.0 * kinetic_part(model, q, s))


def heavier(model: ch.Robot, plant: ch.Robot, q: np.ndarray) -> float:
    """Largest eigenvalue of M^-1 M_true along a course."""
    return max(
        eigh(true, M, eigvals_only=True)[-1] for M, true in zip(model.mass_matrix(q), plant.mass_matrix(q), strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("disturbance", [0.0, 3.0])
def test_kinetic_part_falls_at_every_state_outside_the_layer(disturbance: float) -> None:
    """With M s' = tau + d - (M qdd_r + C qd_r + ...) and dM/dt - 2 C skew: V' = s^T that <= -reaching layer |s|."""
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
            power = s @ (tau - plant.regressors.passivity_torque(q, qd, qd_r, qdd_r)) + disturbance * np.abs(s).sum()
            size = np.sqrt(s @ ARM.mass_matrix(q) @ s)
            if size > LAYER:
                outside += 1
                assert power <= -REACHING * LAYER * size + 1e-9
    assert outside > 500


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
        V, share = kinetic_part(plant, run.q, s), heavier(ARM, plant, run.q)
        promised = np.sqrt(2.0 * share * V[0]) / (REACHING * LAYER)
        inside = share * LAYER**2 >= 2.0 * V
        assert not inside[0]
        assert run.t[np.argmax(inside)] <= promised < 2.0, k
        assert inside[run.t > promised].all(), k
        assert (np.abs(e[run.t > promised + 1.0]) <= law.error_bound(plant, run.q)).all(), k


def test_kinetic_part_falls_no_slower_than_promised() -> None:
    """sqrt(2 V) decreases at least at the rate reaching layer until the layer, for exact masses."""
    law = controller(layer=1e-2, reaching=200.0)
    run = simulate(ARM, law, MOTION, duration=0.3, period=2e-5, q0=np.array([0.3, -0.4]), qd0=np.array([-2.0, 3.0]))
    planned = [MOTION(t) for t in run.t]
    s = run.qd - np.array([m.qd for m in planned]) - RATE * (np.array([m.q for m in planned]) - run.q)
    size = size_of(ARM, run.q, s)
    until = int(np.argmax(size < 2e-2)) or len(size)
    assert until > 500
    assert (np.diff(size[:until]) / 2e-5 <= -0.99 * 200.0 * 1e-2).all()


class Opposed(ch.Controller):
    """A law beside torques within a bound that push s outwards, or change their signs at the given times."""

    name = "opposed"

    def __init__(self, inner: SlidingMode, half_periods: Any) -> None:
        self.inner, self.robot, self.half_periods = inner, inner.robot, half_periods

    def law(self, now: Any) -> Any:
        s = now.qd - now.reference.qd - self.inner.rate * (now.reference.q - now.q)
        waves = [s[k] if T is None else sin(np.pi * now.t / T) for k, T in enumerate(self.half_periods)]
        return self.inner.law(now) + self.inner.disturbance * np.array([where(x >= 0.0, 1.0, -1.0) for x in waves])


@pytest.mark.parametrize("half_periods", [(1e9, 0.05), (1e9, 0.15), (1e9, 0.25), (None, None)])
def test_coupled_joints_do_not_drive_each_other_out(half_periods: Any) -> None:
    """Two joints with unequal bounds and square waves, where a layer for each joint by itself is left ninefold."""
    arm = ch.load("planar2r").with_gravity([0.0, 0.0, 0.0])
    law = SlidingMode(arm, rate=10.0, reaching=5.0, layer=0.5, disturbance=[2.0, 20.0])
    motion = ch.PointToPoint([0.0, 0.3], [0.5, 1.0], 1.0)
    run = ch.simulate(arm, Opposed(law, half_periods), motion, duration=3.0, period=1e-4, record=ch.Recording(every=10))
    assert_in_layer(arm, law, run)


def assert_in_layer(plant: ch.Robot, law: SlidingMode, run: Any) -> None:
    """From the first second on V and the errors are within the theorem's bounds, to 2 % for torques that are held."""
    later = run.isel(time=run.time > 1.0)
    q, e = later.q.values, later.error.values
    s = (later.qd - later.qd_reference).values - law.rate * e
    size = np.sqrt(2.0 * kinetic_part(plant, q, s))
    assert size.max() <= 1.02 * law.layer * np.sqrt(heavier(law.robot, plant, q))
    assert size.max() > 0.1 * law.layer  # the torques do act
    last = np.abs(run.error.isel(time=run.time > 2.0).values)
    assert (last <= 1.02 * law.error_bound(plant, q)).all()


@pytest.mark.parametrize(
    "n",
    [
        3,
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(4, marks=pytest.mark.slow),
        pytest.param(6, marks=pytest.mark.slow),
    ],
)
@pytest.mark.filterwarnings("ignore::chasles.simulation.StiffnessWarning")
def test_drawn_arms_with_payload_and_adverse_torques(n: int) -> None:
    """Random arms, a payload within its bounds that the model lacks, and torques that push s outwards."""
    rng = np.random.default_rng(n)
    links = [
        {
            "a": rng.uniform(0.1, 0.5),
            "d": rng.uniform(-0.2, 0.2),
            "alpha": rng.choice([-0.5, 0.0, 0.5]) * np.pi,
            "mass": rng.uniform(1.0, 5.0),
            "center_of_mass": rng.uniform(-0.2, 0.1, 3),
            "inertia": rng.uniform(0.02, 0.03, 3),
        }
        for _ in range(n)
    ]
    model = ch.Robot.from_dh(links).with_motor_inertia(rng.uniform(0.05, 0.2, n))
    plant = model.with_payload(1.5, [0.05, -0.03, 0.05], np.diag([0.01, 0.012, 0.011]))
    bounds = [1.5, *3 * [0.08], *6 * [0.03]]  # parameters about the tool's origin: m, m c, I + m c²
    law = SlidingMode(
        model,
        rate=10.0,
        reaching=5.0,
        layer=0.7,
        uncertain="payload",
        uncertainty=bounds,
        disturbance=rng.uniform(0.5, 3.0, n),
    )
    start = rng.uniform(-1.0, 1.0, n)
    motion = ch.PointToPoint(start, start + rng.uniform(-0.8, 0.8, n), 2.0)
    opposed = Opposed(law, [None if rng.random() < 0.5 else rng.uniform(0.05, 0.3) for _ in range(n)])
    run = ch.simulate(plant, opposed, motion, duration=3.0, period=2e-4, record=ch.Recording(every=10))
    assert_in_layer(plant, law, run)


def test_sampled_at_a_kilohertz_it_beats_a_fixed_model() -> None:
    motion = ch.CubicSpline(np.linspace(0.0, 4.0, 9), 0.7 * np.random.default_rng(0).normal(size=(9, 2)))
    model, payloads = ch.load("planar2r"), {"payload.mass": np.linspace(0.0, 2.0, 5)}
    law = SlidingMode(model, rate=20.0, reaching=10.0, layer=0.2, uncertain="payload", uncertainty=[2.0, *np.zeros(9)])
    fixed = ComputedTorque(model, kp=400.0, kd=40.0)
    errors = [
        np.sqrt((ch.simulate(model, c, motion, vary=payloads).error ** 2).mean("time")).values for c in (fixed, law)
    ]
    for mass in (0.0, 2.0):
        run = ch.simulate(model.with_payload(mass), law, motion)
        assert (np.abs(run.error.values) <= 1.01 * law.error_bound(model.with_payload(mass), run.q.values)).all()
    assert errors[1].max() < 0.1 * errors[0].max()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 0.0}, r"layer is 0.0; it must be positive"),
        ({"reaching": -1.0}, r"reaching is -1.0; it must be at least 0"),
        ({"uncertainty": [1.0, 2.0]}, r"uncertainty has shape \(2,\); expected \(10,\)"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        controller(**options)


def test_no_bound_without_a_rate() -> None:
    with pytest.raises(ArgumentError, match=r"rate\[1\] is 0.0; it must be positive"):
        controller(rate=[10.0, 0.0]).error_bound(ch.load("planar2r"), [0.0, 0.0])
