"""Motion of all joints of a robot with loops, by Lagrange multipliers, without a choice of independent velocities.

Accelerations minimise Gauss' constraint: of all that the loops allow, they are the nearest to those of the free tree,
in the metric of its mass matrix. With multipliers λ they solve M a + Jᵀ λ = f, J a = γ. The same equations, without
forces, bring a configuration and its velocities back to where the loops are closed. They have one solution wherever the
loops leave as many freedoms as elsewhere, also where chosen joints stand still at a dead centre and where joints move
no mass of their own; constraints that repeat others change nothing.

They are solved by the method of multipliers (proximal point): K = M + Jᵀ W J with large weights W is positive definite
and needs no pivots, and each iteration solves for what the last one left, by which rounding is refined away, too.

Source: Udwadia & Kalaba, Analytical Dynamics (1996), chapter 3; Bertsekas, Constrained Optimization and Lagrange
Multiplier Methods (1982), chapter 2; Carpentier, Budhiraja & Mansard, Proximal and Sparse Resolution of Constrained
Dynamic Equations (RSS 2021).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.algorithms import configuration
from chasles.algorithms.forward_dynamics import with_implicit_friction
from chasles.algorithms.inverse_dynamics import inverse_dynamics
from chasles.algorithms.loops import loop_constraints, loop_jacobian_derivative
from chasles.algorithms.mass_matrix import mass_matrix
from chasles.algorithms.newton_euler import NO_WRENCHES
from chasles.engine.linear.symmetric import Factor, factor, solve
from chasles.geometry.elementary import Array

if TYPE_CHECKING:
    from chasles.model.tree import Tree

WEIGHT = 1e8
"""Weight of a constraint beside the inertia that it moves: an iteration leaves its reciprocal of what was open."""
LEAST_SHARE = 0.01
"""Weight times the square of the loops' tolerance: constraints that repeat others but for rounding add so little."""
LIGHTEST = 1e-6
"""Share of the mean inertia of all joints that a constraint moves at least."""
VANISHING = 1e-16
"""Share of the squares of all constraints' Jacobians below which one that vanishes is not weighted more."""
ITERATIONS = 3
CLOSING_STEPS = 3
"""Steps by which a configuration returns to where the loops are closed, with one factor for all."""


class ClosedState(NamedTuple):
    """Configuration and velocities of all joints with closed loops."""

    q: Array
    """Shape (nq,), rad (m for prismatic joints)."""
    joint_velocities: Array
    """Shape (joint velocities,), rad/s (m/s)."""


def constrained_accelerations(
    tree: Tree,
    q: Array,
    joint_velocities: Array,
    joint_forces: Array,
    wrenches: Mapping[str, Array] = NO_WRENCHES,
    step: float = 0.0,
) -> Array:
    """Return the accelerations of all joints under forces in any of them, while the loops stay closed.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q
        Configuration, shape (nq,), with closed loops.
    joint_velocities, joint_forces
        Velocities of all joints, with which the loops stay closed, and forces in them, shape (joint velocities,), in
        the order of `Description.joint_velocity_names`, rad/s and N·m (m/s and N).
    wrenches
        See `inverse_dynamics`, also for the errors.
    step
        Time step, s, with the friction of all joints taken at its end; see `forward_dynamics`.

    Returns
    -------
    accelerations
        Shape (joint velocities,), rad/s² (m/s²). Unlike the result of `forward_dynamics`, they are also finite where
        the independent velocities do not determine the others.

    Examples
    --------
    A rod holds the tip of a stretched arm, which falls at the elbow; the tip, at 0.75 m and 0.25 m from the joints,
    stays where it is:

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = build_tree(assembled(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod)))
    >>> rest = np.zeros(2)
    >>> a = constrained_accelerations(tree, rest, rest, rest)
    >>> bool(a[0] < 0.0), float(round(0.75 * a[0] + 0.25 * a[1], 9)) + 0.0
    (True, 0.0)
    """
    heavier = with_implicit_friction(tree, joint_velocities, step) if step else tree
    load = joint_forces - inverse_dynamics(tree, q, joint_velocities, np.zeros(tree.n), wrenches)
    rows = list(tree.constraints)
    J = loop_constraints(tree, q).J[rows]
    centripetal = loop_jacobian_derivative(tree, q, joint_velocities)[rows] @ joint_velocities
    return _Constrained(mass_matrix(heavier, q), J, tree.tolerance).solved(load, -centripetal)


def closed_state(tree: Tree, q: Array, joint_velocities: Array) -> ClosedState:
    """Return the nearest configuration with closed loops to a nearly closed one, and the nearest velocities there.

    Parameters
    ----------
    tree
        Kinematic tree of the robot.
    q, joint_velocities
        Configuration with nearly closed loops, shape (nq,), and velocities of all joints, shape (joint velocities,), in
        the order of `Description.joint_velocity_names`, that nearly keep them closed.

    Returns
    -------
    q
        Shape (nq,): nearest in the metric of the mass matrix, with unit quaternions.
    joint_velocities
        Shape (joint velocities,): least change of the kinetic energy.

    Examples
    --------
    A rod of 0.3 m holds the tip of an arm, and the tip has sunk by 0.1 mm:

    >>> from chasles.algorithms import assembled
    >>> from chasles.model import build_tree, load, with_loop
    >>> rod = {"T_first_joint": [0.75, 0.3, 0.0], "length": 0.3}
    >>> tree = build_tree(assembled(with_loop(load("planar2r"), "rod", "rod", "link0", "tool", **rod)))
    >>> q, _ = closed_state(tree, np.array([0.0, -0.0004]), np.zeros(2))
    >>> float(round(abs(0.5 * np.exp(1j * q[0]) + 0.25 * np.exp(1j * (q[0] + q[1])) - 0.75 - 0.3j), 12))
    0.3
    """
    rows = list(tree.constraints)
    q = configuration.normalize(tree, q)
    still = np.zeros(tree.n)
    residual, J = loop_constraints(tree, q)
    nearest = _Constrained(mass_matrix(tree, q), J[rows], tree.tolerance)
    for _ in range(CLOSING_STEPS):
        q = configuration.integrate(tree, q, nearest.solved(still, -residual[rows]))
        residual, J = loop_constraints(tree, q)
    there = _Constrained(mass_matrix(tree, q), J[rows], tree.tolerance)
    return ClosedState(q, joint_velocities + there.solved(still, -(J[rows] @ joint_velocities)))


class _Constrained:
    """Equations M a + Jᵀ λ = f, J a = γ for one configuration."""

    def __init__(self, M: Array, J: Array, tolerance: float) -> None:
        self.M, self.J = M, J
        self.weights = (min(WEIGHT, LEAST_SHARE / tolerance**2) if tolerance else WEIGHT) * _inertias(M, J)
        self.factor: Factor = factor(M + J.T @ (self.weights[:, None] * J))

    def solved(self, f: Array, gamma: Array) -> Array:
        """Return a."""
        a: Array = np.zeros(len(f))
        multipliers: Array = np.zeros(len(gamma))
        unbalanced, gap = f, gamma
        for k in range(ITERATIONS):
            a = a + solve(self.factor, unbalanced + self.J.T @ (self.weights * gap))
            if k + 1 < ITERATIONS:
                gap = gamma - self.J @ a
                multipliers = multipliers - self.weights * gap
                unbalanced = f - self.M @ a - self.J.T @ multipliers
        return a


def _inertias(M: Array, J: Array) -> Array:
    """Inertia that each constraint moves, per square of its Jacobian."""
    inertias = np.diagonal(M)
    least = LIGHTEST / len(M) * inertias.sum()
    squares = J * J
    sizes = squares.sum(axis=1)
    sizes = sizes + VANISHING * sizes.sum()
    return np.asarray((squares @ inertias / sizes + least) / sizes)
