"""Model predictive control of states beyond positions and velocities of chains: torques, rotations, loops, contacts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_discrete_are
from tests.control.optimal.robots import four_bar, gantry, hanging_body

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import ModelPredictive
from chasles.control.optimal import OptimalControl, Residual, residuals
from chasles.model import Description, Inertia, Link

PERIOD = 0.1


def test_with_rates_a_linear_plant_gets_the_stationary_regulator_of_states_and_torques() -> None:
    """x⁺ = A x + B τ, τ⁺ = τ + T r: the rates are those of Riccati's equation; that of a call acts in the next one."""
    inertia, zero = np.array([5.0, 2.0]), np.zeros((2, 2))
    A = np.block([[np.eye(2), PERIOD * np.eye(2)], [zero, np.eye(2)]])
    B = np.concatenate([0.5 * PERIOD**2 * np.diag(1.0 / inertia), PERIOD * np.diag(1.0 / inertia)])
    A = np.block([[A, B], [np.zeros((2, 4)), np.eye(2)]])
    B = np.concatenate([np.zeros((4, 2)), PERIOD * np.eye(2)])
    Q, R = PERIOD * np.diag([3.0, 1.0, 0.5, 0.2, 0.1, 0.4]), PERIOD * np.diag([0.02, 0.01])
    P = solve_discrete_are(A, B, Q, R)
    root, K = np.linalg.cholesky(P).T, np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    running = [residuals.position(np.zeros(2)), residuals.velocity(), residuals.torque()]
    weights = np.split(np.diagonal(Q) / PERIOD, 3)
    problem = OptimalControl(
        gantry(),
        duration=1.2,
        nodes=12,
        running=[*(w * each for w, each in zip(weights, running, strict=True)), [0.02, 0.01] * residuals.torque_rate()],
        final=[lambda q, qd, tau: root @ np.concatenate([q, qd, tau])],
        limits=(),
    )
    law = ModelPredictive(problem, iterations=1)
    run = ch.simulate(gantry(), law, duration=2.0, start=[1.0, -2.0], period=PERIOD)
    tau = run.tau.values
    x = np.concatenate([run.q.values, run.qd.values, tau], axis=1)
    np.testing.assert_array_equal(tau[0], 0.0)
    np.testing.assert_allclose(np.diff(tau, axis=0) / PERIOD, -x[:-1] @ K.T, atol=1e-10)


@pytest.mark.parametrize("period", [0.02, 0.03])
def test_limits_of_rates_are_kept_with_nodes_more_than_a_period_apart(period: float) -> None:
    arm, rate = ch.load("planar2r"), 400.0
    problem = OptimalControl(
        arm,
        duration=0.6,
        nodes=15,
        running=[100.0 * residuals.position("goal"), residuals.velocity(), 1e-3 * residuals.torque()],
        limits={"torque": 90.0, "torque_rate": rate, "velocity": 1.2},
    )
    start, goal = np.array([0.8, 0.4]), [1.2, 0.9]
    law = ModelPredictive(problem, goal=goal)
    run = ch.simulate(arm, law, duration=1.5, start=start, period=period, integrator="dormand-prince")
    rates = np.diff(run.tau.values, axis=0) / period
    np.testing.assert_allclose(run.tau.values[0], arm.gravity_torque(start))
    assert 0.9 * rate < np.abs(rates).max() <= rate * (1.0 + 1e-9)
    assert np.abs(run.qd).max() <= 1.2 + 1e-3
    assert np.abs(run.q.values[-1] - goal).max() < 0.05
    with pytest.raises(ArgumentError, match="longer than a step of the problem"):
        ch.simulate(arm, law, duration=0.5, start=start, period=0.05)


@pytest.mark.slow
def test_a_ball_joint_that_swings_in_a_plane_is_controlled_as_a_hinge() -> None:
    runs = []
    for kind, axis in (("revolute", [1.0]), ("spherical", [0.0, 1.0, 0.0])):
        robot = hanging_body(kind)
        weights = [200.0 * residuals.position("goal"), residuals.velocity(), 0.1 * residuals.torque()]
        problem = OptimalControl(robot, duration=0.5, nodes=10, running=weights, limits=())
        law = ModelPredictive(problem, goal=robot.integrate(robot.home, 0.7 * np.array(axis)), iterations=10)
        run = ch.simulate(robot, law, duration=0.6, start=robot.home, period=0.02)
        runs.append(run.tau.values @ axis)
    np.testing.assert_allclose(runs[1], runs[0], atol=1e-6)


@pytest.mark.slow
def test_a_body_with_thrusters_goes_to_a_pose_more_than_half_a_turn_away() -> None:
    """A quadrotor: moments about three axes and a thrust along its own z axis, which lean it to go anywhere."""
    body = Inertia(1.0, matrix=np.diag([0.01, 0.012, 0.02]))
    drone = ch.Robot(Description("drone", links=(Link("hull", body),), joints=())).with_free_base()
    hover = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.81])
    problem = OptimalControl(
        drone,
        duration=0.8,
        nodes=16,
        motors=["base.wx", "base.wy", "base.wz", "base.vz"],
        running=[
            [10.0, 10.0, 10.0, 100.0, 100.0, 100.0] * residuals.position("goal"),
            residuals.velocity(),
            Residual(lambda tau: tau - hover, weight=[10.0, 10.0, 10.0, 0.1, 0.1, 0.1]),
        ],
        final=[300.0 * residuals.position("goal")],
        limits={"torque": [0.3, 0.3, 0.1, 1.0, 1.0, 15.0]},
    )
    turns = [np.array([0.0, 0.0, 1.8, 0.5, 0.3, 0.2]), np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0])]
    goal = np.asarray(drone.integrate(drone.integrate(drone.home, turns[0]), turns[1]))
    law = ModelPredictive(problem, goal=goal, iterations=2)
    run = ch.simulate(drone, law, duration=2.5, start=drone.home, period=0.05)
    assert np.abs(drone.difference(run.q.values[-1], goal)).max() < 0.02
    assert (np.abs(run.tau.values).max(axis=0) <= [0.3, 0.3, 0.1, 0.0, 0.0, 15.0]).all()
    assert not [found for found in run.findings if found.rule.code == "failed-solve"]


@pytest.mark.slow
def test_a_loop_is_controlled_with_a_delay_and_an_unknown_load() -> None:
    """The crank of a four-bar whose rocker is heavier than the law knows comes to rest where it should."""
    robot = four_bar()
    goal = np.asarray(robot.integrate(robot.home, np.array([0.5])))
    running = [100.0 * residuals.position("goal"), residuals.velocity(), 1e-4 * residuals.torque()]
    problem = OptimalControl(robot, duration=0.3, nodes=10, running=running, limits=())
    law = ModelPredictive(problem, goal=goal, delay=1.0, observer=10.0)
    heavy = robot.with_values({"links.rocker.mass": 1.3 * robot.description.link("rocker").inertia.mass})
    run = ch.simulate(ch.Plant(heavy, delay=0.02), law, duration=2.0, start=robot.home, period=0.02)
    assert np.abs(robot.difference(run.q.values[-1], goal)).max() < 5e-3
    assert np.abs(robot.loops.constraints(run.q.values).residual).max() < 1e-6
