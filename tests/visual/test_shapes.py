from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests.thinning import thinned

import chasles as ch
from chasles.model import Description, Frame, Joint, Limits, Link
from chasles.visual.scene import link_poses, upright
from chasles.visual.shapes import DrawnShape, skeleton

#: Shipped robots of every kind of joint and file.
ROBOTS = ("gen3", "iiwa14", "jaco", "panda", "planar2r", "puma560", "scara", "stanford", "ur5")


def in_world(robot: ch.Robot, shape: DrawnShape, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    T = np.asarray(robot.forward_kinematics(q, target=shape.link))
    return T[:3, :3] @ shape.start + T[:3, 3], T[:3, :3] @ shape.end + T[:3, 3]


def distance_to_segment(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    ab = b - a
    along = np.clip((p - a) @ ab / max(ab @ ab, 1e-30), 0.0, 1.0)
    return float(np.linalg.norm(p - a - along * ab))


@pytest.mark.parametrize("name", thinned(ROBOTS))
def test_drawing_hangs_together_and_reaches_the_tool(name):
    robot = ch.load(name)
    drawn = skeleton(robot.description)
    q = np.clip(robot.home + 0.3, robot.lower_limits, robot.upper_limits)
    segments = [(in_world(robot, shape, q), shape.radius) for shape in drawn.shapes]
    reached = {0}
    while True:  # grow from the first shape over all that touch
        touching = {
            k
            for k, ((a, b), radius) in enumerate(segments)
            for j in reached
            if min(
                *(distance_to_segment(p, *segments[j][0]) for p in (a, b)),
                *(distance_to_segment(p, a, b) for p in segments[j][0]),
            )
            < radius + segments[j][1]
        }
        if touching <= reached:
            break
        reached |= touching
    assert reached == set(range(len(segments)))
    tool = np.asarray(robot.forward_kinematics(q))[:3, 3]
    assert min(distance_to_segment(tool, *ends) - 2 * radius for ends, radius in segments) < 0.0


@pytest.mark.parametrize("name", ROBOTS)
def test_joint_cylinders_lie_on_the_joint_axes(name):
    """Turning a joint alone leaves the points of its axis where they are."""
    robot = ch.load(name)
    turning = [k for k, joint in enumerate(robot.description.coordinates) if joint.kind != "prismatic"]
    children = {joint.child: k for k, joint in enumerate(robot.description.coordinates)}
    found = []
    for shape in skeleton(robot.description).shapes:
        if shape.role == "joint" and children.get(shape.link) in turning:
            k = children[shape.link]
            moved = robot.home.copy()
            moved[k] += 0.7
            before, after = in_world(robot, shape, robot.home), in_world(robot, shape, moved)
            np.testing.assert_allclose(before, after, atol=1e-12)
            found.append(k)
    assert sorted(found) == turning


def test_lengths_are_true():
    """PUMA 560: upper arm 0.4318 m, forearm 0.4318 m, shoulder offset 0.15005 m, elbow offset 0.0203 m."""
    drawn = skeleton(ch.load("puma560").description)
    assert drawn.size == pytest.approx(0.4318 + 0.15005 + 0.0203 + 0.4318)
    lengths = sorted(np.linalg.norm(s.end - s.start) for s in drawn.shapes if s.role == "link")
    np.testing.assert_allclose(lengths, [0.0203, 0.15005, 0.4318, 0.4318], atol=1e-12)


def test_rod_of_a_sliding_joint_stays_in_its_sleeve():
    joints = (Joint("slide", "prismatic", "base", "ram", axis=[1, 0, 0], limits=Limits(0.2, 0.9)),)
    robot = ch.Robot(Description("press", links=(Link("base"), Link("ram")), joints=joints))
    shapes = {shape.role: shape for shape in skeleton(robot.description).shapes}
    for q in (0.2, 0.5, 0.9):
        a, b = in_world(robot, shapes["slide"], np.array([q]))
        assert distance_to_segment(np.zeros(3), a, b) < 1e-12  # the sleeve is at the origin
        np.testing.assert_allclose([a[1:], b[1:]], 0.0, atol=1e-12)


def test_sensors_and_covers_are_left_out_but_branches_are_drawn():
    links = tuple(Link(name) for name in ("base", "left", "right", "camera", "hand"))
    up = np.eye(4)
    up[2, 3] = 1.0
    joints = (
        Joint("l", "revolute", "base", "left", T_parent_joint=up),
        Joint("r", "revolute", "base", "right", T_parent_joint=up),
        Joint("c", "fixed", "left", "camera", T_parent_joint=up),
        Joint("h", "fixed", "right", "hand", T_parent_joint=up),
    )
    drawn = skeleton(Description("two arms", links=links, joints=joints, tool="hand"))
    assert set(drawn.links) == {"base", "left", "right", "hand"}
    assert {shape.link for shape in drawn.shapes if shape.role == "link"} >= {"base", "right"}


def compound(*kinds, **fields):
    """A chain of joints of some kinds, a metre apart along x."""
    ahead = np.eye(4)
    ahead[0, 3] = 1.0
    links = tuple(Link(f"l{k}") for k in range(len(kinds) + 1))
    joints = tuple(
        Joint(f"j{k}", kind, f"l{k}", f"l{k + 1}", T_parent_joint=ahead, **fields) for k, kind in enumerate(kinds)
    )
    return Description("compound", links, joints)


@pytest.mark.parametrize("kind", ["universal", "cylindrical", "planar", "spherical", "free", "helical"])
def test_joints_of_every_kind_are_drawn_where_they_turn(kind):
    robot = ch.Robot(compound("revolute", kind, "revolute"))
    drawn = skeleton(robot.description)
    assert drawn.stands
    shapes = [shape for shape in drawn.shapes if shape.link in ("l1", "l2") and shape.role != "link"]
    balls = [shape for shape in drawn.shapes if shape.link == "l2" and shape.form == "capsule" and shape.role == "link"]
    q = robot.random_configuration(3)
    joint_at = np.asarray(robot.forward_kinematics(q, target="l1")) @ [1.0, 0.0, 0.0, 1.0]
    child_at = np.asarray(robot.forward_kinematics(q, target="l2"))[:3, 3]
    on_joint = [
        shape for shape in (*shapes, *balls) if distance_to_segment(child_at, *in_world(robot, shape, q)) < 1e-9
    ]
    assert on_joint
    if kind == "universal":  # an axis on each side
        assert {shape.link for shape in on_joint} == {"l1", "l2"}
        np.testing.assert_allclose(child_at, joint_at[:3], atol=1e-12)
    if kind == "cylindrical":
        assert {shape.role for shape in shapes} >= {"sleeve", "slide"}
    for shape in drawn.shapes:
        assert np.isfinite([*shape.start, *shape.end, shape.radius]).all()
        assert np.linalg.norm(shape.end - shape.start) > 0.0


def test_a_free_joint_is_no_rod():
    """Nothing holds a flying robot to the world: no link is drawn there, and it does not stand on a plate."""
    flying = skeleton(compound("free", "revolute", "spherical"))
    assert not flying.stands
    assert "l0" not in {shape.link for shape in flying.shapes}
    assert flying.size == pytest.approx(2.0)
    assert skeleton(compound("free")).shapes[0].form == "capsule"
    assert not skeleton(ch.load("panda").with_free_base().description).stands
    assert skeleton(ch.load("panda").description).stands


def test_a_cylindrical_joint_is_drawn_along_its_travel():
    far = skeleton(compound("cylindrical", limits=Limits((-3.0, 0.0), (3.0, 2.5))))
    assert far.size == pytest.approx(3.5)
    slide = next(shape for shape in far.shapes if shape.role == "slide")
    assert np.linalg.norm(slide.end - slide.start) == pytest.approx(2.5)


def test_robots_without_any_length_are_drawn():
    joints = (Joint("j", "revolute", "a", "b"),)
    drawn = skeleton(Description("point", links=(Link("a"), Link("b")), joints=joints))
    assert drawn.size == 1.0
    assert [shape.role for shape in drawn.shapes] == ["joint"]
    nothing = skeleton(Description("rock", links=(Link("a"),), frames=(Frame("f", "a"),)))
    assert nothing.shapes == ()
    assert nothing.links == ("a",)


def test_slightly_skewed_axes_make_no_far_elbows():
    """Nearly parallel axes have their common normal far away; the link is then drawn straight."""
    offset = np.eye(4)
    offset[:3, 3] = [1.0, 0.1, 0.0]
    joints = (
        Joint("1", "revolute", "a", "b"),
        Joint("2", "revolute", "b", "c", T_parent_joint=offset, axis=[0.0, 1e-3, 1.0]),
    )
    drawn = skeleton(Description("bent", links=(Link("a"), Link("b"), Link("c")), joints=joints))
    points = np.array([point for shape in drawn.shapes for point in (shape.start, shape.end)])
    assert np.abs(points).max() < 2.0


def test_rods_reach_from_the_base_to_the_loops_of_a_stewart_platform():
    """Legs without an upper limit are drawn as long as they are at home, and the platform as a star to their ends."""
    robot = ch.load("stewart")
    drawn = skeleton(robot.description)
    places = dict(zip(robot.frame_names, robot.frame_poses(robot.home), strict=True))
    spokes = [in_world(robot, s, robot.home)[1] for s in drawn.shapes if s.link == "platform" and s.role == "link"]
    rods = [in_world(robot, s, robot.home) for s in drawn.shapes if s.role == "slide"]
    assert len(rods) == 6
    for k, (a, b) in enumerate(rods):
        foot, ball = places[f"lower_leg_{k}"][:3, 3], places[f"upper_leg_{k}"][:3, 3]
        assert distance_to_segment(foot, a, b) < 1e-9
        assert distance_to_segment(ball, a, b) < 1e-9
        assert min(np.linalg.norm(ball - end) for end in spokes) < 1e-6


@pytest.mark.parametrize("name", ["stewart", "delta"])
def test_links_of_closed_chains_are_drawn_from_joint_to_joint(name):
    """Each end of each loop and of each joint that moves lies in a shape of its link; nothing stands in the work."""
    robot = ch.load(name)
    description = robot.description
    drawn = skeleton(description)
    ends = [(loop.first, loop.T_first_joint) for loop in description.loops]
    ends += [(loop.second, loop.T_second_joint) for loop in description.loops]
    ends += [(j.parent, j.T_parent_joint) for j in description.joints if j.moves and j.kind != "free"]
    for link, T in ends:
        own = [shape for shape in drawn.shapes if shape.link == link]
        distance = min(distance_to_segment(T[:3, 3], s.start, s.end) - s.radius for s in own)
        assert distance < 1e-9, link
    assert not drawn.stands
    bodies = {shape.link for shape in drawn.shapes}
    assert {link.name for link in description.links if link.inertia.mass} <= bodies


@pytest.mark.parametrize("direction", [[0, -1, 0], [0, 0, -1], [0, 0, 1], [1, 0, 0], [0.3, -0.4, 0.2]])
def test_gravity_points_down_in_the_picture(direction):
    robot = ch.load("panda").with_gravity(9.81 * np.array(direction) / np.linalg.norm(direction))
    T = upright(robot)
    np.testing.assert_allclose(T[:3, :3] @ robot.description.gravity, [0.0, 0.0, -9.81], atol=1e-12)
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(T) == pytest.approx(1.0)
    points = link_poses(robot, ["panda_link0", "panda_link7"], robot.home)[:, :3, 3]
    height = np.diff(points, axis=0)[0, 2]
    world = robot.frame_poses(robot.home)[[robot.frame_names.index(n) for n in ("panda_link0", "panda_link7")]][
        :, :3, 3
    ]
    np.testing.assert_allclose(height, -np.diff(world, axis=0)[0] @ robot.description.gravity / 9.81, atol=1e-12)


def test_without_gravity_the_world_s_z_axis_points_up():
    np.testing.assert_array_equal(upright(ch.load("panda").with_gravity([0.0, 0.0, 0.0])), np.eye(4))


def test_shapes_stand_in_the_order_of_the_links_in_every_process() -> None:
    imports = "from chasles import load; from chasles.visual.shapes import skeleton"
    script = f"{imports}; print(skeleton(load('stewart').description))"
    seeds = [{**os.environ, "PYTHONHASHSEED": seed} for seed in ("1", "2")]  # of which the order of sets depends
    first, second = (subprocess.check_output([sys.executable, "-c", script], env=seed) for seed in seeds)
    assert first == second
