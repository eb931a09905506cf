"""Motion planning: paths without collisions, on graphs, grids and configuration spaces."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
