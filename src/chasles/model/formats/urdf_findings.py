"""What looks wrong in the elements of a URDF file: tags and attributes that nobody reads, angles, axes, limits.

`urdf` reads what is right; here is what it would read differently from what the author means, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from chasles.base.errors import nearest
from chasles.base.findings import Finding, Rule
from chasles.model.formats.xml import Element
from chasles.model.numbers import written_number
from chasles.model.plausibility import Lines
from chasles.model.record import shortened

MISSPELT_TAG = Rule(
    "misspelt-tag",
    math.nan,
    "URDF does not know the tag, but one that is spelt almost like it",
    "{where}: the tag <{tag}> is not known, and what it says is ignored. Did you mean <{close}>?",
    "caution",
)
UNKNOWN_TAG = Rule(
    "unknown-tag",
    math.nan,
    "neither URDF nor the extensions that are met most often know the tag",
    "{where}: the tag <{tag}> is not known, and what it says is ignored",
)
MISSPELT_ATTRIBUTE = Rule(
    "misspelt-attribute",
    math.nan,
    "URDF does not know the attribute, but one that is spelt almost like it",
    "{where}: the attribute '{attribute}' is not known, and ignored. Did you mean '{close}'?",
    "caution",
)
UNKNOWN_ATTRIBUTE = Rule(
    "unknown-attribute",
    math.nan,
    "neither URDF nor the extensions that are met most often know the attribute",
    "{where}: the attribute '{attribute}' is not known, and ignored",
)
MISSING_LIMIT = Rule(
    "missing-limit",
    math.nan,
    "URDF demands <limit> of revolute and prismatic joints, and none of 2,000 in 335 files is without",
    "{where}: the {kind} joint has no <limit> and is read as unlimited; add one, or make the joint continuous",
    "caution",
)
MISSING_BOUND = Rule(
    "missing-bound",
    math.nan,
    "URDF demands effort and velocity of a limit; a position limit that is missing is 0 for many readers",
    "{where}: <limit> lacks {missing}, read as unlimited",
)
IGNORED_LIMIT = Rule(
    "ignored-limit",
    math.nan,
    "a continuous joint turns without end",
    "{where}: the joint is continuous, so lower and upper are ignored; make it revolute if they hold",
)
DEGREES = Rule(
    "angle-in-degrees",
    2.0 * math.pi,
    "no angle beyond a turn is needed, and the largest in 335 files is 4.71 rad",
    "{where}: the angle {value:g} in rpy is more than a turn; angles are in rad, so multiply degrees by pi/180",
    "caution",
)
ROUNDED_PI = Rule(
    "rounded-right-angle",
    1e-4,
    "an angle that is 1e-4 rad off moves a point at 1 m by 0.1 mm, more than robots repeat",
    "{where}: the angle {written} in rpy is {value:.2g} rad off {meant}; write {exact}",
)
#: Angles that differ from a right angle by more, rad, are meant so; 3.14 and 1.57 differ by less.
_CLOSE_TO_RIGHT = 2e-3
NOT_UNIT = Rule(
    "axis-not-unit",
    1e-3,
    "URDF demands a unit vector; some readers make it one, others scale the joint's motion by its length",
    "{where}: the axis has the length {length:.4g}; divide it by its length",
)

_PLACE = {"xyz", "rpy"}
_SHAPES: dict[str, set[str]] = {
    "box": {"size"},
    "sphere": {"radius"},
    "cylinder": {"radius", "length"},
    "capsule": {"radius", "length"},
    "mesh": {"filename", "scale"},
}
#: Tags and their attributes that readers of URDF know, by the tags around them. None: anything, as of extensions.
_KNOWN: Mapping[str, Mapping[str, set[str] | None]] = {
    "robot": {
        "link": {"name", "type"},
        "joint": {"name", "type", "dont_collapse"},
        "material": {"name"},
        **dict.fromkeys(("chasles", "gazebo", "transmission", "sensor", "ros2_control", "mujoco", "loop_joint")),
    },
    "link": {
        "inertial": set(),
        "visual": {"name"},
        "collision": {"name"},
        **dict.fromkeys(("contact", "gravity", "kinematic", "surface", "self_filter", "collision_checking", "sensor")),
    },
    "joint": {
        "origin": _PLACE,
        "parent": {"link"},
        "child": {"link"},
        "axis": {"xyz"},
        "limit": {"lower", "upper", "effort", "velocity", "acceleration", "jerk"},
        "dynamics": {"damping", "friction", "armature", "D", "K", "mu_coulomb", "mu_viscous", "spring_stiffness"},
        "mimic": {"joint", "multiplier", "offset"},
        "calibration": {"rising", "falling", "reference_position"},
        "safety_controller": {"soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity"},
        **dict.fromkeys(("chasles", "joint_properties")),
    },
    "inertial": {
        "origin": _PLACE,
        "mass": {"value"},
        "inertia": {"ixx", "ixy", "ixz", "iyx", "iyy", "iyz", "izx", "izy", "izz"},
        "density": None,
    },
    "visual": {"origin": _PLACE, "geometry": {"name"}, "material": {"name"}},
    "collision": {"origin": _PLACE, "geometry": {"name"}, "material": {"name"}, "verbose": None},
    "geometry": _SHAPES,
    "material": {"color": {"rgba"}, "texture": {"filename"}, "specular": None},
}


def element_lines(root: Element) -> Lines:
    """Return the lines of links and joints, by ``"link NAME"`` and ``"joint NAME"``."""
    return {
        f"{child.tag} {child.attributes.get('name', '')}": child.line
        for child in root.children
        if child.tag in ("link", "joint")
    }


def misspelt_tags(root: Element) -> list[Finding]:
    """Return the tags of a URDF file that are nearly known ones.

    Examples
    --------
    >>> from chasles.model.formats.xml import parse_xml
    >>> print(misspelt_tags(parse_xml(b'<robot name="r"><jiont name="j"/></robot>'))[0])
    <jiont> 'j' in line 1: the tag <jiont> is not known, and what it says is ignored. Did you mean <joint>?
    """
    return [finding for finding in _unknown(root) if finding.rule is MISSPELT_TAG]


def element_findings(root: Element) -> Iterator[Finding]:
    """Yield what looks wrong in the elements of a URDF file, from the first line to the last within each kind."""
    yield from _unknown(root)
    for joint in root.all("joint"):
        yield from _of_joint(joint)
    for element, owner in _origins(root):
        yield from _of_angles(element, owner)


def _unknown(element: Element, owner: Element | None = None) -> Iterator[Finding]:
    """Yield what is not known in an element and below; `owner` is the named element around it."""
    known = _KNOWN.get(element.tag, {})
    named = element if "name" in element.attributes else owner
    for child in element.children:
        if ":" in child.tag:  # a name of another vocabulary
            continue
        if child.tag not in known:
            yield from _not_known(child, named, known)
            continue
        attributes = known[child.tag]
        if attributes is None:
            continue
        for name in child.attributes:
            if name not in attributes and ":" not in name:
                close = _close(name, attributes)
                facts = {**_place(child, named), "attribute": name}
                if close is None:
                    yield from UNKNOWN_ATTRIBUTE.told(math.nan, **facts)
                else:
                    yield from MISSPELT_ATTRIBUTE.told(math.nan, **facts, close=close)
        yield from _unknown(child, named)


def _not_known(child: Element, owner: Element | None, known: Mapping[str, object]) -> Iterator[Finding]:
    facts = {**_place(child, owner), "tag": child.tag[:80]}
    close = _close(child.tag, known)
    if close is None:
        yield from UNKNOWN_TAG.told(math.nan, **facts)
    else:
        yield from MISSPELT_TAG.told(math.nan, **facts, close=close)


def _close(name: str, known: Mapping[str, object] | set[str]) -> str | None:
    """Return the known name that is meant, by another case or by one or two letters; None if there is none."""
    by_lower_case = {one.lower(): one for one in known}
    matches = nearest(name.lower()[:80], by_lower_case, similarity=0.8)
    return by_lower_case[matches[0]] if matches else None


def _place(element: Element, owner: Element | None = None) -> dict[str, object]:
    named = element if "name" in element.attributes or owner is None or owner.tag == "robot" else owner
    outer = "" if named is element else f" of <{named.tag}> {shortened(named.attributes.get('name', ''))}"
    return {
        "where": f"{element}{outer}",
        "element": named.tag,
        "name": named.attributes.get("name"),
        "line": element.line,
    }


def _of_joint(joint: Element) -> Iterator[Finding]:
    kind, facts = joint.attributes.get("type", ""), _place(joint)
    limits, axes = joint.all("limit"), joint.all("axis")
    if kind in ("revolute", "prismatic"):
        if not limits and not joint.all("chasles") and not joint.all("mimic"):  # a follower's range is its leader's
            yield from MISSING_LIMIT.told(math.nan, kind=kind, **facts)
        for missing in map(_missing_bounds, limits):
            if missing:
                yield from MISSING_BOUND.told(math.nan, missing=", ".join(missing), **facts)
    if kind == "continuous" and any({"lower", "upper"} & limit.attributes.keys() for limit in limits):
        yield from IGNORED_LIMIT.told(math.nan, **facts)
    for axis in axes if kind != "fixed" else ():
        numbers = _numbers(axis, "xyz")
        if numbers:
            length = math.hypot(*numbers)
            yield from NOT_UNIT.above(abs(length - 1.0), length=length, **facts)


def _missing_bounds(limit: Element) -> list[str]:
    """Names of the bounds that an element <limit> lacks; one of `lower` and `upper` alone may be left at 0."""
    missing = [name for name in ("lower", "upper", "effort", "velocity") if name not in limit.attributes]
    both = {"lower", "upper"} <= set(missing)
    return [name for name in missing if both or name in ("effort", "velocity")]


def _origins(root: Element) -> Iterator[tuple[Element, Element]]:
    """Yield the elements <origin> of joints, inertias and shapes, with the joint or link that they belong to."""
    for owner in root.children:
        if owner.tag in ("joint", "link"):
            for holder in (owner, *owner.children):
                if holder is owner or holder.tag in ("inertial", "visual", "collision"):
                    yield from ((origin, owner) for origin in holder.all("origin"))


def _of_angles(origin: Element, owner: Element) -> Iterator[Finding]:
    angles = _numbers(origin, "rpy")
    if not angles:
        return
    facts = _place(origin, owner)
    degrees = DEGREES.above(max(map(abs, angles)), **facts)
    yield from degrees
    if degrees:
        return
    for angle in angles:
        quarters = round(angle / (math.pi / 2))
        error = abs(angle - quarters * (math.pi / 2))
        if quarters and error < _CLOSE_TO_RIGHT:
            exact = quarters * math.pi / 2
            meant = {1: "pi/2", 2: "pi", 3: "3 pi/2", 4: "2 pi"}[abs(quarters)]
            more = {"written": f"{angle:g}", "meant": ("-" if quarters < 0 else "") + meant, "exact": repr(exact)}
            rounded = ROUNDED_PI.above(error, **more, **facts)
            if rounded:
                yield from rounded
                return


def _numbers(element: Element, attribute: str) -> list[float]:
    """Return the numbers in an attribute, empty if it is missing or holds something else: reading the file says so."""
    numbers = [written_number(word) for word in element.attributes.get(attribute, "").split()]
    return [number for number in numbers if number is not None and math.isfinite(number)] if None not in numbers else []
