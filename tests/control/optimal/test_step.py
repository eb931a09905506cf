"""The step between nodes: its order, and its derivatives against differences and reverse accumulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.control.optimal.robots import acrobot, four_bar, pendulum

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import OptimalControl, residuals
from chasles.control.optimal.drives import Drives, DrivesByRates
from chasles.control.optimal.expansion import Expansion, StepExpansion
from chasles.control.optimal.step import HeldStep
from chasles.engine import Function, trace
from chasles.integrators import Steps


@pytest.mark.parametrize(
    ("integrator", "motors", "stretches", "by_rates"),
    [
        ("leapfrog", [False, True], False, False),
        ("leapfrog", [True, True], True, False),
        ("leapfrog", [True, True], True, True),
        ("semi-implicit-euler", [True, True], False, False),
        ("implicit-friction-leapfrog", [False, True], True, True),
        ("rk4", [False, True], True, True),
        (Steps("bogacki-shampine", 2), [True, True], False, False),
        (Steps("leapfrog", 2), [True, True], True, False),
    ],
)
def test_derivatives_are_those_of_the_step(
    integrator: str | Steps, motors: list[bool], stretches: bool, by_rates: bool
) -> None:
    drives = Drives(np.array(motors))
    drives = DrivesByRates(drives.motors, drives) if by_rates else drives
    robot = acrobot().with_friction(viscous=0.5, coulomb=0.7, coulomb_velocity=0.4)
    step = HeldStep(robot, drives, 0.05, integrator, stretches)
    rng = np.random.default_rng(5)
    m, s = sum(motors), 4 + stretches + by_rates * sum(motors)
    assert (step.inputs, step.states) == (m, s)
    x, u, costate = rng.normal(size=(3, s)), rng.normal(size=(3, m)), rng.normal(size=(3, s))
    if stretches:
        x[:, -1] = 0.5 + np.abs(x[:, -1])
    shapes = {"x": (s,), "u": (m,), "costate": (s,)}
    program = trace(StepExpansion(step), shapes, name="expansion", outputs=[*Expansion._fields])
    following, A, B, curvature = Function(program)(x, u, costate)
    np.testing.assert_allclose(following, step(x, u), atol=1e-13)
    w, e = np.concatenate([u, x], axis=1), 1e-5
    for i, unit in enumerate(np.eye(m + s)):
        high, low = w + e * unit, w - e * unit
        expected = (step(high[:, m:], high[:, :m]) - step(low[:, m:], low[:, :m])) / (2.0 * e)
        computed = B[..., i] if i < m else A[..., i - m]
        np.testing.assert_allclose(computed, expected, atol=1e-9)
    by_u, by_x = step.adjoint(u, x, costate)
    np.testing.assert_allclose(by_u, np.einsum("kxu,kx->ku", B, costate), atol=1e-13)
    np.testing.assert_allclose(by_x, np.einsum("kxy,kx->ky", A, costate), atol=1e-13)
    for i, unit in enumerate(np.eye(m + s)):
        high, low = (
            np.concatenate(step.adjoint(v[:, :m], v[:, m:], costate), axis=1) for v in (w + e * unit, w - e * unit)
        )
        np.testing.assert_allclose(curvature[..., i], (high - low) / (2.0 * e), atol=1e-8)


def pendulum_rates(t: float, y: np.ndarray, tau: float) -> list[float]:
    return [y[1], tau - 9.81 * np.sin(y[0])]


@pytest.mark.parametrize(("integrator", "order"), [("leapfrog", 2), ("semi-implicit-euler", 1), ("rk4", 4)])
def test_order_where_forces_depend_on_positions(integrator: str, order: int) -> None:
    bob, duration, start = pendulum(), 0.5, np.array([0.8, -1.0])
    exact = solve_ivp(pendulum_rates, (0.0, duration), start, args=(0.5,), rtol=1e-11, atol=1e-12)
    errors = []
    for count in (40, 80):
        step, x = HeldStep(bob, Drives(np.array([True])), duration / count, integrator), start
        for _ in range(count):
            x = step(x, np.array([0.5]))
        errors.append(np.abs(x - exact.y[:, -1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_a_plan_by_stages_ends_where_its_torques_lead() -> None:
    """Of the same nodes, those of 'rk4' are nearer to the exact motion of their torques than those of 'leapfrog'."""
    bob, errors = pendulum(), {}
    for integrator in ("leapfrog", "rk4"):
        problem = OptimalControl(
            bob,
            duration=1.0,
            nodes=20,
            running=[residuals.torque()],
            exact_end=[residuals.position([1.0]), residuals.velocity()],
            integrator=integrator,
        )
        plan = problem.solve([0.2], [1.0])
        assert plan.success
        np.testing.assert_allclose(plan(plan.knots).q, plan.states[:, :1], atol=1e-12)
        x = np.array([0.2, 1.0])
        for tau in plan.torques[:, 0]:
            x = solve_ivp(pendulum_rates, (0.0, 0.05), x, args=(tau,), rtol=1e-9, atol=1e-11).y[:, -1]
        errors[integrator] = np.abs(x - [1.0, 0.0]).max()
    assert errors["rk4"] < 1e-5 < errors["leapfrog"] < 1e-2


def test_friction_at_the_end_of_a_step_obeys_its_equation() -> None:
    """However stiff the friction: M (q̇⁺ - q̇) / h + c + F(q̇⁺) = τ, by inverse dynamics of a robot without friction."""
    arm, h = ch.load("planar2r"), 0.03
    stiff = arm.with_friction(coulomb=[3.0, 1.0], viscous=0.2, coulomb_velocity=0.01)
    rng = np.random.default_rng(7)
    q, qd = rng.normal(size=(2, 500, 2)) * [[[1.0]], [[0.3]]]
    u = np.asarray(arm.gravity_torque(q)) + rng.normal(size=(500, 2)) * rng.choice([0.1, 1.0, 10.0], size=(500, 1))
    step = HeldStep(stiff, Drives(np.array([True, True])), h, "implicit-friction-leapfrog")
    following = step(np.concatenate([q, qd], axis=1), u)
    new = following[:, 2:]
    friction = np.array([3.0, 1.0]) * np.tanh(new / 0.01) + 0.2 * new
    needed = np.asarray(arm.inverse_dynamics(q + 0.5 * h * qd, qd, (new - qd) / h)) + friction
    np.testing.assert_allclose(needed, u, atol=1e-6)


@pytest.mark.slow
def test_implicit_friction_finds_more_motions_in_fewer_iterations() -> None:
    """Friction that is stiff for steps of 25 ms, drawn goals of an arm: explicit steps stop some searches short."""
    arm = ch.load("planar2r").with_friction(coulomb=2.0, coulomb_velocity=0.02)
    goals = arm.home + 0.3 * np.random.default_rng(11).normal(size=(8, 2))
    plans = {}
    for integrator in ("leapfrog", "implicit-friction-leapfrog"):
        problem = OptimalControl(
            arm,
            duration=1.0,
            nodes=40,
            running=[residuals.torque(), residuals.velocity()],
            exact_end=[residuals.position("goal"), residuals.velocity()],
            integrator=integrator,
        )
        plans[integrator] = problem.solve(arm.home, goal=goals, iterations=300)
    explicit, implicit = plans.values()
    assert implicit.success.all()
    assert not implicit.findings
    assert {finding.rule.code for finding in explicit.findings} >= {"stiff-friction"}
    assert explicit.success.sum() < len(goals)
    assert np.median(implicit.iterations) < 0.7 * np.median(explicit.iterations)


def test_implicit_friction_takes_joints_one_by_one() -> None:
    loaded = ch.load("planar2r").with_friction(load=0.1)
    for robot, message in ((four_bar(), "has loops"), (loaded, "has friction of the load")):
        with pytest.raises(ArgumentError, match=message):
            OptimalControl(robot, duration=1.0, nodes=5, integrator="implicit-friction-leapfrog")
    with pytest.raises(ArgumentError, match="cannot be added up"):
        OptimalControl(four_bar(), duration=1.0, nodes=5, integrator="rk4")
