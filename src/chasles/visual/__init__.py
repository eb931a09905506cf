"""Plots and self-contained HTML reports of runs; simple shapes for robots, drawn from their kinematics."""

from chasles.base import lazy

__getattr__, __dir__, __all__ = lazy.front_door(__name__)
