"""Identification: base parameters from torques with noise, by least squares, with an honest uncertainty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import chasles as ch

NOISE = 0.05
"""Standard deviation of a torque, N m."""


@pytest.fixture(scope="module")
def model() -> ch.Robot:
    """The Panda as its data sheet has it, with motors."""
    motors = {f"joints.panda_joint{k}.motor_inertia": 1e-5 * k for k in range(1, 8)}
    return ch.load("panda").with_values(motors | {f"joints.panda_joint{k}.gear_ratio": 100.0 for k in range(1, 8)})


@pytest.fixture(scope="module")
def truth(model: ch.Robot) -> ch.Robot:
    """The Panda as it is: bodies that differ from the model's, and friction."""
    arm = model.inertial.perturbed({"mass": 0.2, "center_of_mass": 0.2, "inertia": 0.2}, seed=1)
    return arm.with_friction(viscous=np.linspace(2.0, 0.5, 7), coulomb=np.linspace(1.5, 0.3, 7))


def measurements(truth: ch.Robot, count: int, seed: int) -> tuple[Any, Any]:
    """Motions with random Fourier series, and noisy torques along them."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 10.0, count)[:, None]
    q, qd, qdd = np.zeros((3, count, 7))
    for harmonic in range(1, 6):
        w = 2 * np.pi * 0.1 * harmonic
        a, b = rng.normal(size=(2, 7)) / harmonic
        q = q + a * np.sin(w * t) - b * np.cos(w * t)
        qd = qd + w * (a * np.cos(w * t) + b * np.sin(w * t))
        qdd = qdd + w * w * (-a * np.sin(w * t) + b * np.cos(w * t))
    tau = truth.inverse_dynamics(q, qd, qdd)
    return (q, qd, qdd), tau + NOISE * rng.normal(size=tau.shape)


def identify(model: ch.Robot, motion: Any, tau: Any) -> tuple[Any, Any]:
    """Least squares for the base parameters: values and covariance."""
    Y = model.inertial.base().columns(model.regressors.torque(*motion)).reshape(tau.size, -1)
    values = np.linalg.lstsq(Y, tau.ravel())[0]
    variance = np.sum((tau.ravel() - Y @ values) ** 2) / (tau.size - len(values))
    return values, variance * np.linalg.inv(Y.T @ Y)


def test_exact_torques_give_the_parameters_exactly(model: ch.Robot, truth: ch.Robot) -> None:
    motion, _ = measurements(truth, 200, 0)
    values, _ = identify(model, motion, truth.inverse_dynamics(*motion))
    assert np.abs(values - truth.inertial.base().values).max() < 1e-10


def test_noisy_torques_give_them_within_their_uncertainty(model: ch.Robot, truth: ch.Robot) -> None:
    motion, tau = measurements(truth, 4000, 1)
    values, covariance = identify(model, motion, tau)
    errors = values - truth.inertial.base().values
    # the normalised squared error is chi-square distributed, with as many degrees of freedom as there are parameters
    chi_square = errors @ np.linalg.solve(covariance, errors)
    assert abs(chi_square - len(values)) < 5 * np.sqrt(2 * len(values))

    possible = model.inertial.with_base(values, consistent=True, covariance=covariance)
    assert possible.inertial.inconsistencies() == {}
    fresh, torque = measurements(truth, 500, 2)
    for robot in (model.inertial.with_base(values), possible):
        residual = robot.inverse_dynamics(*fresh) - torque
        assert residual.std() == pytest.approx(NOISE, rel=0.05)
    assert (model.inverse_dynamics(*fresh) - torque).std() > 20 * NOISE
