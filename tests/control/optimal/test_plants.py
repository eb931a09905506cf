"""Plants: motors, springs, friction, payloads and delays in the problem; plans against simulations of the plant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.control.optimal.robots import four_bar, pendulum

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import OptimalControl, Plan, PlanFollowing, Residual, residuals
from chasles.control.optimal.drives import DrivesByRates
from chasles.control.optimal.expansion import Expansion, StepExpansion
from chasles.control.optimal.step import HeldStep
from chasles.engine import Function, trace
from chasles.integrators import Within

BRUSHED = {"resistance": 1.0, "inductance": 0.02, "torque_constant": 0.1, "gear_ratio": 30.0, "rotor_inertia": 1e-5}
SPRINGS = {"stiffness": 800.0, "damping": 1.0, "rotor_inertia": 0.3}
STRIBECK = {"coulomb": 0.3, "breakaway": 0.5, "viscous": 0.2, "smoothing_velocity": 0.2, "stribeck_velocity": 0.3}
AT_GOAL = [residuals.position("goal"), residuals.velocity()]


def plant_of(robot: ch.Robot, *, effort_limits: bool = False, **effects: dict[str, Any]) -> ch.Plant:
    """A plant with effects that are given by their settings."""
    kinds = {"motors": ch.Motors, "elastic_joints": ch.ElasticJoints, "friction": ch.Friction}
    made = {name: kinds[name](robot, **settings) for name, settings in effects.items()}
    return ch.Plant(robot, **made, effort_limits=effort_limits)


@pytest.mark.parametrize(
    ("effects", "count"),
    [
        ({"motors": BRUSHED | {"mode": "voltage"}, "friction": STRIBECK}, 2),
        ({"motors": {"time_constant": [0.01, 0.0]}, "elastic_joints": SPRINGS}, 6),
        ({"motors": BRUSHED | {"mode": "voltage"}, "elastic_joints": SPRINGS, "friction": STRIBECK}, 6),
    ],
)
@pytest.mark.parametrize(
    ("integrator", "stretches"), [("leapfrog", True), pytest.param("rk4", False, marks=pytest.mark.slow)]
)
def test_derivatives_are_those_of_the_step(
    effects: dict[str, dict[str, Any]], count: int, integrator: str, stretches: bool
) -> None:
    driven = plant_of(ch.load("planar2r"), **effects).driven(1.0)
    drives = driven.drives(np.array([True, True]))
    drives = DrivesByRates(drives.motors, drives) if stretches else drives
    step = HeldStep(driven.robot, drives, 0.02, integrator, stretches)
    rng, m, s = np.random.default_rng(3), 2, 4 + count + 3 * stretches
    assert (step.inputs, step.states) == (m, s)
    x, u, costate = rng.normal(size=(2, s)), rng.normal(size=(2, m)), rng.normal(size=(2, s))
    if stretches:
        x[:, -1] = 0.5 + np.abs(x[:, -1])
    program = trace(
        StepExpansion(step), {"x": (s,), "u": (m,), "costate": (s,)}, name="e", outputs=[*Expansion._fields]
    )
    following, A, B, curvature = Function(program)(x, u, costate)
    np.testing.assert_allclose(following, step(x, u), rtol=1e-12, atol=1e-12)
    w, e = np.concatenate([u, x], axis=1), 1e-5
    for i, unit in enumerate(np.eye(m + s)):
        high, low = w + e * unit, w - e * unit
        expected = (step(high[:, m:], high[:, :m]) - step(low[:, m:], low[:, :m])) / (2.0 * e)
        np.testing.assert_allclose(B[..., i] if i < m else A[..., i - m], expected, rtol=1e-6, atol=1e-7)
        slopes = [np.concatenate(step.adjoint(v[:, :m], v[:, m:], costate), axis=1) for v in (high, low)]
        np.testing.assert_allclose(curvature[..., i], (slopes[0] - slopes[1]) / (2.0 * e), rtol=1e-5, atol=1e-5)


def simulated(plant: ch.Plant, plan: Plan, period: float) -> np.ndarray:
    """Positions (N + 1, n) at the nodes when the plant is given the plan's torques alone."""
    plan.gains[...] = 0.0
    integrator = Within("rodas5p", rtol=1e-9, atol=1e-11)
    run = ch.simulate(plant, PlanFollowing(plant.robot, plan), plan, period=period, integrator=integrator)
    return np.asarray(run.q.values)[np.round(plan.knots / period).astype(int)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "effects",
    [
        {"motors": {"time_constant": 0.004}},
        {"motors": BRUSHED | {"mode": "voltage"}, "friction": STRIBECK},
        {"motors": BRUSHED | {"mode": "voltage"}, "elastic_joints": SPRINGS, "friction": STRIBECK},
    ],
)
def test_simulations_of_the_plant_confirm_its_plans(effects: dict[str, dict[str, Any]]) -> None:
    """The plant itself, integrated with tight tolerances, is where the plan says; with twice the nodes nearer."""
    robot = pendulum()
    plant = plant_of(robot, **effects)
    plant = ch.Plant(robot, **plant.effects, payloads=[ch.PickedPayload("box", 0.4)], effort_limits=False)
    still = [Residual(lambda motor_velocity: motor_velocity)] if "elastic_joints" in effects else []
    errors = []
    for nodes in (50, 100):
        running = [residuals.torque(), residuals.velocity()]
        problem = OptimalControl(plant, duration=1.0, nodes=nodes, running=running, exact_end=AT_GOAL + still)
        plan = problem.solve([0.2], goal=[0.9])
        assert plan.success
        errors.append(np.abs(simulated(plant, plan, 0.01) - plan.states[:, :1]).max())
    assert errors[1] < 2e-3
    assert errors[1] < 0.6 * errors[0]


def test_constant_wrenches_act_on_the_joints() -> None:
    """A push on the tool, in its own or in world axes, is that of the simulation; one that changes is refused."""
    arm = ch.load("planar2r")

    def push(t: float, parameters: dict[str, np.ndarray]) -> np.ndarray:
        return np.array([0.0, 0.0, 1.0, 10.0, parameters["force"], 0.0])

    for axes in ("frame", "world"):
        wrench = ch.ExternalWrench("push", push, axes=axes, parameters={"force": 20.0})
        plant = ch.Plant(arm, wrenches=[wrench], effort_limits=False)
        running = [residuals.torque(), residuals.velocity()]
        options = {"duration": 0.5, "nodes": 50, "running": running, "exact_end": AT_GOAL, "integrator": "rk4"}
        plan = OptimalControl(plant, limits=[], **options).solve([-1.5, 0.2], goal=[-1.2, -0.3])
        assert plan.success
        np.testing.assert_allclose(simulated(plant, plan, 0.01), plan.states[:, :2], atol=5e-6)
    growing = ch.ExternalWrench("growing", lambda t, _: np.array([0.0, 0.0, 0.0, t, 0.0, 0.0]))
    with pytest.raises(ArgumentError, match="'growing' changes with time"):
        OptimalControl(ch.Plant(arm, wrenches=[growing]), **options)


def test_commands_of_a_plant_with_a_delay_are_sent_before_they_act() -> None:
    plant = ch.Plant(pendulum(), delay=0.015, effort_limits=False)
    running = [residuals.torque(), residuals.velocity()]
    problem = OptimalControl(plant, duration=1.0, nodes=50, running=running, exact_end=AT_GOAL, integrator="rk4")
    plan = problem.solve([0.2], goal=[0.9])
    assert plan.success
    assert plan.delay == 0.015
    np.testing.assert_allclose(simulated(plant, plan, 0.005), plan.states[:, :1], atol=1e-6)


@pytest.mark.slow
def test_saturations_are_limits() -> None:
    """A motor of 12 V and 3 A, with 3 N·m/A at the joint: currents and voltages stay within, and are used."""
    motors = BRUSHED | {"inductance": 0.0, "max_voltage": 12.0, "max_current": 3.0}
    plant = plant_of(pendulum(), motors=motors)
    problem = OptimalControl(
        plant, duration=(0.2, 3.0), nodes=30, running=[residuals.time(), 1e-3 * residuals.torque()], exact_end=AT_GOAL
    )
    plan = problem.solve([0.0], goal=[1.2])
    assert plan.success
    current, speed = plan.torques[:, 0] / 3.0, plan.states[:-1, 1]
    voltage = current + 3.0 * speed
    assert np.abs(current).max() <= 3.0 + 1e-5
    assert np.abs(voltage).max() <= 12.0 + 1e-4
    at_limits = (np.abs(current) > 2.99) | (np.abs(voltage) > 11.9)
    assert at_limits.mean() > 0.8


def test_drives_begin_as_they_hold_the_weight() -> None:
    """A spring at rest carries the weight, m g sin q / K, and the current is that of this torque."""
    plant = plant_of(pendulum(), motors={"time_constant": 0.01}, elastic_joints=SPRINGS)
    problem = OptimalControl(plant, duration=0.5, nodes=10, running=[residuals.torque()])
    plan = problem.solve([0.5], iterations=0)
    weight = 9.81 * np.sin(0.5)
    assert plan.drives["motor_position"][0, 0] == pytest.approx(0.5 + weight / 800.0)
    assert plan.drives["current"][0, 0] == pytest.approx(weight)
    with pytest.raises(ArgumentError, match=r"pose it for plant\.robot"):
        ch.ModelPredictive(problem)


@pytest.mark.parametrize(
    ("effects", "message"),
    [
        ({"friction": {"coulomb": 1.0}}, "smoothing_velocity=0.1"),
        ({"friction": STRIBECK | {"stribeck_exponent": 1.0}}, "corner at rest"),
        ({"elastic_joints": SPRINGS | {"backlash": 0.01}}, "backlash"),
    ],
)
def test_what_jumps_is_refused(effects: dict[str, dict[str, Any]], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        OptimalControl(plant_of(pendulum(), **effects), duration=1.0, nodes=5, running=[residuals.torque()])


def test_what_no_smooth_program_has_is_refused() -> None:
    robot = pendulum()
    floor = ch.ContactPlane("floor", "tool", point=[0, 0, 0], normal=[0, 0, 1], stiffness=1e4, damping=10.0)
    for effects, message in (
        ({"contacts": [floor]}, "PhasedContact"),
        ({"timing": ch.TimingFaults(jitter=0.001)}, "leave timing out"),
        ({"payloads": [ch.PickedPayload("box", 1.0, pick_time=0.5)]}, "before and after"),
    ):
        with pytest.raises(ArgumentError, match=message):
            OptimalControl(ch.Plant(robot, **effects), duration=1.0, nodes=5, running=[residuals.torque()])
    later = ch.Plant(robot, payloads=[ch.PickedPayload("box", 1.0, pick_time=1.5)])
    assert OptimalControl(later, duration=1.0, nodes=5, running=[residuals.torque()]).robot.mass_matrix([0.0]) == 1.0
    with pytest.raises(ArgumentError, match="quaternions or loops"):
        OptimalControl(ch.Plant(four_bar(), friction=ch.Friction(1, viscous=1.0)), duration=1.0, nodes=5)
    with pytest.raises(ArgumentError, match="no plant with elastic joints"):
        OptimalControl(robot, duration=1.0, nodes=5, running=[lambda motor_position: motor_position]).solve([0.0])
