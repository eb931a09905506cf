"""Motor forces of a closed chain, and the equivalent generalised forces.

A motor's force works along its joint's velocity, a row of G times the independent ones: τ = Bᵀ f with these rows
as B. Source: Murray, Li & Sastry, A Mathematical Introduction to Robotic Manipulation (1994), section 6.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.algorithms.loops import velocity_map
from chasles.engine import where
from chasles.engine.linear.symmetric import factor, solve
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

NEGLIGIBLE_FORCE = 1e-9
"""Share of generalised forces that motors may miss by rounding."""
ITERATIONS = 60
"""Newton steps towards forces within bounds; a dozen usually suffice."""
SHORTENED = 0.5 ** np.arange(24)
"""Shares of a Newton step among which the best is taken."""


def actuator_forces(tree: Tree, q: Array, tau: Array) -> Array:
    """Return the smallest motor forces that are equivalent to given generalised forces.

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
        Not finite where no motor forces are equivalent to tau: at actuation singularities, and with fewer motors than
        degrees of freedom unless the motors can produce tau.

    Examples
    --------
    Both joints of an arm whose tip hangs on a rod have motors; stretched out, G = (1, -3):

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> arm = load("planar2r").replace(actuated=["joint1", "joint2"])
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "independent": ["joint1"]}
    >>> tree = build_tree(assembled(with_loop(arm, "rod", "rod", "link0", "tool", **rod)))
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


def generalized_forces(tree: Tree, q: Array, actuator_forces: Array) -> Array:
    """Return the generalised forces that are equivalent to given motor forces.

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
        Generalised forces along the independent velocities, shape (n,), as for `forward_dynamics`.

    Examples
    --------
    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> arm = load("planar2r").replace(actuated=["joint1", "joint2"])
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3, "independent": ["joint1"]}
    >>> tree = build_tree(assembled(with_loop(arm, "rod", "rod", "link0", "tool", **rod)))
    >>> generalized_forces(tree, np.zeros(2), np.array([1.0, -3.0]))
    array([10.])
    """
    tau: Array = velocity_map(tree, q)[list(tree.actuated)].T @ actuator_forces
    return tau


def bounded_forces(B: Array, tau: Array, bounds: Array) -> Array:
    """Return the smallest forces of motors within bounds that act like given generalised forces.

    They are f = clip(B λ) with the multipliers λ of Bᵀ f = τ, which minimise a convex function by Newton's method.

    Parameters
    ----------
    B
        Velocities of the motors per unit of the independent ones, shape (..., motors, n).
    tau
        Generalised forces, shape (..., n).
    bounds
        Largest magnitudes, shape (motors,); infinite without a limit.

    Returns
    -------
    ndarray
        Shape (..., motors); NaN where no forces within the bounds act like tau.

    Notes
    -----
    Nocedal & Wright, *Numerical Optimization* (2nd ed. 2006), section 16.7, with the dual of the box constraints.

    Examples
    --------
    Two motors share 10 N·m equally unless one is too weak:

    >>> B = np.ones((2, 1))
    >>> [bounded_forces(B, np.array([10.0]), np.array(bounds)) for bounds in ([20.0, 20.0], [3.0, 20.0], [3.0, 6.0])]
    [array([5., 5.]), array([3., 7.]), array([nan, nan])]
    """
    batch = np.broadcast_shapes(B.shape[:-2], tau.shape[:-1])
    B = np.broadcast_to(B, (*batch, *B.shape[-2:])).reshape(-1, *B.shape[-2:])
    tau = np.broadcast_to(tau, (*batch, tau.shape[-1])).reshape(-1, tau.shape[-1])
    multipliers = np.einsum("kij,kj->ki", np.linalg.pinv(np.einsum("kij,kil->kjl", B, B)), tau)
    result = np.full(B.shape[:-1], np.nan)
    left = np.arange(len(B))
    for _ in range(ITERATIONS):
        columns = B[left]
        wish = np.einsum("kij,kj->ki", columns, multipliers[left])
        forces = np.clip(wish, -bounds, bounds)
        missing = tau[left] - np.einsum("kij,ki->kj", columns, forces)
        reached = np.linalg.norm(missing, axis=-1) <= NEGLIGIBLE_FORCE * np.linalg.norm(tau[left], axis=-1)
        result[left[reached]] = forces[reached]
        left, columns, wish, missing = (values[~reached] for values in (left, columns, wish, missing))
        if not left.size:
            break
        H = np.einsum("kij,ki,kil->kjl", columns, np.abs(wish) < bounds, columns)
        size = np.einsum("kij,kij->k", columns, columns)[:, None, None]
        step = np.linalg.solve(H + 1e-12 * size * np.eye(H.shape[-1]), missing[..., None])[..., 0]
        trials = multipliers[left, None] + SHORTENED[:, None] * step[:, None]
        wishes = np.einsum("kij,ktj->kti", columns, trials)
        bounded = np.clip(wishes, -bounds, bounds)
        cost = np.sum((wishes - 0.5 * bounded) * bounded, axis=-1) - np.einsum("ktj,kj->kt", trials, tau[left])
        multipliers[left] = trials[np.arange(len(left)), np.argmin(cost, axis=-1)]
    return result.reshape(*batch, B.shape[-2])
