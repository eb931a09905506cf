"""The shape of a kinematic tree: its root, an order of its joints, and why a description is no tree."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from chasles.base.errors import ModelError
from chasles.model.joint import Joint
from chasles.model.numbers import WITHIN_BOUND, is_bounded
from chasles.model.record import shortened

if TYPE_CHECKING:
    from chasles.model.link import Frame
    from chasles.model.loop import Loop


def check_unique(kind: str, names: Iterable[str]) -> None:
    """Raise a ModelError when a name is empty, is not text or occurs twice."""
    counts = Counter(names)
    for name, count in counts.items():
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind} has the name {shortened(name)}; a name must be text that is not empty")
        if count > 1:
            plural = " or ".join(f"{word}s" for word in kind.split(" or "))
            raise ModelError(f"{count} {plural} have the name {shortened(name)}; names must differ")


def check_references(
    links: Sequence[str], frames: Sequence[Frame], loops: Sequence[Loop], disabled_pairs: Sequence[tuple[str, str]]
) -> None:
    """Raise a ModelError when frames, loops or pairs of links name something that does not exist."""
    known = set(links)
    for name in (name for pair in disabled_pairs for name in pair if name not in known):
        raise ModelError(f"a disabled pair names the link {shortened(name)}, which does not exist")
    for frame in frames:
        if frame.link not in known:
            raise ModelError(
                f"frame {shortened(frame.name)} is on the link {shortened(frame.link)}, which does not exist"
            )
    known |= {frame.name for frame in frames}
    for loop in loops:
        for role, name in (("first", loop.first), ("second", loop.second)):
            if name not in known:
                raise ModelError(
                    f"the {role} frame {shortened(name)} of loop {shortened(loop.name)} is no link or frame"
                )


def ordered_joints(links: Sequence[str], joints: Sequence[Joint]) -> tuple[str, tuple[Joint, ...]]:
    """Return the root link and the joints, parents before children and otherwise in the order given.

    Raises
    ------
    ModelError
        The links and joints are not one tree: an unknown link, a link with two parents, two roots or a cycle.
    """
    known = set(links)
    parent_joint: dict[str, Joint] = {}
    for joint in joints:
        for role, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                raise ModelError(
                    f"joint {shortened(joint.name)} has the {role} link {shortened(link)}, which does not exist"
                )
        if joint.child in parent_joint:
            other = parent_joint[joint.child].name
            raise ModelError(
                f"link {shortened(joint.child)} is the child of two joints, "
                f"{shortened(other)} and {shortened(joint.name)}; "
                "make one of them a loop (`Description.loops`)"
            )
        parent_joint[joint.child] = joint
    roots = [link for link in links if link not in parent_joint]
    if len(roots) > 1:
        shown = ", ".join(shortened(root) for root in roots[:5]) + (", ..." if len(roots) > 5 else "")
        raise ModelError(f"{len(roots)} links are the child of no joint ({shown}); exactly one may be the root")
    order = _from_root(roots, joints)
    if len(order) < len(joints):
        reached = {joint.name for joint in order}
        lost = [shortened(joint.name) for joint in joints if joint.name not in reached]
        shown = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
        raise ModelError(f"joints {shown} form a cycle or hang on one: no way leads to them from a root link")
    if not roots:
        raise ModelError("there is no link")
    return roots[0], order


def _from_root(roots: list[str], joints: Sequence[Joint]) -> tuple[Joint, ...]:
    children: dict[str, list[int]] = {}
    for index, joint in enumerate(joints):
        children.setdefault(joint.parent, []).append(index)
    ready = [index for root in roots for index in children.get(root, ())]
    heapq.heapify(ready)
    order = []
    while ready:
        joint = joints[heapq.heappop(ready)]
        order.append(joint)
        for index in children.get(joint.child, ()):
            heapq.heappush(ready, index)
    return tuple(order)


def resolved_mimics(joints: Sequence[Joint]) -> dict[str, tuple[str, float, float]]:
    """For every moving joint: the independent joint that drives it, and ratio and offset of its position to that one's.

    Raises
    ------
    ModelError
        A joint mimics an unknown or fixed joint, joints mimic one another in a circle, or the ratios of followers of
        followers multiply to more than 1e9.
    """
    by_name = {joint.name: joint for joint in joints}
    resolved: dict[str, tuple[str, float, float]] = {}
    for joint in joints:
        if not joint.moves:
            continue
        waiting: dict[str, Joint] = {}
        current = joint
        while current.name not in resolved and current.mimic is not None:
            if current.name in waiting:
                raise ModelError(f"joint {shortened(joint.name)} mimics itself through a circle of joints")
            waiting[current.name] = current
            followed = by_name.get(current.mimic.joint)
            if followed is None or not followed.moves:
                kind = "which does not exist" if followed is None else "which is fixed"
                raise ModelError(
                    f"joint {shortened(current.name)} mimics the joint {shortened(current.mimic.joint)}, {kind}"
                )
            if len(followed.freedoms) > 1:
                raise ModelError(
                    f"joint {shortened(current.name)} mimics the joint {shortened(followed.name)}, which is "
                    f"{followed.kind}: only a joint with one degree of freedom can be followed"
                )
            current = followed
        driver, ratio, offset = resolved.setdefault(current.name, (current.name, 1.0, 0.0))
        for follower in reversed(waiting.values()):
            mimic = follower.mimic
            if mimic is not None:
                ratio, offset = mimic.ratio * ratio, mimic.ratio * offset + mimic.offset
                # Each factor is bounded, but the products along a chain of followers may be not.
                for what, value in (("ratio", ratio), ("offset", offset)):
                    if not is_bounded(value):
                        raise ModelError(
                            f"joint {shortened(follower.name)} mimics the joint {shortened(mimic.joint)}, and through "
                            f"it {shortened(driver)} with the {what} {value:g}: the {what} {WITHIN_BOUND}"
                        )
            resolved[follower.name] = (driver, ratio, offset)
    return resolved


def velocities_left(names: Iterable[str], joints: Iterable[Joint]) -> tuple[str, ...]:
    """Return the names, of joints or of single velocities, that belong to one of these joints and have a coordinate.

    Examples
    --------
    >>> velocities_left(["slide", "turn"], [Joint("slide", "prismatic", "a", "b"), Joint("turn", "fixed", "b", "c")])
    ('slide',)
    """
    moving = [joint for joint in joints if joint.moves and joint.mimic is None]
    known = {name for joint in moving for name in (*joint.velocity_names, joint.name)}
    return tuple(name for name in names if name in known)
