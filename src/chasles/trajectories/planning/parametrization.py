"""The fastest way along a path under linear constraints, solved by the package toppra."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

import numpy as np

from chasles.trajectories.motion import Floats
from chasles.trajectories.planning.planners import planner


class Constraints(NamedTuple):
    """Rows of ``|a u + b v² + c| <= 1`` at places of a path, for the acceleration u and the speed v along it.

    Attributes
    ----------
    a, c
        Shape (k, m).
    b
        Shape (2, k, m): for the interval that begins at a place, and for the one that ends there.
    fastest
        Largest v² at each place, shape (k,).
    """

    a: Floats
    b: Floats
    c: Floats
    fastest: Floats


def fastest_speeds(constraints: Constraints, grid: Floats) -> Floats | None:
    """Largest speeds v at the places of a grid, from rest to rest, or None if there are none.

    The acceleration u is constant in each interval; the constraints hold at both of its ends.

    Raises
    ------
    MissingExtraError
        If toppra is not installed.
    """
    toppra = planner("toppra", "a time-optimal motion")
    a, (b, b_before), c, fastest = constraints
    step = np.diff(grid)[:, None]
    # At the end of an interval v² is v² + 2 u step; the last place has no interval.
    at_end = (a[1:] + 2.0 * step * b_before[1:], b_before[1:], c[1:])
    both = [
        np.concatenate([here, np.concatenate([following, here[-1:]])], axis=1)
        for here, following in zip((a, b, c), at_end, strict=True)
    ]
    sides = np.concatenate([np.eye(both[0].shape[1]), -np.eye(both[0].shape[1])])
    bounds = np.stack([np.zeros_like(fastest), fastest], axis=-1)

    class Rows(toppra.constraint.LinearConstraint):  # type: ignore[misc, name-defined]
        """The constraints in toppra's form."""

        def __init__(self) -> None:
            super().__init__()
            self.identical = True

        def compute_constraint_params(self, *_: Any) -> tuple[Any, ...]:
            return (*both, sides, np.ones(len(sides)), None, bounds)

    class Path:
        """What toppra asks of a path whose constraints are known."""

        path_interval = grid[[0, -1]]

    logger = logging.getLogger("toppra")
    level = logger.level
    logger.setLevel(logging.ERROR)  # the caller says why it failed
    try:
        solver = toppra.algorithm.TOPPRA([Rows()], Path(), gridpoints=grid, solver_wrapper="seidel")
        speed = solver.compute_parameterization(0.0, 0.0)[1]
    finally:
        logger.setLevel(level)
    if speed is None or np.isnan(speed).any() or not (speed[1:] + speed[:-1] > 0.0).all():
        return None
    return np.asarray(speed)
