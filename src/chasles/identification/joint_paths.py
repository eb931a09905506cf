"""Paths of all joints from those of the independent ones: without loops the same, with loops the others follow.

With loops the independent joints lead only so far: the loops open, or they become singular, where the others move
without bound. The transmission |G|, of the velocities G ν of all joints (Featherstone, *Rigid Body Dynamics
Algorithms*, 2008, section 8.5), tells how near that is: it grows as the inverse of the distance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.algorithms.closing import column_scales, tree_size
from chasles.base.cached import cached_property
from chasles.engine.function import Function, function
from chasles.identification.closed_configurations import closed_motion, closed_near
from chasles.model import build_tree
from chasles.model.placement import FloatArray
from chasles.robot.robot import Robot, independent_coordinates
from chasles.trajectories.joint.trajectory import JointTrajectory

DEFAULT_RANGE = np.pi
"""Largest way from home of joints without limits, rad (m)."""
TRANSMISSION = 3.0
"""Largest transmission of loops, in multiples of that at home: what is wrong in passive joints, such as their friction,
comes to the motors as many times larger."""
REACHING = 200
"""Random configurations that show how far loops let the independent joints move."""
NEAR = 0.1
"""Steps of the independent joints, rad or of the robot's size, in which a bounded transmission keeps the assembly
mode."""


class JointPaths:
    """Configurations of a robot along paths of its independent joints.

    Parameters
    ----------
    robot
        The robot.

    Attributes
    ----------
    middle, half
        Middle and half width of the ranges of the independent joints, shape (n,); a default range where there are no
        limits, and with loops what is reached of it.
    """

    def __init__(self, robot: Robot) -> None:
        places = independent_coordinates(robot, "excite")
        home, lower, upper = robot.home[places], robot.lower_limits[places], robot.upper_limits[places]
        self.robot, self._places = robot, places
        tree = build_tree(robot.description)
        self._scales = column_scales(tree, tree_size(tree))
        farthest = DEFAULT_RANGE * (self._scales[list(robot.description.independent_indices)] if tree.loops else 1.0)
        low, high = np.maximum(lower, home - farthest), np.minimum(upper, home + farthest)
        if tree.loops:
            self.middle, self.half = 0.5 * (low + high), 0.5 * (high - low)
            reached = self.independent(self.drawn(np.random.default_rng(0), REACHING, self.half))
            low, high = reached.min(axis=0), reached.max(axis=0)
        lower, upper = np.where(np.isfinite(lower), lower, low), np.where(np.isfinite(upper), upper, high)
        self.middle, self.half = 0.5 * (lower + upper), 0.5 * (upper - lower)

    @property
    def has_loops(self) -> bool:
        """Whether the robot has loops."""
        return bool(self.robot.description.loops)

    @property
    def _near(self) -> FloatArray:
        return np.asarray(NEAR * self._scales[list(self.robot.description.independent_indices)])

    @cached_property
    def passive_ranges(self) -> tuple[FloatArray, FloatArray]:
        """Middle and half width of the ranges of all coordinates, shape (nq,); infinite but for passive joints'."""
        lower, upper = self.robot.lower_limits.copy(), self.robot.upper_limits.copy()
        lower[self._places], upper[self._places] = -np.inf, np.inf
        limited = np.isfinite(lower) & np.isfinite(upper)
        middle = 0.5 * (np.where(limited, lower, 0.0) + np.where(limited, upper, 0.0))
        return middle, np.where(limited, upper - middle, np.inf)

    def independent(self, q: FloatArray) -> FloatArray:
        """Positions of the independent joints, shape (..., n), in configurations (..., nq)."""
        return np.asarray(q[..., self._places])

    def drawn(self, rng: np.random.Generator, count: int, room: FloatArray) -> FloatArray:
        """Random configurations, shape (k, nq), of independent joints within room (n,) of the middle of their ranges.

        With loops, those whose way from home in a straight line is closed and keeps the transmission.
        """
        wanted = self.middle + rng.uniform(-1.0, 1.0, (count, len(room))) * room
        if not self.has_loops:
            return wanted
        home = self.robot.home[self._places]
        q = np.tile(self.robot.home, (count, 1))
        shares = rng.uniform(size=count)
        kept, reached = np.ones(count, dtype=bool), q.copy()
        steps = max(1, int(np.ceil(np.abs((wanted - home) / self._near).max())))
        for share in np.arange(1, steps + 1) / steps:
            q = closed_near(self.robot, home + share * (wanted - home), q)
            kept &= np.isfinite(q).all(axis=1)
            q[~kept] = self.robot.home
            kept &= self.transmission(q)[0] < TRANSMISSION
            going = kept & (share <= shares)
            reached[going] = q[going]
        return reached

    def followed(self, motion: JointTrajectory) -> JointTrajectory:
        """Motion of all joints along one of the independent joints.

        Raises
        ------
        ArgumentError
            If loops open along it.
        """
        return closed_motion(self.robot, motion) if self.has_loops else motion

    def moved(self, q: FloatArray, independent: FloatArray) -> FloatArray | None:
        """Configurations (k, nq) with other independent joints (k, n), if these are near; otherwise None."""
        if (np.abs(self.independent(q) - independent) > self._near).any():
            return None
        closed = closed_near(self.robot, independent, q)
        return closed if np.isfinite(closed).all() else None

    def by_independent(self, q: FloatArray, slopes: FloatArray) -> FloatArray:
        """Slopes by the independent joints, shape (k, n), of what has slopes (k, nq) by configurations (k, nq)."""
        if not self.has_loops:
            return slopes
        rates = np.asarray(self.robot.configuration_rate(q[:, None], np.eye(self.robot.n)))
        return np.asarray(np.einsum("kjc,kc->kj", rates, slopes))

    def transmission(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Transmission of the loops at configurations (k, nq), relative to home, and its slopes by them, (k, nq)."""
        at_home = float(np.sqrt(self._square(self.robot.home)))
        value = np.sqrt(np.asarray(self._square(q))) / at_home
        slopes = np.asarray(self._square.jacobian(wrt="q")(q)).reshape(q.shape)
        return value, slopes / (2.0 * at_home**2 * value[:, None])

    @cached_property
    def _square(self) -> Function:
        """Compiled function q (nq,) -> |G|², with lengths relative to the robot's size."""
        robot, units = self.robot, self._near / (NEAR * self._scales[:, None])

        @function(q=(robot.nq,))
        def square(q: Any) -> Any:
            return ((robot.loops.velocity_map(q) * units) ** 2).sum()

        return square
