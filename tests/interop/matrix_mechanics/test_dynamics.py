from __future__ import annotations

import numpy as np
import pinocchio
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from tests.geometry.known_motions import known_motion, random_body, random_pose

from chasles.geometry import velocity_matrix
from chasles.interop.matrix_mechanics import (
    acceleration_matrix,
    action_matrix,
    action_matrix_from_acceleration,
    gravity_matrix,
    joint_screw_matrix,
    momentum_from_momentum_matrix,
    momentum_matrix_from_velocity,
    pseudo_scalar_product,
    skew_operator,
    trace_form,
    transform_action_matrix,
    transform_motion_matrix,
    wrench_from_action_matrix,
)

SEEDS = st.integers(0, 2**32 - 1)
LEADS = ((), (1,), (3, 1, 2))


@given(SEEDS)
def test_action_momentum_and_energy_are_those_of_the_points(seed: int) -> None:
    body, jet = random_body(np.random.default_rng(seed)), known_motion(seed)
    at_rest, body = body, body.moved(jet.T)
    J, W = body.pseudo_inertia, velocity_matrix(jet.twist)
    H = acceleration_matrix(jet.classical_acceleration, jet.twist[:3])
    homogeneous = np.column_stack([at_rest.points, np.ones(len(at_rest.points))])
    forces = at_rest.masses[:, None] * (homogeneous @ jet.second.T)[:, :3]
    wrench = np.concatenate([np.cross(body.points, forces).sum(axis=0), forces.sum(axis=0)])
    scale = (1 + np.abs(H).max()) * (1 + np.abs(J).max())
    assert_allclose(wrench_from_action_matrix(action_matrix_from_acceleration(H, J)), wrench, atol=1e-12 * scale)
    momentum = momentum_from_momentum_matrix(momentum_matrix_from_velocity(W, J))
    assert_allclose(momentum, body.momentum(jet.twist), atol=1e-13 * scale)
    assert_allclose(0.5 * trace_form(W, J, W), body.kinetic_energy(jet.twist), atol=1e-13 * scale)


@given(SEEDS)
def test_action_agrees_with_pinocchio(seed: int) -> None:
    body, jet = random_body(np.random.default_rng(seed)), known_motion(seed)
    peer = pinocchio.Inertia(*body.properties)
    v = pinocchio.Motion(jet.twist[3:], jet.twist[:3])
    a = pinocchio.Motion(jet.spatial_acceleration[3:], jet.spatial_acceleration[:3])
    expected = peer * a + peer.vxiv(v)
    H = acceleration_matrix(jet.classical_acceleration, jet.twist[:3])
    found = wrench_from_action_matrix(action_matrix_from_acceleration(H, body.pseudo_inertia))
    scale = (1 + np.abs(H).max()) * (1 + np.abs(body.pseudo_inertia).max())
    assert_allclose(found, np.concatenate([expected.angular, expected.linear]), atol=1e-12 * scale)


@given(SEEDS)
def test_weight_pulls_at_the_centre_of_mass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    body, gravity = random_body(rng), rng.normal(size=3)
    weight = action_matrix_from_acceleration(gravity_matrix(gravity), body.pseudo_inertia)
    expected = np.concatenate([np.cross(body.center, body.mass * gravity), body.mass * gravity])
    assert_allclose(wrench_from_action_matrix(weight), expected, atol=1e-13 * (1 + np.abs(expected).max()))


@given(SEEDS, st.sampled_from(LEADS))
def test_power_does_not_depend_on_the_frame(seed: int, lead: tuple[int, ...]) -> None:
    rng = np.random.default_rng(seed)
    T_ab = random_pose(rng, lead)
    twist, wrench = rng.normal(size=(2, *lead, 6))
    W, Phi = velocity_matrix(twist), action_matrix(wrench)
    expected = np.einsum("...i,...i", twist, wrench)
    assert_allclose(pseudo_scalar_product(W, Phi), expected, atol=1e-14)
    assert_allclose(pseudo_scalar_product(Phi, W), expected, atol=1e-14)
    moved = pseudo_scalar_product(transform_motion_matrix(T_ab, W), transform_action_matrix(T_ab, Phi))
    assert_allclose(moved, expected, atol=1e-12)


def test_mass_matrix_of_two_links_by_the_trace_form() -> None:
    """Two rods of 1 m and 1 kg in a plane, stretched: the closed form of the double pendulum."""
    joints = [joint_screw_matrix([0.0, 0.0, 1.0], [x, 0.0, 0.0], 0.0) for x in (0.0, 1.0)]
    rods = []
    for start in (0.0, 1.0):
        J = np.zeros((4, 4))
        J[0, 0] = ((start + 1) ** 3 - start**3) / 3
        J[0, 3] = J[3, 0] = start + 0.5
        J[3, 3] = 1.0
        rods.append(J)
    M = [[sum(trace_form(joints[i], rods[k], joints[j]) for k in range(max(i, j), 2)) for j in (0, 1)] for i in (0, 1)]
    assert_allclose(M, [[8 / 3, 5 / 6], [5 / 6, 1 / 3]], rtol=1e-14)


def test_skew_operator_has_no_half() -> None:
    X = np.random.default_rng(5).normal(size=(2, 4, 4))
    assert np.array_equal(skew_operator(X), X - np.swapaxes(X, 1, 2))


def test_nan_stays_in_its_sample() -> None:
    rng = np.random.default_rng(6)
    H, J = rng.normal(size=(3, 4, 4)), np.array([random_body(rng).pseudo_inertia for _ in range(3)])
    expected = action_matrix_from_acceleration(H, J), trace_form(H, J, H)
    H[2, 0, 0] = np.nan
    found = action_matrix_from_acceleration(H, J), trace_form(H, J, H)
    assert np.isnan(found[0][2, 0, 1:]).all()
    assert np.isnan(found[1][2])
    for before, after in zip(expected, found, strict=True):
        assert np.array_equal(before[:2], after[:2])
