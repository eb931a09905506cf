"""Orders of convergence with steps of a fixed length, on mild and on stiff equations."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.engine import cos, sin
from chasles.integrators import INTEGRATORS, RK4, StepDoubling
from chasles.integrators.semi_implicit_euler import ImplicitFrictionEuler

#: Methods of any equation; one is for robots alone, whose order tests/simulation shows.
METHODS: list[Any] = [
    *(method for method in INTEGRATORS.values() if not isinstance(method, ImplicitFrictionEuler)),
    StepDoubling(RK4),
]
IMPLICIT = [method for method in METHODS if method.implicit]


def name(method: Any) -> str:
    return str(method.name)


def observed(errors: list[float]) -> np.ndarray:
    return np.log2(np.divide(errors[:-1], errors[1:]))


def wave(t: Any, y: Any) -> Any:
    """Nonlinear, not autonomous, and coupled: what a method may leave out shows."""
    return [y[1] * cos(t) - 0.3 * y[0] * y[0], sin(2.0 * t) * y[1] - y[0]]


@cache
def exact_wave() -> np.ndarray:
    return solve_ivp(wave, (0.0, 2.0), [1.0, 0.5], method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_halving_the_step_shows_the_order(method: Any) -> None:
    counts = (10, 20, 40) if method.order > 4 else (40, 80, 160)
    runs = [ch.integrate(wave, [1.0, 0.5], [0.0, 2.0], integrator=ch.integrators.Steps(method, k)) for k in counts]
    errors = [float(np.abs(run.y[-1] - exact_wave()).max()) for run in runs]
    assert np.all(np.abs(observed(errors) - method.order) < 0.45), (observed(errors), errors)
    assert [int(run.steps) for run in runs] == list(counts)


@pytest.mark.parametrize("method", METHODS, ids=name)
def test_between_the_steps_the_interpolant_is_of_the_same_order(method: Any) -> None:
    """Its own error in a step is one order above what a solution of this order makes."""
    times = np.linspace(0.0, 2.0, 57)
    exact = solve_ivp(wave, (0.0, 2.0), [1.0, 0.5], method="DOP853", rtol=1e-13, atol=1e-14, t_eval=times).y.T
    counts = (10, 20, 40) if method.order > 4 else (40, 80, 160)
    errors = [
        float(
            np.abs(
                ch.integrate(wave, [1.0, 0.5], [0.0, 2.0], integrator=ch.integrators.Steps(method, k), dense=True)(
                    times
                )
                - exact
            ).max()
        )
        for k in counts
    ]
    # Step doubling has Hermite's cubic, of order 4.
    order = 4 if isinstance(method, StepDoubling) else method.order
    assert np.all(observed(errors) > order - 0.55), (observed(errors), errors)


@pytest.mark.parametrize(("method", "least"), [("linearly-implicit-euler", 0.9), ("rodas5p", 4.6)])
def test_orders_on_a_mildly_stiff_oscillator(method: str, least: float) -> None:
    """Van der Pol's with ε = 0.1 along its slow branch (Hairer and Wanner, section IV.10)."""
    counts = (20, 40, 80) if method == "rodas5p" else (80, 160, 320)
    assert np.all(observed(oscillator_errors(method, 10.0, counts)) > least)


@pytest.mark.parametrize(
    ("method", "least", "largest"), [("linearly-implicit-euler", 0.9, 2e-3), ("rodas5p", 2.5, 1e-7)]
)
def test_orders_on_a_stiff_oscillator(method: str, least: float, largest: float) -> None:
    """With ε = 1e-3 and steps of ten times that, where an explicit method overflows."""
    errors = oscillator_errors(method, 1e3, (50, 100, 200))
    assert np.all(observed(errors) > least), (observed(errors), errors)
    assert errors[-1] < largest
    assert not ch.integrate(
        oscillator, [2.0, -0.66], [0.0, 0.5], parameters=[1e3], integrator=ch.integrators.Steps("rk4", 50)
    ).success


def oscillator(t: Any, y: Any, rate: Any) -> Any:
    return [y[1], rate * ((1.0 - y[0] * y[0]) * y[1] - y[0])]


def oscillator_errors(method: str, rate: float, counts: tuple[int, ...]) -> list[float]:
    exact = solve_ivp(oscillator, (0.0, 0.5), [2.0, -0.66], method="Radau", rtol=1e-12, atol=1e-13, args=(rate,)).y[
        :, -1
    ]
    runs = [
        ch.integrate(
            oscillator, [2.0, -0.66], [0.0, 0.5], parameters=[rate], integrator=ch.integrators.Steps(method, k)
        )
        for k in counts
    ]
    return [float(np.abs(run.y[-1] - exact).max()) for run in runs]


@pytest.mark.parametrize(
    ("method", "least", "largest"), [("linearly-implicit-euler", 1.9, 0.02), ("rodas5p", 2.9, 1e-10)]
)
@pytest.mark.parametrize("rate", [1e6, 1e9])
def test_prothero_and_robinson(method: str, least: float, largest: float, rate: float) -> None:
    """y' = -λ (y - sin t) + cos t with y = sin t: orders fall, and the error of a stiffly accurate pair is O(1/λ).

    The linearly implicit Euler method misses what the forcing does in a step: its error is h²/2 whatever λ is.
    """

    def follow(t: Any, y: Any, rate: Any) -> Any:
        return [rate * (sin(t) - y[0]) + cos(t)]

    errors = []
    for steps in (10, 20, 40):
        run = ch.integrate(
            follow, [np.sin(0.3)], [0.3, 2.3], parameters=[rate], integrator=ch.integrators.Steps(method, steps)
        )
        errors.append(abs(float(run.y[-1, 0]) - np.sin(2.3)))
    # Below, rounding of λ y takes over.
    assert np.all((observed(errors) > least) | (np.array(errors[1:]) < 1e-14)), (observed(errors), errors)
    assert errors[0] < largest * (1.0 if method == "linearly-implicit-euler" else 1e6 / rate)


@pytest.mark.parametrize("method", IMPLICIT, ids=name)
def test_what_is_infinitely_fast_is_gone_after_one_step(method: Any) -> None:
    """L-stability in arithmetic: R(-1e12) = O(1e-12)."""
    run = ch.integrate(lambda t, y: -1e12 * y, [1.0], [0.0, 1.0], integrator=ch.integrators.Steps(method, 1))
    assert abs(float(run.y[-1, 0])) < 1e-10


def test_steps_are_exact_where_methods_are() -> None:
    """Where f does not depend on y a method is a quadrature: of order 3 and more it integrates t² exactly."""
    for method in METHODS:
        if method.order >= 3:
            run = ch.integrate(lambda t, y: [t * t], [0.0], [0.0, 3.0], integrator=ch.integrators.Steps(method, 1))
            assert abs(float(run.y[-1, 0]) - 9.0) < 2e-13, method.name


def test_the_symplectic_method_keeps_the_energy_of_an_oscillator_bounded() -> None:
    """It conserves x² + v² - h x v exactly, where Euler's method multiplies x² + v² by 1 + h² each step."""
    h, times = 0.1, np.linspace(0.0, 100.0, 1001)
    run = ch.integrate(lambda t, y: [y[1], -y[0]], [1.0, 0.0], times, integrator="semi-implicit-euler")
    x, v = run.y.T
    np.testing.assert_allclose(x * x + v * v - h * x * v, 1.0, atol=1e-11)
    grown = ch.integrate(lambda t, y: [y[1], -y[0]], [1.0, 0.0], times, integrator="euler").y
    np.testing.assert_allclose((grown**2).sum(axis=1), (1.0 + h * h) ** np.arange(1001), rtol=1e-10)


def test_step_doubling_is_rkqc() -> None:
    """One step of the book: y₂ + (y₂ - y₁) / 15, from one step and two halves (Numerical Recipes, section 16.2)."""
    once = ch.integrate(wave, [1.0, 0.5], [0.0, 0.2], integrator=ch.integrators.Steps("rk4", 1)).y[-1]
    twice = ch.integrate(wave, [1.0, 0.5], [0.0, 0.2], integrator=ch.integrators.Steps("rk4", 2)).y[-1]
    own = StepDoubling(RK4).step(lambda t, y: np.array(wave(t, y)), 0.0, np.array([1.0, 0.5]), 0.2)
    np.testing.assert_allclose(own.y, twice + (twice - once) / 15.0, rtol=1e-15)
    np.testing.assert_allclose(own.error, (twice - once) / 15.0, rtol=1e-10)
