"""Robots are found again by what their lists hold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.interop.modern_robotics.robots import close, published, random_robot

import chasles.interop.modern_robotics as mr
from chasles.interop.modern_robotics import robot_cache
from chasles.interop.modern_robotics.robot_cache import MOST_ROBOTS, open_chain

ROBOT = random_robot(60, 2)
Q, G = np.array([0.3, -0.2]), np.array([0.0, 0.0, -9.81])


@pytest.fixture(autouse=True)
def _no_robots_from_other_tests() -> None:
    mr.forget_robots()


def test_equal_lists_are_one_robot() -> None:
    chain = open_chain(*ROBOT, "f")
    assert open_chain(*(array.copy() for array in ROBOT), "f") is chain
    assert open_chain(*(array.tolist() for array in ROBOT), "f") is chain
    assert open_chain(list(ROBOT.Mlist), tuple(ROBOT.Glist), np.asfortranarray(ROBOT.Slist), "f") is chain
    assert open_chain(ROBOT.Mlist[::-1][::-1], ROBOT.Glist, ROBOT.Slist, "f") is chain


def test_each_number_counts() -> None:
    chain = open_chain(*ROBOT, "f")
    for part, index in (("Mlist", (0, 0, 3)), ("Glist", (1, 5, 5)), ("Slist", (3, 0))):
        array = getattr(ROBOT, part).copy()
        array[index] *= 1.0 + 1e-15
        if part == "Glist":
            array[1] = ROBOT.Glist[1] * (1.0 + 1e-15)
        assert open_chain(*ROBOT._replace(**{part: array}), "f") is not chain


def test_a_list_changed_in_place_is_another_robot() -> None:
    lists = ROBOT._replace(Glist=ROBOT.Glist.copy())
    before = mr.GravityForces(Q, G, *lists)
    lists.Glist[:] *= 2.0
    np.testing.assert_allclose(mr.GravityForces(Q, G, *lists), 2.0 * before, rtol=1e-14)
    lists.Glist[:] /= 2.0
    np.testing.assert_array_equal(mr.GravityForces(Q, G, *lists), before)


def test_lists_of_other_shapes_with_the_same_bytes_are_told_apart() -> None:
    open_chain(*ROBOT, "f")
    with pytest.raises(ValueError, match="Mlist has shape"):
        open_chain(ROBOT.Mlist.reshape(-1, 2, 2), ROBOT.Glist, ROBOT.Slist, "f")


def test_memory_is_bounded() -> None:
    for k in range(MOST_ROBOTS + 5):
        open_chain(ROBOT.Mlist, (1.0 + k) * ROBOT.Glist, ROBOT.Slist, "f")
    assert robot_cache._built.cache_info().currsize == MOST_ROBOTS


def test_threads_share_robots() -> None:
    expected = published.MassMatrix(Q, *ROBOT)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: mr.MassMatrix(Q, *ROBOT), range(64)))
    assert all(close(result, expected) for result in results)


def test_a_robot_of_the_library_and_its_lists_agree() -> None:
    """The facade inside is an ordinary robot; its coordinates count radians and metres."""
    robot = random_robot(61, 3, "long", "prismatic", "revolute")
    chain = open_chain(*robot, "f")
    theta = np.array([0.4, 0.1, -0.7])
    T = mr.FKinSpace(np.linalg.multi_dot(robot.Mlist), robot.Slist, theta)
    np.testing.assert_allclose(chain.robot.forward_kinematics(chain.scale * theta), T, atol=1e-14)
    assert chain.scale[0] != 1.0
    assert chain.scale[1:].tolist() == [1.0, 1.0]
