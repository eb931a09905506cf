"""Joints with several degrees of freedom written as chains of joints with one, for descriptions that know no others."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chasles.base.errors import ModelError
from chasles.model.description import Description, Link
from chasles.model.freedoms import JointKind
from chasles.model.joint import JOINT_PARAMETERS, Joint, Limits, Mimic
from chasles.model.loop import LoopKind
from chasles.model.record import shortened


def with_single_freedoms(
    description: Description, *, also: tuple[JointKind, ...] = (), keep: tuple[JointKind, ...] = ()
) -> Description:
    """Make a copy in which joints with several degrees of freedom are chains of revolute and prismatic ones.

    Between the joints of a chain are links without mass. Coordinates, their names and the mechanics stay what they are:
    joint "hip" of kind universal becomes "hip.first" and "hip.second". Spherical and free joints stay: their rotations
    are those of a quaternion.

    Parameters
    ----------
    description
        The robot.
    also
        "helical": such a joint becomes a revolute one of the same name, and a prismatic one, with ".travel" added, that
        follows it.
    keep
        Kinds of joints that stay.

    Examples
    --------
    >>> hip = Joint("hip", "universal", "body", "leg", axis=[1.0, 0.0, 0.0])
    >>> robot = Description("robot", links=(Link("body"), Link("leg")), joints=(hip,))
    >>> with_single_freedoms(robot).joint_names == robot.coordinate_names
    True
    """

    def is_replaced(joint: Joint) -> bool:
        several = len(joint.freedoms) > 1 and not joint.has_quaternion and joint.kind not in keep
        return several or joint.kind in also

    if not any(map(is_replaced, description.joints)):
        return description
    taken = set(description.frame_names)
    links, joints = list(description.links), []
    for joint in description.joints:
        if not is_replaced(joint):
            joints.append(joint)
            continue
        parts = list(_helical_parts(joint) if joint.kind == "helical" else _parts(joint))
        parent = joint.parent
        for part in parts[:-1]:
            child = unused_name(part.name, taken)
            links.append(Link(child))
            joints.append(part.replace(parent=parent, child=child))
            parent = child
        joints.append(parts[-1].replace(parent=parent, child=joint.child, T_joint_child=joint.T_joint_child))
    return description.replace(links=tuple(links), joints=tuple(joints))


def unused_name(wanted: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it.

    Examples
    --------
    >>> unused_name("tool", {"tool", "tool_2"})
    'tool_3'
    """
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    taken.add(name)
    return name


def require_kinds(
    description: Description, kinds: tuple[JointKind, ...], what: str, loops: tuple[LoopKind, ...] = ()
) -> None:
    """Raise a ModelError that says why `what` cannot describe a joint, or a loop, of another kind."""
    for loop in description.loops:
        if loop.kind not in loops:
            kind = f"is {loop.kind} and " if loops else ""
            raise ModelError(
                f"robot '{description.name}' has no {what}: its loop {shortened(loop.name)} {kind}has no place there; "
                "write it as TOML"
            )
    for joint in description.joints:
        if joint.kind not in kinds:
            raise ModelError(
                f"robot '{description.name}' has no {what}: joint {shortened(joint.name)} is {joint.kind}, and "
                f"the joints must be {', '.join(kinds[:-1])} or {kinds[-1]}"
            )


def _parts(joint: Joint) -> Iterator[Joint]:
    """One joint for each degree of freedom, without links."""
    count = len(joint.freedoms)
    for index, (name, freedom) in enumerate(zip(joint.velocity_names, joint.freedoms, strict=True)):
        bounds = {limit: joint.limits.each(limit, count)[index] for limit in Limits.field_names()}
        yield Joint(
            name=name,
            kind="revolute" if freedom.angular else "prismatic",
            parent=joint.parent,
            child=joint.child,
            T_parent_joint=joint.T_parent_joint if index == 0 else np.eye(4),
            axis=freedom.direction,
            limits=Limits(**bounds),
            coulomb_shares=joint.coulomb_shares,
            **{parameter: getattr(joint, parameter) for parameter in JOINT_PARAMETERS},
        )


def _helical_parts(joint: Joint) -> Iterator[Joint]:
    yield joint.replace(kind="revolute", pitch=0.0, T_joint_child=np.eye(4))
    yield Joint(
        name=f"{joint.name}.travel",
        kind="prismatic",
        parent=joint.parent,
        child=joint.child,
        axis=joint.axis,
        mimic=Mimic(joint.name, joint.pitch),
    )
