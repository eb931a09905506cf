"""Linear models: closed forms, Pinocchio, and SciPy's and mpmath's zero-order hold."""

from __future__ import annotations

import importlib

import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.signal
import sympy
from tests.oracles.pinocchio_models import acceleration_derivatives, model_of
from tests.thinning import thinned

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import discretize, linear_model
from chasles.trajectories import Motion


def random_motion(robot: ch.Robot, count: int, seed: int = 0) -> Motion:
    rng = np.random.default_rng(seed)
    return Motion(*rng.uniform(-2.0, 2.0, (3, count, robot.n)))


def test_the_two_joint_arm_agrees_with_its_closed_form() -> None:
    """The arm of docs and report: two rods, 10 kg of 0.5 m and 5 kg of 0.25 m, differentiated by SymPy."""
    m1, l1, m2, l2, g = 10, sympy.Rational(1, 2), 5, sympy.Rational(1, 4), sympy.Float("9.80621", 30)
    q1, q2, w1, w2, t1, t2 = x = sympy.symbols("q1 q2 w1 w2 t1 t2")
    M22, cross = m2 * l2**2 / 3, m2 * l1 * l2 / 2
    M12 = M22 + cross * sympy.cos(q2)
    M = sympy.Matrix([[m1 * l1**2 / 3 + m2 * l1**2 + M22 + 2 * cross * sympy.cos(q2), M12], [M12, M22]])
    coriolis = cross * sympy.sin(q2) * sympy.Matrix([-2 * w1 * w2 - w2**2, w1**2])
    second = m2 * l2 / 2 * g * sympy.cos(q1 + q2)
    weight = sympy.Matrix([(m1 * l1 / 2 + m2 * l1) * g * sympy.cos(q1) + second, second])
    derivative = sympy.Matrix([w1, w2]).col_join(M.inv() * (sympy.Matrix([t1, t2]) - coriolis - weight))
    exact = sympy.lambdify(x, derivative.jacobian(x), "mpmath")
    arm = ch.load("planar2r")
    motion = random_motion(arm, 20)
    A, B = linear_model(arm, motion)
    tau = arm.inverse_dynamics(*motion)
    mpmath.mp.dps = 30
    for k in range(20):
        expected = np.array(exact(*motion.q[k], *motion.qd[k], *tau[k]).tolist(), dtype=float)
        np.testing.assert_allclose(A[k], expected[:, :4], rtol=1e-12, atol=1e-12 * np.abs(expected).max())
        np.testing.assert_allclose(B[k], expected[:, 4:], rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_puma_and_panda_agree_with_pinocchio(name: str) -> None:
    importlib.import_module("pinocchio")
    robot = ch.load(name)
    motion = random_motion(robot, 20)
    A, B = linear_model(robot, motion)
    tau = robot.inverse_dynamics(*motion)
    model, n = model_of(robot), robot.n
    for k in range(20):
        by_q, by_qd, by_tau = acceleration_derivatives(model, robot, motion.q[k], motion.qd[k], tau[k])
        expected = np.hstack([by_q, by_qd])
        np.testing.assert_allclose(A[k, n:], expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
        np.testing.assert_allclose(B[k, n:], by_tau, rtol=0.0, atol=1e-9 * np.abs(by_tau).max())
        np.testing.assert_array_equal(A[k, :n], np.eye(n, 2 * n, n))
        assert not B[k, :n].any()


@pytest.mark.parametrize("period", thinned([1e-4, 1e-3, 1.0 / 60.0, 0.2], keep=3))
def test_the_zero_order_hold_is_exact_to_rounding_in_every_block(period: float) -> None:
    arm = ch.load("puma560")
    n = arm.n
    A, B = linear_model(arm, random_motion(arm, 3, seed=1))
    A_d, B_d = discretize(A, B, period)
    mpmath.mp.dps = 50
    for k in range(3):
        joined = np.block([[A[k], B[k]], [np.zeros((n, 3 * n))]])
        exact = np.array(mpmath.expm(mpmath.matrix(joined) * mpmath.mpf(period), method="taylor").tolist(), dtype=float)
        ours = np.hstack([A_d[k], B_d[k]])
        for row in (0, n):
            for column in (0, n, 2 * n):
                block = slice(row, row + n), slice(column, column + n)
                scale = np.abs(exact[block]).max()
                # Squaring a large exponential loses digits in proportion to its condition.
                tolerance = 2e-15 if period < 0.1 else 1e-12
                np.testing.assert_allclose(ours[block], exact[block], rtol=0.0, atol=tolerance * scale)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 2), (4, 2), (5, 7)])
def test_any_system_agrees_with_scipy(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    A, B = rng.normal(size=(2, 3, n, n)), rng.normal(size=(2, 3, n, m))
    for period in (1e-3, 0.1, 3.0):
        A_d, B_d = discretize(A, B, period)
        for k in np.ndindex(2, 3):
            expected = scipy.signal.cont2discrete((A[k], B[k], np.eye(n), np.zeros((n, m))), period)
            np.testing.assert_allclose(A_d[k], expected[0], rtol=1e-12, atol=1e-12 * np.abs(expected[0]).max())
            np.testing.assert_allclose(B_d[k], expected[1], rtol=1e-12, atol=1e-12 * np.abs(expected[1]).max())


def test_both_paths_of_the_hold_agree() -> None:
    """A change of coordinates hides that a system is mechanical."""
    arm = ch.load("planar2r")
    A, B = linear_model(arm, random_motion(arm, 5))
    T = scipy.linalg.block_diag(np.eye(2), 2.0 * np.eye(2))
    plain, hidden = discretize(A, B, 0.01), discretize(T @ A @ np.linalg.inv(T), T @ B, 0.01)
    np.testing.assert_allclose(T @ plain.A @ np.linalg.inv(T), hidden.A, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(T @ plain.B, hidden.B, rtol=0.0, atol=1e-14)


def test_two_half_periods_make_a_whole() -> None:
    arm = ch.load("panda")
    A, B = linear_model(arm, random_motion(arm, 4))
    half, whole = discretize(A, B, 0.01), discretize(A, B, 0.02)
    np.testing.assert_allclose(half.A @ half.A, whole.A, rtol=0.0, atol=1e-12 * np.abs(whole.A).max())
    np.testing.assert_allclose(half.A @ half.B + half.B, whole.B, rtol=0.0, atol=1e-12 * np.abs(whole.B).max())


def test_nan_stays_in_its_sample_and_infinity_does_not_hang() -> None:
    arm = ch.load("planar2r")
    A, B = linear_model(arm, random_motion(arm, 3))
    A[1, 2, 0] = np.nan
    with np.errstate(invalid="ignore"):
        broken = discretize(A, B, 0.01)
        assert np.isnan(broken.A[1]).any()
        clean = discretize(np.delete(A, 1, axis=0), np.delete(B, 1, axis=0), 0.01)
        np.testing.assert_allclose(broken.A[[0, 2]], clean.A, rtol=1e-14)
        A[1, 2, 0] = np.inf
        assert not np.isfinite(discretize(A, B, 0.01).A[1]).all()


@pytest.mark.parametrize(
    ("A", "B", "period", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 1)), 0.1, r"A must have shape \(..., n, n\), not \(2, 3\)"),
        (np.eye(2), np.ones((3, 1)), 0.1, r"B must have shape \(..., 2, m\), not \(3, 1\)"),
        (np.eye(2), np.ones((2, 1)), 0.0, "period is 0.0; it must be positive"),
        (np.eye(2), np.ones((2, 1)), np.inf, "period is inf; it must be finite"),
    ],
)
def test_what_does_not_fit_is_refused(A: np.ndarray, B: np.ndarray, period: float, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        discretize(A, B, period)
