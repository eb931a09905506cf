"""Integrators of ordinary differential equations, compiled and batched. They know no robots."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
