"""Distances between the links of a robot, and to obstacles: capsules, spheres and half-spaces."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
