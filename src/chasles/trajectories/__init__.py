"""Trajectories: reference motions as functions of time."""

from chasles.trajectories.blends import BlendedWaypoints
from chasles.trajectories.bsplines import BSpline
from chasles.trajectories.cartesian import Circle, CircularArc, PathMotion, ScrewMotion, StraightLine
from chasles.trajectories.cartesian_limits import CartesianLimits
from chasles.trajectories.files import (
    PathData,
    QuaternionData,
    read_path_file,
    read_quaternion_file,
    read_trajectory_file,
    write_path_file,
    write_quaternion_file,
)
from chasles.trajectories.motion import Motion, PoseMotion, Reference
from chasles.trajectories.orientations import OrientationSpline, PoseSpline
from chasles.trajectories.piecewise import PiecewisePolynomial
from chasles.trajectories.point_to_point import PointToPoint
from chasles.trajectories.pose_pieces import PiecewisePose
from chasles.trajectories.profiles import Profile, fastest_profile
from chasles.trajectories.recorded import SmoothingSpline
from chasles.trajectories.scalings import Scaling, TimeScaling, time_scaling
from chasles.trajectories.splines import CubicSpline, HermiteSpline, QuinticSpline
from chasles.trajectories.trajectory import CartesianTrajectory, JointTrajectory, Samples, Trajectory

__all__ = [
    "BSpline",
    "BlendedWaypoints",
    "CartesianLimits",
    "CartesianTrajectory",
    "Circle",
    "CircularArc",
    "CubicSpline",
    "HermiteSpline",
    "JointTrajectory",
    "Motion",
    "OrientationSpline",
    "PathData",
    "PathMotion",
    "PiecewisePolynomial",
    "PiecewisePose",
    "PointToPoint",
    "PoseMotion",
    "PoseSpline",
    "Profile",
    "QuaternionData",
    "QuinticSpline",
    "Reference",
    "Samples",
    "Scaling",
    "ScrewMotion",
    "SmoothingSpline",
    "StraightLine",
    "TimeScaling",
    "Trajectory",
    "fastest_profile",
    "read_path_file",
    "read_quaternion_file",
    "read_trajectory_file",
    "time_scaling",
    "write_path_file",
    "write_quaternion_file",
]
