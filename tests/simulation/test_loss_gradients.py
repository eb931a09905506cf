"""Gradients of runs: equal to forward sensitivities of the same loop, to closed forms, and to differences of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles.closed_machines import four_bar

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import cos
from chasles.integrators import Steps
from chasles.simulation import sensitivities

RK4 = Steps("rk4", 1)


def planar() -> tuple[ch.Robot, ch.PointToPoint, ch.ComputedTorque]:
    arm = ch.load("planar2r")
    return arm, ch.PointToPoint([0.0, 0.1], [1.0, 0.5], duration=0.2), ch.ComputedTorque(arm, kp=100.0, kd=20.0)


def loss(now: Any) -> Any:
    return now.error @ now.error + 1e-4 * (now.tau @ now.tau) + 0.1 * cos(now.q[0])


def plants(arm: ch.Robot) -> dict[str, ch.Plant]:
    friction = ch.Friction(arm, coulomb=0.5, viscous=0.3, smoothing_velocity=0.1)
    motors = ch.Motors(arm, gear_ratio=80.0, torque_constant=0.1, rotor_inertia=1e-5, time_constant=3e-3)
    springs = ch.ElasticJoints(arm, stiffness=[4000.0, 2000.0], damping=2.0, rotor_inertia=0.1)
    read = ch.Sensors(arm, velocity="differentiated", delay=1e-3, position_noise=1e-5)
    return {
        "friction": ch.Plant(arm, friction=friction),
        "motors": ch.Plant(arm, motors=motors, delay=1.5e-3),
        "springs": ch.Plant(arm, elastic_joints=springs, sensors=read),
    }


@pytest.mark.parametrize(
    ("kind", "name"), [("friction", "friction.coulomb"), ("motors", "gravity"), ("springs", "elastic_joints.stiffness")]
)
def test_gradients_are_forward_sensitivities_summed(kind: str, name: str) -> None:
    arm, motion, law = planar()
    plant = plants(arm)[kind]
    value = plant.values.get(name, np.array([0.0, -9.81, 0.0]))
    vary = {"controller.kp": law.kp, "payload.mass": 0.7, "reference.start": np.array([0.0, 0.1]), name: value}
    found = ch.loss_gradient(plant, law, motion, loss, list(vary), vary=vary, integrator=RK4)
    run = sensitivities(plant, law, motion, vary, integrator=RK4)
    value_of, slope = run.values, run.slopes
    error, change = value_of["q_reference"] - value_of["q"], slope["q_reference"] - slope["q"]
    slopes = (2.0 * error * change + 2e-4 * value_of["tau"] * slope["tau"]).sum(axis=-1)
    slopes -= 0.1 * np.sin(value_of["q"][:, 0]) * slope["q"][..., 0]
    wanted = slopes.mean(axis=-1)
    gradient = np.concatenate([np.ravel(found.gradient[name]) for name in vary])
    np.testing.assert_allclose(gradient, wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())


def test_a_batch_is_a_row_of_runs() -> None:
    """Also the segments of long runs and the start, by differences of whole simulations."""
    arm, motion, law = planar()
    by = ["start.q", "start.qd", "links.link2.center_of_mass", "payload.mass"]
    start = ch.State(np.array([[0.0, 0.1], [0.2, -0.3]]), np.zeros(2))
    setup: dict[str, Any] = {"integrator": RK4, "period": 2e-3}
    final = lambda now: now.qd[1] + now.q[0]  # noqa: E731
    varied = {"payload.mass": [0.3, 1.2]}
    found = ch.loss_gradient(arm, law, motion, loss, by, final=final, vary=varied, start=start, **setup)
    assert found.loss.shape == (2,)
    assert found.gradient["links.link2.center_of_mass"].shape == (2, 3)

    def simulated(q: Any, qd: Any, mass: float) -> float:
        run = ch.simulate(arm, law, motion, start=ch.State(q, qd), vary={"payload.mass": mass}, **setup)
        error, tau, q = run["error"].values, run["tau"].values, run["q"].values
        each = (error**2).sum(axis=-1) + 1e-4 * (tau**2).sum(axis=-1) + 0.1 * np.cos(q[:, 0])
        return float(each.mean() + run["qd"].values[-1, 1] + q[-1, 0])

    q, h = start.q[1], 1e-5
    assert found.loss[1] == pytest.approx(simulated(q, np.zeros(2), 1.2), rel=1e-12)
    for joint, d in enumerate(h * np.eye(2)):
        by_q = (simulated(q + d, np.zeros(2), 1.2) - simulated(q - d, np.zeros(2), 1.2)) / (2 * h)
        by_qd = (simulated(q, d, 1.2) - simulated(q, -d, 1.2)) / (2 * h)
        assert found.gradient["start.q"][1, joint] == pytest.approx(by_q, rel=1e-7)
        assert found.gradient["start.qd"][1, joint] == pytest.approx(by_qd, rel=1e-7)
    by_mass = (simulated(q, np.zeros(2), 1.2 + h) - simulated(q, np.zeros(2), 1.2 - h)) / (2 * h)
    assert found.gradient["payload.mass"][1] == pytest.approx(by_mass, rel=1e-6)


def test_the_period_of_a_pendulum() -> None:
    """Small swings: q = q0 cos(w t), so that the mean of q^2 grows with q0 and the last q falls as w grows."""
    rod = {"a": 1.0, "mass": 1.0, "inertia": np.zeros((3, 3))}
    arm = ch.Robot.from_dh([rod], gravity=[9.81, 0.0, 0.0])
    free = lambda now: 0.0 * now.tau[0]  # noqa: E731
    law = lambda now: 0.0 * now.qd  # noqa: E731
    rest = ch.PointToPoint([0.0], [0.0], duration=1.0)
    found = ch.loss_gradient(
        arm, law, rest, free, ["start.q", "gravity"], final=lambda now: now.q[0], start=[1e-5], integrator=RK4
    )
    w = np.sqrt(9.81)
    assert found.gradient["start.q"][0] == pytest.approx(np.cos(w), rel=1e-8)
    assert found.gradient["gravity"][0] == pytest.approx(-1e-5 * np.sin(w) / (2.0 * w), rel=1e-8)


def test_saturation_and_reversals_are_counted() -> None:
    arm, motion, law = planar()
    strong = ch.ComputedTorque(arm, kp=4e4, kd=400.0)
    smooth = ch.loss_gradient(arm, law, motion, loss, ["controller.kp"], integrator=RK4)
    assert smooth.is_smooth
    assert smooth.saturated == 0.0
    heavy = ch.loss_gradient(
        plants(arm)["friction"], strong, motion, loss, ["controller.kp"], start=[[0.0, 0.1], [0.8, 0.9]], integrator=RK4
    )
    run = ch.simulate(plants(arm)["friction"], strong, motion, start=[[0.0, 0.1], [0.8, 0.9]], integrator=RK4)
    limits = arm.effort_limits
    if np.isfinite(limits).any():
        share = (np.abs(run["tau"].values) >= limits * (1 - 1e-12)).any(axis=-1).mean(axis=-1)
        np.testing.assert_allclose(heavy.saturated, share)
    moving = run["qd"].values > 0.0
    np.testing.assert_array_equal(heavy.switches["reversal"], (moving[:, 1:] != moving[:, :-1]).sum(axis=(1, 2)))


def test_closed_chains_have_gradients() -> None:
    linkage = ch.Robot(four_bar()).with_friction(viscous=0.0, coulomb=0.0)
    link = linkage.description.links[1]
    name, mass = f"links.{link.name}.mass", float(link.inertia.mass)
    swing: dict[str, Any] = {"duration": 0.05, "start": ch.State(linkage.home, [8.0]), "integrator": RK4}

    def one(mass: float) -> ch.simulation.LossGradient:
        torque = lambda now: 0.3 * now.q[:1]  # noqa: E731
        vary = {name: mass}
        return ch.loss_gradient(linkage, torque, None, lambda now: now.qd @ now.qd, [name], vary=vary, **swing)

    found, h = one(mass), 1e-4 * mass
    difference = float(one(mass + h).loss - one(mass - h).loss) / (2 * h)
    assert found.gradient[name] == pytest.approx(difference, rel=1e-6)


def test_what_has_no_gradient_is_refused() -> None:
    arm, motion, law = planar()
    with pytest.raises(UnknownNameError, match=r"controller\.kq"):
        ch.loss_gradient(arm, law, motion, loss, ["controller.kq"], integrator=RK4)
    with pytest.raises(ArgumentError, match="steps of one length"):
        ch.loss_gradient(arm, law, motion, loss, ["controller.kp"], integrator="dormand-prince")
    with pytest.raises(ArgumentError, match="one number"):
        ch.loss_gradient(arm, law, motion, lambda now: now.error, ["controller.kp"], integrator=RK4)
    with pytest.raises(ArgumentError, match="by is empty"):
        ch.loss_gradient(arm, law, motion, loss, [], integrator=RK4)
    with pytest.raises(ArgumentError, match="list of names"):
        ch.loss_gradient(arm, law, motion, loss, "controller.kp", integrator=RK4)
    noisy = ch.Plant(arm, sensors=ch.Sensors(arm, position_noise=1e-4))
    with pytest.raises(ArgumentError, match="numbers a random sequence"):
        ch.loss_gradient(noisy, law, motion, loss, ["sensors.seed"], integrator=RK4)
