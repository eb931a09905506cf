"""Configuration space: limits, continuous joints, and stretches that are proven free of collisions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.distances import Clearance
from chasles.engine.validators import real, reals
from chasles.inverse_kinematics.ranges import position_limits
from chasles.mechanics import require_plain_coordinates
from chasles.model import build_tree
from chasles.planning.motion_bounds import motion_bounds
from chasles.trajectories import JointTrajectory, PiecewisePolynomial, RetimedTrajectory

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.intp]

TURN = 2.0 * np.pi
#: Least weight of a joint in distances between configurations, as a share of the largest.
_LEAST_WEIGHT = 0.05


class ConfigurationSpace(Sealed):
    """Configurations of a robot within its limits, and which of them are free.

    A configuration is free if no distance of `clearance` is at most `margin`. Edges are straight lines in joint space.
    An edge reported as free is proven free along its whole length, by bounds on the motion of the bodies. An edge that
    comes closer than `margin` plus `resolution` may be rejected.

    Parameters
    ----------
    clearance
        Clearance of the robot's bodies, from `chasles.clearance`.
    margin
        Safety distance, m, at least 0.
    resolution
        Distance beyond the margin, m, within which collision-free edges may be rejected.
    lower, upper
        Range of each coordinate, shape (nq,) or one value for all, rad or m. Default: the robot's limits. Revolute
        joints without limits are continuous: the path takes the shorter way round.

    Attributes
    ----------
    robot
        The robot.
    turns
        Which coordinates are continuous joints, shape (nq,).
    weights
        Largest motion of any body per unit of each coordinate, shape (nq,), m/rad or m/m: the metric between
        configurations.

    Raises
    ------
    ArgumentError
        The robot has loops or joints with quaternions, or a range is empty or, for a prismatic joint, infinite.

    Examples
    --------
    >>> import chasles as ch
    >>> from chasles.distances import Body
    >>> rods = [Body("link1", end=[-0.5, 0.0, 0.0], radius=0.05), Body("link2", end=[-0.25, 0.0, 0.0], radius=0.05)]
    >>> apart = ch.clearance(ch.load("planar2r"), bodies=rods, obstacles=[Body(None, [0.5, 0.4, 0.0], radius=0.1)])
    >>> space = ConfigurationSpace(apart)
    >>> space.free([[0.0, 0.0], [0.7, 0.0]])
    array([ True, False])
    >>> space.free_edges([[0.0, 0.0], [0.0, 0.0]], [[0.2, 0.3], [1.4, 0.0]])
    array([ True, False])
    """

    def __init__(
        self,
        clearance: Clearance,
        *,
        margin: float = 0.0,
        resolution: float = 1e-3,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
    ) -> None:
        if not isinstance(clearance, Clearance):
            raise ArgumentError(f"clearance must come from chasles.clearance(robot, ...), not {clearance!r}")
        self.clearance, self.robot = clearance, clearance.robot
        require_plain_coordinates(self.robot, "planning")
        self.margin = real(margin, "margin", at_least=0.0)
        self.resolution = real(resolution, "resolution", above=0.0)
        lowest, highest = position_limits(self.robot)
        shape = (self.robot.nq,)
        self.lower = lowest if lower is None else reals(lower, "lower", shape, broadcast=True, infinite=True)
        self.upper = highest if upper is None else reals(upper, "upper", shape, broadcast=True, infinite=True)
        self.turns = _angles(clearance) & np.isinf(self.lower) & np.isinf(self.upper)
        for k, name in enumerate(self.robot.coordinate_names):
            if not (self.turns[k] or np.isfinite(self.upper[k] - self.lower[k])):
                raise ArgumentError(f"joint '{name}' has no limits on both sides; give lower= and upper=")
            if self.lower[k] > self.upper[k]:
                raise ArgumentError(f"the range of joint '{name}' is empty: {self.lower[k]:g} to {self.upper[k]:g}")
        self.bounds = motion_bounds(clearance, self.lower, self.upper)
        largest = self.bounds.max(axis=0, initial=0.0)
        self.weights = np.maximum(largest, _LEAST_WEIGHT * (largest.max() or 1.0))

    def sample(self, generator: np.random.Generator, count: int) -> Floats:
        """Draw configurations (count, nq), uniformly distributed over the ranges."""
        lower, upper = np.where(self.turns, -np.pi, self.lower), np.where(self.turns, np.pi, self.upper)
        return generator.uniform(lower, upper, (count, self.robot.nq))

    def way(self, start: Floats, goal: Floats) -> Floats:
        """Difference (..., nq) from start to goal, the shorter way round for continuous joints."""
        straight = goal - start
        return np.where(self.turns, straight - TURN * np.round(straight / TURN), straight)

    def lengths(self, ways: Floats) -> Floats:
        """Lengths (...) of differences (..., nq), weighted by the motion of the bodies, m."""
        return np.asarray(np.linalg.norm(ways * self.weights, axis=-1))

    def free(self, q: ArrayLike) -> Booleans:
        """Whether configurations (..., nq) are within their ranges and farther from collisions than the margin."""
        at = reals(q, "q", (..., self.robot.nq))
        inside = (self.turns | ((at >= self.lower) & (at <= self.upper))).all(axis=-1)
        return np.asarray(inside & (self._distances(at) > self.margin).all(axis=-1))

    def obstruction(self, q: ArrayLike) -> str:
        """Return a sentence why a configuration (nq,) is not free; empty if it is free.

        >>> import chasles as ch
        >>> from chasles.distances import Body
        >>> rod = Body("link1", end=[-0.5, 0.0, 0.0], radius=0.05)
        >>> apart = ch.clearance(ch.load("planar2r"), bodies=[rod], obstacles=[Body(None, [0.3, 0.0, 0.0], radius=0.1)])
        >>> ConfigurationSpace(apart).obstruction([0.0, 0.0])
        "'link1' and 'obstacle' overlap by 150 mm"
        """
        at = reals(q, "q", (self.robot.nq,))
        for k, name in enumerate(self.robot.coordinate_names):
            if not self.turns[k] and not self.lower[k] <= at[k] <= self.upper[k]:
                return f"joint '{name}' at {at[k]:g} is outside of its range, {self.lower[k]:g} to {self.upper[k]:g}"
        distances = self._distances(at)
        if not distances.size or distances.min() > self.margin:
            return ""
        first, second = self.clearance.pairs[int(distances.argmin())]
        least = 1e3 * float(distances.min())
        if least <= 0.0:
            return f"'{first}' and '{second}' overlap by {-least:.3g} mm"
        return f"'{first}' and '{second}' are {least:.3g} mm apart; the margin is {1e3 * self.margin:g} mm"

    def free_edges(self, start: ArrayLike, goal: ArrayLike) -> Booleans:
        """Whether the straight edges between configurations (m, nq) are proven free, shape (m,)."""
        begin = reals(start, "start", (..., self.robot.nq))
        way = self.way(begin, reals(goal, "goal", (..., self.robot.nq)))
        ends = np.stack(np.broadcast_arrays(begin, begin + way))
        count = int(np.prod(ends.shape[1:-1], dtype=np.int64))
        first, last = ends.reshape(2, count, self.robot.nq)
        moved = np.abs(last - first)
        free = self._proven(lambda edge, share: first[edge] + share[:, None] * (last - first)[edge], moved)
        free &= self.free(first) & self.free(last)
        return free.reshape(ends.shape[1:-1])

    def free_along(self, trajectory: JointTrajectory) -> Booleans:
        """Whether each piece (k,) of a trajectory between its knots is proven free of collisions.

        The proof bounds the velocities of each piece of a piecewise polynomial; for other trajectories it uses their
        overall largest velocities. A `RetimedTrajectory` has the pieces of its path. Joint limits are not checked here,
        but by the trajectory's ``check``.
        """
        if trajectory.batch or trajectory.n != self.robot.nq:
            raise ArgumentError(f"expected one trajectory of {self.robot.nq} joints, not {trajectory!r}")
        while isinstance(trajectory, RetimedTrajectory):
            trajectory = trajectory.path
        knots = np.asarray(trajectory.knots)
        spans = np.diff(knots)
        if isinstance(trajectory, PiecewisePolynomial):
            speeds = _largest_velocities(trajectory)
        else:
            speeds = np.broadcast_to(trajectory.peaks().velocity.largest, (len(spans), trajectory.n))
        if not np.isfinite(speeds).all():
            return np.zeros(len(spans), dtype=bool)
        begin = knots[:-1]
        return self._proven(lambda k, share: trajectory(begin[k] + share * spans[k]).q, speeds * spans[:, None])

    def with_margin(self, margin: float) -> ConfigurationSpace:
        """Return the same space with another margin, m."""
        limits = {"lower": self.lower, "upper": self.upper}
        return ConfigurationSpace(self.clearance, margin=margin, resolution=self.resolution, **limits)

    def _proven(self, at: Callable[[Integers, Floats], Floats], moved: Floats) -> Booleans:
        """Bisect motions until the distances at the middle of each part prove it, or a part is blocked.

        `at` gives configurations of motions (by index) at shares of their duration; `moved` (m, nq) bounds the
        travel of each coordinate over a whole motion, if it were as fast everywhere as where it is fastest.
        """
        free = np.ones(len(moved), dtype=bool)
        motion, share, half = np.arange(len(moved)), np.full(len(moved), 0.5), 0.5
        while len(motion):
            beyond = self._distances(at(motion, share)) - self.margin
            reach = half * moved[motion] @ self.bounds.T
            proven = (beyond > reach).all(axis=-1)
            blocked = ~(beyond > 0.0).all(axis=-1)
            blocked |= (~(beyond > reach) & (reach <= 0.5 * self.resolution)).any(axis=-1)
            free[motion[blocked]] = False
            again = ~proven & free[motion]
            half *= 0.5
            motion = np.repeat(motion[again], 2)
            share = np.repeat(share[again], 2) + half * np.tile([-1.0, 1.0], int(again.sum()))
        return free

    def _distances(self, q: Floats) -> Floats:
        """Distances (..., pairs) at configurations (..., nq), m."""
        if not self.clearance.pairs:
            return np.empty((*q.shape[:-1], 0))
        return np.asarray(self.clearance.distances(q)).reshape(*q.shape[:-1], len(self.clearance.pairs))


def _angles(clearance: Clearance) -> Booleans:
    """Whether each coordinate is an angle of which 2π leaves every body where it is."""
    tree = build_tree(clearance.robot.description)
    angles = np.ones(tree.nq, dtype=bool)
    for body in tree.bodies:
        angles[body.position] &= bool(body.angular) and not body.pitch and float(body.ratio).is_integer()
    return angles


def _largest_velocities(motion: PiecewisePolynomial) -> Floats:
    """Bounds (pieces, n) on the speeds of each piece: a polynomial stays in the hull of its Bernstein coefficients."""
    from scipy.interpolate import BPoly, PPoly

    power = PPoly(np.moveaxis(motion.coefficients, -2, 0)[::-1], motion.knots)
    return np.asarray(np.abs(BPoly.from_power_basis(power).derivative().c).max(axis=0))
