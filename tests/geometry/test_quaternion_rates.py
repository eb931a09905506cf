from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation
from tests.geometry import exact_quaternions as exact
from tests.geometry.exact_poses import precise

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import (
    angular_acceleration_from_quaternion_acceleration,
    angular_velocity_from_quaternion_rate,
    integrate_quaternion,
    multiply_quaternions,
    quaternion_acceleration_from_angular_acceleration,
    quaternion_rate_from_angular_velocity,
    quaternion_rate_matrix,
    rotation_from_quaternion,
)

EPS = np.finfo(float).eps
FRAMES = ("space", "body")
SHAPES = ((), (1,), (3, 1, 2))


def random_quaternions(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(*shape, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def tumbling(seed: int) -> Callable[[Any], np.ndarray]:
    """Unit quaternion as a function of time: three turns about changing axes, one after the other."""
    coefficients = precise(np.random.default_rng(seed).normal(size=(3, 3, 4)))

    def curve(t: Any) -> np.ndarray:
        q = precise([1, 0, 0, 0])
        for polynomials in coefficients:
            vector = polynomials @ np.array([t**k for k in range(4)])
            q = exact.product(q, exact.exponential(np.array([0 * t, *vector])))
        return q

    return curve


@pytest.fixture(scope="module")
def motions() -> dict[str, np.ndarray]:
    """Quaternions with their derivatives, and angular velocities and accelerations of their rotation matrices."""
    samples = [exact.turning(tumbling(seed), 0.3) for seed in range(6)]
    return {name: np.array([sample[name] for sample in samples]) for name in samples[0]}


@pytest.mark.parametrize("frame", FRAMES)
def test_rates_are_those_of_the_rotation_matrix(motions: dict[str, np.ndarray], frame: str) -> None:
    q, rate, acceleration = (motions[name] for name in ("quaternion", "rate", "acceleration"))
    omega, alpha = motions[f"omega_{frame}"], motions[f"alpha_{frame}"]
    close = {"rtol": 0.0, "atol": 40 * EPS * np.abs(acceleration).max()}
    np.testing.assert_allclose(quaternion_rate_from_angular_velocity(q, omega, frame=frame), rate, **close)
    np.testing.assert_allclose(angular_velocity_from_quaternion_rate(q, rate, frame=frame), omega, **close)
    np.testing.assert_allclose(
        quaternion_acceleration_from_angular_acceleration(q, omega, alpha, frame=frame), acceleration, **close
    )
    np.testing.assert_allclose(
        angular_acceleration_from_quaternion_acceleration(q, acceleration, frame=frame), alpha, **close
    )


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rate_matrix(frame: str, shape: tuple[int, ...]) -> None:
    q, omega = random_quaternions(shape), np.random.default_rng(1).normal(size=(*shape, 3))
    G = quaternion_rate_matrix(q, frame=frame)
    close = {"rtol": 0.0, "atol": 8 * EPS}
    rate = quaternion_rate_from_angular_velocity(q, omega, frame=frame)
    np.testing.assert_allclose((G @ omega[..., None])[..., 0], rate, **close)
    G_transposed = np.swapaxes(G, -1, -2)
    np.testing.assert_allclose(4.0 * G_transposed @ G, np.broadcast_to(np.eye(3), (*shape, 3, 3)), **close)
    np.testing.assert_allclose(G_transposed @ q[..., None], np.zeros((*shape, 3, 1)), **close)


def test_space_and_body_differ_by_the_rotation() -> None:
    q, rate = random_quaternions((20,)), np.random.default_rng(1).normal(size=(20, 4))
    in_space, in_body = (angular_velocity_from_quaternion_rate(q, rate, frame=frame) for frame in FRAMES)
    turned = np.einsum("nij,nj->ni", rotation_from_quaternion(q), in_body)
    np.testing.assert_allclose(in_space, turned, rtol=0.0, atol=40 * EPS)


def test_changes_of_length_are_ignored() -> None:
    q, omega = random_quaternions((20,)), np.random.default_rng(1).normal(size=(20, 3))
    rate = quaternion_rate_from_angular_velocity(q, omega)
    np.testing.assert_allclose(angular_velocity_from_quaternion_rate(q, rate + 3.0 * q), omega, rtol=0.0, atol=40 * EPS)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("shape", SHAPES)
def test_constant_velocity_against_scipy(frame: str, shape: tuple[int, ...]) -> None:
    q, rng = random_quaternions(shape), np.random.default_rng(1)
    omega, duration = 3.0 * rng.normal(size=(*shape, 3)), rng.uniform(-2.0, 2.0, size=shape)
    turned = integrate_quaternion(q, omega, duration, frame=frame)
    before = Rotation.from_quat(np.roll(q, -1, axis=-1).reshape(-1, 4))
    turn = Rotation.from_rotvec((duration[..., None] * omega).reshape(-1, 3))
    after = turn * before if frame == "space" else before * turn
    R = rotation_from_quaternion(turned)
    np.testing.assert_allclose(R.reshape(-1, 3, 3), after.as_matrix(), rtol=0.0, atol=40 * EPS)


@pytest.mark.parametrize("frame", FRAMES)
def test_integration_solves_the_differential_equation(frame: str) -> None:
    q, omega = random_quaternions(()), np.array([1.0, -2.0, 3.0])
    solution = solve_ivp(
        lambda t, q: quaternion_rate_from_angular_velocity(q, omega, frame=frame),
        (0.0, 2.0),
        q,
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    np.testing.assert_allclose(
        integrate_quaternion(q, omega, 2.0, frame=frame), solution.y[:, -1], rtol=0.0, atol=1e-10
    )


def test_integration_goes_on_without_a_jump() -> None:
    np.testing.assert_allclose(
        integrate_quaternion([1.0, 0.0, 0.0, 0.0], [0.0, 2.0 * math.pi, 0.0], [1.0, 2.0]),
        [[-1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]],
        rtol=0.0,
        atol=8 * EPS,
    )
    half = integrate_quaternion(integrate_quaternion([0.6, 0.8, 0.0, 0.0], [1.0, 2.0, 3.0], 0.7), [1.0, 2.0, 3.0], -0.7)
    np.testing.assert_allclose(half, [0.6, 0.8, 0.0, 0.0], rtol=0.0, atol=4 * EPS)


def test_slow_turns_keep_their_digits() -> None:
    q = integrate_quaternion([1.0, 0.0, 0.0, 0.0], [1e-200, 0.0, 3e-300], 1e-3)
    np.testing.assert_allclose(q, [1.0, 5e-204, 0.0, 1.5e-303], rtol=4 * EPS, atol=0.0)


@pytest.mark.parametrize("frame", FRAMES)
def test_derivatives_of_integration(frame: str) -> None:
    """By duration it is the rate; by the angular velocity it is right at zero, too."""
    q, omega = random_quaternions(()), np.array([0.3, -0.2, 0.5])
    by_duration = integrate_quaternion.jacobian(wrt="duration", frame=frame)(q, omega, 0.8)
    rate = quaternion_rate_from_angular_velocity(integrate_quaternion(q, omega, 0.8, frame=frame), omega, frame=frame)
    np.testing.assert_allclose(by_duration, rate, rtol=0.0, atol=8 * EPS)
    by_omega = integrate_quaternion.jacobian(wrt="omega", frame=frame)(q, np.zeros(3), 0.8)
    np.testing.assert_allclose(by_omega, 0.8 * quaternion_rate_matrix(q, frame=frame), rtol=0.0, atol=8 * EPS)


def test_unknown_frames_and_quaternions_that_are_not_units_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"no frame 'base'.*space, body"):
        quaternion_rate_from_angular_velocity([1.0, 0.0, 0.0, 0.0], np.zeros(3), frame="base")
    with pytest.raises(ArgumentError, match="q_ab is not a unit quaternion"):
        integrate_quaternion([1.0, 1.0, 0.0, 0.0], np.zeros(3), 1.0, check=True)


def test_nan_stays_in_its_sample() -> None:
    q, omega = random_quaternions((3,)), np.ones((3, 3))
    omega[1, 2] = np.nan
    for result in (
        quaternion_rate_from_angular_velocity(q, omega),
        quaternion_acceleration_from_angular_acceleration(q, omega, np.ones((3, 3))),
        integrate_quaternion(q, omega, 1.0),
    ):
        np.testing.assert_array_equal(np.isnan(result), [[False] * 4, [True] * 4, [False] * 4])


def test_rates_of_a_product_add_up(motions: dict[str, np.ndarray]) -> None:
    """Of a frame that turns in a turning frame: ω_ac = ω_ab + R_ab ω_bc."""
    q_ab, q_bc = motions["quaternion"], np.roll(motions["quaternion"], 1, axis=0)
    rate_ab, rate_bc = motions["rate"], np.roll(motions["rate"], 1, axis=0)
    rate_ac = multiply_quaternions(rate_ab, q_bc) + multiply_quaternions(q_ab, rate_bc)
    omega = angular_velocity_from_quaternion_rate(multiply_quaternions(q_ab, q_bc), rate_ac)
    carried = np.einsum("nij,nj->ni", rotation_from_quaternion(q_ab), np.roll(motions["omega_space"], 1, axis=0))
    np.testing.assert_allclose(omega, motions["omega_space"] + carried, rtol=0.0, atol=100 * EPS)


def test_oracle_turns_as_told() -> None:
    """Turning about z at a changing rate: ω = 2 t + 1, α = 2."""
    with mpmath.workdps(100):
        sample = exact.turning(lambda t: exact.exponential(np.array([0 * t, 0 * t, 0 * t, (t * t + t) / 2])), 0.5)
    np.testing.assert_allclose(sample["omega_space"], [0.0, 0.0, 2.0], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(sample["alpha_body"], [0.0, 0.0, 2.0], rtol=0.0, atol=1e-15)
