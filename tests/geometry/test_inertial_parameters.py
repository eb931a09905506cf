"""Vectors of inertial parameters, against clouds of mass points and Pinocchio, and log-Cholesky parameters."""

from __future__ import annotations

import mpmath
import numpy as np
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import random_body

from chasles.geometry import (
    inertial_parameters_from_pseudo_inertia,
    log_cholesky_from_pseudo_inertia,
    mass_properties_from_pseudo_inertia,
    pseudo_inertia,
    pseudo_inertia_from_inertial_parameters,
    pseudo_inertia_from_log_cholesky,
    spatial_inertia_from_pseudo_inertia,
)

SEEDS = st.integers(0, 2**32 - 1)
LEADS = ((), (1,), (3, 1, 2))
#: Pinocchio's order of moments is xx, xy, yy, xz, yz, zz.
PINOCCHIO_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]


@given(SEEDS)
def test_parameters_of_a_cloud_of_points(seed: int) -> None:
    body = random_body(np.random.default_rng(seed))
    parameters = inertial_parameters_from_pseudo_inertia(body.pseudo_inertia)
    peer = pinocchio.Inertia(body.mass, np.array(body.center), np.array(body.properties[2])).toDynamicParameters()
    scale = np.abs(parameters).max()
    assert_allclose(parameters[PINOCCHIO_ORDER], peer, atol=1e-13 * scale)
    assert_allclose(pseudo_inertia_from_inertial_parameters(parameters), body.pseudo_inertia, atol=1e-14 * scale)


@pytest.mark.parametrize("lead", LEADS)
def test_the_map_is_linear_over_batches(lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, *lead, 10))
    J = pseudo_inertia_from_inertial_parameters
    assert J(a).shape == (*lead, 4, 4)
    assert_allclose(J(a + 2.0 * b), J(a) + 2.0 * J(b), atol=1e-14)
    assert_allclose(inertial_parameters_from_pseudo_inertia(J(a)), a, atol=1e-14)


@given(SEEDS)
def test_every_log_cholesky_vector_is_a_body_and_comes_back(seed: int) -> None:
    theta = np.random.default_rng(seed).normal(size=10)
    J = pseudo_inertia_from_log_cholesky(theta)
    assert np.array_equal(J, J.T)
    assert np.linalg.eigvalsh(J)[0] > 0.0
    mass, center, _ = mass_properties_from_pseudo_inertia(J)
    assert_allclose(mass, np.exp(2 * theta[0]), rtol=1e-14)
    assert_allclose(center, theta[7:], atol=1e-13)
    # the way back takes the smallest extent of the body from what is larger
    condition = np.linalg.cond(J)
    assert_allclose(log_cholesky_from_pseudo_inertia(J), theta, atol=1e-15 * condition, rtol=1e-13)


def test_log_cholesky_is_the_published_factor() -> None:
    """J = U U^T with the upper triangular U of Rucker and Wensing, at 40 digits."""
    theta = np.array([0.3, -0.4, 0.2, -1.1, 0.25, -0.3, 0.15, 0.05, -0.2, 0.4])
    with mpmath.workdps(40):
        a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = (mpmath.mpf(float(x)) for x in theta)
        U = mpmath.exp(a) * mpmath.matrix(
            [[mpmath.exp(d1), s12, s13, t1], [0, mpmath.exp(d2), s23, t2], [0, 0, mpmath.exp(d3), t3], [0, 0, 0, 1]]
        )
        exact = np.array((U * U.T).tolist(), dtype=float)
    assert_allclose(pseudo_inertia_from_log_cholesky(theta), exact, rtol=1e-15, atol=1e-16)


def test_slopes_of_log_cholesky_parameters() -> None:
    theta = np.random.default_rng(1).normal(size=10) * 0.5
    slope = pseudo_inertia_from_log_cholesky.specialize().jacobian()(theta)
    h = 1e-5
    for k, unit in enumerate(np.eye(10)):
        ahead, behind = (pseudo_inertia_from_log_cholesky(theta + s * h * unit) for s in (1, -1))
        assert_allclose(slope[..., k], (ahead - behind) / (2 * h), atol=1e-9)


def test_flat_bodies_have_no_log_cholesky_parameters() -> None:
    flat = pseudo_inertia(1.0, [0.0, 0.0, 0.0], np.diag([1.0, 1.0, 2.0]))  # a disc in the xy plane
    solid = pseudo_inertia(1.0, [0.0, 0.0, 0.0], np.diag([1.0, 1.0, 1.5]))
    impossible = pseudo_inertia(1.0, [0.0, 0.0, 0.0], np.diag([1.0, 1.0, 2.5]))
    with np.errstate(invalid="ignore", divide="ignore"):
        parameters = log_cholesky_from_pseudo_inertia([flat, solid, impossible])
    assert not np.isfinite(parameters[0]).all()
    assert np.isfinite(parameters[1]).all()
    assert np.isnan(parameters[2]).any()


def test_massless_bodies_have_parameters() -> None:
    J = np.diag([1.0, 2.0, 3.0, 0.0])
    parameters = inertial_parameters_from_pseudo_inertia(J)
    assert np.array_equal(pseudo_inertia_from_inertial_parameters(parameters), J)
    assert np.array_equal(np.diag(spatial_inertia_from_pseudo_inertia(J))[:3], parameters[[4, 7, 9]])
