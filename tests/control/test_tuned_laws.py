"""Laws with gains for a motion and a sample period."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.turned_loops import drawn_arm

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import (
    CompositeAdaptive,
    ComputedTorque,
    LinearQuadraticRegulator,
    ModelReferenceAdaptive,
    NaturalAdaptive,
    SlidingMode,
    SlotineLi,
)

PERIOD = 1 / 250


@pytest.fixture(scope="module")
def arm() -> ch.Robot:
    return ch.load("planar2r")


@pytest.fixture(scope="module")
def motion() -> ch.PointToPoint:
    return ch.PointToPoint([-1.5, 0.0], [0.5, 1.0], 1.0)


def errors(arm: ch.Robot, law: Any, motion: ch.PointToPoint) -> np.ndarray:
    """Return RMS errors without payload and with 2.5 kg, a fifth of the moved mass."""
    run = ch.simulate(arm, law, motion, period=PERIOD, vary={"payload.mass": [0.0, 2.5]}, progress=False)
    return np.sqrt((run["error"].values ** 2).mean(axis=(1, 2)))


def test_laws_that_learn_err_less_under_an_unknown_payload(arm: ch.Robot, motion: ch.PointToPoint) -> None:
    fixed = errors(arm, ComputedTorque.tuned(arm, motion, PERIOD, frequency=20.0), motion)
    for kind in (NaturalAdaptive, ModelReferenceAdaptive):
        learnt = errors(arm, kind.tuned(arm, motion, PERIOD, frequency=20.0), motion)
        assert learnt[1] < 0.35 * fixed[1], kind
        assert learnt[0] < 0.1 * fixed[1], kind


@pytest.mark.slow
@pytest.mark.parametrize("kind", [SlotineLi, CompositeAdaptive])
@pytest.mark.parametrize("name", ["planar2r", "drawn"])
def test_estimates_are_no_faster_than_errors(kind: Any, name: str) -> None:
    """At rates that lower the frequency of single joints, a payload that no model has leaves the loop stable."""
    arm = drawn_arm(4, 3) if name == "drawn" else ch.load(name)
    motion = ch.PointToPoint(arm.home, arm.home + 0.6, 1.0)
    sensors = ch.Sensors(arm, velocity="differentiated")
    for rate in (60.0, 125.0):
        law = kind.tuned(arm, motion, 1.0 / rate, frequency=30.0)
        plant = ch.Plant(arm, sensors=sensors, effort_limits=False)
        masses = {"payload.mass": [0.0, 0.3, 1.0]}
        run = ch.simulate(plant, law, motion, period=1.0 / rate, duration=1.5, vary=masses, progress=False)
        assert float(np.abs(run.error).max()) < 0.5, rate


def test_first_gains_of_the_model_free_law_are_those_of_the_model(arm: ch.Robot, motion: ch.PointToPoint) -> None:
    """One joint alone, a rod without gravity: a q̈ with a its inertia, kp = a ω² for short periods, and nothing else."""
    rod = ch.Robot.from_dh([{"a": 0.5, "mass": 2.0, "inertia": [0.0, 0.1, 0.1]}], gravity=(0.0, 0.0, 0.0))
    inertia = rod.mass_matrix([0.0]).item()
    law = ModelReferenceAdaptive.tuned(rod, ch.PointToPoint([0.0], [1.0], 1.0), 1e-6, frequency=10.0)
    expected = [0.0, inertia * 100.0, inertia * 20.0, 0.0, 0.0, inertia]
    np.testing.assert_allclose(law.initial[:, 0], expected, rtol=1e-4, atol=1e-9)
    np.testing.assert_allclose(law.error_weights.ravel(), [10.0, 1.0])


@pytest.mark.filterwarnings("ignore::chasles.simulation.StickingWarning")  # it ends within the layer
def test_the_layer_is_as_narrow_as_the_period_allows(arm: ch.Robot, motion: ch.PointToPoint) -> None:
    """s is damped at most at ω in the layer, and errors under a torque within the bound end as the theorem says."""
    law = SlidingMode.tuned(arm, motion, PERIOD, frequency=20.0, uncertainty_share=0.0, disturbance_share=0.5)
    design = ch.control.PoleDesign(arm, motion, PERIOD)
    bound, mobility = law.disturbance, np.abs(np.linalg.inv(design.mass_matrices))
    gain = np.sqrt(np.einsum("i,kij,j->k", bound, mobility, bound).max()) + law.reaching * law.layer
    np.testing.assert_allclose(gain / law.layer, design.attainable)
    rubbing = arm.with_friction(coulomb=0.9 * law.disturbance)
    end = ch.simulate(rubbing, law, motion, period=PERIOD, progress=False)["error"].isel(time=-1)
    assert (np.abs(end.values) < law.error_bound(arm, motion(design.times).q)).all()


@pytest.mark.parametrize("kind", [SlidingMode, LinearQuadraticRegulator])
def test_a_motion_that_starts_later_has_the_same_gains(kind: Any, arm: ch.Robot) -> None:
    early, late = (ch.CubicSpline([t, t + 0.5, t + 1.0], [[0.0, 0.0], [0.8, 1.5], [0.2, 2.0]]) for t in (0.0, 5.0))
    laws = [kind.tuned(arm, motion, PERIOD, frequency=20.0) for motion in (early, late)]
    for name, value in laws[0].parameters.items():
        np.testing.assert_allclose(laws[1].parameters[name], value, rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("kind", [SlotineLi, SlidingMode])
def test_friction_of_the_model_is_no_positive_feedback(kind: Any, arm: ch.Robot, motion: ch.PointToPoint) -> None:
    """Viscous friction whose feedback gain D h / M is 14 at the second joint: at the measured speed it would shake."""
    rubbing = arm.with_friction(viscous=[40.0, 400.0])
    assert 400.0 * PERIOD / arm.mass_matrix([0.0, 0.0])[1, 1] > 10.0
    run = ch.simulate(
        rubbing, kind.tuned(rubbing, motion, PERIOD, frequency=20.0), motion, period=PERIOD, progress=False
    )
    assert np.abs(run["error"].values).max() < 5e-3


def test_given_parameters_replace_those_of_the_rule_and_wrong_ones_are_refused(
    arm: ch.Robot, motion: ch.PointToPoint
) -> None:
    law = NaturalAdaptive.tuned(arm, motion, PERIOD, frequency=20.0, adaptation=0.5)
    assert law.adaptation.tolist() == [0.5]
    assert law.parameter_names[0] == "link2.m"
    assert ComputedTorque.tuned(arm, motion, 0.1, frequency=20.0).kp[0] < 5.0**2  # 20 rad/s are lowered at 10 Hz
    for wrong in ({"payload": -1.0}, {"frequency": 0.0}, {"bodies": "elbow"}):
        with pytest.raises((ArgumentError, UnknownNameError)):
            NaturalAdaptive.tuned(arm, motion, PERIOD, **wrong)


@pytest.mark.parametrize(
    ("law", "setting", "said"),
    [
        (ComputedTorque, {"dampng": 1.0}, "no setting 'dampng' of ComputedTorque. Did you mean 'damping'"),
        (SlotineLi, {"integral": 1.0}, "no setting 'integral' of SlotineLi"),
        (ch.control.NominalTorque, {}, "no rule gives the gains of NominalTorque"),
    ],
)
def test_settings_that_a_law_does_not_have_are_named(law: Any, setting: dict[str, float], said: str) -> None:
    motion = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0)
    with pytest.raises((ArgumentError, UnknownNameError), match=said):
        law.tuned(ch.load("planar2r"), motion, 0.01, **setting)
