"""What all effects on a plant share: a name, numbers that may be varied, and how bad numbers are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.engine import where
from chasles.engine.scalar import boxed
from chasles.errors import ArgumentError
from chasles.sealed import Sealed


class Effect(Sealed):
    """An effect beyond the mechanics of rigid bodies; a part of a `chasles.Plant`.

    Its formulas are methods of plain arithmetic that can be traced. They take their numbers as an argument, a mapping
    like `parameters`, so that a simulation can replace some of them by values that vary from run to run.

    Attributes
    ----------
    name
        What the plant's parameters and messages call it.
    parameters
        Numbers that may be varied, by name; their arrays are read-only.
    n
        Number of joints that it is made for; default None, any.
    frame
        Frame at which it acts, which the robot must have; default the tool.
    """

    n: int | None = None
    frame: str = "tool"

    def __init__(self, name: str, parameters: Mapping[str, NDArray[np.float64]]) -> None:
        self.name = name
        self.parameters: Mapping[str, NDArray[np.float64]] = dict(parameters)
        for array in self.parameters.values():
            array.flags.writeable = False

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={value.tolist()}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({numbers})"


def joint_count(robot: Any) -> int:
    """Number of joints that a robot, or a number of joints, has.

    >>> joint_count(2)
    2
    """
    count = getattr(robot, "n", robot)
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise ArgumentError(f"an effect on joints takes a robot or a number of joints, not {robot!r}")
    return int(count)


def checked(
    value: ArrayLike,
    shape: tuple[int, ...],
    name: str,
    *,
    least: float = -np.inf,
    positive: bool = False,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Array of a parameter, if it is possible.

    Parameters
    ----------
    value
        A number, or an array that broadcasts to the shape.
    shape
        Of the parameter.
    name
        What error messages call it.
    least
        The least that is possible.
    positive
        Whether it must be above zero.
    infinite
        Whether it may be infinite, which means that there is no bound.

    Raises
    ------
    ArgumentError
        The value has another shape, is no number or out of bounds.

    Examples
    --------
    >>> checked(0.5, (2,), "viscous", least=0.0)
    array([0.5, 0.5])
    """
    try:
        array = np.broadcast_to(np.asarray(value, dtype=float), shape).copy()
    except (TypeError, ValueError):
        wanted = f"one number or an array of shape {shape}" if shape else "one number"
        raise ArgumentError(f"{name} must be {wanted}, not {value!r}") from None
    low = array > 0.0 if positive else array >= least
    if not low.all() or not (infinite or np.isfinite(array).all()):
        bound = " and above zero" if positive else f" and at least {least:g}" if np.isfinite(least) else ""
        kind = "a number" if infinite else "finite"
        raise ArgumentError(f"{name} must be {kind}{bound}, not {array.tolist()}")
    return array


def where_positive(x: Any, a: Any, b: Any) -> Any:
    """Elementwise a where x > 0, else b; for arrays of numbers and of traced scalars, which broadcast.

    >>> where_positive(np.array([2.0, 0.0]), 1.0, -1.0)
    array([ 1., -1.])
    """
    if all(np.asarray(boxed(operand)).dtype != object for operand in (x, a, b)):
        return where(np.asarray(x) > 0.0, a, b)
    return _WHERE_POSITIVE(boxed(x), boxed(a), boxed(b))


_WHERE_POSITIVE = np.frompyfunc(lambda x, a, b: where(x > 0.0, a, b), 3, 1)
