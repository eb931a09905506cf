"""An independent evaluation of a motion: whether it keeps the constraints, and whether its cost is stationary.

It shares no derivative with the solver. The torques are rolled out through the forward dynamics, so that the motion is
exact, and violations are measured on it. Optimality is that of the first order, by the reduced gradient: what the cost
less the multipliers' rows changes by with each torque, states following and a regulator holding them, from one adjoint
sweep by reverse accumulation. A maximum at which the search begins is stationary too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.errors import FEASIBLE
from chasles.control.optimal.nodes import Nodes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: Reduced gradient, as a share of the largest costate, below which a motion is optimal. What the cost exceeds the least
#: by goes with the square of the gradient: about ten digits of the cost are right.
OPTIMAL = 1e-5


@dataclass(frozen=True)
class Certificate:
    """Result of the independent evaluation of motions; arrays are (...).

    Attributes
    ----------
    cost
        Cost.
    rows
        Constraints, scaled.
    violation
        Largest violation of a constraint, scaled.
    reduced_gradient
        Largest change of the Lagrangian per unit of a torque, or of what is free of the first state.
    size
        Largest costate.
    slackness
        Largest product of a multiplier and the distance from its limit.
    """

    cost: Floats
    rows: Floats
    violation: Floats
    reduced_gradient: Floats
    size: Floats
    slackness: Floats

    @property
    def is_finite(self) -> Flags:
        """Whether all is finite."""
        return np.asarray(np.isfinite(self.cost + self.violation + self.reduced_gradient + self.size))

    @property
    def is_feasible(self) -> Flags:
        """Whether the motion keeps its constraints."""
        return np.asarray(self.violation <= FEASIBLE)

    @property
    def is_optimal(self) -> Flags:
        """Whether the motion keeps its constraints and, to first order, no small change of it is better."""
        small = OPTIMAL * np.maximum(1.0, self.size)
        return np.asarray(self.is_feasible & (self.reduced_gradient <= small) & (self.slackness <= small))


def certify(nodes: Nodes, W: Floats, z: Floats, K: Floats | None = None) -> Certificate:
    """Evaluate motions whose states are those that their torques give, with multipliers of their rows.

    Parameters
    ----------
    nodes
        The problems.
    W
        Torques and states, (..., N + 1, m + 2n), of `Nodes.rolled_out`.
    z
        Multipliers, (..., rows).
    K
        Gains of a regulator that holds the motion while a torque changes, (..., N, m, 2n); default none. The gradient
        vanishes with any regulator or with none; along unstable motions it can only be computed with one.
    """
    m, rows, given = nodes.inputs, nodes.rows, nodes.given_by_node
    t, t_N = nodes.data
    values = nodes.values(W)
    of_distances, of_kept, of_ends = rows.of_terms(z)
    x = W[..., m:]
    by_w = -rows.gradient(z)
    by_w[..., :-1, :] += nodes.running.lagrangian_gradient(W[..., :-1, :], t, *given, of_kept)
    by_w[..., -1, m:] += nodes.final.lagrangian_gradient(x[..., -1, :], t_N, *nodes.given, of_ends)
    if nodes.distances.count:
        by_w[..., m:] += nodes.distances.lagrangian_gradient(x, nodes.instants, *given, of_distances)
    shape = (*W.shape[:-2], rows.nodes, m * x.shape[-1])
    gains = np.zeros(shape) if K is None else K.reshape(shape)
    of_steps = np.concatenate([W[..., :-1, :], by_w[..., :-1, :], gains, nodes.of_steps(W)], axis=-1)
    backward = of_steps[..., ::-1, None, :]
    first, reduced, costates = nodes.step.adjoint_sweep(by_w[..., -1, m:], backward)
    size = np.maximum(np.abs(by_w[..., -1, m:]).max(axis=-1), np.abs(costates).max(axis=(-1, -2)))
    products = np.where(rows.kinds.ends, 0.0, rows.present * z * values.rows)
    violation = rows.violations(values.rows).max(axis=-1, initial=0.0)
    of_start = np.abs(first @ nodes.step.chosen).max(axis=-1, initial=0.0)
    gradient = np.maximum(np.abs(reduced).max(axis=(-1, -2)), of_start)
    slackness = np.abs(products).max(axis=-1, initial=0.0)
    return Certificate(values.cost, values.rows, violation, gradient, size, slackness)
