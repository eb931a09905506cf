"""Splines through waypoints in joint space."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import choice
from chasles.trajectories.joint.continuity import REMEDY, require_continuity, require_waypoints
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.spline_pieces import cubic_pieces, hermite_pieces, polynomials_of
from chasles.trajectories.joint.waypoints import bounded, checked_times, checked_waypoints
from chasles.trajectories.motion import Floats

#: At the start and at the end, each derivative that is given there, (order, values).
Ends = list[list[tuple[int, Floats]]]
CubicBoundary = Literal["clamped", "natural", "periodic", "not-a-knot"]
QuinticBoundary = Literal["clamped", "natural", "periodic"]
_CUBIC_BOUNDARIES = ("clamped", "natural", "periodic", "not-a-knot")
_QUINTIC_BOUNDARIES = ("clamped", "natural", "periodic")
_OUTSIDE = ("rest", "error")
#: Difference of the first and the last waypoint of a periodic spline, relative to their size, that is rounding.
_CLOSED = 1e-12


class CubicSpline(PiecewisePolynomial):
    """Cubic spline through waypoints: position, velocity and acceleration are continuous (C²).

    Parameters
    ----------
    times
        Times of the waypoints, increasing, shape (k,), k at least 2, s. A batch of splines shares them.
    waypoints
        Configurations, shape (..., k, n), rad or m.
    boundary
        Conditions at the first and the last waypoint:

        - ``"clamped"``: given end velocities, by default zero, so that the spline starts and ends at rest.
        - ``"natural"``: the accelerations vanish, as in ROBOOP's ``Spl_cubic``.
        - ``"periodic"``: both ends have the same velocity and acceleration. The first and last waypoints must be equal;
          evaluate it at ``t % duration`` to repeat it.
        - ``"not-a-knot"``: the jerk is continuous at the waypoints next to the ends.
    start_velocity, end_velocity
        Velocities of a clamped spline at its ends, shape (..., n) or a scalar for all joints, rad/s or m/s.
    outside
        ``"rest"``, as for all trajectories, or ``"error"`` to raise an error for times outside the spline, as ROBOOP
        does.

    Raises
    ------
    ArgumentError
        If times do not increase, there is only one waypoint, shapes do not fit, or a number is not finite; if times are
        too close for double precision, or so unequal that overshoot swamps the digits of the waypoints. The message
        names the waypoint.
    UnknownNameError
        For another boundary.

    Notes
    -----
    The computation is that of `scipy.interpolate.CubicSpline`.

    Examples
    --------
    >>> path = CubicSpline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]])
    >>> path([0.5, 1.0]).q[:, 0], path([0.0, 1.0, 2.0]).qd[:, 0]
    (array([0.5, 1. ]), array([0., 0., 0.]))
    """

    def __init__(
        self,
        times: ArrayLike,
        waypoints: ArrayLike,
        *,
        boundary: CubicBoundary = "clamped",
        start_velocity: ArrayLike | None = None,
        end_velocity: ArrayLike | None = None,
        outside: Literal["rest", "error"] = "rest",
    ) -> None:
        t = checked_times(times)
        q = checked_waypoints(waypoints, t)
        choice(boundary, "boundary", _CUBIC_BOUNDARIES)
        choice(outside, "choice for times outside", _OUTSIDE)
        velocities = {"start_velocity": start_velocity, "end_velocity": end_velocity}
        if boundary != "clamped":
            _refuse(velocities, boundary)
        conditions: Any = boundary
        ends: Ends = []
        if boundary == "clamped":
            ends = [[(1, _at_end(value, q, name))] for name, value in velocities.items()]
            conditions = tuple(side[0] for side in ends)
        elif boundary == "periodic":
            _close(q)
        super().__init__(t, cubic_pieces(t, q, conditions))
        self.boundary: CubicBoundary = boundary
        self.outside = outside
        size = _size(t, q, ends)
        require_waypoints(self, t, q, size=size)
        require_continuity(self, 2, size=size, periodic=boundary == "periodic")

    def derivatives(self, t: Floats) -> tuple[Any, Any, Any, Any]:
        """Positions, velocities, accelerations and jerks at times (...), each (..., n)."""
        if self.outside == "error":
            far = (t < self.knots[0]) | (t > self.knots[-1])
            if far.any():
                raise ArgumentError(
                    f"the time {t[far].flat[0]:g} s is outside of the spline, from {self.knots[0]:g} to "
                    f"{self.knots[-1]:g} s"
                )
        return super().derivatives(t)

    def __repr__(self) -> str:
        return _summary(self, self.boundary)


class QuinticSpline(PiecewisePolynomial):
    """Quintic spline through waypoints: all derivatives up to the fourth are continuous (C⁴).

    Parameters
    ----------
    times
        Times of the waypoints, increasing, shape (k,), k at least 2, s. A batch of splines shares them.
    waypoints
        Configurations, shape (..., k, n), rad or m.
    boundary
        Conditions at the first and the last waypoint:

        - ``"clamped"``: given end velocities and accelerations, by default zero. With two waypoints this is the quintic
          of `PointToPoint`.
        - ``"natural"``: the third and fourth derivatives vanish. It has the smallest integral of the squared jerk of
          all motions through the waypoints. At least 3 waypoints.
        - ``"periodic"``: both ends have the same derivatives up to the fourth. The first and last waypoints must be
          equal; at least 6 waypoints.
    start_velocity, end_velocity, start_acceleration, end_acceleration
        Derivatives of a clamped spline at its ends, shape (..., n) or a scalar for all joints.

    Raises
    ------
    ArgumentError
        If times do not increase, there are too few waypoints, shapes do not fit, or a number is not finite; if times
        are too close for double precision, or so unequal that overshoot swamps the digits of the waypoints. The message
        names the waypoint.
    UnknownNameError
        For another boundary.

    Notes
    -----
    The computation is that of `scipy.interpolate.make_interp_spline`.

    Examples
    --------
    >>> path = QuinticSpline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]])
    >>> path(1.0).q, path(0.0).qd, path(0.0).qdd
    (array([1.]), array([0.]), array([0.]))
    """

    def __init__(
        self,
        times: ArrayLike,
        waypoints: ArrayLike,
        *,
        boundary: QuinticBoundary = "clamped",
        start_velocity: ArrayLike | None = None,
        end_velocity: ArrayLike | None = None,
        start_acceleration: ArrayLike | None = None,
        end_acceleration: ArrayLike | None = None,
    ) -> None:
        choice(boundary, "boundary", _QUINTIC_BOUNDARIES)
        t = checked_times(times, least={"clamped": 2, "natural": 3, "periodic": 6}[boundary])
        q = checked_waypoints(waypoints, t)
        start = {"start_velocity": start_velocity, "start_acceleration": start_acceleration}
        end = {"end_velocity": end_velocity, "end_acceleration": end_acceleration}
        if boundary != "clamped":
            _refuse(start | end, boundary)
        conditions: Any
        ends: Ends = []
        if boundary == "clamped":
            ends = [
                [(order, _at_end(value, q, name)) for order, (name, value) in enumerate(side.items(), start=1)]
                for side in (start, end)
            ]
            conditions = tuple(ends)
        elif boundary == "natural":
            zero = np.zeros(_points_first(q).shape[1:])
            conditions = ([(3, zero), (4, zero)],) * 2
        else:
            _close(q)
            conditions = "periodic"
        from scipy.interpolate import make_interp_spline
        from scipy.linalg import LinAlgError, LinAlgWarning

        # What is not finite, or inexact, is refused below.
        with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)
            try:
                spline = make_interp_spline(t, _points_first(q), k=5, bc_type=conditions)
            except LinAlgError:
                raise ArgumentError(
                    f"the times of the waypoints are too unequal for double precision; {REMEDY}"
                ) from None
            rows = polynomials_of(spline)[1]
        rows[..., 0, :] = q[..., :-1, :]
        super().__init__(t, rows)
        self.boundary: QuinticBoundary = boundary
        size = _size(t, q, ends)
        require_waypoints(self, t, q, size=size)
        require_continuity(self, 4, size=size, periodic=boundary == "periodic")

    def __repr__(self) -> str:
        return _summary(self, self.boundary)


class HermiteSpline(PiecewisePolynomial):
    """Spline with given positions, velocities and optionally accelerations at given times.

    The pieces are cubic (C¹) or, if accelerations are given, quintic (C²).

    Parameters
    ----------
    times
        Times of the waypoints, increasing, shape (k,), k at least 2, s. A batch of splines shares them.
    positions, velocities, accelerations
        Motion at these times, shape (..., k, n). Velocities and accelerations broadcast: velocity 0 stops at every
        waypoint.

    Raises
    ------
    ArgumentError
        If times do not increase, there is only one waypoint, shapes do not fit, or a number is not finite; if times are
        too close for double precision.

    Examples
    --------
    >>> stops = HermiteSpline([0.0, 1.0, 3.0], [[0.0], [1.0], [0.0]], 0.0, 0.0)
    >>> stops([0.5, 1.0, 2.0]).q[:, 0], stops([0.0, 1.0, 3.0]).qd[:, 0]
    (array([0.5, 1. , 0.5]), array([0., 0., 0.]))
    """

    def __init__(
        self, times: ArrayLike, positions: ArrayLike, velocities: ArrayLike, accelerations: ArrayLike | None = None
    ) -> None:
        t = checked_times(times)
        q = checked_waypoints(positions, t)
        given = [bounded(velocities, "velocities", q.shape, broadcast=True)]
        if accelerations is not None:
            given.append(bounded(accelerations, "accelerations", q.shape, broadcast=True))
        parts, h = [q, *given], np.diff(t)
        start, end = [part[..., :-1, :] for part in parts], [part[..., 1:, :] for part in parts]
        super().__init__(t, hermite_pieces(h, start, end))
        sizes = [np.abs(part) * h[:, None] ** order for side in (start, end) for order, part in enumerate(side)]
        size = np.maximum.reduce(sizes).max(axis=-2, keepdims=True)
        remedy = "give lower velocities and accelerations, or more time between waypoints"
        require_waypoints(self, t, q, size=size, remedy=remedy)
        require_continuity(self, len(given), size=size, remedy=remedy)

    def __repr__(self) -> str:
        return _summary(self, "cubic" if self.coefficients.shape[-2] == 4 else "quintic")


def _points_first(q: Floats) -> Floats:
    return np.moveaxis(q, -2, 0)


def _size(t: Floats, q: Floats, ends: Ends) -> Floats:
    """Size of waypoints, and of what given derivatives at the ends change in the first and the last interval."""
    size = np.abs(q).max(axis=-2)
    for side, h in zip(ends, np.diff(t)[[0, -1]], strict=False):
        for order, value in side:
            size = np.maximum(size, np.abs(value) * h**order)
    return np.asarray(size[..., None, :])


def _at_end(value: ArrayLike | None, q: Floats, name: str) -> Floats:
    shape = (*q.shape[:-2], q.shape[-1])
    return np.zeros(shape) if value is None else bounded(value, name, shape, broadcast=True)


def _refuse(values: dict[str, Any], boundary: str) -> None:
    for name, value in values.items():
        if value is not None:
            raise ArgumentError(f"{name} is for the boundary 'clamped', not '{boundary}'")


def _close(q: Floats) -> None:
    """Make the last waypoint exactly the first one; they must be the same up to rounding."""
    first, last = q[..., 0, :], q[..., -1, :]
    apart = np.abs(last - first) > _CLOSED * np.maximum(1.0, np.abs(first))
    if apart.any():
        *_, joint = (int(i) for i in np.argwhere(apart)[0])
        raise ArgumentError(
            f"a periodic spline ends where it starts, but its last waypoint {q.shape[-2] - 1} differs from waypoint 0 "
            f"by {np.abs(last - first)[apart][0]:g} in joint {joint}"
        )
    q[..., -1, :] = first


def _summary(spline: PiecewisePolynomial, kind: str) -> str:
    batch = f", batch {spline.batch}" if spline.batch else ""
    return (
        f"<{type(spline).__name__} ({kind}) of {spline.n} joints through {len(spline.knots)} waypoints from "
        f"{spline.knots[0]:g} to {spline.knots[-1]:g} s{batch}>"
    )
