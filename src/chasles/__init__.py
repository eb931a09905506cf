"""Chasles: robot mechanics and control, from a description to controlled motion, at native speed.

A name's package is imported when the name is first used: importing Chasles alone takes no time.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from chasles._version import __version__
from chasles.base import verbs
from chasles.base.errors import ChaslesError
from chasles.base.verbs import check, movie, peaks, picture, plot, report, view

if TYPE_CHECKING:
    from chasles import algorithms as algorithms
    from chasles import control, distances, geometry, identification, integrators, planning, studies
    from chasles import engine as engine
    from chasles import interop as interop
    from chasles import inverse_kinematics as inverse_kinematics
    from chasles import machines as machines
    from chasles import mechanics as mechanics
    from chasles import model as model
    from chasles import robot as robot
    from chasles import simulation as simulation
    from chasles import trajectories as trajectories
    from chasles import visual as visual
    from chasles.control import ComputedTorque, Controller, PDGravity, PythonLaw
    from chasles.control.momentum_observer import MomentumObserver
    from chasles.distances.clearance import clearance
    from chasles.engine import Function, Program, trace
    from chasles.engine.function import function
    from chasles.engine.kernels.threads import get_threads, set_threads, threads
    from chasles.identification.calibration import calibrate
    from chasles.identification.excitation import excite
    from chasles.identification.identify import identify
    from chasles.identification.logs.log import Log
    from chasles.identification.payload import identify_payload
    from chasles.integrators.integrate import integrate
    from chasles.planning.plan import plan
    from chasles.robot.robot import Robot, load
    from chasles.robot.symbolic import SymbolicRobot
    from chasles.simulation.plant import (
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
    from chasles.simulation.simulate import simulate
    from chasles.trajectories import (
        BlendedWaypoints,
        BSpline,
        CartesianLimits,
        Circle,
        CircularArc,
        ClosedMotion,
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
    )
    from chasles.trajectories.planning.time_optimal import time_optimal
    from chasles.visual.vector_figures import to_matplotlib

__all__ = [
    "BSpline",
    "BaseMotion",
    "BlendedWaypoints",
    "CartesianLimits",
    "ChaslesError",
    "Circle",
    "CircularArc",
    "ClosedMotion",
    "ComputedTorque",
    "ContactPlane",
    "Controller",
    "CubicSpline",
    "ElasticJoints",
    "ExternalWrench",
    "Friction",
    "Function",
    "HermiteSpline",
    "Log",
    "MomentumObserver",
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
    "SymbolicRobot",
    "__version__",
    "calibrate",
    "check",
    "clearance",
    "control",
    "distances",
    "excite",
    "follow",
    "function",
    "geometry",
    "get_threads",
    "identification",
    "identify",
    "identify_payload",
    "integrate",
    "integrators",
    "load",
    "machines",
    "movie",
    "online_trajectory",
    "peaks",
    "picture",
    "plan",
    "planning",
    "plot",
    "report",
    "set_threads",
    "simulate",
    "studies",
    "threads",
    "time_optimal",
    "to_matplotlib",
    "trace",
    "view",
]

_PACKAGES = (
    "algorithms", "control", "distances", "engine", "geometry", "identification", "integrators", "interop",
    "inverse_kinematics", "machines", "mechanics", "model", "planning", "robot", "simulation", "studies",
    "trajectories", "visual",
)  # fmt: skip
_LIBRARIES = ("interop.modern_robotics", "interop.spacelib", "interop.roboop", "interop.mazure")
_NAMES = {
    "control": ("ComputedTorque", "MomentumObserver", "Controller", "PDGravity", "PythonLaw"),
    "distances": ("clearance",),
    "engine": ("Function", "Program", "function", "get_threads", "set_threads", "threads", "trace"),
    "identification": ("Log", "calibrate", "excite", "identify", "identify_payload"),
    "integrators": ("integrate",),
    "planning": ("plan",),
    "simulation.plant": (
        "BaseMotion", "ContactPlane", "ElasticJoints", "ExternalWrench", "Friction", "Motors", "PickedPayload", "Plant",
        "Sensors",
    ),
    "robot.robot": ("Robot", "load"),
    "simulation": ("simulate",),
    "robot.symbolic": ("SymbolicRobot",),
    "trajectories": (
        "BSpline", "BlendedWaypoints", "CartesianLimits", "Circle", "CircularArc", "ClosedMotion", "CubicSpline",
        "HermiteSpline", "OrientationSpline", "PointToPoint", "PoseSpline", "QuinticSpline", "ScrewMotion",
        "SmoothingSpline", "StraightLine", "follow", "online_trajectory", "time_optimal",
    ),
    "visual": ("to_matplotlib",),
}  # fmt: skip
verbs.plot.implemented_in(
    "chasles.visual.trajectories", "chasles.visual.robot_plots", "chasles.visual.figures", "chasles.visual.energy",
    "chasles.visual.workspace", "chasles.visual.run_plots",
)  # fmt: skip
verbs.report.implemented_in("chasles.visual.report", "chasles.visual.identification", "chasles.studies.report")
verbs.to_html.implemented_in("chasles.visual.notebook")
verbs.picture.implemented_in("chasles.visual.movies")
verbs.movie.implemented_in("chasles.visual.movies", "chasles.visual.run_movie")
verbs.view.implemented_in("chasles.visual.view.views", "chasles.visual.view.run_view")
verbs.summary.implemented_in("chasles.visual.words")
verbs.check.implemented_in("chasles.trajectories.limits.checks", "chasles.model.robot_check")
verbs.peaks.implemented_in("chasles.trajectories.limits.checks")
verbs.to_dataset.implemented_in("chasles.trajectories.tables")
verbs.mobility.implemented_in("chasles.algorithms.mobility")
verbs.follow.implemented_in("chasles.trajectories.following.follow")

_HOMES = {name: package for package, names in _NAMES.items() for name in names}


if not TYPE_CHECKING:  # tools see the imports above, and that a misspelt name is none

    def __getattr__(name: str) -> Any:
        """Import a package, or the package that a name comes from, when it is first used."""
        if name in _PACKAGES:
            return import_module(f"chasles.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module 'chasles' has no attribute '{name}'{_hint(name)}")
        value = globals()[name] = getattr(import_module(f"chasles.{_HOMES[name]}"), name)
        return value


def _hint(name: str) -> str:
    """Return where a name is that is not here, or what else may be meant."""
    if name.startswith("_"):
        return ""
    other_names = import_module("chasles.mechanics.other_names")
    if home := _home(name, (package for package in _PACKAGES if package != "algorithms")):
        return f"; it is {home}.{name}"
    robots = import_module("chasles.robot.robot")
    if path := (name if hasattr(robots.Robot, name) else robots.path_of(name)):
        return f"; robots have it: chasles.load('ur5').{path}"
    if other_names.translation(name) is None and (home := _home(name, _LIBRARIES)):
        return f"; it is {home}.{name}"
    said: str = other_names.hint(name, __all__)
    return said


def _home(name: str, packages: Iterable[str]) -> str | None:
    """Return the first package that has a public name."""
    homes = (f"chasles.{package}" for package in packages)
    return next((home for home in homes if name in getattr(import_module(home), "__all__", ())), None)


def __dir__() -> list[str]:
    """Names for users, without those that this file needs itself."""
    return __all__
