"""Feedback and springs of a pose: linear error equations, energies and their gradients, at large angles too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.control import pose_reference
from chasles.control.compliance import AXES, Offset, moved, offset, spring_wrench
from chasles.control.pose_feedback import acceleration_feedback, orientation_error
from chasles.geometry import exp_rotation, log_rotation, pose, random_rotation
from chasles.trajectories.motion import Motion, PoseMotion

KINDS = ("quaternion", "logarithm")
ANGLES = st.one_of(st.floats(0.0, np.pi), st.sampled_from([0.0, 1e-300, 1e-9, 1e-4, np.pi - 1e-9, np.pi]))


def unit(seed: int) -> np.ndarray:
    axis = np.random.default_rng(seed).normal(size=3)
    return np.asarray(axis / np.linalg.norm(axis))


@given(ANGLES, st.integers(0, 100))
@settings(max_examples=60)
def test_orientation_errors_are_exact_at_every_angle(angle: float, seed: int) -> None:
    axis = unit(seed)
    R = Rotation.random(rng=seed).as_matrix()
    R_reference = Rotation.from_rotvec(angle * axis).as_matrix() @ R
    for kind, size in (("quaternion", 2.0 * np.sin(angle / 2.0)), ("logarithm", angle)):
        error = orientation_error(R, R_reference, kind)
        if angle > 3.0:  # at half a turn both ways are equally far
            error = error * np.sign(error @ axis)
        np.testing.assert_allclose(error, size * axis, atol=1e-8 if angle > 3.0 else 2e-15)


def turning(t: float) -> PoseMotion:
    """A reference that tumbles and moves: R = exp(a(t)) by differences, and a curve."""
    h = 1e-4

    def R(s: float) -> np.ndarray:
        return (
            Rotation.from_rotvec([np.sin(2 * s), 0.5 * s, 0.3]) * Rotation.from_rotvec([0.0, 1.5 * s, s])
        ).as_matrix()

    def omega(s: float) -> np.ndarray:
        return Rotation.from_matrix(R(s + h) @ R(s - h).T).as_rotvec() / (2 * h)

    p = np.array([np.cos(t), np.sin(2 * t), 0.3 * t**2])
    v = np.array([-np.sin(t), 2 * np.cos(2 * t), 0.6 * t])
    a = np.array([-np.cos(t), -4 * np.sin(2 * t), 0.6])
    alpha = (omega(t + h) - omega(t - h)) / (2 * h)
    return PoseMotion(pose(R(t), p), np.concatenate([omega(t), v]), np.concatenate([alpha, a]))


def test_errors_obey_the_linear_equation_far_from_small() -> None:
    """A frame 170° and a metre off a tumbling reference, with gains that differ by axis: against the closed form."""
    kp = np.array([30.0, 50.0, 20.0, 40.0, 60.0, 25.0])
    kd = np.array([11.0, 9.0, 14.0, 10.0, 17.0, 8.0])
    start = turning(0.0)
    x0 = np.radians(170.0) * np.array([0.6, 0.0, 0.8])
    R0 = Rotation.from_rotvec(-x0).as_matrix() @ start.pose[:3, :3]  # R_ref Rᵀ = exp(x0)
    state0 = np.concatenate([Rotation.from_matrix(R0).as_quat(), start.pose[:3, 3] - [1.0, -0.5, 0.2], np.zeros(6)])

    def derivative(t: float, x: np.ndarray) -> np.ndarray:
        q, twist = x[:4], x[7:]
        R = Rotation.from_quat(q)
        rate = 0.5 * np.concatenate([q[3] * twist[:3] + np.cross(twist[:3], q[:3]), [-twist[:3] @ q[:3]]])
        a = acceleration_feedback(pose(R.as_matrix(), x[4:7]), twist, turning(t), kp, kd, "logarithm")
        return np.concatenate([rate, twist[3:], a])

    times = np.linspace(0.0, 1.0, 11)
    solution = solve_ivp(derivative, (0.0, 1.0), state0, t_eval=times, rtol=1e-9, atol=1e-10).y.T
    e0 = np.concatenate([x0, [1.0, -0.5, 0.2]])
    # the first rate of the rotation vector, by differences of the motion itself
    h = 1e-5
    before = log_rotation(turning(-h).pose[:3, :3] @ R0.T)
    after = log_rotation(turning(h).pose[:3, :3] @ R0.T)
    rate0 = np.concatenate([(after - before) / (2 * h), start.twist[3:]])
    for t, x in zip(times, solution, strict=True):
        wanted = turning(float(t)).pose
        found = np.concatenate(
            [log_rotation(wanted[:3, :3] @ Rotation.from_quat(x[:4]).as_matrix().T), wanted[:3, 3] - x[4:7]]
        )
        companion = [np.array([[0.0, 1.0], [-p, -d]]) for p, d in zip(kp, kd, strict=True)]
        expected = [(expm(A * t) @ [e, r])[0] for A, e, r in zip(companion, e0, rate0, strict=True)]
        np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize(
    ("kind", "energy"), [("quaternion", lambda a: 4 * (1 - np.cos(a / 2))), ("logarithm", lambda a: a**2 / 2)]
)
def test_the_energy_of_the_orientation_error_falls_from_every_start(kind: str, energy: Any) -> None:
    """|ω|²/2 + kp U(θ), from up to 179° and any spin; the logarithm's own law is linear, so it is tried from rest."""
    rng = np.random.default_rng(5)
    kp, kd = 25.0, 3.0
    rest = PoseMotion(np.eye(4), np.zeros(6), np.zeros(6))
    for k in range(4):
        axis = unit(k)
        spin = rng.normal(size=3) if kind == "quaternion" else np.zeros(3)
        state = np.concatenate([Rotation.from_rotvec(np.radians(179.0) * axis).as_quat(), spin])

        def derivative(t: float, x: np.ndarray) -> np.ndarray:
            R, w = Rotation.from_quat(x[:4]).as_matrix(), x[4:]
            rate = 0.5 * np.concatenate([x[3] * w + np.cross(w, x[:3]), [-w @ x[:3]]])
            twist = np.concatenate([w, np.zeros(3)])
            a = acceleration_feedback(pose(R, np.zeros(3)), twist, rest, np.full(6, kp), np.full(6, kd), kind)
            return np.concatenate([rate, a[:3]])

        x = solve_ivp(derivative, (0.0, 6.0), state, t_eval=np.linspace(0, 6, 200), rtol=1e-9, atol=1e-10).y.T
        angle = np.array([Rotation.from_quat(q).magnitude() for q in x[:, :4]])
        V = 0.5 * np.sum(x[:, 4:] ** 2, axis=-1) + kp * energy(angle)
        assert np.diff(V).max() < 1e-7
        assert angle[-1] < 0.02


@given(st.floats(0.0, np.pi - 1e-3), st.integers(0, 50))
@settings(max_examples=40)
def test_spring_wrenches_are_the_gradient_of_their_energy(angle: float, seed: int) -> None:
    """Central differences of U along small turns and shifts; U from SciPy's quaternion and rotation vector."""
    K = np.array([3.0, 5.0, 8.0, 100.0, 200.0, 50.0])
    S, x = Rotation.from_rotvec(angle * unit(seed)), np.random.default_rng(seed).normal(size=3)

    def energy(kind: str, S: Rotation, x: np.ndarray) -> float:
        vector = 2.0 * S.as_quat()[:3] if kind == "quaternion" else S.as_rotvec()
        return float(0.5 * vector @ (K[:3] * vector) + 0.5 * x @ (K[3:] * x))

    h = 1e-5
    for kind in KINDS:
        wrench = spring_wrench(Offset(x, S.as_matrix(), np.zeros(6)), K, kind)
        for k, direction in enumerate(h * np.eye(3)):
            step = Rotation.from_rotvec(direction)
            slope = (energy(kind, step * S, x) - energy(kind, step.inv() * S, x)) / (2 * h)
            assert abs(wrench[k] + slope) < 1e-5
            slope = (energy(kind, S, x + direction) - energy(kind, S, x - direction)) / (2 * h)
            assert abs(wrench[3 + k] + slope) < 1e-5


@pytest.mark.parametrize("angle", [1e-12, 1e-3, 1.0, 3.0])
def test_moments_about_a_principal_axis(angle: float) -> None:
    K = np.array([3.0, 5.0, 8.0, 0.0, 0.0, 0.0])
    S = np.asarray(exp_rotation([0.0, 0.0, angle]))
    away = Offset(np.zeros(3), S, np.zeros(6))
    np.testing.assert_allclose(spring_wrench(away, K, "quaternion")[2], -8.0 * np.sin(angle), rtol=1e-14)
    np.testing.assert_allclose(spring_wrench(away, K, "logarithm")[2], -8.0 * angle, rtol=1e-14)


def test_quaternion_springs_are_smooth_at_half_a_turn() -> None:
    K = np.array([3.0, 5.0, 8.0, 0.0, 0.0, 0.0])
    axis = unit(3)
    before, after = (
        spring_wrench(Offset(np.zeros(3), Rotation.from_rotvec(a * axis).as_matrix(), np.zeros(6)), K, "quaternion")
        for a in (np.pi - 1e-7, np.pi + 1e-7)
    )
    np.testing.assert_allclose(before, after, atol=1e-5)


@pytest.mark.parametrize("axes", AXES)
def test_a_moved_frame_has_the_offset_that_it_was_given(axes: str) -> None:
    reference = turning(0.4)
    rng = np.random.default_rng(7)
    away = Offset(rng.normal(size=3), random_rotation(rng), rng.normal(size=6))
    frame = moved(reference, away, rng.normal(size=6), axes)
    back = offset(frame.pose, frame.twist, reference, axes)
    for found, expected in zip(back, away, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_offsets_move_as_their_velocities_say(axes: str) -> None:
    """A frame that moves on its own, against differences of what an observer in C sees; both orders."""

    def frame(t: float) -> PoseMotion:
        other = turning(0.7 * t + 0.2)
        return PoseMotion(other.pose, 0.7 * other.twist, 0.49 * other.acceleration)

    def seen(t: float) -> Offset:
        return offset(frame(t).pose, frame(t).twist, turning(t), axes)

    t, h = 0.3, 1e-4
    now, later, before = seen(t), seen(t + h), seen(t - h)
    np.testing.assert_allclose((later.x - before.x) / (2 * h), now.velocity[3:], atol=1e-6)
    if axes == "reference":
        spin = Rotation.from_matrix(later.S @ before.S.T).as_rotvec() / (2 * h)
        np.testing.assert_allclose(spin, now.velocity[:3], atol=1e-6)
    acceleration = (later.velocity - before.velocity) / (2 * h)
    again = moved(turning(t), now, acceleration, axes)
    np.testing.assert_allclose(again.acceleration, frame(t).acceleration, atol=2e-5)


@pytest.mark.parametrize("name", ["planar2r", "puma560", "panda"])
def test_a_joint_reference_is_turned_into_the_motion_of_the_frame(name: str) -> None:
    arm = ch.load(name)
    motion = ch.PointToPoint(arm.home, arm.home + 0.5, 1.0)
    t, h = 0.35, 1e-4
    wanted, later, before = (pose_reference(arm, motion(s)) for s in (t, t + h, t - h))
    np.testing.assert_allclose(wanted.pose, arm.forward_kinematics(motion(t).q), atol=1e-15)
    spin = Rotation.from_matrix(later.pose[:3, :3] @ before.pose[:3, :3].T).as_rotvec() / (2 * h)
    np.testing.assert_allclose(wanted.twist[:3], spin, atol=1e-6)
    np.testing.assert_allclose(wanted.twist[3:], (later.pose[:3, 3] - before.pose[:3, 3]) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(wanted.acceleration, (later.twist - before.twist) / (2 * h), atol=1e-5)
    assert pose_reference(arm, wanted) is wanted


def test_another_frame_can_be_meant() -> None:
    arm = ch.load("panda")
    wanted = pose_reference(arm, Motion(arm.home, np.zeros(7), np.zeros(7)), arm.frame_names[3])
    np.testing.assert_array_equal(wanted.pose, arm.forward_kinematics(arm.home, target=arm.frame_names[3]))


@pytest.mark.parametrize("law", ["ResolvedAcceleration", "OperationalSpace"])
def test_unknown_kinds_are_named(law: str) -> None:
    with pytest.raises((ArgumentError, LookupError), match="quaternion, logarithm"):
        getattr(ch.control, law)(ch.load("panda"), kp=1.0, kd=1.0, orientation_error="euler")
