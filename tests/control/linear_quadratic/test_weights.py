"""Weights: Bryson's rule and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.thinning import thinned

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control.linear_quadratic import (
    LinearQuadraticRegulator,
    TimeVaryingRegulator,
    bryson_weights,
    continuous_riccati,
    discrete_riccati,
    frequency_weights,
    linear_model,
    stationary_kalman_gains,
)
from chasles.control.linear_quadratic.weights import filtered_regulator_gains, weight_matrix
from chasles.control.pole_design import PoleDesign
from chasles.trajectories import Motion


def test_brysons_rule_prices_the_largest_error_of_each_kind_at_one() -> None:
    arm = ch.load("panda")
    position, velocity, torque = np.linspace(0.01, 0.02, 7), np.linspace(0.1, 0.3, 7), np.linspace(5.0, 1.0, 7)
    Q, R = bryson_weights(arm, position_error=position, velocity_error=velocity, torque=torque)
    for joint in range(7):
        x, u = np.zeros(14), np.zeros(7)
        x[joint], u[joint] = position[joint], torque[joint]
        assert x @ Q @ x == pytest.approx(1.0, rel=1e-14)
        assert u @ R @ u == pytest.approx(1.0, rel=1e-14)
        x[:] = 0.0
        x[7 + joint] = velocity[joint]
        assert x @ Q @ x == pytest.approx(1.0, rel=1e-14)


def test_torques_default_to_a_tenth_of_the_limits_or_to_thirty_radians_a_second() -> None:
    panda = ch.load("panda")
    np.testing.assert_allclose(bryson_weights(panda).R.diagonal() ** -0.5, 0.1 * panda.effort_limits, rtol=1e-14)
    arm = ch.load("planar2r")
    assert not np.isfinite(arm.effort_limits).any()
    stiffness = bryson_weights(arm, position_error=0.02).R.diagonal() ** -0.5 / 0.02
    np.testing.assert_allclose(stiffness, 900.0 * arm.mass_matrix(arm.home).diagonal(), rtol=1e-14)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"Q": np.eye(3)}, r"Q must be a number, \(4,\) or \(4, 4\), not \(3, 3\)"),
        ({"Q": np.triu(np.ones((4, 4)))}, r"Q must be symmetric, but Q\[0, 1\] = 1 and Q\[1, 0\] = 0"),
        ({"Q": [1.0, 1.0, 1.0, -1.0]}, "Q must be positive semidefinite, but its smallest eigenvalue is -1"),
        ({"R": 0.0}, "R must be positive definite, but its smallest eigenvalue is 0"),
        ({"R": np.ones((2, 2))}, "R must be positive definite"),
        ({"R": [1.0, np.nan]}, r"R\[1\] is nan; it must be finite"),
        ({"R": "heavy"}, "R must be an array of real numbers"),
        ({"integral_error": 0.0}, r"integral_error\[0\] is 0.0; it must be positive"),
        ({"integral_error": [1.0, 2.0, 3.0]}, r"integral_error has shape \(3,\)"),
    ],
)
@pytest.mark.parametrize("kind", [TimeVaryingRegulator, LinearQuadraticRegulator])
def test_wrong_weights_are_refused(kind: type, weights: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        kind(ch.load("planar2r"), **weights)


def test_rounding_does_not_make_a_weight_asymmetric_or_indefinite() -> None:
    root = np.random.default_rng(0).normal(size=(6, 3))
    Q = root @ root.T
    Q[0, 1] += 1e-16 * Q.max()
    np.testing.assert_array_equal(weight_matrix(Q, 6, "Q", definite=False), 0.5 * (Q + Q.T))
    with pytest.raises(ArgumentError, match="positive definite"):
        weight_matrix(Q, 6, "Q", definite=True)


@pytest.mark.parametrize("damping", [0.5**0.5, 1.0, 1.5])
def test_the_regulator_of_a_mass_matrix_is_a_spring_and_a_damper(damping: float) -> None:
    panda = ch.load("panda")
    M, zero, unit = panda.mass_matrix(panda.home), np.zeros((7, 7)), np.eye(7)
    A, B = np.block([[zero, unit], [zero, zero]]), np.vstack([zero, np.linalg.inv(M)])
    K = continuous_riccati(A, B, *frequency_weights(M, 20.0, damping)).K
    expected = np.hstack([400.0 * M, 40.0 * damping * M])
    np.testing.assert_allclose(K, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("integral", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("damping", [0.5**0.5, 1.0, 1.5])
@pytest.mark.parametrize("period", [0.1, 1 / 60, 1e-3])
def test_the_sampled_regulator_of_a_mass_matrix_has_the_sampled_poles(
    period: float, damping: float, integral: float
) -> None:
    """Every mode: the polynomial of the closed loop is Π (z - exp(s h)) to the power of the number of joints."""
    arm = ch.load("planar2r")
    M, zero, one = arm.mass_matrix([0.3, 0.7]), np.zeros((2, 2)), np.eye(2)
    A = np.block([[one, period * one, zero], [zero, one, zero], [period * one, zero, one]])
    B = np.vstack([0.5 * period**2 * np.linalg.inv(M), period * np.linalg.inv(M), zero])
    size = 6 if integral else 4
    A, B = A[:size, :size], B[:size]
    K = discrete_riccati(A, B, *frequency_weights(M, 12.0, damping, integral, period)).K
    s = np.roots(np.polymul([1.0, 24.0 * damping, 144.0], [1.0, 12.0 * integral] if integral else [1.0]))
    wanted = np.poly(np.repeat(np.exp(s * period), 2)).real
    np.testing.assert_allclose(np.poly(A - B @ K), wanted, atol=1e-9)


@pytest.mark.slow
def test_an_unknown_payload_lets_vibrations_grow_unless_the_stiffness_is_symmetric() -> None:
    """The same frequency of every mode in the nominal loop, from weights of angles and torques that are not powers."""
    panda = ch.load("panda").with_friction(viscous=0.0, coulomb=0.0)
    q = np.array([1.1, -0.6, 0.5, -1.5, 0.5, 2.2, 0.0])
    rest = np.zeros(7)
    M = np.mean(panda.mass_matrix(np.linspace(panda.home, q, 20)), axis=0)
    inverse = np.linalg.inv(M)
    plain = np.diag(np.repeat([1.0, 2.0 / 400.0], 7)), inverse @ inverse / 20.0**4
    growth = {}
    for name, weights in (("plain", plain), ("powers", frequency_weights(M, 20.0))):
        K = continuous_riccati(*linear_model(panda, Motion(q, rest, rest)), *weights).K
        A, B = linear_model(panda.with_payload(5.0), Motion(q, rest, rest))
        growth[name] = float(np.linalg.eigvals(A - B @ K).real.max())
    assert growth["plain"] > 1.0
    assert growth["powers"] < -1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", thinned(range(4), keep=3))
def test_a_pose_is_held_where_the_spring_outweighs_the_load(seed: int) -> None:
    """Kelvin, Tait and Chetaev: the loaded loop is stable exactly where ω² M + dg/dq is positive definite."""
    rng, rest = np.random.default_rng(seed), np.zeros(3)
    rows = [{"a": 0.4, "alpha": rng.uniform(-0.3, 0.3), "mass": 2.0, "inertia": 3 * [0.02]} for _ in range(3)]
    arm = ch.Robot.from_dh(rows, gravity=(0.0, 9.81, 0.0))
    q, omega = rng.uniform(-0.3, 0.3, 3) - [0.5 * np.pi, 0.0, 0.0], 8.0  # almost upright
    M = arm.mass_matrix(q)
    K = np.hstack([omega**2 * M, 2.0 * omega * M])
    for mass in (0.0, 1.0, 3.0, 10.0, 100.0):
        loaded = arm.with_payload(mass)
        A, B = linear_model(loaded, Motion(q, rest, rest))
        dg = -loaded.mass_matrix(q) @ A[3:, :3]
        growth = np.linalg.eigvals(A - B @ K).real.max()
        assert (growth < 0.0) == (np.linalg.eigvalsh(omega**2 * M + 0.5 * (dg + dg.T))[0] > 0.0)
        without = linear_model(loaded.with_gravity(rest), Motion(q, rest, rest))
        assert np.linalg.eigvals(without[0] - without[1] @ K).real.max() < 0.0
    assert growth > 0.0  # the heaviest load falls


@pytest.mark.parametrize(("zeta", "kappa"), [(1.0, 1.0), (0.8, 0.3), (1.5, 2.0)])
def test_with_an_integral_the_heaviest_load_is_that_of_routh(zeta: float, kappa: float) -> None:
    M = ch.load("planar2r").mass_matrix([0.3, 0.7])
    zero, one = np.zeros((2, 2)), np.eye(2)
    joined = np.block([[zero, one, zero], [zero, zero, zero], [one, zero, zero]])
    Q, R = frequency_weights(M, 20.0, zeta, kappa)
    K = continuous_riccati(joined, np.vstack([zero, np.linalg.inv(M), zero]), Q, R).K
    most = (2.0 * zeta + kappa) * (1.0 + 2.0 * zeta * kappa) / kappa
    root = np.linalg.cholesky(M)
    for share, grows in ((0.99, False), (1.01, True)):
        true = root @ np.diag([most * share, 1.0]) @ root.T
        B = np.vstack([zero, np.linalg.inv(true), zero])
        assert (np.linalg.eigvals(joined - B @ K).real.max() > 0.0) == grows


def test_frequencies_and_mass_matrices_that_cannot_be_are_refused() -> None:
    with pytest.raises(ArgumentError, match="regulators are not damped less"):
        frequency_weights(np.eye(2), 20.0, 0.5)
    with pytest.raises(ArgumentError, match=r"frequency is .*; it must be positive"):
        frequency_weights(np.eye(2), 0.0)
    with pytest.raises(ArgumentError, match="mass_matrix must be positive definite"):
        frequency_weights(np.diag([1.0, 0.0]), 20.0)


@pytest.mark.parametrize(
    ("filter", "resonance", "expected"),
    [
        (1.0, np.inf, [1.0, 2.0, 2.0, 1.0]),  # lasting torques alone, as fast as the filter: (s + w) (s² + w s + w²)
        (10.0, np.inf, np.polymul([1.0, 10.0 * 2.0**0.5, 100.0], [1.0, 1.0])),  # and slower: λ = w beside Ω = 10 w
        (10.0, 40.0 / np.pi, np.polymul([1.0, 2.0 * 2.0**0.5, 4.0], [1.0, 1.0])),  # Ω = 2 w of the resonance
    ],
)
def test_poles_of_the_filter_of_a_unit_mass(filter: float, resonance: float, expected: Any) -> None:
    """At a short period: Ω = filter · frequency up to the resonance, λ that of the loop."""
    arm, h, w = ch.load("planar2r"), 1e-4, 20.0
    design = PoleDesign(arm, ch.PointToPoint([0.0, 0.0], [1.0, 0.5], 1.0), h, frequency=w)
    gains = filtered_regulator_gains(design, filter, resonance)
    lasting, swift = (gains[name][0] / design.inertia[0] for name in ("lasting_error", "torque_error"))
    A = np.array([[1.0, h, 0.5 * h**2], [0.0, 1.0, h], [0.0, 0.0, 1.0]])
    held = np.array([[0.5 * h**2], [h], [0.0]]) * (swift if filter > 1.0 else 0.0)
    W = held @ held.T + np.diag([0.0, 0.0, lasting**2])
    L = stationary_kalman_gains(A, np.eye(1, 3), W, gains["encoder_noise"] ** 2).L
    poles = np.log(np.linalg.eigvals(A @ (np.eye(3) - L @ np.eye(1, 3))).astype(complex)) / h
    np.testing.assert_allclose(np.poly(poles / w), expected, rtol=0.1)


def test_a_filter_below_the_resonance_leaves_elastic_joints_alone() -> None:
    """Rotors and springs of 10 Hz that no law knows, encoders at the motors: ten times the poles is too fast."""
    arm, motion, h = ch.load("planar2r"), ch.PointToPoint([-1.57, 0.0], [0.78, 1.57], 1.0), 0.004
    inertia, rate = arm.mass_matrix([-0.4, 0.8]).diagonal(), 20.0 * np.pi
    damping = 2.0 * 0.02 * rate * inertia
    springs = ch.ElasticJoints(arm, stiffness=rate**2 * inertia, damping=damping, rotor_inertia=0.25 * inertia)
    radius = []
    for further in ({}, {"resonance": 10.0}):
        law = ch.control.LinearQuadraticGaussian.tuned(arm, motion, h, frequency=12.0, integral=0.3, **further)
        margins = ch.control.loop_margins(
            arm, law, motion, period=h, velocity="measured", places=5, elastic_joints=springs, side="motor"
        )
        radius.append(margins.radius.max())
    assert radius[1] < 1.0 < radius[0]
