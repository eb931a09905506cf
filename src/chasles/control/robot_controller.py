"""What the controllers of this package share: a model of the robot, gains with names, and a memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.errors import ArgumentError
from chasles.robot import Robot, require_plain_coordinates


class RobotController:
    """Base of controllers that know something of a robot; a `Controller` but for its law.

    Parameters
    ----------
    robot
        The model that the controller believes in; it may differ from the plant.
    parameters
        Names and numbers that may be varied.
    initial_state
        Memory at the start, shape (m,).

    Raises
    ------
    ArgumentError
        If the robot has spherical or free joints, where q_ref - q is no error.
    """

    name: str

    def __init__(
        self, robot: Robot, parameters: Mapping[str, NDArray[np.float64]], initial_state: ArrayLike = ()
    ) -> None:
        require_plain_coordinates(robot, type(self).__name__)
        self.robot = robot
        self.parameters = parameters
        self.initial_state = np.array(initial_state, dtype=float).reshape(-1)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={_shortened(value)}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({self.robot!r}, {numbers})"


def nonnegative(value: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return gains of a shape from numbers that broadcast to it.

    Parameters
    ----------
    value
        One number for all, or an array of the shape.
    shape
        Of the gains; () for a single number.
    name
        What error messages call it.

    Raises
    ------
    ArgumentError
        If there are too many, or one is negative, infinite or not a number.

    Examples
    --------
    >>> nonnegative(400.0, (3,), "stiffness")
    array([400., 400., 400.])
    """
    try:
        array = np.broadcast_to(np.asarray(value, dtype=float), shape).copy()
    except (TypeError, ValueError):
        wanted = f"one number or {shape[0]}" if shape else "one number"
        raise ArgumentError(f"{name} must be {wanted}, not {value!r}") from None
    if not (np.isfinite(array) & (array >= 0.0)).all():
        raise ArgumentError(f"{name} must be finite and not negative, not {array.tolist()}")
    return array


def positive(value: ArrayLike, shape: tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Return numbers of a shape, as `nonnegative` does, that must not be zero either.

    >>> positive([1.0, 2.0, 3.0], (3,), "inertia")
    array([1., 2., 3.])
    """
    array = nonnegative(value, shape, name)
    if not (array > 0.0).all():
        raise ArgumentError(f"{name} must be positive, not {array.tolist()}")
    return array


def _shortened(value: NDArray[np.float64]) -> str:
    """One number where all are the same."""
    if value.size and (value == value.flat[0]).all():
        return f"{value.flat[0]:g}"
    return str(value.tolist())
