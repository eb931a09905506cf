"""Integral action that does not wind up where the motors can do no more."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.engine import clip, where
from chasles.robot import Robot


def next_integral(robot: Robot, integral: Any, deviation: Any, tau: Any, period: float) -> Any:
    """Integral of the deviations by the rectangle rule, if there is one.

    That of a joint waits while its torque is beyond the model's effort limit and the deviation drives it further.
    """
    following = integral + period * deviation if len(integral) else integral
    for joint, limit in enumerate(robot.effort_limits[: len(integral)]):
        if 0.0 < limit < np.inf:
            excess = tau[joint] - clip(tau[joint], -limit, limit)
            following[joint] = where(excess * deviation[joint] < 0.0, integral[joint], following[joint])
    return following
