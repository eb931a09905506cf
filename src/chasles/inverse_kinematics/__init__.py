"""Inverse kinematics: joint positions for poses of a frame, and joint rates for its velocities.

A search (`iteration` of `damped_step`, in a solve kernel), closed forms of families that are recognised by their axes
(`closed_form`), and the forward check that alone grants success (`verification`). `differential` is for rates.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
