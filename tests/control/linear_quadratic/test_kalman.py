"""The Kalman filter: closed forms, batch least squares, plain NumPy, and statistics of its errors."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import (
    KalmanFilter,
    RegulatorError,
    discretize,
    encoders,
    kalman_gains,
    linear_model,
    stationary_kalman_gains,
)
from chasles.trajectories import Motion


def panda_model(steps: int) -> tuple[np.ndarray, np.ndarray]:
    arm = ch.load("panda")
    motion = ch.PointToPoint(arm.home, arm.home + 0.5, 1.0)(np.linspace(0.0, 1.0, steps))
    return discretize(*linear_model(arm, motion), 1.0 / steps)


def test_gains_along_a_motion_are_those_of_the_plain_recursion() -> None:
    A, B = panda_model(100)
    C, V = encoders(7), np.full(7, 1e-8)
    W = B @ np.swapaxes(B, -1, -2) * 4.0
    first = np.diag([1e-4] * 7 + [1e-2] * 7)
    L, covariance = kalman_gains(A, C, W, V, first)
    P = first
    for k in range(100):
        np.testing.assert_allclose(covariance[k], P, rtol=0.0, atol=1e-10 * np.abs(P).max())
        gain = P @ C.T @ np.linalg.inv(C @ P @ C.T + np.diag(V))
        np.testing.assert_allclose(L[k], gain, rtol=0.0, atol=1e-9 * np.abs(gain).max())
        corrected = (np.eye(14) - gain @ C) @ P
        P = A[k] @ corrected @ A[k].T + W[k]
        P = 0.5 * (P + P.T)


def test_the_estimate_is_the_batch_least_squares_estimate() -> None:
    """With everything Gaussian the filter's last estimate solves one weighted least-squares problem."""
    rng = np.random.default_rng(0)
    steps, n = 6, 3
    A, B = np.eye(n) + 0.2 * rng.normal(size=(steps, n, n)), rng.normal(size=(steps, n, 1))
    C, W, V, first = rng.normal(size=(2, n)), np.diag([0.1, 0.2, 0.3]), np.diag([0.5, 0.4]), np.diag([1.0, 2.0, 3.0])
    y, u = rng.normal(size=(steps, 2)), rng.normal(size=(steps, 1))
    filter = KalmanFilter(A, B, C, W=W, V=V, initial=first)
    x = np.zeros(n)
    for k in range(steps):
        estimate = filter.correct(x, y[k], k)
        x = filter.predict(estimate, u[k], k)
    size = steps * n
    rows, values = [np.linalg.cholesky(np.linalg.inv(first)).T @ np.eye(n, size)], [np.zeros(n)]
    for k in range(steps):
        state = np.eye(n, size, k * n)
        root = np.linalg.cholesky(np.linalg.inv(V)).T
        rows.append(root @ C @ state)
        values.append(root @ y[k])
        if k + 1 < steps:
            root = np.linalg.cholesky(np.linalg.inv(W)).T
            rows.append(root @ (np.eye(n, size, (k + 1) * n) - A[k] @ state))
            values.append(root @ (B[k] @ u[k]))
    solution = np.linalg.lstsq(np.vstack(rows), np.concatenate(values), rcond=None)[0]
    np.testing.assert_allclose(estimate, solution[-n:], rtol=0.0, atol=1e-12)


def test_gains_settle_at_the_stationary_ones() -> None:
    A, B = (part[0] for part in panda_model(100))
    C, V, W = encoders(7), 1e-8, B @ B.T
    stationary = stationary_kalman_gains(A, C, W, V)
    L, covariance = kalman_gains(np.broadcast_to(A, (400, 14, 14)), C, W, V, 1e-2)
    np.testing.assert_allclose(L[-1], stationary.L, rtol=0.0, atol=1e-8 * np.abs(stationary.L).max())
    scale = np.abs(stationary.covariance).max()
    np.testing.assert_allclose(covariance[-1], stationary.covariance, rtol=0.0, atol=1e-8 * scale)


def test_the_covariance_is_that_of_the_errors() -> None:
    """10,000 simulated estimates: their scatter is what the filter says it is."""
    rng = np.random.default_rng(4)
    A, B = np.array([[1.0, 0.1], [-0.2, 0.95]]), np.array([[0.0], [0.1]])
    W, V, first, steps, runs = np.diag([1e-3, 2e-2]), np.array([[0.05]]), np.diag([1.0, 2.0]), 15, 10_000
    filter = KalmanFilter(
        np.broadcast_to(A, (steps, 2, 2)), np.broadcast_to(B, (steps, 2, 1)), [[1.0, 0.0]], W=W, V=V, initial=first
    )
    true = rng.normal(size=(runs, 2)) * np.sqrt(np.diagonal(first))
    x = np.zeros((runs, 2))
    for k in range(steps - 1):
        y = true[:, :1] + rng.normal(size=(runs, 1)) * np.sqrt(V[0, 0])
        u = rng.normal(size=(runs, 1))
        x = filter.predict(filter.correct(x, y, k), u, k)
        true = true @ A.T + u @ B.T + rng.normal(size=(runs, 2)) * np.sqrt(np.diagonal(W))
    scatter = np.cov((x - true).T)
    # The standard deviation of a variance's estimate is √(2 / runs) of it.
    np.testing.assert_allclose(scatter, filter.covariance[-1], rtol=5.0 * (2.0 / runs) ** 0.5)


def test_batches_and_noise_of_every_step() -> None:
    rng = np.random.default_rng(1)
    A = np.eye(3) + 0.1 * rng.normal(size=(2, 5, 3, 3))
    W = np.array([np.diag(rng.uniform(0.1, 1.0, 3)) for _ in range(5)])
    L, P = kalman_gains(A, np.eye(2, 3), W, 0.5, 1.0)
    assert L.shape == (2, 5, 3, 2)
    for k in range(2):
        single = kalman_gains(A[k], np.eye(2, 3), W, 0.5, 1.0)
        np.testing.assert_allclose(L[k], single.L, rtol=1e-13)
        np.testing.assert_allclose(P[k], single.covariance, rtol=1e-13)
    # The covariance after one step, by hand.
    corrected = np.eye(3) - np.eye(3, 2) @ np.eye(2, 3) / 1.5
    np.testing.assert_allclose(P[0, 1], A[0, 0] @ corrected @ A[0, 0].T + W[0], rtol=1e-13)


def test_what_nobody_measures_is_named() -> None:
    """The speed is measured, so that the position is not to be known."""
    A, B = discretize([[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]], 0.1)
    with pytest.raises(
        RegulatorError, match=r"no filter has a decaying error; .* no input reaches the mode of eigenvalue 1"
    ):
        stationary_kalman_gains(A, [[0.0, 1.0]], 1e-3, 1.0)
    assert np.isfinite(stationary_kalman_gains(A, [[1.0, 0.0]], B @ B.T, 1.0).L).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": np.ones((1, 3))}, r"C must have shape \(..., p, 2\)"),
        ({"A": np.ones((2, 3))}, "A must have shape"),
        ({"A": np.ones((2, 3)), "B": np.ones((2, 1)), "C": np.ones((1, 3))}, "A must have shape"),
        ({"V": 0.0}, "V must be positive definite"),
        ({"initial": 1.0}, "needs `initial`; a stationary one does not"),
        ({"A": np.ones((4, 2, 2))}, "needs `initial`"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    given = {"A": np.eye(2), "B": np.ones((2, 1)), "C": np.ones((1, 2)), "W": 1.0, "V": 1.0} | change
    with pytest.raises(ArgumentError, match=message):
        KalmanFilter(**given)


def test_only_positions_are_measured() -> None:
    motion = Motion(*np.zeros((3, 2)))
    A, _ = discretize(*linear_model(ch.load("planar2r"), motion), 0.01)
    L = stationary_kalman_gains(A, encoders(2), 1e-6, 1e-6).L
    assert L.shape == (4, 2)
