"""Adaptive controllers, which estimate unknown parameters of the robot during the motion."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
