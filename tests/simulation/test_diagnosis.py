"""What a run says of itself: sticking joints, and runs that diverge without a controller."""

import warnings

import pytest

import chasles as ch
from chasles.simulation.diagnosis import DivergenceWarning, StickingWarning

ARM = ch.load("planar2r").with_gravity([0.0, 0.0, 0.0])
MOTION = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)


def test_a_joint_that_friction_holds_is_named() -> None:
    rough = ARM.with_friction(coulomb={"joint2": 3.0}, coulomb_velocity=1e-3)
    law = ch.PDGravity(ARM, kp=[400.0, 5.0], kd=[80.0, 5.0])
    with pytest.warns(StickingWarning, match=r"gain is too low for the friction of joint2: 3 N·m hold it \d+.*° off"):
        run = ch.simulate(rough, law, MOTION, duration=3.0)
    assert abs(run.error[-1, 1]) > 0.05


def test_the_same_joint_with_friction_of_the_plant_in_a_batch() -> None:
    plant = ch.Plant(ARM, friction=ch.Friction(ARM, coulomb=[0.0, 0.01], smoothing_velocity=1e-3))
    law = ch.PDGravity(ARM, kp=[400.0, 5.0], kd=[80.0, 5.0])
    with pytest.warns(StickingWarning, match="friction of joint2"):
        ch.simulate(plant, law, MOTION, duration=3.0, vary={"friction.coulomb": [[0.0, 0.01], [0.0, 3.0]]})


def test_joints_that_arrive_or_are_free_of_friction_say_nothing() -> None:
    rough = ARM.with_friction(coulomb={"joint2": 3.0}, coulomb_velocity=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ch.simulate(rough, ch.PDGravity(ARM, kp=400.0, kd=80.0), MOTION, duration=3.0)
        ch.simulate(ARM, ch.PDGravity(ARM, kp=[400.0, 5.0], kd=[80.0, 30.0]), MOTION)


def test_a_free_run_that_diverges_hears_nothing_of_gains() -> None:
    with pytest.warns(DivergenceWarning, match="no controller runs") as caught:
        ch.simulate(ARM, duration=1.0, qd0=[1e6, -2e6], period=0.01, integrator="rk4")
    assert not any("gain" in str(warning.message) for warning in caught)
