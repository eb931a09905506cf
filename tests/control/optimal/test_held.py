"""Equalities at all nodes."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.optimal.robots import gantry

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import residuals


@pytest.mark.slow
def test_masses_that_are_held_together_move_as_one() -> None:
    """5 kg and 2 kg at equal speed: the least effort is that of one body with both forces free to share.

    With u = F₁ + F₂ on 7 kg and each force (mass) a, ∫½(F₁² + F₂²) is least for the same cubic: 6 (5² + 2²) d² / T³.
    """
    problem = ch.OptimalControl(
        gantry(),
        duration=1.0,
        nodes=50,
        running=[residuals.torque()],
        exact_end=[lambda q, qd: np.array([q[0] - 1.0, qd[0]])],
        keep=[residuals.held(lambda qd: qd[0] - qd[1])],
        limits=[],
    )
    plan = problem.solve([0.0, 0.0])
    assert plan.success
    assert plan.cost == pytest.approx(6.0 * (25.0 + 4.0), rel=2e-3)
    np.testing.assert_allclose(plan.states[:, 0], plan.states[:, 1], atol=1e-6)


@pytest.mark.slow
def test_what_cannot_be_held_is_named() -> None:
    problem = ch.OptimalControl(
        gantry(),
        duration=1.0,
        nodes=4,
        running=[residuals.torque(), residuals.velocity()],
        keep=[residuals.held(lambda qd: 1.0 + qd @ qd), lambda tau: 1e6 - tau[:1], lambda q: 5.0 - q[0]],
        limits=[],
    )
    plan = problem.solve([0.0, 0.0])
    assert plan.status == "locally infeasible"
    (finding,) = plan.findings
    assert "element 0 of what is to be held is 1 instead of 0 at 4 nodes from 1 to 4" in str(finding)
    with pytest.raises(ArgumentError, match="depends on torques"):
        residuals.held(lambda tau: tau)
