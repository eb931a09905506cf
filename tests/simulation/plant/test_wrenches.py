"""Wrenches from outside as functions of time, and what a force sensor feels of them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from tests.control.calls import called

import chasles as ch
from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.engine import sin, where
from chasles.model import Description, Inertia, Joint, Link

MASS = 2.0
STAY = ch.PointToPoint([0.0], [0.0], 1.0)
ARM = ch.load("puma560").with_friction(coulomb=0.0)
HOLD = ch.PDGravity(ARM, kp=[900, 900, 500, 100, 100, 100], kd=[60, 60, 40, 5, 5, 5])
REST = ch.PointToPoint(ARM.home, ARM.home, 0.2)


def free(now: ch.control.Now) -> Any:
    return 0.0 * now.q


def slider() -> ch.Robot:
    """A mass on a horizontal rail along x; its frame is turned by a right angle about z."""
    joint = Joint("rail", "prismatic", "base", "cart", axis=[1.0, 0.0, 0.0])
    return ch.Robot(Description("slider", links=(Link("base"), Link("cart", Inertia(mass=MASS))), joints=(joint,)))


def test_a_sine_of_force_moves_a_mass_as_the_closed_form_says() -> None:
    """m x'' = F sin(w t): x = F/(m w) (t - sin(w t)/w)."""
    wrench = ch.ExternalWrench(
        "wave", lambda t, p: np.array([0.0, 0.0, 0.0, p["force"] * sin(p["rate"] * t), 0.0, 0.0]),
        axes="world", parameters={"force": 3.0, "rate": 7.0},
    )  # fmt: skip
    for integrator, tolerance in (("rk4", 1e-12), ("DOP853", 1e-9)):
        run = ch.simulate(ch.Plant(slider(), wrenches=[wrench]), free, STAY, period=5e-3, integrator=integrator)
        t = run.time.values
        np.testing.assert_allclose(run.q[:, 0], 3.0 / (MASS * 7.0) * (t - np.sin(7.0 * t) / 7.0), atol=tolerance * 100)
        np.testing.assert_allclose(run["wrenches.wave"][:, 3], 3.0 * np.sin(7.0 * t), atol=1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "RK45"])
def test_a_jump_between_two_steps_is_exact(integrator: str) -> None:
    """8 N from 0.2 s to 0.5 s on 2 kg."""

    def push(t: Any, p: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, where((t >= 0.2) & (t < 0.5), 8.0, 0.0), 0.0, 0.0])

    plant = ch.Plant(slider(), wrenches=[ch.ExternalWrench("push", push, axes="world", switch_times=[0.2, 0.5])])
    run = ch.simulate(plant, free, STAY, period=0.01, integrator=integrator)
    t = run.time.values
    pushed = np.clip(t - 0.2, 0.0, 0.3)
    np.testing.assert_allclose(run.qd[:, 0], 4.0 * pushed, atol=1e-8)
    np.testing.assert_allclose(run.q[:, 0], 2.0 * pushed**2 + 1.2 * np.clip(t - 0.5, 0.0, None), atol=1e-8)


def test_a_jump_within_a_period_restarts_variable_steps() -> None:
    def push(t: Any, p: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, where(t >= 0.234, 8.0, 0.0), 0.0, 0.0])

    plant = ch.Plant(slider(), wrenches=[ch.ExternalWrench("push", push, axes="world", switch_times=[0.234])])
    run = ch.simulate(plant, free, STAY, period=0.1, integrator="RK45")
    np.testing.assert_allclose(run.qd[:, 0], 4.0 * np.clip(run.time - 0.234, 0.0, None), atol=1e-8)


def test_axes_of_the_frame_turn_with_it_and_those_of_the_world_do_not() -> None:
    constant = np.array([0.3, -0.2, 0.5, 4.0, -7.0, 2.0])
    run = {}
    for axes in ("frame", "world"):
        plant = ch.Plant(ARM, wrenches=[ch.ExternalWrench("load", lambda t, p: constant + 0.0 * t, axes=axes)])
        run[axes] = ch.simulate(plant, HOLD, REST, duration=3.0, record=ch.Recording(every=100))
    for axes, result in run.items():
        q = result.q.values[-1]  # at rest: the controller's springs hold the load
        J = ARM.jacobian(q, frame="body" if axes == "frame" else "world-aligned")
        np.testing.assert_allclose(result.tau.values[-1], ARM.gravity_torque(q) - J.T @ constant, atol=1e-3)
    R = ARM.forward_kinematics(run["frame"].q.values[-1])[:3, :3]
    recorded = run["frame"]["wrenches.load"].values[-1]
    np.testing.assert_allclose(recorded, np.concatenate([R @ constant[:3], R @ constant[3:]]), atol=1e-12)


def test_samples_and_functions_that_cannot_be_traced_are_linear_between_the_calls() -> None:
    """A ramp of 10 N/s from 0.1 s to 0.3 s: exactly m v = 5 (t - 0.1)², for its corners fall on calls."""
    times, forces = np.array([0.1, 0.3]), np.array([0.0, 2.0])
    samples = np.zeros((2, 6))
    samples[:, 3] = forces

    def interpolated(t: Any, p: Any) -> Any:
        return np.array([0.0, 0.0, 0.0, np.interp(float(t), times, forces), 0.0, 0.0])

    for wrench in (
        ch.ExternalWrench("ramp", times=times, samples=samples, axes="world"),
        ch.ExternalWrench("ramp", interpolated, axes="world"),
    ):
        for options in (
            {},
            {"record": ch.Recording(every=5)},
            {"integrator": "DOP853"},
            {"integrator": ch.integrators.Steps("rk4", 3)},
        ):
            run = ch.simulate(ch.Plant(slider(), wrenches=[wrench]), free, STAY, period=0.02, duration=0.28, **options)
            ramp = np.clip(run.time.values - 0.1, 0.0, None)
            np.testing.assert_allclose(MASS * run.qd[:, 0], 5.0 * ramp**2, atol=1e-8)


def test_numbers_of_wrenches_vary() -> None:
    samples = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0], (2, 1))
    plant = ch.Plant(
        slider(),
        wrenches=[
            ch.ExternalWrench("drawn", times=[0.0, 9.0], samples=samples, axes="world"),
            ch.ExternalWrench(
                "f", lambda t, p: np.array([0, 0, 0, p["x"] + 0.0 * t, 0, 0]), axes="world", parameters={"x": 0.0}
            ),
        ],
    )
    vary = {"wrenches.drawn.scale": [1.0, 2.0, -1.0], "wrenches.f.x": [[0.0], [5.0]]}
    run = ch.simulate(plant, free, STAY, vary=vary, duration=1.0)
    speed = run.qd.isel(time=-1, joint=0)
    np.testing.assert_allclose(speed, (np.array([1.0, 2.0, -1.0]) + np.array([[0.0], [5.0]])) / MASS, atol=1e-9)


class Listener(ch.control.Controller):
    """A controller that holds, and whose memory is what its force sensor said."""

    name = "listener"
    memory: Mapping[str, Any] = MappingProxyType({"felt": np.zeros(6)})

    def __init__(self, frame: str) -> None:
        self.measured_wrench = frame

    def law(self, now: ch.control.Now) -> Any:
        now.memory.felt = now.wrench
        return HOLD.law(now) + 1e-3 * now.wrench  # what it feels is seen in the torques


def felt(frame: str, plant: ch.Plant) -> tuple[np.ndarray, np.ndarray]:
    run = ch.simulate(plant, Listener(frame), REST, duration=0.02)
    q = run.q.values[-1]
    known, _ = called(HOLD, q, run.qd.values[-1], REST(0.0))
    return q, (run.tau.values[-1] - known) * 1e3


def test_a_force_sensor_feels_what_acts_beyond_it_about_its_own_origin() -> None:
    load, elbow = np.array([0.3, -0.2, 0.5, 4.0, -7.0, 2.0]), np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    plant = ch.Plant(
        ARM,
        wrenches=[
            ch.ExternalWrench("load", lambda t, p: load + 0.0 * t),
            ch.ExternalWrench("elbow", lambda t, p: elbow + 0.0 * t, frame="link3"),
        ],
    )
    q, at_tool = felt("tool", plant)
    np.testing.assert_allclose(at_tool, load, atol=1e-9)
    q, at_wrist = felt("link4", plant)  # beyond the elbow: its load is not felt
    T = np.linalg.inv(ARM.forward_kinematics(q, target="link4")) @ ARM.forward_kinematics(q)
    force = T[:3, :3] @ load[3:]
    np.testing.assert_allclose(
        at_wrist, np.concatenate([T[:3, :3] @ load[:3] + np.cross(T[:3, 3], force), force]), atol=1e-9
    )
    q, at_upper_arm = felt("link2", plant)  # a virtual displacement of the whole: the sum of both
    J = {name: ARM.jacobian(q, frame="body", target=name) for name in ("link2", "link3", "tool")}
    own = J["link2"][:, :2]
    np.testing.assert_allclose(own.T @ at_upper_arm, J["link3"][:, :2].T @ elbow + J["tool"][:, :2].T @ load, atol=1e-9)


def test_contacts_are_felt_and_press_back() -> None:
    """A cart is pushed against a wall with 5 N and comes to rest 5 N / k inside."""
    wall = ch.ContactPlane("wall", "cart", point=[0.1, 0, 0], normal=[-1, 0, 0], stiffness=1000.0, damping=60.0)
    plant = ch.Plant(slider(), contacts=[wall])
    run = ch.simulate(plant, lambda now: 5.0 + 0.0 * now.q, STAY, duration=3.0)
    assert abs(float(run.q[-1, 0]) - 0.105) < 1e-6
    np.testing.assert_allclose(run["contacts.wall"][-1], [0.0, 0.0, 0.0, -5.0, 0.0, 0.0], atol=1e-4)
    assert run["contacts.wall"].attrs["units"] == "N m, N"


def test_bad_wrenches_are_refused() -> None:
    good = np.zeros((2, 6))
    for arguments, message in (
        ({}, "needs either a function, or times and samples"),
        ({"function": free, "times": [0.0], "samples": good}, "needs either"),
        ({"samples": good}, "needs either"),
        ({"times": [0.0, 1.0, 2.0], "samples": good}, r"samples of wrench 'w' has shape \(2, 6\); expected \(3, 6\)"),
        ({"times": [1.0, 0.0], "samples": good}, r"times of wrench 'w' must increase, not \[1.0, 0.0\]"),
        ({"times": [0.0, 1.0], "samples": good + np.nan}, "it must be finite"),
        ({"times": [0.0, 1.0], "samples": good, "parameters": {"a": 1.0}}, "whose one parameter is 'scale'"),
    ):
        with pytest.raises(ArgumentError, match=message):
            ch.ExternalWrench("w", **arguments)
    with pytest.raises(UnknownNameError, match="axes of a wrench 'tool'"):
        ch.ExternalWrench("w", times=[0.0], samples=good[:1], axes="tool")
    short = ch.Plant(slider(), wrenches=[ch.ExternalWrench("w", lambda t, p: np.zeros(3))])
    with pytest.raises(ArgumentError, match=r"the function of wrench 'w' returns shape \(3,\); expected \(6,\)"):
        ch.simulate(short, free, STAY)
    late = ch.ExternalWrench("w", lambda t, p: np.zeros(6) + float(t) * p["a"], parameters={"a": 1.0})
    with pytest.raises(ArgumentError, match=r"'wrenches\.w\.a' cannot be varied"):
        ch.simulate(ch.Plant(slider(), wrenches=[late]), free, STAY, vary={"wrenches.w.a": 2.0})
