"""Accelerations of robots that follow the direction of a target that turns."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.geometry import exp_pose

PANDA = ch.load("panda")
Q_PANDA = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.7, 0.5])


@pytest.mark.parametrize("mask", ["direction", "position and direction"])
def test_the_direction_stays_with_the_target(mask: str) -> None:
    """x and y of R_targetᵀ (omega_tool - omega_target) and their time derivatives are zero; z is free."""
    T = PANDA.forward_kinematics(Q_PANDA)
    motion = ch.StraightLine(T, T @ exp_pose([0.4, -0.3, 0.5, 0.1, 0.1, -0.05]), duration=2.0)
    joints = motion.follow(PANDA, Q_PANDA, mask=mask)
    assert joints.success
    largest = 0.0
    for t in joints.knots[1:-1]:
        q, qd, qdd = joints(t)
        goal = motion(t)
        J = PANDA.jacobian(q, frame="world-aligned")
        omega, R = goal.twist[:3], goal.pose[:3, :3]
        difference = (J @ qd - goal.twist)[:3]
        change = J @ qdd + PANDA.jacobian_derivative(q, qd, frame="world-aligned") @ qd - goal.acceleration
        np.testing.assert_allclose((difference @ R)[:2], 0.0, atol=1e-8)
        np.testing.assert_allclose(((change[:3] - np.cross(omega, difference)) @ R)[:2], 0.0, atol=1e-7)
        largest = max(largest, np.linalg.norm(np.cross(omega, difference)))
    assert largest > 1e-3  # what is free differs, and turns with the target
