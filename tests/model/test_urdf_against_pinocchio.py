"""URDF reading and folding of fixed joints, compared with Pinocchio on its example robots and on our own files."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.oracles.example_robots import example_files, with_complete_digits_of_pi
from tests.thinning import thinned

from chasles.base.errors import ModelError
from chasles.model import build_tree, from_urdf, shipped_path

pin = importlib.import_module("pinocchio")

FILES = example_files()

NOT_ROBOTS = {
    "alex_psyonic_hands.urdf": "joint 'Left_index_q2' mimics the joint 'index_q1', which does not exist",
    "ur3.urdf": "there is no link",
}


def compare(path: Path, reference: SimpleNamespace) -> None:
    """Poses of all links, mass matrix and gravity torque at random states; mimic joints by the chain rule."""
    description = from_urdf(path, check=False)
    tree = build_tree(description)
    model = pin.buildModelFromXML(with_complete_digits_of_pi(path.read_text()))
    data = model.createData()
    moving = [joint for joint in description.joints if joint.moves]
    assert {name for name in model.names if name != "universe"} == {joint.name for joint in moving}
    S, offset = np.zeros((model.nv, tree.n)), np.zeros(model.nv)
    for joint in moving:
        driver, ratio, shift = description.mimics[joint.name]
        row = model.joints[model.getJointId(joint.name)].idx_v
        S[row, description.joint_names.index(driver)], offset[row] = ratio, shift
    for seed in range(3):
        q = np.random.default_rng(seed).uniform(-3.0, 3.0, tree.n)
        positions = S @ q + offset
        pin_q = pin.neutral(model)
        for joint in model.joints[1:]:
            s = positions[joint.idx_v]
            pin_q[joint.idx_q : joint.idx_q + joint.nq] = s if joint.nq == 1 else (np.cos(s), np.sin(s))
        pin.framesForwardKinematics(model, data, pin_q)
        for link in description.link_names:
            expected = data.oMf[model.getFrameId(link, pin.FrameType.BODY)].homogeneous
            assert np.abs(reference.frame_pose(tree, q, link) - expected).max() < 1e-12, link
        if tree.n:
            M, g = reference.mass_matrix_and_gravity(tree, q)
            expected_M = S.T @ (pin.crba(model, data, pin_q) - np.diag(np.asarray(model.armature))) @ S
            assert np.abs(M - expected_M).max() <= 1e-12 * max(1.0, np.abs(expected_M).max())
            expected_g = S.T @ pin.computeGeneralizedGravity(model, data, pin_q)
            assert np.abs(g - expected_g).max() <= 1e-12 * max(1.0, np.abs(expected_g).max())


@pytest.mark.parametrize("path", thinned(FILES, keep=6, ids=[path.stem for path in FILES]))
def test_every_example_robot_agrees_with_pinocchio(path: Path, reference: SimpleNamespace) -> None:
    if path.name in NOT_ROBOTS:
        with pytest.raises(ModelError, match=NOT_ROBOTS[path.name]):
            from_urdf(path)
    else:
        compare(path, reference)


@pytest.mark.parametrize("name", ["panda", "iiwa14"])
def test_shipped_urdf_agree_with_pinocchio(name: str, reference: SimpleNamespace) -> None:
    compare(shipped_path(name), reference)
