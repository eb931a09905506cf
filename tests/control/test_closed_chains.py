"""Control laws on robots with loops: gains and errors belong to the independent joints."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.oracles.closed_machines import five_bar, four_bar

import chasles as ch
from chasles import control
from chasles.base.errors import ArgumentError
from chasles.model import Inertia, Joint, Link, with_loop

GAINS = {"kp": 400.0, "kd": 40.0}
ADAPTIVE = {"rate": 20.0, "damping": 20.0, "adaptation": 1.0}
LAWS: dict[str, Callable[[ch.Robot], Any]] = {
    "TimeVaryingRegulator": control.TimeVaryingRegulator,
    "NominalTorque": lambda robot: control.NominalTorque(robot, **GAINS),
    "GainScheduledRegulator": lambda robot: control.GainScheduledRegulator(robot, update_period=0.01),
    "LinearQuadraticGaussian": lambda robot: control.LinearQuadraticGaussian(robot),
    "ComputedTorque, feedforward": lambda robot: control.ComputedTorque(robot, **GAINS, feedforward=True),
    "SlotineLi": lambda robot: control.SlotineLi(robot, **ADAPTIVE),
    "CompositeAdaptive": lambda robot: control.CompositeAdaptive(robot, **ADAPTIVE, bandwidth=50.0),
    "NaturalAdaptive": lambda robot: control.NaturalAdaptive(robot, **ADAPTIVE, bodies=["upper1"]),
    "LeeChung": lambda robot: control.LeeChung(robot, rate=20.0, torque_weight=1e-4),
    "SlidingMode": lambda robot: control.SlidingMode(robot, rate=20.0, reaching=5.0, layer=0.1),
    "OperationalSpace": lambda robot: control.OperationalSpace(robot, kp=400.0, kd=40.0, components=("x", "z")),
}
QUICK = ("GainScheduledRegulator", "NominalTorque")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in LAWS]
)
def test_laws_with_the_model_of_a_five_bar_follow_its_motors(name: str) -> None:
    """With the true model only sampling every millisecond is left of the error."""
    robot = ch.Robot(five_bar())
    motion = ch.PointToPoint(robot.home, robot.integrate(robot.home, [0.1, 0.1]), 0.3)
    run = ch.simulate(robot, LAWS[name](robot), motion)
    assert float(np.abs(run.error).max()) < 2e-4
    assert np.abs(robot.loops.constraints(run.q.values).residual).max() < 1e-12


def test_a_platform_that_motors_move_is_no_floating_base() -> None:
    """A load on a free joint, welded to the tool of an arm, moves with it: it needs no motors of its own."""
    arm = ch.load("planar2r").description
    load = Link("load", Inertia(1.0, [0.0, 0.0, 0.0], 0.01 * np.eye(3)))
    joints = (*arm.joints, Joint("pose", "free", arm.root, "load"))
    home = [*arm.home, 1.0, 0.0, 0.0, 0.0, 0.75, 0.0, 0.0]
    tree = arm.replace(links=(*arm.links, load), joints=joints, home=home, actuated=("joint1", "joint2"))
    robot = ch.Robot(with_loop(tree, "weld", "fixed", "load", "tool", closed_at_home=True))
    assert robot.velocity_names == ("joint1", "joint2")
    assert control.PID(robot, kp=1.0, ki=0.0, kd=1.0).kp.tolist() == [1.0, 1.0]
    assert control.SlotineLi(robot, **ADAPTIVE, unknown=["load.m"]).robot is robot
    with pytest.raises(ArgumentError, match="takes no robots with free joints such as 'base' of robot 'planar2r'"):
        control.SlotineLi(ch.load("planar2r").with_free_base(), **ADAPTIVE)


def test_components_that_a_closed_chain_cannot_move_are_refused() -> None:
    with pytest.raises(
        ArgumentError, match="cannot move the components rx, ry, rz, x, y, z of frame 'tool' at once, only 2"
    ):
        control.OperationalSpace(ch.Robot(five_bar()), kp=400.0, kd=40.0)


@pytest.mark.parametrize(("machine", "rank"), [(four_bar, 1), (five_bar, 2)])
def test_the_components_that_the_message_offers_work(machine: Callable[[], Any], rank: int) -> None:
    linkage = ch.Robot(machine())
    with pytest.raises(ArgumentError, match=f"only {rank} of them; give components=") as refused:
        control.OperationalSpace(linkage, kp=400.0, kd=40.0)
    offered = ast.literal_eval(str(refused.value).rsplit("components=", 1)[1])
    assert len(offered) == rank
    control.OperationalSpace(linkage, kp=400.0, kd=40.0, components=offered)
