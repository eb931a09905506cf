"""The differential Riccati equation: closed forms, SciPy's integrators, order of convergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import backward_riccati, continuous_riccati, differential_riccati, discretize


def integrated(A, B, Q, R, P, duration: float) -> np.ndarray:
    """P after integrating the equation backward over a time, by SciPy; A and B are functions of the time to the end."""

    def rate(s: float, p: np.ndarray) -> np.ndarray:
        P = p.reshape(Q.shape)
        PB = P @ B(s)
        return (A(s).T @ P + P @ A(s) - PB @ np.linalg.solve(R, PB.T) + Q).ravel()

    return (
        solve_ivp(rate, (0.0, duration), P.ravel(), method="DOP853", rtol=1e-13, atol=1e-13).y[:, -1].reshape(Q.shape)
    )


def system(seed: int, n: int = 4, m: int = 2) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return 2.0 * rng.normal(size=(n, n)), rng.normal(size=(n, m)), np.diag(rng.uniform(1.0, 100.0, n)), np.eye(m) * 0.1


def test_an_integrator_is_a_hyperbolic_tangent() -> None:
    P = differential_riccati(np.zeros((50, 1, 1)), np.ones((50, 1, 1)), 4.0, 1.0, 0.0, step=0.1).P
    np.testing.assert_allclose(P.ravel(), 2.0 * np.tanh(2.0 * (5.0 - 0.1 * np.arange(51))), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("step", [1e-3, 0.05, 1.0])
def test_constant_systems_are_exact_whatever_the_step(step: float) -> None:
    A, B, Q, R = system(0)
    terminal = 5.0 * np.eye(4)
    P = differential_riccati([A] * 3, [B] * 3, Q, R, terminal, step=step).P
    expected = terminal
    for k in (2, 1, 0):
        expected = integrated(lambda s: A, lambda s: B, Q, R, expected, step)
        np.testing.assert_allclose(P[k], expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_steps_of_different_systems_follow_each_other() -> None:
    systems = [system(seed)[:2] for seed in range(4)]
    _, _, Q, R = system(0)
    A, B = (np.array(part) for part in zip(*systems, strict=True))
    K, P = differential_riccati(A, B, Q, R, 1.0, step=0.02)
    expected = np.eye(4)
    for k in (3, 2, 1, 0):
        expected = integrated(lambda s, k=k: A[k], lambda s, k=k: B[k], Q, R, expected, 0.02)
        np.testing.assert_allclose(P[k], expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())
        np.testing.assert_allclose(K[k], np.linalg.solve(R, B[k].T @ P[k]), rtol=1e-12)


def test_matrices_of_the_middle_of_the_steps_converge_with_order_two() -> None:
    A0, B0, Q, R = system(1)
    A1 = system(2)[0]

    def at(t: float) -> np.ndarray:
        return A0 + np.sin(3.0 * t) * A1

    exact = integrated(lambda s: at(1.0 - s), lambda s: B0, Q, R, np.eye(4), 1.0)
    errors = []
    for steps in (50, 100, 200):
        middle = (np.arange(steps) + 0.5) / steps
        P = differential_riccati([at(t) for t in middle], [B0] * steps, Q, R, 1.0, step=1.0 / steps).P[0]
        errors.append(np.abs(P - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 2.0, atol=0.05)


def test_the_limit_is_the_algebraic_solution() -> None:
    A, B, Q, R = system(3)
    P = differential_riccati([A] * 200, [B] * 200, Q, R, 0.0, step=0.5).P[0]
    expected = continuous_riccati(A, B, Q, R).P
    np.testing.assert_allclose(P, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_the_sampled_recursion_tends_to_it() -> None:
    A, B, Q, R = system(4)
    errors = []
    for steps in (500, 1000):
        h = 0.5 / steps
        A_d, B_d = (np.broadcast_to(M, (steps, *M.shape)) for M in discretize(A, B, h))
        sampled = backward_riccati(A_d, B_d, h * Q, h * R, 1.0).P
        flow = differential_riccati([A] * steps, [B] * steps, Q, R, 1.0, step=h).P[0]
        errors.append(np.abs(sampled - flow).max() / np.abs(flow).max())
    assert errors[1] < 0.05
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_stiff_costs_do_not_overflow() -> None:
    """A step over which the Hamiltonian's exponential would be e^1000."""
    A, B = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]])
    P = differential_riccati([A] * 2, [B] * 2, [1.0, 0.0], 1e-12, 0.0, step=1.0).P[0]
    expected = continuous_riccati(A, B, [1.0, 0.0], 1e-12).P
    np.testing.assert_allclose(P, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


def test_batches() -> None:
    A, B, Q, R = system(5)
    batch_A = A * np.linspace(0.5, 1.5, 6).reshape(2, 3, 1, 1, 1) * np.ones((4, 1, 1))
    K, P = differential_riccati(batch_A, [B] * 4, Q, R, 1.0, step=0.01)
    assert K.shape == (2, 3, 4, 2, 4)
    assert P.shape == (2, 3, 5, 4, 4)
    single = differential_riccati(batch_A[1, 2], [B] * 4, Q, R, 1.0, step=0.01)
    np.testing.assert_allclose(P[1, 2], single.P, rtol=0.0, atol=1e-12 * np.abs(single.P).max())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"A": np.eye(4)}, "A and B must have shapes"),
        ({"step": 0.0}, "step is 0.0; it must be positive"),
        ({"R": 0.0}, "R must be positive definite"),
        ({"terminal": -1.0}, "terminal must be positive semidefinite"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    A, B, Q, R = system(0)
    given = {"A": [A] * 3, "B": [B] * 3, "Q": Q, "R": R, "terminal": 1.0, "step": 0.1} | change
    with pytest.raises(ArgumentError, match=message):
        differential_riccati(**given)
