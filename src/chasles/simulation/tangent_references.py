"""References of robots whose configurations hold quaternions: unit quaternions, and rates in the tangent space."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.engine.records import Shapes
from chasles.robot import Robot
from chasles.simulation.references import LoopReference
from chasles.trajectories.joint.tangent import tangent_motion
from chasles.trajectories.motion import Motion


@dataclass(frozen=True, eq=False)
class TangentReference:
    """Reference given as a curve c of all coordinates (nq,), as the loop takes it: q (nq,), qd (n,), qdd (n,).

    q is c with unit quaternions, qd the velocity v with q' = G(q) v, and qdd its derivative. A curve that is straight
    in the four numbers of a quaternion so becomes the shortest rotation. A reference whose rates have n elements is
    in the tangent space already. With loops, the curve's independent coordinates are kept and the others close the
    loops.

    Attributes
    ----------
    robot
        Robot with spherical or free joints, or with loops.
    curve
        Reference of the coordinates.
    """

    robot: Robot
    curve: LoopReference

    @property
    def n(self) -> int | None:
        """Number of coordinates."""
        return self.curve.n

    @property
    def start_time(self) -> float:
        """Time at which it starts, s."""
        return self.curve.start_time

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return self.curve.duration

    @property
    def batch(self) -> tuple[int, ...]:
        """Shape of a batch of references."""
        return self.curve.batch

    @property
    def parameters(self) -> Mapping[str, NDArray[np.float64]]:
        """Names and values that may be varied."""
        return self.curve.parameters

    @property
    def shapes(self) -> Mapping[str, Shapes]:
        """Names and shapes of what is given at one call."""
        return self.curve.shapes

    def at(self, given: Any, parameters: Mapping[str, Any]) -> Motion:
        """Motion at one call of the controller; on numbers or traced scalars."""
        return self._motion(self.curve.at(given, parameters))

    def given(self, times: NDArray[np.float64]) -> Mapping[str, Any]:
        """What is given at times (S, k)."""
        return self.curve.given(times)

    def along(self, times: NDArray[np.float64], parameters: Mapping[str, Any]) -> Motion:
        """Motion at times (k,)."""
        return self._motion(self.curve.along(times, parameters))

    def start(self, parameters: Mapping[str, Any], *, varied: bool) -> Motion:
        """Motion at its start."""
        return self._motion(self.curve.start(parameters, varied=varied))

    def _motion(self, curve: Any) -> Motion:
        """Motion of a curve; one whose velocities are in the tangent space already stays what it is."""
        given = Motion(*curve)
        return given if np.shape(given.qd)[-1] == self.robot.n else Motion(*tangent_motion(self.robot)(*given))
