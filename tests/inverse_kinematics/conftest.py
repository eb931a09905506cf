from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import chasles as ch


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def confirm() -> Callable[..., None]:
    """Check every claim of a solution by forward kinematics and limits, in plain NumPy."""

    def check(robot: ch.Robot, solution, T, tolerance: float = 1e-6, target: str = "tool") -> None:
        reached = robot.forward_kinematics(solution.q, target=target)
        distance = np.linalg.norm(reached[..., :3, 3] - T[..., :3, 3], axis=-1)
        E = np.swapaxes(reached[..., :3, :3], -1, -2) @ T[..., :3, :3]
        angle = 2.0 * np.arcsin(np.clip(np.linalg.norm(E - np.eye(3), axis=(-2, -1)) / np.sqrt(8.0), 0.0, 1.0))
        np.testing.assert_allclose(solution.residual.distance, distance, rtol=1e-6, atol=1e-14)
        np.testing.assert_allclose(solution.residual.angle, angle, rtol=1e-6, atol=1e-7)
        inside = ((solution.q >= robot.lower_limits) & (solution.q <= robot.upper_limits)).all(axis=-1)
        np.testing.assert_array_equal(solution.success, (distance <= tolerance) & (angle <= tolerance) & inside)
        margin = np.minimum(solution.q - robot.lower_limits, robot.upper_limits - solution.q).min(axis=-1)
        np.testing.assert_allclose(solution.limit_margin, margin, atol=1e-14)

    return check
