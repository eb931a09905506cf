"""The facade: `Robot` joins description, algorithms and engine, and is the only place that does."""

from chasles.robot.computation import RobotFunction
from chasles.robot.facade import Robot, load

__all__ = ["Robot", "RobotFunction", "load"]
