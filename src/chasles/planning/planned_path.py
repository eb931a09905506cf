"""Result of a planner: waypoints, or the reason for their absence; a curve, and a motion within limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.validators import real, reals
from chasles.planning.space import ConfigurationSpace, Floats
from chasles.trajectories import BSpline, PiecewisePolynomial, PlanningError, RetimedTrajectory

_HALVINGS = 12
_DEGREE = 3
#: 6 s^5 - 15 s^4 + 10 s^3: a motion from rest to rest, with its largest velocity and acceleration.
_QUINTIC = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])


@dataclass(frozen=True, eq=False)
class PlannedPath:
    """Result of a planner.

    Attributes
    ----------
    space
        Configuration space in which the path was planned.
    success
        Whether a path was found. If so, each of its edges is proven free.
    reason
        Sentence that describes the path, or why none was found.
    waypoints
        Configurations from start to goal, shape (k, nq), joined by straight lines; empty without success. Continuous
        joints are not wrapped, so the last configuration may differ from the goal by whole revolutions.
    samples
        Number of configurations that were drawn.
    """

    space: ConfigurationSpace
    success: bool
    reason: str
    waypoints: Floats
    samples: int

    @property
    def length(self) -> float:
        """Length of the path, m: joint motions weighted by how far they move bodies; infinite without success."""
        return float(self.space.lengths(np.diff(self.waypoints, axis=0)).sum()) if self.success else np.inf

    @cached_property
    def curve(self) -> BSpline:
        """Path with rounded corners: a cubic B-spline over s from 0 to 1, proven free, without stops.

        Its control points are evenly spaced on the path, in the smallest number for which it is proven free.
        `chasles.time_optimal(robot, path)` finds the fastest motion along it.
        """
        self._require_success()
        lengths = np.concatenate([[0.0], np.cumsum(self.space.lengths(np.diff(self.waypoints, axis=0)))])
        for count in _DEGREE + 2 ** np.arange(_HALVINGS):
            along = np.linspace(0.0, lengths[-1], count + 1)
            points = np.stack([np.interp(along, lengths, q) for q in self.waypoints.T], axis=-1)
            points[[0, -1]] = self.waypoints[[0, -1]]
            curve = BSpline.clamped(points, 1.0, _DEGREE)
            if self.space.free_along(curve).all():
                return curve
        raise PlanningError("the corners cannot be rounded without a collision; plan with a larger margin")

    def to_trajectory(
        self,
        *,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike = 5.0,
        start_time: float = 0.0,
        duration: float | None = None,
    ) -> RetimedTrajectory:
        """Return a motion along `curve` from rest to rest, within velocity and acceleration limits or in a given time.

        Parameters
        ----------
        velocity
            Largest speeds, shape (nq,) or a scalar, rad/s or m/s; default the robot's limits.
        acceleration
            Largest accelerations, shape (nq,) or a scalar, rad/s² or m/s².
        start_time
            Time at which the motion starts, s.
        duration
            Duration, s, in place of the limits; default the shortest within them.

        Raises
        ------
        ArgumentError
            There is no path, or no velocity limit.
        """
        curve = self.curve
        shape = (self.space.robot.nq,)
        fastest = self.space.robot.velocity_limits if velocity is None else velocity
        speeds = reals(fastest, "velocity", shape, broadcast=True, above=0.0, infinite=True)
        accelerations = reals(acceleration, "acceleration", shape, broadcast=True, above=0.0, infinite=True)
        begin = real(start_time, "start_time")
        if duration is not None:
            return _driven(curve, real(duration, "duration", above=0.0), begin)
        unhurried = _driven(curve, 1.0, 0.0).peaks()
        shortest = max(
            float((unhurried.velocity.largest / speeds).max()),
            float(np.sqrt((unhurried.acceleration.largest / accelerations).max())),
        )
        if not shortest > 0.0:
            raise ArgumentError("nothing limits the motion; give velocity= or acceleration=")
        return _driven(curve, shortest, begin)

    def _require_success(self) -> None:
        if not self.success:
            raise ArgumentError(f"there is no path: {self.reason}")
        if len(self.waypoints) < 2 or not self.length > 0.0:
            raise ArgumentError("the path has no length: start and goal are the same")

    def __repr__(self) -> str:
        return f"<PlannedPath: {self.reason}>"


def _driven(curve: BSpline, duration: float, begin: float) -> RetimedTrajectory:
    """The curve driven along from rest to rest in a time."""
    coefficients = _QUINTIC / duration ** np.arange(6)
    return RetimedTrajectory(curve, PiecewisePolynomial([begin, begin + duration], coefficients[None, :, None]))
