from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import known_motion, random_body, random_pose

from chasles.base.errors import ArgumentError
from chasles.geometry import (
    compose_classical_accelerations,
    transform_classical_acceleration,
    transform_pseudo_inertia,
    transform_twist,
    transform_wrench,
    twist_from_velocity_matrix,
    velocity_matrix,
)
from chasles.interop.matrix_mechanics import (
    acceleration_matrix,
    acceleration_matrix_from_rate,
    action_matrix,
    classical_acceleration_from_acceleration_matrix,
    compose_acceleration_matrices,
    displacement_matrix,
    momentum_from_momentum_matrix,
    momentum_matrix,
    transform_action_matrix,
    transform_motion_matrix,
    velocity_matrix_rate,
    wrench_from_action_matrix,
)

SEEDS = st.integers(0, 2**32 - 1)
LEADS = ((), (1,), (3, 1, 2))

H_TURNING = np.array([[-2.25, -0.9, 0.0, 0.0], [0.9, -2.25, 0.0, 0.0], [0.0] * 4, [0.0] * 4])


@given(SEEDS)
def test_velocity_and_acceleration_matrix_of_a_differentiated_trajectory(seed: int) -> None:
    jet = known_motion(seed)
    W, H = velocity_matrix(jet.twist), acceleration_matrix(jet.classical_acceleration, jet.twist[:3])
    scale = 1 + np.abs(jet.second).max()
    assert_allclose(W @ jet.T, jet.first, atol=1e-13 * scale)
    assert_allclose(H @ jet.T, jet.second, atol=1e-12 * scale)
    assert_allclose(twist_from_velocity_matrix(jet.velocity_matrix), jet.twist, atol=1e-13 * scale)
    found = classical_acceleration_from_acceleration_matrix(jet.acceleration_matrix)
    assert_allclose(found, jet.classical_acceleration, atol=1e-12 * scale)


@given(SEEDS)
def test_the_rate_of_the_velocity_matrix_holds_the_spatial_acceleration(seed: int) -> None:
    jet, step = known_motion(seed), 1e-3
    difference = (known_motion(seed, step).velocity_matrix - known_motion(seed, -step).velocity_matrix) / (2 * step)
    W_rate = velocity_matrix(jet.spatial_acceleration)
    W, H = velocity_matrix(jet.twist), acceleration_matrix(jet.classical_acceleration, jet.twist[:3])
    scale = 1 + np.abs(H).max()
    assert_allclose(W_rate, difference, atol=1e-4 * scale**2)
    assert_allclose(acceleration_matrix_from_rate(W_rate, W), H, atol=1e-12 * scale)
    assert_allclose(velocity_matrix_rate(H, W), W_rate, atol=1e-12 * scale)


@given(SEEDS, st.sampled_from(LEADS))
def test_vectors_and_matrices_change_frame_by_laws_that_agree(seed: int, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    T_ab = random_pose(rng, lead)
    vector, other = rng.normal(size=(2, *lead, 6))
    omega = other[..., :3]
    moved = transform_motion_matrix(T_ab, velocity_matrix(vector))
    assert_allclose(moved, velocity_matrix(transform_twist(T_ab, vector)), atol=1e-13)
    moved = transform_motion_matrix(T_ab, acceleration_matrix(vector, omega))
    expected = acceleration_matrix(
        transform_classical_acceleration(T_ab, vector, omega), np.einsum("...ij,...j", T_ab[..., :3, :3], omega)
    )
    assert_allclose(moved, expected, atol=1e-12)
    for to_matrix, to_vector in (
        (action_matrix, wrench_from_action_matrix),
        (momentum_matrix, momentum_from_momentum_matrix),
    ):
        matrix = to_matrix(vector)
        assert matrix.shape == (*lead, 4, 4)
        assert np.array_equal(matrix, -np.swapaxes(matrix, -1, -2))
        assert np.array_equal(to_vector(matrix), vector)
        assert_allclose(to_vector(transform_action_matrix(T_ab, matrix)), transform_wrench(T_ab, vector), atol=1e-13)
    J = random_body(rng).pseudo_inertia
    assert_allclose(transform_action_matrix(T_ab, J), transform_pseudo_inertia(T_ab, J), atol=1e-12 * np.abs(J).max())


@given(SEEDS)
def test_acceleration_matrices_compose_as_trajectories_do(seed: int) -> None:
    jet_01, jet_12 = known_motion(seed), known_motion(seed ^ 1)
    jet_02 = jet_01 @ jet_12
    W_12, H_12 = (transform_motion_matrix(jet_01.T, A) for A in (jet_12.velocity_matrix, jet_12.acceleration_matrix))
    W_01, H_01 = jet_01.velocity_matrix, jet_01.acceleration_matrix
    scale = 1 + np.abs(jet_02.acceleration_matrix).max() + np.abs(H_12).max()
    assert_allclose(W_01 + W_12, jet_02.velocity_matrix, atol=1e-12 * scale)
    found = compose_acceleration_matrices(H_01, H_12, W_01, W_12)
    assert_allclose(found, jet_02.acceleration_matrix, atol=1e-12 * scale)
    vectors = [classical_acceleration_from_acceleration_matrix(H) for H in (H_01, H_12)]
    twists = [twist_from_velocity_matrix(W) for W in (W_01, W_12)]
    assert_allclose(
        classical_acceleration_from_acceleration_matrix(found),
        compose_classical_accelerations(*vectors, *twists),
        atol=1e-12 * scale,
    )


@given(SEEDS)
def test_a_displacement_moves_points_and_frames(seed: int) -> None:
    rng = np.random.default_rng(seed)
    T_1, T_2, T_ab = random_pose(rng, (3,))
    Q = displacement_matrix(T_1, T_2)
    assert_allclose(Q @ T_1, T_2, atol=1e-14)
    # Seen from another frame the same displacement moves the same points.
    point_b = np.append(rng.normal(size=3), 1.0)
    assert_allclose(transform_motion_matrix(T_ab, Q) @ T_ab @ point_b, T_ab @ Q @ point_b, atol=1e-13)


def test_shift_of_axes_in_the_manual_of_spacelib() -> None:
    """Example 3.14, with 0.990 where its text has 0.900."""
    T_ab = np.eye(4)
    T_ab[:2, 3] = [0.4, 0.1]
    expected_H = [[-2.25, -0.9, 0, 0.99], [0.9, -2.25, 0, -0.135], [0] * 4, [0] * 4]
    assert_allclose(transform_motion_matrix(T_ab, H_TURNING), expected_H, atol=1e-15)
    expected_W = [[0, -1.5, 0, 0.15], [1.5, 0, 0, -0.6], [0] * 4, [0] * 4]
    assert_allclose(transform_motion_matrix(T_ab, velocity_matrix([0, 0, 1.5, 0, 0, 0])), expected_W, atol=1e-15)
    assert np.array_equal(acceleration_matrix([0, 0, 0.9, 0, 0, 0], [0, 0, 1.5]), H_TURNING)


def test_momentum_in_the_manual_of_spacelib() -> None:
    """Example 3.15, with the linear momentum turned, too, which its text forgets."""
    T_01 = np.array([[0, 1, 0, 1.2], [-1, 0, 0, -0.5], [0, 0, 1, 4], [0, 0, 0, 1]])
    Gamma_1 = momentum_matrix([38.5, -2.5, -19.0, 9.0, 0.5, 13.5])
    expected = [[0, 29.55, -52.7, 0.5], [-29.55, 0, -26.75, -9], [52.7, 26.75, 0, 13.5], [-0.5, 9, -13.5, 0]]
    assert_allclose(transform_action_matrix(T_01, Gamma_1), expected, atol=1e-12)


def test_layout_of_an_action_in_the_manual_of_spacelib() -> None:
    """Section 3.3, with 1 to 6 for the letters a to f: force first there."""
    expected = [[0, -6, 5, 1], [6, 0, -4, 2], [-5, 4, 0, 3], [-1, -2, -3, 0]]
    assert action_matrix([4, 5, 6, 1, 2, 3]).tolist() == expected


def test_parts_that_a_matrix_should_not_have_are_ignored() -> None:
    rng = np.random.default_rng(3)
    symmetric = rng.normal(size=(4, 4))
    symmetric += symmetric.T
    wrench = np.arange(1.0, 7.0)
    assert_allclose(wrench_from_action_matrix(action_matrix(wrench) + symmetric), wrench, atol=1e-14)
    symmetric[:, 3] = symmetric[3] = 0.0
    assert_allclose(twist_from_velocity_matrix(velocity_matrix(wrench) + symmetric), wrench, atol=1e-14)


def test_nan_stays_in_its_sample() -> None:
    rng = np.random.default_rng(4)
    T_ab, vectors = random_pose(rng, (3,)), rng.normal(size=(3, 6))
    for to_matrix, law in ((velocity_matrix, transform_motion_matrix), (action_matrix, transform_action_matrix)):
        expected = law(T_ab, to_matrix(vectors))
        spoiled = vectors.copy()
        spoiled[1, 4] = np.nan
        found = law(T_ab, to_matrix(spoiled))
        assert np.isnan(found[1, :3, 3]).all()
        assert np.array_equal(found[[0, 2]], expected[[0, 2]])


def test_a_matrix_that_is_no_pose_is_refused_when_checked() -> None:
    with pytest.raises(ArgumentError, match=r"transform_motion_matrix: T_ab is not a pose: sample \(1,\) of it"):
        transform_motion_matrix([np.eye(4), 2.0 * np.eye(4)], np.eye(4), check=True)


def test_symbols_give_the_formula() -> None:
    t = sympy.symbols("t", real=True)
    q = sympy.Function("q")(t)
    T = np.array([[sympy.cos(q), -sympy.sin(q), 0, t], [sympy.sin(q), sympy.cos(q), 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    omega, alpha = q.diff(t), q.diff(t, 2)
    # A frame that turns and travels along x at 1 m/s; its origin is at (t, 0, 0).
    W = velocity_matrix(transform_twist(np.eye(4) + t * np.eye(4, k=3), [0, 0, omega, 1, 0, 0]))
    H = acceleration_matrix([0, 0, alpha, t * omega**2, -t * alpha, 0], [0, 0, omega])
    assert sympy.simplify(sympy.Matrix(W @ T) - sympy.Matrix(T).diff(t)).is_zero_matrix
    assert sympy.simplify(sympy.Matrix(H @ T) - sympy.Matrix(T).diff(t, 2)).is_zero_matrix
    assert sympy.simplify(sympy.Matrix(velocity_matrix_rate(H, W)) - sympy.Matrix(W).diff(t)).is_zero_matrix
