"""Controllers: small objects that are traced and compiled together with the plant."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
