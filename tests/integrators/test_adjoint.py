"""Derivatives of integrations: growth factors of methods in closed form, solutions in closed form, and refusals."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ChaslesError
from chasles.integrators import Steps, Within


def growth(t: Any, y: Any, rate: Any) -> Any:
    return [rate * y[0]]


@pytest.mark.parametrize(
    ("method", "factor", "slope"),
    [
        ("rk4", lambda z: 1.0 + z + z**2 / 2.0 + z**3 / 6.0 + z**4 / 24.0, lambda z: 1.0 + z + z**2 / 2.0 + z**3 / 6.0),
        ("linearly-implicit-euler", lambda z: 1.0 / (1.0 - z), lambda z: 1.0 / (1.0 - z) ** 2),
    ],
)
def test_fixed_steps_have_the_derivatives_of_their_growth_factor(method: str, factor: Any, slope: Any) -> None:
    """y_N = R(λh)ᴺ y₀, so that dy_N/dλ = N h R'(λh) R(λh)ᴺ⁻¹ y₀."""
    rates, start, weights = np.array([-3.0, 0.7]), np.array([1.5]), np.array([[0.3], [-1.2], [2.0]])
    run = ch.integrate(growth, start, [0.0, 0.4, 1.0], parameters=[rates], integrator=Steps(method, 4))
    found = run.vjp(weights)
    h, number = np.array([0.1, 0.15]), np.array([4, 4])
    for k, rate in enumerate(rates):
        R, D = factor(rate * h), slope(rate * h)
        until, by_rate = np.cumprod(R**number), np.cumsum(number * h * D / R)
        expected = weights[0, 0] + weights[1:, 0] @ until
        np.testing.assert_allclose(found.y0[k, 0], expected, rtol=1e-13)
        np.testing.assert_allclose(found.parameters[0][k], start[0] * weights[1:, 0] @ (until * by_rate), rtol=1e-13)


@pytest.mark.parametrize("method", ["dormand-prince", pytest.param("rodas5p", marks=pytest.mark.slow)])
def test_steps_that_the_error_controls(method: str) -> None:
    """y = y₀ exp(λ t²/2), at times inside the steps too, forward and backward."""
    rates = np.array([[0.5], [-1.3]])
    for times in (np.linspace(0.0, 2.0, 9), np.array([1.0, 0.3, 0.0])):
        weights = np.random.default_rng(1).normal(size=(len(times), 1))
        rate = ch.function(t=(), y=(1,), rate=(1,))(lambda t, y, rate: rate * t * y)
        run = ch.integrate(
            rate, [2.0], times, parameters={"rate": rates}, integrator=Within(method, rtol=1e-11, atol=1e-13)
        )
        found = run.vjp(weights)
        exponent = 0.5 * (times**2 - times[0] ** 2)
        states = np.exp(rates * exponent)
        np.testing.assert_allclose(found.y0[:, 0], states @ weights[:, 0], rtol=1e-8)
        np.testing.assert_allclose(found.parameters["rate"][:, 0], 2.0 * (exponent * states) @ weights[:, 0], rtol=1e-8)


def test_parts_of_a_state_have_their_derivatives_by_name() -> None:
    run = ch.integrate(
        lambda t, y: {"q": y.v, "v": -4.0 * y.q}, {"q": [1.0], "v": [0.0]}, [0.0, 0.5], integrator=Steps("rk4", 9)
    )
    found = run.vjp({"q": [[0.0], [1.0]], "v": [[0.0], [0.0]]})
    assert abs(found.y0.q[0] - np.cos(1.0)) < 1e-5
    assert abs(found.y0.v[0] - 0.5 * np.sin(1.0)) < 1e-5
    assert found.parameters == ()


def test_runs_that_fail_have_none() -> None:
    run = ch.integrate(lambda t, y, a: [a * y[0] ** 2], [1.0], [0.0, 1.0], parameters=[[0.5, 2.0]])
    assert run.success.tolist() == [True, False]
    found = run.vjp(1.0 * (np.arange(2) == 1)[:, None])
    assert np.isfinite(found.parameters[0]).tolist() == [True, False]
    np.testing.assert_allclose(found.y0[0], 4.0, rtol=1e-5)  # y(1) = y₀ / (1 - y₀ / 2)


def test_bad_input_is_refused() -> None:
    run = ch.integrate(growth, [1.0], [0.0, 1.0], parameters=[0.5], integrator="rk4")
    with pytest.raises(ChaslesError, match=r"y has shape \(3, 1\); expected \(2, 1\)"):
        run.vjp(np.ones((3, 1)))
    with pytest.raises(ChaslesError, match="integrate again"):
        pickle.loads(pickle.dumps(run)).vjp(np.ones((2, 1)))
