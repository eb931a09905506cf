"""Wheeled robots: the motion of a base from its wheels, odometry, and arms on bases."""

from chasles.mobile.manipulator import MobileManipulator, MobileState
from chasles.mobile.planar_motion import car_rates, moved, planar_displacement, tracking_command
from chasles.mobile.wheels import WheeledBase

__all__ = [
    "MobileManipulator",
    "MobileState",
    "WheeledBase",
    "car_rates",
    "moved",
    "planar_displacement",
    "tracking_command",
]
