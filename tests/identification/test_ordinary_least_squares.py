"""Ordinary least squares of base parameters: exact data, ill-conditioned data, data that leave parameters open."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError, IdentificationError
from chasles.identification import BaseParameterFit


def test_the_solution_is_that_of_numpy() -> None:
    """More than one block of samples, torques with noise."""
    arm = ch.load("scara")
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 2500, arm.n))
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd)) + rng.normal(size=q.shape)
    fit = BaseParameterFit(arm)
    A = fit.base.columns(arm.regressors.torque(q, qd, qdd)).reshape(-1, len(fit.base))
    wanted = np.linalg.lstsq(A, tau.ravel())[0]
    assert np.allclose(fit(q, qd, qdd, tau), wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_small_motions_lose_no_digits() -> None:
    """Their normal matrix has lost all digits; the QR decomposition of the same rows has not."""
    arm = ch.load("puma560")
    rng = np.random.default_rng(0)
    q, qd, qdd = (size * rng.normal(size=(2000, arm.n)) for size in (1e-4, 0.01, 1.0))
    fit = BaseParameterFit(arm)
    tau = np.asarray(arm.inverse_dynamics(q, qd, qdd))
    assert fit._by_normal_equations([q, qd, qdd], tau) is None
    assert np.allclose(fit(q, qd, qdd, tau), fit.base.values, atol=1e-6)


def test_bad_input_is_answered() -> None:
    arm = ch.load("planar2r")
    fit = BaseParameterFit(arm)
    q = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.raises(IdentificationError, match="50 samples do not determine all"):
        fit(q, 0.0 * q, 0.0 * q, q)
    with pytest.raises(IdentificationError, match="2 samples do not determine all"):
        fit(q[:2], q[:2], q[:2], q[:2])
    with pytest.raises(ArgumentError, match="tau"):
        fit(q, q, q, q[:10])
    with pytest.raises(ArgumentError, match="qdd"):
        fit(q, q, np.full_like(q, np.nan), q)
