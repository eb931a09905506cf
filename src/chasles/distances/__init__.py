"""Distances between the links of a robot, and to obstacles: capsules, spheres and half-spaces.

`bodies` enclose a robot's shapes, `formulas` are the distances and their derivatives, `clearance` computes them for
robots and is the limit that keeps bodies apart.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
