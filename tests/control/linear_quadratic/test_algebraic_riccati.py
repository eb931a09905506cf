"""Algebraic Riccati equations: closed forms, optimality, and modes that nothing can regulate."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import (
    RegulatorError,
    continuous_riccati,
    discrete_riccati,
    discretize,
    linear_model,
)
from chasles.control.linear_quadratic.along_motion import sampled_model
from chasles.trajectories import Motion


@pytest.mark.parametrize("weight", [1e-4, 1.0, 1e4])
def test_a_mass_has_the_textbook_gains(weight: float) -> None:
    """ẍ = u with ∫ (w x² + u²): K = (√w, √2 w^¼), damping ratio 1/√2."""
    K = continuous_riccati([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], [weight, 0.0], 1.0).K
    np.testing.assert_allclose(K, [[weight**0.5, 2.0**0.5 * weight**0.25]], rtol=1e-9)


def test_a_sum_has_the_golden_ratio() -> None:
    K, P = discrete_riccati([[1.0]], [[1.0]], 1.0, 1.0)
    golden = 0.5 * (1.0 + 5.0**0.5)
    np.testing.assert_allclose([P[0, 0], K[0, 0]], [golden, golden / (1.0 + golden)], rtol=1e-13)


def test_cross_weights_are_a_change_of_input() -> None:
    rng = np.random.default_rng(0)
    A, B, N = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)), 0.1 * rng.normal(size=(4, 2))
    Q, R = np.diag([3.0, 2.0, 1.0, 4.0]), np.diag([0.5, 2.0])
    shift = np.linalg.solve(R, N.T)
    for solve in (continuous_riccati, discrete_riccati):
        crossed = solve(A, B, Q, R, N=N)
        plain = solve(A - B @ shift, B, Q - N @ shift, R)
        np.testing.assert_allclose(crossed.P, plain.P, rtol=0.0, atol=1e-11 * np.abs(plain.P).max())
        np.testing.assert_allclose(crossed.K, plain.K + shift, rtol=0.0, atol=1e-11 * np.abs(plain.K).max())


def test_sampled_gains_tend_to_continuous_ones_with_the_period() -> None:
    arm = ch.load("panda")
    rest = np.zeros(7)
    A, B = linear_model(arm, Motion(arm.home, rest, rest))
    Q, R = np.diag([1e3] * 7 + [10.0] * 7), np.eye(7)
    continuous = continuous_riccati(A, B, Q, R).K
    errors = []
    for period in (2e-4, 1e-4):
        K = discrete_riccati(*discretize(A, B, period), period * Q, period * R).K
        errors.append(np.abs(K - continuous).max() / np.abs(continuous).max())
    assert errors[1] < 0.05
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.15)


def test_batches_broadcast() -> None:
    A = np.array([[[0.0, 1.0], [k, 0.0]] for k in (-1.0, 0.0, 2.0)])
    B = np.array([[0.0], [1.0]])
    K, P = continuous_riccati(A, B, 1.0, 2.0)
    assert K.shape == (3, 1, 2)
    for k in range(3):
        np.testing.assert_allclose(P[k], scipy.linalg.solve_continuous_are(A[k], B, np.eye(2), [[2.0]]), rtol=1e-12)


DOUBLE = np.array([[0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("discrete", [False, True])
def test_a_mode_that_no_input_reaches_is_named(discrete: bool) -> None:
    solve = discrete_riccati if discrete else continuous_riccati
    A, B = np.diag([0.5, 2.0, -0.3]), np.array([[1.0], [0.0], [1.0]])
    with pytest.raises(RegulatorError, match=r"no input reaches the mode of eigenvalue 2, .* mostly state 1"):
        solve(A, B, 1.0, 1.0)


def test_an_oscillation_that_no_input_reaches_is_named() -> None:
    A = scipy.linalg.block_diag([[-1.0]], [[0.0, 3.0], [-3.0, 0.0]])
    with pytest.raises(RegulatorError, match=r"no input reaches the mode of eigenvalue 0?.*[+-]3i"):
        continuous_riccati(A, [[1.0], [0.0], [0.0]], 1.0, 1.0)


def test_a_drift_without_weight_is_named() -> None:
    with pytest.raises(RegulatorError, match=r"Q gives no weight to the mode of eigenvalue 0, .* mostly state 0"):
        continuous_riccati(DOUBLE, [[0.0], [1.0]], [0.0, 1.0], 1.0)
    with pytest.raises(RegulatorError, match=r"Q gives no weight to the mode of eigenvalue 1, .* mostly state 0"):
        discrete_riccati(*discretize(DOUBLE, [[0.0], [1.0]], 0.1), [0.0, 1.0], 1.0)


def test_growing_modes_need_no_weight() -> None:
    """The cheapest way to stabilise mirrors the growing eigenvalue."""
    K = continuous_riccati([[3.0]], [[1.0]], 0.0, 1.0).K
    np.testing.assert_allclose(K, [[6.0]], rtol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_must_be_finite(bad: float) -> None:
    with pytest.raises(ArgumentError, match="A and B must be finite"):
        continuous_riccati([[bad]], [[1.0]], 1.0, 1.0)


def test_batches_by_doubling_are_scipys_solutions() -> None:
    """Sampled models along a motion, with integrals as states, and one system in the batch that needs no weight."""
    arm = ch.load("puma560")
    A, B = sampled_model(
        arm, ch.PointToPoint(arm.home, arm.home + 0.5, 1.0)(np.linspace(0.0, 1.0, 6)), 1e-3, integral=True
    )
    Q, R = np.diag([100.0] * 6 + [1.0] * 6 + [1e4] * 6), np.diag([1e-4, 1e-4, 1e-3, 1.0, 1.0, 10.0])
    K, P = discrete_riccati(A, B, Q, R)
    for k in range(6):
        expected = scipy.linalg.solve_discrete_are(A[k], B[k], Q, R)
        np.testing.assert_allclose(P[k], expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
        gain = np.linalg.solve(R + B[k].T @ expected @ B[k], B[k].T @ expected @ A[k])
        np.testing.assert_allclose(K[k], gain, rtol=1e-7, atol=1e-9 * np.abs(gain).max())
    growing = np.array([[[1.5]], [[0.9]], [[2.0]], [[1.2]], [[0.5]]])
    K, _ = discrete_riccati(growing, np.ones((5, 1, 1)), 0.0, 1.0)  # mirrored into the circle, or left alone
    np.testing.assert_allclose((growing - K).ravel(), [1 / 1.5, 0.9, 1 / 2.0, 1 / 1.2, 0.5], rtol=1e-10)
    drifting = np.broadcast_to([[1.0, 0.0], [0.0, 0.5]], (5, 2, 2))
    with pytest.raises(RegulatorError, match="no input reaches"):
        discrete_riccati(drifting, np.array([[0.0], [1.0]]), 1.0, 1.0)
