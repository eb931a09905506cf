"""Variables that a simulation records, with their labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Units of joint variables follow the joint: "position" and "displacement" rad or m, "velocity" these per second,
#: "effort" N·m or N.
JointUnits = Literal["position", "displacement", "velocity", "effort"]


@dataclass(frozen=True)
class Variable:
    """A recorded variable.

    Attributes
    ----------
    name
        Name of the variable.
    shape, dims
        Shape of one sample, and the names of its axes.
    units
        Unit, or the joint quantity that determines it.
    long_name
        Text in labels and tables.
    """

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    units: JointUnits | str
    long_name: str


def joint_variable(name: str, n: int, units: JointUnits | str, long_name: str) -> Variable:
    """Return a variable with one value per joint."""
    return Variable(name, (n,), ("joint",), units, long_name)


def position_axis(nq: int, n: int) -> str:
    """Return the name of the axis of positions: "coordinate" where a joint has more coordinates than velocities."""
    return "joint" if nq == n else "coordinate"


def memory_variable(size: int) -> Variable:
    """Return the variable of the controller's memory."""
    return Variable("memory", (size,), ("element",), "", "memory of the controller")


def energy_variable(name: str) -> Variable:
    """Return the variable of an energy, J, from its name, such as ``"work.motors"`` or ``"loss.friction"``."""
    kind, _, source = name.partition(".")
    words = {"work": "work of", "loss": "energy lost in", "energy": "energy:", "electrical": "electrical"}
    return Variable(name, (), (), "J", f"{words[kind]} {source.replace('_', ' ')}")


def reference_variables(nq: int, n: int, *, follows_frame: bool) -> list[Variable]:
    """Return the variables of a reference: its motion."""
    if follows_frame:
        return [
            Variable("pose_reference", (4, 4), ("row", "column"), "", "reference pose of the frame"),
            Variable("twist_reference", (6,), ("component",), "", "reference twist of the frame, angular part first"),
        ]
    return [
        Variable("q_reference", (nq,), (position_axis(nq, n),), "position", "reference joint position"),
        joint_variable("qd_reference", n, "velocity", "reference joint velocity"),
    ]
