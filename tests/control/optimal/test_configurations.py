"""Robots whose configurations are no vectors: spherical joints, free bases and loops."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.optimal.robots import ball, four_bar, hanging_body, satellite

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import PlanFollowing, Residual, residuals
from chasles.control.optimal.coordinates import Coordinates
from chasles.control.optimal.drives import Drives
from chasles.control.optimal.expansion import Expansion, StepExpansion
from chasles.control.optimal.step import HeldStep
from chasles.engine import Function, trace

AT_REST = residuals.velocity()


@pytest.mark.slow
@pytest.mark.parametrize("robot", [ball(), satellite(), four_bar()], ids=lambda robot: robot.name)
def test_derivatives_are_those_of_the_step(robot: ch.Robot) -> None:
    step = HeldStep(robot, Drives(np.arange(robot.n) == robot.n - 1), 0.05, "leapfrog", stretches=True)
    rng = np.random.default_rng(5)
    n, s, e = robot.n, step.states, 1e-5
    centre = np.asarray(robot.integrate(robot.home, 0.1 * rng.normal(size=n)))
    centres = centre, np.asarray(robot.integrate(centre, 0.1 * rng.normal(size=n)))
    x, u, costate = 0.3 * rng.normal(size=s), rng.normal(size=1), rng.normal(size=s)
    x[:n] += step.coordinates.of_centre(centre)
    x[-1] = 1.1
    shapes = {"x": (s,), "u": (1,), "costate": (s,), "centre": (robot.nq,), "next_centre": (robot.nq,)}

    program = trace(StepExpansion(step), shapes, name="expansion", outputs=[*Expansion._fields])
    following, A, B, curvature = Function(program)(x, u, costate, *centres)
    np.testing.assert_allclose(following, step(x, u, *centres), atol=1e-13)
    w = np.concatenate([u, x])
    for i, unit in enumerate(np.eye(1 + s)):
        high, low = w + e * unit, w - e * unit
        expected = (step(high[1:], high[:1], *centres) - step(low[1:], low[:1], *centres)) / (2.0 * e)
        np.testing.assert_allclose(np.c_[B, A][:, i], expected, atol=1e-8)
        high, low = (np.concatenate(step.adjoint(v[:1], v[1:], *centres, costate)) for v in (high, low))
        np.testing.assert_allclose(curvature[:, i], (high - low) / (2.0 * e), atol=1e-8)
    by_u, by_x = step.adjoint(u, x, *centres, costate)
    np.testing.assert_allclose(np.concatenate([by_u, by_x]), np.c_[B, A].T @ costate, atol=1e-12)


def test_coordinates_are_those_of_a_displacement() -> None:
    robot = satellite()
    coordinates, rng = Coordinates(robot), np.random.default_rng(3)
    centre, p = robot.random_configuration(1, (4,)), rng.uniform(-1.0, 1.0, (4, robot.n))
    q = coordinates.configuration(p, centre)
    np.testing.assert_allclose(q[:, -1], p[:, -1])
    np.testing.assert_allclose(robot.difference(centre, q)[:, :6], p[:, :6], atol=1e-12)
    np.testing.assert_allclose(coordinates.of(q, centre), p, atol=1e-12)


@pytest.mark.slow
def test_a_spherical_joint_driven_about_one_axis_is_a_revolute_joint() -> None:
    """Swing-ups by more than half a turn: the same optimum, although the coordinates are other ones."""
    answers = []
    for kind, motor in (("revolute", "hinge"), ("spherical", "hinge.wy")):
        robot = hanging_body(kind)
        displacement = np.zeros(robot.n)
        displacement[1 if kind == "spherical" else 0] = 1.0
        goal = robot.integrate(robot.home, 4.0 * displacement)
        middle = robot.integrate(robot.home, 2.0 * displacement)
        line = ch.PointToPoint(robot.home, goal, 1.2)
        if kind == "spherical":  # a line between two quaternions is the shorter way
            way = ch.CubicSpline([0.0, 0.6, 1.2], np.stack([robot.home, middle, goal]))
            line = ch.trajectories.TangentTrajectory(robot, way)
        problem = ch.OptimalControl(
            robot,
            duration=1.2,
            nodes=24,
            running=[residuals.torque(), AT_REST],
            exact_end=[residuals.position("goal"), AT_REST],
            motors=[motor],
        )
        plan = problem.solve(robot.home, goal=goal, guess=line)
        assert plan.success, str(plan)
        answers.append((plan.cost, plan.torques @ displacement, plan.states[:, -robot.n :] @ displacement))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6, rtol=1e-9)


@pytest.mark.slow
def test_a_rigid_ball_turns_about_one_axis_with_cubic_progress() -> None:
    """With equal moments of inertia I the least ∫½ τ² of a rotation θ in time T is 6 I² θ² / T³."""
    robot, turn = hanging_body("spherical", isotropic=0.5), np.array([0.8, -0.9, 0.6])
    problem = ch.OptimalControl(
        robot,
        duration=0.8,
        nodes=40,
        running=[residuals.torque()],
        exact_end=[residuals.position("goal"), AT_REST],
    )
    plan = problem.solve(robot.home, goal=robot.integrate(robot.home, turn))
    assert plan.success
    assert plan.cost == pytest.approx(6.0 * 0.25 * (turn @ turn) / 0.8**3, rel=1e-3)
    axis = turn / np.linalg.norm(turn)
    progress = np.asarray(robot.difference(robot.home, plan(0.2).q))
    np.testing.assert_allclose(progress, turn * (3.0 / 16.0 - 2.0 / 64.0), atol=1e-3)
    np.testing.assert_allclose(np.cross(plan.torques, axis), 0.0, atol=1e-6)


@pytest.mark.slow
def test_a_free_base_keeps_its_momentum_and_its_plan_is_followed() -> None:
    robot = satellite()
    problem = ch.OptimalControl(
        robot,
        duration=2.0,
        nodes=40,
        running=[residuals.torque()],
        exact_end=[Residual(lambda q, angle: q[-1] - angle, angle=()), lambda qd: qd[-1]],
    )
    plan = problem.solve(robot.home, angle=[0.5, 1.0])
    assert plan.success.all()
    momentum = robot.centroidal.momentum(plan.states[..., : robot.nq], plan.states[..., robot.nq :])
    of_elbow = 0.3 * np.abs(plan.states[..., -1]).max()  # kg·m²: what a step of first order loses is a share of this
    assert np.abs(momentum).max() < 0.02 * of_elbow
    np.testing.assert_allclose(plan(2.0).q[..., -1], [0.5, 1.0], atol=1e-6)
    one = problem.solve(robot.home, angle=0.5)
    assert one.cost == pytest.approx(plan.cost[0], rel=1e-9)
    run = ch.simulate(robot, PlanFollowing(robot, one), one, period=0.05)
    assert float(np.abs(run.error).max()) < 1e-2


@pytest.mark.slow
def test_a_loop_moves_as_the_tree_that_is_held_together() -> None:
    """A four-bar: the energy that the motor gives is what the bars have gained, and the loop stays closed."""
    robot = four_bar()
    problem = ch.OptimalControl(
        robot,
        duration=1.0,
        nodes=50,
        running=[residuals.torque()],
        exact_end=[residuals.velocity([1.5])],
    )
    plan = problem.solve(robot.home)
    assert plan.success
    assert np.abs(robot.loops.constraints(plan.states[:, : robot.nq]).residual).max() < 1e-8
    q, qd = np.split(plan.states, [robot.nq], axis=1)
    gained = np.diff(np.asarray(robot.kinetic_energy(q, qd) + robot.potential_energy(q))[[0, -1]])[0]
    given = np.sum(plan.torques[:, 0] * np.asarray(robot.difference(q[:-1], q[1:]))[:, 0])
    assert given == pytest.approx(gained, rel=2e-3)


def test_configurations_that_do_not_exist_are_refused() -> None:
    robot = satellite()
    problem = ch.OptimalControl(robot, duration=1.0, nodes=2, running=[residuals.torque()])
    with pytest.raises(ArgumentError, match="a quaternion is zero"):
        problem.solve(np.zeros(robot.nq))
    with pytest.raises(ArgumentError, match="8 coordinates and 7 velocities"):
        problem.solve(robot.home, guess=ch.PointToPoint(np.zeros(8), np.ones(8), 1.0))
