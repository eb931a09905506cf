"""Studies: controllers compared over many runs with payloads, friction and errors that they do not know of."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
