"""Derivatives of costs and rows: those of poses in closed form, beside the engine's differentiation of the formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.mechanics.conftest import mixed_description

import chasles as ch
from chasles.control.optimal import residuals
from chasles.control.optimal.drives import Drives
from chasles.control.optimal.residuals import stacked
from chasles.control.optimal.step import HeldStep
from chasles.control.optimal.terms import Terms
from chasles.engine import Function, jacobian, trace

ARM = ch.load("ur5")
WITH_MIMIC = ch.Robot(mixed_description())


def terms(robot: ch.Robot, *, stretches: bool) -> Terms:
    """A pose that is named, one that is constant, one to follow, and others."""
    n = robot.n
    costs = [
        2.0 * residuals.pose("goal"),
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] * residuals.pose(robot.forward_kinematics(np.full(n, 0.3))),
        residuals.pose("reference", frame=robot.frame_names[2]),
        residuals.Residual(lambda q, qd, tau: np.sin(q) * qd + 0.1 * tau, weight=0.5),
    ]
    kept = [residuals.pose("goal"), residuals.Residual(lambda robot, q: robot.forward_kinematics(q)[:3, 3] * q[0])]
    return Terms(
        HeldStep(robot, Drives(np.ones(n, dtype=bool)), 0.1, "leapfrog", stretches),
        costs,
        lambda known: stacked(kept, known),
        {"goal": (4, 4)},
        has_torques=True,
        duration=0.1,
    )


@pytest.mark.parametrize(
    ("robot", "stretches"),
    [
        pytest.param(ARM, False, marks=pytest.mark.slow),
        (ARM, True),
        pytest.param(WITH_MIMIC, False, marks=pytest.mark.slow),
    ],
)
def test_derivatives_are_those_of_the_formulas(robot: ch.Robot, stretches: bool) -> None:
    of, rng, n = terms(robot, stretches=stretches), np.random.default_rng(1), robot.n
    goal = robot.forward_kinematics(rng.normal(size=n))
    given = [rng.normal(size=of.size), rng.normal(size=1 + 3 * n), 0.7, rng.normal(size=n), goal]
    z = rng.normal(size=of.count)

    def general(function: Any, name: str) -> Any:
        return Function(jacobian(trace(function, of.shapes, name=name, outputs=["f"]), wrt="w"))(*given)

    assert len(of._poses) == (3 if robot is ARM else 0)
    np.testing.assert_allclose(of.gradient(*given), general(of._cost, "cost"), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of.jacobian(*given), general(of._rows, "rows"), rtol=1e-9, atol=1e-9)
    J = general(of._residuals, "residuals")
    np.testing.assert_allclose(of.gauss_newton(*given), of._weight(given[0], 0.7) * J.T @ J, rtol=1e-9, atol=1e-9)
    exact = Function(jacobian(of.lagrangian_gradient.program, wrt="w"))(*given, z)
    np.testing.assert_allclose(of.curvature(*given, z), exact, rtol=1e-8, atol=1e-8 * np.abs(exact).max())
