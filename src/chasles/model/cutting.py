"""Parts of robots: a chain, a branch, or the rest without a branch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, get_args

import numpy as np

from chasles.base.errors import ModelError
from chasles.engine.validators import choice
from chasles.model.description import Description
from chasles.model.drive_coupling import couplings_left, require_motor_at_rest
from chasles.model.inertia import Inertia
from chasles.model.joint import Joint, Mimic
from chasles.model.joint_positions import at_home, fixed_at, home_positions, pose_at_home
from chasles.model.loop import Loop
from chasles.model.record import shortened
from chasles.model.tools import with_tool_named
from chasles.model.topology import velocities_left

Branches = Literal["lock", "drop"]


def sub_chain(description: Description, base_link: str, tip: str, *, branches: Branches = "lock") -> Description:
    """Make a robot of the serial chain between two links.

    The base link becomes the root and keeps its pose in the home configuration. Links before it are removed.

    Parameters
    ----------
    description
        The robot.
    base_link
        Name of the first link.
    tip
        Name of the last link, or of a frame on it. A frame becomes the tool. A link also becomes the tool, unless the
        present tool is fixed to it (joints that are now locked count as fixed).
    branches
        Treatment of the links that branch off the chain or follow it. ``"lock"``: they stay and add to the inertia of
        the links, with their joints fixed at home, except joints that mimic a joint of the chain. ``"drop"``: only the
        links between base and tip stay, with the frames on them.

    Raises
    ------
    UnknownNameError
        An unknown link, frame or treatment of branches.
    ModelError
        The tip is the base link, or not a descendant of it.

    Notes
    -----
    A joint of the chain that mimics one outside it becomes independent.

    Examples
    --------
    >>> from chasles.model import load
    >>> wrist = sub_chain(load("puma560"), "link3", "link6")
    >>> wrist.joint_names, wrist.root, wrist.tool
    (('joint4', 'joint5', 'joint6'), 'link3', 'tool')
    """
    choice(branches, "way to treat branches", get_args(Branches))
    last = description.frame(tip).link
    way = _way(description, base_link, last)
    if not way:
        raise ModelError(f"a chain from link {shortened(base_link)} to itself has no joint")
    links = [base_link, *(joint.child for joint in way)] if branches == "drop" else _beyond(description, base_link)
    chain = {joint.name for joint in way}
    moving = [name for name, (leader, _, _) in description.mimics.items() if name in chain or leader in chain]
    part = _part(description, base_link, links, moving)
    if tip == last and part.tool in part.frame_names and _fixed_together(part, last, part.frame(part.tool).link):
        return part
    return with_tool_named(part, tip)


def sub_tree(description: Description, link: str) -> Description:
    """Make a robot from a link and all its descendants.

    The link becomes the root and keeps its pose in the home configuration. The tool is unchanged if it is in this part.

    Parameters
    ----------
    description
        The robot.
    link
        Name of the link.

    Raises
    ------
    UnknownNameError
        There is no such link.

    Notes
    -----
    A joint that mimics one outside this part becomes independent.

    Examples
    --------
    >>> from chasles.model import load
    >>> sub_tree(load("puma560"), "link3").joint_names
    ('joint4', 'joint5', 'joint6')
    """
    return _part(description, link, _beyond(description, link), description.mimics)


def without(description: Description, link: str) -> Description:
    """Make a copy without a link and its descendants.

    Parameters
    ----------
    description
        The robot. If its tool is removed, the default tool takes its place (see `Description`).
    link
        Name of the link.

    Raises
    ------
    UnknownNameError
        There is no such link.
    ModelError
        The link is the root.

    Notes
    -----
    A joint that mimics a removed joint becomes independent.

    Examples
    --------
    >>> from chasles.model import load
    >>> without(load("puma560"), "link4").joint_names
    ('joint1', 'joint2', 'joint3')
    """
    gone = _beyond(description, link)
    if link == description.root:
        raise ModelError(f"without link {shortened(link)}, the root, nothing is left of the robot")
    links = [name for name in description.link_names if name not in gone]
    return _part(description, description.root, links, description.mimics)


def _part(description: Description, root: str, links: Collection[str], moving: Collection[str]) -> Description:
    """Return the robot of some links, with the joints between them that move, the others being fixed at home."""
    kept = set(links)
    home = home_positions(description)
    between = [joint for joint in description.joints if joint.parent in kept and joint.child in kept]
    stays = {joint.name for joint in between if joint.name in moving}
    joints = []
    for joint in between:
        if joint.name not in stays:
            require_motor_at_rest(joint, set(description.joint_names) - stays)
            joint = fixed_at(joint, home[joint.name]) if joint.moves else joint
        joints.append(joint)
    frames = tuple(frame for frame in description.frames if frame.link in kept)
    kept_frames = kept | {frame.name for frame in frames}
    _require_whole_loops(description.loops, kept_frames)
    has_tool = description.tool in kept_frames
    joints = list(couplings_left(_with_leaders_inside(description, joints)))
    part = description.replace(
        links=tuple(link for link in description.links if link.name in kept),
        joints=joints,
        frames=frames,
        T_world_base=pose_at_home(description, root),
        tool=description.tool if has_tool else "",
        payload=description.payload if has_tool else Inertia(),
        home=None,
        loops=tuple(loop for loop in description.loops if loop.first in kept_frames),
        actuated=velocities_left(description.actuated, joints),
        independent=velocities_left(description.independent, joints),
        disabled_pairs=tuple(pair for pair in description.disabled_pairs if kept.issuperset(pair)),
    )
    return at_home(part, home)


def _require_whole_loops(loops: Collection[Loop], kept_frames: Collection[str]) -> None:
    for loop in loops:
        if (loop.first in kept_frames) != (loop.second in kept_frames):
            raise ModelError(f"loop {shortened(loop.name)} joins this part to the rest of the robot; remove it first")


def _with_leaders_inside(description: Description, joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """Return joints that follow none but each other: the first that followed an outsider leads the others."""
    inside = {joint.name: joint for joint in joints}
    leaders: dict[str, tuple[str, float, float]] = {}  # by outside leader: the new one, with its ratio and offset
    for joint in description.ordered_joints:
        if joint.name not in inside or _leads_inside(inside[joint.name], inside):
            continue
        driver, ratio, offset = description.mimics[joint.name]
        if ratio == 0.0:
            changed = fixed_at(joint, np.array([offset]))
        elif driver in inside and inside[driver].moves:
            changed = joint.replace(mimic=Mimic(driver, ratio, offset))
        elif driver in leaders:
            leader, of_leader, start = leaders[driver]
            share = ratio / of_leader
            changed = joint.replace(mimic=Mimic(leader, share, offset - share * start))
        else:
            leaders[driver] = joint.name, ratio, offset
            changed = joint.replace(mimic=None)
        inside[joint.name] = changed
    return tuple(inside[joint.name] for joint in joints)


def _leads_inside(joint: Joint, inside: dict[str, Joint]) -> bool:
    """Whether the joints that a follower goes with, one after the other, are all inside."""
    leader: Joint | None = joint
    while leader is not None and leader.mimic is not None:
        leader = inside.get(leader.mimic.joint)
    return leader is not None and (leader is joint or leader.moves)


def _beyond(description: Description, link: str) -> set[str]:
    """Return a link and all that hangs on it."""
    links = {description.link(link).name}
    for joint in description.ordered_joints:
        if joint.parent in links:
            links.add(joint.child)
    return links


def _way(description: Description, base_link: str, last: str) -> list[Joint]:
    """Return the joints from one link to another."""
    above = {joint.child: joint for joint in description.joints}
    way: list[Joint] = []
    base_link, link = description.link(base_link).name, last
    while link != base_link:
        if link not in above:
            before = ", ".join([description.root, *(joint.child for joint in reversed(way))])
            raise ModelError(
                f"link {shortened(last)} does not hang on link {shortened(base_link)}: the links up to it are {before}"
            )
        way.append(above[link])
        link = above[link].parent
    return way[::-1]


def _fixed_together(description: Description, link: str, other: str) -> bool:
    """Whether only fixed joints are on the way from a link to another that hangs on it, if it does."""
    above = {joint.child: joint for joint in description.joints}
    while other != link:
        if other not in above or above[other].moves:
            return False
        other = above[other].parent
    return True
