"""The tool and the home configuration of a robot whose description names none."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from chasles.model.joint import Joint
from chasles.model.link import Frame

#: Patterns of the names that files give to tool frames, the best first.
_TOOL_NAMES = (
    r"(^|[_/])tcp($|_)",
    r"(^|[_/])grasp",
    r"(^|[_/])tool0?($|_(frame|link|tip)$)",
    r"(^|[_/])(eef?($|_)|end_?effector)",
    r"(^|[_/])flange($|_(frame|link)$)",
)


def default_tools(
    root: str, joints: Sequence[Joint], link_names: Sequence[str], frames: Sequence[Frame]
) -> tuple[str, ...]:
    """Return the names of the frames that have equal claim to be the tool, at least one.

    Parameters
    ----------
    root
        Name of the root link.
    joints
        All joints, parents before children.
    link_names, frames
        The other frames of the robot.

    Returns
    -------
    tuple of str
        The frame named "tool"; else those with the best tool name that are deepest in the tree; else the deepest links.

    Examples
    --------
    >>> joints = [Joint("pivot", "revolute", "base", "bob")]
    >>> default_tools("base", joints, ["base", "bob"], [])
    ('bob',)
    >>> default_tools("base", joints, ["base", "bob"], [Frame("camera", "bob"), Frame("tcp", "base")])
    ('tcp',)
    """
    names = [*link_names, *(frame.name for frame in frames)]
    if "tool" in names:
        return ("tool",)
    depth = {root: 0}
    for joint in joints:
        depth[joint.child] = depth[joint.parent] + 1
    depths = depth | {frame.name: depth[frame.link] + 1 for frame in frames}
    for pattern in _TOOL_NAMES:
        named = {name: depths[name] for name in names if re.search(pattern, name.lower())}
        if named:
            return _deepest(named)
    return _deepest(depth)


def _deepest(depth: Mapping[str, int]) -> tuple[str, ...]:
    deepest = max(depth.values())
    return tuple(name for name in depth if depth[name] == deepest)


def default_home(joints: Sequence[Joint]) -> list[float]:
    """Return the coordinates of independent joints: within the limits, near 0, and the identity for quaternions.

    Examples
    --------
    >>> default_home([Joint("hip", "spherical", "body", "leg")])
    [1.0, 0.0, 0.0, 0.0]
    """
    home: list[float] = []
    for joint in joints:
        middles = [_middle(lower, upper) for lower, upper in zip(*joint.position_limits, strict=True)]
        home += [1.0, *middles[1:]] if joint.has_quaternion else middles
    return home


def _middle(lower: float, upper: float) -> float:
    """Zero if it is within the limits, else their middle, or the finite one of them."""
    if lower <= 0.0 <= upper:
        return 0.0
    if math.isinf(lower) or math.isinf(upper):
        return upper if math.isinf(lower) else lower
    return 0.5 * lower + 0.5 * upper
