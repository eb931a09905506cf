"""Gains that a search found, and the loss of the runs that judge them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control import Controller

Floats = NDArray[np.float64]


class HeldOut(NamedTuple):
    """Loss of draws that the search has not seen.

    Attributes
    ----------
    before, after
        Average loss with the gains at the start and with those found.
    change
        Mean of the changes, draw by draw, with half the width of its 95 % interval.
    lost
        Number of runs that diverged with the gains found.
    runs
        Number of runs.
    """

    before: float
    after: float
    change: tuple[float, float]
    lost: int
    runs: int


class Tuned(NamedTuple):
    """Gains that `tune` found, and how good they are.

    Attributes
    ----------
    law
        The law with these gains.
    values
        The gains, by the names of the law's parameters.
    before, after
        Average loss over the training draws at the start and at the end.
    held_out
        Loss of the draws that were not trained on; None without such draws.
    margin
        Smallest disk margin of the law along the motion; None if none was asked for.
    active
        Gains at a bound, such as ``"kp[1] at its upper bound"``, and ``"margin"`` if that stops the search.
    evaluations
        Number of simulations of all training draws, with gradients where they are needed.
    starts
        Average loss that was reached from each start.
    """

    law: Controller
    values: Mapping[str, Floats]
    before: float
    after: float
    held_out: HeldOut | None
    margin: float | None
    active: tuple[str, ...]
    evaluations: int
    starts: tuple[float, ...]

    def __str__(self) -> str:
        lines = [
            f"{type(self.law).__name__}: loss {self.before:.4g} -> {self.after:.4g}, {self.evaluations} evaluations"
        ]
        if self.held_out is not None:
            judged = self.held_out
            change, half = judged.change
            lines.append(
                f"held out, {judged.runs} runs: {judged.before:.4g} -> {judged.after:.4g}, "
                f"change {change:.3g} ± {half:.2g}"
            )
            lines += [f"{judged.lost} of these runs are lost"] if judged.lost else []
        if self.margin is not None:
            lines.append(f"disk margin {self.margin:.3g}")
        return "\n".join([*lines, *self.active])
