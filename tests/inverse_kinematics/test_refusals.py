"""What inverse kinematics refuses is said with the reason, where no other test meets it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError
from chasles.inverse_kinematics import DampingTask, PostureTask, solve_rates

ARM = ch.load("planar2r")
PUMA = ch.load("puma560")
Q = np.array([0.3, 0.4])


def rates(task: object) -> object:
    return solve_rates(ARM, Q, [task], 0.01)  # type: ignore[list-item]


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "targets that are no poses": (
        lambda: PUMA.inverse_kinematics(np.eye(3)),
        "T_world_target has shape (3, 3); expected (..., 4, 4)",
    ),
    "an elbow angle of six joints": (
        lambda: PUMA.inverse_kinematics(PUMA.forward_kinematics(PUMA.home), elbow_angle=0.3),
        "only seven joints with shoulder, elbow and wrist have an elbow angle",
    ),
    "the elbow angle of six joints": (
        lambda: PUMA.inverse_kinematics.elbow_angle(PUMA.home),
        "only seven joints with shoulder, elbow and wrist have an elbow angle",
    ),
    "a task without an equation": (lambda: rates("task"), "'task' is no task: it has no method equation(robot, q)"),
    "no tasks": (lambda: solve_rates(ARM, Q, [], 0.01), "there is no task; to stand still is one: DampingTask()"),
    "a cost beyond all numbers": (
        lambda: rates(PostureTask(Q + 1.0, 1e200)),
        "the equation of PostureTask is not finite; look at its cost and gain",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    call, message = REFUSED[what]
    with np.errstate(over="ignore"), pytest.raises(ArgumentError, match=re.escape(message)):
        call()


def test_standing_still_is_a_task() -> None:
    np.testing.assert_allclose(solve_rates(ARM, Q, [DampingTask(1e-2)], 0.01).qd, 0.0, atol=1e-15)
