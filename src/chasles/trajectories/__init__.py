"""Trajectories: reference motions as functions of time."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
