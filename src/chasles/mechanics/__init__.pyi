from chasles.mechanics.base_parameters import BaseParameters as BaseParameters
from chasles.mechanics.computation import RobotFunction as RobotFunction
from chasles.mechanics.mechanics import Mechanics as Mechanics
from chasles.mechanics.mechanics import computations as computations
from chasles.mechanics.part import Part as Part
from chasles.mechanics.plain_coordinates import independent_coordinates as independent_coordinates
from chasles.mechanics.plain_coordinates import require_plain_coordinates as require_plain_coordinates

__all__: list[str]
