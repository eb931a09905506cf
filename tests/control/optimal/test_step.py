"""The step between nodes: its order, and its derivatives against differences and reverse accumulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.control.optimal.robots import acrobot, pendulum

from chasles.control.optimal.step import INTEGRATORS, Expansion, HeldStep
from chasles.engine import Function, trace


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("motors", [[True, True], [False, True]])
@pytest.mark.parametrize(("stretches", "by_rates"), [(False, False), (True, False), (True, True)])
def test_derivatives_are_those_of_the_step(
    integrator: str, motors: list[bool], stretches: bool, by_rates: bool
) -> None:
    step = HeldStep(acrobot(), np.array(motors), 0.05, integrator, stretches, by_rates=by_rates)
    rng = np.random.default_rng(5)
    m, s = sum(motors), 4 + stretches + by_rates * sum(motors)
    assert (step.inputs, step.states) == (m, s)
    x, u, costate = rng.normal(size=(3, s)), rng.normal(size=(3, m)), rng.normal(size=(3, s))
    shapes = {"x": (s,), "u": (m,), "costate": (s,)}
    program = trace(step.expansion, shapes, name="expansion", outputs=[*Expansion._fields])
    following, A, B, curvature = Function(program)(x, u, costate)
    np.testing.assert_allclose(following, step(x, u), atol=1e-13)
    w, e = np.concatenate([u, x], axis=1), 1e-5
    for i, unit in enumerate(np.eye(m + s)):
        high, low = w + e * unit, w - e * unit
        expected = (step(high[:, m:], high[:, :m]) - step(low[:, m:], low[:, :m])) / (2.0 * e)
        computed = B[..., i] if i < m else A[..., i - m]
        np.testing.assert_allclose(computed, expected, atol=1e-9)
    by_u, by_x = step.adjoint(u, x, costate)
    np.testing.assert_allclose(by_u, np.einsum("kxu,kx->ku", B, costate), atol=1e-13)
    np.testing.assert_allclose(by_x, np.einsum("kxy,kx->ky", A, costate), atol=1e-13)
    for i, unit in enumerate(np.eye(m + s)):
        high, low = (
            np.concatenate(step.adjoint(v[:, :m], v[:, m:], costate), axis=1) for v in (w + e * unit, w - e * unit)
        )
        np.testing.assert_allclose(curvature[..., i], (high - low) / (2.0 * e), atol=1e-8)


@pytest.mark.parametrize(("integrator", "order"), [("leapfrog", 2), ("semi-implicit-euler", 1)])
def test_order_where_forces_depend_on_positions(integrator: str, order: int) -> None:
    bob, duration, start = pendulum(), 0.5, np.array([0.8, -1.0])
    exact = solve_ivp(lambda t, y: [y[1], -9.81 * np.sin(y[0]) + 0.5], (0.0, duration), start, rtol=1e-11, atol=1e-12)
    errors = []
    for count in (40, 80):
        step, x = HeldStep(bob, np.array([True]), duration / count, integrator), start
        for _ in range(count):
            x = step(x, np.array([0.5]))
        errors.append(np.abs(x - exact.y[:, -1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)
