"""Chasles: robot mechanics and control, from a description to controlled motion, at native speed."""

from chasles._version import __version__
from chasles.control import ComputedTorque, PDGravity, PythonLaw
from chasles.engine import Function, Program, function, get_threads, set_threads, threads, trace
from chasles.errors import ChaslesError
from chasles.robot import Robot, load
from chasles.simulation import simulate
from chasles.trajectories import PointToPoint

__all__ = [
    "ChaslesError",
    "ComputedTorque",
    "Function",
    "PDGravity",
    "PointToPoint",
    "Program",
    "PythonLaw",
    "Robot",
    "__version__",
    "function",
    "get_threads",
    "load",
    "set_threads",
    "simulate",
    "threads",
    "trace",
]
