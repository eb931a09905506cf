"""Motions over time: against the published package, and against chapter 8's single steps."""

from __future__ import annotations

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import close, published, random_robot

import chasles.interop.modern_robotics as mr
from chasles.base.errors import ArgumentError

ROBOTS = [random_robot(10, 1, "helical"), random_robot(11, 2), random_robot(12, 2, "revolute", "long", offset=True)]
G = np.array([1.0, -2.0, -9.81])


def test_random_euler_steps() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1000):
        arguments = (*rng.normal(size=(3, rng.integers(1, 8))), rng.uniform())
        assert close(mr.EulerStep(*arguments), published.EulerStep(*arguments))
        assert close(mr.EulerStep(*(np.asarray(a).tolist() for a in arguments)), published.EulerStep(*arguments))


@pytest.mark.slow
def test_random_inverse_dynamics_trajectories() -> None:
    rng = np.random.default_rng(1)
    for call in range(1000):
        robot = ROBOTS[call % 3]
        N = rng.integers(1, 4)
        motion, Ftipmat = rng.normal(size=(3, N, robot.Slist.shape[1])), rng.normal(size=(N, 6))
        expected = published.InverseDynamicsTrajectory(*motion, G, Ftipmat, *robot)
        assert close(mr.InverseDynamicsTrajectory(*motion, G, Ftipmat, *robot), expected)


@pytest.mark.slow
def test_random_forward_dynamics_trajectories() -> None:
    rng = np.random.default_rng(2)
    for call in range(1000):
        robot = ROBOTS[call % 3]
        N, n = rng.integers(1, 3), robot.Slist.shape[1]
        state, taumat, Ftipmat = rng.normal(size=(2, n)), rng.normal(size=(N, n)), rng.normal(size=(N, 6))
        rest = (G, Ftipmat, *robot, 0.01, int(rng.integers(1, 3)))
        expected = published.ForwardDynamicsTrajectory(*state, taumat, *rest)
        assert close(mr.ForwardDynamicsTrajectory(*state, taumat, *rest), expected)


def test_a_longer_motion() -> None:
    robot, rng = random_robot(13, 4), np.random.default_rng(3)
    state, taumat = 0.3 * rng.normal(size=(2, 4)), rng.normal(size=(40, 4))
    rest = (G, rng.normal(size=(40, 6)), *robot, 0.005, 3)
    assert close(
        mr.ForwardDynamicsTrajectory(*state, taumat, *rest), published.ForwardDynamicsTrajectory(*state, taumat, *rest)
    )


def test_batches() -> None:
    robot, rng = ROBOTS[1], np.random.default_rng(4)
    theta, taumat, g = rng.normal(size=(5, 1, 2)), rng.normal(size=(3, 6, 2)), rng.normal(size=(3, 3))
    Ftipmat = rng.normal(size=(5, 1, 6, 6))
    thetamat, dthetamat = mr.ForwardDynamicsTrajectory(theta, np.zeros(2), taumat, g, Ftipmat, *robot, 0.01, 2)
    assert thetamat.shape == dthetamat.shape == (5, 3, 6, 2)
    single = mr.ForwardDynamicsTrajectory(theta[4, 0], np.zeros(2), taumat[1], g[1], Ftipmat[4, 0], *robot, 0.01, 2)
    np.testing.assert_array_equal(thetamat[4, 1], single[0])
    np.testing.assert_array_equal(dthetamat[4, 1], single[1])
    tau = mr.InverseDynamicsTrajectory(thetamat, dthetamat, 0.0 * dthetamat, g, Ftipmat, *robot)
    assert tau.shape == (5, 3, 6, 2)
    single = mr.InverseDynamicsTrajectory(
        thetamat[4, 1], dthetamat[4, 1], np.zeros((6, 2)), g[1], Ftipmat[4, 0], *robot
    )
    np.testing.assert_array_equal(tau[4, 1], single)


def test_zero_stands_for_no_wrenches() -> None:
    robot, rng = ROBOTS[1], np.random.default_rng(5)
    motion, nothing = rng.normal(size=(3, 4, 2)), np.zeros((4, 6))
    np.testing.assert_array_equal(
        mr.InverseDynamicsTrajectory(*motion, G, 0, *robot), mr.InverseDynamicsTrajectory(*motion, G, nothing, *robot)
    )
    rest = (*robot, 0.01, 2)
    ours = mr.ForwardDynamicsTrajectory([0, 0], [0, 0], motion[0], G, 0, *rest)
    assert close(ours, published.ForwardDynamicsTrajectory([0, 0], [0, 0], motion[0], G, nothing, *rest))


def test_whole_numbers_do_not_cut_the_forces() -> None:
    robot = ROBOTS[1]
    theta = np.array([[0, 0], [1, 2]])
    np.testing.assert_array_equal(
        mr.InverseDynamicsTrajectory(theta, theta, theta, G, 0, *robot),
        mr.InverseDynamicsTrajectory(1.0 * theta, 1.0 * theta, 1.0 * theta, G, 0, *robot),
    )


@pytest.mark.parametrize("intRes", [0, -1, 1.5, "8", None, np.nan])
def test_steps_are_counted_in_whole_numbers(intRes: object) -> None:
    with pytest.raises(ArgumentError, match="intRes must be a whole number, at least 1"):
        mr.ForwardDynamicsTrajectory([0, 0], [0, 0], np.zeros((3, 2)), G, 0, *ROBOTS[1], 0.1, intRes)


def test_rows_must_match() -> None:
    robot, rows = ROBOTS[1], np.zeros((4, 2))
    with pytest.raises(
        ArgumentError, match=r"ForwardDynamicsTrajectory: Ftipmat has shape \(3, 6\); expected \(\.\.\., 4, 6\)"
    ):
        mr.ForwardDynamicsTrajectory([0, 0], [0, 0], rows, G, np.zeros((3, 6)), *robot, 0.1, 1)
    with pytest.raises(ArgumentError, match=r"dthetamat has shape \(3, 2\); expected \(\.\.\., 4, 2\)"):
        mr.InverseDynamicsTrajectory(rows, rows[:3], rows, G, 0, *robot)
    with pytest.raises(ArgumentError, match="taumat has no rows"):
        mr.ForwardDynamicsTrajectory([0, 0], [0, 0], rows[:0], G, 0, *robot, 0.1, 1)
