"""The backward pass: the regulator of the linear model along a motion that is not optimal yet.

Mazure's regulator minimises Σ ½ (δu, δx)ᵀ W (δu, δx) for δx⁺ = A δx + B δu, by the recursion of Riccati. Here the cost
has gradients g too, as the motion is not optimal yet, and each step misses the next state by a defect d:

    minimise  Σ ½ wᵀ H w + gᵀ w  for  x⁺ = A x + B u + d,   w = (u, x).

With one more state that is always 1 this is Mazure's problem again:

    [x⁺]   [A d] [x]   [B]          [H  g]
    [1 ] = [0 1] [1] + [0] u,   W = [gᵀ 0].

So the recursion is the same, and gives gains (K, k) of u = - K x - k, and the cost-to-go ½ xᵀ P x + pᵀ x of each node.
Then the regulator's motion from x = 0 and its costates P x + p follow forward.

Where positions follow from velocities by p⁺ = p + h₁ v + h₂ v⁺ + e, only the rows V of v⁺ = V (u, x, 1) are dense. The
products with P then are those with V, less than half of the work: with D = [0 I h₁ e],

    x⁺ = (D + h₂ V, V, 1) (u, x, 1),   G = W + Vᵀ Z + [0 I h₁ 0]ᵀ Y,
    Q = P_v + h₂ P_p,   Z = (Q_v + h₂ Q_p) V + Q_p D + Q_1,   Y = Q_pᵀ V + P_pp D + P_p1.

Sources: Mazure (1987), section 4; Rao, Wright and Rawlings, Application of interior-point methods to model predictive
control (1998); Mayne, A second-order gradient method (1966).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import M, above, beside, eliminate
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.schedule import Schedule

Floats = NDArray[np.float64]
#: Times h₁ and h₂ by which positions follow from velocities.
Drift = tuple[float, float]
#: Weight of changes of what is free of the first state, far below the curvature of costs of the order of 1: where a
#: start counts for nothing, as a position of a robot that is the same everywhere, it stays.
_STAYS = 1e-6


class Chain:
    """A linear-quadratic problem along the steps of a motion, and its solution, in arrays that stay where they are.

    The first state is 0, but for what is free of it: that are the inputs of steps before the first one.

    Parameters
    ----------
    steps, states, inputs
        N, s and m.
    drift
        Times (h₁, h₂), if the state is (p, v) with p⁺ = p + h₁ v + h₂ v⁺ + e.
    chosen
        Directions in which x at the first node is free, (s, number); default none.

    Attributes
    ----------
    model
        Model of each step: ``transition``, the rows [B A d], (N, s, m + s + 1), of all states or of v⁺ alone, and then
        ``gap``, e, (N, s / 2, 1). Zeros at first.
    weights, terminal
        Weights of (u, x, 1) at each node, (N, m + s + 1, m + s + 1), of which the upper triangle is read, and of (x, 1)
        at the last, (s + 1, s + 1).
    dW
        Changes of (u, x) at the nodes, (N + 1, m + s).
    costates
        Costates of the new motion, P x + p, (N + 1, s), 0 for a state that is given.
    K
        Gains (K, k) of u = - K x - k, (N, m, s + 1).
    first_gain
        A number, (), that is NaN where the problem has no minimum.
    """

    def __init__(
        self, steps: int, states: int, inputs: int, *, drift: Drift | None = None, chosen: Floats | None = None
    ) -> None:
        directions = np.zeros((0, states)) if chosen is None else chosen.T
        before, s_1, m = -(-len(directions) // inputs), states + 1, inputs
        N, rows = steps + before, s_1 if drift is None else states // 2
        transition, weights = np.zeros((N, rows, m + s_1)), np.zeros((N, m + s_1, m + s_1))
        dW, costates, K = np.zeros((N + 1, m + states)), np.zeros((N + 1, states)), np.zeros((N, m, s_1))
        self.terminal, gaps = np.zeros((s_1, s_1)), {} if drift is None else {"gap": np.zeros((N, rows, 1))}
        if drift is None:
            transition[:, -1, -1] = 1.0
        for k in range(before):
            some = directions[k * m : (k + 1) * m]
            transition[k, :, m:], transition[k, :-1, : len(some)] = np.eye(s_1), some.T
            weights[k, range(m), range(m)] = np.where(np.arange(m) < len(some), _STAYS, 1.0)
        self._drift, self._call = drift, _linear_quadratic(s_1, m, drift)
        first_x, memory = np.eye(s_1)[-1][:, None], np.zeros((N, s_1, s_1))
        self._inputs = [transition, *gaps.values(), weights, self.terminal, first_x, memory]
        self._outputs = [K, dW[:-1, :m, None], dW[1:, m:, None], costates[1:, :, None]]
        self.model = {"transition": transition[before:, :states], **gaps}
        self.weights, self.dW, self.costates, self.K = weights[before:], dW[before:], costates[before:], K[before:]
        self.first_gain = K[0, 0, -1:].reshape(())

    @property
    def has_minimum(self) -> bool:
        """Whether the solution is one: no negative curvature in a direction that the model allows."""
        return bool(np.isfinite(self.first_gain))

    def transitions(self) -> Floats:
        """Return the rows [B A d] of all states, (N, s, m + s + 1)."""
        V = self.model["transition"]
        if self._drift is None:
            return V
        (h1, h2), (_, n, size) = self._drift, V.shape
        D = np.eye(n, size, size - 1 - 2 * n) + h1 * np.eye(n, size, size - 1 - n)
        of_positions = D + h2 * V
        of_positions[..., -1:] += self.model["gap"]
        return np.concatenate([of_positions, V], axis=-2)

    def take(self, gradients: Floats, defects: Floats) -> None:
        """Take other gradients (N + 1, m + s) and defects (N, s) for the same second derivatives and transitions."""
        V, (last, m) = self.model["transition"], (gradients[-1], gradients.shape[1] - defects.shape[1])
        self.weights[:, :-1, -1] = gradients[:-1]
        self.terminal[:-1, -1] = self.terminal[-1, :-1] = last[m:]
        V[..., -1] = defects[:, -V.shape[1] :]
        if self._drift is not None:
            self.model["gap"][..., 0] = defects[:, : V.shape[1]] - self._drift[1] * V[..., -1]

    def solve(self) -> None:
        """Compute the solution."""
        self._call(*self._inputs, out=tuple(self._outputs))

    def add_to(self, schedule: Schedule) -> None:
        """Add computing the solution to a schedule."""
        schedule.call(self._call, self._inputs, self._outputs)


@cache
def _linear_quadratic(s_1: int, m: int, drift: Drift | None) -> MatrixCall:
    """Return the call (model, weights, terminal, first x, memory for P) -> (K, u, next x, its costate)."""
    size, n = m + s_1, (s_1 - 1) // 2
    model = {"transition": (s_1, size)} if drift is None else {"transition": (n, size), "gap": (n, 1)}

    def backward(P: M, weights: M, **model: M) -> tuple[M, dict[str, M]]:
        """One step of the recursion; costates need the cost-to-go after it."""
        G = _drifting(P, weights, m, drift, **model) if drift is not None else _joined(P, weights, **model)
        K, before = eliminate(G, m)
        return before, {"K": K, "P": P}

    def forward(x: M, K: M, P: M, **model: M) -> tuple[M, dict[str, M]]:
        """One step of the regulator's motion, and the costate of the next state."""
        u = -(K @ x)
        F = model["transition"]
        following = F[..., :, m:] @ x + F[..., :, :m] @ u
        if drift is not None:
            following = _drifted(x, following, drift, model["gap"])
        return following, {"u": u, "x": following[..., :-1, :], "costate": P[..., :-1, :] @ following}

    given = {**model, "weights": (size, size)}
    scans = [
        MatrixScan(backward, start="terminal", end="", state=(s_1, s_1), given=given, backward=True),
        MatrixScan(forward, start="start", end="", state=(s_1, 1), given={**model, "K": (m, s_1), "P": (s_1, s_1)}),
    ]
    inputs = [*model, "weights", "terminal", "start", "P"]
    return MatrixCall("linear_quadratic", scans, inputs, ["K", "u", "x", "costate"])


def _joined(P: M, weights: M, transition: M) -> M:
    """Weights of (u, x, 1) with the cost-to-go after the step."""
    return weights + transition.mT @ (P @ transition)


def _drifting(P: M, weights: M, m: int, drift: Drift, transition: M, gap: M) -> M:
    """The same where positions follow from velocities; the last row, whose diagonal nothing reads, has no cost."""
    (h1, h2), V, n = drift, transition, gap.shape[-2]
    p, v, one = slice(n), slice(n, 2 * n), slice(2 * n, None)
    Q, P_1 = P[..., v, :] + h2 * P[..., p, :], P[..., :, p] @ gap + P[..., :, one]
    Q_p, P_pp = Q[..., :, p], P[..., p, p]
    none = 0.0 * weights

    def spread(of_p: M, of_1: M) -> M:
        return beside(beside(beside(none[..., p, :m], of_p), h1 * of_p), of_1)

    Z = (Q[..., :, v] + h2 * Q_p) @ V + spread(Q_p, P_1[..., v, :] + h2 * P_1[..., p, :])
    Y = Q_p.mT @ V + spread(P_pp, P_1[..., p, :])
    return weights + V.mT @ Z + above(above(above(none[..., :m, :], Y), h1 * Y), none[..., :1, :])


def _drifted(x: M, following: M, drift: Drift, gap: M) -> M:
    """Return the next state (p, v, 1) from its velocities."""
    (h1, h2), n = drift, gap.shape[-2]
    p = x[..., :n, :] + h1 * x[..., n : 2 * n, :] + h2 * following + gap
    return above(above(p, following), x[..., 2 * n :, :])
