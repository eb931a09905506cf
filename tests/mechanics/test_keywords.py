"""Calls with keywords: whichever way they take, the program is the one that they name."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import UnknownNameError

FRAMES = ("space", "body", "world-aligned")


@pytest.fixture
def arm() -> ch.Robot:
    return ch.load("puma560")


def test_every_choice_gives_its_own_result_again_and_again(arm: ch.Robot) -> None:
    q = np.linspace(-1.0, 1.0, 6)
    targets = ["link1", "link3", "link6", "tool"]
    expected = {(f, t): arm.jacobian.specialize(frame=f, target=t)(q) for f in FRAMES for t in targets}
    for _ in range(3):
        for (frame, target), J in expected.items():
            np.testing.assert_array_equal(arm.jacobian(q, frame=frame, target=target), J)
            np.testing.assert_array_equal(arm.jacobian(q, target=target, frame=frame), J)
    for frame in FRAMES:
        np.testing.assert_array_equal(arm.jacobian(q, frame=frame), expected[frame, "tool"])


def test_more_choices_than_the_table_holds(arm: ch.Robot) -> None:
    q = np.linspace(-1.0, 1.0, 6)
    names = [*arm.frame_names, "tool"]
    for _ in range(3):
        for frame in FRAMES:
            for name in names:
                J = arm.jacobian(q, frame=frame, target=name)
                np.testing.assert_array_equal(J, arm.jacobian.specialize(frame=frame, target=name)(q))


def test_equal_keywords_need_not_be_the_same_objects(arm: ch.Robot) -> None:
    q = np.linspace(-1.0, 1.0, 6)
    J = arm.jacobian(q, frame="body")
    np.testing.assert_array_equal(arm.jacobian(q, frame="".join(["bo", "dy"])), J)
    np.testing.assert_array_equal(arm.jacobian(q, **{"".join(["fra", "me"]): "body"}), J)


def test_known_and_unknown_calls_alternate(arm: ch.Robot) -> None:
    q = np.linspace(-1.0, 1.0, 6)
    for _ in range(3):
        single = arm.forward_kinematics(q)
        np.testing.assert_array_equal(arm.forward_kinematics(np.stack([q, q])), np.stack([single, single]))
        np.testing.assert_array_equal(arm.forward_kinematics(list(q)), single)
        np.testing.assert_array_equal(arm.forward_kinematics(q, out=np.empty((4, 4))), single)
        np.testing.assert_array_equal(arm.forward_kinematics(q, target=None), single)
        with pytest.raises(UnknownNameError, match="palm"):
            arm.forward_kinematics(q, target="palm")
        with pytest.raises(UnknownNameError, match=r"argument of forward_kinematics\(q\) 'frame'"):
            arm.forward_kinematics(q, frame="body")
        with pytest.raises(TypeError, match="takes 1 arguments, not 2"):
            arm.forward_kinematics(q, q, target="tool")
        with pytest.raises(ValueError, match="forward_kinematics"):
            arm.forward_kinematics(q[:5], target="tool")


def test_functions_with_choices_are_freed(arm: ch.Robot) -> None:
    robot = ch.Robot(arm.description)
    robot.jacobian(np.zeros(6), frame="body")
    reference = weakref.ref(robot.jacobian)
    del robot
    gc.collect()
    assert reference() is None
