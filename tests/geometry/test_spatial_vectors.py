from __future__ import annotations

import numpy as np
import pinocchio
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import known_motion, random_pose, twist_of

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    classical_from_spatial_acceleration,
    compose_classical_accelerations,
    compose_spatial_accelerations,
    coriolis_acceleration,
    point_acceleration,
    point_velocity,
    power,
    spatial_from_classical_acceleration,
    transform_classical_acceleration,
    transform_twist,
    transform_wrench,
    wrench_cross,
    wrench_from_force,
)

SEEDS = st.integers(0, 2**32 - 1)
LEADS = ((), (1,), (3, 1, 2))


def motion(vector: np.ndarray) -> pinocchio.Motion:
    return pinocchio.Motion(vector[3:], vector[:3])


def force(vector: np.ndarray) -> pinocchio.Force:
    return pinocchio.Force(vector[3:], vector[:3])


def angular_first(spatial: pinocchio.Motion | pinocchio.Force) -> np.ndarray:
    return np.concatenate([spatial.angular, spatial.linear])


@given(SEEDS)
def test_change_of_frame_products_and_power_agree_with_pinocchio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T_ab = random_pose(rng)
    M_ab = pinocchio.SE3(T_ab)
    a, b, w = rng.normal(size=(3, 6))
    assert_allclose(transform_twist(T_ab, a), angular_first(M_ab.act(motion(a))), atol=1e-14)
    assert_allclose(transform_wrench(T_ab, w), angular_first(M_ab.act(force(w))), atol=1e-14)
    assert_allclose(wrench_cross(a, w), angular_first(motion(a).cross(force(w))), atol=1e-14)
    assert_allclose(power(a, w), motion(a).dot(force(w)), atol=1e-14)
    classical = pinocchio.classicAcceleration(motion(b), motion(a))
    assert_allclose(classical_from_spatial_acceleration(a, b)[3:], classical, atol=1e-14)


@given(SEEDS, st.sampled_from(LEADS))
def test_frames_follow_one_another_and_power_does_not_change(seed: int, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    T_ab, T_bc = random_pose(rng, lead), random_pose(rng, lead)
    twist_c, acceleration_c, wrench_c = rng.normal(size=(3, *lead, 6))
    for law, vector in ((transform_twist, twist_c), (transform_wrench, wrench_c)):
        assert law(T_ab, vector).shape == (*lead, 6)
        assert_allclose(law(T_ab, law(T_bc, vector)), law(T_ab @ T_bc, vector), atol=1e-13)
        assert_allclose(law(np.linalg.inv(T_ab), law(T_ab, vector)), vector, atol=1e-13)
    omega_b = np.einsum("...ij,...j", T_bc[..., :3, :3], twist_c[..., :3])
    acceleration_b = transform_classical_acceleration(T_bc, acceleration_c, twist_c[..., :3])
    assert_allclose(
        transform_classical_acceleration(T_ab, acceleration_b, omega_b),
        transform_classical_acceleration(T_ab @ T_bc, acceleration_c, twist_c[..., :3]),
        atol=1e-12,
    )
    expected = np.einsum("...i,...i", twist_c, wrench_c)
    assert_allclose(power(transform_twist(T_bc, twist_c), transform_wrench(T_bc, wrench_c)), expected, atol=1e-13)


@given(SEEDS)
def test_both_accelerations_are_those_of_a_differentiated_trajectory(seed: int) -> None:
    jet = known_motion(seed)
    spatial, classical = jet.spatial_acceleration, jet.classical_acceleration
    scale = 1 + np.abs(classical).max()
    assert_allclose(classical_from_spatial_acceleration(spatial, jet.twist), classical, atol=1e-13 * scale)
    assert_allclose(spatial_from_classical_acceleration(classical, jet.twist), spatial, atol=1e-13 * scale)
    point_body = np.array([0.3, -1.2, 0.7, 1.0])
    point_world = (jet.T @ point_body)[:3]
    assert_allclose(point_velocity(jet.twist, point_world), (jet.first @ point_body)[:3], atol=1e-13 * scale)
    found = point_acceleration(classical, jet.twist[:3], point_world)
    assert_allclose(found, (jet.second @ point_body)[:3], atol=1e-12 * scale)


@given(SEEDS)
def test_classical_acceleration_in_another_frame_is_that_of_the_point_in_its_origin(seed: int) -> None:
    jet, T_ab = known_motion(seed), random_pose(np.random.default_rng(seed))
    scale = 1 + np.abs(jet.classical_acceleration).max()
    found = transform_classical_acceleration(T_ab, jet.classical_acceleration, jet.twist[:3])
    origin_b = np.linalg.inv(T_ab) @ [0.0, 0.0, 0.0, 1.0]
    acceleration_b = (jet.second @ np.linalg.inv(jet.T) @ origin_b)[:3]
    assert_allclose(found[3:], T_ab[:3, :3] @ acceleration_b, atol=1e-12 * scale)
    by_spatial = classical_from_spatial_acceleration(
        transform_twist(T_ab, jet.spatial_acceleration), transform_twist(T_ab, jet.twist)
    )
    assert_allclose(found, by_spatial, atol=1e-12 * scale)


@given(SEEDS)
def test_accelerations_compose_as_trajectories_do(seed: int) -> None:
    jet_01, jet_12 = known_motion(seed), known_motion(seed ^ 1)
    jet_02 = jet_01 @ jet_12
    T_10 = np.linalg.inv(jet_01.T)
    W_12 = jet_01.T @ jet_12.velocity_matrix @ T_10
    H_12 = jet_01.T @ jet_12.acceleration_matrix @ T_10
    twist_12, spatial_12 = twist_of(W_12), twist_of(H_12 - W_12 @ W_12)
    classical_12 = np.concatenate([spatial_12[:3], H_12[:3, 3]])
    scale = 1 + np.abs(jet_02.classical_acceleration).max() + np.abs(H_12).max()
    assert_allclose(jet_01.twist + twist_12, jet_02.twist, atol=1e-13 * scale)
    spatial = compose_spatial_accelerations(jet_01.spatial_acceleration, spatial_12, jet_01.twist, twist_12)
    assert_allclose(spatial, jet_02.spatial_acceleration, atol=1e-12 * scale)
    classical = compose_classical_accelerations(jet_01.classical_acceleration, classical_12, jet_01.twist, twist_12)
    assert_allclose(classical, jet_02.classical_acceleration, atol=1e-12 * scale)


def test_coriolis_acceleration_of_a_walk_on_a_carousel() -> None:
    turning, walking = [0.0, 0.0, 0.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 1.2, 0.0]
    assert_allclose(coriolis_acceleration(turning, walking), [0.0, 0.0, 0.0, -2 * 0.5 * 1.2, 0.0, 0.0])


@given(SEEDS)
def test_a_force_has_the_power_that_it_has_on_its_point(seed: int) -> None:
    twist, other = np.random.default_rng(seed).normal(size=(2, 6))
    f, point = other[:3], other[3:]
    assert_allclose(power(twist, wrench_from_force(f, point)), f @ point_velocity(twist, point), atol=1e-13)


@given(SEEDS)
def test_wrench_carried_along_keeps_its_power_on_a_twist_carried_along(seed: int) -> None:
    carrier, twist, wrench = np.random.default_rng(seed).normal(size=(3, 6))
    omega, v = carrier[:3], carrier[3:]
    twist_rate = np.concatenate([np.cross(omega, twist[:3]), np.cross(omega, twist[3:]) + np.cross(v, twist[:3])])
    assert_allclose(twist_rate @ wrench + twist @ wrench_cross(carrier, wrench), 0.0, atol=1e-13)


def test_nan_stays_in_its_sample() -> None:
    rng = np.random.default_rng(0)
    T_ab, vectors = random_pose(rng, (5,)), rng.normal(size=(4, 5, 6))
    spoiled = vectors.copy()
    spoiled[:, 2] = np.nan
    for law in (transform_twist, transform_wrench):
        expected, found = law(T_ab, vectors[0]), law(T_ab, spoiled[0])
        assert np.isnan(found[2]).all()
        assert np.array_equal(np.delete(found, 2, 0), np.delete(expected, 2, 0))
    expected, found = compose_spatial_accelerations(*vectors), compose_spatial_accelerations(*spoiled)
    assert np.isnan(found[2]).all()
    assert np.array_equal(np.delete(found, 2, 0), np.delete(expected, 2, 0))


@pytest.mark.parametrize("law", [transform_twist, transform_wrench])
def test_a_matrix_that_is_no_pose_is_refused_when_checked(law) -> None:
    with pytest.raises(ArgumentError, match=r"T_ab is not a pose: it is 1\.73 away"):
        law(np.diag([2.0, 2.0, 2.0, 1.0]), np.zeros(6), check=True)
    assert law(np.eye(4), np.ones(6), check=True).tolist() == [1.0] * 6


def test_symbols_give_the_formula() -> None:
    q, x, y = sympy.symbols("q x y", real=True)
    T = np.array([[sympy.cos(q), -sympy.sin(q), 0, x], [sympy.sin(q), sympy.cos(q), 0, y], [0, 0, 1, 0], [0, 0, 0, 1]])
    twist, wrench = (np.array(sympy.symbols(f"{name}:6", real=True)) for name in "vf")
    moved = power(transform_twist(T, twist), transform_wrench(T, wrench))
    assert sympy.simplify(moved - twist @ wrench) == 0
    assert transform_twist(T, [0, 0, 1, 0, 0, 0]).tolist() == [0, 0, 1, y, -x, 0]
