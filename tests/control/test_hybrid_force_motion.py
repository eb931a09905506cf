"""Hybrid motion–force control: the force's equation, motion undisturbed by it, tilted walls, planar arms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from tests.control.sampled_loop import at_rest, constant_wrench, simulate

import chasles as ch
from chasles.base.errors import ChaslesError
from chasles.control import HybridForceMotion
from chasles.engine import maximum
from chasles.geometry import rotation_x, rotation_y

GAINS: dict[str, Any] = {"kp": 100.0, "kd": 20.0, "kf": 1.0, "force_damping": 150.0}


def frictionless(name: str) -> ch.Robot:
    return ch.load(name).with_friction(coulomb=0.0, viscous=0.0)


def test_the_force_obeys_its_equation_against_an_elastic_wall() -> None:
    """m x'' + D x' = (1 + kf) (f_d - k x) about the tool's place; 0.2 mm deep, where m is all but constant."""
    arm, q, stiffness, f_d = frictionless("panda"), np.array(ch.load("panda").home), 5000.0, 1.0
    T = arm.forward_kinematics(q)

    def wall(t: Any, pose: Any, twist: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, stiffness * (T[2, 3] - pose[2, 3])])

    controller = HybridForceMotion(arm, {"z": -f_d}, **GAINS)
    run = simulate(arm, controller, at_rest(T), duration=0.6, period=2e-5, q0=q, wrench=wall, save_every=500)
    depth = T[2, 3] - arm.forward_kinematics(run.q)[:, 2, 3]
    J = arm.jacobian(q, frame="world-aligned")[5]
    m = 1.0 / (J @ arm.inverse_mass_matrix(q) @ J)
    A = np.array([[0.0, 1.0, 0.0], [-2.0 * stiffness / m, -150.0 / m, 2.0 * f_d / m], [0.0, 0.0, 0.0]])
    expected = [scipy.linalg.expm(A * t)[0, 2] for t in run.t]
    np.testing.assert_allclose(depth, expected, atol=2e-7)
    others = np.delete(arm.forward_kinematics(run.q)[:, :3, 3] - T[:3, 3], 2, axis=-1)
    assert np.abs(others[-1]).max() < 1e-5


@pytest.mark.parametrize(("share", "settles"), [(0.8, True), (1.2, False)])
def test_the_integral_of_the_force_is_stable_below_the_bound_of_routh(share: float, settles: bool) -> None:
    """m kfi < (1 + kf) D, on a shallow wall where the inertia m is all but constant."""
    arm, q = frictionless("panda"), np.array(ch.load("panda").home)
    T, J = arm.forward_kinematics(q), arm.jacobian(q, frame="world-aligned")[5]
    m = 1.0 / (J @ arm.inverse_mass_matrix(q) @ J)

    def wall(t: Any, pose: Any, twist: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 5000.0 * (T[2, 3] - pose[2, 3])])

    law = HybridForceMotion(arm, {"z": -1.0}, kfi=share * 2.0 * 150.0 / m, **GAINS)
    run = simulate(arm, law, at_rest(T), duration=0.8, period=2e-4, q0=q, wrench=wall, save_every=5)
    off = np.abs(5000.0 * (T[2, 3] - arm.forward_kinematics(run.q)[:, 2, 3]) - 1.0)
    assert (off[-100:].max() < 0.5 * off[100:200].max()) == settles


@pytest.mark.parametrize("name", ["puma560", "panda"])
def test_force_and_motion_are_both_right_along_a_tilted_wall(name: str) -> None:
    """The tool slides along a circle in the wall; once the force has arrived, it no longer disturbs the motion."""
    arm = frictionless(name)
    q = np.array([0.3, 0.6, -0.4, 0.5, 0.9, 0.2]) if name == "puma560" else np.array(arm.home)
    R = rotation_x(0.4) @ rotation_y(-0.3)
    normal, T = R[:, 2], arm.forward_kinematics(q)

    def wall(t: Any, pose: Any, twist: Any) -> Any:
        depth = normal @ (T[:3, 3] - pose[:3, 3]) - 0.005
        return np.concatenate([np.zeros(3), normal * maximum(4000.0 * depth - 50.0 * (normal @ twist[3:]), 0.0)])

    circle = ch.Circle(T, T[:3, 3] + 0.05 * R[:, 0], normal, duration=2.0)
    controller = HybridForceMotion(arm, {"z": -15.0}, R_world_task=R, kfi=4.0, **GAINS)
    run = simulate(
        arm,
        controller,
        lambda t: circle.motion(t, circle.parameters),
        duration=4.0,
        period=5e-4,
        q0=q,
        wrench=wall,
        save_every=20,
    )
    found, wanted = arm.forward_kinematics(run.q), circle(run.t).pose
    off = (found[:, :3, 3] - wanted[:, :3, 3]) @ R
    assert np.abs(off[:, :2]).max() < 0.01
    assert np.abs(found[:, :3, :3] - wanted[:, :3, :3]).max() < 0.05
    pressed = run.t > 1.0
    assert np.abs(off[pressed, :2]).max() < 5e-4
    assert np.abs(found[pressed, :3, :3] - wanted[pressed, :3, :3]).max() < 2e-3
    depth = (T[:3, 3] - found[-1, :3, 3]) @ normal - 0.005
    np.testing.assert_allclose(4000.0 * depth, 15.0, rtol=2e-3)


def test_without_anything_in_the_way_it_moves_no_faster_than_it_says() -> None:
    arm = frictionless("panda")
    T = arm.forward_kinematics(arm.home)
    controller = HybridForceMotion(arm, {"z": -6.0}, **GAINS)
    run = simulate(arm, controller, at_rest(T), duration=1.5, period=1e-3, q0=arm.home, save_every=10)
    speed = np.gradient(arm.forward_kinematics(run.q)[:, 2, 3], run.t)
    assert speed.min() > -2.0 * 6.0 / 150.0 * 1.001
    np.testing.assert_allclose(speed[-2], -2.0 * 6.0 / 150.0, rtol=2e-2)


def test_a_planar_arm_presses_with_one_component_and_slides_with_the_other() -> None:
    arm, q = frictionless("planar2r"), np.array([0.2, 1.2])
    T = arm.forward_kinematics(q)
    controller = HybridForceMotion(arm, {"x": 12.0}, **GAINS, kfi=4.0, components=("x", "y"))

    def wall(t: Any, pose: Any, twist: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, -maximum(5000.0 * (pose[0, 3] - T[0, 3]), 0.0), 0.0, 0.0])

    goal = T.copy()
    goal[1, 3] += 0.05
    run = simulate(arm, controller, at_rest(goal), duration=5.0, period=5e-4, q0=q, wrench=wall, save_every=20)
    x, y = arm.forward_kinematics(run.q[-1])[:2, 3]
    np.testing.assert_allclose([5000.0 * (x - T[0, 3]), y], [12.0, goal[1, 3]], rtol=1e-4)


def test_a_moment_can_be_controlled() -> None:
    """A screwdriver: the tool turns freely about its axis against a torsion spring until the moment is right."""
    arm, q = frictionless("panda"), np.array(ch.load("panda").home)
    T = arm.forward_kinematics(q)

    def spring(t: Any, pose: Any, twist: Any) -> Any:
        turned = pose[:3, :3] @ T[:3, :3].T  # about z: its sine is an entry
        return np.array([0.0, 0.0, -10.0 * turned[1, 0], 0.0, 0.0, 0.0])

    controller = HybridForceMotion(arm, {"rz": 2.0}, kp=100.0, kd=20.0, kf=0.5, kfi=2.0, force_damping=3.0)
    run = simulate(arm, controller, at_rest(T), duration=6.0, period=1e-3, q0=q, wrench=spring, save_every=20)
    turned = arm.forward_kinematics(run.q[-1])[:3, :3] @ T[:3, :3].T
    np.testing.assert_allclose(10.0 * turned[1, 0], 2.0, rtol=1e-3)


def test_a_push_along_the_axis_of_force_gives_way() -> None:
    """At wanted force zero the frame yields to a push as a damper does, and comes back to nothing."""
    arm = frictionless("panda")
    T = arm.forward_kinematics(arm.home)
    controller = HybridForceMotion(arm, {"z": 0.0}, **GAINS)
    push = constant_wrench([0.0, 0.0, 0.0, 0.0, 0.0, 5.0])
    run = simulate(arm, controller, at_rest(T), duration=1.0, period=1e-3, q0=arm.home, wrench=push, save_every=10)
    speed = np.gradient(arm.forward_kinematics(run.q)[:, 2, 3], run.t)
    np.testing.assert_allclose(speed[-2], 2.0 * 5.0 / 150.0, rtol=2e-2)


@pytest.mark.parametrize(
    ("forces", "wrong", "named"),
    [
        ({}, {}, "no axis has a desired force"),
        ({"w": 1.0}, {}, "component 'w'"),
        ({"z": np.nan}, {}, "force along z must be finite"),
        ({"z": 1.0}, {"kf": -1.0}, r"kf\[0\] is -1.0; it must be at least 0"),
        ({"z": 1.0}, {"force_damping": [1.0, 2.0]}, r"force_damping has shape \(2,\)"),
        ({"z": 1.0}, {"R_world_task": np.ones((3, 3))}, "must be a rotation"),
        ({"rz": 1.0}, {"components": ("x", "y", "z")}, "not among the controlled components x, y, z"),
    ],
)
def test_bad_arguments_are_named(forces: Any, wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ChaslesError, match=named):
        HybridForceMotion(ch.load("panda"), forces, **(GAINS | wrong))
