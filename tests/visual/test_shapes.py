from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.model import Description, Frame, Joint, Limits, Link, shipped
from chasles.visual.shapes import Shape, skeleton


def in_world(robot: ch.Robot, shape: Shape, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    T = np.asarray(robot.forward_kinematics(q, target=shape.link))
    return T[:3, :3] @ shape.start + T[:3, 3], T[:3, :3] @ shape.end + T[:3, 3]


def distance_to_segment(p: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    ab = b - a
    along = np.clip((p - a) @ ab / max(ab @ ab, 1e-30), 0.0, 1.0)
    return float(np.linalg.norm(p - a - along * ab))


@pytest.mark.parametrize("name", shipped())
def test_drawing_hangs_together_and_reaches_the_tool(name):
    robot = ch.load(name)
    drawn = skeleton(robot.description)
    q = robot.home + 0.3
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


@pytest.mark.parametrize("name", shipped())
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
