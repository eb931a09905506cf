"""Robots made from others: on a free base, closed by a loop, attached to another, with coupled drives, or renamed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from chasles.base.errors import ArgumentError, ModelError, UnknownNameError
from chasles.engine.arguments import as_array
from chasles.geometry.quaternion_rotations import quaternion_from_rotation
from chasles.model.description import Description, Link
from chasles.model.joint import Joint
from chasles.model.joint_positions import at_home, home_positions, pose_at_home
from chasles.model.loop import Loop, LoopFields, LoopKind
from chasles.model.numbers import frozen_array
from chasles.model.placement import compose, frozen_placement, homogeneous, inverse
from chasles.model.record import shortened
from chasles.model.tools import with_payload_held


def with_free_base(description: Description, *, joint: str = "base", world: str = "world") -> Description:
    """Make a copy whose root link moves freely in a new root link.

    Parameters
    ----------
    description
        The robot. In its home configuration the base stays where it is.
    joint, world
        Names of the free joint and of the new root link.

    Raises
    ------
    ModelError
        The name of the joint or of the link is already taken.

    Examples
    --------
    >>> from chasles.model import load
    >>> free = with_free_base(load("planar2r"))
    >>> free.nq, free.nv, free.root
    (9, 8, 'world')
    """
    T = description.T_world_base
    return description.replace(
        links=(Link(world), *description.links),
        joints=(Joint(joint, "free", world, description.root), *description.joints),
        T_world_base=np.eye(4),
        home=np.concatenate([quaternion_from_rotation(T[:3, :3]), T[:3, 3], description.home]),
    )


def with_loop(
    description: Description,
    name: str,
    kind: LoopKind,
    first: str,
    second: str,
    *,
    closed_at_home: bool = False,
    actuated: Iterable[str] | None = None,
    independent: Iterable[str] | None = None,
    T_first_joint: ArrayLike | None = None,
    T_second_joint: ArrayLike | None = None,
    **fields: Unpack[LoopFields],
) -> Description:
    """Make a copy with a loop: a joint or a rod between two frames.

    Parameters
    ----------
    description
        The robot.
    name, kind, first, second
        See `Loop`.
    closed_at_home
        Whether to place frame 2 where frame 1 is in the home configuration; T_second_joint is then not accepted. A rod
        takes its length from the home configuration.
    actuated, independent
        See `Description`; default unchanged.
    T_first_joint, T_second_joint
        See `Loop`; also as positions, shape (3,).
    **fields
        ``axis``, ``second_axis``, ``pitch``, ``length``, ``tolerance``: see `Loop`.

    Raises
    ------
    ModelError
        The loop, its name or its frames are invalid.

    Examples
    --------
    A rod holds the tip of an arm at 0.3 m from a point of the base:

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import load
    >>> held = with_loop(load("planar2r"), "rod", "rod", "link0", "tool", T_first_joint=[0.75, 0.3, 0], length=0.3)
    >>> print(assembled(held).mobility)
    1 degree of freedom; 1 of 1 constraints independent
    """
    placement_1 = _placement(T_first_joint, f"T_first_joint of loop {shortened(name)}")
    placement_2 = _placement(T_second_joint, f"T_second_joint of loop {shortened(name)}")
    others: dict[str, Any] = {**fields}
    if closed_at_home:
        T_first, T_second = (
            compose(pose_at_home(description, frame.link), frame.T_link_frame)
            for frame in (description.frame(first), description.frame(second))
        )
        T_world_1 = compose(T_first, placement_1)
        if kind == "rod":
            others["length"] = float(np.linalg.norm(compose(T_second, placement_2)[:3, 3] - T_world_1[:3, 3]))
        elif T_second_joint is not None:
            raise ModelError(f"loop {shortened(name)} is closed at home, so it takes no T_second_joint")
        else:
            placement_2 = compose(inverse(T_second), T_world_1)
    return description.replace(
        loops=(*description.loops, Loop(name, kind, first, second, placement_1, placement_2, **others)),
        actuated=description.actuated if actuated is None else tuple(actuated),
        independent=description.independent if independent is None else tuple(independent),
    )


def _placement(value: ArrayLike | None, of: str) -> NDArray[np.float64]:
    """Return the placement (4, 4) that is given as such, as a position (3,), or not at all."""
    if value is not None and np.shape(value) == (3,):
        return homogeneous(p=frozen_array(value, (3,), of))
    return frozen_placement(value, of)


def attach(
    description: Description,
    other: Description,
    frame: str | None = None,
    *,
    T_frame_base: ArrayLike | None = None,
    prefix: str = "",
    joint: str | None = None,
    tool: str | None = None,
) -> Description:
    """Join two robots: the base of the other, which may be a tool without joints, is fixed to a frame of the first.

    The coordinates of the first come first in q. Gravity, placement in the world and name are those of the first.

    Parameters
    ----------
    description, other
        The robots. A payload stays where it is; it becomes a link if its frame is no longer the tool.
    frame
        Name of the frame or link of the first that carries the other; default its tool.
    T_frame_base
        Placement of the other's root link in that frame, shape (4, 4); default the identity.
    prefix
        Prefix of all names of the other robot: links, frames and joints.
    joint
        Name of the new fixed joint; default the name of the other's root link, with the prefix, and "_mount".
    tool
        Name of the tool of the result. Default: the tool of the other if that is attached at the tool of the first,
        else the tool of the first.

    Raises
    ------
    UnknownNameError
        There is no such frame.
    ModelError
        Both robots have a name in common; T_frame_base is not a rigid transform; the other is not a robot.

    Examples
    --------
    >>> from chasles.model import load
    >>> two = attach(load("ur5"), load("planar2r"), prefix="small_")
    >>> two.n, two.joint_names[-2:], two.tool
    (8, ('small_joint1', 'small_joint2'), 'small_tool')
    """
    if not isinstance(other, Description):
        raise ModelError(f"what is attached must be a robot, not {shortened(other)}")
    place = description.frame(description.tool if frame is None else frame)
    T = compose(place.T_link_frame, frozen_placement(T_frame_base, "T_frame_base"))
    first, second = description, renamed(other, prefix=prefix)
    mount = Joint(joint or f"{second.root}_mount", "fixed", place.link, second.root, T_parent_joint=T)
    _check_apart("links or frames", first.frame_names, second.frame_names)
    _check_apart("joints", _joint_names(first), [mount.name, *_joint_names(second)])
    chosen = tool or (second.tool if place.name == first.tool else first.tool)
    first = first if chosen == first.tool else with_payload_held(first)
    second = second if chosen == second.tool else with_payload_held(second)
    both = first.replace(
        links=(*first.links, *second.links),
        joints=(*first.joints, mount, *second.joints),
        frames=(*first.frames, *second.frames),
        tool=chosen,
        payload=second.payload if chosen == second.tool else first.payload,
        home=None,
        loops=(*first.loops, *second.loops),
        actuated=_actuated_of_both(first, second),
        independent=(*first.independent, *second.independent),
        disabled_pairs=(*first.disabled_pairs, *second.disabled_pairs),
    )
    return at_home(both, home_positions(first) | home_positions(second))


def with_drive_coupling(description: Description, C: ArrayLike) -> Description:
    """Make a copy whose motors turn with several joints; see `Joint`.

    Rotor inertia, friction and position torques are those of motors: with motor rates C q̇ and motor torques f, joints
    feel Cᵀ f. Joint torques, and limits of position, velocity and effort, are those of the joints.

    Parameters
    ----------
    description
        The robot.
    C
        Motor rates, at the joint side of the reductions, per unit of joint velocities, shape (n, n) with n joint
        velocities. Its diagonal is 1; gear ratios hold the scales of motors. The identity uncouples all drives.

    Raises
    ------
    ArgumentError
        A wrong shape, or a diagonal element that is not 1.
    ModelError
        A coupled joint has several degrees of freedom or mimics another, or C is singular.

    Examples
    --------
    >>> from chasles.model import load
    >>> arm = with_drive_coupling(load("planar2r"), [[1.0, 0.0], [-0.5, 1.0]])
    >>> arm.joint("joint2").drive_coupling
    (('joint1', -0.5),)
    """
    names = description.joint_velocity_names
    matrix = np.asarray(as_array(C, "with_drive_coupling", "C"), dtype=np.float64)
    if matrix.shape != (len(names),) * 2:
        raise ArgumentError(f"with_drive_coupling: C has shape {matrix.shape}; expected {(len(names),) * 2}")
    if (matrix.diagonal() != 1.0).any():
        raise ArgumentError(
            f"with_drive_coupling: the diagonal of C is {matrix.diagonal().tolist()}; it must be 1: divide each row by "
            "its diagonal element, and let gear ratios hold the scale"
        )
    rows = {
        name: [(other, share) for other, share in zip(names, row.tolist(), strict=True) if other != name and share]
        for name, row in zip(names, matrix, strict=True)
    }
    several = [name for name in names if rows[name] and name not in description.joint_names]
    if several:
        raise ModelError(f"with_drive_coupling: {shortened(several[0])} is of a joint with several degrees of freedom")
    return description.replace(
        joints=tuple(joint.replace(drive_coupling=rows.get(joint.name, ())) for joint in description.joints)
    )


def renamed(
    description: Description,
    *,
    frames: Mapping[str, str] | None = None,
    joints: Mapping[str, str] | None = None,
    prefix: str = "",
    name: str | None = None,
) -> Description:
    """Make a copy with other names.

    Parameters
    ----------
    description
        The robot.
    frames, joints
        Mappings from present to new names of links and frames, and of joints; other names are kept.
    prefix
        Prefix of all names that `frames` and `joints` do not contain.
    name
        Name of the robot.

    Raises
    ------
    UnknownNameError
        There is no such frame or joint.
    ModelError
        Two of the new names are equal.

    Examples
    --------
    >>> from chasles.model import load
    >>> arm = renamed(load("planar2r"), joints={"joint1": "shoulder"}, prefix="left_")
    >>> arm.joint_names, arm.link_names
    (('shoulder', 'left_joint2'), ('left_link0', 'left_link1', 'left_link2'))
    """
    of_frame = _new_names("frame", description.frame_names, frames or {}, prefix)
    of_joint = _new_names("joint", _joint_names(description), joints or {}, prefix)
    return description.replace(
        name=description.name if name is None else name,
        links=tuple(link.replace(name=of_frame[link.name]) for link in description.links),
        joints=tuple(
            joint.replace(
                name=of_joint[joint.name],
                parent=of_frame[joint.parent],
                child=of_frame[joint.child],
                drive_coupling=[(of_joint[other], share) for other, share in joint.drive_coupling],
                mimic=joint.mimic and joint.mimic.replace(joint=of_joint[joint.mimic.joint]),
            )
            for joint in description.joints
        ),
        frames=tuple(
            frame.replace(name=of_frame[frame.name], link=of_frame[frame.link]) for frame in description.frames
        ),
        tool=of_frame[description.tool],
        loops=tuple(
            loop.replace(name=of_joint[loop.name], first=of_frame[loop.first], second=of_frame[loop.second])
            for loop in description.loops
        ),
        actuated=tuple(_renamed_velocity(name, of_joint) for name in description.actuated),
        independent=tuple(_renamed_velocity(name, of_joint) for name in description.independent),
        disabled_pairs=tuple((of_frame[a], of_frame[b]) for a, b in description.disabled_pairs),
    )


def _renamed_velocity(name: str, of_joint: Mapping[str, str]) -> str:
    """New name of a joint, or of one velocity of it."""
    if name in of_joint:
        return of_joint[name]
    joint, _, label = name.rpartition(".")
    return f"{of_joint[joint]}.{label}"


def _actuated_of_both(first: Description, second: Description) -> tuple[str, ...]:
    """Names of the motors of two robots in one; one that names none, beside one that does, has motors everywhere."""
    if not (first.actuated or second.actuated):
        return ()
    return tuple(name for robot in (first, second) for name in robot.actuated or robot.velocity_names)


def _joint_names(description: Description) -> list[str]:
    return [*(joint.name for joint in description.joints), *(loop.name for loop in description.loops)]


def _new_names(kind: str, present: Iterable[str], changes: Mapping[str, str], prefix: str) -> dict[str, str]:
    names = {name: f"{prefix}{name}" for name in present}
    for name in changes:
        if name not in names:
            raise UnknownNameError(kind, name, names)
    return names | dict(changes)


def _check_apart(kind: str, first: Iterable[str], second: Iterable[str]) -> None:
    taken = set(first)
    both = [shortened(name) for name in second if name in taken]
    if both:
        shown = ", ".join(both[:5]) + (", ..." if len(both) > 5 else "")
        raise ModelError(f"both robots have {kind} named {shown}; give a prefix for the second")
