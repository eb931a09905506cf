"""Chasles: robot mechanics and control, from a description to controlled motion, at native speed."""

from typing import TYPE_CHECKING, Any

from chasles import control, geometry
from chasles._version import __version__
from chasles.control import ComputedTorque, PDGravity, PythonLaw
from chasles.engine import Function, Program, function, get_threads, set_threads, threads, trace
from chasles.errors import ChaslesError
from chasles.plant import (
    BaseMotion,
    ContactPlane,
    ElasticJoints,
    ExternalWrench,
    Friction,
    Motors,
    PickedPayload,
    Plant,
    Sensors,
)
from chasles.robot import Robot, load
from chasles.simulation import simulate
from chasles.trajectories import (
    BlendedWaypoints,
    BSpline,
    CartesianLimits,
    Circle,
    CircularArc,
    CubicSpline,
    HermiteSpline,
    OrientationSpline,
    PointToPoint,
    PoseSpline,
    QuinticSpline,
    ScrewMotion,
    SmoothingSpline,
    StraightLine,
    follow,
    online_trajectory,
    time_optimal,
)

if TYPE_CHECKING:
    from chasles import studies

__all__ = [
    "BSpline",
    "BaseMotion",
    "BlendedWaypoints",
    "CartesianLimits",
    "ChaslesError",
    "Circle",
    "CircularArc",
    "ComputedTorque",
    "ContactPlane",
    "CubicSpline",
    "ElasticJoints",
    "ExternalWrench",
    "Friction",
    "Function",
    "HermiteSpline",
    "Motors",
    "OrientationSpline",
    "PDGravity",
    "PickedPayload",
    "Plant",
    "PointToPoint",
    "PoseSpline",
    "Program",
    "PythonLaw",
    "QuinticSpline",
    "Robot",
    "ScrewMotion",
    "Sensors",
    "SmoothingSpline",
    "StraightLine",
    "__version__",
    "control",
    "follow",
    "function",
    "geometry",
    "get_threads",
    "load",
    "online_trajectory",
    "set_threads",
    "simulate",
    "studies",
    "threads",
    "time_optimal",
    "trace",
]


def __getattr__(name: str) -> Any:
    """Import `studies` when it is first used."""
    if name == "studies":
        from importlib import import_module

        return import_module("chasles.studies")
    raise AttributeError(f"module 'chasles' has no attribute '{name}'")


def __dir__() -> list[str]:
    """Names for users, without those that this file needs itself."""
    return __all__
