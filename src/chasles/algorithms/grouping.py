"""Base parameters: combinations of inertial parameters that determine the torques, in closed form and numerically.

Some changes of a body's inertia can be undone by the opposite change of its parent's, so that no torque of any motion
changes. For a revolute joint these are a mass in a point of the axis, its shift along the axis and a mass spread along
the axis; for a prismatic joint every inertia matrix (Gautier & Khalil, "Direct calculation of minimum set of inertial
parameters of serial robots", IEEE Trans. Robotics and Automation 6(3), 1990; Khalil & Dombre, Modeling, Identification
and Control of Robots (2002), chapters 9 and 10, with trees). Where the joints before allow few motions there are more:
Gautier & Khalil list the cases; here they follow from the motions that the body can be given (Wensing, Niemeyer &
Slotine, "A geometric characterization of observability in inertial parameter identification", Int. J. Robotics
Research, 2024).

Nothing else escapes the torques. Take any change of the bodies and hand it on, from the tips to the base, to the
parents in position zero of each joint. The change of the energy is then a sum with one term for each joint, which
vanishes while that joint rests in position zero. If the sum vanishes in all motions, it does so with all joints but the
first at rest, then with all but the first two, and so on: each term vanishes for itself. So what can be handed on is
found joint by joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.algorithms.attainable_motion import AttainableMotion, attainable_motions, twist_product
from chasles.algorithms.joint_motion import WORLD, has_mimic_joints
from chasles.base.comparable import comparable
from chasles.base.errors import ArgumentError
from chasles.geometry.elementary import Array
from chasles.geometry.pseudo_inertias import (
    inertial_parameters_from_pseudo_inertia,
    pseudo_inertia_from_inertial_parameters,
    spatial_inertia_from_pseudo_inertia,
)

if TYPE_CHECKING:
    from chasles.model.tree import Tree

GIVEN_UP_FIRST = (0, 3, 2, 1, 10, 7, 4, 5, 6, 8, 9)
"""Which of a body's parameters (m, m c, inertia; 10: armature) shall be expressed by others, most willingly first.

For a joint along z these are Khalil's: m, m z and Iyy of a revolute joint.
"""

WEAK = 1e-3
"""A parameter with less than this share in what is left to choose from is chosen only if no other can be."""

SIGNIFICANT = 5e-4
"""Smallest share of the robot's torques that a combination of parameters must have to count as one that acts.

Torques of good arms are measured with errors of 1 %. A log of 20 s with a bandwidth of 10 Hz has 400 independent
samples, so that the standard error of a mean is 1 % / √400. Whatever acts less is not seen in such a log, even if it
were as large as the robot: axes that meet at 1.5708 instead of π/2 rad (an error of 4e-6) are perpendicular. Torques
that base parameters give are exact to this share.
"""

ROUNDING = 1e-9
"""Share of the largest value below which values are rounding errors of double precision."""


@comparable
class Grouping(NamedTuple):
    """Base parameters as linear combinations of all parameters."""

    independent: tuple[int, ...]
    """Numbers of the parameters that stand for the base parameters, one for each."""
    matrix: Array
    """Shape (base, all): base parameters of all parameters. Its columns `independent` are the identity."""


def regroup(tree: Tree, tolerance: float = ROUNDING) -> Grouping:
    """Return the base parameters of a tree with independent joints.

    Parameters
    ----------
    tree
        The robot. Only its geometry and the direction of gravity matter; its masses do not.
    tolerance
        Directions of motion smaller than this fraction of the robot's size do not count. The default drops
        only rounding errors of double precision; see `SIGNIFICANT`.

    Returns
    -------
    Grouping
        Parameters in the order of the columns of `torque_regressor`.

    Raises
    ------
    ArgumentError
        If joints mimic others or have several degrees of freedom, or drives are coupled.

    Examples
    --------
    A rod that turns about a fixed axis: of its inertia only the moment about the axis acts, together with the motor's,
    and its first moments across the axis if gravity pulls across. Friction acts for itself.

    >>> from chasles.model import build_tree, load
    >>> grouping = regroup(build_tree(load("planar2r")))
    >>> len(grouping.independent), grouping.matrix.shape
    (11, (11, 26))
    """
    if has_mimic_joints(tree):
        raise ArgumentError("regrouping needs joints that move independently, but this robot has mimic joints")
    if tree.loops:
        raise ArgumentError("regrouping needs joints that move independently, but loops couple those of this robot")
    if tree.drive_coupling is not None:
        raise ArgumentError("regrouping needs a motor for each joint, but this robot has coupled drives")
    if len(tree.carriers) < len(tree.bodies):
        raise ArgumentError("regrouping needs joints with one degree of freedom; this robot has joints with several")
    size = _size(tree)
    scaled = _scaled(tree, 1.0 / size)
    count = len(tree.bodies)
    carried = [_own_columns(index, count) for index in range(count)]
    given_up: list[int] = []
    for index, motion in reversed(list(enumerate(attainable_motions(scaled, tolerance)))):
        changes, pivots = _reduced(_to_link_frame(scaled, index, exchangeable(motion, tolerance)))
        handed_on = changes @ carried[index][pivots]
        carried[index] = carried[index] - handed_on
        given_up += [_column(index, pivot, count) for pivot in pivots]
        parent = tree.bodies[index].parent
        if parent != WORLD:
            carried[parent][:10] += _link_in_parent_link(scaled, index) @ handed_on[:10]
    independent = tuple(k for k in range(13 * count) if k not in set(given_up))
    everything = np.eye(13 * count)
    for index, rows in enumerate(carried):
        everything[[_column(index, k, count) for k in range(11)]] = rows
    units = _units(count, size)
    matrix = everything[list(independent)] * units / units[list(independent), None]
    return Grouping(independent, np.where(np.abs(matrix) < 1e-13 * np.abs(matrix).max(initial=1.0), 0.0, matrix))


def exchangeable(motion: AttainableMotion, tolerance: float) -> Array:
    """Changes of a body's ten parameters and of its joint's armature that the parent can undo, as columns (11, k).

    A change with the spatial inertia A and the armature a must satisfy Sᵀ A S + a = 0; Sᵀ A w = 0 for all twists w
    that come from the parent, gravity included, so that the joint feels nothing of them; and
    wᵀ (A ad S + ad Sᵀ A) w = 0 for all w, so that the parent feels the same in every position of the joint.
    """
    S = motion.screw
    turn = twist_product(S)
    of_axis = np.outer(S, S)[None]
    mixed = np.einsum("i,kj->kij", S, np.vstack([motion.twists, motion.gravity]))
    turned = turn @ motion.products
    turned = turned + turned.transpose(0, 2, 1)
    tests = np.concatenate([of_axis, mixed, turned])
    inertias = spatial_inertia_from_pseudo_inertia(pseudo_inertia_from_inertial_parameters(np.eye(10)))
    conditions = np.einsum("kij,pij->kp", tests, inertias)
    armature = np.zeros((len(tests), 1))
    armature[0] = 1.0
    return _null_space(np.hstack([conditions, armature]), tolerance)


def independent_rows(A: Array, preferred: Sequence[int]) -> list[int]:
    """As many independent rows as A has columns, its rank: the preferred ones, in their order, unless they are weak."""
    chosen: list[int] = []
    rest = A
    while len(chosen) < A.shape[1]:
        lengths = np.linalg.norm(rest, axis=1)
        least = min(WEAK, 0.1 * float(lengths.max()))
        row = next(row for row in preferred if row not in chosen and lengths[row] > least)
        chosen.append(row)
        direction = rest[row] / lengths[row]
        rest = rest - np.outer(rest @ direction, direction)
    return chosen


def _reduced(changes: Array) -> tuple[Array, list[int]]:
    """The same changes, such that each changes one of the parameters given up, by 1, and not the others of these."""
    pivots = independent_rows(changes, GIVEN_UP_FIRST)
    return changes @ np.linalg.inv(changes[pivots]), pivots


def _null_space(A: Array, tolerance: float) -> Array:
    """Orthonormal basis of the vectors x with A x = 0, as columns."""
    _, sizes, directions = np.linalg.svd(A)
    rank = int(np.sum(sizes > tolerance * sizes.max(initial=1.0)))
    return directions[rank:].T


def _to_link_frame(tree: Tree, index: int, changes: Array) -> Array:
    place = tree.frames[tree.bodies[index].name]
    R, p = place.R_body_frame, place.p_body_frame
    return np.vstack([parameter_motion(R.T, -R.T @ p) @ changes[:10], changes[10:]])


def _link_in_parent_link(tree: Tree, index: int) -> Array:
    """Matrix (10, 10) of parameters in the link's frame to those in the parent's link frame, at joint position zero."""
    body = tree.bodies[index]
    here, there = tree.frames[body.name], tree.frames[tree.bodies[body.parent].name]
    R = body.R_parent_body @ here.R_body_frame
    p = body.R_parent_body @ here.p_body_frame + body.p_parent_body
    return parameter_motion(there.R_body_frame.T @ R, there.R_body_frame.T @ (p - there.p_body_frame))


def parameter_motion(R_ab: Array, p_ab: Array) -> Array:
    """Matrix (10, 10) that takes inertial parameters in a frame b to those in a frame a."""
    T_ab = np.eye(4)
    T_ab[:3, :3], T_ab[:3, 3] = R_ab, p_ab
    J_b = pseudo_inertia_from_inertial_parameters(np.eye(10))
    return np.array(inertial_parameters_from_pseudo_inertia(T_ab @ J_b @ T_ab.T)).T


def _own_columns(index: int, count: int) -> Array:
    """The body's parameters and its armature, of all parameters: shape (11, 13 bodies)."""
    return np.eye(13 * count)[[_column(index, k, count) for k in range(11)]]


def _column(index: int, parameter: int, count: int) -> int:
    return 10 * index + parameter if parameter < 10 else 10 * count + 3 * index + 2


def _size(tree: Tree) -> float:
    positions = [p for body in tree.bodies for p in (body.p_parent_body, tree.frames[body.name].p_body_frame)]
    return max((float(np.linalg.norm(p)) for p in positions), default=0.0) or 1.0


def _scaled(tree: Tree, factor: float) -> Tree:
    bodies = tuple(
        replace(body, p_parent_body=factor * body.p_parent_body, pitch=factor * body.pitch) for body in tree.bodies
    )
    frames = {name: replace(place, p_body_frame=factor * place.p_body_frame) for name, place in tree.frames.items()}
    return replace(tree, bodies=bodies, frames=frames)


def _units(count: int, size: float) -> Array:
    """What one unit of each parameter is for the robot scaled to the size of 1."""
    of_body = np.array([1.0, *[1.0 / size] * 3, *[1.0 / size**2] * 6])
    return np.concatenate([np.tile(of_body, count), np.tile([1.0, 1.0, 1.0 / size**2], count)])


def group_columns(
    Y: Array, preferred: Sequence[int], tolerance: float = ROUNDING, kinds: Sequence[int] | None = None
) -> tuple[Grouping, float]:
    """Return the base parameters of a regressor with rows from many motions.

    Parameters
    ----------
    Y
        Regressor, shape (rows, parameters), with more rows than there are base parameters.
    preferred
        Column indices in order of preference for naming the base parameters.
    tolerance
        Fraction of the largest column of its kind below which a column counts as zero, and of the largest remainder
        below which a remainder after elimination does.
    kinds
        Kind of each column, such as masses and moments of inertia, whose units differ; default: all of one kind.

    Returns
    -------
    grouping
        See `Grouping`.
    condition
        Condition number of the base parameters' columns of Y, each scaled to unit length: the factor by which the
        motions can amplify torque errors.

    Notes
    -----
    Gautier, "Numerical calculation of the base inertial parameters of robots" (J. Robotic Systems 8(4), 1991): the rank
    is that of a QR factorisation with column pivoting. Its first rows span what the rows of Y do; of their columns the
    preferred independent ones are chosen.

    Examples
    --------
    The third column is the first plus twice the second.

    >>> grouping, condition = group_columns(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]), [0, 1, 2])
    >>> grouping.independent, grouping.matrix
    ((0, 1), array([[1., 0., 1.],
                    [0., 1., 2.]]))
    >>> float(condition)
    1.0
    """
    from scipy.linalg import qr  # takes longer to import than the rest of the package

    lengths = np.linalg.norm(Y, axis=0)
    of_kind = np.zeros(len(lengths), dtype=np.intp) if kinds is None else np.asarray(kinds)
    largest = np.array([lengths[of_kind == kind].max() for kind in of_kind])
    lengths = np.where(lengths > tolerance * largest, lengths, np.inf)
    R, order = qr(Y / lengths, mode="r", pivoting=True)
    diagonal = np.abs(np.diagonal(R))
    rank = int(np.sum(diagonal > tolerance * diagonal.max(initial=0.0)))
    rows = np.empty((rank, Y.shape[1]))
    rows[:, order] = R[:rank]
    basis = np.linalg.qr(rows.T)[0]  # of what the motions show, and not of how often they show it
    independent = sorted(independent_rows(basis, preferred))
    columns = rows[:, independent]
    matrix = np.linalg.solve(columns, rows)
    finite = np.where(np.isfinite(lengths), lengths, 0.0)
    matrix = matrix * finite / finite[independent, None]
    small = np.abs(matrix) < ROUNDING * np.abs(matrix).max(initial=1.0)
    matrix[:, independent] = np.eye(rank)
    condition = float(np.linalg.cond(columns)) if rank else 1.0
    return Grouping(tuple(independent), np.where(small, 0.0, matrix)), condition


def column_kinds(tree: Tree) -> list[int]:
    """Return the kind of each column of a robot's regressor: mass, first moment, moment of inertia, three of joints.

    Columns of one kind have one unit, but for joints that translate beside joints that rotate.
    """
    return [0, 1, 1, 1, 2, 2, 2, 2, 2, 2] * len(tree.carriers) + [3, 4, 5] * len(tree.bodies)


def preferred_columns(tree: Tree) -> list[int]:
    """Return the columns of a robot's regressor in order of preference for naming the base parameters.

    Friction comes first, as it acts independently. The inertia of the bodies follows from the root outward, so that
    parameters are expressed by those of parents, as by `regroup`.
    """
    inertial = 10 * len(tree.carriers)
    first_columns = {index: 10 * k for k, index in enumerate(tree.carriers)}
    friction = [inertial + 3 * index + k for index in range(len(tree.bodies)) for k in (0, 1)]
    of_bodies = [
        first_columns[index] + k if k < 10 else inertial + 3 * index + 2
        for index, body in enumerate(tree.bodies)
        for k in reversed(GIVEN_UP_FIRST)
        if body.carries or k == 10
    ]
    return friction + of_bodies
