"""Where the bodies and frames of a robot are, and where its centre of mass is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.joint_motion import WORLD, Pose, joint_positions, poses_in_parent
from chasles.errors import UnknownNameError
from chasles.geometry.rigid_motions import pose
from chasles.geometry.vectors import Array

if TYPE_CHECKING:
    from chasles.model.tree import Placement, Tree


def placement_of(tree: Tree, frame: str) -> Placement:
    """Placement of a named frame or link on its body; UnknownNameError lists the names that exist."""
    try:
        return tree.frames[frame]
    except KeyError:
        raise UnknownNameError("frame", frame, tree.frames) from None


def body_poses(tree: Tree, q: Array) -> list[Pose]:
    """(R_world_body, p_world_body) of every body: products of the joints' motions from the base outward."""
    poses: list[Pose] = []
    for body, (R, p) in zip(tree.bodies, poses_in_parent(tree, joint_positions(tree, q)), strict=True):
        if body.parent != WORLD:
            R_world_parent, p_world_parent = poses[body.parent]
            R, p = R_world_parent @ R, p_world_parent + R_world_parent @ p
        poses.append((R, p))
    return poses


def frame_pose(placement: Placement, poses: list[Pose]) -> Pose:
    """(R_world_frame, p_world_frame) of a placement, from the poses of the bodies."""
    if placement.body == WORLD:
        return placement.R_body_frame, placement.p_body_frame
    R_world_body, p_world_body = poses[placement.body]
    return R_world_body @ placement.R_body_frame, p_world_body + R_world_body @ placement.p_body_frame


def forward_kinematics(tree: Tree, q: Array, frame: str) -> Array:
    """Pose T_world_frame (4, 4) of a named frame or link at the coordinates q (n,).

    Raises UnknownNameError when the robot has no such frame.
    Source: Lynch & Park, Modern Robotics, section 4.1 (products of joint motions), with body frames as in Khalil &
    Dombre, Modeling, Identification and Control of Robots, section 3.3.
    """
    return pose(*frame_pose(placement_of(tree, frame), body_poses(tree, q)))


def all_frames(tree: Tree, q: Array) -> Array:
    """Poses (F, 4, 4) of all frames and links of the robot, in the order of `tree.frames`."""
    poses = body_poses(tree, q)
    return np.array([pose(*frame_pose(placement, poses)) for placement in tree.frames.values()]).reshape(-1, 4, 4)


def center_of_mass(tree: Tree, q: Array) -> Array:
    """Centre of mass (3,) of all moving bodies, world frame, metres; NaN for a robot without mass."""
    mass, first = 0.0, np.zeros(3)
    for body, (R_world_body, p_world_body) in zip(tree.bodies, body_poses(tree, q), strict=True):
        mass = mass + body.mass
        first = first + body.mass * p_world_body + R_world_body @ body.first_moment
    return first / mass
