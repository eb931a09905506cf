"""The Newton-Raphson iteration against the published package, and how honest its verdict is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import published, random_axis, random_pose
from tests.thinning import thinned

import chasles.interop.modern_robotics as mr
from chasles.base.errors import ArgumentError

KINDS = ("revolute", "prismatic", "helical", "long")


def problem(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    """Axes, M, a pose that can be reached, a first guess beside it, tolerances."""
    axes, M = np.array([random_axis(rng, kind) for kind in rng.choice(KINDS, n)]).T, random_pose(rng)
    theta = rng.uniform(-2.0, 2.0, n)
    T = published.FKinSpace(M, axes, theta)
    eomg, ev = 10.0 ** rng.uniform(-5, -2, 2)
    return axes, M, T, theta + rng.uniform(-0.2, 0.2, n), eomg, ev


@pytest.mark.parametrize("n", thinned([2, 3, 4, 6, 7]))
@pytest.mark.parametrize("name", ["IKinSpace", "IKinBody"])
@pytest.mark.parametrize("calls", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_random_calls(name: str, n: int, calls: int) -> None:
    """Two hundred calls for each number of joints, a thousand in all; a fifth of them in the default run.

    Where steps pass near a singularity the last digits are multiplied, by a million and more. Such calls are known by
    the original itself: a change of the first guess by a last digit changes its answer as much.
    """
    rng = np.random.default_rng(10 * n + len(name))
    problems = [problem(rng, n) for _ in range(calls)]
    if name == "IKinBody":
        problems = [(published.Adjoint(published.TransInv(M)) @ axes, M, *rest) for axes, M, *rest in problems]
    theta, success = getattr(mr, name)(*(np.array(column) for column in zip(*problems, strict=True)))
    original = getattr(published, name)
    unstable = 0
    for k, (axes, M, T, guess, eomg, ev) in enumerate(problems):
        expected, reached = original(axes, M, T, guess, eomg, ev)
        if np.abs(theta[k] - expected).max() <= 1e-10 and success[k] == reached:
            continue
        beside, _ = original(axes, M, T, guess * (1.0 + 1e-15), eomg, ev)
        assert np.abs(theta[k] - expected).max() <= 1e4 * np.abs(beside - expected).max(), k
        unstable += 1
    assert unstable <= max(1, calls // 50)
    assert success.mean() > 0.9


def test_one_call_gives_an_array_and_a_bool() -> None:
    axes, M, T, guess, eomg, ev = problem(np.random.default_rng(0), 6)
    theta, success = mr.IKinSpace(axes, M, T, guess.tolist(), eomg, ev)
    assert theta.shape == (6,)
    assert success is True


def test_success_is_what_a_check_of_the_result_finds() -> None:
    rng = np.random.default_rng(2)
    axes, M = np.array([random_axis(rng, "revolute") for _ in range(6)]).T, random_pose(rng)
    T = np.array([random_pose(rng, 0.8) for _ in range(300)])  # some of them out of reach
    guess, eomg, ev = rng.uniform(-1.0, 1.0, (300, 6)), 1e-6, 1e-7
    theta, success = mr.IKinSpace(axes, M, T, guess, eomg, ev)
    reached = mr.FKinSpace(M, axes, theta)
    twist = (mr.Adjoint(reached) @ mr.se3ToVec(mr.MatrixLog6(mr.TransInv(reached) @ T))[..., None])[..., 0]
    close = (np.linalg.norm(twist[:, :3], axis=1) <= 2 * eomg) & (np.linalg.norm(twist[:, 3:], axis=1) <= 2 * ev)
    assert success.any()
    assert not success.all()
    assert close[success].all()


@pytest.mark.parametrize(
    "wrong", [np.full((4, 4), np.nan), np.diag([2.0, 2.0, 2.0, 1.0]), np.diag([-1.0, 1.0, 1.0, 1.0])]
)
def test_what_is_no_pose_is_never_reached(wrong: np.ndarray) -> None:
    axes, M, T, guess, *_ = problem(np.random.default_rng(3), 6)
    _, success = mr.IKinSpace(axes, M, np.array([wrong, T]), guess, 1e-2, 1e-3)
    assert success.tolist() == [False, True]


def test_half_a_turn_is_not_taken_for_no_turn() -> None:
    """The original's logarithm is zero or NaN for two in five half turns, and then it reports success."""
    turns = np.random.default_rng(6).normal(size=(500, 3))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    T = mr.RpToTrans(2.0 * turns[:, :, None] * turns[:, None, :] - np.eye(3), np.zeros(3))
    Slist = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]).T
    _, success = mr.IKinSpace(Slist, np.eye(4), T, [0.0], 1e-2, 1e-3)
    assert not success.any()


def test_nothing_that_is_near_enough_moves() -> None:
    axes, M, *_ = problem(np.random.default_rng(4), 3)
    theta, success = mr.IKinSpace(axes, M, M, [0, 0, 0], 1e-2, 1e-3)
    assert success is True
    assert theta.dtype == np.float64
    assert theta.tolist() == [0.0, 0.0, 0.0]


def test_the_number_of_steps_can_be_chosen() -> None:
    axes, M, T, guess, *_ = problem(np.random.default_rng(5), 6)
    still, success = mr.IKinSpace(axes, M, T, guess, 1e-12, 1e-12, maxiterations=0)
    assert not success
    np.testing.assert_array_equal(still, guess)
    one, _ = mr.IKinSpace(axes, M, T, guess, 1e-12, 1e-12, maxiterations=1)
    twist = published.se3ToVec(published.MatrixLog6(published.TransInv(published.FKinSpace(M, axes, guess)) @ T))
    twist = published.Adjoint(published.FKinSpace(M, axes, guess)) @ twist
    np.testing.assert_allclose(one, guess + np.linalg.pinv(published.JacobianSpace(axes, guess)) @ twist, atol=1e-12)
    with pytest.raises(ArgumentError, match="maxiterations must not be negative"):
        mr.IKinSpace(axes, M, T, guess, 1e-12, 1e-12, maxiterations=-1)


def test_a_singular_guess_takes_the_shortest_step() -> None:
    """Stretched out, a planar arm's pseudo-inverse has no direction that the arm cannot take."""
    axes = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -1, 0], [0, 0, 1, 0, -2, 0]], dtype=float).T
    M = np.eye(4)
    M[0, 3] = 3.0
    T = mr.FKinSpace(M, axes, [0.2, 0.3, -0.1])
    theta, success = mr.IKinSpace(axes, M, T, [0.0, 0.0, 0.0], 1e-10, 1e-10)
    assert success
    assert np.abs(theta).max() < np.pi


def test_rounding_does_not_become_a_direction() -> None:
    """Of this guess the published step is 1e12 rad: `pinv` inverts all but the last digit of a singular value."""
    axes = np.array([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -1, 0], [0, 0, 1, 1e-13, -2, 0]], dtype=float).T
    T = np.eye(4)
    T[:3, 3] = 2.9, 0.0, 0.1  # above the plane, out of reach
    M = np.eye(4)
    M[0, 3] = 3.0
    theta, success = mr.IKinSpace(axes, M, T, [0.0, 0.0, 0.0], 1e-6, 1e-6, maxiterations=1)
    assert not success
    assert np.abs(theta).max() < 10.0
