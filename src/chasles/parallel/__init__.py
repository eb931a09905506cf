"""Textbook models of closed chains: the Stewart-Gough platform."""

from chasles.parallel.forward import PoseSet, PoseSolution, Status
from chasles.parallel.legs import Leg, LegBody
from chasles.parallel.stewart import StewartPlatform

__all__ = ["Leg", "LegBody", "PoseSet", "PoseSolution", "Status", "StewartPlatform"]
