"""What trajectories refuse is said with what to do, where no other test meets it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import chasles as ch
from chasles.base.errors import ArgumentError

LINE = ch.PointToPoint([0.0, 0.0], [1.0, 0.5], duration=1.0)
LINES = ch.PointToPoint(np.zeros((3, 2)), [1.0, 0.5], duration=1.0)
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "too many samples": (lambda: LINE.sample_times(1e-12), "1 s in steps of 1e-12 s are more than"),
    "limits of another batch": (
        lambda: ch.PointToPoint.within_limits(np.zeros((4, 2)), [1.0, 0.5], velocity=np.ones((3, 2)), acceleration=1.0),
        "velocity of shape (3, 2) does not broadcast with the distance (4, 2)",
    ),
    "a batch along a path": (
        lambda: ch.trajectories.RetimedTrajectory(LINES, ch.CubicSpline([0.0, 1.0], [[0.0], [1.0]])),
        "a batch of paths cannot be retimed; take one path after another",
    ),
    "no joints": (lambda: ch.CubicSpline([0.0, 1.0], np.zeros((2, 0))), "there must be at least one joint"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refusals(what: str) -> None:
    call, message = REFUSED[what]
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()
