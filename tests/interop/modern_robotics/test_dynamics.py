"""A thousand random calls of each function of chapter 8 against the published package, on robots of all kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import Lists, close, published, random_robot

import chasles.interop.modern_robotics as mr
from chasles.base.errors import ArgumentError

ROBOTS = [
    random_robot(0, 2),
    random_robot(1, 3),
    random_robot(2, 3, offset=True),
    random_robot(3, 1, "long"),
    random_robot(4, 2, "prismatic", "helical"),
]
STATES = 200  # of each robot, for a thousand calls; a tenth in the default run
#: Names of the functions, and of the arguments before the robot: vectors of the joints, gravity, wrench.
FUNCTIONS = {
    "InverseDynamics": ("q", "q", "q", "g", "F"),
    "MassMatrix": ("q",),
    "VelQuadraticForces": ("q", "q"),
    "GravityForces": ("q", "g"),
    "EndEffectorForces": ("q", "F"),
    "ForwardDynamics": ("q", "q", "q", "g", "F"),
}


def arguments(rng: np.random.Generator, robot: Lists, kinds: tuple[str, ...], *lead: int) -> list[np.ndarray]:
    sizes = {"q": robot.Slist.shape[1], "g": 3, "F": 6}
    return [rng.normal(scale=3.0, size=(*lead, sizes[kind])) for kind in kinds]


@pytest.mark.parametrize("states", [STATES // 10, pytest.param(STATES, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_random_calls(name: str, states: int) -> None:
    rng = np.random.default_rng(len(name))
    ours, theirs = getattr(mr, name), getattr(published, name)
    for robot in ROBOTS:
        batch = arguments(rng, robot, FUNCTIONS[name], states)
        results = ours(*batch, *robot)
        for k in range(states):
            expected = theirs(*(array[k] for array in batch), *robot)
            assert close(ours(*(array[k] for array in batch), *robot), expected)
            assert close(results[k], expected)


def test_six_joints() -> None:
    robot, rng = random_robot(5, 6, offset=True), np.random.default_rng(5)
    for name, kinds in FUNCTIONS.items():
        given = arguments(rng, robot, kinds)
        assert close(getattr(mr, name)(*given, *robot), getattr(published, name)(*given, *robot)), name


def test_forward_dynamics_inverts_inverse_dynamics() -> None:
    robot, rng = random_robot(6, 7, offset=True), np.random.default_rng(6)
    q, qd, qdd, g, F = arguments(rng, robot, FUNCTIONS["InverseDynamics"], 50)
    tau = mr.InverseDynamics(q, qd, qdd, g, F, *robot)
    np.testing.assert_allclose(mr.ForwardDynamics(q, qd, tau, g, F, *robot), qdd, rtol=1e-9, atol=1e-9)


def test_terms_add_up_to_inverse_dynamics() -> None:
    robot, rng = random_robot(7, 4), np.random.default_rng(7)
    q, qd, qdd, g, F = arguments(rng, robot, FUNCTIONS["InverseDynamics"], 50)
    M = mr.MassMatrix(q, *robot)
    np.testing.assert_array_equal(M, M.swapaxes(-1, -2))
    total = (
        (M @ qdd[..., None])[..., 0]
        + mr.VelQuadraticForces(q, qd, *robot)
        + mr.GravityForces(q, g, *robot)
        + mr.EndEffectorForces(q, F, *robot)
    )
    np.testing.assert_allclose(mr.InverseDynamics(q, qd, qdd, g, F, *robot), total, rtol=1e-11, atol=1e-11)


def test_arguments_broadcast() -> None:
    robot, rng = ROBOTS[1], np.random.default_rng(8)
    q, qd, qdd = arguments(rng, robot, ("q", "q", "q"))
    wrenches = rng.normal(size=(4, 1, 6))
    gravities = rng.normal(size=(5, 3))
    tau = mr.InverseDynamics(q, qd, qdd, gravities, wrenches, *robot)
    assert tau.shape == (4, 5, 3)
    np.testing.assert_array_equal(tau[2, 3], mr.InverseDynamics(q, qd, qdd, gravities[3], wrenches[2, 0], *robot))


def test_printed_poses_are_taken_for_what_they_mean() -> None:
    """Of a rotation printed with four digits the nearest counts."""
    robot = ROBOTS[1]
    printed = robot._replace(Mlist=np.round(robot.Mlist, 4))
    ours, theirs = (mr.GravityForces([0.1, 0.2, 0.3], [0, 0, -9.81], *lists) for lists in (printed, robot))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-2)
    assert not np.array_equal(ours, theirs)


def test_a_robot_without_masses_has_kinematics_only() -> None:
    robot = ROBOTS[1]._replace(Glist=np.zeros((3, 6, 6)))
    F = np.arange(6.0)
    still = np.zeros(3)
    expected = published.InverseDynamics(still, still, still, np.zeros(3), F, *robot)
    np.testing.assert_allclose(mr.InverseDynamics(still, still, still, [0, 0, -9.81], F, *robot), expected, atol=1e-12)
    with pytest.raises(ArgumentError, match="mass"):
        mr.ForwardDynamics(still, still, still, np.zeros(3), F, *robot)


def test_nan_stays_in_its_sample() -> None:
    robot: Any = ROBOTS[1]
    q = np.array([[0.1, 0.2, 0.3], [0.1, np.nan, 0.3]])
    M = mr.MassMatrix(q, *robot)
    assert np.isfinite(M[0]).all()
    assert np.isnan(M[1]).any()
