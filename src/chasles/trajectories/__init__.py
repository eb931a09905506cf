"""Trajectories: reference motions as functions of time."""

from chasles.trajectories.motion import Motion, Reference
from chasles.trajectories.point_to_point import PointToPoint

__all__ = ["Motion", "PointToPoint", "Reference"]
