"""Control laws whose memory obeys a differential equation, as theorems on adaptation suppose."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from chasles.control.robot_controller import RobotController
from chasles.trajectories import Motion


class ContinuousLaw(RobotController):
    """Controller given by its torques and the rate of change of its memory.

    Sampled, the memory takes steps of Euler's rule, unless a law overrides `law` with something better.
    """

    @abstractmethod
    def flow(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Torques (n,) and rate of change of the memory in 1/s; arithmetic that can be traced."""

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law and the memory one period later."""
        tau, rate = self.flow(t, q, qd, reference, state, parameters)
        return tau, state + period * rate
