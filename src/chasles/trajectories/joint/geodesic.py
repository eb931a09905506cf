"""Shortest motions between configurations of robots with spherical and free joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine.program.scalar import Quantity
from chasles.engine.validators import reals
from chasles.trajectories.joint.point_to_point import PointToPoint
from chasles.trajectories.joint.scalings import Scaling
from chasles.trajectories.joint.tangent import ManifoldTrajectory

if TYPE_CHECKING:
    from chasles.robot.robot import Robot


class GeodesicMotion(ManifoldTrajectory):
    """Shortest motion between two configurations, every degree of freedom with the same time scaling.

    Spherical joints rotate about a fixed axis, free joints move along a screw, and other joints follow a straight line.
    With the displacement d from start to goal (`Robot.difference`) and the progress s(t), q = start ⊕ s d, qd = s' d
    and qdd = s'' d: the rates are parallel to the fixed d, so that limits of each degree of freedom are kept exactly.

    Parameters
    ----------
    robot
        Robot that moves.
    start, goal
        Configurations, (..., nq). Leading axes make a batch of motions.
    duration
        Time from start to goal, s, (...).
    scaling, ramp, rounding
        See `PointToPoint`.

    Examples
    --------
    >>> import chasles as ch
    >>> robot = ch.load("planar2r").with_free_base()
    >>> goal = robot.integrate(robot.home, [0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.3, -0.3])
    >>> GeodesicMotion(robot, robot.home, goal, duration=2.0)(1.0).qd.round(4)
    array([ 0.    ,  0.    ,  0.9375,  0.    ,  0.    ,  0.4688,  0.2812, -0.2812])
    """

    def __init__(
        self,
        robot: Robot,
        start: ArrayLike,
        goal: ArrayLike,
        duration: ArrayLike,
        *,
        scaling: Scaling = "quintic",
        ramp: ArrayLike | None = None,
        rounding: ArrayLike | None = None,
    ) -> None:
        line = PointToPoint(
            np.zeros(robot.n),
            _displacement(robot, start, goal),
            duration,
            scaling=scaling,
            ramp=ramp,
            rounding=rounding,
        )
        self.robot, self.line = robot, line
        self.start = np.asarray(robot.normalize(reals(start, "start", (..., robot.nq))))
        self.knots, self.batch = self.line.knots, self.line.batch

    @classmethod
    def within_limits(
        cls,
        robot: Robot,
        start: ArrayLike,
        goal: ArrayLike,
        *,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike = np.inf,
        jerk: ArrayLike = np.inf,
        scaling: Scaling = "s-curve",
    ) -> Self:
        """Return the fastest such motion within limits of the degrees of freedom.

        Parameters
        ----------
        robot, start, goal
            See the class.
        velocity, acceleration, jerk
            Largest magnitudes, a scalar or (..., n); velocity defaults to the robot's limits.
        scaling
            See `PointToPoint.within_limits`.

        Examples
        --------
        >>> import chasles as ch
        >>> robot = ch.load("planar2r").with_free_base()
        >>> goal = robot.integrate(robot.home, [0.0, 0.0, 1.0, 0.0, 0.0, 0.5, 0.3, -0.3])
        >>> motion = GeodesicMotion.within_limits(robot, robot.home, goal, velocity=0.5, acceleration=1.0)
        >>> motion.duration, round(float(motion(1.0).qd[2]), 6)
        (2.5, 0.5)
        """
        displacement = _displacement(robot, start, goal)
        line = PointToPoint.within_limits(
            np.zeros(robot.n),
            displacement,
            velocity=robot.velocity_limits if velocity is None else velocity,
            acceleration=acceleration,
            jerk=jerk,
            scaling=scaling,
        )
        shape = {name: line.parameters[name] for name in ("ramp", "rounding") if name in line.parameters}
        return cls(robot, start, goal, line.duration, scaling=scaling, **shape)

    @property
    def duration(self) -> Quantity:
        """Time from the start to the goal, s."""
        return self.line.duration

    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Configurations (..., nq); velocities, accelerations and jerks (..., n) in the tangent space."""
        displacement, *rates = self.line.derivatives(t)
        return (np.asarray(self.robot.integrate(self.start, displacement)), *rates)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of robot '{self.robot.name}', {self.line.duration} s>"


def _displacement(robot: Robot, start: ArrayLike, goal: ArrayLike) -> NDArray[np.float64]:
    ends = [reals(value, name, (..., robot.nq)) for value, name in ((start, "start"), (goal, "goal"))]
    return np.asarray(robot.difference(*ends))
