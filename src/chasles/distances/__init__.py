"""Distances between the links of a robot, and to obstacles: capsules, spheres and half-spaces."""

from chasles.distances.bodies import Body, HalfSpace, fitted_bodies
from chasles.distances.clearance import Clearance, ClearanceLimit, clearance

__all__ = ["Body", "Clearance", "ClearanceLimit", "HalfSpace", "clearance", "fitted_bodies"]
