"""Motions of joints with quaternions and several freedoms, integrated in time, against closed forms and invariants."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.model import Description, Inertia, Joint, Link

A, C, MASS = 0.3, 0.5, 2.0  # moments of inertia across and along the axis of a symmetric body
DISC = Inertia(MASS, [0.0, 0.0, 0.0], np.diag([A, A, C]))


def single(joint: Joint, inertia: Inertia, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> ch.Robot:
    return ch.Robot(Description("single", (Link("ground"), Link("body", inertia)), (joint,), gravity=gravity))


def motion(
    robot: ch.Robot, q: np.ndarray, qd: np.ndarray, duration: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Free motion by the classical Runge–Kutta method for q and qd, quaternions being what they become."""
    h, tau = duration / steps, np.zeros(robot.n)

    def rate(q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return robot.configuration_rate(q, qd), robot.forward_dynamics(q, qd, tau)

    path_q, path_qd = [q], [qd]
    for _ in range(steps):
        k1, a1 = rate(q, qd)
        k2, a2 = rate(q + h / 2 * k1, qd + h / 2 * a1)
        k3, a3 = rate(q + h / 2 * k2, qd + h / 2 * a2)
        k4, a4 = rate(q + h * k3, qd + h * a3)
        q, qd = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), qd + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
        path_q.append(q)
        path_qd.append(qd)
    return np.array(path_q), np.array(path_qd)


def turns(q: np.ndarray) -> np.ndarray:
    return Rotation.from_quat(q[..., :4], scalar_first=True).as_matrix()


@pytest.mark.parametrize("kind", ["free", "spherical"])
def test_a_symmetric_body_without_torque_precesses(kind: str) -> None:
    """Its spin stays, and the transverse angular velocity turns in the body at (C - A) / A times the spin."""
    robot = single(Joint("j", kind, "ground", "body"), DISC, (0.0, 0.0, 0.0))  # type: ignore[arg-type]
    q = robot.neutral
    q[:4] = [0.5, 0.1, -0.7, 0.3]
    q = robot.normalize(q)
    omega = np.array([1.0, 0.5, 3.0])
    qd = np.zeros(robot.n)
    qd[:3] = omega
    duration, steps = 2.0, 2000
    path_q, path_qd = motion(robot, q, qd, duration, steps)
    t = np.linspace(0.0, duration, steps + 1)
    transverse = (omega[0] + 1j * omega[1]) * np.exp(1j * (C - A) / A * omega[2] * t)
    expected = np.stack([transverse.real, transverse.imag, np.full(steps + 1, omega[2])], axis=-1)
    assert np.allclose(path_qd[:, :3], expected, rtol=0.0, atol=1e-10)
    momentum = np.einsum("tij,tj->ti", turns(path_q), path_qd[:, :3] * [A, A, C])
    assert np.allclose(momentum, momentum[0], rtol=0.0, atol=1e-10)
    # Seen from the world, the body turns about the angular momentum at |L| / A and about its axis backwards.
    L = momentum[0]
    about_L = Rotation.from_rotvec(np.outer(t, L / A)).as_matrix()
    about_axis = Rotation.from_rotvec(np.outer(t, [0.0, 0.0, omega[2] * (A - C) / A])).as_matrix()
    assert np.allclose(turns(path_q), about_L @ turns(q) @ about_axis, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_a_thrown_body_flies_as_a_parabola_with_constant_angular_momentum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = Rotation.random(random_state=rng).as_matrix()
    inertia = Inertia(MASS, rng.normal(size=3) * 0.3, axes @ np.diag([0.2, 0.3, 0.4]) @ axes.T)
    gravity = (0.3, -0.2, -9.0)
    robot = single(Joint("j", "free", "ground", "body"), inertia, gravity)
    q, qd = robot.random_configuration(rng), rng.normal(size=6)
    duration, steps = 1.0, 1000
    path_q, path_qd = motion(robot, q, qd, duration, steps)
    t = np.linspace(0.0, duration, steps + 1)[:, None]
    center = robot.center_of_mass(path_q)
    v0 = turns(q) @ (qd[3:] + np.cross(qd[:3], inertia.center_of_mass))
    assert np.allclose(center, center[0] + v0 * t + 0.5 * np.array(gravity) * t**2, rtol=0.0, atol=1e-10)
    spin = np.einsum("tij,jk,tk->ti", turns(path_q), inertia.matrix, path_qd[:, :3])
    assert np.allclose(spin, spin[0], rtol=0.0, atol=1e-10)
    energy = robot.kinetic_energy(path_q, path_qd) + robot.potential_energy(path_q)
    assert np.ptp(energy) < 1e-9 * abs(energy).max()


def test_two_floating_bodies_keep_their_momentum() -> None:
    """What a ball joint between two bodies does inside is nothing to the momentum about the centre of mass."""
    rng = np.random.default_rng(0)
    inertias = [Inertia(m, rng.normal(size=3) * 0.2, np.diag([0.2, 0.3, 0.4])) for m in (1.0, 2.0)]
    joints = (Joint("base", "free", "world", "a"), Joint("neck", "spherical", "a", "b"))
    links = (Link("world"), Link("a", inertias[0]), Link("b", inertias[1]))
    robot = ch.Robot(Description("pair", links, joints, gravity=np.zeros(3)))
    q, qd = robot.random_configuration(rng), rng.normal(size=9)
    path_q, path_qd = motion(robot, q, qd, 1.0, 1000)
    momentum = robot.centroidal.momentum(path_q, path_qd)
    assert np.allclose(momentum, momentum[0], rtol=0.0, atol=1e-9)
    energy = robot.kinetic_energy(path_q, path_qd)
    assert np.ptp(energy) < 1e-9 * energy[0]


ROD = Inertia(MASS, [0.0, 0.0, -0.4], np.diag([0.1, 0.1, 0.02]))


@pytest.mark.parametrize("method", ["quaternion", "two hinges"])
def test_a_spherical_pendulum_conserves_energy_and_momentum_about_the_vertical(method: str) -> None:
    """With a ball joint, and with a universal joint that lets the rod not turn about itself."""
    rng = np.random.default_rng(1)
    kind = "spherical" if method == "quaternion" else "universal"
    axes = {"axis": [1.0, 0.0, 0.0], "second_axis": [0.0, 1.0, 0.0]} if kind == "universal" else {}
    robot = single(Joint("j", kind, "ground", "body", **axes), ROD)  # type: ignore[arg-type]
    q, qd = robot.random_configuration(rng), rng.normal(size=robot.n)
    path_q, path_qd = motion(robot, q, qd, 2.0, 4000)
    energy = robot.kinetic_energy(path_q, path_qd) + robot.potential_energy(path_q)
    assert np.ptp(energy) < 1e-9 * abs(energy).max()
    if kind == "spherical":
        pivot = ROD.matrix + MASS * 0.4**2 * np.diag([1.0, 1.0, 0.0])
        about_vertical = np.einsum("tj,jk,tk->t", turns(path_q)[:, 2], pivot, path_qd)
        assert np.ptp(about_vertical) < 1e-9


def test_a_conical_pendulum_goes_round_steadily() -> None:
    """Turning as a whole about the vertical at m g l / ((A - C) cos tilt), squared, with moments about the pivot."""
    robot = single(Joint("j", "spherical", "ground", "body"), ROD)
    tilt = 0.6
    across, along = 0.1 + MASS * 0.4**2, 0.02
    rate = np.sqrt(MASS * 9.81 * 0.4 / ((across - along) * np.cos(tilt)))
    q = np.array([np.cos(tilt / 2), np.sin(tilt / 2), 0.0, 0.0])
    omega = turns(q).T @ [0.0, 0.0, rate]
    duration = 2 * np.pi / rate
    path_q, path_qd = motion(robot, q, omega, duration, 2000)
    assert np.allclose(path_qd, omega, rtol=0.0, atol=1e-9)
    t = np.linspace(0.0, duration, 2001)
    expected = Rotation.from_rotvec(np.outer(t, [0.0, 0.0, rate])).as_matrix() @ turns(q)
    assert np.allclose(turns(path_q), expected, rtol=0.0, atol=1e-9)


def test_the_error_of_the_motion_is_that_of_the_method() -> None:
    """Fourth order: half the step, a sixteenth of the error. A wrong rate of the configuration would be first order."""
    robot = single(Joint("j", "spherical", "ground", "body"), ROD)
    q, qd = robot.normalize([0.8, 0.3, -0.4, 0.1]), np.array([1.0, -2.0, 3.0])

    def end(steps: int) -> np.ndarray:
        return turns(motion(robot, q, qd, 1.0, steps)[0][-1])

    exact = end(3200)
    errors = [np.abs(end(steps) - exact).max() for steps in (50, 100, 200)]
    assert 14.0 < errors[0] / errors[1] < 18.0
    assert 14.0 < errors[1] / errors[2] < 18.0


def test_a_cylinder_on_a_pole_turns_and_falls_apart_from_each_other() -> None:
    spool = Inertia(MASS, [0.0, 0.0, 0.1], np.diag([A, A, C]))
    robot = single(Joint("j", "cylindrical", "ground", "body", axis=[0.0, 0.0, 1.0]), spool)
    q, qd, tau = np.array([0.4, -0.3]), np.array([2.0, 1.0]), np.array([0.7, 5.0])
    assert np.allclose(robot.forward_dynamics(q, qd, tau), [0.7 / C, 5.0 / MASS - 9.81], rtol=1e-14)
    assert np.allclose(robot.mass_matrix(q), np.diag([C, MASS]), rtol=0.0, atol=1e-15)
    T = robot.forward_kinematics(q)
    assert np.allclose(T[:3, :3], Rotation.from_rotvec([0.0, 0.0, 0.4]).as_matrix(), rtol=0.0, atol=1e-15)
    assert T[:3, 3].tolist() == [0.0, 0.0, -0.3]


def test_a_sledge_slides_and_turns_in_its_plane() -> None:
    robot = single(Joint("j", "planar", "ground", "body"), DISC, (0.0, -9.81, 0.0))
    q, qd, tau = np.array([0.2, -0.5, 0.9]), np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    T = robot.forward_kinematics(q)
    assert np.allclose(T[:3, :3], Rotation.from_rotvec([0.0, 0.0, 0.9]).as_matrix(), rtol=0.0, atol=1e-15)
    assert np.allclose(T[:3, 3], [0.2, -0.5, 0.0], rtol=0.0, atol=1e-16)
    assert np.allclose(robot.forward_dynamics(q, qd, tau), [2.0, 2.5 - 9.81, 6.0 / C], rtol=1e-13)


@pytest.mark.parametrize("bend", [0.2, 0.7, 1.2])
def test_a_universal_joint_transmits_turns_unevenly(bend: float) -> None:
    """Two shafts that meet at an angle: tan(second angle) = tan(first angle) / cos(bend) (Cardan's law, Hooke's joint).

    The first shaft turns a fork with the cross's first arm, about z. The joint bends the second shaft, the body,
    so that it stays on a line in the x-z plane.
    """
    joints = (
        Joint("shaft", "revolute", "ground", "fork", axis=[0.0, 0.0, 1.0]),
        Joint("cross", "universal", "fork", "body", axis=[1.0, 0.0, 0.0], second_axis=[0.0, 1.0, 0.0]),
    )
    robot = ch.Robot(Description("drive", tuple(map(Link, ("ground", "fork", "body"))), joints))
    line = np.array([np.sin(bend), 0.0, np.cos(bend)])
    for first in np.linspace(-1.4, 1.4, 9):
        # Angles of the joint that bring the body's z axis onto the line.
        x, y, z = Rotation.from_rotvec([0.0, 0.0, -first]).apply(line)
        cross = [np.arctan2(-y, z), np.arcsin(x)]
        R = robot.forward_kinematics([first, *cross])[:3, :3]
        assert np.allclose(R[:, 2], line, rtol=0.0, atol=1e-15)
        # The body's y axis is the cross's second arm; across the bend, "not turned" is y.
        turned = np.arctan2(-R[:, 1] @ [np.cos(bend), 0.0, -np.sin(bend)], R[1, 1])
        assert np.tan(turned) == pytest.approx(np.tan(first) / np.cos(bend), rel=1e-12, abs=1e-15)
