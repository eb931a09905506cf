"""The kinematic tree of random robots of every joint kind, compared with what their descriptions say link by link."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.model import (
    Description,
    Frame,
    Inertia,
    Joint,
    Link,
    Mimic,
    build_tree,
    load,
    parameter_shapes,
    with_payload,
    with_values,
)

KINDS = ("revolute", "continuous", "prismatic", "helical", "fixed")


def random_placement(rng: np.random.Generator) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = Rotation.random(random_state=rng).as_matrix()
    T[:3, 3] = rng.uniform(-1.0, 1.0, 3)
    return T


def random_inertia(rng: np.random.Generator) -> Inertia:
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1.0, 6)
    center = masses @ points / masses.sum()
    arms = points - center
    matrix = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True))
    return Inertia(masses.sum(), center, (matrix + matrix.T) / 2)


def random_robot(seed: int, count: int = 9) -> Description:
    rng = np.random.default_rng(seed)
    links = [Link("link0", random_inertia(rng))]
    joints: list[Joint] = []
    for index in range(1, count + 1):
        kind: Any = KINDS[(index + seed) % len(KINDS)]
        earlier = [joint.name for joint in joints if joint.moves]
        joints.append(
            Joint(
                f"joint{index}",
                kind,
                f"link{rng.integers(index)}",
                f"link{index}",
                T_parent_joint=random_placement(rng),
                T_joint_child=random_placement(rng),
                axis=rng.normal(size=3) if seed % 2 else rng.permutation([0.0, 0.0, rng.choice([-1.0, 1.0])]),
                pitch=0.3 if kind == "helical" else 0.0,
                motor_inertia=rng.uniform(0.0, 0.1),
                gear_ratio=3.0,
                mimic=Mimic(str(rng.choice(earlier)), -1.5, 0.2)
                if index % 4 == 0 and earlier and kind != "fixed"
                else None,
            )
        )
        links.append(Link(f"link{index}", random_inertia(rng)))
    frames = (Frame("tool", f"link{count}", random_placement(rng)),)
    robot = Description("random", tuple(links), tuple(joints), frames, T_world_base=random_placement(rng))
    return robot.replace(gravity=rng.normal(size=3))


def link_poses(robot: Description, q: np.ndarray) -> dict[str, np.ndarray]:
    """Poses of all links by the definition of a joint, without any tree."""
    position = dict(zip(robot.joint_names, q, strict=True))
    by_name = {joint.name: joint for joint in robot.joints}

    def joint_position(name: str) -> float:
        mimic = by_name[name].mimic
        return position[name] if mimic is None else mimic.ratio * joint_position(mimic.joint) + mimic.offset

    poses = {"link0": robot.T_world_base}
    for joint in robot.joints:
        motion = np.eye(4)
        if joint.kind != "fixed":
            s = joint_position(joint.name)
            turns = joint.kind != "prismatic"
            motion[:3, :3] = Rotation.from_rotvec(joint.axis * s * turns).as_matrix()
            motion[:3, 3] = joint.axis * s * (joint.pitch if turns else 1.0)
        poses[joint.child] = poses[joint.parent] @ joint.T_parent_joint @ motion @ joint.T_joint_child
    return poses


@pytest.mark.parametrize("seed", range(10))
def test_frames_are_where_the_joints_put_them(seed: int, reference: SimpleNamespace) -> None:
    robot = random_robot(seed)
    tree = build_tree(robot)
    q = np.random.default_rng(seed).uniform(-3.0, 3.0, robot.n)
    poses = link_poses(robot, q)
    poses["tool"] = poses["link9"] @ robot.frames[0].T_link_frame
    assert list(tree.frames) == list(robot.frame_names)
    for name, T in poses.items():
        assert np.abs(reference.frame_pose(tree, q, name) - T).max() < 1e-13


@pytest.mark.parametrize("seed", range(10))
def test_folded_inertias_have_the_kinetic_and_potential_energy_of_the_links(
    seed: int, reference: SimpleNamespace
) -> None:
    robot = random_robot(seed)
    rng = np.random.default_rng(seed)
    q, qd = rng.uniform(-2.0, 2.0, (2, robot.n))
    h = 1e-5
    before, now, after = (link_poses(robot, q + step * qd) for step in (-h, 0.0, h))
    kinetic = power = 0.0
    for link in robot.links:
        rate = (after[link.name] - before[link.name]) / (2 * h)
        omega = rate[:3, :3] @ now[link.name][:3, :3].T
        omega_link = now[link.name][:3, :3].T @ [omega[2, 1], omega[0, 2], omega[1, 0]]
        v = (rate @ [*link.inertia.center_of_mass, 1.0])[:3]
        moving = link.name in {joint.child for joint in robot.joints}
        kinetic += 0.5 * (link.inertia.mass * v @ v + omega_link @ link.inertia.matrix @ omega_link) * moving
        power -= link.inertia.mass * robot.gravity @ v
    for joint in robot.joints:
        if joint.moves:
            driver, ratio, _ = robot.mimics[joint.name]
            speed = ratio * qd[robot.joint_names.index(driver)]
            kinetic += 0.5 * joint.gear_ratio**2 * joint.motor_inertia * speed**2
    M, g = reference.mass_matrix_and_gravity(build_tree(robot), q)
    assert 0.5 * qd @ M @ qd == pytest.approx(kinetic, rel=1e-8)
    assert g @ qd == pytest.approx(power, rel=1e-8)


def test_bodies_come_after_their_parents_and_turn_about_z() -> None:
    for seed in range(5):
        tree = build_tree(random_robot(seed))
        for index, body in enumerate(tree.bodies):
            assert body.parent < index
            assert np.abs(body.R_parent_body.T @ body.R_parent_body - np.eye(3)).max() < 1e-14
            assert (body.inertia == body.inertia.T).all()


@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3)])
def test_coordinate_axes_stay_exact(axis: np.ndarray) -> None:
    T = np.eye(4)
    T[:3, 3] = [0.1, 0.2, 0.3]
    joint = Joint("j", "revolute", "a", "b", T_parent_joint=T, axis=axis)
    tree = build_tree(Description("r", (Link("a"), Link("b", Inertia(1.0, [0.0, 0.0, 0.5]))), (joint,)))
    body = tree.bodies[0]
    assert set(np.abs(body.R_parent_body).ravel()) == {0.0, 1.0}
    assert (body.R_parent_body @ [0, 0, 1] == axis).all()
    assert np.count_nonzero(body.p_parent_body) == 2
    assert (body.p_parent_body @ axis) == 0.0


def test_right_angles_of_the_shipped_arms_stay_exact() -> None:
    for name in ("panda", "iiwa14", "puma560", "stanford", "ur5", "scara", "planar2r"):
        for body in build_tree(load(name)).bodies:
            assert set(np.abs(body.R_parent_body).ravel()) == {0.0, 1.0}, (name, body.name)


def test_payload_is_a_body_fixed_to_the_tool(reference: SimpleNamespace) -> None:
    robot = random_robot(3)
    inertia = random_inertia(np.random.default_rng(1))
    carried = with_payload(robot, inertia.mass, inertia.center_of_mass, inertia.matrix)
    T = robot.frames[0].T_link_frame
    welded = robot.replace(
        links=(*robot.links, Link("load", inertia)),
        joints=(*robot.joints, Joint("weld", "fixed", "link9", "load", T_parent_joint=T)),
    )
    values = {"mass": inertia.mass, "center_of_mass": inertia.center_of_mass, "inertia": inertia.matrix}
    trees = (
        build_tree(carried),
        build_tree(welded),
        build_tree(robot, {f"payload.{name}": value for name, value in values.items()}),
    )
    q = np.linspace(-1.0, 1.0, robot.n)
    expected, _ = reference.mass_matrix_and_gravity(trees[1], q)
    for tree in trees:
        assert np.abs(reference.mass_matrix_and_gravity(tree, q)[0] - expected).max() < 1e-12


def test_payload_on_a_fixed_tool_weighs_nothing() -> None:
    robot = Description("r", (Link("a"), Link("b", Inertia(1.0))), (Joint("j", "prismatic", "a", "b"),), tool="a")
    assert build_tree(with_payload(robot, 5.0)).bodies[0].mass == 1.0


def test_values_replace_what_the_description_says() -> None:
    robot = load("puma560")
    rng = np.random.default_rng(0)
    values: dict[str, Any] = {}
    for name, shape in parameter_shapes(robot).items():
        value = rng.uniform(0.1, 1.0, shape)
        values[name] = value + value.T + 2.0 * np.eye(3) if shape == (3, 3) else value if shape else float(value)
    assert set(parameter_shapes(robot)) >= {
        "gravity",
        "payload.mass",
        "links.link3.inertia",
        "joints.joint2.gear_ratio",
    }
    replaced, baked = build_tree(robot, values), build_tree(with_values(robot, values))
    assert (replaced.gravity == values["gravity"]).all()
    for one, other in zip(replaced.bodies, baked.bodies, strict=True):
        for field in ("mass", "first_moment", "inertia", "armature", "viscous_friction", "coulomb_velocity"):
            assert np.array_equal(getattr(one, field), getattr(other, field)), field
        for field in ("R_parent_body", "p_parent_body"):
            assert np.abs(getattr(one, field) - getattr(other, field)).max() < 1e-14, field
    for name, place in replaced.frames.items():
        assert np.abs(place.p_body_frame - baked.frames[name].p_body_frame).max() < 1e-14, name
    assert baked.bodies[5].mass == pytest.approx(values["links.link6.mass"] + values["payload.mass"])


def test_impossible_values_are_refused() -> None:
    robot = load("puma560")
    with pytest.raises(ModelError, match=r"payload: .*mass"):
        with_payload(robot, -1.0)
    with pytest.raises(ModelError, match=r"link 'link2': .*mass"):
        with_values(robot, {"links.link2.mass": -3.0})
    with pytest.raises(ModelError, match=r"payload: .*principal moment"):
        with_values(robot, {"payload.inertia": -np.eye(3)})


def test_symbols_pass_through_the_builder() -> None:
    sympy = importlib.import_module("sympy")
    robot = random_robot(1)
    names = {"payload.mass": (), "payload.center_of_mass": (3,), "links.link9.inertia": (3, 3), "gravity": (3,)}
    moving = robot.coordinates[0].name
    names |= {f"joints.{moving}.{field}": () for field in ("gear_ratio", "motor_inertia", "viscous_friction")}
    rng = np.random.default_rng(0)
    symbols: dict[str, Any] = {}
    numbers: dict[str, Any] = {}
    substitution = {}
    for name, shape in names.items():
        value = rng.uniform(0.5, 1.0, shape)
        value = value + value.T if shape == (3, 3) else value
        symbol = np.array([sympy.Symbol(f"{name}_{i}") for i in range(int(np.prod(shape)))], dtype=object).reshape(
            shape
        )
        substitution |= dict(zip(symbol.ravel().tolist(), np.ravel(value).tolist(), strict=True))
        symbols[name], numbers[name] = (symbol, value) if shape else (symbol.item(), float(value))
    traced, plain = build_tree(robot, symbols), build_tree(robot, numbers)
    for one, other in zip(traced.bodies, plain.bodies, strict=True):
        for field in ("mass", "first_moment", "inertia", "armature", "viscous_friction"):
            entries = np.ravel(getattr(one, field)).tolist()
            evaluated = [float(sympy.sympify(entry).subs(substitution)) for entry in entries]
            assert np.allclose(evaluated, np.ravel(getattr(other, field)), rtol=1e-13, atol=1e-13), field


def test_known_parts_fold_when_the_builder_is_traced() -> None:
    from chasles.engine import Scalar, trace

    seen: list[Any] = []

    def last_body(mass: Any, center: Any) -> Any:
        body = build_tree(load("puma560"), {"payload.mass": mass, "payload.center_of_mass": center}).bodies[-1]
        seen.append(body)
        return body.inertia

    program = trace(last_body, {"mass": (), "center": (3,)})
    assert isinstance(seen[0].mass, Scalar)
    # Nine elements of a parallel-axis theorem take a few dozen operations, if the rotation of the tool folds away.
    assert len(program.instructions) < 60


def test_wrong_values_say_what_is_wrong() -> None:
    robot = load("planar2r")
    with pytest.raises(UnknownNameError, match=r"no parameter 'payload.mas'.* Did you mean 'payload.mass'"):
        build_tree(robot, {"payload.mas": 1.0})
    with pytest.raises(ArgumentError, match=r"'gravity' must have shape \(3,\), not \(2,\)"):
        build_tree(robot, {"gravity": [0.0, 9.81]})


def test_a_stone_is_a_robot_without_joints() -> None:
    robot = Description("stone", (Link("rock", Inertia(2.0)), Link("moss")), (Joint("weld", "fixed", "rock", "moss"),))
    tree = build_tree(robot)
    assert (robot.n, tree.n, tree.bodies) == (0, 0, ())
    assert {name: place.body for name, place in tree.frames.items()} == {"rock": -1, "moss": -1}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_torques_of_moved_joints_are_those_of_a_robot_built_that_way(name: str) -> None:
    arm = ch.load(name)
    rng = np.random.default_rng(3)
    moved = {name: rng.normal(size=3) for name in arm.parameters if name.endswith(("position", "roll_pitch_yaw"))}
    built = arm.with_values(moved)
    q, qd, qdd = rng.normal(size=(3, 7, arm.n))
    torques = built.inverse_dynamics(q, qd, qdd)
    assert np.abs(arm.inverse_dynamics(q, qd, qdd, vary=moved) - torques).max() < 1e-12 * np.abs(torques).max()
    assert np.abs(arm.forward_kinematics(q, vary=moved) - built.forward_kinematics(q)).max() < 1e-13


def test_derivatives_with_respect_to_a_link_s_length() -> None:
    arm, length = ch.load("planar2r"), "joints.joint1.child_position"
    slope = arm.gravity_torque.specialize(vary=[length]).jacobian("g", length)
    q, h = np.array([0.4, -0.9]), 1e-6
    ahead, behind = ([0.5 + sign * h, 0.0, 0.0] for sign in (1, -1))
    difference = arm.gravity_torque(q, vary={length: ahead}) - arm.gravity_torque(q, vary={length: behind})
    assert slope(q, [0.5, 0.0, 0.0])[:, 0] == pytest.approx(difference / (2.0 * h), abs=1e-8)
