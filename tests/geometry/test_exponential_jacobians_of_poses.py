from __future__ import annotations

import numpy as np
import pytest
from tests.geometry.exact_poses import (
    ANGLES,
    exact_inverse_left_jacobian,
    exact_left_jacobian,
    exact_pose_derivatives,
    hard_twists,
)
from tests.thinning import thinned

from chasles.geometry import (
    adjoint,
    exp_pose,
    inverse_left_jacobian_pose,
    inverse_pose,
    inverse_right_jacobian_pose,
    left_jacobian_pose,
    log_pose,
    right_jacobian_pose,
)

HARD = hard_twists(seed=20)
NAMES = [f"{angle:.4g}" for angle in ANGLES]


@pytest.mark.parametrize("twist", thinned(HARD[::2], 8, ids=NAMES[::2]))
@pytest.mark.parametrize(
    ("left", "right", "exact_values"),
    [
        (left_jacobian_pose, right_jacobian_pose, exact_left_jacobian),
        (inverse_left_jacobian_pose, inverse_right_jacobian_pose, exact_inverse_left_jacobian),
    ],
    ids=["jacobian", "inverse"],
)
def test_jacobians_and_their_derivatives_are_those_of_60_digits(left, right, exact_values, twist: np.ndarray) -> None:
    exact, slopes = exact_values(twist)
    np.testing.assert_allclose(left(twist), exact, rtol=0.0, atol=4e-15 * np.abs(exact).max())
    np.testing.assert_allclose(right(-twist), exact, rtol=0.0, atol=4e-15 * np.abs(exact).max())
    np.testing.assert_allclose(left.jacobian()(twist), slopes, rtol=0.0, atol=1e-14 * np.abs(slopes).max())
    adjoints = np.random.default_rng(21).normal(size=(6, 6))
    pulled = left.specialize().vjp()(twist, adjoints)
    expected = np.einsum("ij,ijk->k", adjoints, slopes)
    np.testing.assert_allclose(pulled, expected, rtol=0.0, atol=1e-13 * np.abs(slopes).max())


def test_jacobians_map_rates_to_twists() -> None:
    """dT/dx_k = hat(J_left e_k) T = T hat(J_right e_k), with dT/dx to 60 digits."""
    for twist in HARD[1::2]:
        T, rates = exp_pose(twist), exact_pose_derivatives(twist)
        space = np.moveaxis(rates, -1, 0) @ inverse_pose(T)
        body = inverse_pose(T) @ np.moveaxis(rates, -1, 0)
        for hats, J in ((space, left_jacobian_pose(twist)), (body, right_jacobian_pose(twist))):
            twists = np.stack([hats[:, 2, 1], hats[:, 0, 2], hats[:, 1, 0], *hats[:, :3, 3].T])
            np.testing.assert_allclose(J, twists, rtol=0.0, atol=1e-14 * np.abs(J).max() * np.abs(T).max())


def test_left_and_right_differ_by_the_adjoint() -> None:
    left, right = left_jacobian_pose(HARD), right_jacobian_pose(HARD)
    np.testing.assert_allclose(left, adjoint(exp_pose(HARD)) @ right, rtol=0.0, atol=1e-14 * np.abs(left).max())


def test_inverses_are_the_first_order_of_the_logarithm() -> None:
    """Derivative of log(exp(d) exp(x)) and log(exp(x) exp(d)) to d at 0, by the chain rule through the compiled log."""
    generators = np.zeros((6, 4, 4))
    for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0))):
        generators[k, i, j], generators[k, j, i] = 1.0, -1.0
        generators[k + 3, k, 3] = 1.0
    T = exp_pose(HARD)
    slopes = log_pose.jacobian()(T)
    for products, inverse in (
        (generators @ T[:, None], inverse_left_jacobian_pose(HARD)),
        (T[:, None] @ generators, inverse_right_jacobian_pose(HARD)),
    ):
        expected = np.einsum("nkij,nlij->nkl", slopes, products)
        np.testing.assert_allclose(inverse, expected, rtol=0.0, atol=1e-13 * np.abs(inverse).max())


@pytest.mark.parametrize("shape", [(), (1,), (3, 1, 2)])
def test_batches_and_inverses(shape: tuple[int, ...]) -> None:
    twists = np.resize(HARD, (*shape, 6))
    for J, inverse in (
        (left_jacobian_pose(twists), inverse_left_jacobian_pose(twists)),
        (right_jacobian_pose(twists), inverse_right_jacobian_pose(twists)),
    ):
        assert J.shape == inverse.shape == (*shape, 6, 6)
        np.testing.assert_allclose(J @ inverse, np.broadcast_to(np.eye(6), J.shape), rtol=0.0, atol=2e-14)


@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("compute", [left_jacobian_pose, inverse_left_jacobian_pose])
def test_nan_stays_in_its_sample(compute, k: int) -> None:
    spoilt = HARD.copy()
    spoilt[3, k] = np.nan
    result, whole = compute(spoilt), compute(HARD)
    np.testing.assert_array_equal(np.delete(result, 3, axis=0), np.delete(whole, 3, axis=0))
    assert np.isnan(result[3, 3:, :3]).all()
    assert np.isnan(result[3, :3, :3]).all() == (k < 3)
