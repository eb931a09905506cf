"""Robots on bases that move: frames that accelerate and turn, against closed forms and a robot with more joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles import BaseMotion
from chasles.base.errors import ArgumentError
from chasles.model import Description, Inertia, Joint, Link
from chasles.trajectories import CartesianTrajectory, PoseMotion

LENGTH, MASS, GRAVITY = 0.7, 1.3, 9.81


class Moving(CartesianTrajectory):
    """A base that turns about an axis by angle(t) while its origin is at place(t); each with two derivatives."""

    def __init__(self, axis: Any, angle: Any, place: Any) -> None:
        self.axis, self.angle, self.place = np.asarray(axis, dtype=float), angle, place
        self.knots = np.array([0.0, 1.0])

    def pose_motion(self, t: Any) -> PoseMotion:
        angle, rate, second = (np.asarray(part)[..., None] * self.axis for part in self.angle(t))
        place, velocity, acceleration = (np.broadcast_to(part, (*np.shape(t), 3)) for part in self.place(t))
        pose = np.zeros((*np.shape(t), 4, 4))
        pose[..., :3, :3] = Rotation.from_rotvec(angle.reshape(-1, 3)).as_matrix().reshape(*np.shape(t), 3, 3)
        pose[..., :3, 3], pose[..., 3, 3] = place, 1.0
        return PoseMotion(
            pose, np.concatenate([rate, velocity], axis=-1), np.concatenate([second, acceleration], axis=-1)
        )


def pendulum() -> ch.Robot:
    """A point mass on a rod, hanging down at q = 0, that swings about the y axis."""
    bob = Link("bob", Inertia(MASS, [0.0, 0.0, -LENGTH]))
    joint = Joint("pivot", "revolute", "base", "bob", axis=[0.0, 1.0, 0.0])
    return ch.Robot(Description("pendulum", links=(Link("base", Inertia(0.4)), bob), joints=(joint,)))


def free(now: ch.control.Now) -> Any:
    return 0.0 * now.q


def still(t: Any) -> tuple[Any, Any, Any]:
    zero = np.zeros((*np.shape(t), 3))
    return zero, zero, zero


def no_turn(t: Any) -> tuple[Any, Any, Any]:
    return 0.0 * t, 0.0 * t, 0.0 * t


STAY = ch.PointToPoint([0.0], [0.0], 1.0)


def test_an_accelerating_base_tilts_the_vertical() -> None:
    """Constant acceleration a along x: equilibrium at tan(q) = a/g, where the pendulum stays."""
    a = 4.0

    def forward(t: Any) -> tuple[Any, Any, Any]:
        x = np.array([1.0, 0.0, 0.0])
        t = np.asarray(t)[..., None]
        return 0.5 * a * t**2 * x, a * t * x, a * x + 0.0 * t

    plant = ch.Plant(pendulum(), base=BaseMotion(Moving([0, 0, 1], no_turn, forward)))
    run = ch.simulate(plant, free, STAY, start=[np.arctan2(a, GRAVITY)], period=0.01)
    np.testing.assert_allclose(run.q, np.arctan2(a, GRAVITY), atol=1e-9)


def test_load_friction_feels_the_base_accelerate() -> None:
    """An arm whose base accelerates upwards by a swings as one that stands where gravity is g + a."""
    a = 3.0

    def upward(t: Any) -> tuple[Any, Any, Any]:
        z = np.array([0.0, 0.0, 1.0])
        t = np.asarray(t)[..., None]
        return 0.5 * a * t**2 * z, a * t * z, a * z + 0.0 * t

    arm = ch.load("puma560").with_friction(coulomb=0.0, load=0.3, load_velocity=0.05)
    heavy = arm.with_gravity([0.0, 0.0, -GRAVITY - a])
    motion = ch.PointToPoint(arm.home, arm.home, 0.3)
    moving = ch.Plant(arm, base=BaseMotion(Moving([0, 0, 1], no_turn, upward)))
    lifted, standing = (ch.simulate(plant, free, motion, period=0.005, integrator="rk4") for plant in (moving, heavy))
    assert np.abs(standing.q[-1] - arm.home).max() > 0.1
    np.testing.assert_allclose(lifted.q, standing.q, atol=1e-9)


def test_a_base_in_free_fall_takes_the_weight_away() -> None:
    def falling(t: Any) -> tuple[Any, Any, Any]:
        z = np.array([0.0, 0.0, -GRAVITY])
        t = np.asarray(t)[..., None]
        return 0.5 * t**2 * z, t * z, z + 0.0 * t

    plant = ch.Plant(pendulum(), base=BaseMotion(Moving([0, 0, 1], no_turn, falling)))
    run = ch.simulate(plant, free, STAY, start=ch.State(qd=[1.5]), period=0.01)
    np.testing.assert_allclose(run.q[:, 0], 1.5 * run.time, atol=1e-9)


def test_a_base_that_spins_raises_a_governor() -> None:
    """About the vertical at w: the conical pendulum stays at cos(q) = g / (w² l)."""
    w = 6.0
    plant = ch.Plant(pendulum(), base=BaseMotion(Moving([0, 0, 1], lambda t: (w * t, w + 0.0 * t, 0.0 * t), still)))
    angle = np.arccos(GRAVITY / (w**2 * LENGTH))
    run = ch.simulate(plant, free, STAY, start=[angle], period=2e-3)
    np.testing.assert_allclose(run.q, angle, atol=1e-8)


def test_a_base_that_rocks_about_the_joint_is_not_felt_by_what_swings_freely() -> None:
    """Turning the base about the pivot's own axis turns the joint's zero: q + angle swings as if nothing were."""

    def rock(t: Any) -> tuple[Any, Any, Any]:
        return 0.3 * np.sin(5.0 * t), 1.5 * np.cos(5.0 * t), -7.5 * np.sin(5.0 * t)

    plant = ch.Plant(pendulum(), base=BaseMotion(Moving([0, 1, 0], rock, still)))
    options: dict[str, Any] = {"period": 2e-3}
    run = ch.simulate(plant, free, STAY, start=ch.State([0.5], [-1.5]), **options)
    alone = ch.simulate(pendulum(), free, STAY, start=[0.5], **options)
    np.testing.assert_allclose(run.q[:, 0] + rock(run.time.values)[0], alone.q[:, 0], atol=1e-7)


def ship() -> Moving:
    """Rolling about a slanted axis while it heaves and surges."""

    def roll(t: Any) -> tuple[Any, Any, Any]:
        return 0.4 * np.sin(4.0 * t), 1.6 * np.cos(4.0 * t), -6.4 * np.sin(4.0 * t)

    def heave(t: Any) -> tuple[Any, Any, Any]:
        t = np.asarray(t)[..., None]
        way, w = np.array([0.3, -0.1, 0.2]), 5.0
        return way * np.sin(w * t), way * w * np.cos(w * t), -way * w * w * np.sin(w * t)

    return Moving(np.array([2.0, -1.0, 2.0]) / 3.0, roll, heave)


def test_an_arm_on_a_ship_obeys_the_dynamics_of_the_arm_on_a_free_joint() -> None:
    """The motion that was found, put into the floating robot's inverse dynamics, needs the torques that drove it."""
    arm = ch.load("puma560").with_friction(coulomb=0.0)
    hold = ch.ComputedTorque(arm, kp=100.0, kd=20.0)
    motion = ch.PointToPoint(arm.home, arm.home + 0.3, 0.4)
    plant = ch.Plant(arm, base=BaseMotion(ship()), payloads=[ch.PickedPayload("box", 1.0)])
    run = ch.simulate(plant, hold, motion, period=1e-3, record=ch.Recording(energies=True))
    floating = ch.Robot(plant.base.floating(arm.with_payload(1.0).description))
    t, q, qd = run.time.values, run.q.values, run.qd.values
    pose, twist, rate = ship()(t)
    R = pose[:, :3, :3]
    quaternion = np.asarray(ch.geometry.quaternion_from_rotation(R))

    def body(v: Any) -> Any:
        return np.einsum("kji,kj->ki", R, v)

    w, v = body(twist[:, :3]), body(twist[:, 3:])
    v_dot = np.concatenate([body(rate[:, :3]), body(rate[:, 3:]) - np.cross(w, v)], axis=-1)
    whole_q = np.concatenate([quaternion, pose[:, :3, 3], q], axis=-1)
    whole_qd = np.concatenate([w, v, qd], axis=-1)
    # The torque is held over a period: accelerations jump at the calls, velocities change by their mean.
    before = np.concatenate([v_dot, np.zeros_like(q)], axis=-1)
    rest = floating.inverse_dynamics(whole_q, whole_qd, before)[:, 6:]
    qdd = np.einsum("kij,kj->ki", arm.with_payload(1.0).inverse_mass_matrix(q), run.tau.values - rest)
    np.testing.assert_allclose(np.diff(qd, axis=0) / 1e-3, qdd[:-1], atol=0.02 * np.abs(qdd).max())
    energy = run["energy.kinetic"] + run["energy.potential"]
    np.testing.assert_allclose(
        energy,
        floating.kinetic_energy(whole_q, whole_qd) + floating.potential_energy(whole_q),
        rtol=1e-6,
        atol=1e-6,
    )
    work = run["work.motors"] + run["work.base"] + run["work.payloads"] - run["loss.robot_friction"]
    np.testing.assert_allclose(energy - energy[0], work, atol=1e-5 * float(np.abs(energy).max()))
    assert float(np.abs(run["work.base"]).max()) > 1.0
    fine = ch.simulate(plant, hold, motion, period=1e-3, integrator="DOP853", duration=0.05)
    np.testing.assert_allclose(fine.q, run.q[:51], atol=1e-9)


def test_contacts_are_where_the_base_takes_the_robot() -> None:
    """A cart that is held stiffly meets a wall in the world as its base drives against it."""
    joint = Joint("rail", "prismatic", "base", "cart", axis=[0.0, 1.0, 0.0])
    cart = ch.Robot(Description("cart", links=(Link("base"), Link("cart", Inertia(1.0))), joints=(joint,)))

    def forward(t: Any) -> tuple[Any, Any, Any]:
        x = np.array([1.0, 0.0, 0.0])
        t = np.asarray(t)[..., None]
        return t * x, x + 0.0 * t, 0.0 * t * x

    wall = ch.ContactPlane("wall", "cart", point=[0.5, 0, 0], normal=[-1, 0, 0], stiffness=100.0)
    plant = ch.Plant(cart, base=BaseMotion(Moving([0, 0, 1], no_turn, forward)), contacts=[wall])
    run = ch.simulate(plant, free, STAY, period=0.01)
    np.testing.assert_allclose(run["contacts.wall"][:, 3], -100.0 * np.clip(run.time - 0.5, 0.0, None), atol=1e-6)


def test_what_is_no_motion_of_a_base_is_refused() -> None:
    with pytest.raises(ArgumentError, match="trajectory must be a CartesianTrajectory"):
        BaseMotion(STAY)
    with pytest.raises(ArgumentError, match="base must be a BaseMotion"):
        ch.Plant(pendulum(), base=ship())
