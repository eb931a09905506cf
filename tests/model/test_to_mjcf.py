"""Robots written as MJCF, judged by MuJoCo: poses, mass matrices, gravity and friction are what they are here."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from tests.thinning import thinned

import chasles as ch
from chasles.base.errors import ModelError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    ModelWarning,
    load,
    parse_mjcf,
    to_mjcf,
    write,
)


def compiled(robot: ch.Robot) -> tuple[Any, Any]:
    model = mujoco.MjModel.from_xml_string(ch.model.write(robot.description, "mjcf"))
    return model, mujoco.MjData(model)


def mass_matrix(model: Any, data: Any) -> np.ndarray:
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    return M


@pytest.mark.parametrize("name", thinned(["panda", "iiwa14", "stanford", "ur5", "scara", "planar2r"]))
def test_shipped_robots_move_as_here(name: str) -> None:
    robot = ch.load(name).with_payload(1.5, [0.0, 0.01, 0.1], np.diag([0.01, 0.02, 0.02]))
    model, data = compiled(robot)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, robot.n)
        data.qpos[:], data.qvel[:] = q, 0.0
        mujoco.mj_forward(model, data)
        armature = np.diag([j.gear_ratio**2 * j.motor_inertia for j in robot.description.coordinates])
        expected = robot.mass_matrix(q)
        assert np.abs(armature).max() <= np.abs(expected).max()
        np.testing.assert_allclose(mass_matrix(model, data), expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())
        g = robot.gravity_torque(q)
        np.testing.assert_allclose(data.qfrc_bias, g, rtol=0.0, atol=1e-11 * (1.0 + np.abs(g).max()))
        for link in robot.description.link_names:
            T = robot.forward_kinematics(q, target=link)
            place = data.body(link) if link != "world" else data.body(0)
            np.testing.assert_allclose(place.xpos, T[:3, 3], rtol=0.0, atol=1e-12)
            np.testing.assert_allclose(place.xmat.reshape(3, 3), T[:3, :3], rtol=0.0, atol=1e-12)


def turned(axis: list[float], angle: float, *position: float) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = ch.geometry.rotation_from_axis_angle(np.array(axis) / np.linalg.norm(axis), angle)
    T[:3, 3] = position
    return T


def everything() -> Description:
    """A robot with every kind of joint that MJCF has or can be given, frames, a mimic, limits and motors."""
    body = Inertia(2.0, [0.01, -0.02, 0.03], [[0.02, 0.001, 0], [0.001, 0.03, 0.002], [0, 0.002, 0.025]])
    names = ("cart", "trunk", "hip", "plate", "ball", "sleeve", "finger", "thumb")
    A, B = turned([1, 2, 3], 0.7, 0.1, -0.2, 0.3), turned([-1, 0.5, 2], -0.4, 0.05, 0.1, -0.02)
    joints = (
        Joint("flight", "free", "ground", "cart", A),
        Joint("waist", "revolute", "cart", "trunk", A, B, [1, 1, 0], limits=Limits(-1.0, 2.0, 3.0, 40.0)),
        Joint("cross", "universal", "trunk", "hip", B, A, [0, 0, 1], second_axis=[1, 0, 0], viscous_friction=0.3),
        Joint("table", "planar", "hip", "plate", A, B, [0, 1, 0]),
        Joint("socket", "spherical", "plate", "ball", B, turned([0, 0, 1], 0.3, 0.1, 0.2, 0.3)),
        Joint("tube", "cylindrical", "trunk", "sleeve", A, B, [1, 0, 1], coulomb_friction=0.2),
        Joint("grip", "prismatic", "sleeve", "finger", B, limits=Limits(upper=0.05), motor_inertia=2e-5, gear_ratio=50),
        Joint("follow", "prismatic", "sleeve", "thumb", A, mimic=Mimic("grip", -1.0, 0.01)),
    )
    return Description(
        "everything",
        links=(Link("ground"), *(Link(name, body) for name in names)),
        joints=joints,
        frames=(Frame("camera", "plate", turned([1, 0, 0], 0.5, 0.0, 0.0, 0.1)),),
        gravity=np.array([0.3, -0.2, -9.0]),
        T_world_base=turned([0, 1, 0], 0.2, 1.0, 2.0, 3.0),
        tool="finger",
    )


def test_every_kind_of_joint_at_home() -> None:
    description = everything()
    q = ch.Robot(description).random_configuration(2)
    robot = ch.Robot(description.replace(home=np.clip(q, description.lower_limits, description.upper_limits)))
    model, data = compiled(robot)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    for link in robot.description.link_names:
        T = robot.forward_kinematics(robot.home, target=link)
        np.testing.assert_allclose(data.body(link).xpos, T[:3, 3], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(data.body(link).xmat.reshape(3, 3), T[:3, :3], rtol=0.0, atol=1e-12)
    camera = robot.forward_kinematics(robot.home, target="camera")
    np.testing.assert_allclose(data.site("camera").xpos, camera[:3, 3], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(model.opt.gravity, robot.description.gravity)
    waist, grip, follow = (model.joint(name) for name in ("waist", "grip", "follow"))
    np.testing.assert_allclose(waist.range, [-1.0, 2.0])
    np.testing.assert_allclose(model.jnt_actfrcrange[waist.id], [-40.0, 40.0])
    np.testing.assert_allclose(grip.range, [-1e10, 0.05])
    assert model.dof_armature[grip.dofadr[0]] == pytest.approx(0.05, rel=1e-15)
    assert [float(model.dof_damping[model.joint(name).dofadr[0]]) for name in ("cross.first", "cross.second")] == [
        0.3
    ] * 2
    assert float(model.dof_frictionloss[model.joint("tube.angle").dofadr[0]]) == 0.2
    np.testing.assert_allclose(model.eq_data[0][:2], [0.01, -1.0])
    assert (model.eq_obj1id[0], model.eq_obj2id[0]) == (follow.id, grip.id)


def test_kinetic_energy_of_every_kind_of_joint() -> None:
    """MuJoCo's energy is that of the links' motions, told by central differences of their poses, and of the rotor."""
    robot = ch.Robot(everything())
    model, data = compiled(robot)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    qpos = data.qpos.copy()
    rng = np.random.default_rng(3)
    velocity = rng.normal(size=model.nv)
    leader, follower = (int(model.joint(name).dofadr[0]) for name in ("grip", "follow"))
    velocity[follower] = -velocity[leader]
    data.qvel[:] = velocity
    mujoco.mj_forward(model, data)
    energy = 0.5 * velocity @ mass_matrix(model, data) @ velocity
    motions = []
    for sign in (1.0, -1.0):
        data.qpos[:] = qpos
        mujoco.mj_integratePos(model, data.qpos, velocity, sign * 1e-6)
        mujoco.mj_forward(model, data)
        bodies = {name: data.body(name) for name in robot.description.link_names[1:]}
        motions.append({name: (body.xipos.copy(), body.xmat.reshape(3, 3).copy()) for name, body in bodies.items()})
    total = 0.5 * 0.05 * velocity[leader] ** 2
    for link in robot.description.links[1:]:
        (ahead, R_ahead), (behind, R_behind) = (motion[link.name] for motion in motions)
        v = (ahead - behind) / 2e-6
        omega = ch.geometry.log_rotation(R_behind.T @ R_ahead) / 2e-6
        total += 0.5 * link.inertia.mass * v @ v + 0.5 * omega @ link.inertia.matrix @ omega
    assert energy == pytest.approx(total, rel=1e-6)


def test_a_robot_that_is_read_back_is_the_same_robot() -> None:
    robot = ch.load("panda")
    read = ch.Robot(parse_mjcf(ch.model.write(robot.description, "mjcf"), tool="panda_hand_tcp"))
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 20, 7))
    np.testing.assert_allclose(
        read.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-11, atol=1e-11
    )
    np.testing.assert_array_equal(read.effort_limits, robot.effort_limits)
    np.testing.assert_array_equal(read.home, robot.home)


@pytest.mark.parametrize(
    ("joint", "inertia", "message"),
    [
        (Joint("j", "revolute", "a", "b"), Inertia(), "link 'b' moves and has no mass"),
        (Joint("j", "helical", "a", "b", pitch=0.1), Inertia(1.0), "joint 'j' is helical"),
    ],
)
def test_what_mujoco_cannot_simulate_is_refused(joint: Joint, inertia: Inertia, message: str) -> None:
    robot = Description("robot", links=(Link("a"), Link("b", inertia)), joints=(joint,))
    with pytest.raises(ModelError, match=message):
        to_mjcf(robot)


def test_a_free_joint_on_a_moving_link_is_refused() -> None:
    links = (Link("a"), Link("b", Inertia(1.0)), Link("c", Inertia(1.0)))
    joints = (Joint("hinge", "revolute", "a", "b"), Joint("loose", "free", "b", "c"))
    with pytest.raises(ModelError, match="joint 'loose' is free, but not on the root"):
        to_mjcf(Description("robot", links=links, joints=joints))


def test_hostile_names_stay_names() -> None:
    name = "<\"&'>"
    links = (Link("a"), Link(name, Inertia(1.0, [0, 0, 0], np.eye(3))))
    robot = Description(name, links=links, joints=(Joint(name + "j", "revolute", "a", name),))
    assert parse_mjcf(to_mjcf(robot)).joint_names == (name + "j",)


@pytest.mark.parametrize("form", ["mjcf", "toml"])
def test_a_plan_whose_loops_nobody_has_closed_is_written(form: str) -> None:
    plan = load("stewart")
    assert not plan.is_assembled
    assert plan.loops[0].name in write(plan, form)


def test_friction_that_has_no_place_is_named() -> None:
    arm = ch.load("planar2r").with_friction(
        coulomb={"joint2": 1.0}, coulomb_velocity=0.1, torque_offset={"joint1": 1.0}
    )
    with pytest.warns(ModelWarning) as warned:
        ch.model.write(arm.description, "mjcf")
    left_out = [str(one.message).partition(", which has no place for it: ")[2] for one in warned]
    assert left_out == [
        "torque_offset of joint1; a TOML file holds it",
        "coulomb_velocity of joint2; a TOML file holds it",
    ]
