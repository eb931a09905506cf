"""Robots to try inverse kinematics on."""

from __future__ import annotations

import numpy as np

import chasles as ch

QUARTER = np.pi / 2


def dh_robot(alpha, a, d, convention="standard", **keywords) -> ch.Robot:
    """Robot of a DH table whose joints turn within half a turn, unless told otherwise."""
    kinds = keywords.pop("kinds", ["revolute"] * len(alpha))
    limits = keywords.pop("limits", (-np.pi, np.pi))
    rows = [
        {"alpha": x, "a": y, "d": z, "kind": kind, "limits": limits}
        for x, y, z, kind in zip(alpha, a, d, kinds, strict=True)
    ]
    return ch.Robot.from_dh(rows, convention=convention, **keywords)


def within(robot: ch.Robot, rng: np.random.Generator, count: int) -> np.ndarray:
    """Configurations drawn evenly from the limits, or from half a turn either way."""
    return rng.uniform(np.maximum(robot.lower_limits, -3.1), np.minimum(robot.upper_limits, 3.1), (count, robot.n))
