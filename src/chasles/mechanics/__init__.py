"""Mechanics of a robot: joins description, algorithms and engine, and is the only place that does."""

from chasles.mechanics.base_parameters import BaseParameters
from chasles.mechanics.computation import RobotFunction
from chasles.mechanics.mechanics import Mechanics, computations
from chasles.mechanics.part import Part
from chasles.mechanics.plain_coordinates import require_plain_coordinates

__all__ = ["BaseParameters", "Mechanics", "Part", "RobotFunction", "computations", "require_plain_coordinates"]
