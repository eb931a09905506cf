"""Choosing among the solutions from several starts."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chasles.inverse_kinematics.solution import Solution

Select = Literal["first", "nearest", "best", "all"]
SELECTIONS = ("first", "nearest", "best", "all")


def best_of(solutions: Solution, select: Select, q_near: NDArray[np.float64]) -> Solution:
    """Return one solution for each target of those along the last axis.

    A success comes before a failure. Among successes counts the Euclidean distance from ``q_near`` (``"nearest"``) or
    the distance from the joint limits (``"best"``), among failures the error that is left.
    """
    if select == "nearest":
        apart = solutions.q - q_near[..., None, :]
        largest = np.abs(apart).max(axis=(-2, -1), keepdims=True, initial=1.0)  # squares must not overflow
        penalty = np.linalg.norm(apart / largest, axis=-1)
    else:
        penalty = -solutions.limit_margin
    left = solutions.residual.distance + solutions.residual.angle
    rank = np.lexsort((np.where(solutions.success, penalty, left), ~solutions.success), axis=-1)[..., :1]

    def chosen(values: NDArray[np.float64]) -> NDArray[np.float64]:
        index = rank if values.ndim == rank.ndim else rank[..., None]
        picked: NDArray[np.float64] = np.take_along_axis(values, index, axis=rank.ndim - 1)
        return picked.squeeze(rank.ndim - 1)

    residual = type(solutions.residual)(*map(chosen, solutions.residual))
    own = {
        name: chosen(getattr(solutions, name))
        for name in ("q", "success", "limit_margin", "status", "branch", "infinite")
    }
    spent = {name: getattr(solutions, name).sum(axis=-1) for name in ("iterations", "restarts")}
    return Solution(residual=residual, **own, **spent)
