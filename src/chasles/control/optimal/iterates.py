"""What the iterations of optimal control begin with and end with."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Ending(Enum):
    """Why the iterations ended."""

    CONVERGED = "converged"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped"
    STALLED = "stalled"
    NOT_FINITE = "not finite"


class Iterate(NamedTuple):
    """A motion on its way to the best one.

    Attributes
    ----------
    W
        Torques and states (u, x) at the nodes, (N + 1, m + s).
    costates
        Multipliers of the steps that end at each node, (N + 1, s).
    rows
        Slacks, excesses and multipliers of the rows, (3, rows); zeros to begin on the central path.
    price
        Price ρ of violations.
    mu
        Barrier μ.
    turn
        Largest rotation of a joint by the next step, rad.
    """

    W: Floats
    costates: Floats
    rows: Floats
    price: float
    mu: float
    turn: float = np.inf


@dataclass(frozen=True)
class SearchResult:
    """The last iterate of a search, and how it ended.

    Attributes
    ----------
    iterate
        The last iterate.
    gains
        Gains of the regulator along it, (N, m, s).
    ending
        Why it is the last.
    iterations, sweeps
        Numbers of iterations and of backward passes.
    is_minimum
        Whether second derivatives confirm a minimum.
    descent
        Change of the motion (N + 1, m + s) along which the cost goes down both ways, or None.
    """

    iterate: Iterate
    gains: Floats
    ending: Ending
    iterations: int
    sweeps: int
    is_minimum: bool = False
    descent: Floats | None = None
