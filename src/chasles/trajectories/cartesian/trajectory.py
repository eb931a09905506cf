"""`CartesianTrajectory`: the base of all motions of a frame in space."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.trajectories.motion import PoseMotion
from chasles.trajectories.trajectory import Trajectory, as_times

if TYPE_CHECKING:
    import xarray
    from plotly.graph_objects import Figure

    from chasles.robot.robot import Robot
    from chasles.trajectories.joint.following_report import FollowingTrajectory


class CartesianTrajectory(Trajectory[PoseMotion]):
    """A motion of a frame in space.

    Twist and acceleration (its rate) are those of the frame's origin in world axes: ``"world-aligned"``.
    """

    @abstractmethod
    def pose_motion(self, t: NDArray[np.float64]) -> PoseMotion:
        """Pose (..., 4, 4), twist and its rate (..., 6) at times (...)."""

    def __call__(self, t: ArrayLike) -> PoseMotion:
        """Motion at times of any shape, s: pose (..., 4, 4), twist (..., 6) and its rate (..., 6)."""
        return self.pose_motion(as_times(t))

    def follow(self, robot: Robot, q0: ArrayLike | None = None, **options: Any) -> FollowingTrajectory:
        """Joint motion along which a robot's frame follows, with a report; see `chasles.trajectories.follow`."""
        found: FollowingTrajectory = verbs.follow(self, robot, q0, **options)
        return found

    def to_dataset(self, dt: float) -> xarray.Dataset:
        """Samples in steps of dt (s) as a labelled `xarray.Dataset`."""
        table: xarray.Dataset = verbs.to_dataset(self, dt)
        return table

    def view(self, robot: Robot, **options: Any) -> Any:
        """Play the motion of a robot that follows on a page; see `chasles.view`."""
        return verbs.view(self, robot, **options)

    def _repr_html_(self) -> str:
        return str(verbs.to_html(self))

    def plot(self, dt: float | None = None) -> Figure:
        """Figure of the path in space, and of position, orientation, velocity and acceleration over time."""
        return verbs.plot(self, dt)
