"""Gradients of runs: equal to forward sensitivities of the same loop, to closed forms, and to differences of runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.oracles.closed_machines import four_bar

import chasles as ch
from chasles import control
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.control import PD
from chasles.engine import cos
from chasles.integrators import Steps
from chasles.model import Description, Inertia, Joint, Limits, Link
from chasles.simulation import sensitivities
from chasles.simulation.loss_gradients import RunLoss
from chasles.simulation.preparation import Setup

RK4 = Steps("rk4", 1)


def planar() -> tuple[ch.Robot, ch.PointToPoint, ch.ComputedTorque]:
    arm = ch.load("planar2r")
    return arm, ch.PointToPoint([0.0, 0.1], [1.0, 0.5], duration=0.2), ch.ComputedTorque(arm, kp=100.0, kd=20.0)


def loss(now: Any) -> Any:
    return now.error @ now.error + 1e-4 * (now.tau @ now.tau) + 0.1 * cos(now.q[0])


def square(now: Any) -> Any:
    return now.error @ now.error


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
    by = ["start.q", "start.qd", "payload.mass"]
    start = ch.State(np.array([[0.0, 0.1], [0.2, -0.3]]), np.zeros(2))
    setup: dict[str, Any] = {"integrator": RK4, "period": 2e-3}
    final = lambda now: now.qd[1] + now.q[0]  # noqa: E731
    varied = {"payload.mass": [0.3, 1.2]}
    found = ch.loss_gradient(arm, law, motion, loss, by, final=final, vary=varied, start=start, **setup)
    assert found.loss.shape == (2,)
    assert found.gradient["start.q"].shape == (2, 2)

    h = 1e-5
    changes = np.concatenate([np.zeros((1, 5)), h * np.eye(5), -h * np.eye(5)])  # of q, qd and the mass
    near = ch.State(start.q[1] + changes[:, :2], changes[:, 2:4])
    run = ch.simulate(arm, law, motion, start=near, vary={"payload.mass": 1.2 + changes[:, 4]}, **setup)
    error, tau, q = run["error"].values, run["tau"].values, run["q"].values
    each = (error**2).sum(axis=-1) + 1e-4 * (tau**2).sum(axis=-1) + 0.1 * np.cos(q[..., 0])
    losses = each.mean(axis=-1) + run["qd"].values[:, -1, 1] + q[:, -1, 0]
    assert found.loss[1] == pytest.approx(losses[0], rel=1e-12)
    gradient = [*found.gradient["start.q"][1], *found.gradient["start.qd"][1], found.gradient["payload.mass"][1]]
    np.testing.assert_allclose(gradient, (losses[1:6] - losses[6:]) / (2.0 * h), rtol=1e-6)


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
    """A mass on a spring starts with more torque than its drive gives, and swings through."""
    bob, joint = Link("bob", Inertia(1.0, [1.0, 0.0, 0.0])), Joint("joint1", "continuous", "base", "bob")
    joint = replace(joint, limits=Limits(effort=10.0), coulomb_friction=0.1, coulomb_velocity=0.1)
    arm = ch.Robot(Description("mass", (Link("base"), bob), (joint,), gravity=[0.0, 0.0, 0.0]))
    law, rest = PD(arm, kp=25.0, kd=1.0), ch.PointToPoint([0.0], [0.0], duration=2.0)
    setup: dict[str, Any] = {"start": [[0.3], [0.6]], "integrator": RK4, "period": 5e-3}
    found = ch.loss_gradient(arm, law, rest, square, ["controller.kp"], **setup)
    run = ch.simulate(arm, law, rest, **setup)
    limited = np.abs(run["tau"].values[..., 0]) >= 10.0
    np.testing.assert_allclose(found.saturated, limited.mean(axis=-1))
    assert found.saturated[0] == 0.0 < found.saturated[1]
    forward = run["qd"].values[..., 0] > 0.0
    np.testing.assert_array_equal(found.switches["reversal"], (forward[:, 1:] != forward[:, :-1]).sum(axis=-1))
    assert not found.is_smooth.any()


def test_runs_that_diverge_say_so() -> None:
    """A SCARA with gains beyond what its period bears, in a batch with a run that ends: all its derivatives are NaN."""
    arm = ch.load("scara")
    motion, law = ch.PointToPoint(arm.home, arm.home + 0.3, duration=0.2), ch.PDGravity(arm, kp=50.0, kd=10.0)
    varied = {"controller.kp": np.array([[0.1], [1e8]]) * np.ones(arm.n), "controller.kd": np.full((2, arm.n), 1e-3)}
    by = ["controller.kp", "start.q"]
    with np.errstate(all="ignore"):
        found = ch.loss_gradient(arm, law, motion, square, by, vary=varied, integrator=RK4, period=0.01)
    for name in by:
        assert np.isfinite(found.gradient[name][0]).all()
        assert np.isnan(found.gradient[name][1]).all()
    assert found.is_smooth.tolist() == [True, False]


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
    with pytest.raises(ArgumentError, match="gradients need a loop that runs compiled"):
        ch.loss_gradient(arm, law, motion, loss, ["controller.kp"], integrator="RK45")
    with pytest.raises(ArgumentError, match="one number"):
        ch.loss_gradient(arm, law, motion, lambda now: now.error, ["controller.kp"], integrator=RK4)
    with pytest.raises(ArgumentError, match="by is empty"):
        ch.loss_gradient(arm, law, motion, loss, [], integrator=RK4)
    with pytest.raises(ArgumentError, match="list of names"):
        ch.loss_gradient(arm, law, motion, loss, "controller.kp", integrator=RK4)
    noisy = ch.Plant(arm, sensors=ch.Sensors(arm, position_noise=1e-4))
    with pytest.raises(ArgumentError, match="numbers a random sequence"):
        ch.loss_gradient(noisy, law, motion, loss, ["sensors.seed"], integrator=RK4)


def test_encoders_do_not_round_in_what_is_differentiated() -> None:
    """The derivative of rounding is zero, which would say that gains of a law that reads encoders have no effect."""
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=0.2)
    law = ch.ComputedTorque(arm, kp=100.0, kd=20.0)
    gradients = [
        ch.loss_gradient(
            ch.Plant(arm, sensors=ch.Sensors(arm, position_resolution=step)), law, motion,
            lambda now: now.error @ now.error, ["controller.kp"], start=[0.1, 0.0], period=0.01,
        ).gradient["controller.kp"]
        for step in (0.0, 1e-3)
    ]  # fmt: skip
    np.testing.assert_array_equal(gradients[0], gradients[1])
    assert np.abs(gradients[0]).min() > 0.0
    plant = ch.Plant(arm, sensors=ch.Sensors(arm, position_resolution=1e-3))
    name = "sensors.position_resolution"
    with pytest.raises(ArgumentError, match=f"no derivative with respect to '{name}': rounding has none"):
        ch.loss_gradient(plant, law, motion, lambda now: now.error @ now.error, [name], period=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dormand-prince", "rodas5p"])
def test_steps_that_the_error_controls_have_the_gradient_of_fine_ones(method: str) -> None:
    """Both converge to the gradient of a loop that is continuous between the calls, each run by itself."""
    arm, motion = ch.load("planar2r"), ch.PointToPoint([0.0, 0.0], [1.0, -0.5], duration=0.3)
    law = ch.ComputedTorque(arm, kp=[100.0, 80.0], kd=[20.0, 15.0], ki=50.0)
    late = ch.Plant(arm).with_drives(delay=0.003)
    names = ["controller.kp", "payload.mass", "start.q"]
    within = ch.integrators.Within(method, rtol=1e-10, atol=1e-12)

    def gradient(integrator: Any) -> Any:
        return ch.loss_gradient(
            late, law, motion, lambda now: now.error @ now.error, names, vary={"payload.mass": [0.0, 2.0]},
            final=lambda now: now.qd @ now.qd, start=[0.1, 0.0], period=0.01, integrator=integrator,
        )  # fmt: skip

    ours, fine = gradient(within), gradient(ch.integrators.Steps("rk4", 8))
    np.testing.assert_allclose(ours.loss, fine.loss, rtol=1e-8)
    for name in names:
        np.testing.assert_allclose(ours.gradient[name], fine.gradient[name], rtol=1e-6, atol=1e-9)


def weighted_laws(arm: ch.Robot, motion: ch.PointToPoint) -> dict[str, ch.Controller]:
    """Laws whose gains follow from weights and noises."""
    along = {"Q": np.diag([900.0, 400.0, 4.0, 1.0]) + 30.0 * np.eye(4)[::-1], "R": [0.01, 0.04]}
    springs = {"stiffness": [800.0, 100.0], "rotor_inertia": [0.3, 0.05]}
    regulator = control.TimeVaryingRegulator(arm, **along, integral_error=0.01, delay=1.5)
    return {
        "along the motion": control.DifferencedVelocity(arm, regulator, filter_time=0.01),
        "scheduled": control.GainScheduledRegulator(arm, **along, update_period=0.045, interpolate=True),
        "at a pose": control.LinearQuadraticRegulator(arm, **along, period=0.01),
        "filtered": control.LinearQuadraticGaussian(arm, **along, torque_error=30.0, delay=1.0),
        "filtered at a pose": control.LinearQuadraticGaussian(arm, [0.5, 0.3], **along, torque_error=30.0),
        "springs": control.ElasticRegulator.tuned(arm, motion, 0.01, frequency=6.0, integral=0.3, **springs),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "along the motion",
        "filtered",
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in ("scheduled", "at a pose", "filtered at a pose", "springs")
        ),
    ],
)
def test_gradients_by_weights_and_noises_are_differences_of_whole_runs(kind: str) -> None:
    """Along a drawn direction of the logarithms of all, for two payloads that the law does not know."""
    arm, _, _ = planar()
    motion = ch.PointToPoint([0.0, 0.1], [0.6, 0.4], duration=0.2)
    law = weighted_laws(arm, motion)[kind]
    plant = ch.Plant(arm)
    if kind == "springs":
        plant = ch.Plant(arm, elastic_joints=ch.ElasticJoints(arm, stiffness=[800.0, 100.0], rotor_inertia=[0.3, 0.05]))
    values = {f"controller.{name}": np.asarray(value) for name, value in law.design_values.items()}
    setup = Setup(plant, law, motion, None, 0.01, [0.05, 0.0], Steps("rk4", 4))
    run = RunLoss.of(setup, loss, list(values), vary={"payload.mass": [0.0, 1.0]})
    rng = np.random.default_rng(0)
    along = {name: rng.normal(size=value.shape) for name, value in values.items()}

    def at(h: float) -> Any:
        return run.evaluate({name: value * np.exp(h * along[name]) for name, value in values.items()}).loss

    gradient = run.evaluate().gradient
    slope = sum((gradient[name] * value * along[name]).sum(axis=-1) for name, value in values.items())
    h = 1e-3
    differences = (45.0 * (at(h) - at(-h)) - 9.0 * (at(2 * h) - at(-2 * h)) + at(3 * h) - at(-3 * h)) / (60.0 * h)
    np.testing.assert_allclose(slope, differences, rtol=1e-8)
    np.testing.assert_allclose(run.losses(), run.evaluate().loss, rtol=1e-13)
