"""The engine: graph, program, derivatives, targets. It knows no robots."""

from chasles.base import lazy
from chasles.engine.linear import of_numpy
from chasles.engine.program.operators import attach_operators

attach_operators()
of_numpy.attach()

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
