"""Second derivatives of weighted torques: by hand, by the engine's differentiation, and by differences."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.algorithms.test_joints_with_several_freedoms import robot_of_all_kinds

import chasles as ch
from chasles import algorithms as alg
from chasles.engine import jacobian, trace
from chasles.model import Tree, build_tree

WRENCH = np.array([0.3, -1.0, 2.0, 5.0, -4.0, 1.0])


def by_the_engine(tree: Tree, frame: str) -> Any:
    """Function that differentiates the traced algorithm twice, along displacements of the configuration."""
    n = tree.n

    def power(v: Any, qd: Any, qdd: Any, y: Any, q: Any) -> Any:
        return y @ alg.inverse_dynamics(tree, alg.integrate(tree, q, v), qd, qdd, {frame: WRENCH})

    program = trace(power, {"v": (n,), "qd": (n,), "qdd": (n,), "y": (n,), "q": (tree.nq,)}, outputs=["power"])
    moving = ["v", "qd", "qdd"]
    second = jacobian(jacobian(program, wrt=moving, mode="reverse"), wrt=moving)

    def hessian(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        numbers = np.concatenate([np.zeros(n), qd, qdd, y, q]).tolist()
        q_q, q_qd, q_qdd, _, qd_qd, qd_qdd, *_, qdd_qdd = np.array(second.replay(numbers), float).reshape(9, n, n)
        assert not qdd_qdd.any()
        return [q_q, q_qd, q_qdd, qd_qd, qd_qdd]

    return hessian


def require_same(found: alg.TorqueHessian, expected: list[np.ndarray], tolerance: float) -> None:
    scale = max(np.abs(block).max() for block in expected)
    for block, other in zip(found, expected, strict=True):
        assert np.abs(block - other).max() < tolerance * scale


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tree_of_single_joints(seed: int, trees: SimpleNamespace) -> None:
    tree = trees.random(seed, 5)
    tree = trees.with_mimic(tree) if seed == 2 else tree
    q, qd, qdd, y = np.random.default_rng(seed).normal(size=(4, tree.n))
    found = alg.inverse_dynamics_hessian(tree, q, qd, qdd, y, {"tip4": WRENCH})
    require_same(found, by_the_engine(tree, "tip4")(q, qd, qdd, y), 1e-12)


@pytest.mark.slow
def test_joints_with_several_freedoms() -> None:
    robot = robot_of_all_kinds(3)
    tree, rng = build_tree(robot.description), np.random.default_rng(4)
    q = alg.integrate(tree, robot.home, 0.5 * rng.normal(size=tree.n))
    qd, qdd, y = rng.normal(size=(3, tree.n))
    found = alg.inverse_dynamics_hessian(tree, q, qd, qdd, y, {"link9": WRENCH})
    require_same(found, by_the_engine(tree, "link9")(q, qd, qdd, y), 1e-12)


def test_a_free_body_by_hand() -> None:
    """With the virtual twist (y, z): m z · (v̇ + ω x v - Rᵀ g) + y · (I ω̇ + ω x I ω) for a body about its centre."""
    moments, m, g = np.array([1.0, 2.0, 4.0]), 3.0, np.array([0.0, 0.0, -9.81])
    body = ch.model.Link("body", ch.model.Inertia(m, np.zeros(3), np.diag(moments)))
    free = ch.model.Joint("free", "free", "world", "body")
    tree = build_tree(ch.model.Description("body", (ch.model.Link("world"), body), (free,), gravity=g))
    y, z, rng = np.array([0.5, -1.0, 2.0]), np.array([1.0, 3.0, -2.0]), np.random.default_rng(0)
    q = np.array([1.0, 0.0, 0.0, 0.0, 0.3, 0.1, 0.2])
    rates = rng.normal(size=(2, 6))
    turns, moves = np.arange(3), np.arange(3, 6)
    weights = np.concatenate([y, z])
    found = alg.inverse_dynamics_hessian(tree, q, *rates, weights)
    # Rᵀ g seen from a body that turned by φ is g + g x φ + ½ ((g·φ) φ - |φ|² g), so that -m z · Rᵀ g has the Hessian
    by_q_q = -m * (0.5 * (np.outer(z, g) + np.outer(g, z)) - (z @ g) * np.eye(3))
    assert np.allclose(found.by_q_q[np.ix_(turns, turns)], by_q_q)
    swirl = np.cross(np.eye(3), y)  # rows e_i x y
    assert np.allclose(found.by_qd_qd[np.ix_(turns, turns)], -(swirl * moments + (swirl * moments).T))
    assert np.allclose(found.by_qd_qd[np.ix_(turns, moves)], m * np.cross(np.eye(3)[:, None], np.eye(3)[None]) @ z)
    assert not found.by_q_qdd.any()


def test_a_planar_arm_by_hand() -> None:
    """τ₁ has the coupling k cos q₂ (2 q̈₁ + q̈₂) - k sin q₂ (2 q̇₁ q̇₂ + q̇₂²), τ₂ has k cos q₂ q̈₁ + k sin q₂ q̇₁²."""
    tree, k = build_tree(ch.load("planar2r").description), 0.3125
    (q1, q2), (d1, d2), (a1, a2), y = q, qd, qdd, _ = np.array([[0.3, -1.1], [0.7, 2.0], [-0.4, 1.5], [2.0, -3.0]])
    (y1, y2), c, s = y, np.cos(q2), np.sin(q2)
    both = 9.80621 * 0.625 * np.cos(q1 + q2) * (y1 + y2)
    first = 9.80621 * 5.0 * np.cos(q1) * y1
    twice = k * (y1 * (-c * (2 * a1 + a2) + s * (2 * d1 * d2 + d2**2)) - y2 * (c * a1 + s * d1**2))
    expected = [
        -np.array([[first + both, both], [both, both - twice]]),
        np.array([[0.0, 0.0], [k * c * (-2 * y1 * d2 + 2 * y2 * d1), -2 * k * c * y1 * (d1 + d2)]]),
        np.array([[0.0, 0.0], [-k * s * (2 * y1 + y2), -k * s * y1]]),
        k * s * np.array([[2 * y2, -2 * y1], [-2 * y1, -2 * y1]]),
        np.zeros((2, 2)),
    ]
    require_same(alg.inverse_dynamics_hessian(tree, q, qd, qdd, y), expected, 1e-12)


COUPLED = [[1.0, 0.2], [-0.5, 1.0]]


@pytest.mark.parametrize("coupled", [False, True])
def test_friction_of_motors_and_of_their_load(coupled: bool, trees: SimpleNamespace) -> None:
    """Beside differences of the first derivatives."""
    arm = ch.load("planar2r").with_friction(
        coulomb=2.0, coulomb_velocity=0.3, load=0.2, load_velocity=0.4, torque_offset=1.0, torque_sine=2.0
    )
    arm = arm.with_drive_coupling(COUPLED) if coupled else arm
    tree = build_tree(arm.description)
    q, qd, qdd, y = np.random.default_rng(5).normal(size=(4, 2))

    def gradient(x: np.ndarray) -> Any:
        return np.concatenate([y @ by for by in alg.inverse_dynamics_derivatives(tree, *np.split(x, 3))])

    rows = trees.central_difference(gradient, np.concatenate([q, qd, qdd])).T
    blocks = [rows[:2, :2], rows[:2, 2:4], rows[:2, 4:], rows[2:4, 2:4], rows[2:4, 4:]]
    assert np.abs(blocks[4]).max() > 0.1  # inertia is a load too
    require_same(alg.inverse_dynamics_hessian(tree, q, qd, qdd, y), blocks, 1e-7)

    def gradient_of_motion(x: np.ndarray) -> Any:
        return np.concatenate([y @ by[2:] for by in alg.linearize(tree, *np.split(x, 3))])

    model = alg.quadratic_model(tree, q, qd, qdd, y)
    assert np.allclose(model.qdd, alg.forward_dynamics(tree, q, qd, qdd), rtol=1e-12)
    rows = trees.central_difference(gradient_of_motion, np.concatenate([q, qd, qdd])).T
    assert np.abs(rows[4:, 4:]).max() < 1e-6 * np.abs(rows).max()
    blocks = [rows[:2, :2], rows[:2, 2:4], rows[:2, 4:], rows[2:4, 2:4], rows[2:4, 4:]]
    assert np.abs(blocks[4]).max() > 0.1
    require_same(alg.TorqueHessian(*model[3:]), blocks, 1e-6)
