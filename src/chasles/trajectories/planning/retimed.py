"""A path in joint space with its own time law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentError
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.trajectory import JointTrajectory


class RetimedTrajectory(JointTrajectory):
    """The configurations of one trajectory at other times: q(t) = path(s(t)).

    Parameters
    ----------
    path
        Single trajectory, whose time is the path parameter s.
    progress
        Path parameter s over time, a trajectory of one joint; it must stay on the path.

    Raises
    ------
    ArgumentError
        If the path is a batch, or the progress leaves the path or has more than one joint.

    Examples
    --------
    >>> path = PiecewisePolynomial([0.0, 1.0], [[[0.0, 0.0], [2.0, -1.0]]])  # a straight line
    >>> there = RetimedTrajectory(path, PiecewisePolynomial([0.0, 2.0], [[[0.0], [0.0], [0.25]]]))
    >>> there(1.0).q, there(1.0).qd
    (array([ 0.5 , -0.25]), array([ 1. , -0.5]))
    """

    def __init__(self, path: JointTrajectory, progress: PiecewisePolynomial) -> None:
        if path.batch or progress.batch:
            raise ArgumentError("a batch of paths cannot be retimed; take one path after another")
        if progress.n != 1:
            raise ArgumentError(f"the progress must be a single number over time, not {progress.n}")
        first, last = float(path.start_time), float(path.end_time)
        reached = progress(progress.knots).q[:, 0]
        slack = 1e-9 * (last - first)
        if reached.min() < first - slack or reached.max() > last + slack:
            raise ArgumentError(
                f"the progress from {reached.min():g} to {reached.max():g} leaves the path, which goes from {first:g} "
                f"to {last:g}"
            )
        self.path, self.progress = path, progress
        self.knots = progress.knots

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.path.n

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.path.nv

    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Positions, velocities, accelerations and jerks at times (...), (..., n) and (..., nv)."""
        s, sd, sdd, sddd = self.progress.derivatives(t)
        place = np.clip(s[..., 0], float(self.path.start_time), float(self.path.end_time))
        q, first, second, third = self.path.derivatives(place)
        return (
            q,
            first * sd,
            second * sd**2 + first * sdd,
            third * sd**3 + 3.0 * second * sd * sdd + first * sddd,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.n} joints, {self.start_time:g} to {self.end_time:g} s>"
