"""Plots, pictures, movies and self-contained reports; `view` makes pages that compute."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
