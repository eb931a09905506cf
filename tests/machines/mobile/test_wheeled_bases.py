"""Wheeled bases and arms on them, against the book's matrices, integration in small steps and differences of poses."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.base.errors import ArgumentError, ChaslesError
from chasles.machines import (
    MobileManipulator,
    WheeledBase,
    car_rates,
    moved,
    planar_displacement,
    tracking_command,
)
from chasles.machines.mobile.manipulator import MobileState


def test_matrices_of_the_book() -> None:
    """Equations (13.9) and (13.10)."""
    r, d, length, width = 0.05, 0.2, 0.3, 0.25
    angles = np.radians([0.0, -120.0, 120.0])
    positions = d * np.stack([np.cos(angles - np.pi / 2), np.sin(angles - np.pi / 2)], axis=-1) * -1.0
    base = WheeledBase.of_wheels(positions, angles, radius=r)
    s = np.sin(np.pi / 3)
    np.testing.assert_allclose(base.H, np.array([[-d, 1, 0], [-d, -0.5, -s], [-d, -0.5, s]]) / r, atol=1e-13)
    mecanum = WheeledBase.mecanum(half_length=length, half_width=width, radius=r)
    k = length + width
    np.testing.assert_allclose(mecanum.H, np.array([[-k, 1, -1], [k, 1, 1], [k, 1, -1], [-k, 1, 1]]) / r, atol=1e-13)


@pytest.mark.parametrize(
    "base",
    [
        WheeledBase.mecanum(half_length=0.3, half_width=0.2, radius=0.06),
        WheeledBase.of_wheels(
            [[0.2, 0.0], [-0.1, 0.2], [-0.1, -0.2]], [1.6, -2.6, -0.5], 0.2, radius=[0.05, 0.05, 0.06]
        ),
    ],
    ids=["four wheels", "three wheels"],
)
def test_wheel_speeds_and_twists_are_inverse(base: WheeledBase) -> None:
    twists = np.random.default_rng(0).normal(size=(4, 5, 3))
    np.testing.assert_allclose(base.twist(base.wheel_speeds(twists)), twists, atol=1e-13)


def test_wheels_drive_their_contact_points() -> None:
    """A wheel's rim and its rollers together move its point of contact as the base does."""
    rng = np.random.default_rng(1)
    positions, beta, gamma, radius = rng.normal(size=(5, 2)), rng.normal(size=5), rng.uniform(-1, 1, 5), 0.1
    base = WheeledBase.of_wheels(positions, beta, gamma, radius=radius)
    omega, vx, vy = twist = rng.normal(size=3)
    for (x, y), b, g, speed in zip(positions, beta, gamma, base.wheel_speeds(twist), strict=True):
        contact = np.array([vx - omega * y, vy + omega * x])
        drive, slide = np.array([np.cos(b), np.sin(b)]), np.array([-np.sin(b + g), np.cos(b + g)])
        parts = np.linalg.solve(np.stack([drive, slide], axis=-1), contact)
        assert parts[0] == pytest.approx(radius * speed, abs=1e-12)


def test_a_differential_drive_does_not_slip_sideways() -> None:
    base = WheeledBase.differential(half_track=0.25, radius=0.1)
    left, right = 3.0, 5.0
    omega, vx, vy = base.twist([left, right])
    assert (omega, vx, vy) == (
        pytest.approx(0.1 * (right - left) / 0.5),
        pytest.approx(0.1 * (left + right) / 2),
        pytest.approx(0.0, abs=1e-15),
    )


@pytest.mark.parametrize("omega", [0.0, 1e-9, -0.3, 4.0])
def test_odometry_is_the_integral_of_the_motion(omega: float) -> None:
    start, twist, time = np.array([0.4, 1.0, -2.0]), np.array([omega, 0.7, -0.2]), 1.7

    def rates(_: float, state: np.ndarray) -> list[float]:
        c, s = np.cos(state[0]), np.sin(state[0])
        return [omega, c * twist[1] - s * twist[2], s * twist[1] + c * twist[2]]

    expected = solve_ivp(rates, (0.0, time), start, rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose(moved(start, twist, time), expected, atol=1e-10)


def test_small_turns_keep_their_digits() -> None:
    for exponent in range(-300, 1, 7):
        turn = 3.0 * 10.0**exponent
        with mpmath.workdps(60):
            w = mpmath.mpf(turn)
            expected = [mpmath.sin(w) / w * 0.5, 2 * mpmath.sin(w / 2) ** 2 / w * 0.5]
        found = planar_displacement([turn, 0.5, 0.0])[1:]
        for value, exact in zip(found, expected, strict=True):
            assert abs(mpmath.mpf(float(value)) - exact) <= 4e-16 * abs(exact)


def test_a_car_drives_in_a_circle_about_the_point_where_its_axles_meet() -> None:
    wheelbase, steering, speed = 2.5, 0.4, 1.5
    radius = wheelbase / np.tan(steering)
    found = solve_ivp(
        lambda _, state: car_rates(state, speed, steering, wheelbase), (0.0, 20.0), [0.0, 0.0, 0.0], rtol=1e-10
    )
    np.testing.assert_allclose(np.hypot(found.y[1], found.y[2] - radius), radius, rtol=1e-7)


def test_a_unicycle_converges_to_its_reference() -> None:
    command, gains = np.array([0.8, 0.3]), np.array([1.0, 3.0, 2.0])

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        own, reference = state[:3], state[3:]
        v, omega = tracking_command(own, reference, command, gains)
        return np.array(
            [
                omega,
                v * np.cos(own[0]),
                v * np.sin(own[0]),
                command[1],
                *(command[0] * f(reference[0]) for f in (np.cos, np.sin)),
            ]
        )

    end = solve_ivp(rates, (0.0, 30.0), [0.9, -0.5, 0.6, 0.0, 0.0, 0.0], rtol=1e-9, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(end[:3], end[3:], atol=1e-6)


def test_the_jacobian_of_an_arm_on_a_base() -> None:
    """Against differences of the tool's pose while wheels and joints move."""
    base = WheeledBase.mecanum(half_length=0.3, half_width=0.2, radius=0.06)
    T_base_arm = np.eye(4)
    T_base_arm[:3, :3], T_base_arm[:3, 3] = ch.geometry.rotation_x(0.4), [0.2, 0.1, 0.5]
    robot = MobileManipulator(base, ch.load("ur5"), T_base_arm, height=0.1)
    rng = np.random.default_rng(2)
    place, q, rates = rng.normal(size=3), rng.normal(size=6), rng.normal(size=6)
    speeds = base.wheel_speeds(rng.normal(size=3))
    step = 1e-6
    poses = [
        robot.forward_kinematics(moved(place, base.twist(speeds), sign * step), q + sign * step * rates)
        for sign in (1.0, -1.0)
    ]
    measured = ch.geometry.log_pose(np.linalg.inv(poses[1]) @ poses[0]) / (2 * step)
    np.testing.assert_allclose(robot.jacobian(q) @ [*speeds, *rates], measured, atol=1e-7)


def test_commands_are_cut_off_at_the_limits() -> None:
    base = WheeledBase.differential(half_track=0.2, radius=0.1, speed_limits=[1.0, 2.0])
    robot = MobileManipulator(base, ch.load("panda"))
    q = robot.arm.home
    state = robot.moved(MobileState(np.zeros(3), q, np.zeros(2)), [10.0, -10.0], np.full(7, 100.0), 0.5)
    np.testing.assert_allclose(state.wheels, [0.5, -1.0])
    np.testing.assert_allclose(state.q - q, 0.5 * robot.arm.velocity_limits)


@pytest.mark.parametrize(
    "make",
    [
        lambda: WheeledBase(np.zeros((4, 3))),
        lambda: WheeledBase(np.ones((4, 2))),
        lambda: WheeledBase([[np.nan, 1.0, 0.0]]),
        lambda: WheeledBase.mecanum(half_length=0.3, half_width=0.2, radius=0.0),
        lambda: WheeledBase.differential(half_track=-0.2, radius=0.1),
        lambda: WheeledBase.of_wheels([[0.1, 0.1]], 0.0, np.pi / 2, radius=0.1),
        lambda: WheeledBase.differential(half_track=0.2, radius=0.1).twist([1.0, 2.0, 3.0]),
        lambda: WheeledBase.differential(half_track=0.2, radius=0.1).wheel_speeds([1j, 0.0, 0.0]),
        lambda: MobileManipulator("base", ch.load("ur5")),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_base_is_refused(make: Any) -> None:
    with pytest.raises(ChaslesError):
        make()


def test_bases_never_change() -> None:
    base = WheeledBase.differential(half_track=0.2, radius=0.1)
    with pytest.raises(ChaslesError, match="never changes"):
        base.H = np.eye(3)
    with pytest.raises(ValueError, match="read-only"):
        base.H[0, 0] = 1.0
    with pytest.raises(ArgumentError, match="twist has shape"):
        base.wheel_speeds([1.0, 2.0])
