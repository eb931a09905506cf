"""Problems with their numbers, on nodes: values of motions, and motions of torques.

A motion is W, (..., N + 1, m + 2n): torques and state w = (u, x) at each node; leading axes are a batch of problems.
Where the duration is free, the state ends with one more element, the stretch of time (see `duration`). By multiple
shooting a step may miss the next state by a defect. The Lagrangian is

    cost(W) + Σ λᵀ_{k+1} (f(x_k, u_k) - x_{k+1}) - zᵀ rows(W).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


@dataclass(frozen=True)
class Nodes:
    """Problems on their nodes.

    Attributes
    ----------
    rows
        Constraints, and the programs of the nodes.
    instants
        Data of each node, (..., N + 1, data): time, s, positions, velocities and torques of the reference, values of
        parameters, and the centres of the coordinates; see `first_motion.instants`.
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
    def data(self) -> tuple[Floats, Floats]:
        """Data of all nodes but the last, and of the last."""
        return self.instants[..., :-1, :], self.instants[..., -1, :]

    @property
    def start(self) -> Floats:
        """Configuration at the first node, (..., nq)."""
        return np.asarray(self.given[1])

    @property
    def parameters(self) -> Floats:
        """Values of the robot's parameters that vary, (..., count)."""
        return self.step.parameters.of_data(self.instants[..., 0, :], self.step.coordinates.count)

    @property
    def inputs(self) -> int:
        """Number of inputs m: torques and contact forces."""
        return self.rows.inputs

    def configurations(self, p: Floats) -> Floats:
        """Configurations (..., N + 1, nq) of coordinates at the nodes."""
        coordinates = self.step.coordinates
        return np.asarray(coordinates.configuration(p, *coordinates.centres(self.instants)[:1]))

    def by_displacements(self, p: Floats, K: Floats) -> Floats:
        """Gains (..., N, m, 2n) of displacements from those of coordinates, p (..., N + 1, n)."""
        coordinates = self.step.coordinates
        if coordinates.is_position.all():
            return K
        n = p.shape[-1]
        centres = coordinates.centres(self.instants[..., :-1, :])[:1]
        T = np.asarray(self.step.displacement_slopes(p[..., :-1, :], *centres))
        return np.concatenate([K[..., :n] @ np.linalg.inv(T), K[..., n:]], axis=-1)

    def of_steps(self, W: Floats) -> Floats:
        """Parameters and centres of each step of motions, (..., N, count)."""
        count = self.step.context_count
        context = self.instants[..., :-1, self.instants.shape[-1] - count :]
        return np.broadcast_to(context, (*W.shape[:-2], *context.shape[-2:]))

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
        instants = self.instants if self.instants.ndim == 2 else self.instants[which]
        return replace(self, instants=instants, x0=self.x0[which], given=tuple(part[which] for part in self.given))

    def values(self, W: Floats) -> Values:
        """Values of motions."""
        m, (t, _), x = self.inputs, self.data, W[..., self.inputs :]
        cost, kept, ends = self.cost(W)
        distances = np.zeros((*x.shape[:-1], 0))
        if self.distances.count:
            distances = self.distances.values(x, self.instants, *self.given_by_node)[1]
        defects = self.step(x[..., :-1, :], W[..., :-1, :m], *self.step.context(t)) - x[..., 1:, :]
        return Values(defects, cost, self.rows.values(W, distances, kept, ends))

    def cost(self, W: Floats) -> tuple[Floats, Floats, Floats]:
        """Cost of motions (...), and the rows of the nodes' own: what is kept (..., N, :), and ends (..., :)."""
        t, t_N = self.data
        costs, kept = self.running.values(W[..., :-1, :], t, *self.given_by_node)
        final, ends = self.final.values(W[..., -1, self.inputs :], t_N, *self.given)
        return np.sum(costs, axis=-1) + final, kept, ends

    def rolled_out(self, W: Floats, K: Floats | None = None) -> Floats:
        """The motions that the torques give, corrected by the gains K (..., N, m, 2n) where they leave the states."""
        m, N = self.inputs, self.rows.nodes
        s = W.shape[-1] - m
        gains = np.zeros((*W.shape[:-2], N, m, s)) if K is None else K
        given = np.concatenate([W[..., :-1, :], gains.reshape(*W.shape[:-2], N, m * s), self.of_steps(W)], axis=-1)
        last, stages = self.step.rollout(W[..., 0, m:], given[..., None, :])
        result = np.zeros(W.shape)
        result[..., :-1, :], result[..., -1, m:] = stages, last
        return result
