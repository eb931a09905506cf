"""Plants: a robot with effects, their parameters, equations and energies.

The effects are friction, motors, elastic joints, payloads, contacts, external wrenches, sensors and the motion of the
base. The `equations` of motion take their parameters from `numbers`, and what acts from outside from `environment`.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
