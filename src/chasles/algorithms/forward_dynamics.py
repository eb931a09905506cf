"""Forward dynamics: the accelerations that torques cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chasles.algorithms.articulated_body import articulated_body_accelerations
from chasles.algorithms.inverse_dynamics import bias
from chasles.algorithms.joint_motion import WORLD, has_mimic_joints
from chasles.algorithms.linear_solve import factor, inverse, solve
from chasles.algorithms.mass_matrix import mass_matrix
from chasles.algorithms.wrenches import NO_WRENCHES
from chasles.geometry.vectors import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

ARTICULATED_BODY_FROM_DEPTH = 6.0
"""Mean number of joints from base to body at which the articulated-body algorithm begins to take fewer operations."""


def forward_dynamics(tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES) -> Array:
    """Accelerations qdd (n,) of the state q, qd (n,) under the torques tau (n,) and wrenches as in inverse dynamics.

    By the mass matrix where the tree is shallow (a serial arm of up to ten joints) or has mimic joints, else by the
    articulated-body algorithm.
    """
    if not has_mimic_joints(tree) and mean_depth(tree) >= ARTICULATED_BODY_FROM_DEPTH:
        return articulated_body_accelerations(tree, q, qd, tau, wrenches)
    return accelerations_by_mass_matrix(tree, q, qd, tau, wrenches)


def accelerations_by_mass_matrix(
    tree: Tree, q: Array, qd: Array, tau: Array, wrenches: Mapping[str, Array] = NO_WRENCHES
) -> Array:
    """Accelerations (n,) by solving M qdd = tau - bias (Featherstone, Rigid Body Dynamics Algorithms, section 6.1)."""
    return solve(factor(mass_matrix(tree, q)), tau - bias(tree, q, qd, wrenches))


def mean_depth(tree: Tree) -> float:
    """Mean number of joints between a body and the base."""
    depths: list[int] = []
    for body in tree.bodies:
        depths.append(1 if body.parent == WORLD else depths[body.parent] + 1)
    return sum(depths) / max(1, len(depths))


def inverse_mass_matrix(tree: Tree, q: Array) -> Array:
    """Inverse (n, n) of the mass matrix: accelerations per unit torque."""
    return inverse(factor(mass_matrix(tree, q)))
