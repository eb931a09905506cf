"""`JointTrajectory`: the base of all motions of joints."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base import verbs
from chasles.trajectories.motion import Motion
from chasles.trajectories.trajectory import Trajectory, as_times

if TYPE_CHECKING:
    import xarray
    from plotly.graph_objects import Figure

    from chasles.robot.robot import Robot
    from chasles.trajectories.check_report import CheckReport, PeakReport


class JointTrajectory(Trajectory[Motion]):
    """A motion of joints.

    Subclasses give `derivatives`; everything else follows from it.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of joints."""

    @property
    def nv(self) -> int:
        """Number of velocities; it differs from that of positions where these hold quaternions."""
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
        found: PeakReport = verbs.peaks(self, dt)
        return found

    def check(self, robot: Robot, dt: float | None = None, **limits: Any) -> CheckReport:
        """Violations of a robot's limits of position, velocity, acceleration and torque; see `chasles.check`."""
        found: CheckReport = verbs.check(self, robot, dt, **limits)
        return found

    def to_dataset(self, dt: float, robot: Robot | None = None) -> xarray.Dataset:
        """Samples in steps of dt (s) as a labelled `xarray.Dataset`; with the names and units of a robot's joints."""
        table: xarray.Dataset = verbs.to_dataset(self, dt, robot)
        return table

    def plot(self, dt: float | None = None, robot: Robot | None = None) -> Figure:
        """Figure of positions, velocities, accelerations and jerks over time; with a robot's names and limits."""
        return verbs.plot(self, dt, robot)

    def view(self, robot: Robot, **options: Any) -> Any:
        """Play the motion on a page, live or in the file ``path``, where the robot can be moved; see `chasles.view`."""
        return verbs.view(self, robot, **options)

    def _repr_html_(self) -> str:
        return str(verbs.to_html(self))
