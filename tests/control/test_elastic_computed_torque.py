"""Computed torque of fourth order: the designed poles on coupled elastic joints, resonances at 10 Hz, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import ElasticComputedTorque, OnlineLaw

ARM = ch.load("planar2r")
K, B = np.array([800.0, 100.0]), np.array([0.3, 0.05])
PLANT = ch.Plant(ARM, elastic_joints=ch.ElasticJoints(ARM, stiffness=K, rotor_inertia=B))
REST = ch.PointToPoint([0.2, 0.3], [0.2, 0.3], 1.0)


def test_errors_of_all_joints_have_the_designed_poles() -> None:
    """From rest with springs in balance e'' = e''' = 0 but for gravity: two sets of four equal poles, at 30 and 15."""
    law = ElasticComputedTorque(ARM, stiffness=K, rotor_inertia=B, frequency=[30.0, 15.0])
    run = ch.simulate(PLANT, law, REST, start=[0.1, 0.4], period=1e-4, duration=0.5)
    for joint, w in enumerate((30.0, 15.0)):
        wt = w * run.time.values
        expected = run.error.values[0, joint] * np.exp(-wt) * (1.0 + wt + wt**2 / 2.0 + wt**3 / 6.0)
        np.testing.assert_allclose(run.error.values[:, joint], expected, atol=3e-4)


def test_a_motion_is_followed_and_frequencies_vary() -> None:
    motion = ch.PointToPoint([0.0, 0.0], [0.8, -0.6], 0.5)
    law = ElasticComputedTorque(ARM, stiffness=K, rotor_inertia=B, frequency=20.0)
    run = ch.simulate(PLANT, law, motion, duration=0.8, vary={"controller.frequency": [[20.0] * 2, [60.0] * 2]})
    errors = np.abs(run.error).max(["time", "joint"]).values
    assert errors[1] < 0.1 * errors[0] < 2e-3


def test_the_law_outside_of_simulations_is_the_same() -> None:
    law = ElasticComputedTorque(ARM, stiffness=K, rotor_inertia=B, frequency=20.0)
    online = OnlineLaw(law, REST, period=0.01)
    q, qd = np.array([0.1, 0.2]), np.array([0.3, -0.1])
    reference, spring = REST(0.0), np.array([5.0, 2.0])
    tau = online(0.0, q, qd, motors=(q + spring / K, qd))
    v = 20.0**4 * (reference.q - q) - 4.0 * 20.0**3 * qd - 6.0 * 20.0**2 * ARM.forward_dynamics(q, qd, spring)
    assert np.isfinite(tau).all()
    assert np.sign(tau @ v) > 0.0  # towards the reference


@pytest.mark.slow
def test_a_puma_with_joints_of_ten_hertz() -> None:
    """Faster than the resonance, where computed torque of the links is unstable, in motion and with unequal springs."""
    links, _ = ch.ElasticJoints.of_robot(ch.load("puma560"), stiffness=1e4)
    links = links.with_friction(coulomb=0.0)
    rotors = np.array([0.784, 2.325, 0.577, 0.191, 0.171, 0.194])
    inertia = links.mass_matrix(links.home).diagonal()
    stiffness = (2.0 * np.pi * 10.0) ** 2 * rotors * inertia / (rotors + inertia)
    joints = ch.ElasticJoints(links, stiffness=stiffness, rotor_inertia=rotors)
    motion = ch.PointToPoint(links.home, links.home + 0.3, 1.0)
    law = ElasticComputedTorque(links, stiffness=stiffness, rotor_inertia=rotors, frequency=80.0)
    plant = ch.Plant(links, elastic_joints=joints, effort_limits=False)
    run = ch.simulate(plant, law, motion, duration=1.3, period=5e-4)
    assert np.abs(run.error).max() < 1e-3
    assert np.abs(run.error.isel(time=-1)).max() < 1e-6


def test_dry_friction_and_friction_of_the_load_are_compensated() -> None:
    """A model with the plant's friction errs a third as much at most as one that has viscous friction alone."""
    rubbing = ARM.with_friction(viscous=0.5, coulomb=2.0, coulomb_velocity=0.01, load=0.1)
    motion = ch.PointToPoint([0.0, 0.0], [0.8, -0.6], 0.5)
    plant = ch.Plant(rubbing, elastic_joints=PLANT.elastic_joints)
    errors = []
    for model in (rubbing, ARM.with_friction(viscous=0.5)):
        law = ElasticComputedTorque(model, stiffness=K, rotor_inertia=B, frequency=30.0)
        run = ch.simulate(plant, law, motion, period=1e-3, duration=0.5)
        errors.append(float(np.sqrt((run.error.values**2).mean())))
    assert errors[0] < errors[1] / 3.0


def test_what_the_law_refuses() -> None:
    law = ElasticComputedTorque(ARM, stiffness=K, rotor_inertia=B, frequency=20.0)
    with pytest.raises(ArgumentError, match="measures the motor sides of elastic joints: give the plant some"):
        ch.simulate(ARM, law, REST)
    with pytest.raises(ArgumentError, match="the sensors read one: give them side='both'"):
        ch.simulate(ch.Plant(ARM, elastic_joints=PLANT.elastic_joints, sensors=ch.Sensors(ARM)), law, REST)
    with pytest.raises(ArgumentError, match="needs motors=, angles and speeds"):
        OnlineLaw(law, REST, period=0.01)(0.0, [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ArgumentError, match="takes no motors="):
        ch.control.PD(ARM, kp=1.0, kd=1.0).evaluate([0.0] * 2, [0.0] * 2, REST, motors=([0.0] * 2, [0.0] * 2))
    with pytest.raises(ArgumentError, match="measures the motor sides of elastic joints: give elastic_joints"):
        ch.control.loop_margins(ARM, law, REST, period=0.01)
    with pytest.raises(ArgumentError, match=r"stiffness\[0\] is 0.0; it must be positive"):
        ElasticComputedTorque(ARM, stiffness=0.0, rotor_inertia=B, frequency=20.0)
