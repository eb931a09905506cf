"""Bounds on how fast distances change: they turn one distance into a proof for a whole stretch of a path.

A point of a body moves at most by its lever arm times the angle of a revolute joint, and by the travel of a prismatic
one. The distance of two bodies changes at most by the sum over the joints between them. So a distance d at the middle
of a straight stretch in joint space proves the stretch free if half of it moves the bodies by less than d. Source:
Schwarzer, Saha, Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in complex
environments, IEEE Transactions on Robotics 21 (2005).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from chasles.distances import Body, Clearance, HalfSpace
from chasles.model import Tree, build_tree
from chasles.model.tree import WORLD

Floats = NDArray[np.float64]


def motion_bounds(clearance: Clearance, lower: Floats, upper: Floats) -> Floats:
    """Largest change of each distance per unit of each coordinate, shape (pairs, nq), m/rad or m/m.

    Parameters
    ----------
    clearance
        The distances.
    lower, upper
        Range of each coordinate, shape (nq,); the travel of prismatic joints lengthens lever arms.

    Examples
    --------
    >>> import chasles as ch
    >>> rods = [Body("link1", end=[-0.5, 0.0, 0.0], radius=0.05), Body("link2", end=[-0.25, 0.0, 0.0], radius=0.05)]
    >>> apart = ch.clearance(ch.load("planar2r"), bodies=rods, obstacles=[Body(None, [0.5, 0.4, 0.0], radius=0.1)])
    >>> motion_bounds(apart, np.full(2, -np.pi), np.full(2, np.pi))
    array([[0.5 , 0.  ],
           [0.75, 0.25]])
    """
    tree = build_tree(clearance.robot.description)
    bounds = np.zeros((len(clearance.pairs), tree.nq))
    for row, pair in zip(bounds, clearance.pairs_of_bodies, strict=True):
        chains = [dict(_lever_arms(tree, body, lower, upper)) for body in pair]
        for index in chains[0].keys() ^ chains[1].keys():  # joints below both bodies move them together
            body = tree.bodies[index]
            lever = chains[0].get(index, 0.0) + chains[1].get(index, 0.0)
            row[body.position] += abs(body.ratio) * (body.angular * lever + abs(body.pitch))
    return bounds


def _lever_arms(tree: Tree, body: Body | HalfSpace, lower: Floats, upper: Floats) -> Iterator[tuple[int, float]]:
    """Each joint that moves a body, with the largest distance of the body's segment from the joint's axis, m."""
    if not isinstance(body, Body) or body.frame is None:
        return
    placement = tree.frames[body.frame]
    ends = [placement.p_body_frame + placement.R_body_frame @ end for end in (body.start, body.end)]
    arm = max(float(np.linalg.norm(end)) for end in ends)
    index = placement.body
    while index != WORLD:
        joint = tree.bodies[index]
        yield index, min(arm, _distance_from_axis(ends)) if index == placement.body else arm
        arm += float(np.linalg.norm(joint.p_parent_body))
        if joint.pitch:
            travel = [joint.ratio * end[joint.position] + joint.offset for end in (lower, upper)]
            arm += abs(joint.pitch) * max(map(abs, travel))
        index = joint.parent


def _distance_from_axis(ends: list[Floats]) -> float:
    """Largest distance of points from the z axis."""
    return max(float(np.hypot(*end[:2])) for end in ends)
