"""Torques, regressors and momenta of a reference motion: against the matrices of the equation of motion."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import chasles as ch
from chasles import algorithms as alg
from chasles.engine import trace
from chasles.model import build_tree, inertial_parameters
from chasles.model.tree import Tree

KINDS = ["any", "mimic", "sharp friction", "free base"]


def tree_of(trees: SimpleNamespace, seed: int, kind: str) -> Tree:
    if kind == "free base":
        return build_tree(ch.load("puma560").inertial.perturbed(0.3, seed=seed).with_free_base().description)
    tree = trees.random(seed, 6)
    if kind == "mimic":
        tree = trees.with_mimic(tree)
    if kind == "sharp friction":
        tree = replace(tree, bodies=tuple(replace(body, coulomb_velocity=0.0) for body in tree.bodies))
    return trees.with_link_frames(tree, seed)


def configuration(tree: Tree, rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=tree.nq)
    if tree.nq > tree.n:
        q[:4] /= np.linalg.norm(q[:4])
    return q


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_torques_are_those_of_the_matrices(seed: int, kind: str, trees: SimpleNamespace) -> None:
    tree = tree_of(trees, seed, kind)
    rng = np.random.default_rng(seed)
    q, (qd, qd_r, qdd_r) = configuration(tree, rng), rng.normal(size=(3, tree.n))
    M, C = alg.mass_matrix(tree, q), alg.coriolis_matrix(tree, q, qd)
    rest = alg.gravity_torque(tree, q) + alg.friction_torque(tree, q, qd)
    expected = M @ qdd_r + C @ qd_r + rest
    assert trees.relative_error(alg.passivity_torque(tree, q, qd, qd_r, qdd_r), expected) < 1e-13
    Y = alg.passivity_regressor(tree, q, qd, qd_r, qdd_r)
    assert trees.relative_error(Y @ inertial_parameters(tree), expected) < 1e-13
    momentum, drift = alg.momentum_and_drift(tree, q, qd)
    assert trees.relative_error(momentum, M @ qd) < 1e-13
    assert trees.relative_error(drift, C.T @ qd - rest) < 1e-13
    D = alg.momentum_drift_regressor(tree, q, qd)
    assert trees.relative_error(D @ inertial_parameters(tree), C.T @ qd - rest) < 1e-13


@pytest.mark.parametrize("kind", KINDS[:3])
def test_the_reference_motion_may_be_the_real_one(kind: str, trees: SimpleNamespace) -> None:
    tree = tree_of(trees, 7, kind)
    q, qd, qdd = np.random.default_rng(7).normal(size=(3, tree.n))
    torque = alg.passivity_torque(tree, q, qd, qd, qdd)
    assert trees.relative_error(torque, alg.inverse_dynamics(tree, q, qd, qdd)) < 1e-13
    Y = alg.passivity_regressor(tree, q, qd, qd, qdd)
    assert trees.relative_error(Y, alg.torque_regressor(tree, q, qd, qdd)) < 1e-13


@pytest.mark.parametrize("kind", KINDS[:3])
def test_momenta_change_by_torque_and_drift(kind: str, trees: SimpleNamespace) -> None:
    """Along any motion: d/dt M qd = tau + drift, and column by column for the regressors."""
    tree = tree_of(trees, 3, kind)
    q, qd, qdd = np.random.default_rng(3).normal(size=(3, tree.n))

    def along(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return q + t[0] * qd + 0.5 * t[0] ** 2 * qdd, qd + t[0] * qdd

    rate = trees.central_difference(lambda t: alg.momentum_and_drift(tree, *along(t)).momentum, np.zeros(1))[..., 0]
    drift = alg.momentum_and_drift(tree, q, qd).drift
    assert trees.relative_error(rate - drift, alg.inverse_dynamics(tree, q, qd, qdd)) < 1e-9
    rates = trees.central_difference(lambda t: alg.momentum_regressor(tree, *along(t)), np.zeros(1))[..., 0]
    D = alg.momentum_drift_regressor(tree, q, qd)
    assert trees.relative_error(rates - D, alg.torque_regressor(tree, q, qd, qdd)) < 1e-9


@pytest.mark.parametrize("kind", KINDS[:3])
def test_coriolis_part_is_the_one_that_preserves_energy(kind: str, trees: SimpleNamespace) -> None:
    """x^T (dM/dt - 2 C) x = 0 for every x, not only for the motion's own rates."""
    tree = tree_of(trees, 5, kind)
    q, qd, x = np.random.default_rng(5).normal(size=(3, tree.n))
    nothing = np.zeros(tree.n)
    still = alg.passivity_torque(tree, q, qd, nothing, nothing)
    C_x = alg.passivity_torque(tree, q, qd, x, nothing) - still
    rate = trees.central_difference(lambda t: x @ alg.mass_matrix(tree, q + t[0] * qd) @ x, np.zeros(1))[0]
    assert abs(rate - 2.0 * x @ C_x) < 1e-9 * abs(rate)


def test_traced_is_eager(trees: SimpleNamespace) -> None:
    tree = tree_of(trees, 5, "mimic")
    states = np.random.default_rng(1).normal(size=(4, tree.n))
    shapes = dict.fromkeys(("q", "qd", "qd_reference", "qdd_reference"), (tree.n,))
    for algorithm in (alg.passivity_torque, alg.passivity_regressor):
        program = trace(lambda *motion, f=algorithm: f(tree, *motion), shapes, name="law")
        expected = algorithm(tree, *states)
        values = np.array(program.replay(list(states.ravel()))).reshape(expected.shape)
        assert trees.relative_error(values, expected) < 1e-14


def test_one_recursion_costs_little_more_than_inverse_dynamics() -> None:
    """Polarisation, C(q, qd) qd_r from c at three velocities, would cost twice as much again."""
    arm = ch.load("panda")
    recursion, own = (
        arm.inverse_dynamics.program.operation_count,
        arm.regressors.passivity_torque.program.operation_count,
    )
    assert own < 1.15 * recursion
    assert arm.regressors.passivity.program.operation_count < 1.15 * arm.regressors.torque.program.operation_count
