"""What a simulation records, with the words that label it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: Units of joint variables follow the joint: "position" and "displacement" rad or m, "velocity" these per second,
#: "effort" N m or N.
JointUnits = Literal["position", "displacement", "velocity", "effort"]


@dataclass(frozen=True)
class Variable:
    """A recorded variable.

    Attributes
    ----------
    name
        Of the variable.
    shape, dims
        Shape of one sample, and the names of its axes.
    units
        Of all its numbers, or what of a joint it is.
    long_name
        What labels and tables call it.
    """

    name: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    units: JointUnits | str
    long_name: str


def joint_variable(name: str, n: int, units: JointUnits | str, long_name: str) -> Variable:
    """A variable with one number for each joint."""
    return Variable(name, (n,), ("joint",), units, long_name)


def position_axis(nq: int, n: int) -> str:
    """Name of the axis of positions: joints, unless some take more numbers than they have freedoms."""
    return "joint" if nq == n else "coordinate"


def memory_variable(size: int) -> Variable:
    """What a controller remembers."""
    return Variable("memory", (size,), ("element",), "", "memory of the controller")


def energy_variable(name: str) -> Variable:
    """An energy of an audit, J, from its name ``"work.motors"``, ``"loss.friction"``, ``"energy.kinetic"``, …."""
    kind, _, source = name.partition(".")
    words = {"work": "work of", "loss": "energy lost in", "energy": "energy:", "electrical": "electrical"}
    return Variable(name, (), (), "J", f"{words[kind]} {source.replace('_', ' ')}")
