"""The platform as a robot with loops gives the closed forms' kinematics and dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.machines.parallel.platforms import random_poses, roboop
from tests.thinning import thinned

import chasles as ch


def in_body_axes(
    T: NDArray[np.float64], twist: NDArray[np.float64], acceleration: NDArray[np.float64], spins: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Velocities and accelerations of the robot: those of the platform's frame in its own axes, and spins of zero."""
    R = T[:3, :3]
    omega, v, omega_dot, v_dot = R.T @ twist[:3], R.T @ twist[3:], R.T @ acceleration[:3], R.T @ acceleration[3:]
    at_rest = np.zeros(spins)
    return np.concatenate([omega, v, at_rest]), np.concatenate([omega_dot, v_dot - np.cross(omega, v), at_rest])


@pytest.mark.parametrize(
    "architecture", ["UPS", pytest.param("SPU", marks=pytest.mark.slow), pytest.param("SPS", marks=pytest.mark.slow)]
)
def test_robot_moves_as_the_closed_forms_say(architecture: str) -> None:
    rng = np.random.default_rng(1)
    stewart = roboop(architecture=architecture)
    robot = stewart.robot()
    assert robot.n == (12 if architecture == "SPS" else 6)
    T = stewart.home.copy()
    T[:3, :3] = ch.geometry.exp_rotation(0.2 * rng.normal(size=3)) @ T[:3, :3]
    T[:3, 3] += 0.1 * rng.normal(size=3)
    q = stewart.robot_configuration(robot, T)
    legs = [q[robot.description.starts[f"leg_{k}"][0]] for k in range(6)]
    np.testing.assert_allclose(legs, stewart.leg_lengths(T), atol=1e-12)
    np.testing.assert_allclose(robot.forward_kinematics(q), T, atol=1e-12)
    twist, acceleration = rng.normal(size=(2, 6))
    velocity, rate = in_body_axes(T, twist, acceleration, robot.n - 6)
    tau = robot.inverse_dynamics(q, velocity, rate)
    R = T[:3, :3]
    wrench = np.concatenate([R @ tau[:3], R @ tau[3:6]])
    np.testing.assert_allclose(wrench, stewart.required_wrench(T, twist, acceleration), atol=1e-10)
    np.testing.assert_allclose(tau[6:], 0.0, atol=1e-10)
    M = robot.mass_matrix(q)[:6, :6]
    turn = np.kron(np.eye(2), R)
    np.testing.assert_allclose(turn @ M @ turn.T, stewart.mass_matrix(T), atol=1e-10)
    forces = robot.loops.actuator_forces(q, tau)
    np.testing.assert_allclose(stewart.jacobian(T).T @ forces, wrench, atol=1e-8)
    if architecture == "SPS":  # no motor turns a leg about its axis
        assert np.isnan(robot.loops.actuator_forces(q, tau + np.eye(12)[7])).all()


def test_robot_of_platforms_that_cannot_be() -> None:
    with pytest.raises(ch.ChaslesError, match="there is no choice of independent velocities 'arms'"):
        roboop().robot(independent="arms")  # type: ignore[arg-type]


def test_poses_outside_the_home_pose_close() -> None:
    rng = np.random.default_rng(2)
    stewart = roboop()
    robot = stewart.robot()
    near = stewart.home @ np.linalg.inv(random_poses(rng, 1)[0]) @ random_poses(rng, 1)[0]
    near[:3, 3] = stewart.home[:3, 3] + 0.3
    q = stewart.robot_configuration(robot, near)
    np.testing.assert_allclose(robot.forward_kinematics(q), near, atol=1e-10)


@pytest.mark.parametrize("architecture", thinned(["UPS", "SPU", "SPS"]))
def test_configurations_are_exact_at_every_pose(architecture: str) -> None:
    """Each leg ends where its joint is and points along the line between its joints; poses are anywhere."""
    rng = np.random.default_rng(2)
    stewart = roboop(architecture=architecture)
    robot = stewart.robot()
    T = np.tile(np.eye(4), (60, 1, 1))
    T[:, :3, :3] = ch.geometry.exp_rotation(rng.uniform(-1.8, 1.8, (60, 3)))
    T[:, :3, 3] = 2.0 * rng.normal(size=(60, 3))
    T[0] = stewart.home
    q = stewart.robot_configuration(robot, T)
    np.testing.assert_allclose(q[0], robot.home, atol=1e-12)
    np.testing.assert_allclose(robot.forward_kinematics(q), T, atol=1e-12)
    ends = T[:, None, :3, 3] + stewart.platform @ np.swapaxes(T[:, :3, :3], -1, -2)
    ways = ends - stewart.base
    if architecture == "SPU":
        ends, ways = np.broadcast_to(stewart.base, ends.shape), -ways
    far = "upper" if architecture != "SPU" else "lower"
    frames = np.asarray(robot.frame_poses(q))[:, [robot.frame_names.index(f"{far}_leg_{k}") for k in range(6)]]
    np.testing.assert_allclose(frames[..., :3, 3], ends, atol=1e-11)
    lengths = np.linalg.norm(ways, axis=-1)
    np.testing.assert_allclose(frames[..., :3, 2] * lengths[..., None], ways, atol=1e-11)
    np.testing.assert_allclose(q[:, [robot.description.starts[f"leg_{k}"][0] for k in range(6)]], lengths, atol=1e-14)


def test_legs_that_point_backward_turn_by_half() -> None:
    """A leg without spin has no single shortest way to the opposite direction; one of them is taken, and it closes."""
    stewart = roboop(architecture="SPS")
    robot = stewart.robot()
    way = stewart.home[:3, 3] + stewart.home[:3, :3] @ stewart.platform[2] - stewart.base[2]
    T = stewart.home.copy()
    T[:3, 3] -= 2.0 * way
    q = stewart.robot_configuration(robot, T)
    start = robot.description.starts["joint_2"][0]
    assert abs(q[start]) < 1e-7
    assert np.abs(robot.loops.constraints(q).residual).max() < 1e-12


def test_configurations_of_another_robot_are_refused() -> None:
    stewart = roboop()
    with pytest.raises(ch.ChaslesError, match="is not the platform's"):
        stewart.robot_configuration(ch.load("puma560"), stewart.home)
    other = ch.machines.StewartPlatform(1.1 * stewart.base, stewart.platform, home=stewart.home)
    with pytest.raises(ch.ChaslesError, match="stay open by"):
        stewart.robot_configuration(other.robot(), stewart.home)
    with pytest.raises(ch.ChaslesError, match="T is not a pose"):
        stewart.robot_configuration(stewart.robot(), 2.0 * stewart.home)
