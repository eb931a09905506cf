"""Every algorithm against Pinocchio: random trees of all kinds of joints, and robots from example-robot-data."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.oracles.example_robots import example, with_complete_digits_of_pi
from tests.thinning import thinned

from chasles import algorithms as alg
from chasles.model.formats.urdf import parse_urdf
from chasles.model.tree import Tree, build_tree

pin = importlib.import_module("pinocchio")
FILES = {
    "panda_description/urdf/panda.urdf": 20,
    "ur_description/urdf/ur5_robot.urdf": 20,
    "z1_description/urdf/z1.urdf": 20,
    "kinova_description/robots/kinova.urdf": 20,
    "xarm_description/urdf/xarm7.urdf": 20,
    "allegro_hand_description/urdf/allegro_left_hand.urdf": 20,
    "hyq_description/robots/hyq_no_sensors.urdf": 20,
    "romeo_description/urdf/romeo_small.urdf": 5,
    "talos_data/robots/talos_reduced.urdf": 20,
}
TOLERANCE = 1e-10


def swapped(J: np.ndarray) -> np.ndarray:
    """Pinocchio's linear-first rows as ours."""
    return np.concatenate([J[3:], J[:3]])


def configuration(model: Any, positions: np.ndarray) -> np.ndarray:
    """Pinocchio's configuration vector: it gives a continuous joint the cosine and sine of its angle."""
    x = pin.neutral(model)
    for joint in list(model.joints)[1:]:
        angle = positions[joint.idx_v]
        x[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
    return x


def quantities(
    tree: Tree, model: Any, frame: str, order: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> Iterator[tuple[str, Any, Any]]:
    """Name, our value and Pinocchio's; coordinate k is Pinocchio's coordinate order[k]."""
    data = model.createData()
    back = np.argsort(order)
    x, v, a = configuration(model, q[back]), qd[back], qdd[back]
    square = np.ix_(order, order)
    frame_id = model.getFrameId(frame)
    friction = alg.friction_torque(tree, q, qd)
    tau = qdd * 10.0

    yield (
        "inverse dynamics",
        alg.inverse_dynamics(tree, q, qd, qdd) - friction,
        pin.rnea(model, data, x, v, a)[order],
    )
    yield "gravity", alg.gravity_torque(tree, q), pin.computeGeneralizedGravity(model, data, x)[order]
    M = np.array(pin.crba(model, data, x))
    M = (np.triu(M) + np.triu(M, 1).T)[square]
    yield "mass matrix", alg.mass_matrix(tree, q), M
    yield "coriolis", alg.coriolis_vector(tree, q, qd), (pin.computeCoriolisMatrix(model, data, x, v) @ v)[order]
    expected = pin.aba(model, data, x, v, tau[back])[order]
    yield "forward dynamics", alg.forward_dynamics(tree, q, qd, tau + friction), expected
    yield "articulated body", alg.articulated_body_accelerations(tree, q, qd, tau + friction), expected
    by_q, by_qd, by_qdd = alg.inverse_dynamics_derivatives(tree, q, qd, qdd)
    expected_q, expected_qd, _ = pin.computeRNEADerivatives(model, data, x, v, a)
    slope = np.array([b.viscous_friction + _tanh_slope(b, qd) for b in tree.bodies])
    yield "by q", by_q, expected_q[square]
    yield "by qd", by_qd - np.diag(slope), expected_qd[square]
    yield "by qdd", by_qdd, M

    pin.computeJointJacobiansTimeVariation(model, data, x, v)
    pin.updateFramePlacements(model, data)
    yield "pose", alg.forward_kinematics(tree, q, frame), data.oMf[frame_id].homogeneous
    references = {"space": pin.WORLD, "body": pin.LOCAL, "world-aligned": pin.LOCAL_WORLD_ALIGNED}
    for name, reference in references.items():
        J = pin.getFrameJacobian(model, data, frame_id, reference)
        J_rate = pin.getFrameJacobianTimeVariation(model, data, frame_id, reference)
        yield f"{name} jacobian", alg.jacobian(tree, q, frame, name), swapped(J)[:, order]
        yield f"{name} jacobian rate", alg.jacobian_derivative(tree, q, qd, frame, name), swapped(J_rate)[:, order]
    kinetic = pin.computeKineticEnergy(model, data, x, v)
    yield "kinetic energy", alg.kinetic_energy(tree, q, qd), kinetic
    mass = sum(body.mass for body in tree.bodies)
    pin.centerOfMass(model, data, x)
    yield "centre of mass", alg.center_of_mass(tree, q) * mass, data.com[0] * data.mass[0]


def _tanh_slope(body: Any, qd: np.ndarray) -> float:
    if body.coulomb_velocity == 0:
        return 0.0
    slope = 1 - np.tanh(qd[body.coordinate] / body.coulomb_velocity) ** 2
    return float(body.coulomb_friction * slope / body.coulomb_velocity)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees(seed: int, trees: SimpleNamespace) -> None:
    tree = trees.random(seed + 100, 7, depth_first=True)
    model = trees.for_pinocchio(tree)
    state = np.random.default_rng(seed).normal(size=(3, tree.n))
    for name, ours, theirs in quantities(tree, model, f"tip{seed % 7}", np.arange(tree.n), *state):
        assert trees.relative_error(ours, theirs) < TOLERANCE, name


@pytest.mark.parametrize("file", thinned(FILES, keep=4, ids=[Path(file).stem for file in FILES]))
def test_robots(file: str, trees: SimpleNamespace) -> None:
    text = with_complete_digits_of_pi(example(file).read_text())
    description = parse_urdf(re.sub(r"<mimic[^>]*/>", "", text), check=False)
    tree = build_tree(description)
    model = pin.buildModelFromXML(text)
    model.inertias[0] = pin.Inertia.Zero()  # links welded to the base: they do not move
    model.armature = np.zeros(model.nv)
    order = np.array([model.joints[model.getJointId(body.joint)].idx_v for body in tree.bodies])
    assert [body.coordinate for body in tree.bodies] == list(range(tree.n))
    rng = np.random.default_rng(0)
    frame = [f.name for f in model.frames if f.name in tree.frames][-1]
    for _ in range(FILES[file]):
        for name, ours, theirs in quantities(tree, model, frame, order, *rng.normal(size=(3, tree.n))):
            assert trees.relative_error(ours, theirs) < TOLERANCE, name
