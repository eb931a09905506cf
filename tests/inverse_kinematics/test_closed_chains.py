"""Inverse kinematics of closed chains: solutions are closed, and reach the target."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES

import chasles as ch

SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("four-bar", "palletiser", "Delta", "Stewart by pose")]


@pytest.mark.parametrize("name", ["five-bar", *SLOW])
def test_poses_of_closed_configurations_are_found_again(name: str) -> None:
    robot = ch.Robot(MACHINES[name]())
    displacements = 0.1 * np.random.default_rng(4).normal(size=(20, robot.n))
    goals = robot.forward_kinematics(robot.integrate(robot.home, displacements))
    found = robot.inverse_kinematics(goals, q0=robot.home)
    assert found.success.all()
    assert np.abs(robot.loop_constraints(found.q).residual).max() < 1e-9
    assert robot.forward_kinematics(found.q) == pytest.approx(goals, abs=1e-6)


def test_what_is_out_of_reach_is_not_called_a_solution() -> None:
    robot = ch.Robot(MACHINES["five-bar"]())
    goal = robot.forward_kinematics(robot.home)
    goal[0, 3] += 3.0
    found = robot.inverse_kinematics(goal, q0=robot.home)
    assert not found.success
