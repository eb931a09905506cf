from __future__ import annotations

import numpy as np
import pinocchio
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import random_body, random_pose

from chasles.geometry import (
    mass_properties_from_pseudo_inertia,
    pseudo_inertia,
    pseudo_inertia_from_spatial_inertia,
    spatial_inertia,
    spatial_inertia_from_pseudo_inertia,
    transform_pseudo_inertia,
)

SEEDS = st.integers(0, 2**32 - 1)
LEADS = ((), (1,), (3, 1, 2))


@given(SEEDS)
def test_pseudo_inertia_is_the_sum_of_squares_of_a_cloud_of_points(seed: int) -> None:
    body = random_body(np.random.default_rng(seed))
    J = pseudo_inertia(*body.properties)
    scale = np.abs(J).max()
    assert np.array_equal(J, J.T)
    assert_allclose(J, body.pseudo_inertia, atol=1e-14 * scale)
    mass, center, about_center = mass_properties_from_pseudo_inertia(J)
    assert_allclose(mass, body.mass, rtol=1e-15)
    assert_allclose(center, body.center, rtol=1e-15)
    assert_allclose(about_center, body.properties[2], atol=1e-14 * scale)


@given(SEEDS)
def test_the_two_matrices_hold_the_same(seed: int) -> None:
    body = random_body(np.random.default_rng(seed))
    J, inertia = body.pseudo_inertia, spatial_inertia(*body.properties)
    scale = np.abs(J).max()
    assert_allclose(spatial_inertia_from_pseudo_inertia(J), inertia, atol=1e-14 * scale)
    assert_allclose(pseudo_inertia_from_spatial_inertia(inertia), J, atol=1e-14 * scale)


@given(SEEDS)
def test_pseudo_inertia_agrees_with_pinocchio(seed: int) -> None:
    body = random_body(np.random.default_rng(seed))
    expected = pinocchio.Inertia(*body.properties).toPseudoInertia().toMatrix()
    assert_allclose(pseudo_inertia(*body.properties), expected, atol=1e-13 * np.abs(expected).max())


@given(SEEDS, st.sampled_from(LEADS))
def test_a_moved_body_has_the_pseudo_inertia_of_its_moved_points(seed: int, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    body, T_ab = random_body(rng), random_pose(rng, lead)
    found = transform_pseudo_inertia(T_ab, body.pseudo_inertia)
    assert found.shape == (*lead, 4, 4)
    assert np.array_equal(found, np.swapaxes(found, -1, -2))
    for index in np.ndindex(lead):
        assert_allclose(found[index], body.moved(T_ab[index]).pseudo_inertia, atol=1e-14 * np.abs(found).max())


def test_cylinder_of_the_manual_of_spacelib() -> None:
    """Example 3.13: radius 1 m, height 5 m, 1 kg/m³; the second frame is at (0, -3, -4)."""
    about_center = np.diag([36.633, 36.633, 7.85])
    assert_allclose(
        pseudo_inertia(15.71, np.zeros(3), about_center), np.diag([3.925, 3.925, 32.708, 15.71]), rtol=1e-12
    )
    expected = [[3.925, 0, 0, 0], [0, 145.315, 188.52, 47.13], [0, 188.52, 284.068, 62.84], [0, 47.13, 62.84, 15.71]]
    assert_allclose(pseudo_inertia(15.71, [0.0, 3.0, 4.0], about_center), expected, rtol=1e-12)


def test_bodies_without_mass() -> None:
    """They may have inertia: that of a rotor, say, whose mass is counted elsewhere."""
    J = pseudo_inertia(0.0, [1.0, 2.0, 3.0], np.diag([3.0, 4.0, 5.0]))
    mass, center, about_center = mass_properties_from_pseudo_inertia(J)
    assert mass == 0.0
    assert center.tolist() == [0.0, 0.0, 0.0]
    assert np.array_equal(about_center, np.diag([3.0, 4.0, 5.0]))
    assert np.array_equal(spatial_inertia_from_pseudo_inertia(J), np.diag([3.0, 4.0, 5.0, 0.0, 0.0, 0.0]))
    for output in ("mass", "center_of_mass", "rotational_inertia"):
        assert np.isfinite(mass_properties_from_pseudo_inertia.jacobian(output)(J)).all()


def test_nan_stays_in_its_sample() -> None:
    rng = np.random.default_rng(2)
    J, T_ab = np.array([random_body(rng).pseudo_inertia for _ in range(3)]), random_pose(rng, (3,))
    expected = transform_pseudo_inertia(T_ab, J)
    T_ab[1, 0, 3] = np.nan
    found = transform_pseudo_inertia(T_ab, J)
    assert np.array_equal(found[[0, 2]], expected[[0, 2]])
    assert np.isnan(found[1, 0]).all()


def test_symbols_give_the_formula_of_the_manual_of_spacelib() -> None:
    mass, x, y, z, *moments = sympy.symbols("m x y z Jxx Jyy Jzz Jxy Jyz Jxz")
    xx, yy, zz, xy, yz, xz = moments
    J = pseudo_inertia(mass, [x, y, z], [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert sympy.expand(J[0, 0] - ((-xx + yy + zz) / 2 + mass * x**2)) == 0
    assert sympy.expand(J[1, 2] - (-yz + mass * y * z)) == 0
    assert J[3].tolist() == [mass * x, mass * y, mass * z, mass]
