"""Problems with their numbers, on nodes: values, linear-quadratic models, steps and trials.

A motion is W, (..., N + 1, m + 2n): torques and state w = (u, x) at each node; leading axes are a batch of problems.
Where the duration is free, the state ends with one more element, the stretch of time (see `duration`). By multiple
shooting a step may miss the next state by a defect. The Lagrangian is

    cost(W) + Σ λᵀ_{k+1} (f(x_k, u_k) - x_{k+1}) - zᵀ rows(W).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.optimal.elastic import Elastic
from chasles.control.optimal.node_programs import LastModel, Moved, NodeModel
from chasles.control.optimal.rows import ConstraintRows
from chasles.control.optimal.step import HeldStep
from chasles.control.optimal.terms import Terms

Floats = NDArray[np.float64]


class Values(NamedTuple):
    """Values of motions.

    Attributes
    ----------
    defects
        Gaps between each step's end and the next state, f(x_k, u_k) - x_{k+1}, (..., N, 2n).
    cost
        Cost, scaled, (...).
    rows
        Constraints, scaled, (..., rows).
    """

    defects: Floats
    cost: Floats
    rows: Floats


class Model(NamedTuple):
    """Linear-quadratic model of motions: those of the nodes but the last, and that of the last."""

    stages: NodeModel
    last: LastModel

    def cost_gradient(self) -> Floats:
        """Gradient of the cost, (..., N + 1, m + 2n)."""
        stages, last = self.stages.gradient, self.last.gradient
        no_torques = np.zeros((*last.shape[:-1], stages.shape[-1] - last.shape[-1]))
        return np.concatenate([stages, np.concatenate([no_torques, last], axis=-1)[..., None, :]], axis=-2)

    def map(self, function: Callable[[Floats], Floats]) -> Model:
        """Return the arrays that a function makes of these."""
        stages, last = self
        return Model(NodeModel(*map(function, stages)), LastModel(*map(function, last)))

    def select(self, which: Any) -> Model:
        """Return the models of some of a batch of problems."""
        return self.map(lambda array: array[which])

    def put(self, which: Any, other: Model) -> None:
        """Write the models of some of a batch of problems."""
        for mine, theirs in zip(self, other, strict=True):
            for array, part in zip(mine, theirs, strict=True):
                array[which] = part


@dataclass(frozen=True)
class Nodes:
    """Problems on their nodes.

    Attributes
    ----------
    rows
        Constraints, and the programs of the nodes.
    instants
        Data of each node, (N + 1, 1 + 3n): time, s, and positions, velocities and torques of the reference.
    x0
        Initial state, (..., 2n).
    given
        Scale of the cost, initial positions, and the further values of the problem: further arguments of all terms.
    """

    rows: ConstraintRows
    instants: Floats
    x0: Floats
    given: tuple[Any, ...]

    @property
    def step(self) -> HeldStep:
        """The dynamics."""
        return self.rows.stage.step

    @property
    def running(self) -> Terms:
        """Costs of the nodes but the last."""
        return self.rows.stage.costs

    @property
    def final(self) -> Terms:
        """Costs and ends of the last node."""
        return self.rows.last.costs

    @property
    def distances(self) -> Terms:
        """Distances to keep at all nodes but the first."""
        return self.rows.stage.distances

    @property
    def scale(self) -> Floats:
        """Scale of the cost, (...)."""
        return np.asarray(self.given[0])

    @property
    def inputs(self) -> int:
        """Number of torques m."""
        return self.rows.inputs

    @property
    def given_by_node(self) -> list[Floats]:
        """What is given, with an axis of nodes."""
        shapes = list(self.running.shapes.values())[2:]
        return [
            np.expand_dims(part, -1 - len(shape)) if np.ndim(part) > len(shape) else np.asarray(part)
            for part, shape in zip(self.given, shapes, strict=True)
        ]

    def select(self, which: Any) -> Nodes:
        """Return some of a batch of problems."""
        return replace(self, x0=self.x0[which], given=tuple(part[which] for part in self.given))

    def values(self, W: Floats) -> Values:
        """Values of motions."""
        m, t, given = self.inputs, self.instants, self.given_by_node
        x = W[..., m:]
        costs = self.running.values(W[..., :-1, :], t[:-1], *given)[0]
        distances = self.distances.values(x, t, *given)[1]
        final, ends = self.final.values(x[..., -1, :], t[-1], *self.given)
        defects = self.step(x[..., :-1, :], W[..., :-1, :m]) - x[..., 1:, :]
        return Values(defects, np.sum(costs, axis=-1) + final, self.rows.values(W, distances, ends))

    def model(self, W: Floats, costates: Floats, elastic: Elastic) -> Model:
        """Linear-quadratic model of motions (problems, N + 1, m + 2n), with the constraints eliminated."""
        m, rows, t = self.inputs, self.rows, self.instants
        free = np.ones(rows.nodes)
        free[0] = 0.0
        (a, b, z), (a_N, b_N, z_N) = _split(rows, elastic.a, elastic.b, elastic.z)
        price, (present, present_N) = elastic.price, rows.factors
        stages = rows.stage.model(
            W[:, :-1], costates[:, :-1], W[:, 1:, m:], costates[:, 1:], free, a, b, z, price, present, rows.bounds,
            t[:-1], *self.given_by_node,
        )  # fmt: skip
        last = rows.last.model(
            W[:, -1, m:], costates[:, -1], a_N, b_N, z_N, price[:, 0], present_N, rows.bounds[:, m:], t[-1], *self.given
        )
        return Model(stages, last)

    def pulled(self, model: Model, z: Floats) -> Floats:
        """Return Jᵀ z for rows (..., rows), (..., N + 1, m + 2n)."""
        m, result = self.inputs, self.rows.gradient(z)
        distances, ends = self.rows.of_terms(z)
        of_stages = model.stages.jacobian[..., : distances.shape[-1], :]
        result[..., :-1, m:] += (distances[..., :-1, None, :] @ of_stages)[..., 0, :]
        last = np.concatenate([distances[..., -1, :], ends], axis=-1)
        result[..., -1, m:] += (last[..., None, :] @ model.last.jacobian[..., : last.shape[-1], :])[..., 0, :]
        return result

    def gauss_newton(self, W: Floats, elastic: Elastic) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Second derivatives of costs without curvature of residuals and of constraints, of all nodes and the last."""
        m, rows, t = self.inputs, self.rows, self.instants
        (a, b, z), (a_N, b_N, z_N) = _split(rows, elastic.a, elastic.b, elastic.z)
        price, (present, present_N) = elastic.price, rows.factors
        stages = rows.stage.gauss_newton(W[:, :-1], a, b, z, price, present, rows.bounds, t[:-1], *self.given_by_node)
        last = rows.last.gauss_newton(
            W[:, -1, m:], a_N, b_N, z_N, price[:, 0], present_N, rows.bounds[:, m:], t[-1], *self.given
        )
        return stages, last

    def move(self, model: Model, dW: Floats, elastic: Elastic, mu: Floats) -> tuple[Moved, Moved]:
        """Changes of the rows that belong to a step, of all nodes and the last."""
        m, rows = self.inputs, self.rows
        (a, b, z), (a_N, b_N, z_N) = _split(rows, elastic.a, elastic.b, elastic.z)
        price, (present, present_N) = elastic.price, rows.factors
        stages, last = model
        return rows.stage.move(
            dW[:, :-1], stages.rows, stages.jacobian, stages.gradient, a, b, z, price, present, rows.bounds, mu[:, None]
        ), rows.last.move(
            dW[:, -1, m:], last.rows, last.jacobian, last.gradient, a_N, b_N, z_N, price[:, 0], present_N,
            rows.bounds[:, m:], mu,
        )  # fmt: skip

    def trial(
        self, W: Floats, dW: Floats, elastic: Elastic, da: Floats, db: Floats, share: Floats, mu: Floats
    ) -> Floats:
        """Violation and cost with barriers after shares of steps, (problems, 2)."""
        m, rows, t = self.inputs, self.rows, self.instants
        (a, b, da, db), (a_N, b_N, da_N, db_N) = _split(rows, elastic.a, elastic.b, da, db)
        price, (present, present_N) = elastic.price, rows.factors
        x, dx = W[..., m:], dW[..., m:]
        stages = rows.stage.trial(
            W[:, :-1], dW[:, :-1], a, b, da, db, price, present, x[:, 1:], dx[:, 1:], rows.bounds, share[:, None],
            mu[:, None], t[:-1], *self.given_by_node,
        )  # fmt: skip
        last = rows.last.trial(
            x[:, -1], dx[:, -1], a_N, b_N, da_N, db_N, price[:, 0], present_N, rows.bounds[:, m:], share, mu, t[-1],
            *self.given,
        )  # fmt: skip
        return np.asarray(stages.sum(axis=1) + last)

    def rolled_out(self, W: Floats, K: Floats | None = None) -> Floats:
        """The motions that the torques give, corrected by the gains K (..., N, m, 2n) where they leave the states."""
        m, N = self.inputs, self.rows.nodes
        s = W.shape[-1] - m
        gains = np.zeros((*W.shape[:-2], N, m, s)) if K is None else K
        given = np.concatenate([W[..., :-1, :], gains.reshape(*W.shape[:-2], N, m * s)], axis=-1)
        last, stages = self.step.rollout(W[..., 0, m:], given[..., None, :])
        result = np.zeros(W.shape)
        result[..., :-1, :], result[..., -1, m:] = stages, last
        return result


def _split(rows: ConstraintRows, *arrays: Floats) -> tuple[list[Floats], list[Floats]]:
    """Return the rows of all nodes but the last, and those of the last."""
    parts = [rows.by_node(array) for array in arrays]
    return [stages for stages, _ in parts], [last for _, last in parts]
