"""Chasles: robot mechanics and control, from a description to controlled motion, at native speed.

A name's file is imported when the name is first used: importing Chasles alone takes no time.
"""

import sys
from importlib import import_module

if "free-threading" in sys.version:
    raise ImportError(
        "Chasles needs a Python with the global interpreter lock: its compiled functions share memory between calls, "
        f"which this free-threaded build ({sys.executable}) does not protect. Use the standard build, such as "
        f"python{sys.version_info.major}.{sys.version_info.minor} without 't'; several processes use all cores"
    )

from chasles import verbs as verbs
from chasles.base import lazy

#: Where names are looked for that are not here: first the packages, last the libraries of other names.
_PACKAGES = (
    "control", "distances", "engine", "geometry", "identification", "integrators", "interop", "inverse_kinematics",
    "machines", "mechanics", "model", "planning", "robot", "simulation", "simulation.plant", "studies", "trajectories",
    "visual",
)  # fmt: skip
_LIBRARIES = ("interop.modern_robotics", "interop.spacelib", "interop.roboop", "interop.mazure")


def _hint(name: str, names: list[str]) -> str:
    """Return where a name is that is not here, or what else may be meant."""
    other_names = import_module("chasles.mechanics.other_names")
    if home := _home(name, _PACKAGES):
        return f"; it is {home}.{name}"
    robots = import_module("chasles.robot.robot")
    if path := (name if hasattr(robots.Robot, name) else robots.path_of(name)):
        return f"; robots have it: chasles.load('ur5').{path}"
    if other_names.translation(name) is None and (home := _home(name, _LIBRARIES)):
        return f"; it is {home}.{name}"
    said: str = other_names.hint(name, names)
    return said


def _home(name: str, packages: tuple[str, ...]) -> str | None:
    """Return the first package that has a public name."""
    homes = (f"chasles.{package}" for package in packages)
    return next((home for home in homes if name in getattr(import_module(home), "__all__", ())), None)


__getattr__, __dir__, __all__ = lazy.front_door(__name__, _hint)
