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

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.linear_quadratic.riccati import backward_scan, dense, riccati_step
from chasles.engine.cpython.memory import empty
from chasles.engine.matrices.scan import MatrixScan
from chasles.engine.matrices.steps import M
from chasles.engine.matrix_calls import matrix_call
from chasles.engine.running.compiling import native_available

Floats = NDArray[np.float64]


class Direction(NamedTuple):
    """Solutions of linear-quadratic problems; NaN where there is no minimum.

    Attributes
    ----------
    dW
        Changes of (u, x) at the nodes, (..., N + 1, m + s).
    costates
        Costates of the new motion, P x + p, (..., N + 1, s).
    K
        Gains (K, k) of u = - K x - k, (..., N, m, s + 1).
    """

    dW: Floats
    costates: Floats
    K: Floats

    @property
    def exists(self) -> NDArray[np.bool_]:
        """Whether there is a minimum: no negative curvature in a direction that the model allows, (...)."""
        return np.asarray(np.isfinite(self.K[..., 0, 0, -1]))


def solve_chain(
    A: Floats,
    B: Floats,
    weights: Floats,
    terminal: Floats,
    *,
    chooses_last: bool = False,
    out: Direction | None = None,
) -> Direction:
    """Solve the linear-quadratic problems of motions, x at the first node being 0.

    Where the last element of the first x is free, one more step before the first one has it as its input.

    Parameters
    ----------
    A, B
        Model of each step of (x, 1), (..., N, s + 1, s + 1), (..., N, s + 1, m).
    weights, terminal
        Weights of (u, x, 1) at each node, (..., N, m + s + 1, m + s + 1), and of (x, 1) at the last.
    chooses_last
        Whether the last element of x at the first node is free.
    out
        Arrays for the solution, those of changes with zeros as the torques of the last node; default new ones.
    """
    *batch, N, s_1, m = B.shape
    s = s_1 - 1
    if out is None:
        out = Direction(np.zeros((*batch, N + 1, m + s)), np.zeros((*batch, N + 1, s)), np.zeros((*batch, N, m, s_1)))
    if chooses_last:
        dW, costates, K = solve_chain(*_with_choice(A, B, weights), terminal)
        K[~np.isfinite(K[..., 0, 0, -1])] = np.nan
        for array, part in zip(out, (dW[..., 1:, :], costates[..., 1:, :], K[..., 1:, :, :]), strict=True):
            array[...] = part
        return out
    dW, costates, K = out
    first, kept = np.empty((*batch, s_1, s_1)), empty((N, s_1, s_1), "float64")
    columns = dW[..., :-1, :m, None], dW[..., 1:, m:, None], costates[..., 1:, :, None]
    given = map(dense, (A, B, weights, terminal))
    _solver(s_1, m, native_available())(*given, _start(s_1), kept, out=(K, first, *columns))
    costates[..., 0, :] = first[..., :-1, -1]
    return out


def _with_choice(A: Floats, B: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return models with a step before the first one, whose first input is added to the last element of x."""
    *batch, _, s_1, m = B.shape
    first_B = np.zeros((s_1, m))
    first_B[s_1 - 2, 0] = 1.0
    first_weights = np.diag(np.concatenate([np.zeros(1), np.ones(m - 1), np.zeros(s_1)]))

    def after(first: Floats, rest: Floats) -> Floats:
        return np.concatenate([np.broadcast_to(first, (*batch, 1, *first.shape)), rest], axis=-3)

    return after(np.eye(s_1), A), after(first_B, B), after(first_weights, weights)


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
def _start(s_1: int) -> Floats:
    """Return the first state (0, 1) as a column."""
    start: Floats = np.eye(s_1)[-1][:, None]
    return start


@cache
def _solver(s_1: int, m: int, is_native: bool) -> Callable[..., object]:
    """Return (A, B, weights, terminal, first x, memory for P) -> (K, first P, u, next x, its costate)."""
    given = {"A": (s_1, s_1), "B": (s_1, m), "K": (m, s_1), "P": (s_1, s_1)}
    scans = [
        backward_scan(_backward, s_1, m, end="first"),
        MatrixScan(_forward, start="start", end="", state=(s_1, 1), given=given),
    ]
    inputs = ["A", "B", "weights", "terminal", "start", "P"]
    return matrix_call("linear_quadratic", scans, inputs, ["K", "first", "u", "x", "costate"])
