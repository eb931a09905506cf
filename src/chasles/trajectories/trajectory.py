"""What all trajectories share: times in, motion out; samples, tables, plots and checks."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles import verbs
from chasles.errors import ArgumentError
from chasles.trajectories.motion import Motion, PoseMotion

if TYPE_CHECKING:
    import xarray

    from chasles.robot import Robot
    from chasles.trajectories.check_report import CheckReport, PeakReport
    from chasles.trajectories.following_attempt import FollowingTrajectory

M = TypeVar("M", bound=NamedTuple)
#: More samples than this are more likely a slip in dt than a wish.
_MOST_SAMPLES = 10_000_000


class Samples(NamedTuple, Generic[M]):
    """Times (k,) in s, and the motion at each of them."""

    t: NDArray[np.float64]
    motion: M


class Trajectory(ABC, Generic[M]):
    """A motion as a function of time; the base of joint and Cartesian trajectories.

    Called with times of any shape it gives the motion at each. Before its start and after its end it rests where it
    starts and ends. A batch of trajectories broadcasts its axes with those of the times.

    Attributes
    ----------
    knots
        Times at which its pieces meet, from start to end, shape (k,) or (*batch, k), s. Between knots it is smooth.
    batch
        Shape of a batch of trajectories; () for one.
    """

    knots: NDArray[np.float64]
    batch: tuple[int, ...] = ()

    @property
    def start_time(self) -> Any:
        """Time at which it starts, s; shape of the batch where its trajectories differ."""
        return self.knots[..., 0]

    @property
    def end_time(self) -> Any:
        """Time at which it ends, s."""
        return self.knots[..., -1]

    @property
    def duration(self) -> Any:
        """Time from start to end, s."""
        return self.end_time - self.start_time

    @abstractmethod
    def __call__(self, t: ArrayLike) -> M:
        """Motion at times of any shape, s."""

    def sample_times(self, dt: float) -> NDArray[np.float64]:
        """Times from start to end in steps of dt (s); the end is always among them, after a shorter step if need be."""
        first, last = float(np.min(self.start_time)), float(np.max(self.end_time))
        dt = checked_step(dt)
        if last - first > _MOST_SAMPLES * dt:
            raise ArgumentError(f"{last - first:g} s in steps of {dt:g} s are more than {_MOST_SAMPLES:,} samples")
        count = int(np.floor((last - first) / dt * (1.0 + 1e-12)))
        times = np.asarray(first + dt * np.arange(count + 1), dtype=np.float64)
        if last - times[-1] > 1e-9 * min(dt, last - first):
            return np.append(times, last)
        times[-1] = last
        return times

    def sample(self, dt: float) -> Samples[M]:
        """Times in steps of dt (s), and the motion at each; for a batch its axes come before those of the times."""
        times = self.sample_times(dt)
        return Samples(times, self._along(times))

    def _along(self, times: NDArray[np.float64]) -> M:
        """Motion of each trajectory of the batch at each of the times, (*batch, k, ...)."""
        if not self.batch:
            return self(times)
        motion = self(times.reshape(-1, *(1,) * len(self.batch)))
        return type(motion)(*(np.moveaxis(part, 0, len(self.batch)) for part in motion))


class JointTrajectory(Trajectory[Motion]):
    """A motion of joints.

    Subclasses give `derivatives`; everything else follows from it.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of joints."""

    @abstractmethod
    def derivatives(self, t: NDArray[np.float64]) -> tuple[Any, Any, Any, Any]:
        """Positions, velocities, accelerations and jerks at times (...), each (..., n)."""

    def __call__(self, t: ArrayLike) -> Motion:
        """Motion at times of any shape, s; each part has shape (..., n).

        NaN in a time gives NaN for that time alone.
        """
        return Motion(*self.derivatives(_times(t))[:3])

    def jerk(self, t: ArrayLike) -> NDArray[np.float64]:
        """Third derivative at times of any shape, (..., n), rad/s³ (m/s³ for sliding joints)."""
        return np.asarray(self.derivatives(_times(t))[3])

    def peaks(self, dt: float | None = None) -> PeakReport:
        """Largest position, velocity, acceleration and jerk of each joint, with the times at which they occur."""
        found: PeakReport = verbs.peaks(self, dt)
        return found

    def check(self, robot: Robot, dt: float | None = None, **limits: Any) -> CheckReport:
        """Violations of a robot's limits of position, velocity, acceleration and torque; see `checks.check`."""
        found: CheckReport = verbs.check(self, robot, dt, **limits)
        return found

    def to_dataset(self, dt: float, robot: Robot | None = None) -> xarray.Dataset:
        """Samples in steps of dt (s) as a labelled `xarray.Dataset`; with the names and units of a robot's joints."""
        table: xarray.Dataset = verbs.to_dataset(self, dt, robot)
        return table

    def plot(self, dt: float | None = None, robot: Robot | None = None) -> Any:
        """Figure of positions, velocities, accelerations and jerks over time; with a robot's names and limits."""
        return verbs.plot(self, dt, robot)


class CartesianTrajectory(Trajectory[PoseMotion]):
    """A motion of a frame in space.

    Twist and acceleration (its rate) are those of the frame's origin in world axes: ``"world-aligned"``.
    """

    @abstractmethod
    def pose_motion(self, t: NDArray[np.float64]) -> PoseMotion:
        """Pose (..., 4, 4), twist and its rate (..., 6) at times (...)."""

    def __call__(self, t: ArrayLike) -> PoseMotion:
        """Motion at times of any shape, s: pose (..., 4, 4), twist (..., 6) and its rate (..., 6)."""
        return self.pose_motion(_times(t))

    def follow(self, robot: Robot, q0: ArrayLike | None = None, **options: Any) -> FollowingTrajectory:
        """Joint motion along which a robot's frame follows, with a report; see `following.follow`."""
        found: FollowingTrajectory = verbs.follow(self, robot, q0, **options)
        return found

    def to_dataset(self, dt: float) -> xarray.Dataset:
        """Samples in steps of dt (s) as a labelled `xarray.Dataset`."""
        table: xarray.Dataset = verbs.to_dataset(self, dt)
        return table

    def plot(self, dt: float | None = None) -> Any:
        """Figure of the path in space, and of position, orientation, velocity and acceleration over time."""
        return verbs.plot(self, dt)


def checked_step(dt: float) -> float:
    """Return a positive time step, s.

    >>> checked_step(-1.0)
    Traceback (most recent call last):
    ...
    chasles.errors.ArgumentError: dt must be a positive number of seconds, not -1.0
    """
    try:
        step = float(dt)
    except (TypeError, ValueError):
        step = math.nan
    if not 0.0 < step < math.inf:
        raise ArgumentError(f"dt must be a positive number of seconds, not {dt!r}")
    return step


def _times(t: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"times must be numbers in an array of any shape, not {type(t).__name__}") from None
