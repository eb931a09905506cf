"""Trajectories: reference motions as functions of time."""

from chasles.trajectories.motion import Motion, PoseMotion, Reference
from chasles.trajectories.piecewise import PiecewisePolynomial
from chasles.trajectories.point_to_point import PointToPoint
from chasles.trajectories.trajectory import CartesianTrajectory, JointTrajectory, Samples, Trajectory

__all__ = [
    "CartesianTrajectory",
    "JointTrajectory",
    "Motion",
    "PiecewisePolynomial",
    "PointToPoint",
    "PoseMotion",
    "Reference",
    "Samples",
    "Trajectory",
]
