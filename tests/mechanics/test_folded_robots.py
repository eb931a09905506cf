"""Robots with locked, cut and attached parts have the numbers of the whole ones, and of Pinocchio's reduced models."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import numpy as np
import pytest
from tests.oracles.example_robots import example, with_complete_digits_of_pi

import chasles as ch
from chasles import algorithms
from chasles.base.errors import ModelError
from chasles.model import Description, Inertia, Joint, Link, build_tree, from_urdf, load, with_payload
from chasles.model.cutting import sub_chain, sub_tree, without
from chasles.model.editing import attach
from chasles.model.locking import lock_joints, simplified

TOLERANCE = 1e-12
LOCKS = [
    ["hinge"],
    ["slide"],
    ["ball"],
    ["cardan"],
    ["wheel"],
    ["sleeve"],
    ["table"],
    ["flight"],
    ["arm"],
    ["hinge", "ball", "flight"],
    ["slide", "cardan", "sleeve", "table", "arm"],
    ["hinge", "slide", "ball", "cardan", "sleeve", "table", "flight", "arm"],
]


def places(description: Description, names: Sequence[str], *, velocities: bool) -> list[int]:
    """Where the coordinates or velocities of some joints are."""
    found = []
    for name in names:
        joint = description.joint(name)
        start = description.starts[name][velocities]
        found += range(start, start + len(joint.velocity_names if velocities else joint.coordinate_names))
    return found


def close(actual: object, expected: object) -> bool:
    expected = np.asarray(expected)
    error = np.abs(np.asarray(actual) - expected).max(initial=0.0)
    return bool(error <= TOLERANCE * max(1.0, np.abs(expected).max(initial=0.0)))


def check_same_motion(whole: Description, part: Description, rng: np.random.Generator) -> None:
    """The part's own joints move; in the whole the others are where the part has them, at home."""
    of_part, of_whole = build_tree(part), build_tree(whole)
    inner_q = places(whole, part.joint_names, velocities=False)
    inner_v = places(whole, part.joint_names, velocities=True)
    moving = [link.name for link in part.links if of_part.frames[link.name].body >= 0]
    held = [name for name in part.frame_names if name in whole.frame_names]
    constant = []
    for _ in range(3):
        p = ch.Robot(part).random_configuration(rng)
        pd, pdd = rng.normal(size=(2, part.n))
        q, qd, qdd = whole.home.copy(), np.zeros(whole.n), np.zeros(whole.n)
        q[inner_q], qd[inner_v], qdd[inner_v] = p, pd, pdd
        poses, poses_of_whole = algorithms.all_frames(of_part, p), algorithms.all_frames(of_whole, q)
        where = [whole.frame_names.index(name) for name in held]
        assert close(poses[[part.frame_names.index(name) for name in held]], poses_of_whole[where])
        tau = algorithms.inverse_dynamics(of_whole, q, qd, qdd)
        assert close(algorithms.inverse_dynamics(of_part, p, pd, pdd), tau[inner_v])
        M = algorithms.mass_matrix(of_whole, q)
        assert close(algorithms.mass_matrix(of_part, p), M[np.ix_(inner_v, inner_v)])
        assert close(algorithms.kinetic_energy(of_part, p, pd), algorithms.kinetic_energy(of_whole, q, qd))
        constant.append(algorithms.potential_energy(of_part, p) - algorithms.potential_energy(of_whole, q))
        assert close(moment(whole, moving, poses_of_whole), moment(part, moving, poses))
        if part.links:
            center = algorithms.center_of_mass(of_part, p)
            mass = sum(body.mass for body in of_part.bodies)
            assert close(center * mass, moment(part, moving, poses) + payload_moment(part, moving, poses))
    assert np.ptp(constant) < 1e-11


def moment(description: Description, links: Sequence[str], poses: np.ndarray) -> np.ndarray:
    """Sum of masses times positions of some links."""
    total = np.zeros(3)
    for name in links:
        inertia, T = description.link(name).inertia, poses[description.frame_names.index(name)]
        total += inertia.mass * (T[:3, :3] @ inertia.center_of_mass + T[:3, 3])
    return total


def payload_moment(description: Description, moving: Sequence[str], poses: np.ndarray) -> np.ndarray:
    if description.frame(description.tool).link not in moving:
        return np.zeros(3)
    T = poses[description.frame_names.index(description.tool)]
    return description.payload.mass * (T[:3, :3] @ description.payload.center_of_mass + T[:3, 3])


@pytest.mark.parametrize("names", LOCKS, ids="+".join)
def test_locked_at_home(every_kind: Description, names: list[str]) -> None:
    locked = lock_joints(every_kind, names)
    assert locked.joint_names == tuple(name for name in every_kind.joint_names if name not in names)
    check_same_motion(every_kind, locked, np.random.default_rng(1))


@pytest.mark.parametrize("seed", range(4))
def test_locked_at_values(every_kind: Description, seed: int) -> None:
    """Locking at values is moving home there and locking at home."""
    rng = np.random.default_rng(seed)
    names = list(rng.permutation(every_kind.joint_names)[:4])
    home = every_kind.home.copy()
    values = {}
    for name in names:
        where = places(every_kind, [name], velocities=False)
        home[where] = rng.uniform(-2.0, 2.0, len(where))
        values[name] = home[where] if len(where) > 1 else home[where[0]]
    moved = every_kind.replace(home=home)
    assert lock_joints(every_kind, values) == lock_joints(moved, names)
    check_same_motion(moved, lock_joints(every_kind, values), rng)


@pytest.mark.parametrize("names", LOCKS, ids="+".join)
def test_simplified_is_the_same_robot_with_fewer_links(every_kind: Description, names: list[str]) -> None:
    locked = lock_joints(every_kind, names)
    simple = simplified(locked)
    assert set(simple.frame_names) == set(locked.frame_names)
    assert all(joint.moves for joint in simple.joints)
    assert len(simple.links) == 1 + len(simple.joints)
    rng = np.random.default_rng(0)
    q, (qd, qdd) = ch.Robot(locked).random_configuration(rng), rng.normal(size=(2, locked.n))
    a, b = build_tree(locked), build_tree(simple)
    for compute in (
        lambda tree: algorithms.inverse_dynamics(tree, q, qd, qdd),
        lambda tree: algorithms.mass_matrix(tree, q),
        lambda tree: algorithms.kinetic_energy(tree, q, qd),
        lambda tree: algorithms.potential_energy(tree, q),
        lambda tree: algorithms.center_of_mass(tree, q),
        lambda tree: algorithms.momentum_and_drift(tree, q, qd)[0],
        lambda tree: [algorithms.forward_kinematics(tree, q, name) for name in locked.frame_names],
    ):
        assert close(compute(b), compute(a))
    assert simplified(simple) == simple


@pytest.mark.parametrize(
    ("base", "tip", "joints"),
    [
        ("base", "tip", ["hinge", "slide", "ball", "cardan", "wheel"]),
        ("base", "cardan_link", ["hinge", "slide", "ball", "cardan"]),
        ("hinge_link", "tail", ["sleeve", "table", "pin", "screw"]),
        ("ball_link", "wheel_link", ["cardan", "wheel"]),
        ("base", "flight_link", ["flight"]),
        ("table_link", "screw_link", ["pin", "screw"]),
    ],
)
def test_sub_chains(every_kind: Description, base: str, tip: str, joints: list[str]) -> None:
    """With its branches locked, a chain on a base at rest is the whole robot with all other joints at rest at home."""
    part = sub_chain(every_kind, base, tip)
    assert [joint.name for joint in part.ordered_joints if joint.moves and joint.name in joints] == joints
    assert part.root == base
    assert simplified(part).frame(part.tool).link == every_kind.frame(tip).link
    outside = [name for name in every_kind.joint_names if name not in joints]
    locked = lock_joints(every_kind, outside)
    if set(joints) & {"pin", "screw"} and "hinge" not in joints:
        assert part.joint_names[-1] == "pin"  # it followed the hinge, which is not in the chain
        return
    check_same_motion(locked, part, np.random.default_rng(3))


def test_followers_without_their_leader_stay_coupled(every_kind: Description) -> None:
    part = sub_tree(every_kind, "sleeve_link")
    assert part.joint_names == ("table", "pin")
    screw = part.joint("screw")
    assert screw.mimic is not None
    assert (screw.mimic.joint, screw.mimic.ratio, screw.mimic.offset) == ("pin", 1.5, -0.1)
    whole = build_tree(every_kind)
    q = every_kind.home.copy()
    p = part.home.copy()
    for hinge in (-0.5, 0.8):
        q[every_kind.starts["hinge"][0]] = hinge
        p[part.starts["pin"][0]] = -0.7 * hinge + 0.2
        relative = [
            np.linalg.solve(algorithms.forward_kinematics(tree, x, "sleeve_link"), T)
            for tree, x in ((whole, q), (build_tree(part), p))
            for T in [algorithms.forward_kinematics(tree, x, "tail")]
        ]
        assert close(relative[1], relative[0])


def test_two_followers_of_one_leader_that_goes() -> None:
    joints = (
        Joint("leader", "revolute", "base", "a"),
        Joint("first", "revolute", "a", "b", mimic=ch.model.Mimic("leader", 2.0, 0.3)),
        Joint("still", "revolute", "b", "c", mimic=ch.model.Mimic("leader", 0.0, 0.4)),
        Joint("second", "prismatic", "c", "d", mimic=ch.model.Mimic("leader", -3.0, 0.5)),
    )
    robot = Description("r", tuple(Link(name) for name in ("base", "a", "b", "c", "d")), joints)
    part = sub_tree(robot, "a")
    assert part.joint_names == ("first",)
    assert not part.joint("still").moves
    _, ratio, offset = part.mimics["second"]
    for leader in (-1.0, 0.7):
        assert ratio * (2.0 * leader + 0.3) + offset == pytest.approx(-3.0 * leader + 0.5)


def test_dropped_branches_leave_only_the_way(every_kind: Description) -> None:
    part = sub_chain(every_kind, "hinge_link", "cardan_link", branches="drop")
    assert part.link_names == ("hinge_link", "slide_link", "ball_link", "bracket_link", "cardan_link")
    assert part.frames == ()
    assert part.tool == "cardan_link"
    assert part.payload == Inertia()
    bare = without(without(sub_tree(every_kind, "hinge_link"), "sleeve_link"), "wheel_link")
    assert part == bare.replace(tool="cardan_link")


def test_what_is_attached_can_be_cut_off_again(every_kind: Description) -> None:
    for frame in every_kind.frame_names:
        both = attach(every_kind, load("puma560"), frame, prefix="p_", tool="tip")
        assert without(both, "p_link0") == every_kind
        again = sub_tree(both, "p_link0").replace(tool="p_tool", gravity=load("puma560").gravity)
        assert again.replace(T_world_base=np.eye(4), source=load("puma560").source, name="puma560") == (
            ch.Robot(load("puma560")).edit.renamed(prefix="p_").description
        )


def test_an_attached_robot_moves_as_if_its_base_were_there(every_kind: Description) -> None:
    """On a frame that stands in the world, each of the two robots has its own torques."""
    T = every_kind.frame("mark").T_link_frame
    panda = load("panda")
    both = attach(every_kind, panda, "mark", T_frame_base=np.eye(4)[[1, 2, 0, 3]])
    alone = panda.replace(
        T_world_base=every_kind.T_world_base @ T @ np.eye(4)[[1, 2, 0, 3]], gravity=every_kind.gravity
    )
    rng = np.random.default_rng(0)
    q, p = ch.Robot(every_kind).random_configuration(rng), ch.Robot(panda).random_configuration(rng)
    (qd, qdd), (pd, pdd) = rng.normal(size=(2, every_kind.n)), rng.normal(size=(2, 7))
    assert both.joint_names == every_kind.joint_names + panda.joint_names
    assert np.array_equal(both.home, [*every_kind.home, *panda.home])
    together = algorithms.inverse_dynamics(
        build_tree(both), *(np.concatenate(x) for x in ((q, p), (qd, pd), (qdd, pdd)))
    )
    assert close(together[: every_kind.n], algorithms.inverse_dynamics(build_tree(every_kind), q, qd, qdd))
    assert close(together[every_kind.n :], algorithms.inverse_dynamics(build_tree(alone), p, pd, pdd))


def test_an_attached_tool_is_a_payload() -> None:
    arm = load("puma560")
    rng = np.random.default_rng(2)
    matrix = np.diag([0.02, 0.03, 0.04])
    hammer = Description("hammer", links=(Link("head", Inertia(2.0, [0.1, 0.0, 0.2], matrix)),))
    q, qd, qdd = rng.normal(size=(3, 6))
    for frame in ("tool", "link3"):
        held = attach(arm, hammer, frame)
        loaded = with_payload(arm, 2.0, [0.1, 0.0, 0.2], matrix, frame=frame)
        tau = [algorithms.inverse_dynamics(build_tree(robot), q, qd, qdd) for robot in (held, loaded)]
        assert close(tau[0], tau[1])
        assert held.tool == ("head" if frame == "tool" else "tool")


def test_robots_and_descriptions_are_attached_alike() -> None:
    arm, tool = ch.load("puma560"), Description("tip", links=(Link("point", Inertia(0.1)),))
    assert arm.edit.attach(tool) == arm.edit.attach(ch.Robot(tool)) == ch.Robot(attach(arm.description, tool))
    with pytest.raises(ModelError, match="what is attached must be a robot, not 'panda'"):
        arm.edit.attach("panda")  # type: ignore[arg-type]


def test_a_floating_robot_against_a_reduced_model_of_pinocchio() -> None:
    pin = importlib.import_module("pinocchio")
    path = example("solo_description/robots/solo.urdf")
    values = {"FL_HFE": 0.5, "HR_KFE": -1.2, "HR_HFE": 2.0}
    robot = ch.load(path, check=False).with_free_base(joint="root_joint").edit.lock(values)
    whole = pin.buildModelFromXML(with_complete_digits_of_pi(path.read_text()), pin.JointModelFreeFlyer())
    whole.armature = np.zeros(whole.nv)
    reference = pin.neutral(whole)
    for joint, value in values.items():
        reference[whole.joints[whole.getJointId(joint)].idx_q] = value
    model = pin.buildReducedModel(whole, [whole.getJointId(joint) for joint in values], reference)
    data = model.createData()
    rows = [3, 4, 5, 0, 1, 2] + [model.joints[model.getJointId(joint)].idx_v for joint in robot.joint_names[1:]]
    rng = np.random.default_rng(1)
    for _ in range(3):
        q, (qd, qdd) = robot.random_configuration(rng), rng.normal(size=(2, robot.n))
        x, v, a = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        x[:7] = q[[4, 5, 6, 1, 2, 3, 0]]
        x[np.array(rows[6:]) + 1] = q[7:]
        v[rows], a[rows] = qd, qdd
        tau = robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(q, qd)
        assert np.allclose(tau, pin.rnea(model, data, x, v, a)[rows], rtol=1e-10, atol=1e-10)
        assert np.allclose(robot.center_of_mass(q), pin.centerOfMass(model, data, x), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "locked"),
    [
        ("ur_description/urdf/ur5_robot.urdf", {"shoulder_lift_joint": -1.0, "wrist_2_joint": 0.4}),
        ("talos_data/robots/talos_left_arm.urdf", {"arm_left_3_joint": 0.3, "gripper_left_joint": -0.2}),
        ("solo_description/robots/solo.urdf", {"FL_HFE": 0.5, "HR_KFE": -1.2, "FR_HFE": 2.0}),
        ("tiago_description/robots/tiago_no_hand.urdf", {"torso_lift_joint": 0.2, "arm_4_joint": 1.0}),
    ],
    ids=lambda value: value.rsplit("/", 1)[-1] if isinstance(value, str) else "",
)
def test_against_reduced_models_of_pinocchio(name: str, locked: dict[str, float]) -> None:
    pin = importlib.import_module("pinocchio")
    description = from_urdf(example(name), check=False)
    own = {joint: value for joint, value in locked.items() if joint in description.joint_names}
    assert own
    whole = pin.buildModelFromXML(with_complete_digits_of_pi(example(name).read_text()))
    turning = [joint.name for joint in description.joints if joint.kind == "continuous"]
    reference = pin.neutral(whole)
    for joint, value in own.items():
        reference[whole.joints[whole.getJointId(joint)].idx_q] = value
    # Pinocchio has two coordinates for a continuous joint: lock those too.
    away = [*own, *(joint for joint in turning if joint not in own)]
    model = pin.buildReducedModel(whole, [whole.getJointId(joint) for joint in away], reference)
    data = model.createData()
    reduced = lock_joints(description, own | dict.fromkeys(set(away) - own.keys(), 0.0))
    order = [model.joints[model.getJointId(joint)].idx_v for joint in reduced.joint_names]
    tree, rng = build_tree(reduced), np.random.default_rng(0)
    for _ in range(3):
        q, qd, qdd = rng.uniform(-1.0, 1.0, (3, reduced.n))
        x, v, a = (np.zeros(model.nv) for _ in range(3))
        x[order], v[order], a[order] = q, qd, qdd
        tau = algorithms.inverse_dynamics(tree, q, qd, qdd) - algorithms.friction_torque(tree, q, qd)
        assert np.allclose(tau, pin.rnea(model, data, x, v, a)[order], rtol=1e-10, atol=1e-10)
        M = pin.crba(model, data, x)
        M = np.triu(M) + np.triu(M, 1).T
        assert np.allclose(algorithms.mass_matrix(tree, q), M[np.ix_(order, order)], rtol=1e-10, atol=1e-10)
        pin.framesForwardKinematics(model, data, x)
        for link in reduced.link_names:
            T = data.oMf[model.getFrameId(link)].homogeneous
            assert np.allclose(algorithms.forward_kinematics(tree, q, link), T, rtol=0.0, atol=1e-12)
