"""What takes configurations as vectors: it works with joints of several freedoms; with quaternions it says why not."""

from __future__ import annotations

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.inverse_kinematics import DampingTask, FrameTask, solve_rates
from chasles.model import Description, Inertia, Joint, Limits, Link
from chasles.robot.robot import require_plain_coordinates
from chasles.visual.trajectories import joint_figure


def ahead(distance: float) -> np.ndarray:
    T = np.eye(4)
    T[0, 3] = distance
    return T


def compound_arm() -> ch.Robot:
    """A trolley on a floor, with a mast that is a cylinder joint and an arm on a universal joint and a hinge."""
    box = Inertia(2.0, [0.1, 0.0, 0.0], np.diag([0.02, 0.03, 0.03]))
    links = (Link("floor"), *(Link(name, box) for name in ("trolley", "mast", "arm", "hand")))
    joints = (
        Joint(
            "roll",
            "planar",
            "floor",
            "trolley",
            limits=Limits((-1.0, -2.0, -3.0), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0), (100.0, 200.0, 300.0)),
        ),
        Joint("lift", "cylindrical", "trolley", "mast", limits=Limits((-2.0, 0.1), (2.0, 0.9), 1.5)),
        Joint("shoulder", "universal", "mast", "arm", ahead(0.2), limits=Limits((-1.5, -0.5), (1.5, 2.0), 2.0)),
        Joint(
            "elbow", "revolute", "arm", "hand", ahead(0.4), ahead(0.3), [0.0, 1.0, 0.0], limits=Limits(-2.0, 2.0, 3.0)
        ),
    )
    return ch.Robot(Description("trolley", links, joints))


ROBOT = compound_arm()
FREE = ch.load("panda").with_free_base()


def test_several_joints_are_named() -> None:
    joints = (Joint("a", "spherical", "x", "y"), Joint("b", "spherical", "y", "z"))
    with pytest.raises(ArgumentError, match="lock joints 'a', 'b' of robot 'two' first"):
        require_plain_coordinates(ch.Robot(Description("two", tuple(map(Link, "xyz")), joints)), "this")
    require_plain_coordinates(ROBOT, "this")


def test_a_locked_base_is_the_way_out() -> None:
    locked = FREE.edit.lock(["base"])
    T = locked.forward_kinematics(locked.home + 0.1)
    assert locked.inverse_kinematics(T, locked.home).success


def test_inverse_kinematics_within_the_limits_of_each_freedom() -> None:
    q = ROBOT.random_configuration(0, (40,))
    T = ROBOT.forward_kinematics(q)
    solution = ROBOT.inverse_kinematics(T)
    assert solution.success.all()
    assert np.allclose(ROBOT.forward_kinematics(solution.q), T, rtol=0.0, atol=1e-5)
    assert (solution.q >= ROBOT.lower_limits).all()
    assert (solution.q <= ROBOT.upper_limits).all()


def test_rates_keep_the_limits_of_each_freedom() -> None:
    q = ROBOT.random_configuration(1)
    goal = ROBOT.forward_kinematics(ROBOT.random_configuration(2))
    for _ in range(100):
        step = solve_rates(ROBOT, q, [FrameTask(goal), DampingTask(1e-3)], 0.02)
        assert step.success
        assert (np.abs(step.qd) <= ROBOT.velocity_limits + 1e-12).all()
        q = q + 0.02 * step.qd
    assert (q >= ROBOT.lower_limits).all()
    assert (q <= ROBOT.upper_limits).all()


def test_motions_in_space_are_followed() -> None:
    q = np.array([0.2, -0.3, 0.4, 0.5, 0.5, 0.3, 0.4, 0.6])
    start = ROBOT.forward_kinematics(q)
    end = start.copy()
    end[:3, 3] += [0.1, 0.2, 0.05]
    joints = ch.follow(ROBOT, ch.StraightLine(start, end, duration=2.0), q)
    assert np.allclose(ROBOT.forward_kinematics(joints(2.0).q), end, rtol=0.0, atol=1e-5)


def test_tables_checks_and_figures_name_each_coordinate() -> None:
    motion = ch.PointToPoint(ROBOT.home, ROBOT.home + 0.3, duration=0.2)
    table = motion.to_dataset(0.1, robot=ROBOT)
    assert tuple(table["joint"].values) == ROBOT.coordinate_names
    assert tuple(table["unit"].values) == ("m", "m", "rad", "rad", "m", "rad", "rad", "rad")
    report = motion.check(ROBOT)
    assert not report.ok
    broken = {(violation.quantity, violation.joint) for violation in report.violations}
    assert ("velocity", "lift.distance") in broken
    assert ("velocity", "roll.angle") not in broken
    text = str(joint_figure(motion, robot=ROBOT))
    assert "lift.distance" in text


def test_the_fastest_motion_uses_the_limits_of_each_freedom() -> None:
    start = np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.5, 0.5])
    fast = ch.time_optimal(ROBOT, [start, start + 0.3, start + 0.2], acceleration=20.0, torque=1000.0)
    assert fast.report.ok
    assert (fast.report.share > 0.999).any()
