"""Differential inverse kinematics: joint rates for motions and tasks, step by step."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
