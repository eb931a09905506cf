"""Joint-space motion from one configuration to another, at rest at both ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.engine import Function, Program, trace, where
from chasles.engine.program.scalar import Array, Quantity, Real
from chasles.engine.validators import Bound, reals
from chasles.trajectories.joint.durations import LONGEST, SHORTEST, checked_durations
from chasles.trajectories.joint.profiles import fastest_profile, limit_per_amount, magnitudes
from chasles.trajectories.joint.scalings import LAWS, LEAST_SHARES, RAMP, ROUNDING, Scaling, law_named, time_scaling
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.motion import Floats, Motion


class PointToPoint(JointTrajectory):
    """Straight line in joint space from ``start`` to ``goal``, every joint with the same time scaling.

    Before time 0 the motion rests at the start, and after its duration at the goal. Called with times of any shape, it
    returns a `Motion` of shape (..., n).

    Parameters
    ----------
    start, goal
        Configurations, shape (..., n), rad or m. Leading axes make a batch of motions.
    duration
        Time from start to goal, s, shape (...), from 1e-18 to 1e18 s; 0 where the start is the goal.
    scaling
        Time scaling, see `time_scaling`: ``"quintic"`` (acceleration vanishes at the ends), ``"cubic"`` (velocity
        does), ``"trapezoid"``, ``"s-curve"``, …
    ramp
        Fraction of the duration in which a trapezoid or an S-curve accelerates, shape (...), from 1e-18 to 1/2; default
        1/4.
    rounding
        Fraction of the ramp in which the acceleration of an S-curve rises, shape (...), from 0 to 1/2; default 1/3.
    synchronized
        False to give each joint its own duration, ramp and rounding, of shape (..., n): the joints still start
        together, but the line in joint space is not straight.

    Raises
    ------
    ArgumentError
        If shapes differ, values are not finite, the duration is not positive, or too short or too long for double
        precision, or the scaling has no such ramp or rounding.
    UnknownNameError
        For another scaling.

    Examples
    --------
    >>> line = PointToPoint([0.0, 0.0], [1.0, -2.0], duration=2.0)
    >>> line(1.0).q
    array([ 0.5, -1. ])
    >>> line([0.0, 1.0, 2.0]).q.shape
    (3, 2)
    """

    #: Bounds of the parameters that are not finite alone, for simulations that vary them.
    bounds: Mapping[str, Bound] = {
        "duration": Bound(at_least=0.0, at_most=LONGEST, smallest=SHORTEST),
        **{name: Bound(at_least=least, at_most=0.5) for name, least in LEAST_SHARES.items()},
    }

    def __init__(
        self,
        start: ArrayLike,
        goal: ArrayLike,
        duration: ArrayLike,
        *,
        scaling: Scaling = "quintic",
        ramp: ArrayLike | None = None,
        rounding: ArrayLike | None = None,
        synchronized: bool = True,
    ) -> None:
        law = law_named(scaling)
        self.scaling: Scaling = scaling
        self.synchronized = bool(synchronized)
        self.start, self.goal = _ends(start, goal)
        self._duration = self._for_joints(duration, "duration")
        self._shape: dict[str, Floats] = {}
        for name, value, default in (("ramp", ramp, RAMP), ("rounding", rounding, ROUNDING)):
            if name in law.parameters:
                self._shape[name] = self._for_joints(default if value is None else value, name)
            elif value is not None:
                raise ArgumentError(f"the scaling '{scaling}' has no {name}")
        self.batch = self._common_batch()
        self._check_shape()
        self.knots = self._knots()

    @classmethod
    def within_limits(
        cls,
        start: ArrayLike,
        goal: ArrayLike,
        *,
        velocity: ArrayLike = math.inf,
        acceleration: ArrayLike = math.inf,
        jerk: ArrayLike = math.inf,
        scaling: Scaling = "s-curve",
        synchronized: bool = True,
    ) -> PointToPoint:
        """Return the fastest motion of this kind within limits.

        Parameters
        ----------
        start, goal
            Configurations, shape (..., n), rad or m.
        velocity, acceleration, jerk
            Largest magnitudes, positive, shape (..., n), or a scalar for all joints; infinite where there is no limit.
        scaling
            Time scaling, see `time_scaling`. The S-curve is the fastest motion along the line within the limits;
            without a jerk limit it equals the trapezoid.
        synchronized
            True for a straight line in joint space: all joints start, cruise and stop together, at the pace of the
            slowest joint in each phase. False to move each joint as fast as its own limits allow.

        Returns
        -------
        PointToPoint
            The motion. Its duration is zero if the start equals the goal; joints that are at their goal do not move.

        Raises
        ------
        ArgumentError
            If a limit is not positive, if nothing limits the speed, or if the scaling cannot keep a limit because the
            limited quantity is infinite where a lower derivative jumps.

        Examples
        --------
        >>> fast = PointToPoint.within_limits([0.0, 0.0], [4.0, 1.0], velocity=1.0, acceleration=[0.5, 2.0])
        >>> fast.duration, fast(3.0).qd
        (6.0, array([1.  , 0.25]))
        """
        q0, q1 = _ends(start, goal)
        n = q0.shape[-1]
        distance = np.abs(q1 - q0)
        limits = {"velocity": velocity, "acceleration": acceleration, "jerk": jerk}
        arrays = {name: magnitudes(limit, name, positive=True) for name, limit in limits.items()}
        for name, limit in arrays.items():
            if limit.ndim and limit.shape[-1] not in (1, n):
                raise ArgumentError(f"{name} must be one number or have shape (..., {n}), not {limit.shape}")
        if synchronized:
            arrays = {name: _along_line(limit, distance, name) for name, limit in arrays.items()}
            distance = np.asarray((distance > 0.0).any(axis=-1), dtype=np.float64)
        profile = fastest_profile(distance, **arrays, scaling=scaling)
        shape = {name: getattr(profile, name) for name in law_named(scaling).parameters}
        return cls(q0, q1, profile.duration, scaling=scaling, synchronized=synchronized, **shape)

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.start.shape[-1])

    @property
    def duration(self) -> Quantity:
        """Time from the start to the goal, s; of the slowest joint if each has its own."""
        longest = self._duration if self.synchronized else self._duration.max(axis=-1)
        return np.broadcast_to(longest, self.batch) if self.batch else float(longest)

    @property
    def parameters(self) -> Mapping[str, Floats]:
        """Start, goal and duration; also ramp and rounding if the scaling has them."""
        return {"start": self.start, "goal": self.goal, "duration": self._duration, **self._shape}

    def motion(self, t: Real, parameters: Mapping[str, Any]) -> Motion:
        """Return the motion at one time; traceable."""
        return Motion(*_derivatives(t, self.scaling, **parameters)[:3])

    @property
    def program(self) -> Program:
        """Program of the motion: (t, *`parameters`) -> (q, qd, qdd, qddd)."""
        return _compiled(self.scaling, self.n, self.synchronized).program

    def derivatives(self, t: Floats) -> tuple[Any, Any, Any, Any]:
        """Positions, velocities, accelerations and jerks at times (...), each (..., n)."""
        function = _compiled(self.scaling, self.n, self.synchronized)
        results: tuple[Any, Any, Any, Any] = function(t, *self.parameters.values())
        return results

    def _for_joints(self, values: ArrayLike, name: str) -> Floats:
        """Values of the motion (...), or of each joint (..., n)."""
        array = reals(values, name)
        if not self.synchronized:
            if array.ndim and array.shape[-1] not in (1, self.n):
                raise ArgumentError(f"{name} must be one number or have shape (..., {self.n}), not {array.shape}")
            array = np.array(np.broadcast_to(array, np.broadcast_shapes(array.shape, (self.n,))))
        array.flags.writeable = False
        return array

    def _common_batch(self) -> tuple[int, ...]:
        axes = 0 if self.synchronized else 1
        shapes = {name: value.shape for name, value in self.parameters.items()}
        leads = [shape[: len(shape) - (1 if name in ("start", "goal") else axes)] for name, shape in shapes.items()]
        try:
            return np.broadcast_shapes(*leads)
        except ValueError:
            listing = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ArgumentError(f"the leading axes do not broadcast: {listing}") from None

    def _check_shape(self) -> None:
        moving = self.goal != self.start
        if self.synchronized:
            moving = moving.any(axis=-1)
        duration = checked_durations(self._duration, zero=True)
        checked_durations(np.where(moving, duration, 1.0))
        for name, share in self._shape.items():
            self.bounds[name].check(share, name)

    def _knots(self) -> Floats:
        """Where pieces meet, shape (*batch, k); in a batch some may coincide."""
        core = () if self.synchronized else (self.n,)
        shape = (*self.batch, *core)
        ramp, rounding = (np.broadcast_to(self._shape.get(name, np.zeros(())), shape) for name in ("ramp", "rounding"))
        first_half = LAWS[self.scaling].knots(ramp, rounding)
        x = np.stack([*first_half, *(1.0 - knot for knot in reversed(first_half))], axis=-1)
        knots = np.broadcast_to(self._duration, shape)[..., None] * x
        if not self.batch:
            knots = np.unique(knots)
            knots = knots if len(knots) > 1 else np.zeros(2)
        else:
            of_each = x.shape[-1] * (1 if self.synchronized else self.n)
            knots = np.sort(knots.reshape(*self.batch, of_each), axis=-1)
        knots.flags.writeable = False
        return np.asarray(knots)

    def __repr__(self) -> str:
        if self.batch:
            return f"<PointToPoint of {self.n} joints, batch {self.batch}, {self.scaling}>"
        start, goal = (", ".join(f"{value:.4g}" for value in q) for q in (self.start, self.goal))
        return f"<PointToPoint [{start}] -> [{goal}] in {self.duration:g} s, {self.scaling}>"


def _derivatives(t: Real, scaling: Scaling, start: Array, goal: Array, **shape: Any) -> tuple[Any, Any, Any, Any]:
    """Positions (n,) and their first three derivatives at one time.

    The shape is ``duration`` and, where the scaling has them, ``ramp`` and ``rounding``: numbers, or (n,).
    """
    if np.ndim(shape["duration"]):
        shapes = [{name: value[joint] for name, value in shape.items()} for joint in range(len(start))]
        joints = [_derivatives(t, scaling, start[j : j + 1], goal[j : j + 1], **shapes[j]) for j in range(len(start))]
        q, qd, qdd, qddd = (np.concatenate(parts) for parts in zip(*joints, strict=True))
        return q, qd, qdd, qddd
    duration = shape.pop("duration")
    progress = time_scaling(t, duration, scaling, **shape)
    way = goal - start
    early = progress.s < progress.remaining
    q = where(early, start + progress.s * way, goal - progress.remaining * way)  # both ends are exact
    return q, progress.sd * way, progress.sdd * way, progress.sddd * way


@cache
def _compiled(scaling: Scaling, n: int, synchronized: bool) -> Function:
    each = () if synchronized else (n,)
    names = ("start", "goal", "duration", *LAWS[scaling].parameters)
    shapes = {"t": (), "start": (n,), "goal": (n,), "duration": each, **dict.fromkeys(LAWS[scaling].parameters, each)}

    def compute(t: Real, *values: Any) -> tuple[Any, ...]:
        return _derivatives(t, scaling, **dict(zip(names, values, strict=True)))

    return Function(trace(compute, shapes, name="point_to_point", outputs=["q", "qd", "qdd", "qddd"]))


def _ends(start: ArrayLike, goal: ArrayLike) -> tuple[Floats, Floats]:
    ends = _configuration(start, "start"), _configuration(goal, "goal")
    n = [end.shape[-1] for end in ends]
    if n[0] != n[1]:
        raise ArgumentError(f"start has {n[0]} joints, goal {n[1]}; they must be equally many")
    try:
        np.broadcast_shapes(ends[0].shape, ends[1].shape)
    except ValueError:
        raise ArgumentError(f"the leading axes of start {ends[0].shape} and goal {ends[1].shape} differ") from None
    return ends


def _configuration(values: ArrayLike, name: str) -> Floats:
    array = reals(values, name, (..., "n"))
    if array.shape[-1] < 1:
        raise ArgumentError(f"{name} has shape {array.shape}; there must be at least one joint")
    array.flags.writeable = False
    return array


def _along_line(limit: Floats, distance: Floats, name: str) -> Floats:
    """Limit of the progress along a line from 0 to 1 that keeps those of all joints on it."""
    try:
        shape = np.broadcast_shapes(limit.shape, distance.shape)
    except ValueError:
        raise ArgumentError(
            f"{name} of shape {limit.shape} does not broadcast with the distance {distance.shape}"
        ) from None
    return np.asarray(np.broadcast_to(limit_per_amount(limit, distance), shape).min(axis=-1))
