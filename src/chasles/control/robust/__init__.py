"""Robust controllers: their error bounds hold for every robot and disturbance within given bounds."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
