"""Plants: a robot with effects, their parameters, equations and energies.

Friction, motors, elastic joints, payloads, contacts, external wrenches, sensors and the motion of the base.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
