"""Machines that are more than a tree of links: parallel platforms and arms on wheels."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
