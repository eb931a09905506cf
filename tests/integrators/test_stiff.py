"""Stiff problems of the literature and of mechanics, beside SciPy's Radau at tight tolerances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.engine import cos, sin, tanh


def test_van_der_pol_relaxes() -> None:
    """Van der Pol's with μ = 1000 over two relaxations: reference of the test set of Bari and CWI, for t = 2 μ."""

    def oscillator(t: Any, y: Any, mu: Any) -> Any:
        return [y[1], mu * (1.0 - y[0] * y[0]) * y[1] - y[0]]

    times = [0.0, 2000.0]
    own = ch.integrate(
        oscillator,
        [2.0, 0.0],
        times,
        parameters=[1e3],
        integrator=ch.integrators.Within("rodas5p", rtol=1e-8, atol=1e-10),
    )
    np.testing.assert_allclose(own.y[-1], [1.706167732170483, -0.8928097010247975e-3], rtol=2e-6)
    assert own.steps < 3_000
    assert not ch.integrate(oscillator, [2.0, 0.0], times, parameters=[1e3], max_steps=20_000).success


def test_robertsons_reaction_over_eleven_decades() -> None:
    """Reference of the test set of Bari and CWI at t = 1e11; the masses sum up to 1."""

    def reaction(t: Any, y: Any) -> Any:
        slow, back, fast = 0.04 * y[0], 1e4 * y[1] * y[2], 3e7 * y[1] * y[1]
        return [back - slow, slow - back - fast, fast]

    times, within = [0.0, 0.4, 4e5, 1e11], ch.integrators.Within("rodas5p", rtol=1e-7, atol=[1e-11, 1e-15, 1e-11])
    run = ch.integrate(reaction, [1.0, 0.0, 0.0], times, integrator=within)
    expected = [0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050]
    np.testing.assert_allclose(run.y[-1], expected, rtol=2e-5)
    np.testing.assert_allclose(run.y.sum(axis=1), 1.0, atol=1e-11)
    assert run.steps < 900


@pytest.mark.parametrize("rest", [1e-2, 1e-6])
def test_a_block_on_a_belt_sticks_and_slips(rest: float) -> None:
    """A block of 0.1 kg, pulled by a spring over dry friction of 2 N, smooth below a speed; rates up to 2e7 1/s."""

    def block(t: Any, y: Any, rest: Any) -> Any:
        return [y[1], (100.0 * (0.5 * t - y[0]) - 2.0 * tanh(y[1] / rest)) / 0.1]

    def for_scipy(t: float, y: np.ndarray) -> list[float]:
        return [y[1], (100.0 * (0.5 * t - y[0]) - 2.0 * np.tanh(y[1] / rest)) / 0.1]

    def jacobian(t: float, y: np.ndarray) -> list[list[float]]:
        return [[0.0, 1.0], [-1000.0, -20.0 / rest * (1.0 - np.tanh(y[1] / rest) ** 2)]]

    times = np.linspace(0.0, 1.0, 11)
    options: dict[str, Any] = {"method": "Radau", "jac": jacobian, "t_eval": times, "rtol": 1e-8, "atol": 1e-11}
    peer = solve_ivp(for_scipy, (0.0, 1.0), [0.0, 0.0], **options)
    own = ch.integrate(block, [0.0, 0.0], times, parameters=[rest], integrator="rodas5p")
    np.testing.assert_allclose(own.y[:, 0], peer.y[0], atol=1e-6)
    np.testing.assert_allclose(own.y[:, 1], peer.y[1], atol=2e-5)
    assert own.steps + own.rejections < 500


def test_prothero_and_robinson_with_steps_that_the_error_controls() -> None:
    """Where λ is large the ends of the steps are accurate whatever is between, and what is between is wanted too."""

    def follow(t: Any, y: Any, rate: Any) -> Any:
        return [rate * (sin(t) - y[0]) + cos(t)]

    rates, times = np.array([1e2, 1e5, 1e8]), np.linspace(0.0, 10.0, 1001)
    for tolerance in (1e-4, 1e-6):
        within = ch.integrators.Within("rodas5p", rtol=tolerance, atol=tolerance)
        run = ch.integrate(follow, [0.5], times, parameters=[rates], integrator=within)
        exact = np.sin(times) + 0.5 * np.exp(-rates[:, None] * times)
        assert float(np.abs(run.y[..., 0] - exact).max()) < 5.0 * tolerance
        assert run.steps.max() < 100


def test_stiff_is_what_an_explicit_method_cannot_do() -> None:
    """Its steps are bounded by stability: they grow with the rate, and those of an implicit method do not."""
    rates = np.array([1e3, 1e4, 1e5])
    steps = {
        method: ch.integrate(
            lambda t, y, rate: rate * (0.1 * t - y),
            [0.0],
            [0.0, 1.0],
            parameters=[rates],
            integrator=ch.integrators.Within(method, rtol=1e-4, atol=1e-6),
        ).steps
        for method in ("dormand-prince", "rodas5p")
    }
    np.testing.assert_allclose(np.diff(np.log10(steps["dormand-prince"])), 1.0, atol=0.15)
    assert steps["rodas5p"].max() < 60
