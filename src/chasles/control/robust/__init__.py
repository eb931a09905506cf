"""Robust controllers: their error bounds hold for every robot and disturbance within given bounds."""

from chasles.control.robust.disturbance_observer import DisturbanceObserver
from chasles.control.robust.sliding_mode import SlidingMode, sliding_gains

__all__ = ["DisturbanceObserver", "SlidingMode", "sliding_gains"]
