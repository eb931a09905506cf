"""Limits of power: what is kept may depend on torques."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize
from tests.control.optimal.robots import gantry

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.optimal import residuals

_N, _H = 20, 0.05
_MASSES = np.array([5.0, 2.0])


def _least_effort(power: float, total: bool) -> tuple[float, np.ndarray]:
    """Least ∫½τ² of two masses that move by 1 m and 0.5 m from rest to rest, by SciPy's trust region."""
    k = np.arange(_N)

    def velocities(tau: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros((1, 2)), np.cumsum(tau * _H / _MASSES, axis=0)])

    def powers(flat: np.ndarray) -> np.ndarray:
        tau = flat.reshape(_N, 2)
        p = tau * velocities(tau)[:-1]
        return p.sum(axis=1) if total else p.ravel()

    at_end = np.zeros((4, 2 * _N))
    for joint, mass in enumerate(_MASSES):
        at_end[joint, joint::2] = _H / mass
        at_end[2 + joint, joint::2] = (_N - k - 0.5) * _H**2 / mass
    lowest = -np.inf if total else -power
    goal = np.array([0.0, 0.0, 1.0, 0.5])
    first = np.linalg.pinv(at_end) @ goal
    found = minimize(
        lambda flat: 0.5 * _H * flat @ flat,
        first,
        jac=lambda flat: _H * flat,
        hess=lambda flat: _H * np.eye(2 * _N),
        constraints=[LinearConstraint(at_end, goal, goal), NonlinearConstraint(powers, lowest, power)],
        method="trust-constr",
        options={"gtol": 1e-9, "xtol": 1e-11, "maxiter": 3000},
    )
    return float(found.fun), powers(found.x)


@pytest.mark.slow
@pytest.mark.parametrize(("power", "total"), [(12.0, False), (14.0, True)])
def test_least_effort_within_power_is_that_of_another_program(power: float, total: bool) -> None:
    problem = ch.OptimalControl(
        gantry(),
        duration=_N * _H,
        nodes=_N,
        running=[residuals.torque()],
        exact_end=[residuals.position([1.0, 0.5]), residuals.velocity()],
        keep=[residuals.power_reserve(power, total=total)],
        limits=[],
    )
    plan = problem.solve([0.0, 0.0])
    assert plan.success
    powers = plan.torques * plan.states[:-1, 2:]
    powers = powers.sum(axis=1) if total else powers
    assert powers.max() == pytest.approx(power, rel=1e-5)
    cost, other = _least_effort(power, total)
    assert plan.cost == pytest.approx(cost, rel=1e-5)
    np.testing.assert_allclose(powers.ravel(), other, atol=0.05)


@pytest.mark.slow
def test_what_is_kept_with_torques_and_what_without_are_told_apart() -> None:
    """What no torque keeps is named, 1 short at best; what holds, element 0, is not."""
    problem = ch.OptimalControl(
        gantry(),
        duration=1.0,
        nodes=4,
        running=[residuals.torque(), residuals.velocity()],
        keep=[lambda tau: -1.0 - tau @ tau, lambda q: 5.0 - q[0]],
        limits=[],
    )
    plan = problem.solve([0.0, 0.0])
    assert plan.status == "locally infeasible"
    (finding,) = plan.findings
    assert "element 1 of what is to be kept is 1 below 0 at 4 nodes from 0 to 3" in str(finding)


def test_limits_of_power_are_numbers_above_zero() -> None:
    with pytest.raises(ArgumentError, match="limit"):
        residuals.power_reserve(0.0)
    with pytest.raises(ArgumentError, match="one number"):
        residuals.power_reserve([1.0, 2.0], total=True)
