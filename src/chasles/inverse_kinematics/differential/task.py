"""Task: what a step of the robot should do, as a linear equation for the joint rates, with a cost for missing it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.sealed import CheckedMembers
from chasles.engine.validators import reals
from chasles.geometry.elementary import Array
from chasles.mechanics import Mechanics

Vector = NDArray[np.float64]


class Equation(NamedTuple):
    """Rows J and values b of ``J q̇ = b``, each row with its weight."""

    J: Array
    b: Array
    weight: Array


class Task(Protocol):
    """Anything that gives an equation for the joint rates at a configuration."""

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation, for rates (n,) in rad/s (m/s for prismatic joints)."""
        ...


class FormulaTask(metaclass=CheckedMembers):
    """Base of tasks that are compiled together with others: the equation is a formula of q and of the task's numbers.

    A formula may use methods of the robot, operators and functions of `chasles.engine` and `chasles.geometry`, and what
    `form` returns; everything else that may differ from task to task is one of its `numbers`.
    """

    @property
    @abstractmethod
    def form(self) -> tuple[Hashable, ...]:
        """What the formula depends on besides its numbers, such as names of frames."""

    @abstractmethod
    def numbers(self, robot: Mechanics) -> tuple[Any, ...]:
        """Numbers of the formula, checked."""

    @abstractmethod
    def formula(self, robot: Mechanics, q: Array, *numbers: Array) -> Equation:
        """Return the equation, of numbers or traced scalars."""

    def equation(self, robot: Mechanics, q: Vector) -> Equation:
        """Return the equation for rates (n,) in rad/s (m/s for prismatic joints)."""
        numbers = [reals(number, f"a number of {type(self).__name__}") for number in self.numbers(robot)]
        return Equation(*map(np.asarray, self.formula(robot, q, *numbers)))


def goal_of_task(goal: ArrayLike, name: str, shape: tuple[int, ...]) -> Vector:
    """Goal as an array; one that already is an array of doubles is looked at when the equation is not finite."""
    if goal.__class__ is np.ndarray and goal.dtype == np.float64 and goal.shape == shape:
        return goal
    return reals(goal, name, shape)


def twist_weights(orientation_cost: float | ArrayLike, position_cost: float | ArrayLike) -> Vector:
    """Weights (6,) of the rows of a twist."""
    if orientation_cost.__class__ is position_cost.__class__ is float:
        return _constant_weights(("orientation_cost", "position_cost"), (orientation_cost, position_cost), 3)
    return np.concatenate(
        [row_weights(orientation_cost, "orientation_cost"), row_weights(position_cost, "position_cost")]
    )


def row_weights(cost: float | ArrayLike, name: str = "cost", count: int = 3) -> Vector:
    """Weights of rows: squared costs."""
    if cost.__class__ is float:
        return _constant_weights((name,), (cost,), count)
    return reals(cost, name, (count,), broadcast=True) ** 2


@lru_cache(maxsize=256)
def _constant_weights(names: tuple[str, ...], costs: tuple[float, ...], count: int) -> Vector:
    weights = np.concatenate(
        [reals(cost, name, (count,), broadcast=True) for name, cost in zip(names, costs, strict=True)]
    )
    weights **= 2
    weights.flags.writeable = False
    return weights


def finite_number(value: float | ArrayLike, name: str) -> float | Vector:
    """One number of a task, such as its gain."""
    return value if value.__class__ is float and isfinite(value) else reals(value, name, ())
