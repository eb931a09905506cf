"""Regressors: products with the parameters are torques, momenta and energies; columns against Pinocchio."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.oracles.example_robots import example_files, with_complete_digits_of_pi

from chasles import algorithms as alg
from chasles.engine import trace
from chasles.model import inertial_parameters, parse_urdf, with_free_base
from chasles.model.tree import Tree, build_tree

pin = importlib.import_module("pinocchio")
#: Pinocchio's order of the ten parameters, in ours: its moments are xx, xy, yy, xz, yz, zz.
PINOCCHIO_ORDER = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]
QUICK = (
    "panda.urdf",
    "ur5_robot.urdf",
    "z1.urdf",
    "kinova.urdf",
    "xarm7.urdf",
    "allegro_left_hand.urdf",
    "solo12.urdf",
)
WITHOUT_LINKS = "ur3.urdf"
FILES = [
    pytest.param(file, marks=() if file.name in QUICK else pytest.mark.slow, id=file.stem)
    for file in example_files()
    if file.name != WITHOUT_LINKS
]


def random_tree(trees: SimpleNamespace, seed: int, kind: str) -> Tree:
    tree = trees.random(seed, 6)
    if kind == "mimic":
        tree = trees.with_mimic(tree)
    if kind == "sharp friction":
        tree = replace(tree, bodies=tuple(replace(body, coulomb_velocity=0.0) for body in tree.bodies))
    return trees.with_link_frames(tree, seed)


@pytest.mark.parametrize("kind", ["any", "mimic", "sharp friction"])
@pytest.mark.parametrize("seed", range(4))
def test_products_are_torques_momenta_and_energies(seed: int, kind: str, trees: SimpleNamespace) -> None:
    tree = random_tree(trees, seed, kind)
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, tree.n))
    pi = inertial_parameters(tree)
    kinetic, potential = alg.energy_regressor(tree, q, qd)
    pairs = {
        "torque": (alg.torque_regressor(tree, q, qd, qdd) @ pi, alg.inverse_dynamics(tree, q, qd, qdd)),
        "momentum": (alg.momentum_regressor(tree, q, qd) @ pi, alg.mass_matrix(tree, q) @ qd),
        "kinetic": (kinetic @ pi, alg.kinetic_energy(tree, q, qd)),
        "potential": (potential @ pi, alg.potential_energy(tree, q)),
    }
    for name, (ours, expected) in pairs.items():
        assert trees.relative_error(ours, expected) < 1e-13, name


def test_torques_follow_from_the_energies(trees: SimpleNamespace) -> None:
    """Lagrange's equations hold column by column: d/dt dK/dqd - dK/dq + dU/dq = Y, with the momenta dK/dqd."""
    tree = random_tree(trees, 11, "any")
    count = 10 * len(tree.bodies)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, tree.n))

    def momenta(t: float) -> Any:
        return alg.momentum_regressor(tree, q + t * qd + 0.5 * t * t * qdd, qd + t * qdd)[:, :count]

    def lagrangian(x: Any) -> Any:
        kinetic, potential = alg.energy_regressor(tree, x, qd)
        return (kinetic - potential)[:count]

    rate = trees.central_difference(lambda t: momenta(t[0]), np.zeros(1))[..., 0]
    slope = trees.central_difference(lagrangian, q).T
    Y = alg.torque_regressor(tree, q, qd, qdd)[:, :count]
    assert np.abs(rate - slope - Y).max() < 1e-8 * np.abs(Y).max()


def test_friction_and_armature_columns(trees: SimpleNamespace) -> None:
    tree = trees.with_link_frames(trees.random(3, 3, ("revolute",), serial=True), 3)
    tree = replace(
        tree,
        bodies=(
            replace(tree.bodies[0], coulomb_velocity=0.0),
            replace(tree.bodies[1], coulomb_velocity=0.5),
            tree.bodies[2],
        ),
    )
    Y = alg.torque_regressor(tree, np.zeros(3), np.array([-2.0, 0.3, 0.0]), np.array([5.0, 6.0, 7.0]))
    expected = np.zeros((3, 9))
    expected[0, :3] = -2.0, -1.0, 5.0
    expected[1, 3:6] = 0.3, np.tanh(0.6), 6.0
    expected[2, 6:] = 0.0, 0.0, 7.0
    assert np.array_equal(Y[:, 30:], expected)


def configuration(model: Any, order: np.ndarray, q: np.ndarray, free: bool) -> np.ndarray:
    """Pinocchio's configuration; coordinate k of a joint with one freedom belongs to its velocity order[k]."""
    x = pin.neutral(model)
    base = 7 if free else 0
    if free:
        quaternion = q[:4] / np.linalg.norm(q[:4])
        x[:7] = [*q[4:7], *quaternion[1:], quaternion[0]]
    joints = {joint.idx_v: joint for joint in list(model.joints)[1:]}
    for angle, velocity in zip(q[base:], order[6 if free else 0 :], strict=True):
        joint = joints[velocity]
        x[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
    return x


@pytest.mark.parametrize("free", [False, True], ids=["fixed", "free"])
@pytest.mark.parametrize("file", FILES)
def test_columns_agree_with_pinocchio(file: Path, free: bool, trees: SimpleNamespace) -> None:
    text = re.sub(r"<mimic[^>]*/>", "", with_complete_digits_of_pi(file.read_text()))
    description = parse_urdf(text, check=False)
    if free:
        description = with_free_base(description, joint="root_joint", world="the world")
    tree = build_tree(description)
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(text)
    data = model.createData()
    carriers = [tree.bodies[index] for index in tree.carriers]
    ids = [model.getJointId(body.joint.removesuffix(".vz")) for body in carriers]  # a free base moves along z last
    order = np.array([model.joints[k].idx_v for k in ids[free:]], dtype=int)
    order = np.concatenate([[3, 4, 5, 0, 1, 2], order]) if free else order
    back = np.argsort(order)
    columns = np.array([10 * (k - 1) + p for k in ids for p in PINOCCHIO_ORDER], dtype=int)
    count = 10 * len(carriers)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, (qd, qdd) = rng.normal(size=tree.nq), rng.normal(size=(2, tree.n))
        x, v, a = configuration(model, order, q, free), qd[back], qdd[back]
        expected = np.array(pin.computeJointTorqueRegressor(model, data, x, v, a))[order][:, columns]
        ours = alg.torque_regressor(tree, q, qd, qdd)[:, :count]
        assert trees.relative_error(ours, expected) < 1e-10
        kinetic, potential = alg.energy_regressor(tree, q, qd)
        expected = np.array(pin.computeKineticEnergyRegressor(model, data, x, v)).ravel()[columns]
        assert trees.relative_error(kinetic[:count], expected) < 1e-10
        expected = np.array(pin.computePotentialEnergyRegressor(model, data, x)).ravel()[columns]
        assert trees.relative_error(potential[:count], expected) < 1e-10


def test_traced_is_eager(trees: SimpleNamespace) -> None:
    tree = random_tree(trees, 5, "mimic")
    states = np.random.default_rng(1).normal(size=(3, tree.n))
    shapes = dict.fromkeys(("q", "qd", "qdd"), (tree.n,))
    program = trace(lambda q, qd, qdd: alg.torque_regressor(tree, q, qd, qdd), shapes, name="Y")
    values = np.array(program.replay(list(states.ravel()))).reshape(tree.n, -1)
    assert trees.relative_error(values, alg.torque_regressor(tree, *states)) < 1e-14
