"""From measured motion to a model: logs, identification, exciting motions, and payloads."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
