"""Robots: a description with everything that can be computed of it, by numbers or by symbols."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
