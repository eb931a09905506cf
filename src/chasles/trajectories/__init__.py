"""Trajectories: reference motions as functions of time."""

from chasles.trajectories.cartesian.blends import BlendedWaypoints
from chasles.trajectories.cartesian.limits import CartesianLimits
from chasles.trajectories.cartesian.orientations import OrientationSpline, PoseSpline
from chasles.trajectories.cartesian.path_motions import Circle, CircularArc, PathMotion, ScrewMotion, StraightLine
from chasles.trajectories.cartesian.pose_pieces import PiecewisePose
from chasles.trajectories.cartesian.trajectory import CartesianTrajectory
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
from chasles.trajectories.following.follow import follow
from chasles.trajectories.following.free_base import FreeBaseTrajectory
from chasles.trajectories.joint.bsplines import BSpline
from chasles.trajectories.joint.closed import ClosedMotion
from chasles.trajectories.joint.following_report import FollowingEvent, FollowingReport, FollowingTrajectory
from chasles.trajectories.joint.geodesic import GeodesicMotion
from chasles.trajectories.joint.piecewise import PiecewisePolynomial
from chasles.trajectories.joint.point_to_point import PointToPoint
from chasles.trajectories.joint.profiles import Profile, fastest_profile
from chasles.trajectories.joint.recorded import SmoothingSpline
from chasles.trajectories.joint.scalings import Scaling, TimeScaling, time_scaling
from chasles.trajectories.joint.splines import CubicSpline, HermiteSpline, QuinticSpline
from chasles.trajectories.joint.tangent import TangentTrajectory
from chasles.trajectories.joint.trajectory import JointTrajectory
from chasles.trajectories.motion import Motion, PoseMotion, Reference
from chasles.trajectories.planning.online import OnlineTrajectory, online_trajectory
from chasles.trajectories.planning.planners import PlanningError
from chasles.trajectories.planning.retimed import RetimedTrajectory
from chasles.trajectories.planning.time_optimal import LimitWarning, TimeOptimalTrajectory, time_optimal
from chasles.trajectories.trajectory import Samples, Trajectory

__all__ = [
    "BSpline",
    "BlendedWaypoints",
    "CartesianLimits",
    "CartesianTrajectory",
    "CheckReport",
    "Circle",
    "CircularArc",
    "ClosedMotion",
    "CubicSpline",
    "FollowingEvent",
    "FollowingReport",
    "FollowingTrajectory",
    "FreeBaseTrajectory",
    "GeodesicMotion",
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
    "TangentTrajectory",
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
