"""Rates of torques: torques are states, whose rates are limited or cost."""

from __future__ import annotations

import numpy as np
import pytest
from tests.control.optimal.robots import gantry, hopper, pendulum

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import PhasedContact, PlanFollowing, residuals

_MASSES, _GOAL = np.array([5.0, 2.0]), np.array([1.0, 0.5])
_AT_REST = [residuals.position(_GOAL), residuals.velocity(), lambda tau: tau]


def test_least_rates_are_those_of_the_linear_program() -> None:
    """Torques τ_k = h Σ r_j move masses M; of all rates that end at rest without torque those of least square."""
    N, h = 20, 0.05
    torques = h * np.tri(N + 1, N, -1)
    left = h**2 * (N - np.arange(N) - 0.5)
    ends = np.stack([left @ torques[:N], h * torques[:N].sum(axis=0), torques[N]])
    rates = np.linalg.pinv(ends) @ np.outer([1.0, 0.0, 0.0], _MASSES * _GOAL)
    problem = ch.OptimalControl(
        gantry(), duration=N * h, nodes=N, running=[residuals.torque_rate()], exact_end=_AT_REST, limits=[]
    )
    plan = problem.solve([0.0, 0.0])
    assert plan.success
    np.testing.assert_allclose(plan.torques, torques[:N] @ rates, atol=1e-9)
    assert plan.cost == pytest.approx(0.5 * h * np.sum(rates**2), rel=1e-10)
    with pytest.raises(ArgumentError, match="no gains of torques"):
        PlanFollowing(gantry(), plan)


@pytest.mark.slow
def test_least_time_within_rates_is_that_of_four_ramps() -> None:
    """A mass M moves by d from rest to rest within rates R in T = (32 M d / R)^(1/3), in both directions."""
    limit = 200.0
    problem = ch.OptimalControl(
        gantry(),
        duration=(0.1, 3.0),
        nodes=40,
        running=[residuals.time()],
        exact_end=[residuals.position("goal"), *_AT_REST[1:]],
        limits={"torque_rate": limit},
    )
    plans = problem.solve([0.0, 0.0], goal=np.array([[1.0, 0.1], [-0.5, 0.1]]))
    assert plans.success.all()
    np.testing.assert_allclose(plans.duration, (32.0 * 5.0 * np.array([1.0, 0.5]) / limit) ** (1.0 / 3.0), rtol=1e-7)


@pytest.mark.slow
def test_torques_begin_as_those_that_hold_the_start() -> None:
    limits = {"torque_rate": 20.0, "torque": None}
    problem = ch.OptimalControl(
        pendulum(),
        duration=1.0,
        nodes=10,
        running=[residuals.torque()],
        exact_end=[residuals.velocity()],
        limits=limits,
    )
    plan = problem.solve([0.5])
    assert plan.success
    assert plan.torques[0, 0] == pytest.approx(9.81 * np.sin(0.5))
    assert np.abs(np.diff(plan.torques, axis=0)).max() <= 2.0 * (1.0 + 1e-6)
    hasty = problem.with_limits({"torque_rate": 1e-3}).solve([0.5], [3.0])
    assert not hasty.success
    with pytest.raises(ArgumentError, match="given where the problem is made"):
        problem.with_limits({"torque_rate": None})


def test_what_rates_cannot_be_combined_with() -> None:
    options = {"duration": 0.4, "nodes": 4, "running": [residuals.torque_rate()]}
    with pytest.raises(ArgumentError, match="or the contacts"):
        ch.OptimalControl(hopper(), keep=[PhasedContact("foot", phases=[(0, 2)])], **options)
