"""Robots, as users hold them: `robot` joins mechanics and inverse kinematics and loads files.

`symbolic` robots have SymPy expressions in their table and give formulas instead of numbers.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
