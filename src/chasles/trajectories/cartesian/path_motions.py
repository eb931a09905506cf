"""Cartesian motions from rest to rest: along a line, a screw, a circle, an arc through three points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program, trace
from chasles.engine.program.scalar import Real
from chasles.engine.validators import reals
from chasles.trajectories.cartesian.limits import CartesianLimits
from chasles.trajectories.cartesian.paths import HelicalPath, Orientation, arc_path, circle_path, line_path, screw_path
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
from chasles.trajectories.joint.durations import checked_durations
from chasles.trajectories.joint.profiles import Profile
from chasles.trajectories.joint.scalings import LEAST_SHARES, RAMP, ROUNDING, Scaling, law_named, time_scaling
from chasles.trajectories.motion import PoseMotion


class Timing(TypedDict, total=False):
    """Keywords that say how a motion progresses along its path; see `PathMotion`."""

    duration: ArrayLike
    limits: CartesianLimits
    scaling: Scaling
    ramp: ArrayLike
    rounding: ArrayLike


class PathMotion(CartesianTrajectory):
    """Motion along a path, from rest to rest.

    Parameters
    ----------
    path
        Path of the frame; a batch of paths makes a batch of trajectories.
    duration
        Time from start to end, s, from 1e-18 to 1e18 s, a scalar or one value per trajectory.
    limits
        Limits in place of a duration: the motion is the fastest of this scaling within them. Where start and end are
        equal, its duration is zero.
    scaling
        Name of a time scaling, see `time_scaling`; by default ``"quintic"``, or with limits ``"trapezoid"``.
    ramp, rounding
        Shape of the scaling, see `time_scaling`; with limits, determined by them.

    Raises
    ------
    ArgumentError
        If there is neither a duration nor limits, or both; if a duration is not positive; if nothing limits the speed.
    UnknownNameError
        For another scaling.
    """

    def __init__(
        self,
        path: HelicalPath,
        *,
        duration: ArrayLike | None = None,
        limits: CartesianLimits | None = None,
        scaling: Scaling | None = None,
        ramp: ArrayLike | None = None,
        rounding: ArrayLike | None = None,
    ) -> None:
        self.path = path
        self.scaling: Scaling = scaling or ("quintic" if limits is None else "trapezoid")
        law = law_named(self.scaling)
        if (duration is None) == (limits is None):
            raise ArgumentError("give either a duration or limits")
        if limits is None:
            self.profile = _profile(
                duration, RAMP if ramp is None else ramp, ROUNDING if rounding is None else rounding
            )
        elif ramp is None and rounding is None:
            self.profile = limits.profile(path, self.scaling)
        else:
            raise ArgumentError("with limits, ramp and rounding follow from them")
        try:
            self.batch = np.broadcast_shapes(path.turn.shape[:-1], *(np.shape(part) for part in self.profile))
        except ValueError:
            raise ArgumentError("the batch axes of the path and of its duration do not broadcast") from None
        first = [np.broadcast_to(x, np.shape(self.profile.ramp)) for x in law.knots(*self.profile[1:])]
        shares = np.stack([*first, *(1.0 - x for x in reversed(first))], axis=-1)
        self.knots = np.asarray(shares * self.profile.duration[..., None])
        self.knots[..., -1] = self.profile.duration
        if self.knots.ndim > 1:
            self.knots = np.broadcast_to(self.knots, (*self.batch, self.knots.shape[-1]))

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Parameters of the motion, by name."""
        return {**self.path._asdict(), **self.profile._asdict()}

    def motion(self, t: Real, parameters: Mapping[str, Any]) -> PoseMotion:
        """Return pose, twist and its rate at one time; traceable."""
        return _motion(self.scaling, t, *parameters.values())

    @property
    def program(self) -> Program:
        """Program of the motion: (t, *`parameters`) -> (pose, twist, its rate)."""
        return _evaluation(self.scaling).program

    def pose_motion(self, t: NDArray[np.float64]) -> PoseMotion:
        """Pose (..., 4, 4), twist and its rate (..., 6) at times (...)."""
        return PoseMotion(*_evaluation(self.scaling)(t, *self.parameters.values()))

    def __repr__(self) -> str:
        batch = f"batch {self.batch} of " if self.batch else ""
        shortest, longest = np.min(self.duration), np.max(self.duration)
        duration = f"{shortest:g} s" if shortest == longest else f"{shortest:g} to {longest:g} s"
        return f"<{batch}{type(self).__name__} in {duration}, {self.scaling}>"


class StraightLine(PathMotion):
    """Straight line of the origin while the frame rotates about a fixed axis: Modern Robotics' ``CartesianTrajectory``.

    Parameters
    ----------
    T_start, T_end
        First and last pose, (..., 4, 4). The frame rotates by the smaller angle, in proportion to the distance covered.
    **timing
        ``duration``, ``limits``, ``scaling``, ``ramp``, ``rounding``: see `PathMotion`.

    Raises
    ------
    ArgumentError
        If a matrix is not a pose; see also `PathMotion`.

    Notes
    -----
    Lynch and Park, Modern Robotics (2017), section 9.2.1, the decoupled path.

    Examples
    --------
    >>> T_end = np.eye(4)
    >>> T_end[0, 3] = 0.4
    >>> line = StraightLine(np.eye(4), T_end, duration=2.0)
    >>> line(1.0).pose[0, 3], line(1.0).twist[3]
    (np.float64(0.2), np.float64(0.375))
    >>> StraightLine(np.eye(4), T_end, limits=CartesianLimits(linear_velocity=0.5, linear_acceleration=1.0))
    <StraightLine in 1.3 s, trapezoid>
    """

    def __init__(self, T_start: ArrayLike, T_end: ArrayLike, **timing: Unpack[Timing]) -> None:
        super().__init__(line_path(T_start, T_end), **timing)


class ScrewMotion(PathMotion):
    """Screw motion between two poses: Modern Robotics' ``ScrewTrajectory``.

    Rotation and translation share an axis, so that the origin follows a helix. It is the only such motion that does not
    depend on the choice of frame.

    Parameters
    ----------
    T_start, T_end
        First and last pose, (..., 4, 4). The frame rotates by the smaller angle.
    **timing
        ``duration``, ``limits``, ``scaling``, ``ramp``, ``rounding``: see `PathMotion`.

    Raises
    ------
    ArgumentError
        If a matrix is not a pose; see also `PathMotion`.

    Notes
    -----
    Lynch and Park, Modern Robotics (2017), section 9.2.1.

    Examples
    --------
    >>> from chasles.geometry import exp_pose
    >>> half_turn = exp_pose([0.0, 0.0, np.pi, np.pi, 0.0, 0.0])  # about an axis at (0, 1)
    >>> ScrewMotion(np.eye(4), half_turn, duration=1.0)(0.5).pose[:3, 3].round(9) + 0.0
    array([1., 1., 0.])
    """

    def __init__(self, T_start: ArrayLike, T_end: ArrayLike, **timing: Unpack[Timing]) -> None:
        super().__init__(screw_path(T_start, T_end), **timing)


class Circle(PathMotion):
    """Circle of the origin about an axis, or a helix.

    Parameters
    ----------
    T_start
        First pose, (..., 4, 4).
    center, axis
        Point on the axis, (..., 3), m, and direction of the axis, nonzero, (..., 3). The origin moves counter-clockwise
        seen against the axis.
    angle
        Angle of rotation, (...), rad; any size and sign.
    rise
        Translation along the axis, (...), m.
    orientation
        ``"constant"``; ``"turning"``: the frame rotates with the circle, as if fixed to a wheel; or a final rotation,
        (..., 3, 3), which it reaches by the smaller angle, in proportion to the distance covered.
    **timing
        ``duration``, ``limits``, ``scaling``, ``ramp``, ``rounding``: see `PathMotion`.

    Raises
    ------
    ArgumentError
        If the matrix is not a pose or the axis is zero; see also `PathMotion`.
    UnknownNameError
        For another orientation.

    Examples
    --------
    >>> start = np.eye(4)
    >>> start[0, 3] = 0.3
    >>> half = Circle(start, center=[0.0, 0.0, 0.0], axis=[0.0, 0.0, 1.0], angle=np.pi, duration=2.0)
    >>> half(1.0).pose[:3, 3].round(9) + 0.0
    array([0. , 0.3, 0. ])
    """

    def __init__(
        self,
        T_start: ArrayLike,
        center: ArrayLike,
        axis: ArrayLike,
        angle: ArrayLike = 2.0 * math.pi,
        *,
        rise: ArrayLike = 0.0,
        orientation: Orientation | ArrayLike = "constant",
        **timing: Unpack[Timing],
    ) -> None:
        super().__init__(circle_path(T_start, center, axis, angle, rise, orientation), **timing)


class CircularArc(PathMotion):
    """Arc of the origin through three points.

    Parameters
    ----------
    T_start
        First pose, (..., 4, 4).
    p_via
        Intermediate point, (..., 3), m.
    end
        Last pose, (..., 4, 4), whose orientation the frame reaches by the smaller angle; or last point, (..., 3), m.
    orientation
        Orientation if `end` is a point: ``"constant"`` (default), ``"turning"`` or a final rotation, as for `Circle`.
    **timing
        ``duration``, ``limits``, ``scaling``, ``ramp``, ``rounding``: see `PathMotion`.

    Raises
    ------
    ArgumentError
        If points coincide or lie on a line up to rounding, or a matrix is not a pose; see also `PathMotion`.
    UnknownNameError
        For another orientation.

    Examples
    --------
    >>> arc = CircularArc(np.eye(4), [1.0, 1.0, 0.0], [2.0, 0.0, 0.0], duration=1.0)
    >>> arc(0.5).pose[:3, 3].round(9) + 0.0
    array([1., 1., 0.])
    """

    def __init__(
        self,
        T_start: ArrayLike,
        p_via: ArrayLike,
        end: ArrayLike,
        *,
        orientation: Orientation | ArrayLike | None = None,
        **timing: Unpack[Timing],
    ) -> None:
        super().__init__(arc_path(T_start, p_via, end, orientation), **timing)


def _profile(duration: ArrayLike | None, ramp: ArrayLike, rounding: ArrayLike) -> Profile:
    time, share, part = checked_durations(duration), reals(ramp, "ramp"), reals(rounding, "rounding")
    if not ((share >= LEAST_SHARES["ramp"]) & (share <= 0.5)).all():
        raise ArgumentError(f"ramp must be a share of the duration from {LEAST_SHARES['ramp']:g} to 1/2, not {ramp!r}")
    if not ((part >= 0.0) & (part <= 0.5)).all():
        raise ArgumentError(f"rounding must be a share of the ramp from 0 to 1/2, not {rounding!r}")
    return Profile(*np.broadcast_arrays(time, share, part))


def _motion(scaling: Scaling, t: Real, *parameters: Any) -> PoseMotion:
    *path, duration, ramp, rounding = parameters
    progress = time_scaling(t, duration, scaling, ramp=ramp, rounding=rounding)
    return HelicalPath(*path).motion(progress.s, progress.sd, progress.sdd)


@cache
def _evaluation(scaling: Scaling) -> Function:
    inputs = {"t": (), "T_start": (4, 4), "turn": (3,), "bend": (3,), "velocity": (3,)}
    inputs |= {"duration": (), "ramp": (), "rounding": ()}
    outputs = PoseMotion._fields
    return Function(
        trace(lambda *values: tuple(_motion(scaling, *values)), inputs, name="path_motion", outputs=outputs)
    )
