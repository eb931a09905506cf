"""Mobility of a robot with loops, and the fields that determine it; `chasles.algorithms.assembled` computes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chasles.model.joint import Joint
from chasles.model.link import Link


@dataclass(frozen=True, eq=False)
class Mobility:
    """Degrees of freedom of a robot with loops.

    Attributes
    ----------
    independent
        Indices of the independent velocities among those of all joints.
    constraints
        Indices, among the constraints of all loops, of those that are not fulfilled in every configuration.
    count
        Number of all constraints.
    rank
        Number of independent constraints.
    home
        The home configuration with closed loops, shape (nq,).

    Examples
    --------
    >>> import chasles as ch
    >>> rod = {"T_first_joint": [0.75, 0.3, 0], "length": 0.3}
    >>> guided = ch.Robot(ch.model.with_loop(ch.model.load("planar2r"), "rod", "rod", "link0", "tool", **rod))
    >>> print(guided.description.mobility)
    1 degree of freedom; 1 of 1 constraints independent
    """

    independent: tuple[int, ...]
    constraints: tuple[int, ...]
    count: int
    rank: int
    home: NDArray[np.float64]

    def __str__(self) -> str:
        freedoms = len(self.independent)
        noun = "degree" if freedoms == 1 else "degrees"
        return f"{freedoms} {noun} of freedom; {self.rank} of {self.count} constraints independent"


def geometry_alone(links: Sequence[Link], joints: Sequence[Joint]) -> dict[str, Any]:
    """Return links and joints as fields of a description, without masses, shapes, limits and motors."""
    geometry = ("name", "kind", "parent", "child", "T_parent_joint", "T_joint_child", "axis", "pitch", "second_axis")
    return {
        "links": tuple(Link(link.name) for link in links),
        "joints": tuple(
            Joint(**{name: getattr(joint, name) for name in geometry}, mimic=joint.mimic) for joint in joints
        ),
    }
