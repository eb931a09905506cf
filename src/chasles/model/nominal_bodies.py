"""Nominal bodies: solid rods in place of unknown bodies, for a robot with known geometry only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ModelError
from chasles.engine.validators import real
from chasles.model.inertia import Inertia, combined

if TYPE_CHECKING:
    from chasles.model.description import Description
    from chasles.model.joint import Joint

Vector = NDArray[np.float64]

SLENDERNESS = 20.0
"""Reach of a robot over the radius of its rods."""


def with_nominal_bodies(description: Description, *, density: float = 1000.0) -> Description:
    """Make a copy with nominal bodies: a first guess for the dynamics of a robot without masses.

    Each link becomes solid rods from its joint to the joints and the tool that it carries, and a ball around its joint
    if that moves. Rods and balls have a radius of a twentieth of the robot's reach. For industrial arms the resulting
    weights are correct within a factor of about three; replace them by identified values.

    Parameters
    ----------
    description
        A robot without masses.
    density
        Density, kg/m³; default: that of water.

    Raises
    ------
    ModelError
        The robot has masses.
    ArgumentError
        The density is not positive.

    Examples
    --------
    >>> from chasles.model import load
    >>> with_nominal_bodies(load("kr16")).mass > 10.0
    True
    """
    density = real(density, "density", above=0.0)
    if not all(link.inertia.is_massless for link in description.links):
        raise ModelError(f"robot '{description.name}' has masses of its own; nominal bodies are for robots without any")
    rods = {link: _rods(description, link) for link in description.link_names}
    radius = _reach(description, rods) / SLENDERNESS
    moved = {joint.child for joint in description.joints if joint.moves}
    return description.replace(
        links=tuple(
            link.replace(inertia=_body(rods[link.name], link.name in moved, radius, density))
            for link in description.links
        )
    )


def _rods(description: Description, link: str) -> tuple[Vector, dict[str | None, Vector]]:
    """Return where a link begins, and where it ends: at each joint, by the name of its child, and at the tool."""
    start: Vector = np.zeros(3)
    ends: dict[str | None, Vector] = {}
    for joint in description.joints:
        if joint.child == link:
            start = np.linalg.inv(joint.T_joint_child).astype(np.float64)[:3, 3]
        if joint.parent == link and joint.kind != "free":
            ends[joint.child] = joint.T_parent_joint[:3, 3]
    place = description.frame(description.tool)
    if place.link == link:
        ends[None] = place.T_link_frame[:3, 3]
    return start, ends


def _reach(description: Description, rods: dict[str, tuple[Vector, dict[str | None, Vector]]]) -> float:
    """Return the length of the longest chain of rods, with the travel of prismatic joints; 1 m if all are points."""
    reach = dict.fromkeys(description.link_names, 0.0)
    travel = {joint.child: _travel(joint) for joint in description.ordered_joints}
    for link in (description.root, *travel):
        start, ends = rods[link]
        for child, end in ends.items():
            if child is not None:
                reach[child] = reach[link] + float(np.linalg.norm(end - start)) + travel[child]
    tools = [
        reach[link] + float(np.linalg.norm(ends[None] - start)) for link, (start, ends) in rods.items() if None in ends
    ]
    return max(*reach.values(), *tools, 0.0) or 1.0


def _travel(joint: Joint) -> float:
    """Return the travel of a prismatic joint within its limits."""
    if joint.kind != "prismatic":
        return 0.0
    bounds = np.abs(np.array(joint.position_limits))
    return float(np.max(bounds, where=np.isfinite(bounds), initial=0.0))


def _body(rods: tuple[Vector, dict[str | None, Vector]], moves: bool, radius: float, density: float) -> Inertia:
    start, ends = rods
    parts = [_rod(start, end, radius, density) for end in ends.values() if np.any(end != start)]
    if moves:
        mass = density * 4.0 / 3.0 * np.pi * radius**3
        parts.append(Inertia(mass, start, 0.4 * mass * radius**2 * np.eye(3)))
    return combined([(part, np.eye(4)) for part in parts]) if parts else Inertia()


def _rod(start: Vector, end: Vector, radius: float, density: float) -> Inertia:
    """Return the inertia of a solid cylinder between two points."""
    length = float(np.linalg.norm(end - start))
    mass = density * np.pi * radius**2 * length
    along, across = 0.5 * mass * radius**2, mass * (3.0 * radius**2 + length**2) / 12.0
    axis = (end - start) / length
    return Inertia(mass, 0.5 * (start + end), across * np.eye(3) + (along - across) * np.outer(axis, axis))
