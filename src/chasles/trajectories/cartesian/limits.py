"""Limits of a frame's motion in space."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.base.errors import ArgumentError
from chasles.trajectories.cartesian.paths import HelicalPath
from chasles.trajectories.joint.profiles import Profile, fastest_profile, limit_per_amount, magnitudes
from chasles.trajectories.joint.scalings import Scaling
from chasles.trajectories.motion import Floats


@dataclass(frozen=True, eq=False)
class CartesianLimits:
    """Largest magnitudes of a frame's velocities and accelerations; infinite where there is no limit.

    Attributes
    ----------
    linear_velocity, angular_velocity
        Highest speed of the origin, m/s, and of the rotation, rad/s; positive, a scalar or one value per trajectory of
        a batch.
    linear_acceleration, angular_acceleration
        Highest acceleration of the origin, m/s², and of the rotation, rad/s².

    Raises
    ------
    ArgumentError
        If a limit is not positive.

    Examples
    --------
    >>> CartesianLimits(linear_velocity=0.0)
    Traceback (most recent call last):
    ...
    chasles.base.errors.ArgumentError: linear_velocity is 0.0; it must be positive
    """

    linear_velocity: ArrayLike = math.inf
    angular_velocity: ArrayLike = math.inf
    linear_acceleration: ArrayLike = math.inf
    angular_acceleration: ArrayLike = math.inf

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, magnitudes(getattr(self, field.name), field.name, positive=True))

    def profile(self, path: HelicalPath, scaling: Scaling) -> Profile:
        """Return the shape of the fastest motion along a path within the limits.

        On curves the acceleration along the path and the one towards the centre get equal shares of the limit, so that
        their sum stays within it.

        Raises
        ------
        ArgumentError
            If nothing limits the speed, or the scaling has infinite accelerations where one is limited.
        """
        length, angle, curvature = path.length, path.angle, path.curvature
        bent = curvature > 0.0
        along = np.asarray(self.linear_acceleration) * np.where(bent, math.sqrt(0.5), 1.0)
        velocity = least_ratio(
            (self.linear_velocity, length),
            (self.angular_velocity, angle),
            (np.sqrt(along), np.sqrt(curvature)),
        )
        acceleration = least_ratio((along, length), (self.angular_acceleration, angle))
        moving = (length > 0.0) | (angle > 0.0)
        if (moving & np.isinf(velocity) & np.isinf(acceleration)).any():
            motions = "turns" if ((angle > 0.0) & ~(length > 0.0)).any() else "moves"
            raise ArgumentError(f"nothing limits the speed of the frame, which {motions}: see CartesianLimits")
        return fastest_profile(1.0 * moving, velocity=velocity, acceleration=acceleration, scaling=scaling)


def least_ratio(*limits_and_amounts: tuple[Any, Any]) -> Floats:
    """Smallest quotient of a limit by an amount; infinite for no amount.

    >>> least_ratio((1.0, 0.5), (3.0, [0.0, 2.0]))
    array([2. , 1.5])
    """
    least: Floats = reduce(np.minimum, [limit_per_amount(limit, amount) for limit, amount in limits_and_amounts])
    return least
