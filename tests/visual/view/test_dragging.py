"""Dragging robots whose coordinates are not independent: free bases, spherical joints, closed loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.oracles import closed_machines

import chasles as ch
from chasles.model import Description, Inertia, Joint, Limits, Link

PULL = """((dx, dy, dz) => {
  const T = [...page.mechanism.tool(page.q).T];
  T[3] += dx; T[7] += dy; T[11] += dz;
  page.drag(T);
  return T;
})"""


def _floating() -> ch.Robot:
    bar = Inertia(1.0, [0.1, 0.0, 0.0], np.diag([0.001, 0.01, 0.01]))
    links = (Link("world"), Link("body", bar), Link("upper", bar), Link("lower", bar), Link("hand"))
    place = np.eye(4)
    place[0, 3] = 0.2
    joints = (
        Joint("base", "free", "world", "body"),
        Joint("shoulder", "spherical", "body", "upper", T_parent_joint=place),
        Joint("elbow", "revolute", "upper", "lower", place, axis=[0.0, 1.0, 0.0], limits=Limits(lower=-2.0, upper=2.0)),
        Joint("wrist", "fixed", "lower", "hand", place),
    )
    return ch.Robot(Description("diver", links, joints, tool="hand"))


@pytest.mark.parametrize("pinned", [True, False])
def test_floating_robots_follow_their_handles(opened: Any, pinned: bool) -> None:
    robot = _floating()
    q0 = robot.integrate(robot.home, 0.2 * np.ones(robot.n))
    tab = opened(robot, q=q0)
    if not pinned:
        tab.ask("[...document.querySelectorAll('.check')].find(l => l.textContent === 'base stays').firstChild.click()")
    tab.ask("choose('Drag', 'position')")
    goal = np.array(tab.ask(PULL + "(-0.05, 0.02, 0.03)")).reshape(4, 4)
    q = np.array(tab.ask("[...page.q]"))
    np.testing.assert_allclose(robot.forward_kinematics(q)[:3, 3], goal[:3, 3], atol=1e-6)
    base = robot.forward_kinematics(q, target="body") - robot.forward_kinematics(q0, target="body")
    assert bool(np.abs(base).max() < 1e-12) is pinned
    assert abs(np.linalg.norm(q[:4]) - 1.0) < 1e-12
    assert tab.ask("page.tool.status.textContent") == ""
    assert tab.complaints() == []


def test_the_limits_of_a_floating_robot_hold(opened: Any) -> None:
    robot = _floating()
    tab = opened(robot, q=robot.integrate(robot.home, 0.2 * np.ones(robot.n)))
    tab.ask("choose('Drag', 'position')")
    tab.ask(PULL + "(-5, 0, 0)")
    q = np.array(tab.ask("[...page.q]"))
    assert (q >= robot.lower_limits).all()
    assert (q <= robot.upper_limits).all()
    assert "Not reached" in tab.ask("page.tool.status.textContent")


@pytest.mark.parametrize(
    "machine",
    [
        closed_machines.five_bar,
        pytest.param(closed_machines.delta, marks=pytest.mark.slow),
        closed_machines.leg_with_rods,
    ],
)
def test_loops_stay_closed_while_the_tool_is_dragged(opened: Any, machine: Any) -> None:
    robot = ch.Robot(machine())
    tab = opened(robot)
    tab.ask("choose('Drag', 'position')")
    held = np.array([not free for free in tab.ask("page.data.velocities.map(v => v.free)")], dtype=float)
    shift = robot.jacobian(robot.home, frame="world-aligned")[3:] @ (0.05 * held)
    goal = np.array(tab.ask(f"{PULL}({', '.join(map(str, shift.tolist()))})")).reshape(4, 4)
    q = np.array(tab.ask("[...page.q]"))
    assert np.abs(robot.loops.constraints(q).residual).max() < 1e-9
    np.testing.assert_allclose(robot.forward_kinematics(q)[:3, 3], goal[:3, 3], atol=0.3 * np.linalg.norm(shift))
    assert np.abs(q - robot.home).max() > 1e-3
    assert tab.complaints() == []


@pytest.mark.parametrize(
    "robot",
    [pytest.param(ch.Robot(closed_machines.delta()), marks=pytest.mark.slow), _floating(), ch.load("wx250s")],
    ids=repr,
)
def test_the_tool_is_dragged_by_the_inverse_kinematics_of_python(opened: Any, robot: ch.Robot) -> None:
    tab = opened(robot)
    tab.ask("choose('Drag', 'position'), page.mechanism.pinned = false")
    shift = robot.jacobian(robot.home, frame="world-aligned")[3:] @ (0.1 * np.cos(np.arange(robot.n)))
    goal = np.array(tab.ask(f"{PULL}({', '.join(map(str, shift.tolist()))})")).reshape(4, 4)
    solution = robot.inverse_kinematics(goal, q0=robot.home, mask="position", tolerance=1e-9)
    assert solution.success
    assert solution.restarts == 0
    np.testing.assert_allclose(tab.ask("[...page.q]"), solution.q, atol=1e-9)


def test_sliders_of_independent_joints_keep_loops_closed(opened: Any) -> None:
    robot = ch.Robot(closed_machines.four_bar())
    tab = opened(robot)
    follows = tab.ask("page.mechanism.coordinates.map(c => c.follows)")
    assert sum(not f for f in follows) == robot.n
    moved = follows.index(False)
    name = robot.coordinate_names[moved]
    tab.ask(f"slide({name!r}, {np.degrees(robot.home[moved]) + 40.0})")
    q = np.array(tab.ask("[...page.q]"))
    assert abs(q[moved] - robot.home[moved] - np.radians(40.0)) < 1e-9
    assert np.abs(robot.loops.constraints(q).residual).max() < 1e-9
    other = robot.coordinate_names[follows.index(True)]
    assert tab.ask(f"find(`input[type=range][aria-label={other!r}]`).disabled")
    tab.ask("find('.go-random').click(), find('.go-zero').click(), find('.go-home').click()")
    q = np.array(tab.ask("[...page.q]"))
    assert np.abs(robot.loops.constraints(q).residual).max() < 1e-9


def test_handles_stand_along_the_frame_that_is_chosen(opened: Any, panda: ch.Robot) -> None:
    tab = opened(panda)
    frame = panda.frame_names.index("panda_link4")
    tab.ask(f"choose('Handles', '{frame}'), find('.jog button[aria-label=\"move + along x\"]').click()")
    q = np.array(tab.ask("[...page.q]"))
    way = panda.forward_kinematics(q)[:3, 3] - panda.forward_kinematics(panda.home)[:3, 3]
    x = panda.forward_kinematics(panda.home, target="panda_link4")[:3, 0]
    np.testing.assert_allclose(way, 0.01 * x, atol=1e-8)


def test_spherical_and_free_joints_have_handles_of_their_own(opened: Any) -> None:
    robot = _floating()
    q0 = robot.integrate(robot.home, np.linspace(0.3, -0.4, robot.n))
    tab = opened(robot, q=q0)
    labels = tab.ask("[...find('select[aria-label=Drag]').options].map(option => option.textContent)")
    assert labels[2:] == ["free joint base", "spherical joint shoulder"]
    tab.ask("choose('Drag', '1'), choose('Step', 'large'), find('[aria-label=\"turn + about z\"]').click()")
    q = np.array(tab.ask("[...page.q]"))
    assert tab.ask("[page.gizmo.shifts, page.gizmo.parts().length]") == [False, 3]  # three rings
    place, turned = (robot.forward_kinematics(x, target="upper") for x in (q0, q))
    expected = ch.geometry.rotation_z(np.radians(15.0)) @ place[:3, :3]
    np.testing.assert_allclose(turned[:3, :3], expected, atol=1e-12)
    np.testing.assert_allclose(turned[:3, 3], place[:3, 3], atol=1e-12)
    np.testing.assert_array_equal(np.delete(q, np.s_[7:11]), np.delete(q0, np.s_[7:11]))
    tab.ask("find('[aria-label=\"move + along x\"]').click()")
    assert tab.ask("page.tool.status.textContent") == "A spherical joint only turns."
    tab.ask("choose('Drag', '0'), find('[aria-label=\"move + along x\"]').click()")
    tab.ask("find('[aria-label=\"turn − about x\"]').click()")
    moved = robot.forward_kinematics(tab.ask("[...page.q]"), target="body")
    before = robot.forward_kinematics(q0, target="body")
    np.testing.assert_allclose(moved[:3, 3], before[:3, 3] + [0.05, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(moved[:3, :3], ch.geometry.rotation_x(np.radians(-15.0)) @ before[:3, :3], atol=1e-12)
    assert tab.complaints() == []
