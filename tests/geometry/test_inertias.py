from __future__ import annotations

from fractions import Fraction

import numpy as np
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import PointMasses, random_body, random_pose

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    add_mass_properties,
    mass_properties_from_spatial_inertia,
    parallel_axes,
    spatial_inertia,
    transform_mass_properties,
    transform_spatial_inertia,
)

SEEDS = st.integers(0, 2**32 - 1)
LEADS = ((), (1,), (3, 1, 2))


def swapped(matrix: np.ndarray) -> np.ndarray:
    """A matrix of Pinocchio, which has the linear part first."""
    order = [3, 4, 5, 0, 1, 2]
    return matrix[np.ix_(order, order)]


@given(SEEDS)
def test_spatial_inertia_maps_the_twist_of_a_cloud_of_points_to_its_momentum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body, twist = random_body(rng), rng.normal(size=6)
    inertia = spatial_inertia(*body.properties)
    assert np.array_equal(inertia, inertia.T)
    assert_allclose(inertia @ twist, body.momentum(twist), atol=1e-12 * np.abs(inertia).max())
    mass, center, about_center = mass_properties_from_spatial_inertia(inertia)
    assert_allclose(mass, body.mass, rtol=1e-15)
    assert_allclose(center, body.center, rtol=1e-15)
    assert_allclose(about_center, body.properties[2], atol=1e-14 * np.abs(inertia).max())


@given(SEEDS)
def test_inertias_agree_with_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, T_ab = random_body(rng), random_body(rng), random_pose(rng)
    a, b = (pinocchio.Inertia(*body.properties) for body in (first, second))
    scale = np.abs(a.matrix()).max() + np.abs(b.matrix()).max()
    assert_allclose(spatial_inertia(*first.properties), swapped(a.matrix()), atol=1e-14 * scale)
    moved = pinocchio.SE3(T_ab).act(a)
    expected = swapped(moved.matrix())
    found = transform_spatial_inertia(T_ab, swapped(a.matrix()))
    assert_allclose(found, expected, atol=1e-13 * np.abs(expected).max())
    assert_allclose(transform_mass_properties(T_ab, *first.properties).rotational_inertia, moved.inertia, atol=1e-12)
    together = a + b
    mass, center, about_center = add_mass_properties(*first.properties, *second.properties)
    assert_allclose(mass, together.mass, rtol=1e-15)
    assert_allclose(center, together.lever, atol=1e-14)
    assert_allclose(about_center, together.inertia, atol=1e-13 * scale)


@given(SEEDS, st.sampled_from(LEADS))
def test_a_moved_body_has_the_inertia_of_its_moved_points(seed: int, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    body, T_ab = random_body(rng), random_pose(rng, lead)
    found = transform_spatial_inertia(T_ab, spatial_inertia(*body.properties))
    properties = transform_mass_properties(T_ab, *body.properties)
    assert found.shape == (*lead, 6, 6)
    assert np.array_equal(found, np.swapaxes(found, -1, -2))
    for index in np.ndindex(lead):
        moved = body.moved(T_ab[index])
        assert_allclose(found[index], spatial_inertia(*moved.properties), atol=1e-13 * np.abs(found).max())
        assert_allclose(properties.center_of_mass[index], moved.center, atol=1e-14 * np.abs(found).max())
        assert_allclose(properties.rotational_inertia[index], moved.properties[2], atol=1e-13 * np.abs(found).max())


@given(SEEDS)
def test_any_symmetric_matrix_moves_by_its_quadratic_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, T_ab, twist_b = rng.normal(size=(6, 6)), random_pose(rng), rng.normal(size=6)
    stiffness = A + A.T
    R, p = T_ab[:3, :3], T_ab[:3, 3]
    omega = R @ twist_b[:3]
    twist_a = np.concatenate([omega, R @ twist_b[3:] + np.cross(p, omega)])
    form = twist_a @ transform_spatial_inertia(T_ab, stiffness) @ twist_a
    assert_allclose(form, twist_b @ stiffness @ twist_b, atol=1e-11)


@given(SEEDS)
def test_two_bodies_together_are_the_cloud_of_all_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = random_body(rng), random_body(rng)
    both = first.with_points_of(second)
    sum_of_matrices = spatial_inertia(*first.properties) + spatial_inertia(*second.properties)
    scale = np.abs(sum_of_matrices).max()
    assert_allclose(sum_of_matrices, spatial_inertia(*both.properties), atol=1e-13 * scale)
    mass, center, about_center = add_mass_properties(*first.properties, *second.properties)
    assert_allclose(center, both.center, atol=1e-14 * scale)
    assert_allclose(about_center, both.properties[2], atol=1e-13 * scale)
    part = add_mass_properties(mass, center, about_center, -first.mass, first.center, -first.properties[2])
    assert_allclose(part.center_of_mass, second.center, atol=1e-12 * scale)
    assert_allclose(part.rotational_inertia, second.properties[2], atol=1e-11 * scale)


@given(SEEDS)
def test_parallel_axes_to_any_point_and_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body, point = random_body(rng), rng.normal(size=3)
    mass, center, about_center = body.properties
    about_point = parallel_axes(about_center, mass, center - point)
    assert_allclose(about_point, body.rotational_inertia(point), atol=1e-13 * np.abs(about_point).max())
    assert_allclose(parallel_axes(about_point, -mass, point - center), about_center, atol=1e-12)


def test_cuboid_about_its_corner() -> None:
    a, b, c, mass = 1.0, 2.0, 3.0, 6.0
    about_center = mass / 12 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    about_corner = mass * np.array(
        [
            [(b * b + c * c) / 3, -a * b / 4, -a * c / 4],
            [-a * b / 4, (a * a + c * c) / 3, -b * c / 4],
            [-a * c / 4, -b * c / 4, (a * a + b * b) / 3],
        ]
    )
    assert_allclose(parallel_axes(about_center, mass, [a / 2, b / 2, c / 2]), about_corner, rtol=1e-15)


def test_small_bodies_far_from_the_origin_lose_no_digits() -> None:
    x = 1e6
    ball = 1e-3 * np.eye(3)
    found = add_mass_properties(1.0, [x, 0.0, 0.0], ball, 3.0, [x + 0.25, 0.0, 0.0], ball)
    about = 2 * Fraction(1e-3) + Fraction(3, 4) * Fraction(1, 16)
    assert_allclose(np.diag(found.rotational_inertia), [2e-3, float(about), float(about)], rtol=1e-15)
    slender = parallel_axes(np.zeros((3, 3)), 1.0, [1e6, 1e-4, 0.0])
    assert_allclose(slender[0, 0], 1e-8, rtol=1e-15)


def test_bodies_without_mass() -> None:
    nothing = spatial_inertia(0.0, [1.0, 2.0, 3.0], np.zeros((3, 3)))
    mass, center, about_center = mass_properties_from_spatial_inertia(nothing)
    assert mass == 0.0
    assert center.tolist() == [0.0, 0.0, 0.0]
    assert not about_center.any()
    both = add_mass_properties(mass, [1.0, 0.0, 0.0], about_center, mass, [3.0, 0.0, 0.0], np.eye(3))
    assert both.center_of_mass.tolist() == [1.0, 0.0, 0.0]
    assert np.array_equal(both.rotational_inertia, np.eye(3))
    cancelled = add_mass_properties(2.0, [1.0, 0.0, 0.0], np.eye(3), -2.0, [3.0, 0.0, 0.0], -np.eye(3))
    assert cancelled.mass == 0.0
    assert cancelled.center_of_mass.tolist() == [1.0, 0.0, 0.0]
    assert not cancelled.rotational_inertia.any()
    for output in ("mass", "center_of_mass", "rotational_inertia"):
        assert np.isfinite(mass_properties_from_spatial_inertia.jacobian(output)(nothing)).all()
    backwards = mass_properties_from_spatial_inertia.specialize().vjp()
    assert np.isfinite(backwards(nothing, 1.0, np.ones(3), np.ones((3, 3)))).all()


def test_nan_stays_in_its_sample() -> None:
    rng = np.random.default_rng(1)
    bodies = [random_body(rng) for _ in range(4)]
    T_ab = random_pose(rng, (4,))
    mass, center, about_center = (np.array(values) for values in zip(*(b.properties for b in bodies), strict=True))
    expected = transform_spatial_inertia(T_ab, spatial_inertia(mass, center, about_center))
    mass[1] = np.nan
    inertia = spatial_inertia(mass, center, about_center)
    found = transform_spatial_inertia(T_ab, inertia)
    assert np.array_equal(np.delete(found, 1, 0), np.delete(expected, 1, 0))
    assert np.isnan(found[1, 3:, 3:]).all()
    properties = mass_properties_from_spatial_inertia(inertia)
    assert np.isnan(properties.center_of_mass[1]).all()
    assert not np.isnan(np.delete(properties.center_of_mass, 1, 0)).any()


def test_a_reflection_is_refused_when_checked() -> None:
    with pytest.raises(ArgumentError, match="T_ab is not a pose"):
        transform_spatial_inertia(np.diag([1.0, 1.0, -1.0, 1.0]), np.eye(6), check=True)


def test_one_point() -> None:
    body = PointMasses(np.array([2.0]), np.array([[1.0, 2.0, 3.0]]))
    inertia = spatial_inertia(2.0, [1.0, 2.0, 3.0], np.zeros((3, 3)))
    assert_allclose(inertia[:3, :3], body.rotational_inertia(np.zeros(3)), rtol=1e-15)
    assert np.linalg.matrix_rank(inertia) == 3
