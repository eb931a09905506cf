"""What every reference gives: a joint motion as a function of time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from chasles.engine.program.scalar import Array, Real
from chasles.geometry.pose_interpolation import PoseMotion

__all__ = ["Floats", "Motion", "PoseMotion", "Reference"]

Floats = NDArray[np.float64]


class Motion(NamedTuple):
    """Joint positions, velocities, accelerations, each (..., n): rad, rad/s, rad/s² (m, … for prismatic joints).

    >>> import chasles as ch
    >>> q, qd, qdd = ch.PointToPoint([0.0], [1.0], duration=2.0)(1.0)  # half way, and fastest
    >>> q, qd, qdd
    (array([0.5]), array([0.9375]), array([0.]))
    """

    q: Array
    qd: Array
    qdd: Array


class Reference(Protocol):
    """A planned joint motion, the third argument of `chasles.simulate`.

    Simulations take its `parameters` as arguments of one compiled program: other values, or a batch of them, need no
    recompilation.
    """

    @property
    def duration(self) -> float:
        """Time at which the motion ends, s."""
        ...

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Parameters of the motion, by name."""
        ...

    def motion(self, t: Real, parameters: Mapping[str, Any]) -> Motion:
        """Return the motion at one time; traceable."""
        ...
