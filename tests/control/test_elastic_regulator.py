"""State feedback of elastic joints: its poles, its promise on unknown plants, and a law of rigid joints beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.turned_loops import drawn_arm

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import DesignError, DifferencedVelocity, ElasticComputedTorque, ElasticRegulator, OnlineLaw
from chasles.control.elastic_joint_law import elastic_model
from chasles.control.elastic_regulator import elastic_weights
from chasles.control.linear_model import LinearModel
from chasles.control.linear_quadratic import continuous_riccati
from chasles.control.linear_quadratic.along_motion import with_integral

ARM = ch.load("planar2r")
SPRINGS: dict[str, Any] = {"stiffness": np.array([800.0, 100.0]), "rotor_inertia": np.array([0.3, 0.05])}
MOTION = ch.PointToPoint([0.0, 0.0], [0.8, -0.6], 0.6)


@pytest.mark.parametrize("integral", [0.0, 0.4])
def test_a_joint_alone_has_the_designed_poles(integral: float) -> None:
    """Weights and Riccati equation of drawn joints give p(s) = (s² + 2ζωs + ω²)(s² + 2ζΩs + Ω²)(s + κω)."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        J, rotor, stiffness = np.exp(rng.uniform(-3.0, 1.0, 3)) * [1.0, 1.0, 100.0]
        w, zeta, resonance = (
            rng.uniform(3.0, 40.0),
            rng.uniform(0.75, 1.3),
            np.sqrt(stiffness * (1.0 / J + 1.0 / rotor)),
        )
        weights = elastic_weights(
            [J], stiffness=stiffness, rotor_inertia=rotor, frequency=w, damping=zeta, integral=integral
        )
        rod = LinearModel(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0 / J]]))
        A, B = elastic_model(rod, np.array([stiffness]), np.array([rotor]))
        if integral:
            A, B = with_integral(A, B, np.zeros((1, 1)), 1.0)
        closed = np.poly(A - B @ continuous_riccati(A, B, *weights).K)
        wanted = np.polymul([1.0, 2.0 * zeta * w, w**2], [1.0, 2.0 * zeta * resonance, resonance**2])
        wanted = np.polymul(wanted, [1.0, integral * w]) if integral else wanted
        np.testing.assert_allclose(closed, wanted, rtol=2e-6)


def test_the_linear_model_is_the_derivative_of_the_plant() -> None:
    """Differences of the nonlinear equations of links and motors, at a state in motion."""
    q, qd = np.array([0.3, -0.5]), np.array([0.7, -0.4])
    spring = np.array([12.0, 3.0])
    K, B = SPRINGS["stiffness"], SPRINGS["rotor_inertia"]

    def rates(x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        links, motors, speeds, motor_speeds = np.split(x, 4)
        pull = K * (motors - links)
        return np.concatenate([speeds, motor_speeds, ARM.forward_dynamics(links, speeds, pull), (tau - pull) / B])

    x, h = np.concatenate([q, q + spring / K, qd, qd]), 1e-6
    A, inputs = elastic_model(LinearModel(*ARM.linearize(q, qd, spring)), K, B)
    by_state = [(rates(x + h * e, spring) - rates(x - h * e, spring)) / (2.0 * h) for e in np.eye(8)]
    by_torque = [(rates(x, spring + h * e) - rates(x, spring - h * e)) / (2.0 * h) for e in np.eye(2)]
    np.testing.assert_allclose(A, np.stack(by_state, axis=-1), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(inputs, np.stack(by_torque, axis=-1), rtol=1e-5, atol=1e-4)


def test_feed_forward_alone_follows_the_motion() -> None:
    """On a motion whose jerk begins at zero, as motors at rest need it, held torques leave the exact model by h²."""
    shares = np.array([0.0, 0.0, 0.0, 0.0, 35.0, -84.0, 70.0, -20.0]) / 0.6 ** np.arange(8)
    smooth = ch.trajectories.PiecewisePolynomial([0.0, 0.6], shares[None, :, None] * [0.8, -0.6])
    plant, errors = ch.Plant(ARM, elastic_joints=ch.ElasticJoints(ARM, **SPRINGS)), []
    for h in (0.004, 0.001):
        law = ElasticRegulator.tuned(ARM, smooth, h, frequency=20.0, **SPRINGS)
        errors.append(float(abs(ch.simulate(plant, law, smooth, period=h, duration=0.6).error).max()))
    assert errors[1] < 3e-4
    assert errors[1] < 0.15 * errors[0]


def test_a_law_of_rigid_joints_on_the_same_plant() -> None:
    """At 40 rad/s beside resonances of 10 Hz: the law of rigid joints diverges, state feedback follows."""
    plant = ch.Plant(ARM.with_payload(0.5), elastic_joints=ch.ElasticJoints(ARM, **SPRINGS), effort_limits=False)
    rigid = ch.ComputedTorque.tuned(
        ARM.with_motor_inertia(SPRINGS["rotor_inertia"]), MOTION, 0.001, frequency=40.0, integral=0.3
    )
    elastic = ElasticRegulator.tuned(ARM, MOTION, 0.001, frequency=40.0, integral=0.3, **SPRINGS)
    with pytest.warns(ch.simulation.DivergenceWarning):
        lost = ch.simulate(plant, rigid, MOTION, period=0.001, duration=2.0)
    run = ch.simulate(plant, elastic, MOTION, period=0.001, duration=2.0)
    assert not float(abs(lost.error).max()) < 1.0
    assert float(abs(run.error).max()) < 0.05
    assert float(abs(run.error[-1]).max()) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ElasticRegulator, ElasticComputedTorque])
@pytest.mark.parametrize("late", [0.0, 1.0])
def test_accepted_designs_lose_no_unknown_plant(kind: Any, late: float) -> None:
    """Payload off the axis, springs softer and stiffer by a fifth, encoders on both sides, on a drawn arm."""
    arm, h = drawn_arm(31, 3), 0.002
    links, joints = ch.ElasticJoints.of_robot(arm, stiffness=1.0)
    rotors, inertia = joints.parameters["rotor_inertia"], links.mass_matrix(links.home).diagonal()
    springs = {"stiffness": (2.0 * np.pi * 30.0) ** 2 * rotors * inertia / (rotors + inertia), "rotor_inertia": rotors}
    motion = ch.PointToPoint(links.home, links.home + 0.5, 1.0)
    integral = {"integral": 0.3} if kind is ElasticRegulator else {}
    try:
        law = kind.tuned(links, motion, h, payload=0.5, delay=late, **springs, **integral)
    except DesignError:
        assert kind is ElasticComputedTorque
        return
    assert law.designed.margin >= 0.3
    rng, count = np.random.default_rng(11), 24
    vary = law.designed.unknown.drawn(links, motion, count, rng)
    vary["elastic_joints.stiffness"] = springs["stiffness"] * rng.choice([0.8, 0.9, 1.1, 1.2], (count, 1))
    plant = ch.Plant(links, elastic_joints=ch.ElasticJoints(links, **springs), delay=late * h, effort_limits=False)
    run = ch.simulate(
        plant, DifferencedVelocity(law.robot, law), motion, period=h, duration=1.5, vary=vary, progress=False
    )
    assert float(abs(run.error).max()) < 0.2


@pytest.mark.slow
def test_a_puma_with_joints_of_ten_hertz_at_a_kilohertz() -> None:
    """Wrists whose links weigh a five-thousandth of their rotors: gains of the sampled loop leave their modes alone."""
    links, joints = ch.ElasticJoints.of_robot(ch.load("puma560"), stiffness=1e4)
    rotors, inertia = joints.parameters["rotor_inertia"], links.mass_matrix(links.home).diagonal()
    springs = {"stiffness": (2.0 * np.pi * 10.0) ** 2 * rotors * inertia / (rotors + inertia), "rotor_inertia": rotors}
    motion = ch.PointToPoint(links.home, links.home + 0.3, 1.0)
    law = ElasticRegulator.tuned(links, motion, 1e-3, integral=0.3, payload=0.5, **springs)
    plant = ch.Plant(links.with_payload(0.5), elastic_joints=ch.ElasticJoints(links, **springs), effort_limits=False)
    run = ch.simulate(plant, DifferencedVelocity(law.robot, law), motion, duration=1.5, period=1e-3)
    assert law.designed.margin >= 0.3
    assert float(abs(run.error).max()) < 0.1


def test_what_the_law_refuses() -> None:
    with pytest.raises(ArgumentError, match="needs stiffness of the joints"):
        ElasticRegulator.tuned(ARM, MOTION, 0.002, rotor_inertia=0.3)
    with pytest.raises(ArgumentError, match=r"stiffness_error is 0.95; it must be at most 0.9"):
        ElasticRegulator.tuned(ARM, MOTION, 0.002, stiffness_error=0.95, **SPRINGS)
    with pytest.raises(UnknownNameError, match="no setting 'stiffness_error' of ComputedTorque"):
        ch.ComputedTorque.tuned(ARM, MOTION, 0.002, stiffness_error=0.1)
    law = ElasticRegulator.tuned(ARM, MOTION, 0.002, frequency=20.0, **SPRINGS)
    with pytest.raises(ArgumentError, match="needs motors=, angles and speeds"):
        OnlineLaw(law, MOTION, period=0.002)(0.0, [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(DesignError, match=r"where 1\.4 is asked for"):
        ElasticRegulator.tuned(ARM, MOTION, 0.004, margin=1.4, **SPRINGS)


def test_state_feedback_takes_over_the_torques_of_another_law() -> None:
    plant = ch.Plant(ARM.with_payload(0.3), elastic_joints=ch.ElasticJoints(ARM, **SPRINGS, damping=1.0))
    soft, firm = (
        ElasticRegulator.tuned(ARM, MOTION, 0.002, frequency=w, integral=0.3, **SPRINGS) for w in (10.0, 25.0)
    )
    law = ch.control.Switching(ARM, soft, firm, when=lambda now: now.t > 0.3)
    run = ch.simulate(plant, law, MOTION, period=0.002, duration=0.4)
    steps = np.abs(np.diff(run.tau.values, axis=0)).max(axis=1)
    assert steps[150] < 1e-9 < steps[149]
