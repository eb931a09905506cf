"""Closed-loop inverse kinematics: its commanded pose obeys e' + K e = 0, and an inner loop follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.control.calls import called
from tests.control.sampled_loop import at_rest, simulate

import chasles as ch
from chasles import control
from chasles.base.errors import ArgumentError
from chasles.control import ClosedLoopKinematics
from chasles.geometry import log_rotation
from chasles.inverse_kinematics import ClosedLoopInverseKinematics
from chasles.trajectories.motion import PoseMotion


def frictionless(name: str) -> ch.Robot:
    return ch.load(name).with_friction(coulomb=0.0, viscous=0.0)


def bent(arm: ch.Robot) -> np.ndarray:
    return np.array([0.3, 0.6, -0.4, 0.5, 0.9, 0.2]) if arm.name == "puma560" else np.array(arm.home)


def stiff(arm: ch.Robot) -> control.ComputedTorque:
    return control.ComputedTorque(arm, kp=900.0, kd=60.0)


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_the_commanded_pose_obeys_its_equation(name: str) -> None:
    """Position off by 12 cm and orientation by 50°: both decay as exp(-K t), whatever the inner loop does."""
    arm, K = frictionless(name), 8.0
    T0 = arm.forward_kinematics(bent(arm))
    goal, turn = T0.copy(), np.radians(50.0) * np.array([0.6, 0.0, 0.8])
    goal[:3, 3] += [0.06, -0.1, 0.03]
    goal[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ T0[:3, :3]
    controller = ClosedLoopKinematics(arm, stiff(arm), gain=K, orientation_error="logarithm")
    run = simulate(arm, controller, at_rest(goal), duration=0.6, period=1e-4, q0=bent(arm), save_every=100)
    T = arm.forward_kinematics(run.memory[1:, 1 : arm.n + 1])
    fall = np.exp(-K * run.t[1:])[:, None]
    np.testing.assert_allclose(goal[:3, 3] - T[:, :3, 3], fall * [0.06, -0.1, 0.03], atol=1e-6)
    error = log_rotation(goal[:3, :3] @ np.swapaxes(T[:, :3, :3], -1, -2))
    np.testing.assert_allclose(error, fall * turn, atol=1e-6)


def test_its_rates_are_those_of_inverse_kinematics() -> None:
    arm, rng = ch.load("panda"), np.random.default_rng(1)
    library = ClosedLoopInverseKinematics(arm, position_gain=7.0, orientation_gain=5.0)
    controller = ClosedLoopKinematics(arm, stiff(arm), gain=7.0, orientation_gain=5.0)
    for _ in range(5):
        q = bent(arm) + rng.uniform(-0.3, 0.3, 7)
        wanted = PoseMotion(arm.forward_kinematics(q + rng.uniform(-0.5, 0.5, 7)), rng.normal(size=6), np.zeros(6))
        found = controller.rates(q, wanted)
        np.testing.assert_allclose(found.qd, library(q, wanted.pose, wanted.twist), atol=1e-9)


@pytest.mark.parametrize("error", ["quaternion", "logarithm"])
def test_its_accelerations_are_the_derivative_of_its_rates(error: Any) -> None:
    """Along its own motion of an arm without redundant joints, 30° off a turning reference, by differences."""
    arm, h = ch.load("puma560"), 1e-4
    T = arm.forward_kinematics(bent(arm))
    T[:3, :3] = Rotation.from_rotvec([0.3, -0.2, 0.4]).as_matrix() @ T[:3, :3]
    circle = ch.Circle(T, T[:3, 3] - [0.0, 0.1, 0.0], [0.0, 0.0, 1.0], 1.0, duration=1.0, orientation="turning")
    controller = ClosedLoopKinematics(
        arm, stiff(arm), gain=[5.0, 4.0, 6.0], orientation_gain=[7.0, 5.0, 3.0], orientation_error=error
    )

    def rates(q: Any, t: float) -> Any:
        return controller.rates(q, circle(t))

    q, now = bent(arm), rates(bent(arm), 0.4)
    later = rates(q + h * now.qd + 0.5 * h**2 * now.qdd, 0.4 + h)
    before = rates(q - h * now.qd + 0.5 * h**2 * now.qdd, 0.4 - h)
    np.testing.assert_allclose((later.qd - before.qd) / (2 * h), now.qdd, atol=1e-5)


@pytest.mark.parametrize("inner", ["computed torque", "PD + gravity", "PID"])
def test_it_follows_a_circle_with_any_inner_loop(inner: str) -> None:
    arm = frictionless("panda")
    inertia = arm.mass_matrix(bent(arm)).diagonal()
    loops: dict[str, Any] = {
        "computed torque": stiff(arm),
        "PD + gravity": control.PDGravity(arm, kp=2500.0 * inertia, kd=100.0 * inertia),
        "PID": control.PID(arm, kp=2500.0 * inertia, ki=5000.0 * inertia, kd=100.0 * inertia),
    }
    T = arm.forward_kinematics(bent(arm))
    circle = ch.Circle(T, T[:3, 3] - [0.0, 0.1, 0.0], [0.0, 0.0, 1.0], duration=3.0)
    controller = ClosedLoopKinematics(arm, loops[inner], gain=20.0)
    run = simulate(
        arm,
        controller,
        lambda t: circle.motion(t, circle.parameters),
        duration=6.0,
        period=1e-3,
        q0=bent(arm),
        save_every=10,
    )
    off = np.abs(arm.forward_kinematics(run.q) - circle(run.t).pose).max(axis=(-2, -1))
    commanded = arm.forward_kinematics(run.memory[1:, 1:8])
    assert np.abs(commanded - circle(run.t[1:]).pose).max() < 1e-5
    assert off.max() < {"computed torque": 1e-3, "PD + gravity": 0.03, "PID": 0.2}[inner]
    assert off[-1] < {"computed torque": 1e-6, "PD + gravity": 1e-5, "PID": 0.02}[inner]


@pytest.mark.parametrize("name", ["planar2r", "puma560", "panda"])
def test_singular_and_unreachable_poses_stay_bounded(name: str) -> None:
    arm = frictionless(name)
    q = np.zeros(arm.n)
    options: dict[str, Any] = {"components": ("x", "y")} if arm.n == 2 else {}
    goal = arm.forward_kinematics(q)
    goal[:3, 3] *= 1.3
    controller = ClosedLoopKinematics(arm, stiff(arm), gain=10.0, **options)
    run = simulate(arm, controller, at_rest(goal), duration=3.0, period=1e-3, q0=q, save_every=5)
    assert np.isfinite(run.q).all()
    assert np.abs(run.qd).max() < 60.0


def test_it_begins_where_the_robot_is() -> None:
    arm, rng = ch.load("panda"), np.random.default_rng(2)
    controller = ClosedLoopKinematics(arm, stiff(arm))
    q = bent(arm) + 0.1 * rng.normal(size=7)
    wanted = at_rest(arm.forward_kinematics(q))(0.0)
    tau, state = called(controller, q, np.zeros(7), wanted)
    np.testing.assert_allclose(tau, arm.gravity_torque(q), atol=1e-9)
    np.testing.assert_allclose(state.commanded, q, atol=1e-12)


def test_parameters_and_memory_of_the_inner_controller_are_its_own() -> None:
    arm = ch.load("panda")
    controller = ClosedLoopKinematics(arm, control.PID(arm, kp=1.0, ki=2.0, kd=3.0), gain=4.0)
    assert {"gain", "inner.kp", "inner.ki", "inner.kd", "inner.torque_limits"} <= controller.parameters.keys()
    assert controller.memory_layout.size == 1 + 7 + 7
    assert controller.name == "closed-loop kinematics, PID"


def test_an_inner_controller_must_be_one_of_joints() -> None:
    arm = ch.load("panda")
    with pytest.raises(ArgumentError, match="joints alone; 'resolved acceleration' needs motions of a frame"):
        ClosedLoopKinematics(arm, control.ResolvedAcceleration(arm, kp=1.0, kd=1.0))
    with pytest.raises(ArgumentError, match=r"gain\[0\] is -1.0; it must be at least 0"):
        ClosedLoopKinematics(arm, stiff(arm), gain=-1.0)
