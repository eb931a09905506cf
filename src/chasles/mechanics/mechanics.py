"""`Mechanics`: a description together with the computations that depend on it alone."""

from __future__ import annotations

from typing import Any, Self

from chasles.base import verbs
from chasles.base.cached import cached_property
from chasles.base.errors import ArgumentTypeError
from chasles.mechanics.centroidal import Centroidal
from chasles.mechanics.computation import Computation
from chasles.mechanics.configurations import Configurations
from chasles.mechanics.copies import Copies
from chasles.mechanics.dynamics import Dynamics
from chasles.mechanics.edit import Edit
from chasles.mechanics.formats import Formats
from chasles.mechanics.inertial import Inertial
from chasles.mechanics.kinematics import Kinematics
from chasles.mechanics.loops import Loops
from chasles.mechanics.part import Part
from chasles.mechanics.regressors import Regressors
from chasles.mechanics.whole_body import WholeBody

PARTS: tuple[type[Part[Any]], ...] = (Loops, Regressors, Inertial, Centroidal, Edit)
"""Namespaces of a robot."""


class Mechanics(Configurations, Kinematics, Dynamics, WholeBody, Copies, Formats):
    """Immutable description and compiled mechanics of a robot: `chasles.Robot` without inverse kinematics.

    Inverse kinematics is written for this class; `chasles.Robot` adds inverse kinematics to it.
    """

    @cached_property
    def loops(self) -> Loops:
        """Loops: mobility, assembly, coupled joint motion, motor forces, loop forces and singularities."""
        return Loops(self)

    @cached_property
    def regressors(self) -> Regressors:
        """Regressors, and dynamics along a reference motion."""
        return Regressors(self)

    @property
    def inertial(self) -> Inertial[Self]:
        """Values of the inertial parameters: read, replace, reduce to base parameters, check and perturb them."""
        return Inertial(self, self.loops, self.regressors)

    @cached_property
    def centroidal(self) -> Centroidal:
        """Momentum about the centre of mass, its matrix and its rate."""
        return Centroidal(self)

    @property
    def edit(self) -> Edit[Self]:
        """Structural edits: cut out parts, join robots, lock joints, merge or rename links."""
        return Edit(self)

    def _repr_html_(self) -> str:
        return str(verbs.to_html(self))


def require_first(robot: object, call: str) -> None:
    """Raise `ArgumentTypeError` unless the first argument of a call, such as "follow(robot, motion)", is a robot."""
    if not isinstance(robot, Mechanics):
        name = call.partition("(")[0]
        raise ArgumentTypeError(f"{name} takes the robot first: {call}; the first argument is a {type(robot).__name__}")


def path_of(name: str) -> str | None:
    """Return where robots have a public attribute of this name: "mass_matrix", "regressors.torque", or nowhere."""
    if name.startswith("_") or name == "place":
        return None
    if hasattr(Mechanics, name):
        return name
    return next((f"{part.place}.{name}" for part in PARTS if name in vars(part)), None)


def computations() -> dict[str, Computation[..., Any]]:
    """Return all computations of a robot by their paths, such as "mass_matrix" and "regressors.torque"."""
    kinds = [*reversed(Mechanics.__mro__), *PARTS]
    members = [member for kind in kinds for member in vars(kind).values()]
    return {member.path: member for member in members if isinstance(member, Computation)}
