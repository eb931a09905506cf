"""Parameters of the robot as numbers of a problem: the same motions as of robots that have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.control.optimal.robots import hanging_body, pendulum

import chasles as ch
from chasles.base.errors import ChaslesError
from chasles.control.optimal import Residual, residuals


def _swing(robot: ch.Robot, **options: Any) -> ch.OptimalControl:
    against_gravity = Residual(lambda robot, q, tau: 0.3 * (tau - robot.gravity_torque(q)))
    return ch.OptimalControl(
        robot,
        nodes=10,
        running=[residuals.torque(), against_gravity],
        exact_end=[residuals.position("goal"), residuals.velocity()],
        **{"duration": 1.0, **options},
    )


def test_a_batch_over_parameters_is_what_robots_with_these_values_do() -> None:
    robot = pendulum().with_friction(viscous=0.1)
    names = "payload.mass", "joints.joint1.viscous_friction"
    values = np.array([[0.0, 0.1], [0.5, 0.4]])
    start = np.zeros(1)
    plans = _swing(robot).solve(start, goal=[0.7], vary=dict(zip(names, values.T, strict=True)))
    assert plans.success.all()
    assert plans.cost[0] < plans.cost[1]
    for k in range(2):
        alone = _swing(robot.with_values(dict(zip(names, values[k], strict=True)))).solve(start, goal=[0.7])
        np.testing.assert_allclose(plans.torques[k], alone.torques, rtol=0.0, atol=1e-9)
        assert plans.iterations[k] == alone.iterations


@pytest.mark.slow
def test_limits_and_parameters_change_together() -> None:
    problem = _swing(pendulum())
    heavy = {"payload.mass": 0.5}
    most = np.abs(problem.solve([0.0], goal=[0.7], vary=heavy).torques).max()
    limited = problem.with_limits({"torque": 0.9 * most}).solve([0.0], goal=[0.7], vary=heavy)
    assert limited.success
    assert np.abs(limited.torques).max() <= 0.9 * most * (1.0 + 1e-6)


@pytest.mark.slow
def test_a_motion_to_follow_needs_the_torques_of_the_parameters() -> None:
    robot = pendulum()
    motion = ch.PointToPoint([0.0], [0.5], duration=1.0)
    along = ch.OptimalControl(robot, duration=1.0, nodes=20, running=[residuals.torque("reference")], limits=[])
    plans = along.solve([0.0], reference=motion, vary={"payload.mass": [0.0, 1.0]})
    middle = motion(np.linspace(0.025, 0.975, 20))
    for k, mass in enumerate((0.0, 1.0)):
        expected = robot.with_values({"payload.mass": mass}).inverse_dynamics(*middle)
        np.testing.assert_allclose(plans.torques[k], expected, atol=1e-9)


@pytest.mark.slow
def test_inertias_of_a_ball_joint_choose_the_duration() -> None:
    """Of 6 I² θ² / T³ + T, the least effort and the time, the least is at T⁴ = 18 I² θ²."""
    robot, turn = hanging_body("spherical", isotropic=0.5), np.array([0.8, -0.9, 0.6])
    problem = ch.OptimalControl(
        robot,
        duration=(0.5, 4.0),
        nodes=30,
        running=[residuals.torque(), residuals.time()],
        exact_end=[residuals.position("goal"), lambda qd: qd],
    )
    inertias = np.array([0.5, 0.8])
    matrices = inertias[:, None, None] * np.eye(3)
    plans = problem.solve(robot.home, goal=robot.integrate(robot.home, turn), vary={"links.body.inertia": matrices})
    assert plans.success.all()
    np.testing.assert_allclose(plans.duration, (18.0 * inertias**2 * (turn @ turn)) ** 0.25, rtol=2e-3)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ({"payload.mass": -1.0}, r"vary\['payload.mass'\] is -1"),
        ({"payload.mass": [1.0, np.nan]}, r"vary\['payload.mass'\]\[1\] is nan"),
        ({"payload.maas": 1.0}, "Did you mean 'payload.mass'"),
        ({"gravity": [0.0, 1.0]}, "shape"),
        ({"joints.joint1.position": [0.0, 0.0, 1.0]}, "moves joints or frames"),
        ({"joints.joint1.coulomb_friction": 1.0}, "may jump at rest"),
    ],
)
def test_impossible_parameters_are_refused(vary: dict[str, Any], message: str) -> None:
    with pytest.raises(ChaslesError, match=message):
        _swing(pendulum()).solve([0.0], goal=[0.7], vary=vary)
