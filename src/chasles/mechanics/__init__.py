"""Mechanics of a robot: joins description, algorithms and engine, and is the only place that does."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
