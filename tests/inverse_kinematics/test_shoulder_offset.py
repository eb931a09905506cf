"""Arms with a spherical wrist whose first two axes do not meet, as most industrial robots are: all branches."""

from __future__ import annotations

import numpy as np
import pytest
from tests.inverse_kinematics.arms import QUARTER, dh_robot


@pytest.mark.parametrize("side", [0.0, 0.1])
def test_the_drawn_configuration_is_among_eight_branches(side: float) -> None:
    """Axes 1 and 2 square and 0.15 m apart, 2 and 3 parallel."""
    arm = dh_robot(
        [-QUARTER, 0, -QUARTER, QUARTER, -QUARTER, 0], [0.15, 0.5, 0.1, 0, 0, 0], [0.4, side, 0, 0.5, 0, 0.1]
    )
    ik = arm.inverse_kinematics
    assert len(ik.branches()) == 8
    q = np.random.default_rng(0).uniform(-2.5, 2.5, (200, 6))
    T = arm.forward_kinematics(q)
    every = ik(T, select="all", method="closed form", tolerance=1e-9)
    reached = arm.forward_kinematics(every.q[every.success])
    goals = np.broadcast_to(T[:, None], (*every.q.shape[:2], 4, 4))[every.success]
    np.testing.assert_allclose(reached, goals, atol=1e-9)
    apart = np.abs((every.q - q[:, None] + np.pi) % (2.0 * np.pi) - np.pi).max(axis=-1)
    assert np.where(every.success, apart, np.inf).min(axis=1).max() < 1e-7
