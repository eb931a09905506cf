"""A smooth curve of unit quaternions through knots at given times."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.engine.arguments import as_array
from chasles.engine.program.scalar import Quantity
from chasles.geometry.batched import UNIT_QUATERNION
from chasles.geometry.quaternion_interpolation import QuaternionMotion, squad_quaternion_motion, turned_quaternion
from chasles.geometry.quaternion_rates import VelocityFrame, require_velocity_frame
from chasles.geometry.quaternion_rotations import (
    relative_quaternion,
    rotate_by_quaternion,
)
from chasles.geometry.quaternions import conjugate_quaternion, log_quaternion

#: Largest difference, rad, of a segment's turn and what its velocity at an end would make of it; controls lie half as
#: far from the knot, and must be nearer than a whole turn.
_WIDEST = 3.5 * np.pi


class QuaternionSpline:
    """Squads through unit quaternions at given times, joined with continuous angular velocity.

    At an inner knot the angular velocity is that of the parabola through three points: the mean of the velocities of
    the slerps before and after it, each weighted with the duration of the other. Where a segment is several times as
    long as its neighbour, that may ask for a control more than a whole turn away, which quaternions do not know; the
    velocity is then nearer to the longer segment's. For equally spaced knots the control quaternions are those of
    Shoemake (`squad_control_quaternion`); otherwise each knot has two of them. The angular acceleration jumps at knots;
    there the motion of the segment that begins is given.

    Parameters
    ----------
    times
        Times of the knots, s, increasing, shape (n,) with n >= 2.
    quaternions
        Unit quaternions q_ab of the turning frame b seen from a, shape (n, 4). Between two knots b rotates by the
        shorter way, so the signs do not matter.
    start_velocity, end_velocity
        Angular velocity of b at the first and the last knot, rad/s, shape (3,), in ``frame``. By default that of the
        slerp between the two knots at this end, whose control is then the knot itself.
    frame
        Frame of these and of the resulting angular velocities and accelerations: ``"space"``, the frame a, or
        ``"body"``, the frame b.

    Attributes
    ----------
    times, quaternions
        The knots, with the sign of each quaternion chosen nearest to the previous one.

    Raises
    ------
    ArgumentError
        If shapes do not fit, times do not increase, quaternions are not of unit length, or a given angular velocity is
        too high for the time to the next knot.
    UnknownNameError
        For another frame.

    Examples
    --------
    >>> from chasles.geometry import quaternion_from_axis_angle
    >>> knots = quaternion_from_axis_angle([0.0, 0.0, 1.0], [0.0, 1.0, 3.0])
    >>> curve = QuaternionSpline([0.0, 1.0, 2.0], knots)
    >>> curve([0.5, 1.0]).angular_velocity.round(6)
    array([[0.     , 0.     , 0.875...],
           [0.     , 0.     , 1.5     ]])
    """

    def __init__(
        self,
        times: ArrayLike,
        quaternions: ArrayLike,
        *,
        start_velocity: ArrayLike | None = None,
        end_velocity: ArrayLike | None = None,
        frame: VelocityFrame = "space",
    ) -> None:
        require_velocity_frame(frame)
        self.frame: VelocityFrame = frame
        self.times, self.quaternions = _knots(times, quaternions)
        durations = np.diff(self.times)[:, None]
        turns = 2.0 * log_quaternion(relative_quaternion(self.quaternions[:-1], self.quaternions[1:]))[:, 1:]
        velocities = _velocities(turns / durations, durations)
        for knot, given in ((0, start_velocity), (-1, end_velocity)):
            if given is not None:
                velocities[knot] = self._in_body(knot, given)
        for knot, part in ((0, slice(-1)), (1, slice(1, None))):
            asked = np.linalg.norm(durations * velocities[part] - turns, axis=-1)
            if (asked >= 4.0 * np.pi).any():
                k = int(np.argmax(asked))
                raise ArgumentError(
                    f"the angular velocity at knot {k + knot} would turn the body by {asked[k]:.3g} rad more than "
                    f"the way from knot {k} to the next; a squad bears less than two whole turns"
                )
        self._durations = durations[:, 0]
        self._first_controls = turned_quaternion(self.quaternions[:-1], 0.5 * (durations * velocities[:-1] - turns))
        self._last_controls = turned_quaternion(self.quaternions[1:], 0.5 * (turns - durations * velocities[1:]))

    def __call__(self, t: ArrayLike) -> QuaternionMotion:
        """Motion at times between the first and the last knot.

        Parameters
        ----------
        t
            Times, s, shape (...). NaN gives NaN.

        Returns
        -------
        QuaternionMotion
            Unit quaternions, shape (..., 4), with exact derivatives by time, angular velocities and accelerations.

        Raises
        ------
        ArgumentError
            If a time is before the first or after the last knot.
        """
        t = np.asarray(as_array(t, "", "t"), dtype=np.float64)
        outside = (t < self.times[0]) | (t > self.times[-1])
        if np.any(outside):
            raise ArgumentError(
                f"the time {t[outside].flat[0]:g} s is outside of the knots, from {self.times[0]:g} to "
                f"{self.times[-1]:g} s"
            )
        segment = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self._durations) - 1)
        rate = 1.0 / self._durations[segment]
        motion: QuaternionMotion = squad_quaternion_motion(
            self.quaternions[segment],
            self._first_controls[segment],
            self._last_controls[segment],
            self.quaternions[segment + 1],
            (t - self.times[segment]) * rate,
            rate,
            0.0,
            short_way=False,  # the signs have been chosen, once and for all
            frame=self.frame,
        )
        return motion

    def __repr__(self) -> str:
        return f"<QuaternionSpline of {len(self.times)} knots from {self.times[0]:g} to {self.times[-1]:g} s>"

    def _in_body(self, knot: int, velocity: ArrayLike) -> NDArray[np.float64]:
        omega = np.asarray(as_array(velocity, "", "angular velocity"), dtype=np.float64)
        if omega.shape != (3,) or not np.isfinite(omega).all():
            raise ArgumentError(f"an angular velocity must be three finite numbers, not {velocity!r}")
        if self.frame == "body":
            return omega
        in_body: NDArray[np.float64] = rotate_by_quaternion(conjugate_quaternion(self.quaternions[knot]), omega)
        return in_body


def _knots(times: ArrayLike, quaternions: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the knots, each quaternion on the side of the one before it."""
    t = np.array(as_array(times, "", "times"), dtype=np.float64)
    q = np.array(as_array(quaternions, "", "quaternions"), dtype=np.float64)
    if t.ndim != 1 or len(t) < 2 or q.shape != (len(t), 4):
        raise ArgumentError(
            f"a spline needs times of shape (n,) and quaternions of shape (n, 4), n >= 2, not {t.shape} and {q.shape}"
        )
    if not (np.isfinite(t).all() and np.all(np.diff(t) > 0.0)):
        raise ArgumentError("the times of the knots must be finite and increase from each to the next")
    if not np.isfinite(q).all():
        raise ArgumentError("the quaternions of the knots must be finite numbers")
    UNIT_QUATERNION.check(q, "quaternions")
    opposite = np.einsum("ij,ij->i", q[:-1], q[1:]) < 0.0
    q[1:][np.cumsum(opposite) % 2 == 1] *= -1.0
    return t, q


def _velocities(slopes: NDArray[np.float64], durations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angular velocities at the knots, in the body's frame, from those of the slerps between them."""
    inner = velocity_between(durations[:-1], durations[1:], slopes[:-1], slopes[1:])
    return np.concatenate([slopes[:1], inner, slopes[-1:]])


def velocity_between(
    h_before: Quantity, h_after: Quantity, before: NDArray[np.float64], after: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Angular velocity where two segments meet, (..., 3), from their durations (..., 1) and mean velocities (..., 3).

    It is that of the parabola, or nearer to the longer segment's where a control would lie more than a whole turn away.

    >>> velocity_between(1.0, 3.0, np.array([[0.0, 0.0, 1.0]]), np.array([[0.0, 0.0, 0.6]]))
    array([[0. , 0. , 0.9]])
    """
    parabola = (h_after * before + h_before * after) / (h_after + h_before)
    longer = np.where(h_before >= h_after, before, after)
    excess = np.maximum(h_before, h_after) * np.linalg.norm(parabola - longer, axis=-1, keepdims=True) / _WIDEST
    return np.asarray(longer + (parabola - longer) / np.maximum(excess, 1.0))
