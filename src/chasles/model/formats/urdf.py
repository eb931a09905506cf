"""Robots from URDF, the robot description format of ROS (http://wiki.ros.org/urdf/XML).

Read: links with inertia and shapes, joints of type fixed, revolute, continuous, prismatic, floating and planar, with
origin, axis, limits, dynamics (damping is viscous and friction is Coulomb friction) and mimic. Everything else is
ignored. Mesh files are not opened, and a shape that cannot be read is left out with a warning.

- Angles written as decimals within 1e-11 of a multiple of pi/2 are read as that multiple.
- A joint without `<axis>` has the axis x. An `<axis>` must say `xyz`, as the specification demands: readers do not
  agree on what it is otherwise. It need not be a unit vector, but at least 1e-9 long.
- A joint without `<limit>`, or with one that gives neither lower nor upper, has no position limits; if it gives only
  one, the other is 0, as URDF says. Velocity and effort are unlimited where they are missing. Beyond 1e9 a limit is
  infinite.
- An element ``<chasles tool="…" home="…" gravity="…" source="…"/>`` in ``<robot>``, which other readers ignore, may
  name the default frame and say the home configuration, the acceleration of gravity and where the numbers come from.
- An element ``<chasles .../>`` in ``<joint>`` may give motor_inertia, gear_ratio, coulomb_velocity (one number or
  several), coulomb_shares, load_friction, load_velocity, torque_offset, torque_sine and torque_cosine; and the limits
  lower, upper, velocity and effort of a planar or floating joint, one number or one for each degree of freedom. Each
  element ``<coupled joint="…" share="…"/>`` in it gives a share of another joint's rate in that of the joint's motor.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.consistency import check_description
from chasles.model.description import Description, Link
from chasles.model.formats.files import read_bytes
from chasles.model.formats.urdf_findings import element_findings, element_lines, misspelt_tags
from chasles.model.formats.urdf_origins import read_origin
from chasles.model.formats.urdf_shapes import ShapeReader
from chasles.model.formats.xml import MAX_BYTES, Element, parse_xml
from chasles.model.freedoms import JointKind
from chasles.model.inertia import Inertia
from chasles.model.joint import POSITION_TORQUES, Bound, Joint, Limits, Mimic
from chasles.model.numbers import LARGEST_DAMPING
from chasles.model.record import naming, shortened

JOINT_TYPES: dict[str, JointKind] = {
    "fixed": "fixed",
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "floating": "free",
    "planar": "planar",
}
OWN_PARAMETERS = (
    *("motor_inertia", "gear_ratio", "coulomb_velocity", "coulomb_shares", "load_friction", "load_velocity"),
    *POSITION_TORQUES,
)
_MACRO = re.compile(r"\$[{(]")
X_AXIS = (1.0, 0.0, 0.0)
#: More misspelt tags than this are not named in an error.
_MOST_HINTS = 3


def from_urdf(path: str | Path, *, tool: str = "", check: bool = True) -> Description:
    """Read a robot from a URDF file.

    Parameters
    ----------
    path
        The file.
    tool
        Name of a link as the default frame. Empty: as the file says, else the link at the end of the longest chain.
    check
        Whether to check that the inertias are physically possible.

    Raises
    ------
    ModelError
        The message names the file, the element with its line, and the reason.

    Examples
    --------
    >>> from chasles.model.robots import shipped_path
    >>> from_urdf(shipped_path("panda")).n
    7
    """
    text = read_bytes(path, MAX_BYTES)
    return parse_urdf(text, file=str(path), folder=Path(path).absolute().parent, tool=tool, check=check)


def parse_urdf(
    text: str | bytes,
    *,
    file: str = "URDF text",
    folder: str | Path = "",
    tool: str = "",
    check: bool = True,
) -> Description:
    """Read a robot from the text of a URDF file; `file` is its name in messages, `folder` where its meshes are.

    Examples
    --------
    >>> parse_urdf('<robot name="stone"><link name="rock"/></robot>').root
    'rock'
    """
    with naming(file):
        root = parse_xml(text.encode() if isinstance(text, str) else text)
        if root.tag != "robot":
            raise ModelError(f"the root element is {root}, not <robot>")
        if root.one("chasles") is None:  # else Chasles wrote it, where "${" in a name is no macro
            _refuse_macros(root)
        reader = ShapeReader(root, str(folder))
        try:
            description = _robot(root, tool, reader)
        except ModelError as error:
            hints = [str(finding) for finding in misspelt_tags(root)[:_MOST_HINTS]]
            raise ModelError(" ".join([f"{error}.", *hints]) if hints else str(error)) from None
        if check:
            reader.warn(description.name)
            check_description(description, element_findings(root), element_lines(root))
        return description


def _refuse_macros(element: Element) -> None:
    """Raise an error if elements or attributes are left that xacro should have replaced."""
    kept = [
        f"{name}={shortened(text)}" for name, text in element.attributes.items() if "$" in text and _MACRO.search(text)
    ]
    if element.tag.startswith("xacro:") or kept:
        raise ModelError(
            f"{element}{f' with {kept[0]}' if kept else ''} is a macro of xacro: name the file .xacro, and it is "
            "expanded when it is loaded"
        )
    for child in element.children:
        _refuse_macros(child)


def _robot(root: Element, tool: str, reader: ShapeReader) -> Description:
    extension = root.one("chasles")
    extras: dict[str, Any] = {}
    if extension is not None:
        extras["source"] = extension.attributes.get("source", "")
        if "home" in extension.attributes:
            extras["home"] = extension.numbers("home", len(extension.text("home").split()))
        if "gravity" in extension.attributes:
            extras["gravity"] = extension.numbers("gravity", 3)
        tool = tool or extension.attributes.get("tool", "")
    return Description(
        name=root.attributes.get("name", "robot"),
        links=tuple(_link(element, reader) for element in root.all("link")),
        joints=tuple(_joint(element) for element in root.all("joint")),
        tool=tool,
        **extras,
    )


def _link(element: Element, reader: ShapeReader) -> Link:
    inertia = _inertia(element)
    return Link(element.text("name"), inertia, reader.shapes(element, "visual"), reader.shapes(element, "collision"))


def _inertia(link: Element) -> Inertia:
    inertial = link.one("inertial")
    if inertial is None:
        return Inertia()
    with naming(str(link)):
        mass, inertia = inertial.one("mass"), inertial.one("inertia")
        if mass is None:
            raise ModelError(f"{inertial} lacks <mass>")
        T_link_com = read_origin(inertial)
        matrix = np.zeros((3, 3))
        if inertia is not None:
            xx, xy, xz, yy, yz, zz = (inertia.number(f"i{pair}") for pair in ("xx", "xy", "xz", "yy", "yz", "zz"))
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        R = T_link_com[:3, :3]
        turned = R @ matrix @ R.T
        return Inertia(mass.number("value"), T_link_com[:3, 3], (turned + turned.T) / 2.0)


def _joint(element: Element) -> Joint:
    name, kind = element.text("name"), element.text("type")
    with naming(str(element)):
        if kind not in JOINT_TYPES:
            known = ", ".join(JOINT_TYPES)
            raise ModelError(f"the joint type {shortened(kind)} is not supported; supported: {known}")
        axis, dynamics, mimic = element.one("axis"), element.one("dynamics"), element.one("mimic")
        extension = element.one("chasles")
        moves = kind != "fixed"
        parameters: dict[str, Any] = {
            name: _bounds(extension, name)
            for name in OWN_PARAMETERS
            if extension is not None and name in extension.attributes
        }
        return Joint(
            name=name,
            kind=JOINT_TYPES[kind],
            parent=_end(element, "parent"),
            child=_end(element, "child"),
            T_parent_joint=read_origin(element),
            axis=np.array(X_AXIS if axis is None or not moves else axis.numbers("xyz", 3)),
            limits=_limits(element, kind) if moves else Limits(),
            viscous_friction=0.0 if dynamics is None else dynamics.number("damping", 0.0, largest=LARGEST_DAMPING),
            coulomb_friction=0.0 if dynamics is None else dynamics.number("friction", 0.0),
            drive_coupling=[] if extension is None else [_coupled(drive) for drive in extension.all("coupled")],
            mimic=None if mimic is None or not moves else _mimic(mimic),
            **parameters,
        )


def _end(element: Element, role: str) -> str:
    end = element.one(role)
    if end is None:
        raise ModelError(f"<{role}> is missing")
    return end.text("link")


def _limits(element: Element, kind: str) -> Limits:
    limit, extension = element.one("limit"), element.one("chasles")
    if extension is not None and extension.attributes.keys() & Limits.field_names():
        return Limits(
            **{name: _bounds(extension, name) for name in Limits.field_names() if name in extension.attributes}
        )
    if limit is None:
        return Limits()
    velocity, effort = _bound(limit, "velocity", math.inf), _bound(limit, "effort", math.inf)
    if kind in ("continuous", "floating", "planar") or not limit.attributes.keys() & {"lower", "upper"}:
        return Limits(velocity=velocity, effort=effort)
    return Limits(_bound(limit, "lower", 0.0), _bound(limit, "upper", 0.0), velocity, effort)


def _bound(limit: Element, attribute: str, default: float) -> float:
    return limit.number(attribute, default, largest=math.inf)


def _bounds(extension: Element, attribute: str) -> Bound:
    numbers = extension.numbers(attribute, len(extension.text(attribute).split()), largest=math.inf)
    return numbers[0] if len(numbers) == 1 else numbers


def _coupled(drive: Element) -> tuple[str, float]:
    return drive.text("joint"), drive.number("share")


def _mimic(mimic: Element) -> Mimic:
    return Mimic(mimic.text("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))
