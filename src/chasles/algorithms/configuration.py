"""Configurations: integration of a displacement, the difference of two configurations, and configuration rates.

Where a robot has spherical or free joints, a configuration q holds unit quaternions and has more elements than a
velocity. Displacements v (n,) then replace differences of coordinates: `integrate(q, v)` is the configuration after
unit time at the velocity v, if each joint keeps its own velocity in the axes that it moves. A coordinate of any other
joint changes by its displacement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.joint_motion import rotation_from_any_quaternion
from chasles.engine.program.scalar import Real
from chasles.geometry.elementary import Array, skew
from chasles.geometry.exponential_jacobians import inverse_left_jacobian_rotation, left_jacobian_rotation
from chasles.geometry.quaternion_rotations import quaternion_from_rotation_vector, rotation_vector_from_quaternion
from chasles.geometry.quaternions import conjugate_quaternion, multiply_quaternions, normalize_quaternion

if TYPE_CHECKING:
    from chasles.model.tree import Tree


class QuaternionJoint(NamedTuple):
    """A spherical or free joint: where its numbers are in q and in qd."""

    quaternion: slice
    """In q."""
    position: slice
    """In q; empty for a spherical joint."""
    angular: slice
    """In qd."""
    linear: slice
    """In qd; empty for a spherical joint."""


def quaternion_joints(tree: Tree) -> list[QuaternionJoint]:
    """All spherical and free joints of a robot.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> quaternion_joints(build_tree(load("panda")))
    []
    """
    joints = []
    for body in tree.bodies:
        if body.placed in ("quaternion", "quaternion and position"):
            size = 0 if body.placed == "quaternion" else 3
            q, v = body.position, body.coordinate - 2  # the first body of such a joint turns about z
            joints.append(
                QuaternionJoint(
                    slice(q, q + 4), slice(q + 4, q + 4 + size), slice(v, v + 3), slice(v + 3, v + 3 + size)
                )
            )
    return joints


def integrate(tree: Tree, q: Array, v: Array) -> Array:
    """Return the configuration after a displacement: the motion at constant velocity v for unit time.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,).
    v
        Displacement, shape (n,), rad and m: velocity times duration.

    Returns
    -------
    q_next
        Shape (nq,), with quaternions of unit length; NaN for a quaternion of zeros.

    Notes
    -----
    A free joint moves along a screw, by the exponential map of SE(3) (Lynch & Park, Modern Robotics, section 3.3.3).

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> integrate(tree, np.array([0.1, 0.2]), np.array([0.5, -0.2]))
    array([0.6, 0. ])
    """
    result = _plain(tree, q, lambda position, velocity: q[position] + v[velocity])
    for joint in quaternion_joints(tree):
        quaternion = normalize_quaternion(q[joint.quaternion])
        turn = quaternion_from_rotation_vector(v[joint.angular])
        _put(result, joint.quaternion, normalize_quaternion(multiply_quaternions(quaternion, turn)))
        R = rotation_from_any_quaternion(q[joint.quaternion])
        shift = R @ (left_jacobian_rotation(v[joint.angular]) @ _three(v[joint.linear]))
        _put(result, joint.position, _three(q[joint.position]) + shift)
    return np.array(result)


def difference(tree: Tree, q0: Array, q1: Array) -> Array:
    """Return the displacement from one configuration to another, the inverse of `integrate`.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q0, q1
        Configurations, shape (nq,).

    Returns
    -------
    v
        Shape (n,), rad and m: ``integrate(q0, v)`` is q1, up to the signs of quaternions. Spherical and free joints
        rotate the shorter way, by at most π.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> difference(tree, np.array([0.1, 0.2]), np.array([0.6, 0.0]))
    array([ 0.5, -0.2])
    """
    result: list[Any] = [0.0] * tree.n
    for body in tree.bodies:
        if body.placed == "coordinate":
            result[body.coordinate] = q1[body.position] - q0[body.position]
    for joint in quaternion_joints(tree):
        before = normalize_quaternion(q0[joint.quaternion])
        after = normalize_quaternion(q1[joint.quaternion])
        turn = rotation_vector_from_quaternion(multiply_quaternions(conjugate_quaternion(before), after))
        _put(result, joint.angular, turn)
        shift = rotation_from_any_quaternion(before).T @ (_three(q1[joint.position]) - _three(q0[joint.position]))
        _put(result, joint.linear, inverse_left_jacobian_rotation(turn) @ shift)
    return np.array(result)


def configuration_rate(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the rates of the elements of q: qd itself, except for quaternions and positions of free joints.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd
        Configuration, shape (nq,), and velocity, shape (n,).

    Returns
    -------
    q_rate
        Shape (nq,): half the product of a quaternion with its angular velocity, and the velocity in the axes in which
        the position is given.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> configuration_rate(tree, np.array([0.1, 0.2]), np.array([0.5, -0.2]))
    array([ 0.5, -0.2])
    """
    result = _plain(tree, q, lambda position, velocity: qd[velocity])
    for joint in quaternion_joints(tree):
        omega = np.concatenate([np.zeros(1), qd[joint.angular]])
        _put(result, joint.quaternion, 0.5 * multiply_quaternions(q[joint.quaternion], omega))
        _put(result, joint.position, rotation_from_any_quaternion(q[joint.quaternion]) @ _three(qd[joint.linear]))
    return np.array(result)


def normalize(tree: Tree, q: Array) -> Array:
    """Return the same configuration with quaternions of unit length, to correct the drift of numerical integration.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,).

    Returns
    -------
    q_unit
        Shape (nq,); NaN for a quaternion of zeros. With loops, the independent coordinates are kept and the others are
        computed from them. If the loops cannot be closed, these others are NaN without a warning, as this function also
        runs inside compiled ones. `Robot.loops.close` reports which loop stays open, and by how much.

    Examples
    --------
    >>> from chasles.model import build_tree, load
    >>> tree = build_tree(load("planar2r"))
    >>> normalize(tree, np.array([0.5, -0.2]))
    array([ 0.5, -0.2])
    """
    result = list(q)
    for joint in quaternion_joints(tree):
        _put(result, joint.quaternion, normalize_quaternion(q[joint.quaternion]))
    return np.array(result)


def transport_of_displacement(tree: Tree, qd: Array) -> Array:
    """Matrix (n, n) that takes a small displacement from a motion to its rate while the velocities are equal.

    When two bodies rotate equally, each about its own axes, the second rotates backwards as seen from the first:
    d(displacement)/dt = difference of velocities - qd x displacement. Zero for joints with one degree of freedom.
    """
    A = np.zeros((tree.n, tree.n), dtype=object if qd.dtype == object else float)
    for joint in quaternion_joints(tree):
        turn = skew(qd[joint.angular])
        A[joint.angular, joint.angular] = -turn
        if joint.linear.stop > joint.linear.start:
            A[joint.linear, joint.angular] = -skew(qd[joint.linear])
            A[joint.linear, joint.linear] = -turn
    return A


def _plain(tree: Tree, q: Array, of_joint: Callable[[int, int], Real]) -> list[Any]:
    """Numbers for q, those of joints with coordinates by a function of where position and velocity stand."""
    result: list[Any] = [0.0] * tree.nq
    for body in tree.bodies:
        if body.placed == "coordinate":
            result[body.position] = of_joint(body.position, body.coordinate)
    return result


def _put(result: list[Any], where: slice, values: Array) -> None:
    for index, value in zip(range(where.start, where.stop), values, strict=False):
        result[index] = value


def _three(values: Array) -> Array:
    """The values, or zeros where there are none."""
    return values if len(values) else np.zeros(3)
