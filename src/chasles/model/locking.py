"""Robots with fewer joints: joints locked at a position, and links merged across fixed joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from chasles.base.errors import ModelError, UnknownNameError
from chasles.model.description import Description, Frame
from chasles.model.drive_coupling import couplings_left, require_motor_at_rest
from chasles.model.inertia import combined
from chasles.model.joint import Joint
from chasles.model.joint_positions import Vector, at_home, checked_position, fixed_at, home_positions
from chasles.model.placement import FloatArray, compose
from chasles.model.record import shortened
from chasles.model.shapes import Shape
from chasles.model.topology import velocities_left


def lock_joints(description: Description, joints: Mapping[str, Any] | Iterable[str]) -> Description:
    """Make a copy with some joints locked.

    Joints that mimic a locked joint are locked too, at the positions that follow from it. The coordinates of the other
    joints keep their order, their home and their limits. All links and frames stay; the inertias of links that no
    longer move relative to each other act together. Friction and motor inertia of a locked joint are dropped.

    Parameters
    ----------
    description
        The robot.
    joints
        Names of independent joints, which stay at home, or a mapping from names to positions: one number, rad or m, or
        one for each coordinate of the joint (as in q; of a free joint the quaternion w, x, y, z and the position), or
        None for home.

    Raises
    ------
    UnknownNameError
        An unknown joint.
    ModelError
        The joint is fixed or mimics another one; a position has a wrong number of values, is not finite or is outside
        the limits of the joint (home may be); a quaternion is zero.

    Examples
    --------
    >>> from chasles.model import load
    >>> arm = lock_joints(load("puma560"), {"joint4": 0.5, "joint6": None})
    >>> arm.joint_names, arm.link_names[-1]
    (('joint1', 'joint2', 'joint3', 'joint5'), 'link6')
    """
    home = home_positions(description)
    positions = {name: home[name] for name in description.joint_names} | _positions(description, joints, home)
    locked = set(_given(joints))
    changed = {}
    for joint in description.ordered_joints:
        driver, ratio, offset = description.mimics.get(joint.name, ("", 1.0, 0.0))
        if driver in locked:
            position = positions[driver] if joint.name == driver else ratio * positions[driver] + offset
            if positions[driver] is not home[driver]:
                _check_limits(joint, position)
            require_motor_at_rest(joint, locked)
            changed[joint.name] = fixed_at(joint, position)
    joints_now = couplings_left(changed.get(joint.name, joint) for joint in description.joints)
    changed_description = description.replace(
        joints=joints_now,
        home=None,
        actuated=velocities_left(description.actuated, joints_now),
        independent=velocities_left(description.independent, joints_now),
    )
    return at_home(changed_description, positions)


def _given(joints: Mapping[str, Any] | Iterable[str]) -> dict[str, Any]:
    """Positions by the names of joints, None for home."""
    if isinstance(joints, str):
        return {joints: None}
    if isinstance(joints, Mapping):
        return dict(joints)
    if not isinstance(joints, Iterable):
        raise ModelError(f"joints to lock must be names, or positions by name, not {shortened(joints)}")
    return dict.fromkeys(joints)


def _positions(
    description: Description, joints: Mapping[str, Any] | Iterable[str], home: Mapping[str, Vector]
) -> dict[str, Vector]:
    known = {joint.name: joint for joint in description.joints}
    positions = {}
    for name, position in _given(joints).items():
        joint = known.get(name)
        if joint is None:
            raise UnknownNameError("joint", name, description.joint_names)
        if not joint.moves:
            raise ModelError(f"joint {shortened(name)} cannot be locked: it is fixed already")
        if joint.mimic is not None:
            leader = description.mimics[name][0]
            raise ModelError(f"joint {shortened(name)} cannot be locked: it follows {shortened(leader)}; lock that")
        positions[name] = home[name] if position is None else checked_position(joint, position)
    return positions


def _check_limits(joint: Joint, position: Vector) -> None:
    rows = zip(joint.coordinate_names, position.tolist(), *joint.position_limits, strict=True)
    for name, value, lower, upper in rows:
        if not lower <= value <= upper:
            raise ModelError(
                f"joint {shortened(joint.name)} cannot be locked at {name} = {value}: its limits are {lower} to {upper}"
            )


def simplified(description: Description) -> Description:
    """Make a copy without fixed joints: the links that they join become one link.

    A merged link keeps the name and the frame of the link that a moving joint moves (or of the root), and has the
    inertia and the shapes of all; the other links become frames. Results of computations and frame names are unchanged.
    The parameters of the absorbed links, such as ``links.hand.mass``, are no longer available.

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
    placements = {description.root: (description.root, np.eye(4))}
    for joint in description.ordered_joints:
        if joint.moves:
            placements[joint.child] = joint.child, np.eye(4)
        else:
            main, T = placements[joint.parent]
            placements[joint.child] = main, compose(T, joint.T_parent_joint, joint.T_joint_child)
    members: dict[str, list[str]] = {main: [] for main, _ in placements.values()}
    for name in description.link_names:
        members[placements[name][0]].append(name)
    by_name = {link.name: link for link in description.links}
    links = tuple(
        link.replace(
            inertia=combined([(by_name[name].inertia, placements[name][1]) for name in members[link.name]]),
            visuals=_placed((by_name[name].visuals, placements[name][1]) for name in members[link.name]),
            collisions=_placed((by_name[name].collisions, placements[name][1]) for name in members[link.name]),
        )
        if len(members[link.name]) > 1
        else link
        for link in description.links
        if link.name in members
    )
    merged = [Frame(name, *placements[name]) for name in description.link_names if name not in members]
    frames = [
        frame.replace(
            link=placements[frame.link][0], T_link_frame=compose(placements[frame.link][1], frame.T_link_frame)
        )
        for frame in description.frames
    ]
    joints = tuple(
        joint.replace(
            parent=placements[joint.parent][0],
            T_parent_joint=compose(placements[joint.parent][1], joint.T_parent_joint),
        )
        for joint in description.joints
        if joint.moves
    )
    return description.replace(links=links, joints=joints, frames=(*merged, *frames))


def _placed(shapes: Iterable[tuple[Iterable[Shape], FloatArray]]) -> tuple[Shape, ...]:
    """All the shapes, moved with their links."""
    return tuple(
        shape.replace(T_link_shape=compose(T, shape.T_link_shape)) for together, T in shapes for shape in together
    )
