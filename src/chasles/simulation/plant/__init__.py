"""Plants: a robot with friction, motors, elastic joints, payloads, contacts, external wrenches and sensors."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
