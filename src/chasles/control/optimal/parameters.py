"""Parameters of a robot that are numbers of a problem, such as a payload's mass, and the robot that has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentError
from chasles.engine.program.scalar import Array
from chasles.engine.validators import reals
from chasles.mechanics.computation import RobotFunction
from chasles.mechanics.described import Described
from chasles.model import Joint
from chasles.model.parameters import varied_parameters
from chasles.robot.robot import Robot

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Parameters:
    """Parameters of a robot, whose values are one vector.

    Attributes
    ----------
    robot
        The robot.
    names
        Names of the parameters, of `Robot.parameters`.

    Raises
    ------
    UnknownNameError
        The robot has no such parameter.
    ArgumentError
        A parameter moves frames or joints.
    """

    robot: Robot
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        varied_parameters(self.robot.description, self.names)
        for name in self.names:
            if name.endswith(("position", "roll_pitch_yaw")):
                raise ArgumentError(
                    f"'{name}' cannot vary in optimal control: it moves joints or frames, with the distances and "
                    "contacts; pose one problem for each value (Robot.with_values)"
                )

    @cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shape of each value."""
        return {name: self.robot.parameters[name] for name in self.names}

    @cached_property
    def count(self) -> int:
        """Number of elements of all values."""
        return sum(int(np.prod(shape, dtype=int)) for shape in self.shapes.values())

    def checked(self, values: Mapping[str, Any]) -> list[Floats]:
        """Return values, each (..., *shape), of which no robot has impossible ones.

        Raises
        ------
        ArgumentError
            A value is not finite, has a wrong shape, or is none that the parameter can have, such as a negative mass.
        """
        if not self.names:
            return []
        arrays = [reals(values[name], f"vary['{name}']", (..., *shape)) for name, shape in self.shapes.items()]
        for parameter, array in zip(varied_parameters(self.robot.description, self.names), arrays, strict=True):
            parameter.check(array)
        return arrays

    def joined(self, values: Sequence[Floats]) -> Floats:
        """Return the vectors (problems, count) of values, each (problems, *shape)."""
        return np.concatenate(
            [np.zeros((len(values[0]), 0)), *(part.reshape(len(part), -1) for part in values)], axis=1
        )

    def of_data(self, data: Array, following: int) -> Array:
        """Return the vectors (..., count) in data that end with them and a number of following elements."""
        end = data.shape[-1] - following
        return data[..., end - self.count : end]

    def robot_with(self, vector: Array) -> Robot:
        """Return the robot with values (..., count), for computing and tracing, whose leading axes broadcast."""
        return _VariedRobot(self.robot, self.values(vector)) if self.names else self.robot  # type: ignore[return-value]

    def values(self, vector: Array) -> dict[str, Array]:
        """Return the values (..., *shape) by name from vectors (..., count)."""
        sizes = [int(np.prod(shape, dtype=int)) for shape in self.shapes.values()]
        parts = np.split(vector, np.cumsum(sizes)[:-1], axis=-1)
        return {
            name: np.reshape(part, (*part.shape[:-1], *shape))
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    @cached_property
    def _joints(self) -> dict[int, Joint]:
        """Joints of one degree of freedom, by their velocities."""
        names = self.robot.velocity_names
        return {names.index(joint.name): joint for joint in self.robot.description.coordinates if joint.name in names}

    def with_inertia(self, values: Mapping[str, Array], inertia: Array) -> dict[str, Array]:
        """Return values by name, and with them the motor inertias that add inertias (..., n) at the joints."""
        added = dict(values)
        for k, joint in self._joints.items():
            name = f"joints.{joint.name}.motor_inertia"
            ratio = values.get(f"joints.{joint.name}.gear_ratio", joint.gear_ratio)
            added[name] = values.get(name, joint.motor_inertia) + inertia[..., k] / (ratio * ratio)
        return added


class _VariedRobot:
    """A robot, or a part of one, whose computations are called with ``vary=``."""

    def __init__(self, part: Described, values: Mapping[str, Array]) -> None:
        self._part, self._values = part, values

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._part, name)
        if isinstance(member, RobotFunction):
            return partial(member, vary=self._values)
        if isinstance(member, Described):
            return _VariedRobot(member, self._values)
        if isinstance(member, MethodType) and member.__self__ is self._part:
            return MethodType(member.__func__, self)
        return member
