"""Learning from repetition: feed-forward torques learned from trial to trial, and within periodic motions."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
