"""B-splines in joint space: motions shaped by control points, or led through waypoints."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine.validators import reals
from chasles.trajectories.joint.continuity import require_continuity, require_waypoints
from chasles.trajectories.joint.durations import checked_durations, require_spacing
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.spline_pieces import polynomials_of
from chasles.trajectories.joint.waypoints import checked_times, checked_waypoints
from chasles.trajectories.motion import Floats

_REMEDY = "make the times between knots more equal, or choose a lower degree"


class BSpline(PiecewisePolynomial):
    """B-spline of joint positions, with continuous derivatives up to one less than its degree.

    Each piece stays within the convex hull of its ``degree + 1`` control points: if the control points keep position
    limits, so does the motion.

    Parameters
    ----------
    basis_knots
        Knots of the B-spline, shape (m + degree + 1,), s, not decreasing, none more than ``degree + 1`` times. The
        motion lasts from ``basis_knots[degree]`` to ``basis_knots[m]``.
    control_points
        Shape (..., m, n), m at least ``degree + 1``, rad or m.
    degree
        Degree of the polynomials, from 1 to 15.

    Attributes
    ----------
    basis_knots, control_points, degree
        See the class.

    Raises
    ------
    ArgumentError
        If shapes do not fit, knots decrease or coincide too often, or a number is not finite; if the knots are too
        unequal for the degree, so that the motion is not continuous in double precision.

    See Also
    --------
    BSpline.clamped : from the first control point to the last, in a given time. BSpline.through : through waypoints.

    Examples
    --------
    >>> pull = BSpline.clamped([[0.0], [0.0], [1.0], [1.0]], duration=2.0, degree=3)
    >>> pull([0.0, 1.0, 2.0]).q[:, 0], pull([0.0, 1.0, 2.0]).qd[:, 0]
    (array([0. , 0.5, 1. ]), array([0.  , 0.75, 0.  ]))
    """

    def __init__(self, basis_knots: ArrayLike, control_points: ArrayLike, degree: int = 5) -> None:
        self.degree = _checked_degree(degree)
        self.control_points = _checked_points(control_points, self.degree)
        self.basis_knots = _checked_knots(basis_knots, self.control_points.shape[-2], self.degree)
        from scipy.interpolate import BSpline as Basis

        points = np.moveaxis(self.control_points, -2, 0)
        super().__init__(*polynomials_of(Basis(self.basis_knots, points, self.degree)))
        _, multiplicity = np.unique(self.basis_knots, return_counts=True)
        inner = multiplicity[np.isin(np.unique(self.basis_knots), self.knots[1:-1])]
        size = np.abs(self.control_points).max(axis=-2, keepdims=True)
        require_continuity(self, self.degree - inner, size=size, remedy=_REMEDY)

    @classmethod
    def clamped(cls, control_points: ArrayLike, duration: float, degree: int = 5) -> BSpline:
        """Return the B-spline that starts at the first control point at time 0 and ends at the last one.

        Its inner knots are equally spaced. It starts and ends at rest if the first two and the last two control points
        are equal, and with zero acceleration if the first three and the last three are.

        Parameters
        ----------
        control_points
            Shape (..., m, n), m at least ``degree + 1``, rad or m.
        duration
            Time from start to end, s, positive.
        degree
            Degree of the polynomials, from 1 to 15.
        """
        degree = _checked_degree(degree)
        points = _checked_points(control_points, degree)
        time = checked_durations(duration)
        if time.ndim:
            raise ArgumentError(f"duration has shape {time.shape}; expected one number")
        inner = np.linspace(0.0, float(time), points.shape[-2] - degree + 1)
        return cls(np.concatenate([np.zeros(degree), inner, np.full(degree, inner[-1])]), points, degree)

    @classmethod
    def through(cls, times: ArrayLike, waypoints: ArrayLike, degree: int = 5) -> BSpline:
        """Return the B-spline through waypoints, with knots at the waypoints except those next to the ends.

        There are no end conditions, so it does not start and end at rest; `QuinticSpline` does.

        Parameters
        ----------
        times
            Times of the waypoints, increasing, shape (k,), k at least ``degree + 1``, s.
        waypoints
            Configurations, shape (..., k, n), rad or m.
        degree
            Degree of the polynomials, odd, from 1 to 15. High degrees overshoot near the ends.

        Raises
        ------
        ArgumentError
            If times do not increase, shapes do not fit, or a number is not finite; if the motion overshoots so far that
            it misses the waypoints in double precision.

        Examples
        --------
        >>> line = BSpline.through([0.0, 1.0, 2.0, 4.0], [[0.0], [1.0], [2.0], [4.0]], degree=3)
        >>> line(3.0).q.round(12), line(3.0).qd.round(12)
        (array([3.]), array([1.]))
        """
        degree = _checked_degree(degree)
        if degree % 2 == 0:
            raise ArgumentError(f"the degree of a B-spline through waypoints must be odd, not {degree}")
        t = checked_times(times, least=degree + 1)
        points = np.moveaxis(checked_waypoints(waypoints, t), -2, 0)
        from scipy.interpolate import make_interp_spline

        spline = make_interp_spline(t, points, k=degree)
        path = cls(spline.t, np.moveaxis(spline.c, 0, -2), degree)
        q = np.moveaxis(points, 0, -2)
        require_waypoints(path, t, q, remedy=_REMEDY)
        require_continuity(path, 0, size=np.abs(q).max(axis=-2, keepdims=True), remedy=_REMEDY)
        return path

    def __repr__(self) -> str:
        batch = f", batch {self.batch}" if self.batch else ""
        return (
            f"<BSpline of degree {self.degree} of {self.n} joints, {self.control_points.shape[-2]} control points, "
            f"from {self.knots[0]:g} to {self.knots[-1]:g} s{batch}>"
        )


def _checked_degree(degree: int) -> int:
    if isinstance(degree, bool) or not isinstance(degree, int | np.integer) or not 1 <= degree <= 15:
        raise ArgumentError(f"the degree must be a whole number from 1 to 15, not {degree!r}")
    return int(degree)


def _checked_points(control_points: ArrayLike, degree: int) -> Floats:
    points = reals(control_points, "control_points", (..., "m", "n"))
    if points.shape[-2] <= degree or points.shape[-1] < 1:
        raise ArgumentError(
            f"for degree {degree} control_points must have shape (..., m, n), m at least {degree + 1}, not "
            f"{points.shape}"
        )
    points.flags.writeable = False
    return points


def _checked_knots(basis_knots: ArrayLike, count: int, degree: int) -> Floats:
    knots = reals(basis_knots, "knots", ("k",))
    if len(knots) != count + degree + 1:
        raise ArgumentError(
            f"{count} control points of degree {degree} need {count + degree + 1} knots, not {len(knots)}"
        )
    for apart, wrong in ((1, np.diff(knots) < 0.0), (degree + 1, knots[degree + 1 :] <= knots[: -degree - 1])):
        if wrong.any():
            k = int(np.argmax(wrong))
            fault = "decrease" if apart == 1 else f"coincide more than {degree + 1} times"
            raise ArgumentError(f"the knots of a B-spline must not {fault}: knot {k + apart} after {k}")
    require_spacing(np.unique(knots), "distinct knot")
    knots.flags.writeable = False
    return knots
