"""What must hold between the algorithms, on random trees of all kinds of joints, with and without mimic joints."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from chasles import algorithms as alg
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine.linear.symmetric import factor, inverse, solve
from chasles.geometry.elementary import REFERENCE_FRAMES
from chasles.model.tree import Tree

SEEDS = range(6)
WRENCH = np.array([1.0, -2.0, 0.5, 3.0, 4.0, -1.0])


@pytest.fixture(params=[(seed, mimic) for seed in SEEDS for mimic in (False, True)], ids=str)
def tree(request: pytest.FixtureRequest, trees: SimpleNamespace) -> Tree:
    seed, mimic = request.param
    made: Tree = trees.random(seed)
    return trees.with_mimic(made) if mimic else made


@pytest.fixture
def state(tree: Tree) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(3, tree.n))


def test_forward_undoes_inverse_dynamics(tree: Tree, state: np.ndarray) -> None:
    q, qd, qdd = state
    wrenches = {"tip2": WRENCH, "tip5": -WRENCH}
    tau = alg.inverse_dynamics(tree, q, qd, qdd, wrenches)
    assert alg.forward_dynamics(tree, q, qd, tau, wrenches) == pytest.approx(qdd, rel=1e-9, abs=1e-10)
    assert alg.accelerations_by_mass_matrix(tree, q, qd, tau, wrenches) == pytest.approx(qdd, rel=1e-9, abs=1e-10)


def test_articulated_bodies_agree_with_the_mass_matrix(trees: SimpleNamespace) -> None:
    for seed, kinds in ((1, ("revolute",)), (2, ("prismatic",)), (3, ("helical",)), (4, ("revolute", "prismatic"))):
        for armature in (0.0, 0.2):
            tree = trees.random(seed, 7, kinds)
            tree = replace(tree, bodies=tuple(replace(b, armature=armature) for b in tree.bodies))
            q, qd, tau = np.random.default_rng(seed).normal(size=(3, 7))
            by_mass_matrix = alg.accelerations_by_mass_matrix(tree, q, qd, tau, {"tip3": WRENCH})
            by_bodies = alg.articulated_body_accelerations(tree, q, qd, tau, {"tip3": WRENCH})
            assert trees.relative_error(by_bodies, by_mass_matrix) < 1e-9


def test_forward_dynamics_of_a_deep_chain_goes_by_articulated_bodies(trees: SimpleNamespace) -> None:
    chain = trees.random(5, 14, serial=True)
    q, qd, tau = np.random.default_rng(5).normal(size=(3, 14))
    qdd = alg.forward_dynamics(chain, q, qd, tau)
    assert np.array_equal(qdd, alg.articulated_body_accelerations(chain, q, qd, tau))
    assert trees.relative_error(qdd, alg.accelerations_by_mass_matrix(chain, q, qd, tau)) < 1e-8


def test_articulated_bodies_refuse_mimic_joints(trees: SimpleNamespace) -> None:
    tree = trees.with_mimic(trees.random(0))
    with pytest.raises(ArgumentError, match="mimic"):
        alg.articulated_body_accelerations(tree, np.zeros(4), np.zeros(4), np.zeros(4))


def test_mimic_joints_are_the_free_tree_under_their_constraint(trees: SimpleNamespace) -> None:
    """q_free = G q + offset, so tau = G^T tau_free (virtual work)."""
    free = trees.random(8)
    tree = trees.with_mimic(free)
    G, offset = np.zeros((6, 4)), np.array([0, 0, 0, 0, 0.4, -0.2])
    G[:4, :4] = np.eye(4)
    G[4, 0], G[5, 0] = -0.7, 1.3
    q, qd, qdd = np.random.default_rng(8).normal(size=(3, 4))
    free_state = (G @ q + offset, G @ qd, G @ qdd)
    wrenches = {"tip5": WRENCH}
    tau_free = alg.inverse_dynamics(free, *free_state, wrenches)
    assert alg.inverse_dynamics(tree, q, qd, qdd, wrenches) == pytest.approx(G.T @ tau_free, rel=1e-11)
    J_free = alg.jacobian(free, free_state[0], "tip5", "body")
    assert alg.jacobian(tree, q, "tip5", "body") == pytest.approx(J_free @ G, abs=1e-12)
    assert alg.forward_kinematics(tree, q, "tip5") == pytest.approx(alg.forward_kinematics(free, free_state[0], "tip5"))


def test_mass_matrix_is_what_inverse_dynamics_multiplies_by(tree: Tree, state: np.ndarray) -> None:
    q, qd, _ = state
    M = alg.mass_matrix(tree, q)
    columns = [alg.inverse_dynamics(tree, q, qd, unit) - alg.bias(tree, q, qd) for unit in np.eye(tree.n)]
    assert pytest.approx(np.array(columns).T, rel=1e-10, abs=1e-11) == M
    assert np.array_equal(M, M.T)
    assert np.all(np.linalg.eigvalsh(M) > 0)


def test_equation_of_motion_is_the_sum_of_its_parts(tree: Tree, state: np.ndarray) -> None:
    q, qd, qdd = state
    J = alg.jacobian(tree, q, "tip4", "body")
    parts = (
        alg.mass_matrix(tree, q) @ qdd
        + alg.coriolis_matrix(tree, q, qd) @ qd
        + alg.gravity_torque(tree, q)
        + alg.friction_torque(tree, q, qd)
        - J.T @ WRENCH
    )
    assert alg.inverse_dynamics(tree, q, qd, qdd, {"tip4": WRENCH}) == pytest.approx(parts, rel=1e-10, abs=1e-11)
    assert alg.coriolis_vector(tree, q, qd) == pytest.approx(
        alg.coriolis_matrix(tree, q, qd) @ qd, rel=1e-10, abs=1e-11
    )


def test_mass_matrix_rate_less_twice_coriolis_is_skew(tree: Tree, state: np.ndarray, trees: SimpleNamespace) -> None:
    q, qd, _ = state
    M_rate = trees.central_difference(lambda t: alg.mass_matrix(tree, q + t[0] * qd), np.zeros(1))[..., 0]
    C = alg.coriolis_matrix(tree, q, qd)
    assert pytest.approx(C + C.T, rel=1e-8, abs=1e-8) == M_rate


def test_coriolis_matrix_has_the_christoffel_symbols(trees: SimpleNamespace) -> None:
    """C_ij = sum over k of (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) qd_k / 2."""
    tree = trees.random(11)
    q, qd = np.random.default_rng(11).normal(size=(2, tree.n))
    dM = trees.central_difference(lambda x: alg.mass_matrix(tree, x), q)
    C = 0.5 * (dM @ qd + np.einsum("ikj,k->ij", dM, qd) - np.einsum("jki,k->ij", dM, qd))
    assert alg.coriolis_matrix(tree, q, qd) == pytest.approx(C, rel=1e-8, abs=1e-8)


def test_gravity_torque_is_the_gradient_of_the_potential(tree: Tree, state: np.ndarray, trees: SimpleNamespace) -> None:
    gradient = trees.central_difference(lambda x: alg.potential_energy(tree, x), state[0])
    assert alg.gravity_torque(tree, state[0]) == pytest.approx(gradient, rel=1e-8, abs=1e-8)


def test_kinetic_energy_is_half_the_mass_matrix_form(tree: Tree, state: np.ndarray) -> None:
    q, qd, _ = state
    assert alg.kinetic_energy(tree, q, qd) == pytest.approx(qd @ alg.mass_matrix(tree, q) @ qd / 2, rel=1e-12)


def test_potential_energy_is_that_of_the_centre_of_mass(tree: Tree, state: np.ndarray) -> None:
    mass = sum(body.mass for body in tree.bodies)
    expected = -mass * tree.gravity @ alg.center_of_mass(tree, state[0])
    assert alg.potential_energy(tree, state[0]) == pytest.approx(expected, rel=1e-12)


def test_power_balance(tree: Tree, state: np.ndarray, trees: SimpleNamespace) -> None:
    """The rate of energy is the power of torques and wrenches less that of friction."""
    q, qd, qdd = state
    tau = alg.inverse_dynamics(tree, q, qd, qdd, {"tip4": WRENCH})

    def energy(t: np.ndarray) -> float:
        q_t, qd_t = q + t[0] * qd + t[0] ** 2 / 2 * qdd, qd + t[0] * qdd
        return float(alg.kinetic_energy(tree, q_t, qd_t) + alg.potential_energy(tree, q_t))

    rate = trees.central_difference(energy, np.zeros(1))[0]
    twist = alg.jacobian(tree, q, "tip4", "body") @ qd
    power = (tau - alg.friction_torque(tree, q, qd)) @ qd + WRENCH @ twist
    assert rate == pytest.approx(power, rel=1e-8, abs=1e-8)


def test_energy_is_conserved_over_a_swing(trees: SimpleNamespace) -> None:
    tree = trees.without_losses(trees.random(3, 4))

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[4:], alg.forward_dynamics(tree, x[:4], x[4:], np.zeros(4))])

    x0 = np.random.default_rng(3).normal(size=8) * 0.5
    x1 = solve_ivp(rate, (0.0, 0.5), x0, method="DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    energy = [alg.kinetic_energy(tree, x[:4], x[4:]) + alg.potential_energy(tree, x[:4]) for x in (x0, x1)]
    assert np.max(np.abs(x1 - x0)) > 0.1
    assert energy[1] == pytest.approx(energy[0], rel=1e-8)


def test_derivatives_of_inverse_dynamics(tree: Tree, state: np.ndarray, trees: SimpleNamespace) -> None:
    q, qd, qdd = state
    wrenches = {"tip2": WRENCH, "tip5": -2 * WRENCH}
    by_q, by_qd, by_qdd = alg.inverse_dynamics_derivatives(tree, q, qd, qdd, wrenches)
    difference = trees.central_difference
    numeric = [
        difference(lambda x: alg.inverse_dynamics(tree, x, qd, qdd, wrenches), q),
        difference(lambda x: alg.inverse_dynamics(tree, q, x, qdd, wrenches), qd, 2e-3),
        difference(lambda x: alg.inverse_dynamics(tree, q, qd, x, wrenches), qdd),
    ]
    for exact, approximate in zip((by_q, by_qd, by_qdd), numeric, strict=True):
        assert trees.relative_error(exact, approximate) < 1e-8
    assert by_qdd == pytest.approx(alg.mass_matrix(tree, q), rel=1e-12, abs=1e-12)


def test_linearized_state_space(tree: Tree, state: np.ndarray, trees: SimpleNamespace) -> None:
    q, qd, tau = state
    n, wrenches = tree.n, {"tip3": WRENCH}

    def rate(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], alg.forward_dynamics(tree, x[:n], x[n:], u, wrenches)])

    A, B = alg.linearize(tree, q, qd, tau, wrenches)
    x = np.concatenate([q, qd])
    assert trees.relative_error(A, trees.central_difference(lambda y: rate(y, tau), x, 4e-4)) < 1e-6
    assert trees.relative_error(B, trees.central_difference(lambda u: rate(x, u), tau)) < 1e-8


def test_jacobian_is_the_derivative_of_the_pose(tree: Tree, state: np.ndarray, trees: SimpleNamespace) -> None:
    q = state[0]
    T = alg.forward_kinematics(tree, q, "tip5")
    dT = trees.central_difference(lambda x: alg.forward_kinematics(tree, x, "tip5"), q)
    for k in range(tree.n):
        spatial, body = dT[..., k] @ np.linalg.inv(T), np.linalg.inv(T) @ dT[..., k]
        space, own, aligned = (alg.jacobian(tree, q, "tip5", frame)[:, k] for frame in REFERENCE_FRAMES)
        for twist, column in ((spatial, space), (body, own)):
            screw = [twist[2, 1], twist[0, 2], twist[1, 0], *twist[:3, 3]]
            assert column == pytest.approx(screw, rel=1e-9, abs=1e-9)
        assert aligned[:3] == pytest.approx(space[:3], abs=1e-12)
        assert aligned[3:] == pytest.approx(dT[:3, 3, k], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("frame", REFERENCE_FRAMES)
def test_jacobian_derivative(tree: Tree, state: np.ndarray, trees: SimpleNamespace, frame: str) -> None:
    q, qd, _ = state
    numeric = trees.central_difference(lambda t: alg.jacobian(tree, q + t[0] * qd, "tip5", frame), np.zeros(1))
    exact = alg.jacobian_derivative(tree, q, qd, "tip5", frame)
    assert exact == pytest.approx(numeric[..., 0], rel=1e-8, abs=1e-8)
    T, J = alg.pose_and_jacobian(tree, q, "tip5", frame)
    assert pytest.approx(alg.forward_kinematics(tree, q, "tip5"), abs=1e-12) == T
    assert np.array_equal(J, alg.jacobian(tree, q, "tip5", frame))


def test_frames_on_the_base(trees: SimpleNamespace) -> None:
    tree = trees.random(0)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, tree.n))
    place = tree.frames["base"]
    for frame in REFERENCE_FRAMES:
        assert not alg.jacobian(tree, q, "base", frame).any()
        assert not alg.jacobian_derivative(tree, q, qd, "base", frame).any()
        assert alg.pose_and_jacobian(tree, q, "base", frame)[0][:3, :3] == pytest.approx(place.R_body_frame)
    pushed = alg.inverse_dynamics(tree, q, qd, qdd, {"base": WRENCH})
    assert np.array_equal(pushed, alg.inverse_dynamics(tree, q, qd, qdd))
    everything = alg.all_frames(tree, q)
    assert everything.shape == (7, 4, 4)
    for name, T in zip(tree.frames, everything, strict=True):
        assert np.array_equal(T, alg.forward_kinematics(tree, q, name))


def test_unknown_names(trees: SimpleNamespace) -> None:
    tree, q = trees.random(0), np.zeros(6)
    with pytest.raises(UnknownNameError, match=r"no frame 'tip9'.*tip0"):
        alg.forward_kinematics(tree, q, "tip9")
    with pytest.raises(UnknownNameError, match=r"no reference frame 'world'.*space, body, world-aligned"):
        alg.jacobian(tree, q, "tip0", "world")
    with pytest.raises(UnknownNameError, match="no frame 'tool'"):
        alg.inverse_dynamics(tree, q, q, q, {"tool": WRENCH})


def test_inverse_mass_matrix(tree: Tree, state: np.ndarray) -> None:
    W = alg.inverse_mass_matrix(tree, state[0])
    assert W @ alg.mass_matrix(tree, state[0]) == pytest.approx(np.eye(tree.n), abs=1e-9)
    assert np.array_equal(W, W.T)


def test_factor_and_solve_against_numpy() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 8))
    M = X @ X.T + np.eye(8)
    factored = factor(M)
    L = np.eye(8)
    for k, row in enumerate(factored.lower):
        L[k, :k] = row[:k]
    assert L.T @ np.diag(1 / np.array(factored.reciprocal)) @ L == pytest.approx(M, rel=1e-12)
    b, B = rng.normal(size=8), rng.normal(size=(8, 3))
    assert solve(factored, b) == pytest.approx(np.linalg.solve(M, b), rel=1e-11)
    assert solve(factored, B) == pytest.approx(np.linalg.solve(M, B), rel=1e-11)
    assert inverse(factored) == pytest.approx(np.linalg.inv(M), rel=1e-10)
