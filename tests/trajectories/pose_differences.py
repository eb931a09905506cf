"""Twists and accelerations by differences of high order: what exact derivatives are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Weights of the central difference of eighth order.
WEIGHTS = np.array([4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0])


def difference(function: Callable[[Any], Any], t: Any, h: float) -> Any:
    """Derivative of a function of time, at times (...)."""
    return sum(w * (function(t + k * h) - function(t - k * h)) for k, w in enumerate(WEIGHTS, start=1)) / h


def twist_by_differences(motion: Any, t: Any, h: float = 2e-3) -> Any:
    """World-aligned twists (..., 6) from the poses."""
    pose, rate = motion(t).pose, difference(lambda s: motion(s).pose, t, h)
    spin = rate[..., :3, :3] @ np.swapaxes(pose[..., :3, :3], -1, -2)
    omega = np.stack([spin[..., 2, 1], spin[..., 0, 2], spin[..., 1, 0]], axis=-1)
    return np.concatenate([omega, rate[..., :3, 3]], axis=-1)


def acceleration_by_differences(motion: Any, t: Any, h: float = 2e-3) -> Any:
    """Rates of the twists (..., 6)."""
    return difference(lambda s: motion(s).twist, t, h)


def away_from_knots(motion: Any, count: int = 40, margin: float = 0.0081) -> Any:
    """Times within the pieces, spread evenly, that keep a distance from the knots."""
    t = np.linspace(float(np.min(motion.start_time)), float(np.max(motion.end_time)), count)
    return t[np.abs(t[:, None] - motion.knots.reshape(-1)).min(axis=1) > margin]
