"""An independent evaluation of a motion: whether it keeps the constraints, and whether it is the best one nearby.

It shares no derivative with the solver. The torques are rolled out through the forward dynamics, so that the motion is
exact, and violations are measured on it. Optimality is the reduced gradient: what the cost less the multipliers' rows
changes by with each torque, states following, from one adjoint sweep by reverse accumulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.interior_point import FEASIBLE, violation_of
from chasles.control.optimal.nodes import Nodes
from chasles.control.optimal.rows import Jacobians

Floats = NDArray[np.float64]

#: Reduced gradient, as a share of the largest costate, below which a motion is optimal. What the cost exceeds the least
#: by goes with the square of the gradient: about ten digits of the cost are right.
OPTIMAL = 1e-5


@dataclass(frozen=True)
class Certificate:
    """What the independent evaluation of a motion says.

    Attributes
    ----------
    cost
        Cost.
    rows
        Constraints, scaled.
    violation
        Largest violation of a constraint, scaled.
    reduced_gradient
        Largest change of the Lagrangian per unit of a torque.
    size
        Largest costate.
    slackness
        Largest product of a multiplier and the distance from its limit.
    """

    cost: float
    rows: Floats
    violation: float
    reduced_gradient: float
    size: float
    slackness: float

    @property
    def is_finite(self) -> bool:
        """Whether all is finite."""
        return bool(np.isfinite([self.cost, self.violation, self.reduced_gradient, self.size]).all())

    @property
    def is_feasible(self) -> bool:
        """Whether the motion keeps its constraints."""
        return self.violation <= FEASIBLE

    @property
    def is_optimal(self) -> bool:
        """Whether the motion keeps its constraints and no small change of it is better."""
        small = OPTIMAL * max(1.0, self.size)
        return self.is_feasible and self.reduced_gradient <= small and self.slackness <= small


def certify(nodes: Nodes, W: Floats, z: Floats) -> Certificate:
    """Evaluate a motion whose states are those that its torques give, with multipliers of its rows.

    Parameters
    ----------
    nodes
        The problem.
    W
        Torques and states, (N + 1, m + 2n), of `Nodes.rolled_out`.
    z
        Multipliers, (rows,).
    """
    m, t, rows = nodes.inputs, nodes.instants, nodes.rows
    values = nodes.values(W)
    _, _, of_distances, of_ends = rows.split(z)
    x = W[:, m:]
    nothing = Jacobians(np.zeros((len(x) - 1, rows.distances, x.shape[1])), np.zeros((rows.ends, x.shape[1])))
    by_w = -rows.transposed(nothing, z)
    none = np.zeros((len(x) - 1, nodes.running.count))
    by_w[:-1] += nodes.running.lagrangian_gradient(W[:-1], t[:-1], *nodes.given, none)
    by_w[-1, m:] += nodes.final.lagrangian_gradient(x[-1], t[-1], *nodes.given, of_ends)
    if rows.distances:
        by_w[1:, m:] += nodes.distances.lagrangian_gradient(x[1:], t[1:], *nodes.given, of_distances)
    costate = by_w[-1, m:]
    largest, gradient = np.abs(costate).max(), 0.0
    for k in range(len(x) - 2, -1, -1):
        by_torque, by_state = nodes.step.adjoint(W[k, :m], x[k], costate)
        gradient = np.maximum(gradient, np.abs(by_w[k, :m] + by_torque).max())  # NaN stays
        costate = by_w[k, m:] + by_state
        largest = np.maximum(largest, np.abs(costate).max())
    slackness = np.abs(np.where(rows.are_ends, 0.0, z * values.rows)).max(initial=0.0)
    violation = violation_of(values.rows, rows.are_ends)
    return Certificate(values.cost, values.rows, violation, float(gradient), float(largest), float(slackness))
