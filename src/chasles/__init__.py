"""Chasles: robot mechanics and control, from a description to controlled motion, at native speed."""

from chasles import geometry
from chasles._version import __version__
from chasles.control import ComputedTorque, PDGravity, PythonLaw
from chasles.engine import Function, Program, function, get_threads, set_threads, threads, trace
from chasles.errors import ChaslesError
from chasles.robot import Robot, load
from chasles.simulation import simulate
from chasles.trajectories import BSpline, CubicSpline, HermiteSpline, PointToPoint, QuinticSpline, SmoothingSpline

__all__ = [
    "BSpline",
    "ChaslesError",
    "ComputedTorque",
    "CubicSpline",
    "Function",
    "HermiteSpline",
    "PDGravity",
    "PointToPoint",
    "Program",
    "PythonLaw",
    "QuinticSpline",
    "Robot",
    "SmoothingSpline",
    "__version__",
    "function",
    "geometry",
    "get_threads",
    "load",
    "set_threads",
    "simulate",
    "threads",
    "trace",
]
