"""A problem with its numbers, on nodes: values, and the linear-quadratic model around a motion.

A motion is W, (N + 1, m + 2n): torques and state w = (u, x) at each node. By multiple shooting a step may miss the next
state by a defect. The Lagrangian is

    cost(W) + Σ λᵀ_{k+1} (f(x_k, u_k) - x_{k+1}) - zᵀ rows(W).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.rows import ConstraintRows, Jacobians
from chasles.control.optimal.step import HeldStep, Slopes
from chasles.control.optimal.terms import Terms

Floats = NDArray[np.float64]


class Values(NamedTuple):
    """Values of a motion.

    Attributes
    ----------
    defects
        What each step misses the next state by, f(x_k, u_k) - x_{k+1}, (N, 2n).
    cost
        Cost, scaled.
    rows
        Constraints, scaled.
    """

    defects: Floats
    cost: float
    rows: Floats


class Model(NamedTuple):
    """First derivatives of a motion's values.

    Attributes
    ----------
    slopes
        Derivatives of the steps.
    gradient
        Gradient of the cost, (N + 1, m + 2n).
    jacobians
        Derivatives of the constraints.
    gauss_newton
        Second derivatives of the cost without the curvature of its residuals, (N + 1, m + 2n, m + 2n).
    """

    slopes: Slopes
    gradient: Floats
    jacobians: Jacobians
    gauss_newton: Floats


@dataclass(frozen=True)
class Nodes:
    """One problem on its nodes.

    Attributes
    ----------
    step
        The dynamics.
    running, distances, final
        Costs of the nodes but the last; distances to keep at all nodes but the first; costs and ends of the last.
    rows
        Constraints.
    instants
        What is given at each node, (N + 1, 1 + 3n): time, s, and positions, velocities and torques of the reference.
    x0
        Initial state, (2n,).
    given
        Scale of the cost, initial positions, and the further values of the problem: further arguments of all terms.
    """

    step: HeldStep
    running: Terms
    distances: Terms
    final: Terms
    rows: ConstraintRows
    instants: Floats
    x0: Floats
    given: tuple[Any, ...]

    @property
    def scale(self) -> float:
        """Scale of the cost."""
        return float(self.given[0])

    @property
    def inputs(self) -> int:
        """Number of torques m."""
        return self.rows.inputs

    def values(self, W: Floats) -> Values:
        """Values of a motion."""
        m, t = self.inputs, self.instants
        x = W[:, m:]
        costs = self.running.values(W[:-1], t[:-1], *self.given)[0]
        distances = self.distances.values(x[1:], t[1:], *self.given)[1]
        final, ends = self.final.values(x[-1], t[-1], *self.given)
        defects = self.step(x[:-1], W[:-1, :m]) - x[1:]
        return Values(defects, float(np.sum(costs) + final), self.rows.values(W, distances, ends))

    def model(self, W: Floats) -> Model:
        """First derivatives at a motion."""
        m, t = self.inputs, self.instants
        x = W[:, m:]
        running = self.running.slopes(W[:-1], t[:-1], *self.given)
        distances = self.distances.slopes(x[1:], t[1:], *self.given)
        final = self.final.slopes(x[-1], t[-1], *self.given)
        return Model(
            self.step.slopes(x[:-1], W[:-1, :m]),
            with_last(running.gradient, final.gradient),
            Jacobians(distances.jacobian, final.jacobian),
            with_last(running.gauss_newton, final.gauss_newton),
        )

    def curvature(self, W: Floats, costates: Floats, z: Floats, slopes: Slopes) -> Floats:
        """Exact second derivatives of the Lagrangian to w of each node, (N + 1, m + 2n, m + 2n)."""
        m, t = self.inputs, self.instants
        x, (_, _, of_distances, of_ends) = W[:, m:], self.rows.split(z)
        none = np.zeros((len(x) - 1, self.running.count))
        running = self.running.curvature(W[:-1], t[:-1], *self.given, none)
        running = running + self.step.curvature(x[:-1], W[:-1, :m], costates[1:], slopes)
        result = with_last(running, self.final.curvature(x[-1], t[-1], *self.given, of_ends))
        if self.rows.distances:
            result[1:, m:, m:] += self.distances.curvature(x[1:], t[1:], *self.given, of_distances)
        return result

    def rolled_out(self, W: Floats, K: Floats | None = None) -> Floats:
        """The motion that the torques give, corrected by the gains K (N, m, 2n) where it leaves the planned states."""
        m, result = self.inputs, W.copy()
        result[0, m:] = self.x0
        for k in range(len(W) - 1):
            if K is not None:
                result[k, :m] -= K[k] @ (result[k, m:] - W[k, m:])
            result[k + 1, m:] = self.step(result[k, m:], result[k, :m])
        return result


def with_last(stages: Floats, last: Floats) -> Floats:
    """Stack what N nodes have with what the last has, which knows no torques: their place is 0.

    >>> with_last(np.ones((2, 3)), np.ones(2))
    array([[1., 1., 1.],
           [1., 1., 1.],
           [0., 1., 1.]])
    """
    result = np.zeros((len(stages) + 1, *stages.shape[1:]))
    result[:-1] = stages
    m = stages.shape[-1] - last.shape[-1]
    result[-1][(slice(m, None),) * last.ndim] = last
    return result
