"""Poses and velocities of the bodies and frames of a robot, and its centre of mass.

The rates of a spherical or free joint belong to one motion: each of its screws is fixed in the body that the whole
joint moves, and none carries another along. So where a screw's rate is wanted, the chain of bodies of such a joint is
left aside: what counts is the motion *before* the joint (`velocities_before`) or that of the body *after* it
(`velocities_after`). For a joint with one degree of freedom both give the same, as a screw does not change its own
direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.algorithms.joint_motion import (
    WORLD,
    Pose,
    continues_joint,
    is_ordinary,
    joint_positions,
    poses_in_parent,
)
from chasles.algorithms.spatial import NO_TWIST, Twist
from chasles.base.errors import UnknownNameError
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Z_AXIS, Array, cross, pose

if TYPE_CHECKING:
    from chasles.model.tree import MovingBody, Placement, Tree


def placement_of(tree: Tree, frame: str) -> Placement:
    """Placement of a named frame or link on its body.

    Raises
    ------
    UnknownNameError
        If the robot has no such frame; the message lists the names that exist.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> placement_of(tree, "tool").body  # the second of two rods
    1
    """
    try:
        return tree.frames[frame]
    except KeyError:
        raise UnknownNameError("frame", frame, tree.frames) from None


def body_poses(tree: Tree, q: Array) -> list[Pose]:
    """(R_world_body, p_world_body) of every body: products of the joints' motions from the base outward.

    Parameters
    ----------
    tree, q
        The robot and its coordinates (n,), rad (m for prismatic joints).

    Returns
    -------
    list of (ndarray, ndarray)
        Rotation (3, 3) and origin (3,), m, of every body frame in the world.

    Examples
    --------
    The second rod turns about the end of the first, 0.5 m away:

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> body_poses(tree, np.array([0.0, 1.0]))[1][1]
    array([0.5, 0. , 0. ])
    """
    poses: list[Pose] = []
    for body, (R, p) in zip(tree.bodies, poses_in_parent(tree, joint_positions(tree, q)), strict=True):
        if body.parent != WORLD:
            R_world_parent, p_world_parent = poses[body.parent]
            R, p = R_world_parent @ R, p_world_parent + R_world_parent @ p
        poses.append((R, p))
    return poses


def frame_pose(placement: Placement, poses: list[Pose]) -> Pose:
    """(R_world_frame, p_world_frame) of a placement, from the poses of the bodies.

    Parameters
    ----------
    placement
        Placement of a frame on its body; see `placement_of`.
    poses
        Poses of the bodies in the world; see `body_poses`.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> frame_pose(placement_of(tree, "tool"), body_poses(tree, np.zeros(2)))[1]  # stretched out: 0.5 m + 0.25 m
    array([0.75, 0.  , 0.  ])
    """
    if placement.body == WORLD:
        return placement.R_body_frame, placement.p_body_frame
    R_world_body, p_world_body = poses[placement.body]
    return R_world_body @ placement.R_body_frame, p_world_body + R_world_body @ placement.p_body_frame


def forward_kinematics(tree: Tree, q: Array, target: str) -> Array:
    """Return the pose of a frame in the world.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).
    target
        Name of a link or frame.

    Returns
    -------
    T_world_frame
        Shape (4, 4): the frame's axes in world axes, and its origin in m.

    Raises
    ------
    UnknownNameError
        If the robot has no such frame.

    Notes
    -----
    Lynch & Park, Modern Robotics, section 4.1 (products of joint motions), with frames on the joint axes as in Khalil &
    Dombre, Modeling, Identification and Control of Robots (2002), chapter "Direct geometric model of serial robots".

    Examples
    --------
    The rod of 0.25 m stands at a right angle at the end of the rod of 0.5 m:

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> forward_kinematics(tree, np.array([0.0, np.pi / 2]), target="tool")[:3, 3]
    array([0.5 , 0.25, 0.  ])
    """
    return pose(*frame_pose(placement_of(tree, target), body_poses(tree, q)))


def all_frames(tree: Tree, q: Array) -> Array:
    """Return the poses of all links and frames in the world.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    T_world_frames
        Shape (frames, 4, 4), in the order of the robot's `frame_names`; origins in m.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> all_frames(tree, np.zeros(2))[-1, :3, 3]  # the tool of the stretched arm: 0.5 m + 0.25 m
    array([0.75, 0.  , 0.  ])
    """
    poses = body_poses(tree, q)
    return np.array([pose(*frame_pose(placement, poses)) for placement in tree.frames.values()]).reshape(-1, 4, 4)


def center_of_mass(tree: Tree, q: Array) -> Array:
    """Return the centre of mass of all moving links.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    p_world_center
        Shape (3,), in the world, m; NaN for a robot without mass.

    Examples
    --------
    Rods of 10 kg and 5 kg, with their centres at 0.25 m and 0.625 m: (10 · 0.25 + 5 · 0.625) / 15 = 0.375.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> center_of_mass(tree, np.zeros(2))
    array([0.375, 0.   , 0.   ])
    """
    mass: Real = 0.0
    first = np.zeros(3)
    for body, (R_world_body, p_world_body) in zip(tree.bodies, body_poses(tree, q), strict=True):
        mass = mass + body.mass
        first = first + body.mass * p_world_body + R_world_body @ body.first_moment
    if isinstance(mass, float) and mass == 0.0:
        return np.full(3, np.nan)
    return first / mass


def body_velocities(tree: Tree, poses: Sequence[Pose], rates: Sequence[Any]) -> list[Twist]:
    """Angular velocity and velocity of the origin of every body, in its axes."""
    velocities: list[Twist] = []
    for body, (R, p), rate in zip(tree.bodies, poses, rates, strict=True):
        parent = NO_TWIST if body.parent == WORLD else velocities[body.parent]
        omega = R.T @ parent.angular + body.angular * rate * Z_AXIS
        v = R.T @ (parent.linear + cross(parent.angular, p)) + body.pitch * rate * Z_AXIS
        velocities.append(Twist(omega, v))
    return velocities


def velocities_after(tree: Tree, poses: Sequence[Pose], velocities: Sequence[Twist]) -> list[Twist]:
    """Velocity of the body that each joint moves, as a whole, seen from the bodies of its chain."""
    after = list(velocities)
    for i in reversed(range(len(tree.bodies))):
        if continues_joint(tree.bodies[i]):
            after[tree.bodies[i].parent] = after[i].seen_from(*poses[i])
    return after


def velocities_before(tree: Tree, poses: Sequence[Pose], velocities: Sequence[Twist]) -> list[Twist]:
    """Velocity of what carries each joint, as if fixed to it, seen from the body; of ordinary joints the body's."""
    before: list[Twist] = []
    for i, (body, (R, p)) in enumerate(zip(tree.bodies, poses, strict=True)):
        if is_ordinary(body):
            before.append(velocities[i])
            continue
        if body.parent == WORLD:
            twist = NO_TWIST
        else:
            twist = before[body.parent] if continues_joint(body) else velocities[body.parent]
        before.append(Twist(R.T @ twist.angular, R.T @ (twist.linear + cross(twist.angular, p))))
    return before


def screw_rate(body: MovingBody, velocity: Twist) -> Twist:
    """Rate v x S of a joint's screw S = (angular z, pitch z), which a twist v carries along."""
    swing = cross(velocity.angular, Z_AXIS)
    return Twist(body.angular * swing, body.angular * cross(velocity.linear, Z_AXIS) + body.pitch * swing)
