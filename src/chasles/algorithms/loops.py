"""Constraints of a robot's loops, and the joint motions that they couple.

`loop_constraints` says how far each constraint is from holding, `constraint_wrenches` with which wrench it acts;
`velocity_map` and `joint_accelerations` give the motion of all joints from that of the independent ones.

Seen from the last body that both ways round a loop have in common, a loop joins frame 1 at the end of one way with
frame 2 at the end of the other. Every scalar constraint belongs to a wrench w = (m, f) with which the loop can press:
the constraint changes at the rate w · (V₂ - V₁), for the twists V of the two frames about the common body's origin. So
a joint with the screw S has the column ±w · S of the constraints' Jacobian.

Source: Featherstone, Rigid Body Dynamics Algorithms (2008), chapter 8, Closed-Loop Systems; the wrenches are the
reciprocal screws of the closing joint (Hunt, Kinematic Geometry of Mechanisms (1978)).

The constraints J q̇ = 0 give the dependent velocities in the least-squares sense, by Householder's orthogonal
elimination: q̇ = G ν and q̈ = G ν̇ + Ġ ν. Source: Featherstone (2008), sections 3.2 and 8.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.algorithms.jacobian import carriers_of
from chasles.algorithms.joint_motion import (
    WORLD,
    Pose,
    continues_joint,
    joint_positions,
    joint_rates,
    poses_in_parent,
)
from chasles.algorithms.kinematics import body_poses
from chasles.engine import atan2, cos, sin
from chasles.engine.linear.least_squares import least_squares
from chasles.geometry.elementary import Array, cross, rotation_taking_z_to, twist_cross

if TYPE_CHECKING:
    from chasles.model.loop import Constraint
    from chasles.model.tree import LoopConstraint, Tree


class LoopConstraints(NamedTuple):
    """Constraints of all loops, in order."""

    residual: Array
    """Shape (constraints,), m and rad: zero where the loops are closed."""
    J: Array
    """Shape (constraints, n): the residual's rate is J times the velocities of all joints."""


def loop_constraints(tree: Tree, q: Array) -> LoopConstraints:
    """Return the residuals of a robot's loop constraints, and the constraint Jacobian.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    residual
        Shape (constraints,), m for distances and rad for small angles; zero where the loops are closed.
    J
        Shape (constraints, n): J times the velocities of all joints is the rate of the residual.

    Examples
    --------
    A rod of 0.3 m shall hold the arm's tip 0.3 m below its end; with the arm stretched out it does:

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = build_tree(assembled(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod)))
    >>> loop_constraints(tree, np.zeros(2)).J  # the tip approaches the end by 0.75 m and 0.25 m per rad
    array([[-0.75, -0.25]])
    """
    residual: list[Any] = []
    rows: list[list[Any]] = []
    for loop in tree.loops:
        ways = _ways_round(tree, q, loop)
        for constraint in loop.constraints:
            value, wrench = _constraint(constraint, ways.ends)
            residual.append(value)
            first, second = ([wrench @ screw for screw in screws] for screws in ways.screws)
            rows.append(_row(tree, ways, (first, second)))
    return LoopConstraints(np.array(residual), np.array(rows).reshape(len(rows), tree.n))


def loop_jacobian_derivative(tree: Tree, q: Array, joint_velocities: Array) -> Array:
    """Return the rate of the constraints' Jacobian along a motion of all joints that keeps the loops closed.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, joint_velocities
        Configuration, shape (nq,), and velocities of all joints, shape (n,).

    Returns
    -------
    ndarray
        Shape (constraints, n).

    Examples
    --------
    >>> from chasles.model import load, spanning_tree, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = spanning_tree(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod))
    >>> loop_jacobian_derivative(tree, np.zeros(2), np.array([1.0, 0.0]))  # the rod turns: 0.75 / 0.3 rad/s
    array([[1.875, 0.625]])
    """
    rates = joint_rates(tree, joint_velocities)
    rows: list[list[Any]] = []
    for loop in tree.loops:
        ways = _ways_round(tree, q, loop)
        twists = _twists(tree, ways, rates)
        of_ends = tuple(of_way[-1] if of_way else np.zeros(6) for of_way in twists)
        for constraint in loop.constraints:
            _, wrench = _constraint(constraint, ways.ends)
            wrench_rate = _wrench_rate(constraint, ways.ends, (of_ends[0], of_ends[1]))
            first, second = (
                [wrench_rate @ S + wrench @ twist_cross(V, S) for V, S in zip(of_way, screws, strict=True)]
                for of_way, screws in zip(twists, ways.screws, strict=True)
            )
            rows.append(_row(tree, ways, (first, second)))
    return np.array(rows).reshape(len(rows), tree.n)


def constraint_wrenches(tree: Tree, q: Array) -> Array:
    """Return the wrench of each constraint: the wrench on the link of frame 2 per unit of the multiplier.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), rad (m for prismatic joints).

    Returns
    -------
    wrenches
        Shape (constraints, 6): moment and force in world axes, about the origin of the loop's frame 2. The opposite
        wrenches act on the link of frame 1.

    Examples
    --------
    The arm hangs on a rod, which pulls its tip upward if it is under tension:

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = build_tree(assembled(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod)))
    >>> constraint_wrenches(tree, np.zeros(2)) + 0.0
    array([[ 0.,  0.,  0.,  0., -1.,  0.]])
    """
    poses, rows = body_poses(tree, q), []
    for loop in tree.loops:
        ways = _ways_round(tree, q, loop)
        R = np.eye(3) if ways.common == WORLD else poses[ways.common][0]
        for constraint in loop.constraints:
            _, wrench = _constraint(constraint, ways.ends)
            rows.append(np.concatenate([R @ (wrench[:3] - cross(ways.ends[1][1], wrench[3:])), R @ wrench[3:]]))
    return np.array(rows).reshape(len(rows), 6)


def velocity_map(tree: Tree, q: Array) -> Array:
    """Return the matrix G that maps the independent velocities to those of all joints.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), with closed loops.

    Returns
    -------
    G
        Shape (joint velocities, n): velocities of all joints per unit of each independent one, in the order of
        `Description.joint_velocity_names`. Without loops G is the identity. Its elements are not finite where the
        independent velocities do not determine the others.

    Examples
    --------
    A rod holds the arm's tip from above. Stretched out, the second joint turns back by (0.5 + 0.25) / 0.25 rad:

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> arm = load("planar2r").replace(actuated=["joint1"])
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = build_tree(assembled(with_loop(arm, "rod", "rod", "link0", "tool", **rod)))
    >>> velocity_map(tree, np.zeros(2)).T
    array([[ 1., -3.]])
    """
    if not tree.loops:
        return np.eye(tree.n)
    J = loop_constraints(tree, q).J
    return with_independent(
        tree, np.eye(len(tree.independent)), dependent_rates(tree, J, -J[:, list(tree.independent)])
    )


def velocity_map_rate(tree: Tree, q: Array, qd: Array) -> Array:
    """Return the matrix Ġ, shape (joint velocities, n), along a motion; its product with qd accelerates the joints."""
    G = velocity_map(tree, q)
    J_rate = loop_jacobian_derivative(tree, q, G @ qd)
    return with_zeros(tree, dependent_rates(tree, loop_constraints(tree, q).J, -(J_rate @ G)))


def joint_accelerations(tree: Tree, q: Array, qd: Array, qdd: Array) -> Array:
    """Return the accelerations of all joints, G q̈ + Ġ q̇.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, qd, qdd
        Configuration, shape (nq,), with closed loops; independent velocities and accelerations, shape (n,).

    Returns
    -------
    accelerations
        Shape (joint velocities,), in the order of `Description.joint_velocity_names`.

    Examples
    --------
    An arm on a rod, stretched out: its tip, 0.3 m below the rod's end, stays there while the first joint starts to
    turn at 1 rad/s, but the rod demands no acceleration across it.

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "independent": ["joint1"]}
    >>> tree = build_tree(assembled(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod)))
    >>> joint_accelerations(tree, np.zeros(2), np.array([1.0]), np.array([0.0])).round(9) + 0.0
    array([0., 0.])
    """
    if not tree.loops:
        return qdd
    return joint_acceleration_along(tree, q, qd, qd, qdd)


def joint_acceleration_along(tree: Tree, q: Array, qd: Array, qd_reference: Array, qdd_reference: Array) -> Array:
    """Return the rates of the joints' reference velocities G q̇ᵣ while the robot moves: G q̈ᵣ + Ġ q̇ᵣ."""
    G = velocity_map(tree, q)
    change = loop_jacobian_derivative(tree, q, G @ qd) @ (G @ qd_reference)
    of_loops = with_zeros(tree, dependent_rates(tree, loop_constraints(tree, q).J, -change[:, None]))
    accelerations: Array = G @ qdd_reference + of_loops[:, 0]
    return accelerations


def dependent_rates(tree: Tree, J: Array, right_side: Array) -> Array:
    """Velocities of the dependent joints that make the constraints change at the rates of the right side."""
    rows = list(tree.constraints)
    return least_squares(J[rows][:, _dependents(tree)], right_side[rows])


def _dependents(tree: Tree) -> list[int]:
    return [index for index in range(tree.n) if index not in tree.independent]


def with_zeros(tree: Tree, dependent: Array) -> Array:
    """Rows of all joints' velocities from those of the dependent ones, with zeros for the independent ones."""
    return with_independent(tree, np.zeros((len(tree.independent), dependent.shape[1])), dependent)


def with_independent(tree: Tree, independent: Array, dependent: Array) -> Array:
    """Rows of all joints' velocities from those of the independent and of the dependent ones."""
    rows = dict(zip([*tree.independent, *_dependents(tree)], [*independent, *dependent], strict=True))
    return np.array([rows[index] for index in range(tree.n)]).reshape(tree.n, -1)


class _Ways(NamedTuple):
    """The two ways round a loop, seen from the last body that they have in common."""

    common: int
    """Index of that body."""
    bodies: tuple[list[int], list[int]]
    """On the way to frame 1 and on the way to frame 2, from the common body outward."""
    screws: tuple[list[Array], list[Array]]
    """Twists (6,) per unit rate of these bodies' joints, about the common body's origin."""
    ends: tuple[Pose, Pose]
    """Frame 1 and frame 2."""


def _ways_round(tree: Tree, q: Array, loop: LoopConstraint) -> _Ways:
    attachments = loop.first, loop.second
    ways = [carriers_of(tree, place.body) for place in attachments]
    common = WORLD
    while ways[0] and ways[1] and ways[0][0] == ways[1][0]:
        common, ways = ways[0][0], [way[1:] for way in ways]
    in_parent = poses_in_parent(tree, joint_positions(tree, q))
    screws: tuple[list[Array], list[Array]] = ([], [])
    ends: list[Pose] = []
    for way, place, of_way in zip(ways, attachments, screws, strict=True):
        R, p = np.eye(3), np.zeros(3)
        for index in way:
            body, (R_parent_body, p_parent_body) = tree.bodies[index], in_parent[index]
            R, p = R @ R_parent_body, p + R @ p_parent_body
            z = R[:, 2]
            of_way.append(np.concatenate([body.angular * z, body.angular * cross(p, z) + body.pitch * z]))
        ends.append((R @ place.R_body_frame, p + R @ place.p_body_frame))
    return _Ways(common, (ways[0], ways[1]), screws, (ends[0], ends[1]))


def _row(tree: Tree, ways: _Ways, entries: tuple[list[Any], list[Any]]) -> list[Any]:
    """Row of the Jacobian from what each joint contributes on the two ways."""
    row: list[Any] = [0.0] * tree.n
    for sign, way, of_way in zip((-1.0, 1.0), ways.bodies, entries, strict=True):
        for index, entry in zip(way, of_way, strict=True):
            body = tree.bodies[index]
            row[body.coordinate] = row[body.coordinate] + sign * body.ratio * entry
    return row


def _constraint(constraint: Constraint, ends: tuple[Pose, Pose]) -> tuple[Any, Array]:
    """Residual and wrench (m, f) of a constraint between frame 1 and frame 2."""
    (R_1, o_1), (R_2, o_2) = ends
    a, b, r = R_1 @ constraint.first, R_2 @ constraint.second, o_2 - o_1
    if constraint.kind == "direction":
        return a @ b, np.concatenate([cross(b, a), np.zeros(3)])
    if constraint.kind == "position":
        return a @ r, np.concatenate([cross(o_2, a), a])
    if constraint.kind == "distance":
        d = r / constraint.length
        return 0.5 * (d @ r - constraint.length), np.concatenate([cross(o_2, d), d])
    x, y, _ = rotation_taking_z_to(constraint.first).T
    pitch, across = constraint.pitch, R_2 @ x
    ahead = a @ r / pitch - atan2((R_1 @ y) @ across, (R_1 @ x) @ across)
    return pitch * atan2(sin(ahead), cos(ahead)), np.concatenate([cross(o_2, a) - pitch * a, a])


def _wrench_rate(constraint: Constraint, ends: tuple[Pose, Pose], twists: tuple[Array, Array]) -> Array:
    """Rate of the wrench of a constraint while frame 1 and frame 2 move with these twists."""
    ((R_1, o_1), (R_2, o_2)), (V_1, V_2) = ends, twists
    a, b = R_1 @ constraint.first, R_2 @ constraint.second
    a_rate, b_rate = cross(V_1[:3], a), cross(V_2[:3], b)
    o_1_rate, o_2_rate = V_1[3:] + cross(V_1[:3], o_1), V_2[3:] + cross(V_2[:3], o_2)
    if constraint.kind == "direction":
        return np.concatenate([cross(b_rate, a) + cross(b, a_rate), np.zeros(3)])
    if constraint.kind == "distance":
        a, a_rate = (o_2 - o_1) / constraint.length, (o_2_rate - o_1_rate) / constraint.length
    moment = cross(o_2_rate, a) + cross(o_2, a_rate)
    return np.concatenate([moment - constraint.pitch * a_rate, a_rate])


def _twists(tree: Tree, ways: _Ways, rates: Sequence[Any]) -> tuple[list[Array], list[Array]]:
    """Twist of each body on the two ways, about the common body's origin, as that body sees it.

    The screws of a spherical or free joint are all fixed in the body that the whole joint moves, so they get its twist.
    """
    result: tuple[list[Array], list[Array]] = ([], [])
    for way, screws, twists in zip(ways.bodies, ways.screws, result, strict=True):
        twist = np.zeros(6)
        for index, screw in zip(way, screws, strict=True):
            twist = twist + screw * rates[index]
            twists.append(twist)
        for k in reversed(range(1, len(way))):
            if continues_joint(tree.bodies[way[k]]):
                twists[k - 1] = twists[k]
    return result
