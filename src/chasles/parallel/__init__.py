"""Textbook models of closed chains: the Stewart-Gough platform."""

from chasles.parallel.actuators import DrivenPlatform, ScrewDrive
from chasles.parallel.coordinates import PlatformCoordinates
from chasles.parallel.forward import PoseSet, PoseSolution, Status
from chasles.parallel.legs import Leg, LegBody
from chasles.parallel.stewart import StewartPlatform

__all__ = [
    "DrivenPlatform",
    "Leg",
    "LegBody",
    "PlatformCoordinates",
    "PoseSet",
    "PoseSolution",
    "ScrewDrive",
    "Status",
    "StewartPlatform",
]
