"""Base of the controllers that have a model of the robot."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.arguments import NOT_NEGATIVE, Bound, reals
from chasles.control.controller import Controller, checked_memory
from chasles.errors import ArgumentError
from chasles.inverse_kinematics.differential.body_tasks import free_velocities
from chasles.robot import Robot


class RobotController(Controller):
    """Controller with a model of the robot.

    Parameters
    ----------
    robot
        Controller's model of the robot; it may differ from the plant.
    values
        Values by name that simulations can vary; they become attributes.
    memory
        Named parts of the memory at the start.

    Raises
    ------
    ArgumentError
        The robot has free joints, which the law does not handle; the message says what does.
    """

    robot: Robot
    #: Gains of feedback, of whatever law, are never negative; laws add the bounds of their other parameters.
    bounds: Mapping[str, Bound] = dict.fromkeys(
        ("kp", "kd", "ki", "kf", "kfi", "gain", "rate", "damping", "adaptation", "reaching"), NOT_NEGATIVE
    )
    #: Why the law cannot take a robot with free joints, and what can; empty where it can.
    refuses_free_joints: ClassVar[str] = ""

    def __init__(
        self,
        robot: Robot,
        values: Mapping[str, NDArray[np.float64]],
        memory: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.require_motors(robot)
        self.check_parameters(values)
        self.robot = robot
        self.varies = tuple(values)
        self.__dict__.update({name: _read_only(value) for name, value in values.items()})
        self.memory = checked_memory(memory)

    @classmethod
    def require_motors(cls, robot: Robot) -> None:
        """Refuse a robot with free joints, which no motor moves, where the law does not handle them."""
        free = free_velocities(robot)
        if free.any() and cls.refuses_free_joints:
            name = robot.velocity_names[int(np.argmax(free))].rpartition(".")[0]
            raise ArgumentError(
                f"{cls.__name__} takes no robots with free joints such as '{name}' of robot '{robot.name}': "
                f"{cls.refuses_free_joints}"
            )


def _read_only(value: NDArray[np.float64]) -> NDArray[np.float64]:
    array = np.array(value, dtype=np.float64)
    array.flags.writeable = False
    return array


def gains(count: int, **values: ArrayLike) -> dict[str, NDArray[np.float64]]:
    """Return gains by name, each (count,), of one value for all or one for each; finite and not negative.

    Raises
    ------
    ArgumentError
        A gain has another shape, is negative or not finite; the message says which.

    Examples
    --------
    >>> gains(2, kp=400.0, kd=[40.0, 20.0])
    {'kp': array([400., 400.]), 'kd': array([40., 20.])}
    """
    return {name: reals(value, name, (count,), broadcast=True, bound=NOT_NEGATIVE) for name, value in values.items()}
