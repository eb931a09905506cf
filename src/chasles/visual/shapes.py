"""Shapes for a robot without meshes: capsules along links, cylinders on joint axes, balls and plates.

A link is drawn along its joint axes and their common normal, as in Denavit-Hartenberg parameters, so that offsets look
like the elbows of real robots; a link with three or more ends is a star, and a platform or base that joints or loops
hold at three or more places is a ring through these. Lengths are true; thicknesses are chosen for
the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from chasles.model import Description, Joint

Vector = NDArray[np.float64]
Form = Literal["capsule", "cylinder"]
Role = Literal["link", "joint", "sleeve", "slide"]

_THICKNESS = 0.042  # radius of the first link, as a part of the robot's length
_TAPER = 0.5  # how much thinner the last link is
_SLIDES = ("prismatic", "cylindrical")
_SLENDER = 0.5  # thickness of machines with platforms, whose many legs would hide each other
_STAR = 3  # ends of a link that is drawn as straight spokes
_DETOUR = 1.75  # a path along the axes may be this much longer than the straight line (three equal right angles: 1.73)


@dataclass(frozen=True)
class DrawnShape:
    """Capsule or cylinder between two points of a link.

    Attributes
    ----------
    link
        Name of the link that carries the shape.
    form
        "capsule" (round ends) or "cylinder" (flat ends).
    role
        Represented part: a link (also the ball of a free joint), a revolute or planar joint, or the sleeve and the
        rod of a prismatic one.
    start, end
        End points in the link's frame, shape (3,), m.
    radius
        Radius, m.
    """

    link: str
    form: Form
    role: Role
    start: Vector
    end: Vector
    radius: float


@dataclass(frozen=True)
class Skeleton:
    """Shapes of a robot.

    Attributes
    ----------
    shapes
        All shapes, those of the root first.
    links
        Names of the links that carry shapes.
    root, tool
        Names of the fixed link and of the tool's frame.
    size
        Length along the longest chain of links, m; the scale of shapes without a length of their own.
    stands
        Whether a joint other than a free one holds the robot to its root, which is no ring.
    """

    shapes: tuple[DrawnShape, ...]
    links: tuple[str, ...]
    root: str
    tool: str
    size: float
    stands: bool


@dataclass(frozen=True)
class _Port:
    """Point of a link at a joint, in the link's frame; ports of tools and of joints without one axis have no axis."""

    p: Vector
    axis: Vector | None = None


def skeleton(description: Description) -> Skeleton:
    """Return the shapes of a robot.

    Parameters
    ----------
    description
        Robot to draw.

    Examples
    --------
    >>> from chasles import model
    >>> arm = skeleton(model.load("planar2r"))
    >>> round(arm.size, 3)
    0.75
    >>> sorted({shape.role for shape in arm.shapes})
    ['joint', 'link']
    """
    drawn = _links_to_draw(description)
    root = description.root
    joints = [joint for joint in description.ordered_joints if joint.child in drawn]
    incoming = {joint.child: joint for joint in joints}
    links = (root, *incoming)
    rings = {link: ring for link in links if (ring := _ring(description, link, incoming.get(link))) is not None}
    paths, size = _paths(description, joints, rings)
    depth = {root: 0}
    for joint in joints:
        depth[joint.child] = depth[joint.parent] + joint.moves
    thickness = size * _THICKNESS * (_SLENDER if rings else 1.0)
    deepest = max(*depth.values(), 1)
    radius = {link: thickness * (1.0 - _TAPER * d / deepest) for link, d in depth.items()}
    held = [joint.kind != "free" for joint in joints if joint.parent == root]
    stands = (any(held) or not held) and root not in rings
    shapes = [*_link_shapes(rings, paths, radius, root if stands else None)]
    for joint in joints:
        if joint.moves and not (joint.kind == "free" and joint.child in rings):
            shapes.extend(_joint_shapes(joint, radius[joint.child], size, _travel(description, joint)))
    return Skeleton(tuple(shapes), tuple(depth), root, description.tool, size, stands)


def _paths(
    description: Description, joints: Sequence[Joint], rings: Mapping[str, Vector]
) -> tuple[list[tuple[str, list[Vector]]], float]:
    """Return the links with the paths from their entry to each of their exits, and the robot's length, m."""
    incoming = {joint.child: joint for joint in joints}
    reach, ends = {description.root: 0.0}, [0.0]
    paths: list[tuple[str, list[Vector]]] = []
    for link in (description.root, *incoming):
        entry, exits = _entry(incoming.get(link)), _exits(description, link, joints)
        is_base_ring = link in rings and link == description.root
        for joint, exit_port in exits:
            if joint is not None and joint.kind == "free":
                reach[joint.child] = reach[link]
                continue
            if is_base_ring:
                path = [rings[link].mean(axis=0), exit_port.p]  # counts for the robot's length, and is not drawn
            else:
                path = _path(entry, exit_port) if len(exits) < _STAR else [entry.p, exit_port.p]
                paths.append((link, path))
            end = reach[link] + float(sum(np.linalg.norm(b - a) for a, b in pairwise(path)))
            if joint is None:
                ends.append(end)
            else:
                reach[joint.child] = end + max(map(abs, _travel(description, joint)))
    size = max(*reach.values(), *ends)
    return paths, size if np.isfinite(size) and size > 1e-9 else 1.0


def _link_shapes(
    rings: Mapping[str, Vector],
    paths: Sequence[tuple[str, list[Vector]]],
    radius: Mapping[str, float],
    standing: str | None,
) -> Iterator[DrawnShape]:
    """Yield the shapes of links along their rings and paths; that of a standing root is flat below."""
    for link, ring in rings.items():
        for start, end in pairwise([*ring, ring[0]]):
            yield DrawnShape(link, "capsule", "link", start, end, radius[link])
    for link, path in paths:
        for number, (start, end) in enumerate(pairwise(path)):
            if np.linalg.norm(end - start) > 0.2 * radius[link]:
                form: Form = "cylinder" if link == standing and number == 0 else "capsule"
                yield DrawnShape(link, form, "link", start, end, radius[link])


def _links_to_draw(description: Description) -> set[str]:
    """Return the links between root and moving joints or tool; others (sensors, covers) would hide the mechanism."""
    parent = {joint.child: joint.parent for joint in description.joints}
    tool = next((frame.link for frame in description.frames if frame.name == description.tool), description.tool)
    drawn = {description.root}
    for link in (tool, *(joint.child for joint in description.joints if joint.moves)):
        while link not in drawn:
            drawn.add(link)
            link = parent[link]
    return drawn


def _ring(description: Description, link: str, carrier: Joint | None) -> Vector | None:
    """Return the corners (k, 3), in order, of a base or platform of a closed chain that no axis carries."""
    if not description.loops or (carrier is not None and carrier.kind != "free"):
        return None
    held = [j.T_parent_joint for j in description.joints if j.parent == link and j.moves and j.kind != "free"]
    held += [loop.T_first_joint for loop in description.loops if loop.first == link]
    held += [loop.T_second_joint for loop in description.loops if loop.second == link]
    corners = np.unique(np.round([T[:3, 3] for T in held], 9).reshape(-1, 3), axis=0)
    if len(corners) < _STAR:
        return None
    outward = corners - corners.mean(axis=0)
    first, second, _ = np.linalg.svd(outward)[2]
    order = np.argsort(np.arctan2(outward @ second, outward @ first))
    return corners[order].astype(np.float64)


def _entry(joint: Joint | None) -> _Port:
    """Return the port of a link at the joint that carries it."""
    if joint is None:
        return _Port(np.zeros(3))
    T_child_joint: NDArray[np.float64] = np.linalg.inv(joint.T_joint_child).astype(np.float64)
    axis = joint.second_axis if joint.kind == "universal" else joint.axis
    return _Port(T_child_joint[:3, 3], T_child_joint[:3, :3] @ axis if _has_axis(joint) else None)


def _exits(description: Description, link: str, joints: Sequence[Joint]) -> list[tuple[Joint | None, _Port]]:
    """Return the ports of a link at the next joints, the tool or, without these, its end."""
    exits: list[tuple[Joint | None, _Port]] = []
    for joint in joints:
        if joint.parent == link:
            T = joint.T_parent_joint if joint.moves else joint.T_parent_joint @ joint.T_joint_child
            exits.append((joint, _Port(T[:3, 3], T[:3, :3] @ joint.axis if _has_axis(joint) else None)))
    for frame in description.frames:
        if frame.name == description.tool and frame.link == link:
            exits.append((None, _Port(frame.T_link_frame[:3, 3])))
    for loop in description.loops:
        exits += [
            (None, _Port(T[:3, 3]))
            for side, T in ((loop.first, loop.T_first_joint), (loop.second, loop.T_second_joint))
            if side == link
        ]
    if link == description.tool:
        exits.append((None, _Port(np.zeros(3))))
    if not exits:
        exits.append((None, _Port(_end_of(description, link))))
    return exits


def _end_of(description: Description, link: str) -> Vector:
    """Return the farthest known point of a link at the end of a chain: fixed link, frame or centre of mass."""
    candidates = [
        (joint.T_parent_joint @ joint.T_joint_child)[:3, 3] for joint in description.joints if joint.parent == link
    ]
    candidates += [frame.T_link_frame[:3, 3] for frame in description.frames if frame.link == link]
    candidates.append(np.zeros(3))
    farthest = max(candidates, key=lambda p: float(np.linalg.norm(p)))
    return farthest if farthest.any() else description.link(link).inertia.center_of_mass


def _path(start: _Port, end: _Port) -> list[Vector]:
    """Return the corners of a path between ports: along the first axis, the common normal and the second axis."""
    straight = [start.p, end.p]
    between = end.p - start.p
    a, b = start.axis, end.axis
    along_a = along_b = 0.0
    if a is not None and b is not None and abs(a @ b) < 1.0 - 1e-9:
        # Feet of the common normal: p + s a and q + t b with (q + t b - p - s a) normal to both.
        c = float(a @ b)
        along_a, backward_b = np.linalg.solve([[1.0, -c], [c, -1.0]], [between @ a, between @ b])
        along_b = -float(backward_b)
    elif a is not None:
        along_a = float(between @ a)
    elif b is not None:
        along_b = float(between @ b)
    corners = [start.p]
    if a is not None:
        corners.append(start.p + along_a * a)
    if b is not None:
        corners.append(end.p - along_b * b)
    corners.append(end.p)
    length = sum(float(np.linalg.norm(y - x)) for x, y in pairwise(corners))
    return corners if length <= _DETOUR * float(np.linalg.norm(between)) else straight


def _has_axis(joint: Joint) -> bool:
    """Whether a joint moves along or about one line, at each of its ends."""
    return joint.moves and joint.kind != "planar" and not joint.has_quaternion


def _travel(description: Description, joint: Joint) -> set[float]:
    """Return displacements at which a prismatic joint is drawn: zero, finite limits, and the home configuration's."""
    if joint.kind not in _SLIDES:
        return {0.0}
    limits = {bounds[-1] for bounds in joint.position_limits if np.isfinite(bounds[-1])}
    ends = [
        float(description.home[k])
        for k, name in enumerate(description.coordinate_names)
        if name in joint.coordinate_names
    ]
    return {0.0, *limits, *ends[-1:]}


def _joint_shapes(joint: Joint, radius: float, size: float, travel: set[float]) -> list[DrawnShape]:
    """Return the shapes of a joint: a cylinder per revolute axis, sleeve and rod if prismatic, a plate or a ball."""
    entry = _entry(joint)
    axis = np.array([0.0, 0.0, 1.0]) if entry.axis is None else entry.axis
    if joint.has_quaternion:
        half = 0.01 * radius * axis
        role: Role = "link" if joint.kind == "free" else "joint"
        return [DrawnShape(joint.child, "capsule", role, entry.p - half, entry.p + half, 1.7 * radius)]
    if joint.kind == "planar":
        half = 0.3 * radius * np.linalg.inv(joint.T_joint_child)[:3, :3] @ joint.axis
        return [DrawnShape(joint.child, "cylinder", "joint", entry.p - half, entry.p + half, 2.2 * radius)]
    if joint.kind not in _SLIDES:
        half = 1.5 * radius * axis
        on_child = DrawnShape(joint.child, "cylinder", "joint", entry.p - half, entry.p + half, 1.3 * radius)
        if joint.kind != "universal":
            return [on_child]
        p, first = joint.T_parent_joint[:3, 3], 1.5 * radius * joint.T_parent_joint[:3, :3] @ joint.axis
        return [DrawnShape(joint.parent, "cylinder", "joint", p - first, p + first, 1.3 * radius), on_child]
    direction = joint.T_parent_joint[:3, :3] @ joint.axis
    origin = joint.T_parent_joint[:3, 3]
    half = 1.8 * radius * direction
    sleeve = DrawnShape(joint.parent, "cylinder", "sleeve", origin - half, origin + half, 1.35 * radius)
    travel = travel if len(travel) > 1 else {-0.25 * size, 0.25 * size}
    back, front = entry.p - max(travel) * axis, entry.p - min(travel) * axis
    rod = DrawnShape(joint.child, "capsule", "slide", back, front, 0.75 * radius)
    return [sleeve, rod]
