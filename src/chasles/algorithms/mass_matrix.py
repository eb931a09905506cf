"""Mass matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chasles.algorithms.joint_motion import (
    WORLD,
    along_joint,
    joint_positions,
    matrix_of_coordinates,
    poses_in_parent,
    screw,
)
from chasles.algorithms.mass_moments import composite_mass_moments, inertia_times
from chasles.geometry.vectors import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree


def mass_matrix(tree: Tree, q: Array) -> Array:
    """Mass matrix M (n, n), symmetric and full, with the motors' armature on its diagonal.

    Column i is the wrench that gives the bodies beyond joint i a unit acceleration of that joint, felt at the joints
    that carry it. Source: Walker & Orin (1982); Featherstone, Rigid Body Dynamics Algorithms (2008), table 6.2.
    """
    positions = joint_positions(tree, q)
    poses = poses_in_parent(tree, positions)
    composite = composite_mass_moments(tree, positions)
    M: list[list[Any]] = [[0.0] * len(tree.bodies) for _ in tree.bodies]
    for i, body in enumerate(tree.bodies):
        wrench = inertia_times(composite[i], screw(body))
        M[i][i] = along_joint(body, wrench) + body.armature
        j = i
        while tree.bodies[j].parent != WORLD:
            wrench = wrench.seen_from(*poses[j])
            j = tree.bodies[j].parent
            M[i][j] = M[j][i] = along_joint(tree.bodies[j], wrench)
    return matrix_of_coordinates(tree, M)
