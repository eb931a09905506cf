"""Robots read from MJCF against MuJoCo itself: dynamics, poses and Jacobians in its own coordinates."""

from __future__ import annotations

import importlib
import importlib.util
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.thinning import thinned

import chasles as ch
from chasles import algorithms
from chasles.base.errors import ArgumentError
from chasles.interop import mujoco as interop
from chasles.model import build_tree, parse_mjcf
from chasles.model.formats.files import Folder
from chasles.model.formats.mjcf import compiled
from chasles.model.formats.xml import parse_xml

mujoco = importlib.import_module("mujoco")

TOLERANCE = 1e-10
ARM = """
<mujoco model="arm">
  <compiler angle="degree" eulerseq="zyx" autolimits="true"/>
  <option gravity="0.3 -0.2 -9.7"/>
  <default>
    <joint damping="0.4" armature="0.02"/>
    <default class="wrist"><joint axis="1 0 0" damping="0.1" frictionloss="0.3" armature="0.003"/></default>
  </default>
  <worldbody>
    <body name="post" pos="0.1 0.2 0.3" euler="10 20 30">
      <geom type="cylinder" size="0.05 0.2" density="900"/>
      <body name="upper" pos="0 0 0.2" quat="0.9 0.1 -0.3 0.2">
        <joint name="shoulder" axis="1 2 3" pos="0.01 0.02 -0.03" range="-120 90"/>
        <geom type="capsule" size="0.04" fromto="0 0 0 0.1 0 0.4"/>
        <site name="elbow" pos="0.1 0 0.4" euler="0 30 0"/>
        <body name="fore" pos="0.1 0 0.4">
          <inertial pos="0.1 0.02 0.03" mass="1.5" fullinertia="0.03 0.04 0.05 0.001 -0.002 0.003"/>
          <joint name="reach" type="slide" axis="0 1 1" ref="0.05" range="-0.2 0.4"/>
          <joint name="elbow" axis="0 1 0" ref="25" frictionloss="0.7"/>
          <body name="hand" pos="0.3 0 0" axisangle="0 1 0 40" childclass="wrist">
            <joint name="roll"/>
            <geom type="box" size="0.05 0.03 0.02" pos="0.05 0 0"/>
            <geom type="ellipsoid" size="0.02 0.03 0.04" pos="0.1 0 0.02" mass="0.2"/>
            <site name="tool" pos="0.1 0 0" euler="90 0 10"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""
WALKER = """
<mujoco model="walker">
  <worldbody>
    <body name="trunk" pos="0 0 0.5"><freejoint name="float"/>
      <geom type="box" size="0.3 0.1 0.08" pos="0.02 0.01 0.03" euler="5 4 3" mass="12"/>
      <site name="imu" pos="0.1 0 0.05" euler="0 0 90"/>
      {legs}
    </body>
  </worldbody>
</mujoco>""".format(
    legs="".join(
        f"""<body name="thigh{k}" pos="{0.25 * (-1) ** k} {0.12 * (-1) ** (k // 2)} 0" euler="0 {10 * k} 0">
          <joint name="abduct{k}" axis="1 0 0"/><joint name="hip{k}" axis="0 1 0" pos="0 0.01 0"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.25" mass="1"/>
          <body name="shank{k}" pos="0 0 -0.25"><joint name="knee{k}" axis="0 1 0" armature="0.01" damping="0.2"/>
            <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.25" mass="0.4"/>
            <site name="foot{k}" pos="0 0 -0.25"/></body></body>"""
        for k in range(4)
    )
)
BALLS = """
<mujoco model="balls">
  <worldbody>
    <body name="a" pos="0 0 1" euler="20 0 0">
      <joint name="ball" type="ball" pos="0.1 0.05 0" damping="0.2" armature="0.05"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0 0.1 0.2"/>
      <body name="b" pos="0.2 0 0.5">
        <joint name="x" type="slide" axis="1 0 0"/><joint name="y" type="slide" axis="0 1 0"/>
        <joint name="turn" axis="0 0 1" pos="0.1 0 0"/>
        <geom type="sphere" size="0.1" pos="0.05 0.1 0"/>
        <body name="c" pos="0.1 0.2 0.3">
          <joint name="ball2" type="ball" pos="0 0.1 0"/>
          <geom type="box" size="0.1 0.05 0.03" pos="0.05 0.1 0"/>
          <site name="end" pos="0 0.2 0.1" quat="1 2 3 4"/>
        </body>
      </body>
    </body>
    <body name="stone" pos="1 1 1"><freejoint/><geom type="box" size="0.1 0.2 0.1" pos="0.1 0 0"/></body>
  </worldbody>
</mujoco>"""
MODELS = {"arm": ARM, "walker": WALKER, "balls": BALLS}


def without_constraints(model: Any) -> tuple[Any, Any]:
    bits = mujoco.mjtDisableBit
    model.opt.disableflags |= bits.mjDSBL_CONTACT | bits.mjDSBL_CONSTRAINT
    return model, mujoco.MjData(model)


def random_state(model: Any, data: Any, rng: np.random.Generator) -> None:
    data.qpos[:] = rng.uniform(-1.5, 1.5, model.nq)
    for joint in range(model.njnt):
        start = model.jnt_qposadr[joint] + {0: 3, 1: 0}.get(int(model.jnt_type[joint]), 99)
        if start < model.nq and int(model.jnt_type[joint]) < 2:
            data.qpos[start : start + 4] = rng.normal(size=4)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.qvel[:] = rng.normal(size=model.nv)
    data.qfrc_applied[:] = rng.normal(size=model.nv)


def relative(ours: Any, theirs: Any) -> float:
    return float(np.abs(np.subtract(ours, theirs)).max() / max(1e-3, np.abs(theirs).max()))


def pose_difference(T: Any, position: Any, matrix: Any) -> float:
    away = np.abs(T[:3, 3] - position).max() / max(1.0, np.abs(position).max())
    return float(max(np.abs(T[:3, :3] - matrix.reshape(3, 3)).max(), away))


def compare(robot: ch.Robot, model: Any, seed: int = 3, states: int = 5) -> float:
    """Largest relative difference of all that both compute.

    Dry friction is a constraint for MuJoCo, and constraints are switched off; it is added to the forces here.
    """
    model, data = without_constraints(model)
    rng = np.random.default_rng(seed)
    worst = 0.0
    tree = build_tree(robot.description)
    smooth = robot.with_friction(coulomb=0.0)
    for _ in range(states):
        random_state(model, data, rng)
        mujoco.mj_forward(model, data)
        q = interop.configuration_from_mujoco(robot, data.qpos)
        qd = interop.velocity_from_mujoco(robot, data.qpos, data.qvel)
        tau = interop.force_from_mujoco(robot, data.qpos, data.qfrc_applied)
        qdd = interop.acceleration_from_mujoco(robot, data.qpos, data.qvel, data.qacc)
        P = interop.velocity_map(robot, q)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        found = [relative(robot.mass_matrix(q), P.T @ M @ P), relative(smooth.forward_dynamics(q, qd, tau), qdd)]
        mujoco.mj_inverse(model, data)
        found.append(relative(smooth.inverse_dynamics(q, qd, qdd), P.T @ data.qfrc_inverse))
        slip = interop.velocity_to_mujoco(robot, q, qd)
        dry = model.dof_frictionloss * np.sign(slip)
        found.append(relative(robot.inverse_dynamics(q, qd, qdd), P.T @ (data.qfrc_inverse + dry)))
        bias = P.T @ (data.qfrc_bias - data.qfrc_passive)
        at_rest_here = interop.acceleration_from_mujoco(robot, data.qpos, data.qvel, np.zeros(model.nv))
        found.append(relative(smooth.inverse_dynamics(q, qd, at_rest_here), bias))
        for body in range(1, model.nbody):
            T = algorithms.forward_kinematics(tree, q, model.body(body).name)
            found.append(pose_difference(T, data.xpos[body], data.xmat[body]))
        for site in range(model.nsite):
            name = model.site(site).name
            name = f"{name}_site" if f"{name}_site" in robot.frame_names else name
            T = algorithms.forward_kinematics(tree, q, name)
            found.append(pose_difference(T, data.site_xpos[site], data.site_xmat[site]))
            sliding, turning = np.zeros((2, 3, model.nv))
            mujoco.mj_jacSite(model, data, sliding, turning, site)
            J = algorithms.jacobian(tree, q, name, "world-aligned")
            found.append(relative(J, np.vstack([turning, sliding]) @ P))
        worst = max(worst, *found)
    return worst


@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_mujoco(name: str) -> None:
    robot = ch.Robot(parse_mjcf(MODELS[name]))
    assert compare(robot, mujoco.MjModel.from_xml_string(MODELS[name])) < TOLERANCE


def random_model(seed: int) -> str:
    """A tree of bodies with random joints, several on some bodies, and inertias from geoms or written."""
    rng = np.random.default_rng(seed)

    def numbers(*values: float) -> str:
        return " ".join(f"{value:.6f}" for value in values)

    def joint(name: str) -> str:
        kind = rng.choice(["hinge", "slide"])
        armature, damping, friction = rng.uniform(0, [0.1, 1.0, 1.0])
        extras = f'armature="{armature:.3f}" damping="{damping:.3f}" frictionloss="{friction:.3f}"'
        place = f'axis="{numbers(*rng.normal(size=3))}" pos="{numbers(*rng.normal(size=3) * 0.1)}"'
        return f'<joint name="{name}" type="{kind}" {place} ref="{rng.integers(0, 2) * 0.3}" {extras}/>'

    def body(name: str, depth: int) -> str:
        joints = ""
        if depth == 0 and rng.integers(2):
            joints = f'<freejoint name="{name}"/>'
        elif rng.integers(5) == 0:
            place = numbers(*rng.normal(size=3) * 0.1)
            joints = f'<joint name="{name}" type="ball" pos="{place}" damping="0.3" armature="0.02"/>'
        elif rng.integers(8):
            joints = "".join(joint(f"{name}.{k}") for k in range(rng.integers(1, 4)))
        size = numbers(*rng.uniform(0.05, 0.2, 3))
        middle, turn = numbers(*rng.normal(size=3) * 0.1), numbers(*rng.normal(size=4))
        mass = f'<geom type="box" size="{size}" pos="{middle}" quat="{turn}"/>'
        if rng.integers(2):
            inertia = numbers(*rng.uniform(0.1, 0.15, 3), *rng.uniform(-0.01, 0.01, 3))
            mass = f'<inertial pos="{numbers(*rng.normal(size=3) * 0.1)}" mass="2" fullinertia="{inertia}"/>'
        inner = "".join(body(f"{name}{k}", depth + 1) for k in range(rng.integers(0, 3) if depth < 3 else 0))
        place = f'pos="{numbers(*rng.normal(size=3) * 0.3)}" euler="{numbers(*rng.uniform(-90, 90, 3))}"'
        return f'<body name="{name}" {place}>{joints}{mass}<site name="s{name}" pos="0.1 0 0"/>{inner}</body>'

    gravity = numbers(*rng.normal(size=3) * 5)
    bodies = "".join(body(f"b{k}", 0) for k in range(2))
    return f'<mujoco model="m"><option gravity="{gravity}"/><worldbody>{bodies}</worldbody></mujoco>'


def model_of_some_size(seed: int) -> tuple[str, Any]:
    for attempt in range(1000 * seed, 1000 * seed + 100):
        text = random_model(attempt)
        model = mujoco.MjModel.from_xml_string(text)
        if 4 <= model.nv <= 16:
            return text, model
    raise AssertionError("no model has a fitting size")


@pytest.mark.parametrize("seed", thinned(range(25), keep=4))
def test_random_trees_agree_with_mujoco(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHASLES_JIT", "0")  # each is used for two states only
    text, model = model_of_some_size(seed)
    assert compare(ch.Robot(parse_mjcf(text, check=False)), model, states=2) < TOLERANCE


@pytest.mark.filterwarnings("ignore:.* frames could be the tool:chasles.model.ModelWarning")  # they have several feet
@pytest.mark.slow
@pytest.mark.parametrize("name", ["unitree_g1/g1_29dof_rev_1_0.xml", "unitree_a2/a2.xml"])
def test_walking_machines_of_others(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their meshes are not needed, because the bodies have inertias."""
    monkeypatch.setenv("CHASLES_JIT", "0")
    (file,) = (file for file in metadata.files("frax") or [] if str(file).endswith(name))  # pip install '.[bench]'
    path = Path(str(file.locate()))
    robot = ch.load(path)
    model, _ = compiled(parse_xml(path.read_bytes()), Folder())  # MuJoCo cannot without the meshes
    assert compare(robot, model, states=2) < TOLERANCE
    assert np.isfinite(robot.effort_limits[6:]).all()


FOLLOWER = """
<mujoco model="gripper">
  <worldbody><body name="palm"><joint name="lift" type="slide" axis="0 0 1"/><geom size="0.1"/>
    <body name="left"><joint name="left" type="slide" axis="0 1 0" ref="0.1"/><geom size="0.05" pos="0 0.2 0"/></body>
    <body name="right"><joint name="right" axis="0 1 1" ref="30"/><geom size="0.05" pos="0 -0.2 0"/></body>
  </body></worldbody>
  <equality><joint joint1="right" joint2="left" polycoef="0.02 -1.5 0 0 0"/></equality>
</mujoco>"""


def test_tied_joints_move_and_weigh_together() -> None:
    robot = ch.Robot(parse_mjcf(FOLLOWER))
    model, data = without_constraints(mujoco.MjModel.from_xml_string(FOLLOWER))
    assert robot.joint_names == ("lift", "left")
    q = np.array([0.2, 0.15])
    data.qpos[:] = qpos = interop.configuration_to_mujoco(robot, q)
    # MuJoCo counts both from the initial configuration: right - pi/6 = 0.02 - 1.5 (left - 0.1).
    assert qpos.tolist() == pytest.approx([0.2, 0.15, np.pi / 6 + 0.02 - 1.5 * 0.05], abs=1e-15)
    assert interop.configuration_from_mujoco(robot, qpos).tolist() == q.tolist()
    data.qvel[:] = interop.velocity_to_mujoco(robot, q, [0.4, 0.6])
    data.qacc[:] = interop.acceleration_to_mujoco(robot, q, [0.4, 0.6], [1.0, 2.0])
    assert data.qvel.tolist() == pytest.approx([0.4, 0.6, -0.9])
    mujoco.mj_inverse(model, data)
    tau = robot.inverse_dynamics(q, [0.4, 0.6], [1.0, 2.0])
    np.testing.assert_allclose(interop.force_from_mujoco(robot, qpos, data.qfrc_inverse), tau, rtol=1e-12)
    assert interop.force_to_mujoco(robot, q, [1.0, 2.0]).tolist() == [1.0, 2.0, 0.0]


def test_states_and_forces_there_and_back() -> None:
    robot = ch.Robot(parse_mjcf(BALLS))
    rng = np.random.default_rng(0)
    q = np.stack([[robot.random_configuration(rng) for _ in range(3)] for _ in range(2)])
    qd, qdd, tau = rng.normal(size=(3, 2, 3, robot.n))
    qpos = interop.configuration_to_mujoco(robot, q)
    assert qpos.shape == (2, 3, robot.nq)
    np.testing.assert_array_equal(interop.configuration_from_mujoco(robot, qpos), q)
    qvel = interop.velocity_to_mujoco(robot, q, qd)
    np.testing.assert_allclose(interop.velocity_from_mujoco(robot, qpos, qvel), qd, atol=1e-14)
    qacc = interop.acceleration_to_mujoco(robot, q, qd, qdd)
    np.testing.assert_allclose(interop.acceleration_from_mujoco(robot, qpos, qvel, qacc), qdd, atol=1e-14)
    force = interop.force_to_mujoco(robot, q, tau)
    np.testing.assert_allclose(interop.force_from_mujoco(robot, qpos, force), tau, atol=1e-14)
    np.testing.assert_allclose((force * qvel).sum(-1), (tau * qd).sum(-1), atol=1e-13)  # the same power


def test_motion_of_a_free_body_step_by_step() -> None:
    """MuJoCo's velocities after a small step are those that its accelerations, in our coordinates, say."""
    robot = ch.Robot(parse_mjcf(WALKER))
    model, data = without_constraints(mujoco.MjModel.from_xml_string(WALKER))
    rng = np.random.default_rng(1)
    random_state(model, data, rng)
    mujoco.mj_forward(model, data)
    qpos, qvel = data.qpos.copy(), data.qvel.copy()
    qd = interop.velocity_from_mujoco(robot, qpos, qvel)
    qdd = interop.acceleration_from_mujoco(robot, qpos, qvel, data.qacc)
    step, moved = 1e-6, qpos.copy()
    mujoco.mj_integratePos(model, moved, qvel, step)
    after = interop.velocity_from_mujoco(robot, moved, qvel + step * data.qacc)
    np.testing.assert_allclose((after - qd) / step, qdd, rtol=1e-4, atol=1e-4)


def test_wrong_arguments_are_named() -> None:
    robot = ch.Robot(parse_mjcf(BALLS))
    with pytest.raises(ArgumentError, match=r"qpos must have shape \(..., 18\), not \(3,\)"):
        interop.configuration_from_mujoco(robot, np.zeros(3))
    with pytest.raises(ArgumentError, match="q must have shape"):
        interop.velocity_map(robot, 1.0)
    screw = ch.Robot.from_screws(np.eye(4), Slist=[[0], [0], [1], [0], [0], [0.1]])
    with pytest.raises(ArgumentError, match="MuJoCo has no helical joints like joint 'joint1'"):
        interop.configuration_to_mujoco(screw, [0.0])
