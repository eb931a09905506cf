"""`CartesianTrajectory`: the base of all motions of a frame in space."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.trajectories.motion import PoseMotion
from chasles.trajectories.trajectory import Trajectory, as_times

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    import xarray
    from plotly.graph_objects import Figure

    from chasles.base.verbs import Shown, ViewOptions
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

    def follow(
        self,
        robot: Robot,
        q0: ArrayLike | None = None,
        *,
        target: str = "tool",
        mask: str | ArrayLike | None = None,
        limits: bool = True,
        dt: float | None = None,
        tolerance: float | tuple[float, float] = 1e-6,
        singularity: float = 0.01,
    ) -> FollowingTrajectory:
        """Return the joint motion with which a frame follows, with a report; see `chasles.trajectories.follow`."""
        followed: FollowingTrajectory = verbs.follow(
            robot,
            self,
            q0,
            target=target,
            mask=mask,
            limits=limits,
            dt=dt,
            tolerance=tolerance,
            singularity=singularity,
        )
        return followed

    def to_dataset(self, dt: float) -> xarray.Dataset:
        """Samples in steps of dt (s) as a labelled `xarray.Dataset`."""
        return verbs.to_dataset(self, dt)

    @overload
    def view(
        self, robot: Robot, q0: ArrayLike | None = None, *, path: str | PathLike[str], **options: Unpack[ViewOptions]
    ) -> Path: ...
    @overload
    def view(
        self, robot: Robot, q0: ArrayLike | None = None, *, path: None = None, **options: Unpack[ViewOptions]
    ) -> Shown: ...
    def view(
        self,
        robot: Robot,
        q0: ArrayLike | None = None,
        *,
        path: str | PathLike[str] | None = None,
        **options: Unpack[ViewOptions],
    ) -> Path | Shown:
        """Play the motion of a robot that follows on a page; see `chasles.view`."""
        return verbs.view(robot, self, q0, path=path, **options)

    def _repr_html_(self) -> str:
        return verbs.to_html(self)

    def plot(self, dt: float | None = None) -> Figure:
        """Figure of the path in space, and of position, orientation, velocity and acceleration over time."""
        return verbs.plot(self, dt)
