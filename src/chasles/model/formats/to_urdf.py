"""Writing robots as URDF. See `chasles.model.formats.urdf` for what is read."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from chasles.model.consistency import require_no_first_moments
from chasles.model.description import STANDARD_GRAVITY, Description, Link
from chasles.model.formats.single_freedoms import require_kinds, unused_name, with_single_freedoms
from chasles.model.formats.urdf import JOINT_TYPES, OWN_PARAMETERS
from chasles.model.formats.urdf_origins import origin
from chasles.model.formats.urdf_shapes import shape_lines
from chasles.model.formats.xml import attributes_text, element_text, number_text, numbers_text
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint, Limits
from chasles.model.placement import FloatArray, compose

#: Other readers do not know infinity; ours takes what is beyond 1e9 for it.
NO_LIMIT = 1e16
TYPES = {kind: name for name, kind in JOINT_TYPES.items()}


def to_urdf(description: Description) -> str:
    """Return the text of a URDF file of a robot.

    Features that URDF lacks are written with massless links and further joints, which leave the mechanics unchanged:

    - a child link that is not in the frame of its joint is attached to a link that is, named after the child with
      "_joint" added;
    - frames are links; the payload is a link "payload"; the placement of the base is a joint "world_base" from a new
      root link "world";
    - universal and cylindrical joints are chains of joints, and a helical joint is a revolute joint and a prismatic
      joint that mimics it;
    - a capsule is a cylinder and two spheres. Ellipsoids are left out with a warning, and textures are not kept.

    The default frame, the home configuration, gravity and the source are written in an element ``<chasles>``, which
    other readers ignore. Motors are written in such an element of their joint. Infinite limits are written as 1e16.

    Raises
    ------
    ModelError
        A joint is spherical, which URDF lacks, or a name has characters that XML lacks. The message names it.

    Examples
    --------
    >>> from chasles.model import Joint, parse_urdf
    >>> hinge = Joint("hinge", "continuous", "wall", "door")
    >>> door = Description("door", links=(Link("wall"), Link("door")), joints=(hinge,))
    >>> parse_urdf(to_urdf(door)) == door
    True
    """
    require_no_first_moments(description, "URDF file")
    description = with_single_freedoms(description, also=("helical",), keep=("planar",))
    require_kinds(description, tuple(JOINT_TYPES.values()), "URDF")
    links, joints = _with_urdf_frames(description)
    extras = {"tool": description.tool}
    if description.nq:
        extras["home"] = numbers_text(description.home)
    if description.gravity.tolist() != list(STANDARD_GRAVITY):
        extras["gravity"] = numbers_text(description.gravity)
    if description.source:
        extras["source"] = description.source
    lines = [
        '<?xml version="1.0"?>',
        f"<robot{attributes_text({'name': description.name})}>",
        f"  {element_text('chasles', extras)}",
    ]
    for link in links:
        lines += _link(link)
    for joint in joints:
        lines += _joint(joint)
    return "\n".join([*lines, "</robot>", ""])


def _with_urdf_frames(description: Description) -> tuple[list[Link], list[Joint]]:
    """Links and joints of a description whose child links all sit in their joint's frame, and which has no frames."""
    taken = set(description.frame_names)
    names = {joint.name for joint in description.joints}
    links, joints = list(description.links), []

    def fix(parent: str, child: str, T: FloatArray, name: str) -> None:
        joints.append(Joint(unused_name(name, names), "fixed", parent, child, T_parent_joint=T))

    if (description.T_world_base != np.eye(4)).any():
        links.insert(0, Link(unused_name("world", taken)))
        fix(links[0].name, description.root, description.T_world_base, "world_base")
    for joint in description.joints:
        if (joint.T_joint_child == np.eye(4)).all():
            joints.append(joint)
        elif not joint.moves:
            T = compose(joint.T_parent_joint, joint.T_joint_child)
            joints.append(joint.replace(T_parent_joint=T, T_joint_child=np.eye(4)))
        else:
            carrier = unused_name(f"{joint.child}_joint", taken)
            links.append(Link(carrier))
            joints.append(joint.replace(child=carrier, T_joint_child=np.eye(4)))
            fix(carrier, joint.child, joint.T_joint_child, f"{joint.name}_link")
    for frame in description.frames:
        links.append(Link(frame.name))
        fix(frame.link, frame.name, frame.T_link_frame, f"{frame.name}_frame")
    if not description.payload.is_massless:
        links.append(Link(unused_name("payload", taken), description.payload))
        fix(description.tool, links[-1].name, np.eye(4), "payload")
    return links, joints


def _link(link: Link) -> list[str]:
    inside = _inertial(link.inertia) + shape_lines(link)
    if not inside:
        return [f"  {element_text('link', {'name': link.name})}"]
    return [f"  <link{attributes_text({'name': link.name})}>", *(f"    {line}" for line in inside), "  </link>"]


def _inertial(inertia: Inertia) -> list[str]:
    if inertia == Inertia():
        return []
    matrix = inertia.matrix
    moments = {f"i{'xyz'[row]}{'xyz'[column]}": matrix[row, column] for row in range(3) for column in range(row, 3)}
    return [
        "<inertial>",
        f"  {element_text('origin', {'xyz': numbers_text(inertia.center_of_mass)})}",
        f"  {element_text('mass', {'value': number_text(inertia.mass)})}",
        f"  {element_text('inertia', {key: number_text(value) for key, value in moments.items()})}",
        "</inertial>",
    ]


def _joint(joint: Joint) -> list[str]:
    parts = [
        element_text("parent", {"link": joint.parent}),
        element_text("child", {"link": joint.child}),
        element_text("origin", origin(joint.T_parent_joint)),
    ]
    if joint.kind not in ("fixed", "free"):
        parts.append(element_text("axis", {"xyz": numbers_text(joint.axis)}))
    limits = _limits_in_urdf(joint)
    if limits:
        parts.append(element_text("limit", {name: number_text(_finite(bound)) for name, bound in limits.items()}))
    if joint.viscous_friction or joint.coulomb_friction:
        friction = {"damping": number_text(joint.viscous_friction), "friction": number_text(joint.coulomb_friction)}
        parts.append(element_text("dynamics", friction))
    if joint.mimic is not None:
        mimic = joint.mimic
        rule = {"joint": mimic.joint, "multiplier": number_text(mimic.ratio), "offset": number_text(mimic.offset)}
        parts.append(element_text("mimic", rule))
    parts += _chasles_element(joint, with_limits=not limits and joint.limits != Limits())
    head = attributes_text({"name": joint.name, "type": TYPES[joint.kind]})
    return [f"  <joint{head}>", *(f"    {part}" for part in parts), "  </joint>"]


def _limits_in_urdf(joint: Joint) -> dict[str, float]:
    """Limits that URDF's own element can state: all of a single joint, and of one that turns on without positions."""
    names: Iterable[str] = ()
    if joint.kind in ("revolute", "prismatic"):
        names = Limits.field_names()
    elif joint.kind == "continuous" and joint.limits != Limits():
        names = ("velocity", "effort")
    return {name: getattr(joint.limits, name) for name in names}


def _chasles_element(joint: Joint, *, with_limits: bool) -> list[str]:
    """Element of ours with the parameters for which URDF has no place; none if all have their defaults."""
    default = Joint("default", "fixed", "a", "b")
    attributes = {
        name: numbers_text(np.atleast_1d(getattr(joint, name)).tolist())
        for name in OWN_PARAMETERS
        if getattr(joint, name) != getattr(default, name)
    }
    if with_limits:
        attributes |= {name: _bounds(getattr(joint.limits, name)) for name in Limits.field_names()}
    coupled = [{"joint": other, "share": number_text(share)} for other, share in joint.drive_coupling]
    if coupled:
        inside = "".join(element_text("coupled", drive) for drive in coupled)
        return [f"<chasles{attributes_text(attributes)}>{inside}</chasles>"]
    return [element_text("chasles", attributes)] if attributes else []


def _finite(limit: float) -> float:
    return math.copysign(NO_LIMIT, limit) if math.isinf(limit) else limit


def _bounds(bound: float | Iterable[float]) -> str:
    return numbers_text([_finite(value) for value in np.atleast_1d(np.array(bound)).tolist()])
