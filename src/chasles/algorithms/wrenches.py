"""Wrenches of the environment on the robot, and of the bodies on their joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from chasles.algorithms.body_motion import Acceleration
from chasles.algorithms.joint_motion import WORLD, Pose
from chasles.algorithms.kinematics import placement_of
from chasles.algorithms.mass_moments import MassMoments, moment_of_acceleration
from chasles.algorithms.spatial import NO_WRENCH, Wrench
from chasles.geometry.elementary import Array, cross

if TYPE_CHECKING:
    from chasles.model.tree import Tree

NO_WRENCHES: Mapping[str, Array] = MappingProxyType({})


def wrenches_on_bodies(tree: Tree, wrenches: Mapping[str, Array]) -> list[Wrench]:
    """Sum of the environment's wrenches on every body, about its origin in its axes.

    `wrenches` maps names of frames to (m, f) (6,) about the frame's origin in its axes. Those on the base do nothing.
    Raises UnknownNameError for a frame that does not exist.
    """
    total = [NO_WRENCH] * len(tree.bodies)
    for frame, wrench in wrenches.items():
        placement = placement_of(tree, frame)
        if placement.body != WORLD:
            felt = Wrench(wrench[:3], wrench[3:]).seen_from(placement.R_body_frame, placement.p_body_frame)
            total[placement.body] = total[placement.body] + felt
    return total


def inertial_wrench(moments: MassMoments, acceleration: Acceleration) -> Wrench:
    """Wrench about its origin that gives a body its acceleration (Newton and Euler).

    Source: Khalil & Dombre, Modeling, Identification and Control of Robots (2002), chapter "Dynamic modeling of serial
    robots", Newton-Euler formulation, with the second moment in place of the inertia matrix.
    """
    U, a = acceleration.matrix, acceleration.linear
    return Wrench(
        moment_of_acceleration(acceleration, moments.second) + cross(moments.first, a),
        moments.mass * a + U @ moments.first,
    )


def net_wrenches(
    tree: Tree, moments: Sequence[MassMoments], accelerations: Sequence[Acceleration], wrenches: Mapping[str, Array]
) -> list[Wrench]:
    """What every body needs from its joints: its inertial wrench less what the environment gives."""
    external = wrenches_on_bodies(tree, wrenches)
    return [
        inertial_wrench(of_body, acceleration) - given
        for of_body, acceleration, given in zip(moments, accelerations, external, strict=True)
    ]


def transmitted_wrenches(tree: Tree, poses: Sequence[Pose], net: Sequence[Wrench]) -> list[Wrench]:
    """Wrench that every joint passes to its body: the body's own and all that the body passes on, from tips to base."""
    passed = list(net)
    for i in reversed(range(len(tree.bodies))):
        parent = tree.bodies[i].parent
        if parent != WORLD:
            passed[parent] = passed[parent] + passed[i].seen_from(*poses[i])
    return passed
