from __future__ import annotations

import math
from collections.abc import Callable

import modern_robotics
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.geometry.exact_poses import ANGLES, exponential, hard_twists, hat, precise
from tests.thinning import thinned

from chasles.base.errors import ArgumentError, UnknownNameError
from chasles.geometry import compose_poses, exp_pose, interpolate_pose, interpolate_pose_motion, log_pose

START = np.array([0.4, -1.1, 0.7, 0.3, -0.2, 0.9])
HARD = hard_twists(seed=30)
NAMES = [f"{angle:.4g}" for angle in ANGLES]
PATHS = ("screw", "decoupled")
FRAMES = ("body", "space", "world-aligned")


def exact_path(twist: np.ndarray, path: str) -> tuple[np.ndarray, np.ndarray, Callable]:
    """Ends T0, T1 = T0 exp(twist) as doubles, and the pose between as a function of s, at mpmath's precision."""
    T0, screw, turn = exponential(hat(precise(START))), hat(precise(twist)), hat(precise([*twist[:3], 0, 0, 0]))
    T1 = T0 @ exponential(screw)

    def along(s: mpmath.mpf) -> np.ndarray:
        if path == "screw":
            return T0 @ exponential(s * screw)
        T = T0 @ exponential(s * turn)
        T[:3, 3] = T0[:3, 3] + s * (T1[:3, 3] - T0[:3, 3])
        return T

    return T0.astype(float), T1.astype(float), along


def exact_twist(T: Callable, t: mpmath.mpf, frame: str) -> np.ndarray:
    step = mpmath.mpf(10) ** -30
    rate, now = (T(t + step) - T(t - step)) / (2 * step), T(t)
    if frame == "body":
        spin, v = now[:3, :3].T @ rate[:3, :3], now[:3, :3].T @ rate[:3, 3]
    else:
        spin, v = rate[:3, :3] @ now[:3, :3].T, rate[:3, 3]
        if frame == "space":
            v = v - spin @ now[:3, 3]
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0], *v])


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("twist", thinned(HARD, keep=4, ids=NAMES))
def test_poses_are_those_of_60_digits(twist: np.ndarray, path: str) -> None:
    with mpmath.workdps(60):
        T0, T1, along = exact_path(twist, path)
        places = (-0.5, 0.0, 1e-9, 0.25, 0.5, 1.0, 1.5)
        exact = np.array([along(mpmath.mpf(s)).astype(float) for s in places])
    T = interpolate_pose(T0, T1, places, path=path)
    np.testing.assert_allclose(T, exact, rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(T[1], T0)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("twist", thinned(HARD[::3], 6, ids=NAMES[::3]))
def test_motion_is_that_of_100_digits(twist: np.ndarray, path: str) -> None:
    s, s_rate, s_acceleration = 0.375, 0.75, -1.5
    with mpmath.workdps(100):
        T0, T1, along = exact_path(twist, path)

        def T(t: mpmath.mpf) -> mpmath.matrix:
            return along(s + s_rate * t + s_acceleration * t * t / 2)

        step = mpmath.mpf(10) ** -20
        for frame in FRAMES:
            motion = interpolate_pose_motion(T0, T1, s, s_rate, s_acceleration, path=path, frame=frame)
            twist_now = exact_twist(T, mpmath.mpf(0), frame)
            rate = (exact_twist(T, step, frame) - exact_twist(T, -step, frame)) / (2 * step)
            np.testing.assert_allclose(motion.pose, T(mpmath.mpf(0)).astype(float), rtol=0.0, atol=1e-14)
            np.testing.assert_allclose(motion.twist, twist_now.astype(float), rtol=0.0, atol=1e-14)
            np.testing.assert_allclose(motion.acceleration, rate.astype(float), rtol=0.0, atol=2e-14)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("twist", HARD[::3], ids=NAMES[::3])
def test_compiled_derivatives_are_the_motion(twist: np.ndarray, path: str) -> None:
    """The derivative of the pose by s is T hat(twist of the body), forward and backward."""
    T0 = exp_pose(START)
    T1 = compose_poses(T0, exp_pose(twist))
    motion = interpolate_pose_motion(T0, T1, 0.375, 1.0, 0.0, path=path)
    expected = motion.pose @ hat(motion.twist)
    function = interpolate_pose.specialize(path=path)
    np.testing.assert_allclose(function.jacobian(wrt="s")(T0, T1, 0.375), expected, rtol=0.0, atol=1e-14)
    weights = np.random.default_rng(31).normal(size=(4, 4))
    pulled = function.vjp("s")(T0, T1, 0.375, weights)
    np.testing.assert_allclose(pulled, np.sum(weights * expected), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("twist", thinned(HARD[::3], keep=4, ids=NAMES[::3]))
def test_derivatives_to_the_last_pose_are_right_at_its_end(twist: np.ndarray, path: str) -> None:
    """At s = 1 the path is at T1, wherever T1 is moved to, and at s = 0 it stays at T0."""
    T0 = exp_pose(START)
    T1 = compose_poses(T0, exp_pose(twist))
    moved = T1 @ hat([0.3, -0.8, 0.5, 0.2, 0.7, -0.4])
    function = interpolate_pose.specialize(path=path).jacobian(wrt="T1")
    at_end = np.einsum("ijkl,kl->ij", function(T0, T1, 1.0), moved)
    np.testing.assert_allclose(at_end, moved, rtol=0.0, atol=1e-13)
    at_start = np.einsum("ijkl,kl->ij", function(T0, T1, 0.0), moved)
    np.testing.assert_allclose(at_start, 0.0, atol=1e-15)


@settings(max_examples=50)
@given(st.sampled_from([(), (1,), (3, 1, 2)]), st.integers(0, 2**32 - 1), st.floats(-0.5, 1.5))
def test_paths_in_batches(shape: tuple[int, ...], seed: int, s: float) -> None:
    rng = np.random.default_rng(seed)
    xi = HARD[rng.integers(0, len(HARD), shape)]
    T0 = exp_pose(rng.normal(size=(*shape, 6)))
    T1 = compose_poses(T0, exp_pose(xi))
    elsewhere = exp_pose(rng.normal(size=6))
    size = 1.0 + np.abs(T1).max()
    for path in PATHS:
        T = interpolate_pose(T0, T1, s, path=path)
        assert T.shape == (*shape, 4, 4)
        np.testing.assert_allclose(interpolate_pose(T0, T1, 1.0, path=path), T1, rtol=0.0, atol=1e-14 * size)
        backwards = interpolate_pose(T1, T0, 1.0 - s, path=path)
        np.testing.assert_allclose(backwards, T, rtol=0.0, atol=4e-14 * size)
        seen_from_elsewhere = interpolate_pose(elsewhere @ T0, elsewhere @ T1, s, path=path)
        np.testing.assert_allclose(seen_from_elsewhere, elsewhere @ T, rtol=0.0, atol=4e-14 * size)
    np.testing.assert_allclose(
        T[..., :3, 3], (1.0 - s) * T0[..., :3, 3] + s * T1[..., :3, 3], rtol=0.0, atol=1e-14 * size
    )


def test_paths_are_those_of_modern_robotics() -> None:
    T0 = exp_pose(START)
    T1 = compose_poses(T0, exp_pose([0.3, 1.2, -0.9, 1.0, 2.0, 3.0]))
    times = np.linspace(0.0, 2.0, 11)
    s = [modern_robotics.QuinticTimeScaling(2.0, t) for t in times]
    screw = modern_robotics.ScrewTrajectory(T0, T1, 2.0, 11, 5)
    decoupled = modern_robotics.CartesianTrajectory(T0, T1, 2.0, 11, 5)
    np.testing.assert_allclose(interpolate_pose(T0, T1, s), screw, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(interpolate_pose(T0, T1, s, path="decoupled"), decoupled, rtol=0.0, atol=1e-13)


def test_screw_path_has_a_constant_twist() -> None:
    T0 = exp_pose(START)
    xi = np.array([0.3, 1.2, -0.9, 1.0, 2.0, 3.0])
    motion = interpolate_pose_motion(T0, compose_poses(T0, exp_pose(xi)), np.linspace(0.0, 1.0, 7), 1.0, 0.0)
    np.testing.assert_allclose(motion.twist, np.broadcast_to(xi, (7, 6)), rtol=0.0, atol=2e-14)
    np.testing.assert_allclose(motion.acceleration, 0.0, atol=2e-14)


def test_half_turn_goes_halfway_either_way() -> None:
    T1 = np.diag([-1.0, 1.0, -1.0, 1.0])
    half = interpolate_pose(np.eye(4), T1, 0.5)
    np.testing.assert_allclose(half @ half, T1, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(log_pose(half)[:3]), math.pi / 2, rtol=1e-15)


def test_nan_stays_in_its_sample() -> None:
    T0 = exp_pose(HARD)
    T1 = exp_pose(HARD[::-1])
    for path in PATHS:
        whole = interpolate_pose(T0, T1, 0.5, path=path)
        spoilt = T1.copy()
        spoilt[4, 0, 3] = np.nan
        result = interpolate_pose(T0, spoilt, 0.5, path=path)
        np.testing.assert_array_equal(np.delete(result, 4, axis=0), np.delete(whole, 4, axis=0))
        assert np.isnan(result[4, 0, 3])
        assert not np.isnan(result[4, :3, :3]).any()
        assert np.isnan(interpolate_pose(T0[4], T1[4], np.nan, path=path)[:3]).all()


def test_names_and_poses_are_checked() -> None:
    T = np.eye(4)
    with pytest.raises(UnknownNameError, match=r"path 'straight'.*screw, decoupled"):
        interpolate_pose(T, T, 0.5, path="straight")
    with pytest.raises(UnknownNameError, match=r"reference frame 'world'.*space, body, world-aligned"):
        interpolate_pose_motion(T, T, 0.5, 1.0, 0.0, frame="world")
    with pytest.raises(ArgumentError, match="T1 is not a pose"):
        interpolate_pose(T, 2.0 * T, 0.5, check=True)
