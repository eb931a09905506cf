"""Base of all effects on a plant: a name, and parameters that can be varied."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError
from chasles.base.sealed import Sealed
from chasles.engine import where
from chasles.engine.program.scalar import Array, Real, boxed
from chasles.engine.validators import HasBounds, reals
from chasles.robot.robot import Robot


class Effect(HasBounds, Sealed):
    """Effect beyond rigid-body mechanics, part of a `chasles.Plant`.

    Formulas are methods in plain, traceable arithmetic. They receive their values as an argument, a mapping like
    `parameters`, so that a simulation can vary them from run to run.

    Attributes
    ----------
    name
        Name in messages and in the names of the plant's parameters.
    parameters
        Values that can be varied, by name; read-only arrays.
    bounds
        Bounds of the parameters by name, for the constructor and for simulations that vary them; default finite.
    n
        Number of joints; default None, any.
    frame
        Frame of the robot on which the effect acts; default the tool.
    """

    n: int | None = None
    frame: str = "tool"

    def __init__(self, name: str, parameters: Mapping[str, NDArray[np.float64]]) -> None:
        self.name = name
        self.check_parameters(parameters)
        self.parameters: Mapping[str, NDArray[np.float64]] = dict(parameters)
        for array in self.parameters.values():
            array.flags.writeable = False

    def for_joints(self, n: int, **values: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Return parameters by name, each (n,), from a scalar or one value per joint, checked against their bounds."""
        return {
            name: reals(value, name, (n,), broadcast=True, bound=self.bounds[name]) for name, value in values.items()
        }

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value.tolist()}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({values})"


def joint_count(robot: Robot | int) -> int:
    """Return the number of joints of a robot; a number is returned as it is.

    >>> joint_count(2)
    2
    """
    count = getattr(robot, "n", robot)
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ArgumentError(f"robot must be a Robot or a number of joints, not {robot!r}")
    return int(count)


def where_positive(x: Array, a: Real, b: Real) -> Array:
    """Return a where x > 0, else b, elementwise; numbers and traced scalars, which broadcast.

    >>> where_positive(np.array([2.0, 0.0]), 1.0, -1.0)
    array([ 1., -1.])
    """
    if all(np.asarray(boxed(operand)).dtype != object for operand in (x, a, b)):
        return where(np.asarray(x) > 0.0, a, b)
    chosen: Array = _WHERE_POSITIVE(boxed(x), boxed(a), boxed(b))
    return chosen


_WHERE_POSITIVE = np.frompyfunc(lambda x, a, b: where(x > 0.0, a, b), 3, 1)
