"""Control laws whose memory obeys a differential equation, as theorems on adaptation suppose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from chasles.trajectories import Motion


class ContinuousLaw(ABC):
    """A controller given by ``tau`` and the rate at which its memory changes; sampled, it takes steps of Euler's rule.

    The memory's elements have names, `memory_names`, by which results of simulations list them.
    """

    name: str
    parameters: Mapping[str, NDArray[Any]]
    initial_state: NDArray[Any]

    @property
    @abstractmethod
    def memory_names(self) -> tuple[str, ...]:
        """Names of the memory's elements."""

    @abstractmethod
    def flow(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any]
    ) -> tuple[Any, Any]:
        """Torques (n,) and rate of change of the memory (m,) in 1/s; arithmetic that can be traced."""

    def law(
        self, t: Any, q: Any, qd: Any, reference: Motion, state: Any, parameters: Mapping[str, Any], period: float
    ) -> tuple[Any, Any]:
        """Torques of the law and the memory one period later."""
        tau, rate = self.flow(t, q, qd, reference, state, parameters)
        return tau, state + period * rate
