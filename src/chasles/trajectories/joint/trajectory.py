"""`JointTrajectory`: the base of all motions of joints."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.trajectories.motion import Motion
from chasles.trajectories.trajectory import Trajectory, as_times

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike
    from pathlib import Path

    import xarray
    from plotly.graph_objects import Figure

    from chasles.base.verbs import Shown, ViewOptions
    from chasles.robot.robot import Robot
    from chasles.trajectories.check_report import CheckReport, PeakReport


class JointTrajectory(Trajectory[Motion]):
    """A motion of joints.

    Subclasses implement `derivatives`; all other methods are derived from it.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of joints."""

    @property
    def nv(self) -> int:
        """Number of velocities; with quaternions it is smaller than the number of positions."""
        return self.n

    @abstractmethod
    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Positions (..., n); velocities, accelerations and jerks at times (...), each (..., nv)."""

    def __call__(self, t: ArrayLike) -> Motion:
        """Motion at times of any shape, s; each part has shape (..., n), rates (..., nv).

        NaN in a time gives NaN for that time alone.
        """
        return Motion(*self.derivatives(as_times(t))[:3])

    def jerk(self, t: ArrayLike) -> NDArray[np.float64]:
        """Third derivative at times of any shape, (..., n), rad/s³ (m/s³ for prismatic joints)."""
        return np.asarray(self.derivatives(as_times(t))[3])

    def peaks(self, dt: float | None = None) -> PeakReport:
        """Largest position, velocity, acceleration and jerk of each joint, with the times at which they occur."""
        report: PeakReport = verbs.peaks(self, dt)
        return report

    def check(
        self,
        robot: Robot,
        dt: float | None = None,
        *,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
        jerk: ArrayLike | None = None,
        torque: ArrayLike | None = None,
        torque_rate: ArrayLike | None = None,
        power: ArrayLike | None = None,
        vary: Mapping[str, ArrayLike] | None = None,
        wrenches: Mapping[str, ArrayLike] | None = None,
    ) -> CheckReport:
        """Violations of a robot's limits of position, velocity, acceleration and torque; see `chasles.check`."""
        report: CheckReport = verbs.check(
            robot,
            self,
            dt,
            velocity=velocity,
            acceleration=acceleration,
            jerk=jerk,
            torque=torque,
            torque_rate=torque_rate,
            power=power,
            vary=vary,
            wrenches=wrenches,
        )
        return report

    def to_dataset(self, dt: float, *, robot: Robot | None = None) -> xarray.Dataset:
        """Samples in steps of dt (s) as a labelled `xarray.Dataset`; with the names and units of a robot's joints."""
        return verbs.to_dataset(self, dt, robot=robot)

    def plot(self, robot: Robot | None = None, dt: float | None = None) -> Figure:
        """Figure of positions, velocities, accelerations and jerks over time; with a robot's names and limits."""
        return verbs.plot(self, dt) if robot is None else verbs.plot(robot, self, dt)

    @overload
    def view(self, robot: Robot, *, path: str | PathLike[str], **options: Unpack[ViewOptions]) -> Path: ...
    @overload
    def view(self, robot: Robot, *, path: None = None, **options: Unpack[ViewOptions]) -> Shown: ...
    def view(
        self, robot: Robot, *, path: str | PathLike[str] | None = None, **options: Unpack[ViewOptions]
    ) -> Path | Shown:
        """Play the motion on a page, live or in the file ``path``, where the robot can be moved; see `chasles.view`."""
        return verbs.view(robot, self, path=path, **options)

    def _repr_html_(self) -> str:
        return verbs.to_html(self)
