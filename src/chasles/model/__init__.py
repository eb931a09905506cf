"""Models: the description of a robot, without mechanics.

`Description` (links, joints, loops, motors, frames) and the kinematic `Tree` built from it; file `formats`; robots made
of others (`editing`, `cutting`); probable mistakes (`plausibility`, `robot_check`); the `robots` that come along.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
