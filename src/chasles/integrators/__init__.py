"""Integrators of ordinary differential equations, compiled and batched. They know no robots.

Steps are objects (`runge_kutta`, `rosenbrock`); around them run the loops of `fixed` steps and of `adaptive` ones,
which are made of `attempts`, one compiled try at a time. `adjoint` differentiates what they computed.
`integrate` is the public function.
"""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
