"""Splines through waypoints in joint space."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError, UnknownNameError
from chasles.trajectories.piecewise import PiecewisePolynomial
from chasles.trajectories.waypoints import checked_rates, checked_times, checked_waypoints

FloatArray = NDArray[np.float64]
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
        What holds at the first and the last waypoint:

        - ``"clamped"``: the velocities are the given ones, zero unless given, so that it starts and ends at rest.
        - ``"natural"``: the accelerations vanish. ROBOOP's ``Spl_cubic`` is this one.
        - ``"periodic"``: the motion goes on where it began, with the same velocity and acceleration. The waypoints at
          both ends must be the same; evaluate it at ``t % duration`` to repeat it.
        - ``"not-a-knot"``: the jerk is continuous at the waypoints next to the ends.
    start_velocity, end_velocity
        Velocities of a clamped spline at its ends, shape (..., n) or one number for all joints, rad/s or m/s.
    outside
        ``"rest"``, as for all trajectories, or ``"error"`` to refuse times outside of the spline, as ROBOOP does.

    Raises
    ------
    ArgumentError
        If times do not increase, there is only one waypoint, shapes do not fit, or a number is not finite.
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
        if boundary not in _CUBIC_BOUNDARIES:
            raise UnknownNameError("boundary", str(boundary), _CUBIC_BOUNDARIES)
        if outside not in _OUTSIDE:
            raise UnknownNameError("choice for times outside", str(outside), _OUTSIDE)
        velocities = {"start_velocity": start_velocity, "end_velocity": end_velocity}
        if boundary != "clamped":
            _refuse(velocities, boundary)
        conditions: Any = boundary
        if boundary == "clamped":
            conditions = tuple((1, _at_end(value, q, name)) for name, value in velocities.items())
        elif boundary == "periodic":
            _close(q)
        from scipy.interpolate import CubicSpline as Interpolation

        powers = Interpolation(t, _points_first(q), bc_type=conditions).c[::-1]
        super().__init__(t, np.moveaxis(powers, (1, 0), (-3, -2)))
        self.boundary: CubicBoundary = boundary
        self.outside = outside

    def derivatives(self, t: FloatArray) -> tuple[Any, Any, Any, Any]:
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
        What holds at the first and the last waypoint:

        - ``"clamped"``: velocities and accelerations are the given ones, zero unless given. Two waypoints then make
          the quintic of `PointToPoint`.
        - ``"natural"``: the third and fourth derivatives vanish. It has the smallest integral of the squared jerk of
          all motions through the waypoints. At least 3 waypoints.
        - ``"periodic"``: the motion goes on where it began, with the same derivatives up to the fourth. The waypoints
          at both ends must be the same; at least 6 waypoints.
    start_velocity, end_velocity, start_acceleration, end_acceleration
        Those of a clamped spline at its ends, shape (..., n) or one number for all joints.

    Raises
    ------
    ArgumentError
        If times do not increase, there are too few waypoints, shapes do not fit, or a number is not finite.
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
        if boundary not in _QUINTIC_BOUNDARIES:
            raise UnknownNameError("boundary", str(boundary), _QUINTIC_BOUNDARIES)
        t = checked_times(times, least={"clamped": 2, "natural": 3, "periodic": 6}[boundary])
        q = checked_waypoints(waypoints, t)
        start = {"start_velocity": start_velocity, "start_acceleration": start_acceleration}
        end = {"end_velocity": end_velocity, "end_acceleration": end_acceleration}
        if boundary != "clamped":
            _refuse(start | end, boundary)
        conditions: Any
        if boundary == "clamped":
            conditions = tuple(
                [(order, _at_end(value, q, name)) for order, (name, value) in enumerate(side.items(), start=1)]
                for side in (start, end)
            )
        elif boundary == "natural":
            zero = np.zeros(_points_first(q).shape[1:])
            conditions = ([(3, zero), (4, zero)],) * 2
        else:
            _close(q)
            conditions = "periodic"
        from scipy.interpolate import make_interp_spline

        spline = make_interp_spline(t, _points_first(q), k=5, bc_type=conditions)
        rows = polynomials_of(spline)[1]
        rows[..., 0, :] = q[..., :-1, :]
        super().__init__(t, rows)
        self.boundary: QuinticBoundary = boundary

    def __repr__(self) -> str:
        return _summary(self, self.boundary)


class HermiteSpline(PiecewisePolynomial):
    """Spline with given positions and velocities, and accelerations if wanted, at given times.

    Its pieces are cubic, with velocities continuous at the waypoints (C¹), or with accelerations quintic (C²).

    Parameters
    ----------
    times
        Times of the waypoints, increasing, shape (k,), k at least 2, s. A batch of splines shares them.
    positions, velocities, accelerations
        Motion at these times, shape (..., k, n). Velocities and accelerations broadcast: 0 rests at every waypoint.

    Raises
    ------
    ArgumentError
        If times do not increase, there is only one waypoint, shapes do not fit, or a number is not finite.

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
        given = [checked_rates(velocities, q.shape, "velocities")]
        if accelerations is not None:
            given.append(checked_rates(accelerations, q.shape, "accelerations"))
        h = np.diff(t)[:, None]
        start = [part[..., :-1, :] * h**order for order, part in enumerate([q, *given])]
        end = [part[..., 1:, :] * h**order for order, part in enumerate([q, *given])]
        powers = _cubic_hermite(*start, *end) if accelerations is None else _quintic_hermite(*start, *end)
        rows = np.stack([power / h**order for order, power in enumerate(powers)], axis=-2)
        super().__init__(t, rows)

    def __repr__(self) -> str:
        return _summary(self, "cubic" if self.coefficients.shape[-2] == 4 else "quintic")


def _cubic_hermite(q0: FloatArray, v0: FloatArray, q1: FloatArray, v1: FloatArray) -> list[FloatArray]:
    """Powers of x from 0 to 1, given positions and derivatives by x at both ends."""
    way = q1 - q0
    return [q0, v0, 3.0 * way - 2.0 * v0 - v1, v0 + v1 - 2.0 * way]


def _quintic_hermite(
    q0: FloatArray, v0: FloatArray, a0: FloatArray, q1: FloatArray, v1: FloatArray, a1: FloatArray
) -> list[FloatArray]:
    way = q1 - q0
    return [
        q0,
        v0,
        0.5 * a0,
        10.0 * way - 6.0 * v0 - 4.0 * v1 - 1.5 * a0 + 0.5 * a1,
        -15.0 * way + 8.0 * v0 + 7.0 * v1 + 1.5 * a0 - a1,
        6.0 * way - 3.0 * v0 - 3.0 * v1 - 0.5 * a0 + 0.5 * a1,
    ]


def polynomials_of(spline: Any) -> tuple[FloatArray, FloatArray]:
    """Return the knots, and coefficients (..., k, order + 1, n), of SciPy's B-spline with values of shape (..., n)."""
    order = spline.k
    knots = np.unique(spline.t[order : len(spline.t) - order])
    powers = [spline(knots[:-1], nu=power) / math.factorial(power) for power in range(order + 1)]
    return knots, np.moveaxis(np.stack(powers), (1, 0), (-3, -2))


def _points_first(q: FloatArray) -> FloatArray:
    return np.moveaxis(q, -2, 0)


def _at_end(value: ArrayLike | None, q: FloatArray, name: str) -> FloatArray:
    shape = (*q.shape[:-2], q.shape[-1])
    return np.zeros(shape) if value is None else checked_rates(value, shape, name)


def _refuse(values: dict[str, Any], boundary: str) -> None:
    for name, value in values.items():
        if value is not None:
            raise ArgumentError(f"{name} is for the boundary 'clamped', not '{boundary}'")


def _close(q: FloatArray) -> None:
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
