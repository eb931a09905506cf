"""Jacobians of a frame in three reference frames, and their time derivatives.

Column k of a Jacobian is the twist (omega, v) of the target frame per unit rate of coordinate k:

- ``"space"``: about the world's origin in world axes (Lynch & Park, Modern Robotics, section 5.1.1, Space Jacobian);
- ``"body"``: about the target's origin in the target's axes (Modern Robotics, section 5.1.2, Body Jacobian);
- ``"world-aligned"``: about the target's origin in world axes; its linear part is the velocity of the target's origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.joint_motion import WORLD, continues_joint, joint_positions, joint_rates, poses_in_parent
from chasles.algorithms.kinematics import body_poses, frame_pose, placement_of
from chasles.base.comparable import comparable
from chasles.geometry.elementary import Array, cross, inverse_pose, pose, require_reference_frame, twist_cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree


@comparable
class PoseAndJacobian(NamedTuple):
    """Pose of a frame in the world, shape (..., 4, 4), and its Jacobian, shape (..., 6, n)."""

    T_world_frame: Array
    J: Array


class _Chain(NamedTuple):
    """The bodies that carry a target, from the base outward, and their joints' screws in a reference frame."""

    bodies: list[int]
    screws: list[Array]
    T_world_target: Array


def jacobian(tree: Tree, q: Array, target: str, frame: str = "space") -> Array:
    """Return the Jacobian of a frame, angular part first.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).
    target
        Name of the target link or frame.
    frame
        Reference frame of that twist. ``"space"``: world axes, about the world's origin. ``"body"``: the target's axes,
        about its origin. ``"world-aligned"``: world axes, about the target's origin.

    Returns
    -------
    J
        Shape (6, n): J qd is the twist (ω, v) of the target, in rad/s and m/s.

    Raises
    ------
    UnknownNameError
        If the target or the reference frame does not exist.

    Examples
    --------
    With the tool at (0.75, 0, 0), a unit rate of a joint about z moves it along y by its distance from that joint:

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> jacobian(tree, np.zeros(2), target="tool", frame="world-aligned")[4]
    array([0.75, 0.25])
    """
    return _sum_of_columns(tree, _chain(tree, q, target, frame))


def pose_and_jacobian(tree: Tree, q: Array, target: str, frame: str = "space") -> PoseAndJacobian:
    """Return the pose and the Jacobian of a frame, at little more cost than either alone.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).
    target, frame
        See `jacobian`, also for the errors.

    Returns
    -------
    T_world_frame
        Shape (4, 4).
    J
        Shape (6, n).

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> T_world_tool, J = pose_and_jacobian(tree, np.zeros(2), target="tool", frame="space")
    >>> T_world_tool[:3, 3], J[2]  # both joints turn about z
    (array([0.75, 0.  , 0.  ]), array([1., 1.]))
    """
    chain = _chain(tree, q, target, frame)
    return PoseAndJacobian(chain.T_world_target, _sum_of_columns(tree, chain))


def frame_jacobians(tree: Tree, q: Array, targets: Sequence[str], frame: str = "space") -> Array:
    """Return the Jacobians of several frames; the parts that their chains share are computed once.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).
    targets
        Names of the links and frames.
    frame
        See `jacobian`, also for the errors.

    Returns
    -------
    J
        Shape (k, 6, n), in the order of the targets.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> frame_jacobians(tree, np.zeros(2), targets=("link1", "tool"), frame="world-aligned")[:, 4]
    array([[0.5 , 0.  ],
           [0.75, 0.25]])
    """
    return np.array([jacobian(tree, q, target, frame) for target in targets]).reshape(len(targets), 6, tree.n)


def jacobian_derivative(tree: Tree, q: Array, qd: Array, target: str, frame: str = "space") -> Array:
    """Return the time derivative of the Jacobian along a motion, in its reference frame.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,), rad, rad/s (m, m/s for prismatic joints).
    target, frame
        See `jacobian`, also for the errors.

    Returns
    -------
    Jdot
        Shape (6, n): J qdd + Jdot qd is the rate of change of the twist's components in that frame.

    Notes
    -----
    A joint's screw is carried along by the bodies before it, as seen from the reference frame:
    d/dt J_i = (V_i - V_reference) x J_i, where V_i is the twist of body i and x the Lie bracket
    (Featherstone, Rigid Body Dynamics Algorithms (2008), section on differentiation of spatial vectors). The screws of
    a spherical or free joint are all fixed in the body that it moves as a whole.

    Examples
    --------
    The stretched arm turns about its first joint at 2 rad/s. The tool's acceleration points to that joint: -2² · 0.75.

    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> q, qd = np.zeros(2), np.array([2.0, 0.0])
    >>> float((jacobian_derivative(tree, q, qd, target="tool", frame="world-aligned") @ qd)[3])
    -3.0
    """
    chain = _chain(tree, q, target, frame)
    rates = joint_rates(tree, qd)
    twists: list[Array] = []
    twist = np.zeros(6)
    for i, screw in zip(chain.bodies, chain.screws, strict=True):
        twist = twist + screw * rates[i]
        twists.append(twist)
    for k in reversed(range(1, len(chain.bodies))):
        if continues_joint(tree.bodies[chain.bodies[k]]):
            twists[k - 1] = twists[k]
    reference = {
        "space": np.zeros(6),
        "body": twist,
        "world-aligned": np.concatenate([np.zeros(3), twist[3:]]),
    }[frame]
    derivatives = [twist_cross(V - reference, screw) for V, screw in zip(twists, chain.screws, strict=True)]
    return _sum_of_columns(tree, chain._replace(screws=derivatives))


def _chain(tree: Tree, q: Array, target: str, frame: str) -> _Chain:
    require_reference_frame(frame)
    placement = placement_of(tree, target)
    bodies = carriers_of(tree, placement.body)
    if frame == "body":
        R, p = placement.R_body_frame.T, -(placement.R_body_frame.T @ placement.p_body_frame)
        in_parent = poses_in_parent(tree, joint_positions(tree, q))
        seen_from_target = []
        for i in reversed(bodies):
            seen_from_target.append((R, p))
            R_parent_body, p_parent_body = in_parent[i]
            R = R @ R_parent_body.T
            p = p - R @ p_parent_body
        screws = [_screw(tree, i, *seen) for i, seen in zip(bodies, reversed(seen_from_target), strict=True)]
        return _Chain(bodies, screws, inverse_pose(pose(R, p)))
    poses = body_poses(tree, q)
    R_world_target, p_world_target = frame_pose(placement, poses)
    origin = np.zeros(3) if frame == "space" else p_world_target
    screws = [_screw(tree, i, poses[i][0], poses[i][1] - origin) for i in bodies]
    return _Chain(bodies, screws, pose(R_world_target, p_world_target))


def carriers_of(tree: Tree, body: int) -> list[int]:
    """Indices of a body and all bodies that carry it, from the base outward."""
    carriers: list[int] = []
    while body != WORLD:
        carriers.append(body)
        body = tree.bodies[body].parent
    return carriers[::-1]


def _screw(tree: Tree, i: int, R: Array, p: Array) -> Array:
    """Twist (6,) per unit rate of body i's joint, about the reference origin, from the body's pose (R, p) there."""
    body, z = tree.bodies[i], R[:, 2]
    return np.concatenate([body.angular * z, body.angular * cross(p, z) + body.pitch * z])


def _sum_of_columns(tree: Tree, chain: _Chain) -> Array:
    columns: list[Any] = [np.zeros(6)] * tree.n
    for i, screw in zip(chain.bodies, chain.screws, strict=True):
        body = tree.bodies[i]
        columns[body.coordinate] = columns[body.coordinate] + body.ratio * screw
    return np.array([[column[row] for column in columns] for row in range(6)]).reshape(6, tree.n)
