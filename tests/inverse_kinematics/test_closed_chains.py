"""Inverse kinematics of closed chains: solutions are closed, and reach the target."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES

import chasles as ch
from chasles.base.errors import ArgumentError

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("four-bar", "palletiser", "Delta", "Stewart by pose")]


@pytest.mark.parametrize("name", ["five-bar", *SLOW])
def test_poses_of_closed_configurations_are_found_again(name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    displacements = 0.1 * np.random.default_rng(4).normal(size=(20, robot.n))
    goals = robot.forward_kinematics(robot.integrate(robot.home, displacements))
    found = robot.inverse_kinematics(goals, q0=robot.home)
    assert found.success.all()
    assert np.abs(robot.loops.constraints(found.q).residual).max() < 1e-9
    assert robot.forward_kinematics(found.q) == pytest.approx(goals, abs=1e-6)


def test_what_is_out_of_reach_is_not_called_a_solution() -> None:
    robot = ch.Robot(MACHINES["five-bar"]())
    goal = robot.forward_kinematics(robot.home)
    goal[0, 3] += 3.0
    found = robot.inverse_kinematics(goal, q0=robot.home)
    assert not found.success


@pytest.mark.slow
def test_a_search_starts_closed_and_ends_closed_where_nothing_is_found() -> None:
    """Without a guess it starts at home, since the middle of the limits closes no loops; a guess must close them."""
    stewart = ch.load("stewart")
    moved = stewart.integrate(stewart.home, 0.03 * np.random.default_rng(0).normal(size=(6, 6)))
    targets = stewart.forward_kinematics(moved)
    targets[-1, :3, 3] += 30.0
    solution = stewart.inverse_kinematics(targets, max_iterations=100)
    assert solution.success.tolist() == [True] * 5 + [False]
    assert np.isfinite(solution.q).all()
    assert np.abs(stewart.loops.constraints(solution.q).residual).max() < 1e-8
    np.testing.assert_allclose(stewart.forward_kinematics(solution.q)[:5], targets[:5], atol=3e-6)
    said = r"the loops of robot 'stewart' cannot be closed at q0\[1\]; robot\.loops\.close"
    with pytest.raises(ArgumentError, match=said):
        stewart.inverse_kinematics(targets[:2], [moved[0], np.r_[moved[1][:7], 30.0 + moved[1][7:]]])
