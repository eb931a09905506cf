"""The facade: `Robot` joins description, algorithms and engine, and is the only place that does."""

from chasles.robot.base_parameters import BaseParameters
from chasles.robot.computation import RobotFunction
from chasles.robot.facade import Robot, load
from chasles.robot.plain_coordinates import require_plain_coordinates

__all__ = ["BaseParameters", "Robot", "RobotFunction", "load", "require_plain_coordinates"]
