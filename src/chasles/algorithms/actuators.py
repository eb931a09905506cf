"""Forces of the motors of a closed chain, and the generalised forces that act like them.

A motor's force works along its joint's velocity, a row of G times the independent ones: τ = Bᵀ f with these rows
as B. Source: Murray, Li & Sastry, A Mathematical Introduction to Robotic Manipulation (1994), section 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.dependent_joints import velocity_map
from chasles.engine import where
from chasles.engine.linear_solve import factor, solve
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

NEGLIGIBLE_FORCE = 1e-9
"""Share of generalised forces that motors may miss by rounding."""


def actuator_forces(tree: Tree, q: Array, tau: Array) -> Array:
    """Return the forces of the motors that act like given generalised forces, the smallest of them.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), with closed loops.
    tau
        Generalised forces, shape (n,), along the independent velocities, as from `inverse_dynamics`.

    Returns
    -------
    forces
        Shape (motors,), N·m and N, in the order of `Description.actuated_indices`: tau itself where the independent
        velocities are those of the motors. With more motors than degrees of freedom, the forces of the smallest norm.
        Not finite where no forces of the motors act like tau: at singularities of control, and with fewer motors than
        degrees of freedom unless tau happens to be in their power.

    Examples
    --------
    Both joints of an arm whose tip hangs on a rod have motors; stretched out, G = (1, -3):

    >>> from chasles.model import build_tree, load, with_loop
    >>> arm = load("planar2r").replace(actuated=["joint1", "joint2"])
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "independent": ["joint1"]}
    >>> tree = build_tree(with_loop(arm, "rod", "rod", "link0", "tool", **rod))
    >>> actuator_forces(tree, np.zeros(2), np.array([10.0]))  # 10 = 1 · 1 - 3 · (-3)
    array([ 1., -3.])
    """
    B = velocity_map(tree, q)[list(tree.actuated)]
    forces: Array
    if len(B) >= B.shape[1]:
        forces = B @ solve(factor(B.T @ B), tau)
        return forces
    forces = solve(factor(B @ B.T), B @ tau)
    missing = tau - B.T @ forces
    small = missing @ missing <= NEGLIGIBLE_FORCE**2 * (tau @ tau)
    return np.array([where(small, force, np.nan) for force in forces])


def forces_of_actuators(tree: Tree, q: Array, actuator_forces: Array) -> Array:
    """Return the generalised forces that act like given forces of the motors.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), with closed loops.
    actuator_forces
        Shape (motors,), N·m and N, in the order of `Description.actuated_indices`.

    Returns
    -------
    tau
        Shape (n,), along the independent velocities: what `forward_dynamics` takes.

    Examples
    --------
    >>> from chasles.model import build_tree, load, with_loop
    >>> arm = load("planar2r").replace(actuated=["joint1", "joint2"])
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "independent": ["joint1"]}
    >>> tree = build_tree(with_loop(arm, "rod", "rod", "link0", "tool", **rod))
    >>> forces_of_actuators(tree, np.zeros(2), np.array([1.0, -3.0]))
    array([10.])
    """
    tau: Array = velocity_map(tree, q)[list(tree.actuated)].T @ actuator_forces
    return tau
