"""Laws whose model has friction of the load, torques of the position and coupled drives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.control import DisturbanceObserver, OnlineLaw
from chasles.control.friction_rate import fastest_friction_rate

VELOCITY = 0.3
ARM = ch.load("planar2r").with_motor_inertia([0.3, 0.2]).with_friction(
    viscous=1.0, coulomb=0.5, coulomb_velocity=VELOCITY, load=[0.2, 0.3], load_velocity=VELOCITY, torque_offset=1.5,
    torque_sine=0.7,
)  # fmt: skip
SMOOTH = ARM.with_friction(viscous=0.0, coulomb=0.0, load=0.0, torque_offset=0.0, torque_sine=0.0)
MOTION = ch.PointToPoint([0.0, 0.3], [1.0, -0.5], duration=0.8)
PERIOD = 1e-3
Q, QD = np.array([0.4, 0.1]), np.array([0.5, -0.8])
PLANNED = MOTION(0.3)


def friction(rates: Any, load: Any) -> Any:
    """Friction of the arm, written out."""
    return rates + (0.5 + np.array([0.2, 0.3]) * np.abs(load)) * np.tanh(rates / VELOCITY)


def at_position(q: Any) -> Any:
    return 1.5 + 0.7 * np.sin(q)


def torque(law: Any) -> Any:
    return np.asarray(OnlineLaw(law, MOTION, period=PERIOD)(0.3, Q, QD))


def test_computed_torque_compensates_friction_of_the_motions_load() -> None:
    wanted = PLANNED.qdd + 30.0 * (PLANNED.qd - QD) + 200.0 * (PLANNED.q - Q)
    load = SMOOTH.inverse_dynamics(Q, QD, wanted)
    expected = load + friction(PLANNED.qd, load) + at_position(Q)
    assert np.allclose(torque(ch.ComputedTorque(ARM, kp=200.0, kd=30.0)), expected, rtol=1e-9)


def test_sliding_mode_and_adaptive_laws_know_the_models_friction_of_the_load() -> None:
    rate = 8.0
    qd_r = PLANNED.qd + rate * (PLANNED.q - Q)
    qdd_r = PLANNED.qdd + rate * (PLANNED.qd - QD)
    load = SMOOTH.regressors.passivity_torque(Q, QD, qd_r, qdd_r)
    model = load + friction(qd_r, load) + at_position(Q)
    s = QD - qd_r
    adaptive = ch.control.SlotineLi(ARM, rate=rate, damping=10.0, adaptation=0.0)
    assert np.allclose(torque(adaptive), model - 10.0 * s, rtol=1e-9)
    M, layer, reaching = ARM.mass_matrix(Q), 5.0, 2.0
    sliding = ch.control.SlidingMode(ARM, rate=rate, reaching=reaching, layer=layer)
    size = max(np.sqrt(s @ M @ s), layer)
    assert np.allclose(torque(sliding), model - reaching * layer / size * (M @ s), rtol=1e-9)


@pytest.mark.parametrize("push", [0.0, 4.0])
def test_the_disturbance_observer_takes_no_friction_of_the_load_for_a_disturbance(push: float) -> None:
    law = DisturbanceObserver(ARM, ch.ComputedTorque(ARM, kp=200.0, kd=30.0), bandwidth=60.0)
    wrench = ch.ExternalWrench("push", lambda t, _: np.array([0.0, 0.0, push, 0.0, 0.0, 0.0]))
    record = ch.Recording(memory=True)
    run = ch.simulate(ch.Plant(ARM, wrenches=[wrench]), law, MOTION, duration=0.8, period=PERIOD, record=record)
    estimates = run["memory"].sel(element=["disturbance[0]", "disturbance[1]"]).values
    assert np.abs(estimates[200:] - push).max() < 0.03  # a moment about both axes; 0.2 s are 12 times 1 / bandwidth


def test_the_composite_law_predicts_torques_with_friction_of_the_load() -> None:
    """At the true parameters of the model the prediction misses nothing, so estimates stay."""
    law = ch.control.CompositeAdaptive(ARM, rate=8.0, damping=20.0, adaptation=0.0, prediction=100.0, bandwidth=50.0)
    run = ch.simulate(ARM, law, MOTION, duration=0.8, period=PERIOD)
    assert np.abs(run["error"].values).max() < 1e-3


@pytest.mark.parametrize("coupled", [False, True])
def test_the_rate_of_friction_is_the_slope_at_rest(coupled: bool) -> None:
    C = np.array([[1.0, 0.2], [-0.5, 1.0]]) if coupled else np.eye(2)
    arm, h = ARM.with_drive_coupling(C), 1e-6
    held = np.asarray(SMOOTH.gravity_torque(Q))
    slopes = [
        (arm.loaded_friction_torque(Q, h * unit, held) - arm.loaded_friction_torque(Q, -h * unit, held)) / (2.0 * h)
        for unit in np.eye(2)
    ]
    rates = np.linalg.eigvals(np.linalg.inv(arm.mass_matrix(Q)) @ np.array(slopes).T)
    assert fastest_friction_rate(arm, Q, {}) == pytest.approx(rates.real.max(), rel=1e-6)


def test_a_joint_that_friction_of_the_load_holds_is_named() -> None:
    rough = ch.load("planar2r").with_friction(load={"joint2": 0.6}, load_velocity=1e-3)
    law = ch.PDGravity(ch.load("planar2r"), kp=20.0, kd=8.0)
    motion = ch.PointToPoint([0.0, 0.0], [0.0, 0.15], duration=0.3)
    with pytest.warns(ch.simulation.StickingWarning, match="the friction of joint2: 3.67 N·m hold it"):
        ch.simulate(rough, law, motion, duration=3.0)


def test_exciting_motions_keep_the_transitions_of_the_model() -> None:
    from chasles.identification.excitation_problem import ExcitationProblem

    arm = ch.load("planar2r").with_friction(
        coulomb=2.0, coulomb_velocity=[[0.02, 0.3]], coulomb_shares=[0.4, 0.6], load=0.1, load_velocity=0.05
    )
    smooth = ExcitationProblem(arm, 10.0, 5).smooth
    assert np.array_equal(smooth.friction_torque(Q, QD), arm.friction_torque(Q, QD))
    jumping = ExcitationProblem(arm.with_friction(coulomb_velocity=0.0, load_velocity=0.0), 10.0, 5).smooth
    assert np.abs(jumping.friction_torque(Q, [1e-6, 1e-6])).max() < 1e-3  # no jump at rest
