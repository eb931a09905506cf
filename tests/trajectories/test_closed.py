"""Motions of robots with loops: all joints follow the independent ones, and the limits of all count."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracles.closed_machines import MACHINES, five_bar, four_bar, slider_crank, stewart

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.model import Limits
from chasles.trajectories.joint.closed import all_joints


def residual(robot: ch.Robot, q: np.ndarray) -> float:
    return float(np.abs(robot.loops.constraints(q).residual).max())


@pytest.mark.parametrize("name", ["four-bar", pytest.param("leg", marks=pytest.mark.slow)])
def test_rates_are_the_derivatives_of_closed_configurations(name: str) -> None:
    """The leg hangs on a free trunk: its curve holds a quaternion."""
    robot = ch.Robot(MACHINES[name]())
    goal = robot.integrate(robot.home, 0.2 * np.random.default_rng(0).normal(size=robot.n))
    motion = ch.ClosedMotion(robot, ch.PointToPoint(robot.home, goal, 1.0))
    t, h = np.linspace(0.1, 0.9, 5), 1e-5
    q, qd, qdd, jerk = motion.derivatives(t)
    ahead, behind = motion.derivatives(t + h), motion.derivatives(t - h)
    assert residual(robot, q) < 1e-12
    assert robot.difference(behind[0], ahead[0]) / (2.0 * h) == pytest.approx(qd, abs=1e-7)
    assert (ahead[1] - behind[1]) / (2.0 * h) == pytest.approx(qdd, abs=1e-6)
    assert (ahead[2] - behind[2]) / (2.0 * h) == pytest.approx(jerk, abs=1e-5)
    assert motion(1.0).q == pytest.approx(goal, abs=1e-12)
    tree, joints = robot.edit.without_loops(), all_joints(robot, motion, t)
    assert tree.difference(behind[0], ahead[0]) / (2.0 * h) == pytest.approx(joints.velocity, abs=1e-7)
    change = all_joints(robot, motion, t + h).velocity - all_joints(robot, motion, t - h).velocity
    assert change / (2.0 * h) == pytest.approx(joints.acceleration, abs=1e-6)


def test_a_crank_goes_round_and_the_assembly_mode_is_kept() -> None:
    robot = ch.Robot(four_bar())
    modes = robot.loops.assembly_modes(robot.loops.close([0.8, -0.3, 1.7], hold=["motor"]).q)
    turn = ch.PointToPoint([[0.8], [0.8]], [[0.8 + 2.0 * np.pi], [2.0]], duration=[1.0, 2.0])
    motion = ch.ClosedMotion(robot, turn, modes)
    t = np.linspace(0.0, 1.0, 40)[:, None] * np.array([1.0, 2.0])
    q = motion(t).q
    assert residual(robot, q) < 1e-12
    assert q[0] == pytest.approx(modes, abs=1e-9)
    assert q[-1, 0] - q[0, 0] == pytest.approx([2.0 * np.pi, -2.0 * np.pi, 0.0], abs=1e-9)  # coupler and rocker return
    assert np.abs(np.diff(q, axis=0)).max() < 0.6


def test_motions_that_the_loops_do_not_allow_are_refused() -> None:
    by_slider = ch.Robot(slider_crank("stroke"))
    with pytest.raises(ArgumentError, match=r"cannot be kept closed along the motion beyond t = 0\.[23]\d* s: the"):
        ch.ClosedMotion(by_slider, ch.PointToPoint([0.35], [0.6], 1.0))  # it reaches to 0.4 m
    with pytest.raises(ArgumentError, match="the motion cannot start on robot 'slider-crank': loop 'pin' stays open"):
        ch.ClosedMotion(by_slider, ch.PointToPoint([0.6], [0.7], 1.0))
    robot = ch.Robot(four_bar())
    with pytest.raises(ArgumentError, match="moves 2 joints, but robot 'four-bar' takes 1 independent joints or all 3"):
        ch.ClosedMotion(robot, ch.PointToPoint([0.0, 0.0], [1.0, 1.0], 1.0))
    with pytest.raises(ArgumentError, match="has no loops"):
        ch.ClosedMotion(robot.edit.without_loops(), ch.PointToPoint([0.0], [1.0], 1.0))
    spinning = ch.Robot(stewart("SPS"))
    with pytest.raises(ArgumentError, match=r"joint 'hip0' of .* is independent in hip0.* alone"):
        ch.ClosedMotion(spinning, ch.PointToPoint(spinning.home, spinning.home, 1.0))


def test_checks_find_what_passive_joints_break() -> None:
    """x = r cos θ + √(l² - r² sin² θ) of a slider-crank, driven by its crank."""
    machine = slider_crank()
    limited = tuple(
        joint.replace(limits=Limits(-1.0, 0.39, 0.5)) if joint.name == "stroke" else joint for joint in machine.joints
    )
    robot = ch.Robot(machine.replace(joints=limited))
    motion = ch.PointToPoint(robot.home[:1], [7.0], duration=2.0)
    theta, rate, *_ = motion.derivatives(np.linspace(0.0, 2.0, 200_001))
    root = np.sqrt(0.09 - 0.01 * np.sin(theta) ** 2)
    x = 0.1 * np.cos(theta) + root
    speed = np.abs((-0.1 * np.sin(theta) - 0.01 * np.sin(theta) * np.cos(theta) / root) * rate)
    report = ch.check(robot, motion)
    found = {violation.quantity: violation for violation in report.violations}
    assert set(found) == {"position", "velocity"}
    assert all(violation.joint == "stroke" for violation in report.violations)
    assert max(v.value for v in report.violations if v.quantity == "position") == pytest.approx(x.max(), abs=1e-7)
    fastest = max(abs(v.value) for v in report.violations if v.quantity == "velocity")
    assert fastest == pytest.approx(speed.max(), rel=1e-6)
    # The motor's torque: as the limit falls just below the largest, it is exceeded.
    q, qd, qdd, _ = ch.ClosedMotion(robot, motion).derivatives(np.linspace(0.0, 2.0, 4001))
    largest = float(np.abs(robot.inverse_dynamics(q, qd, qdd)).max())
    by_torque = ch.check(robot, motion, velocity=np.inf, torque=0.999 * largest)
    assert {v.joint for v in by_torque.violations if v.quantity == "torque"} == {"motor"}
    assert not [v for v in ch.check(robot, motion, torque=1.001 * largest).violations if v.quantity == "torque"]


@pytest.mark.slow
def test_a_frame_is_followed_and_the_path_driven_as_fast_as_the_motors_can() -> None:
    robot = ch.Robot(five_bar())
    start = robot.forward_kinematics(robot.home)
    end = start.copy()
    end[:3, 3] += [0.05, 0.0, 0.05]
    line = ch.StraightLine(start, end, duration=1.0)
    joints = ch.follow(robot, line, mask=[0, 0, 0, 1, 0, 1])
    assert joints.success
    motion = ch.ClosedMotion(robot, joints)
    for t in (0.21, 0.5, 0.83):
        tip = robot.forward_kinematics(motion(t).q)[:3, 3]
        assert tip == pytest.approx(line(t).pose[:3, 3], abs=1e-6)
    weight = np.abs(robot.gravity_torque(motion(np.linspace(0.0, 1.0, 50)).q)).max()
    fast = ch.time_optimal(robot, motion([0.0, 0.3, 0.6, 1.0]).q, torque=2.0 * weight)
    assert fast.report.ok
    assert np.nanmax(fast.report.share[4]) > 0.999  # of the motors' torques
    assert residual(robot, fast(np.linspace(0.0, float(fast.duration), 30)).q) < 1e-12
    assert fast(float(fast.duration)).q == pytest.approx(motion(1.0).q, abs=1e-6)


def test_simulations_take_motions_of_the_motors_alone() -> None:
    """A curve that is straight in all coordinates leads too far from closed configurations here, and is closed too."""
    robot = ch.Robot(four_bar())
    law = ch.ComputedTorque(robot, kp=400.0, kd=40.0)
    goal = robot.loops.close([2.5, -1.0, 2.5], hold=["motor"]).q
    by_motor = ch.simulate(robot, law, ch.PointToPoint(robot.home[:1], goal[:1], 0.5))
    of_all = ch.simulate(robot, law, ch.PointToPoint(robot.home, goal, 0.5))
    assert float(np.abs(by_motor.error).max()) < 2e-3
    assert by_motor.q.values == pytest.approx(of_all.q.values, abs=1e-9)
    assert residual(robot, by_motor.q_reference.values) < 1e-12


def test_tables_and_plots_name_all_coordinates() -> None:
    robot = ch.Robot(four_bar())
    motion = ch.PointToPoint(robot.home[:1], [1.5], 0.2)
    table = motion.to_dataset(0.1, robot=robot)
    assert tuple(table["coordinate"].values) == ("motor", "knee", "swing")
    assert tuple(table["joint"].values) == ("motor",)
    assert table.q.shape == (3, 3)
    assert "swing" in str(motion.plot(robot=robot))
