"""States and forces of Pinocchio: the dynamics in its coordinates are those in ours."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from tests.oracles.example_robots import example, with_complete_digits_of_pi

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.interop import pinocchio as interop
from chasles.model import Joint, with_free_base

pin = importlib.import_module("pinocchio")

#: Free and fixed base, mimic and continuous joints; Pinocchio sorts joints by name.
ROBOTS = {
    "solo_description/robots/solo.urdf": True,
    "panda_description/urdf/panda.urdf": False,
    "kinova_description/robots/kinova.urdf": False,
    "ur_description/urdf/ur5_gripper.urdf": True,
}


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: Path(path).stem)
def test_dynamics_agree(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", "0")
    robot = ch.load(example(path), check=False)
    text = with_complete_digits_of_pi(example(path).read_text())
    if ROBOTS[path]:
        robot = ch.Robot(with_free_base(robot.description, world="inertial frame"))
        model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    else:
        model = pin.buildModelFromXML(text)
    data = model.createData()
    none = {joint.name: 0.0 for joint in robot.description.joints if joint.moves}
    robot = robot.with_friction(viscous=none, coulomb=none)
    rng = np.random.default_rng(4)
    q = np.array([robot.random_configuration(rng) for _ in range(3)])
    qd, qdd = rng.normal(size=(2, 3, robot.n))
    theirs = interop.configuration_to_pinocchio(robot, model, q)
    np.testing.assert_allclose(interop.configuration_from_pinocchio(robot, model, theirs), q, atol=1e-14)
    v, a = (interop.velocity_to_pinocchio(robot, model, rates) for rates in (qd, qdd))
    np.testing.assert_array_equal(interop.velocity_from_pinocchio(robot, model, v), qd)
    model.armature[:] = 0.0
    torques = np.array([pin.rnea(model, data, *state) for state in zip(theirs, v, a, strict=True)])
    ours = robot.inverse_dynamics(q, qd, qdd)
    found = interop.force_from_pinocchio(robot, model, torques)
    np.testing.assert_allclose(found, ours, rtol=1e-10, atol=1e-10 * np.abs(ours).max())
    P = interop.velocity_map(robot, model)
    M = robot.mass_matrix(q[0])
    np.testing.assert_allclose(P.T @ pin.crba(model, data, theirs[0]) @ P, M, rtol=1e-10, atol=1e-10 * np.abs(M).max())


def test_spherical_joints() -> None:
    ball = Joint("ball", "spherical", "base", "bob")
    links = tuple(ch.model.Link(name, ch.model.Inertia(1.0, [0, 0, 0.3], 0.1 * np.eye(3))) for name in ("base", "bob"))
    robot = ch.Robot(ch.model.Description("pendulum", links=links, joints=(ball,)))
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "ball")
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.array([0, 0, 0.3]), 0.1 * np.eye(3)), pin.SE3.Identity())
    q, qd, qdd = robot.random_configuration(3), np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    theirs = interop.configuration_to_pinocchio(robot, model, q)
    tau = pin.rnea(model, model.createData(), theirs, qd, qdd)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), tau, rtol=1e-12)
    np.testing.assert_array_equal(interop.configuration_from_pinocchio(robot, model, theirs), q)


def test_robots_that_do_not_fit() -> None:
    arm = ch.load("panda")
    with pytest.raises(ArgumentError, match="Pinocchio's model has no joint 'panda_joint1'; it has"):
        interop.velocity_map(arm, pin.buildSampleModelManipulator())
    model = pin.Model()
    model.addJoint(0, pin.JointModelRUBZ(), pin.SE3.Identity(), "j")
    screw = Joint("j", "helical", "a", "b", pitch=0.1)
    robot = ch.Robot(ch.model.Description("r", links=(ch.model.Link("a"), ch.model.Link("b")), joints=(screw,)))
    with pytest.raises(ArgumentError, match="joint 'j' is helical and has 2 coordinates in Pinocchio"):
        interop.velocity_map(robot, model)
