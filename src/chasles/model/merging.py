"""Robots with fewer links."""

from __future__ import annotations

import numpy as np

from chasles.model.description import Description
from chasles.model.inertia import combined
from chasles.model.link import Frame
from chasles.model.placement import compose


def simplified(description: Description) -> Description:
    """Make a copy without fixed joints: links that they hold together become one link.

    It keeps the name and the frame of the link among them that a moving joint moves (or of the root), and has the
    inertia of all; the other links become frames. All computations give the same, and all frame names stay. What goes
    are the parameters of the merged links, such as ``links.hand.mass``.

    Parameters
    ----------
    description
        The robot.

    Examples
    --------
    >>> from chasles.model import load
    >>> arm = simplified(load("panda"))
    >>> arm.link_names[-1], [frame.name for frame in arm.frames]
    ('panda_link7', ['panda_link8', 'panda_hand', 'panda_hand_tcp'])
    """
    places = {description.root: (description.root, np.eye(4))}
    for joint in description.ordered_joints:
        if joint.moves:
            places[joint.child] = joint.child, np.eye(4)
        else:
            main, T = places[joint.parent]
            places[joint.child] = main, compose(T, joint.T_parent_joint, joint.T_joint_child)
    inertia = {link.name: link.inertia for link in description.links}
    members: dict[str, list[str]] = {main: [] for main, _ in places.values()}
    for name in description.link_names:
        members[places[name][0]].append(name)
    links = tuple(
        link.replace(inertia=combined([(inertia[name], places[name][1]) for name in members[link.name]]))
        if len(members[link.name]) > 1
        else link
        for link in description.links
        if link.name in members
    )
    merged = [Frame(name, *places[name]) for name in description.link_names if name not in members]
    frames = [
        frame.replace(link=places[frame.link][0], T_link_frame=compose(places[frame.link][1], frame.T_link_frame))
        for frame in description.frames
    ]
    joints = tuple(
        joint.replace(
            parent=places[joint.parent][0], T_parent_joint=compose(places[joint.parent][1], joint.T_parent_joint)
        )
        for joint in description.joints
        if joint.moves
    )
    return description.replace(links=links, joints=joints, frames=(*merged, *frames))
