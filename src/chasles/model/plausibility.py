"""Numbers of a robot that no machine has: lengths in millimetres, angles in degrees, masses in grams, false inertias.

The limits come from the files of 34 shipped robots, and of example-robot-data, ManiSkill, robosuite and Bullet: 400
robots with 3,800 links; and from physics where it says more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import median_low
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from chasles.base.findings import Finding, Rule
from chasles.model.inertia import THREE_DIGITS, Inertia
from chasles.model.record import shortened
from chasles.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Sphere

if TYPE_CHECKING:
    from chasles.model.description import Description
    from chasles.model.joint import Joint
    from chasles.model.link import Link

LENGTH = Rule(
    "length-in-millimetres",
    20.0,
    "the longest offset in 400 robots is 3.6 m",
    "{where}: the {what} {value:.4g} m; lengths are in m, so divide millimetres by 1000",
    "caution",
)
ANGLE_LIMIT = Rule(
    "limit-in-degrees",
    8.0 * math.pi,
    "no joint of 400 robots turns further than 20 rad, but where 1000 rad and more stand for no limit",
    "{where}: the position limit {value:.6g} rad is {turns:.3g} turns; angles are in rad: multiply degrees by pi/180",
    "caution",
)
MASS = Rule(
    "mass-in-grams",
    2000.0,
    "the heaviest link in 400 robots has 1573 kg; heavier ones must be as large as matter of their mass",
    "{where}: the mass is {value:.6g} kg; masses are in kg, so divide grams by 1000",
    "caution",
)
DENSE_ROBOT = Rule(
    "masses-too-dense",
    22_600.0,
    "osmium, the densest matter, has 22,590 kg/m³, and no body of this mass and inertia is less dense than the uniform "
    "ellipsoid that has them",
    "half of the links are denser than {value:.3g} kg/m³, as their masses and inertias say; give masses in kg and "
    "inertias in kg·m²",
    "caution",
)
DENSE_LINK = Rule(
    "link-too-dense",
    DENSE_ROBOT.limit,
    DENSE_ROBOT.because,
    "{where}: its mass of {mass:.4g} kg and its inertia are those of a body of {value:.3g} kg/m³; correct one of them",
)
SPREAD = Rule(
    "inertia-too-large",
    2.0,
    "no part of a link is further from its centre than the machine is large; meshes, which are not measured, count 1 m",
    "{where}: its inertia is that of {mass:.4g} kg at a distance of {radius:.3g} m from the centre of mass, "
    "{value:.3g} times the size of the whole robot; give inertias in kg·m², about the centre of mass",
    "caution",
)
WIDE_SPREAD = Rule(
    SPREAD.code,
    LENGTH.limit,
    LENGTH.because,
    "{where}: its inertia is that of {mass:.4g} kg at a distance of {value:.3g} m from the centre of mass; give "
    "inertias in kg·m², about the centre of mass",
    "caution",
)
CENTER = Rule(
    "center-of-mass-outside",
    2.0,
    "a centre of mass is inside the body's hull, and shapes leave out cables and screws, not the half of a body",
    "{where}: its centre of mass is {distance:.4g} m from its frame, {value:.3g} times as far as its shapes and joints "
    "reach",
    "caution",
)
STROKE = Rule(
    "limit-in-millimetres",
    LENGTH.limit,
    "the longest stroke in 400 robots is 1.3 m, but where 1000 m and more stand for no limit",
    "{where}: the position limit is {value:.6g} m; lengths are in m, so divide millimetres by 1000",
    "caution",
)
#: Largest angle, rad, that can be meant in degrees: two turns. More stands for no limit.
_TWO_TURNS_IN_DEGREES = 720.0
#: Smallest stroke, m, that stands for no limit.
_NO_LIMIT = 1000.0
#: Size of a mesh that is not measured, m.
_SIZE_OF_MESH = 1.0

Lines = Mapping[str, int]


def implausible(description: Description, lines: Lines | None = None) -> list[Finding]:
    """Return probable mistakes in a robot's values; empty for a plausible robot.

    Parameters
    ----------
    description
        The robot.
    lines
        Lines of its elements in a file, by ``"link NAME"`` and ``"joint NAME"``.

    Examples
    --------
    >>> from chasles.model.description import Description
    >>> from chasles.model.joint import Joint, Limits
    >>> from chasles.model.link import Link
    >>> hinge = Joint("hinge", "revolute", "wall", "door", limits=Limits(-180, 180))
    >>> [found.rule.code for found in implausible(Description("d", (Link("wall"), Link("door")), (hinge,)))]
    ['limit-in-degrees']
    """
    at = lines or {}
    findings = [finding for joint in description.joints for finding in _of_joint(joint, at)]
    size = machine_size(description)
    offsets: dict[str, float] = {}
    for joint in description.joints:
        offsets[joint.parent] = max(offsets.get(joint.parent, 0.0), _length(joint.T_parent_joint[:3, 3]))
    for link in description.links:
        findings += _of_link(link, size, offsets.get(link.name, 0.0), at, measured=link.name != description.root)
    densities = [density(link.inertia, THREE_DIGITS) for link in description.links]
    finite = [value for value in densities if value is not None]
    if finite:
        findings += DENSE_ROBOT.above(median_low(finite))
    return findings


def too_dense(description: Description, lines: Lines | None = None) -> list[Finding]:
    """Return the links that are denser than any matter."""
    findings: list[Finding] = []
    for link in description.links:
        value = density(link.inertia, THREE_DIGITS)
        if value is not None:
            findings += DENSE_LINK.above(value, mass=link.inertia.mass, **place("link", link.name, lines or {}))
    return findings


def place(kind: str, name: str, lines: Lines) -> dict[str, object]:
    """Return the facts that say where a finding is.

    >>> place("joint", "elbow", {"joint elbow": 12})
    {'where': "joint 'elbow' in line 12", 'element': 'joint', 'name': 'elbow', 'line': 12}
    """
    line = lines.get(f"{kind} {name}")
    where = f"{kind} {shortened(name)}" + ("" if line is None else f" in line {line}")
    return {"where": where, "element": kind, "name": name, "line": line}


def density(inertia: Inertia, rounding: float = 0.0) -> float | None:
    """Return the density of the uniform ellipsoid with this mass and inertia, kg/m³; None if it is no body with volume.

    A body with these second moments has parts that are at least as dense: among all that are nowhere denser, the
    ellipsoid's have the smallest determinant.

    Parameters
    ----------
    inertia
        Mass and inertia of the body.
    rounding
        Part of the largest moment by which its principal moments may be wrong; the density is the smallest possible.

    Examples
    --------
    A ball of radius 0.1 m, with I = 2/5 m r²:

    >>> round(density(Inertia(2.0, matrix=np.eye(3) * 0.4 * 2.0 * 0.01)) * 4.0 / 3.0 * math.pi * 0.001, 12)
    2.0
    """
    if not inertia.mass > 0.0:
        return None
    mass: float = inertia.mass
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.matrix.tolist()
    half = 0.5 * (xx + yy + zz) + rounding * max(abs(xx), abs(yy), abs(zz))
    a, b, c = (half - xx) / mass, (half - yy) / mass, (half - zz) / mass
    d, e, f = -xy / mass, -xz / mass, -yz / mass
    minor = a * b - d * d
    determinant: float = a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e)
    if not (a > 0.0 and minor > 0.0 and determinant > 0.0):
        return None
    return mass / (4.0 / 3.0 * math.pi * 5.0 * math.sqrt(5.0 * determinant))


def machine_size(description: Description) -> float:
    """Return the largest distance of a robot's frames, shapes and bodies from its root in any configuration, m."""
    distance = {description.root: 0.0}
    for joint in description.ordered_joints:
        stroke = _stroke(joint) if joint.kind in ("prismatic", "cylindrical") else 0.0
        offsets = _length(joint.T_parent_joint[:3, 3]) + _length(joint.T_joint_child[:3, 3])
        distance[joint.child] = distance[joint.parent] + offsets + stroke
    for frame in description.frames:
        distance[f"frame {frame.name}"] = distance[frame.link] + _length(frame.T_link_frame[:3, 3])
    for link in description.links:  # a body without shapes reaches about as far beyond its centre as there
        link_size = max(2.0 * _length(link.inertia.center_of_mass), *_reach(link), 0.0)
        distance[link.name] += link_size + (_SIZE_OF_MESH if _has_meshes(link) else 0.0)
    return max(distance.values())


def _has_meshes(link: Link) -> bool:
    return any(isinstance(shape.geometry, Mesh) for shape in (*link.visuals, *link.collisions))


def _stroke(joint: Joint) -> float:
    ends = [abs(bound) for bounds in joint.position_limits for bound in bounds if math.isfinite(bound)]
    return max(ends, default=0.0)


def _reach(link: Link) -> Iterator[float]:
    for shape in (*link.visuals, *link.collisions):
        yield _length(shape.T_link_shape[:3, 3]) + _extent(shape.geometry)


def _extent(geometry: Geometry) -> float:
    match geometry:
        case Box():
            return 0.5 * _length(geometry.size)
        case Sphere():
            return geometry.radius
        case Ellipsoid():
            return float(geometry.radii.max())
        case Cylinder():
            return math.hypot(geometry.radius, 0.5 * geometry.length)
        case Capsule():
            return geometry.radius + 0.5 * geometry.length
        case Mesh():
            return 0.0


def _of_joint(joint: Joint, lines: Lines) -> Iterator[Finding]:
    here = place("joint", joint.name, lines)
    offset = max(_length(joint.T_parent_joint[:3, 3]), _length(joint.T_joint_child[:3, 3]))
    yield from LENGTH.above(offset, what="joint's distance from the parent's frame is", **here)
    if not joint.moves or joint.has_quaternion:
        return
    for unit, lower, upper in zip(joint.coordinate_units, *joint.position_limits, strict=True):
        furthest = max((abs(bound) for bound in (lower, upper) if math.isfinite(bound)), default=0.0)
        half_turns = furthest / math.pi
        if unit == "m":
            findings = STROKE.above(furthest, **here) if furthest < _NO_LIMIT else ()
        elif furthest <= _TWO_TURNS_IN_DEGREES and abs(half_turns - round(half_turns)) > 1e-3:  # no multiple of pi
            findings = ANGLE_LIMIT.above(furthest, turns=0.5 * half_turns, **here)
        else:
            findings = ()
        if findings:
            yield from findings
            return


def _of_link(link: Link, size: float, offset: float, lines: Lines, measured: bool) -> Iterator[Finding]:
    here, inertia = place("link", link.name, lines), link.inertia
    reach = max(_reach(link), default=0.0)
    if measured:  # the root may be the ground
        yield from LENGTH.above(reach, what="most distant point of its shapes is at", **here)
    if not inertia.mass > 0.0:
        return
    dense = density(inertia, THREE_DIGITS)
    if dense is None or dense > DENSE_ROBOT.limit:  # else it is as large as it is heavy
        yield from MASS.above(inertia.mass, **here)
    center = _length(inertia.center_of_mass)
    too_far = list(LENGTH.above(center, what="distance of its centre of mass is", **here))
    yield from too_far
    if reach > 0.0 and not too_far and not _has_meshes(link):
        yield from CENTER.above(center / max(reach, offset), distance=center, **here)
    radius = math.sqrt(max(0.0, 0.5 * float(np.trace(inertia.matrix)) / inertia.mass))
    if radius > WIDE_SPREAD.limit or size == 0.0:
        yield from WIDE_SPREAD.above(radius, mass=inertia.mass, **here)
    else:
        yield from SPREAD.above(radius / size, mass=inertia.mass, radius=radius, **here)


def _length(vector: NDArray[np.float64]) -> float:
    return math.hypot(*vector.tolist())
