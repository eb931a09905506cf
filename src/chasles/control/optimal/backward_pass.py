"""The backward pass: the regulator of the linear model along a motion that is not optimal yet.

Mazure's regulator minimises Σ ½ (δu, δx)ᵀ W (δu, δx) for δx⁺ = A δx + B δu, by the recursion of Riccati. Here the cost
has gradients g too, as the motion is not optimal yet, and each step misses the next state by a defect d:

    minimise  Σ ½ wᵀ H w + gᵀ w  for  x⁺ = A x + B u + d,   w = (u, x).

With one more state that is always 1 this is Mazure's problem again:

    [x⁺]   [A d] [x]   [B]          [H  g]
    [1 ] = [0 1] [1] + [0] u,   W = [gᵀ 0].

So the recursion is the same, and gives gains (K, k) of u = - K x - k, and the cost-to-go ½ xᵀ P x + pᵀ x of each node.
Then the regulator's motion from x = 0 and its costates P x + p follow forward.

Sources: Mazure (1987), section 4; Rao, Wright and Rawlings, Application of interior-point methods to model predictive
control (1998); Mayne, A second-order gradient method (1966).
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from chasles.control.linear_quadratic.riccati import backward_scan, riccati_step
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import M
from chasles.engine.matrix_calls import MatrixCall
from chasles.engine.schedule import Schedule

Floats = NDArray[np.float64]
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
    chosen
        Directions in which x at the first node is free, (s, number); default none.

    Attributes
    ----------
    A, B
        Model of each step of (x, 1), (N, s + 1, s + 1), (N, s + 1, m); zeros at first.
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

    def __init__(self, steps: int, states: int, inputs: int, *, chosen: Floats | None = None) -> None:
        directions = np.zeros((0, states)) if chosen is None else chosen.T
        before, s_1, m = -(-len(directions) // inputs), states + 1, inputs
        N = steps + before
        A, B, weights = np.zeros((N, s_1, s_1)), np.zeros((N, s_1, m)), np.zeros((N, m + s_1, m + s_1))
        dW, costates, K = np.zeros((N + 1, m + states)), np.zeros((N + 1, states)), np.zeros((N, m, s_1))
        self.terminal = np.zeros((s_1, s_1))
        for k in range(before):
            some = directions[k * m : (k + 1) * m]
            A[k], B[k, :-1, : len(some)] = np.eye(s_1), some.T
            weights[k, range(m), range(m)] = np.where(np.arange(m) < len(some), _STAYS, 1.0)
        self._call = _linear_quadratic(s_1, m)
        self._inputs = [A, B, weights, self.terminal, np.eye(s_1)[-1][:, None], np.zeros((N, s_1, s_1))]
        self._outputs = [K, dW[:-1, :m, None], dW[1:, m:, None], costates[1:, :, None]]
        self.A, self.B, self.weights = A[before:], B[before:], weights[before:]
        self.dW, self.costates, self.K = dW[before:], costates[before:], K[before:]
        self.first_gain = K[0, 0, -1:].reshape(())

    @property
    def has_minimum(self) -> bool:
        """Whether the solution is one: no negative curvature in a direction that the model allows."""
        return bool(np.isfinite(self.first_gain))

    def solve(self) -> None:
        """Compute the solution."""
        self._call(*self._inputs, out=tuple(self._outputs))

    def add_to(self, schedule: Schedule) -> None:
        """Add computing the solution to a schedule."""
        schedule.call(self._call, self._inputs, self._outputs)


def _backward(P: M, A: M, B: M, weights: M) -> tuple[M, dict[str, M]]:
    """One step of the recursion; costates need the cost-to-go after it."""
    before, samples = riccati_step(P, A, B, weights)
    return before, {**samples, "P": P}


def _forward(x: M, A: M, B: M, K: M, P: M) -> tuple[M, dict[str, M]]:
    """One step of the regulator's motion, and the costate of the next state."""
    u = -(K @ x)
    x = A @ x + B @ u
    return x, {"u": u, "x": x[..., :-1, :], "costate": P[..., :-1, :] @ x}


@cache
def _linear_quadratic(s_1: int, m: int) -> MatrixCall:
    """Return the call (A, B, weights, terminal, first x, memory for P) -> (K, u, next x, its costate)."""
    given = {"A": (s_1, s_1), "B": (s_1, m), "K": (m, s_1), "P": (s_1, s_1)}
    scans = [
        backward_scan(_backward, s_1, m, end=""),
        MatrixScan(_forward, start="start", end="", state=(s_1, 1), given=given),
    ]
    inputs = ["A", "B", "weights", "terminal", "start", "P"]
    return MatrixCall("linear_quadratic", scans, inputs, ["K", "u", "x", "costate"])
