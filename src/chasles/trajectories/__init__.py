"""Trajectories: reference motions as functions of time."""

from chasles.trajectories.blends import BlendedWaypoints
from chasles.trajectories.bsplines import BSpline
from chasles.trajectories.cartesian import Circle, CircularArc, PathMotion, ScrewMotion, StraightLine
from chasles.trajectories.cartesian_limits import CartesianLimits
from chasles.trajectories.check_report import CheckReport, PeakReport, Violation
from chasles.trajectories.files import (
    PathData,
    QuaternionData,
    read_path_file,
    read_quaternion_file,
    read_trajectory_file,
    write_path_file,
    write_quaternion_file,
)
from chasles.trajectories.following import follow
from chasles.trajectories.following_attempt import FollowingTrajectory
from chasles.trajectories.following_report import Finding, FollowingReport
from chasles.trajectories.motion import Motion, PoseMotion, Reference
from chasles.trajectories.online import OnlineTrajectory, online_trajectory
from chasles.trajectories.orientations import OrientationSpline, PoseSpline
from chasles.trajectories.piecewise import PiecewisePolynomial
from chasles.trajectories.planning import PlanningError
from chasles.trajectories.point_to_point import PointToPoint
from chasles.trajectories.pose_pieces import PiecewisePose
from chasles.trajectories.profiles import Profile, fastest_profile
from chasles.trajectories.recorded import SmoothingSpline
from chasles.trajectories.retimed import RetimedTrajectory
from chasles.trajectories.scalings import Scaling, TimeScaling, time_scaling
from chasles.trajectories.splines import CubicSpline, HermiteSpline, QuinticSpline
from chasles.trajectories.time_optimal import LimitWarning, TimeOptimalTrajectory, time_optimal
from chasles.trajectories.trajectory import CartesianTrajectory, JointTrajectory, Samples, Trajectory

__all__ = [
    "BSpline",
    "BlendedWaypoints",
    "CartesianLimits",
    "CartesianTrajectory",
    "CheckReport",
    "Circle",
    "CircularArc",
    "CubicSpline",
    "Finding",
    "FollowingReport",
    "FollowingTrajectory",
    "HermiteSpline",
    "JointTrajectory",
    "LimitWarning",
    "Motion",
    "OnlineTrajectory",
    "OrientationSpline",
    "PathData",
    "PathMotion",
    "PeakReport",
    "PiecewisePolynomial",
    "PiecewisePose",
    "PlanningError",
    "PointToPoint",
    "PoseMotion",
    "PoseSpline",
    "Profile",
    "QuaternionData",
    "QuinticSpline",
    "Reference",
    "RetimedTrajectory",
    "Samples",
    "Scaling",
    "ScrewMotion",
    "SmoothingSpline",
    "StraightLine",
    "TimeOptimalTrajectory",
    "TimeScaling",
    "Trajectory",
    "Violation",
    "fastest_profile",
    "follow",
    "online_trajectory",
    "read_path_file",
    "read_quaternion_file",
    "read_trajectory_file",
    "time_optimal",
    "time_scaling",
    "write_path_file",
    "write_quaternion_file",
]
