"""Textbook models of closed chains: the Stewart-Gough platform."""

from chasles.parallel.forward import PoseSolution, Status
from chasles.parallel.legs import Leg, LegBody
from chasles.parallel.stewart import StewartPlatform

__all__ = ["Leg", "LegBody", "PoseSolution", "Status", "StewartPlatform"]
