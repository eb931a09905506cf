"""SRDF, MoveIt's companion of URDF: groups of joints, named states, end effectors and pairs of links that may touch.

Source: http://wiki.ros.org/srdf. Read are ``<group>`` with joints, links, chains and other groups, ``<group_state>``,
``<end_effector>``, ``<disable_collisions>``, ``<passive_joint>`` and ``<virtual_joint>``; everything else is ignored.
What names joints or links that the robot does not have is left out with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chasles.base.errors import ArgumentTypeError, ModelError, warn
from chasles.engine.validators import choice
from chasles.model.description import Description
from chasles.model.formats.files import read_bytes
from chasles.model.formats.xml import MAX_BYTES, Element, parse_xml
from chasles.model.inertia import ModelWarning
from chasles.model.locking import lock_joints
from chasles.model.record import DescriptionRecord, naming, shortened
from chasles.model.tools import with_tool_named

_LISTED = 4


@dataclass(frozen=True, eq=False)
class EndEffector(DescriptionRecord):
    """A gripper or tool: the group of its joints, and the link and group that carry it; empty if not named."""

    group: str
    parent_link: str
    parent_group: str = ""


@dataclass(frozen=True, eq=False)
class Semantics(DescriptionRecord):
    """Contents of an SRDF file of a robot.

    Parameters
    ----------
    groups
        Names of the joints of each group, in the order of the robot.
    tips
        Link at the end of each group, if the file names one: the tip of its chain, or the parent link of an end
        effector with this group as its parent group.
    states
        Configurations by name, (nq,) each; joints that a state does not name are at home. Two states of one name in
        different groups are called ``group.state``.
    end_effectors
        Grippers and tools by name.
    disabled_pairs
        Pairs of links with contact ignored, each pair in alphabetical order, with the reason given in the file.
    passive_joints
        Joints without a drive.
    """

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    states: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    end_effectors: Mapping[str, EndEffector] = field(default_factory=dict)
    disabled_pairs: Mapping[tuple[str, str], str] = field(default_factory=dict)
    passive_joints: tuple[str, ...] = ()
    tips: Mapping[str, str] = field(default_factory=dict)


def with_semantics(
    description: Description, path: str | Path, *, group: str = "", tool: str = "", complete: bool = True
) -> Description:
    """Make a copy that knows what an SRDF file says: its disabled pairs, and one group of its joints alone.

    Parameters
    ----------
    description
        The robot.
    path
        The SRDF file.
    group
        Name of a group: joints outside it are locked at home, and its tip is the tool.
    tool
        Name of the tool, instead of the group's tip.
    complete
        Whether to warn of names that the robot does not have.

    Raises
    ------
    UnknownNameError
        The file has no such group.
    ModelError
        The file cannot be read, or the group moves nothing.
    """
    semantics = parse_srdf(description, read_bytes(path, MAX_BYTES), file=str(path), complete=complete)
    description = description.replace(disabled_pairs=tuple(semantics.disabled_pairs))
    if not group:
        return description
    choice(group, "group", semantics.groups)
    moving = [name for name in description.joint_names if name in semantics.groups[group]]
    if not moving:
        raise ModelError(f"{path}: no joint of the group {shortened(group)} moves robot '{description.name}'")
    locked = lock_joints(description, [name for name in description.joint_names if name not in moving])
    tip = tool or semantics.tips.get(group, "") or locked.joint(moving[-1]).child
    return with_tool_named(locked, tip)


def from_srdf(description: Description, path: str | Path) -> Semantics:
    """Read an SRDF file of a robot.

    Parameters
    ----------
    description
        Robot whose joints and links the file names.
    path
        The file.

    Raises
    ------
    ArgumentTypeError
        The first argument is not a description.
    ModelError
        The message names the file, the element with its line, and the reason.

    Warns
    -----
    ModelWarning
        The file names joints or links that the robot does not have.
    """
    _require_first(description, "from_srdf(description, path)")
    return parse_srdf(description, read_bytes(path, MAX_BYTES), file=str(path))


def parse_srdf(
    description: Description, text: str | bytes, *, file: str = "SRDF text", complete: bool = True
) -> Semantics:
    """Read the text of an SRDF file of a robot.

    `file` is its name in messages; with ``complete=False`` names that the robot does not have are ignored silently.

    Examples
    --------
    >>> from chasles.model import load
    >>> text = '''<robot name="planar2r"><group name="arm"><chain base_link="link0" tip_link="link2"/></group>
    ... <group_state name="bent" group="arm"><joint name="joint2" value="1.5"/></group_state></robot>'''
    >>> read = parse_srdf(load("planar2r"), text)
    >>> read.groups["arm"], read.states["bent"]
    (('joint1', 'joint2'), array([0. , 1.5]))
    """
    _require_first(description, "parse_srdf(description, text)")
    with naming(file):
        root = parse_xml(text.encode() if isinstance(text, str) else text)
        if root.tag != "robot":
            raise ModelError(f"the root element is {root}, not <robot>")
        reader = _Reader(root, description)
        semantics = reader.semantics()
    if reader.unknown and complete:
        names = ", ".join(map(shortened, list(reader.unknown)[:_LISTED]))
        more = f" and {len(reader.unknown) - _LISTED} more" if len(reader.unknown) > _LISTED else ""
        warn(f"{file} names what robot '{description.name}' does not have: {names}{more}", ModelWarning)
    return semantics


def _require_first(description: object, call: str) -> None:
    """Raise `ArgumentTypeError` unless the first argument is a description."""
    if not isinstance(description, Description):
        kind = type(description).__name__
        raise ArgumentTypeError(f"the description comes first: {call}; the first argument is a {kind}")


class _Reader:
    def __init__(self, root: Element, description: Description) -> None:
        self.root = root
        self.description = description
        self.joints = {joint.name: joint for joint in description.ordered_joints}
        self.above = {joint.child: joint for joint in description.joints}
        self.unknown: dict[str, None] = {}
        self.virtual = {element.text("name") for element in root.all("virtual_joint")}

    def semantics(self) -> Semantics:
        groups: dict[str, Element] = {}
        for element in self.root.all("group"):
            if element.text("name") in groups:
                raise ModelError(f"{element}: there are two groups of this name")
            groups[element.text("name")] = element
        members = {name: self._joints(name, groups, ()) for name in groups}
        return Semantics(
            {
                name: tuple(joint for joint in self.joints if joint in members_of_group)
                for name, members_of_group in members.items()
            },
            self._states(),
            self._end_effectors(groups),
            self._disabled_pairs(),
            tuple(name for e in self.root.all("passive_joint") if self._has(name := e.text("name"), self.joints)),
            self._tips(groups),
        )

    def _has(self, name: str, known: Mapping[str, object]) -> bool:
        """Whether there is such a joint, link or group; names that are not known are remembered."""
        if name not in known and name not in self.virtual:
            self.unknown[name] = None
        return name in known

    def _joints(self, name: str, groups: Mapping[str, Element], inside: tuple[str, ...]) -> set[str]:
        if not self._has(name, groups):
            return set()
        if name in inside:
            raise ModelError(f"{groups[name]} holds itself: {' → '.join((*inside, name))}")
        moving: set[str] = set()
        for part in groups[name].children:
            if part.tag == "joint" and self._has(part.text("name"), self.joints):
                moving.add(part.text("name"))
            elif part.tag == "link" and self._has(part.text("name"), self._links):
                if part.text("name") in self.above:
                    moving.add(self.above[part.text("name")].name)
            elif part.tag == "chain":
                moving |= self._chain(part)
            elif part.tag == "group":
                moving |= self._joints(part.text("name"), groups, (*inside, name))
        return moving

    @property
    def _links(self) -> dict[str, None]:
        return dict.fromkeys(self.description.link_names)

    def _chain(self, chain: Element) -> set[str]:
        base, link = chain.text("base_link"), chain.text("tip_link")
        if not all([self._has(base, self._links), self._has(link, self._links)]):
            return set()
        return self._joints_above(base) ^ self._joints_above(link)  # up to the link that carries both, and down

    def _joints_above(self, link: str) -> set[str]:
        above = set()
        while link in self.above:
            above.add(self.above[link].name)
            link = self.above[link].parent
        return above

    def _states(self) -> dict[str, NDArray[np.float64]]:
        elements = self.root.all("group_state")
        names = [element.text("name") for element in elements]
        states = {}
        for element, name in zip(elements, names, strict=True):
            shown = name if names.count(name) == 1 else f"{element.text('group')}.{name}"
            states[shown] = self._state(element)
        return states

    def _state(self, element: Element) -> NDArray[np.float64]:
        q = self.description.home.copy()
        for part in element.all("joint"):
            name = part.text("name")
            if not self._has(name, self.joints) or name not in self.description.starts:
                continue  # a joint that is fixed, or follows another
            count = len(self.joints[name].coordinate_names)
            if count > 1:
                raise ModelError(f"{part}: states of joints with {count} coordinates are not supported")
            q[self.description.starts[name][0]] = part.number("value")
        q.flags.writeable = False
        return q

    def _end_effectors(self, groups: Mapping[str, Element]) -> dict[str, EndEffector]:
        end_effectors = {}
        for element in self.root.all("end_effector"):
            if element.text("group") not in groups:
                raise ModelError(f"{element} is of the group {shortened(element.text('group'))}, which does not exist")
            link = element.text("parent_link")
            link = link if self._has(link, dict.fromkeys(self.description.frame_names)) else ""
            parent = element.attributes.get("parent_group", "")
            end_effectors[element.text("name")] = EndEffector(element.text("group"), link, parent)
        return end_effectors

    def _tips(self, groups: Mapping[str, Element]) -> dict[str, str]:
        known = self.description.frame_names
        tips = {
            element.attributes.get("parent_group", ""): element.text("parent_link")
            for element in self.root.all("end_effector")
        }
        for name, element in groups.items():
            chains = element.all("chain")
            if len(chains) == 1:
                tips[name] = chains[0].text("tip_link")
        return {name: link for name, link in tips.items() if name in groups and link in known}

    def _disabled_pairs(self) -> dict[tuple[str, str], str]:
        pairs = {}
        for element in self.root.all("disable_collisions"):
            first, second = sorted((element.text("link1"), element.text("link2")))
            if all([self._has(first, self._links), self._has(second, self._links)]):
                pairs[first, second] = element.attributes.get("reason", "")
        return pairs
