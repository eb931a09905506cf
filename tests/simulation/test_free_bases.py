"""Robots with free bases and other quaternions in closed loops, against conservation laws and closed forms."""

from typing import Any

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ModelError
from chasles.geometry import exp_rotation, quaternion_from_rotation, rotation_from_quaternion
from chasles.model import Description, Inertia, Joint, Link
from chasles.simulation import DivergenceWarning


def body() -> ch.Robot:
    """A free rigid body without gravity."""
    link = Link("body", Inertia(2.0, np.zeros(3), np.diag([0.02, 0.05, 0.06])))
    joint = Joint("base", "free", "world", "body")
    return ch.Robot(Description("body", (Link("world"), link), (joint,), gravity=np.zeros(3)))


def rest(robot: ch.Robot, duration: float) -> ch.PointToPoint:
    return ch.PointToPoint(robot.neutral, robot.neutral, duration)


def no_torque(now: ch.control.Now) -> Any:
    return 0.0 * now.qd


@pytest.mark.parametrize("integrator", ["automatic", "rodas5p"])
def test_a_free_body_keeps_its_momentum_and_energy(integrator: str) -> None:
    robot = body()
    start = np.array([0.3, 2.0, -0.1, 0.2, 0.0, 0.4])
    run = ch.simulate(robot, no_torque, rest(robot, 2.0), start=ch.State(qd=start), integrator=integrator)
    R, v = rotation_from_quaternion(run.q.values[:, :4]), run.qd.values  # velocities in the body's axes
    angular = np.einsum("kij,j,kj->ki", R, np.array([0.02, 0.05, 0.06]), v[:, :3])
    linear = np.einsum("kij,kj->ki", R, v[:, 3:])
    for momentum in (angular, linear):
        np.testing.assert_allclose(momentum, momentum[:1] + np.zeros((len(run.time), 1)), atol=1e-7)
    np.testing.assert_allclose(run.q.values[-1, 4:7], 2.0 * start[3:], atol=1e-7)
    energy = robot.kinetic_energy(run.q.values, run.qd.values)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(run.q.values[:, :4], axis=-1), 1.0, atol=1e-12)


def test_references_are_followed_on_the_manifold() -> None:
    """Feed-forward torques of the reference's q, qd and qdd keep a body on a curve that turns and moves."""
    robot = body()
    goal = np.concatenate([quaternion_from_rotation(exp_rotation([0.4, -1.0, 0.7])), [0.3, -0.2, 0.1]])
    motion = ch.PointToPoint(robot.neutral, goal, 1.0)
    run = ch.simulate(
        robot,
        lambda now: robot.inverse_dynamics(now.reference.q, now.reference.qd, now.reference.qdd),
        motion,
        period=1e-3,
    )
    assert float(np.abs(run.error).max()) < 2e-3
    np.testing.assert_allclose(run.q_reference[-1], goal, atol=1e-12)
    q, v = run.q_reference.values, run.qd_reference.values
    moved = robot.difference(q[:-1], q[1:]) / 1e-3  # mean velocity of each period
    np.testing.assert_allclose(moved, 0.5 * (v[:-1] + v[1:]), atol=2e-5)


def test_an_arm_on_a_free_base_falls_as_its_mass_centre_does() -> None:
    robot = ch.load("panda").with_free_base()
    run = ch.simulate(robot, no_torque, ch.PointToPoint(robot.home, robot.home, 0.5))
    centre = np.asarray(robot.center_of_mass(run.q.values))
    fallen = centre - centre[0]
    expected = 0.5 * np.array([0.0, 0.0, -9.81]) * run.time.values[:, None] ** 2
    np.testing.assert_allclose(fallen, expected, atol=1e-9)


def test_a_base_without_mass_is_named() -> None:
    robot = ch.load("planar2r").with_free_base()
    still = ch.PointToPoint(robot.home, robot.home, 0.01)
    with pytest.raises(ModelError, match=r"'base\.wz'.* can move without moving any mass, .* Give link 'link0' mass"):
        ch.simulate(robot, no_torque, still)
    with pytest.warns(DivergenceWarning, match=r"mass matrix is singular: base\.\w+ moves no mass"):
        ch.simulate(robot, no_torque, still, vary={"links.link0.mass": [0.0]})
