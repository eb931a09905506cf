"""Inverse kinematics: joint positions for poses, each with how good it is; joint rates for motions and tasks."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
