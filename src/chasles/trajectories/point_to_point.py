"""Joint-space motion from one configuration to another, at rest at both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine import Function, maximum, minimum, trace, where
from chasles.errors import ArgumentError, UnknownNameError
from chasles.trajectories.motion import Motion

Scaling = Literal["cubic", "quintic"]


def _cubic(x: Any) -> tuple[Any, Any, Any]:
    """s(x) with zero velocity at both ends (Lynch and Park, Modern Robotics, section 9.2), and its derivatives."""
    return x**2 * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x), 6.0 - 12.0 * x


def _quintic(x: Any) -> tuple[Any, Any, Any]:
    """s(x) with zero velocity and acceleration at both ends (Modern Robotics, section 9.2), and its derivatives."""
    rest = 1.0 - x
    return x**3 * (10.0 - x * (15.0 - 6.0 * x)), 30.0 * (x * rest) ** 2, 60.0 * x * rest * (1.0 - 2.0 * x)


_SCALINGS: dict[str, Callable[[Any], tuple[Any, Any, Any]]] = {"cubic": _cubic, "quintic": _quintic}


class PointToPoint:
    """Straight line in joint space from ``start`` to ``goal``, every joint with the same time scaling.

    Before its time the motion rests at the start, after its duration at the goal. Called with times of any shape it
    gives the `Motion` of shape (..., n).

    Parameters
    ----------
    start, goal
        Configurations, shape (n,), rad or m.
    duration
        Time from start to goal, s, positive.
    scaling
        ``"quintic"`` (acceleration vanishes at the ends) or ``"cubic"`` (velocity does).

    Raises
    ------
    ArgumentError
        If shapes differ, numbers are not finite, or the duration is not positive.

    Examples
    --------
    >>> line = PointToPoint([0.0, 0.0], [1.0, -2.0], duration=2.0)
    >>> line(1.0).q
    array([ 0.5, -1. ])
    >>> line([0.0, 1.0, 2.0]).q.shape
    (3, 2)
    """

    def __init__(self, start: ArrayLike, goal: ArrayLike, duration: float, *, scaling: Scaling = "quintic") -> None:
        self.start, self.goal = _configuration(start, "start"), _configuration(goal, "goal")
        if self.start.shape != self.goal.shape:
            raise ArgumentError(f"start has {self.start.size} joints, goal {self.goal.size}; they must be equally many")
        if not (np.isfinite(duration) and duration > 0):
            raise ArgumentError(f"the duration must be a positive number of seconds, not {duration!r}")
        if scaling not in _SCALINGS:
            raise UnknownNameError("scaling", scaling, _SCALINGS)
        self.duration = float(duration)
        self.scaling = scaling

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Start, goal and duration."""
        return {"start": self.start, "goal": self.goal, "duration": np.asarray(self.duration)}

    def motion(self, t: Any, parameters: Mapping[str, Any]) -> Motion:
        """Motion at one time; it can be traced."""
        start, goal, duration = (parameters[name] for name in ("start", "goal", "duration"))
        rate = 1.0 / duration
        progress = minimum(maximum(t * rate, 0.0), 1.0)
        moving = (t >= 0.0) & (t <= duration)  # the cubic's acceleration does not vanish at its ends, only beyond
        s, ds, dds = _SCALINGS[self.scaling](progress)
        return Motion(
            start + s * (goal - start),
            where(moving, ds * rate, 0.0) * (goal - start),
            where(moving, dds * rate**2, 0.0) * (goal - start),
        )

    @cached_property
    def _evaluate(self) -> Function:
        shapes = {"t": (), **{name: value.shape for name, value in self.parameters.items()}}
        names = list(self.parameters)
        program = trace(
            lambda t, *values: tuple(self.motion(t, dict(zip(names, values, strict=True)))),
            shapes,
            name="point_to_point",
            outputs=Motion._fields,
        )
        return Function(program)

    def __call__(self, t: ArrayLike) -> Motion:
        """Motion at times of any shape."""
        return Motion(*self._evaluate(np.asarray(t, dtype=float), *self.parameters.values()))

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_evaluate"}

    def __repr__(self) -> str:
        return f"PointToPoint({self.start.tolist()} -> {self.goal.tolist()} in {self.duration:g} s, {self.scaling})"


def _configuration(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be an array of numbers, shape (n,)") from None
    if array.ndim != 1:
        raise ArgumentError(f"{name} must have shape (n,), not {array.shape}")
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} must be finite, not {array.tolist()}")
    array.flags.writeable = False
    return array
