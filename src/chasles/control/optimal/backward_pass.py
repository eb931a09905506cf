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

from chasles.control.linear_quadratic.riccati import dense, plain_recursion
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
    results = K, dW[..., :-1, :], dW[..., -1, m:], costates[..., :-1, :], costates[..., -1, :]
    _solver(s_1, m)(A, B, weights, terminal, results)
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


@cache
def _solver(s_1: int, m: int) -> Callable[..., None]:
    """Return what solves a problem into given arrays: in machine code where there is a compiler."""
    if not native_available():
        return _solve_plainly
    from chasles.engine.riccati import compile_linear_quadratic
    from chasles.engine.targets.native.riccati import LARGEST_INPUTS, LARGEST_STATES

    if s_1 > LARGEST_STATES or m > LARGEST_INPUTS:
        return _solve_plainly
    compiled = compile_linear_quadratic(s_1, m)

    def solve(A: Floats, B: Floats, weights: Floats, terminal: Floats, results: tuple[Floats, ...]) -> None:
        K, *rest = results
        compiled(*map(dense, (A, B, weights, terminal)), out=(K, None, *rest))

    return solve


def _solve_plainly(A: Floats, B: Floats, weights: Floats, terminal: Floats, results: tuple[Floats, ...]) -> None:
    """Solve a problem in NumPy, step by step."""
    all_K, motion, last, costates, last_costate = results
    all_K[...], P = plain_recursion(A, B, _symmetric(weights), terminal, every_cost=True)
    x = np.zeros((*A.shape[:-3], A.shape[-1], 1))
    x[..., -1, 0] = 1.0
    m = B.shape[-1]
    for k in range(A.shape[-3]):
        u = -all_K[..., k, :, :] @ x
        motion[..., k, :m], motion[..., k, m:] = u[..., 0], x[..., :-1, 0]
        costates[..., k, :] = (P[..., k, :, :] @ x)[..., :-1, 0]
        x = A[..., k, :, :] @ x + B[..., k, :, :] @ u
    last[...], last_costate[...] = x[..., :-1, 0], (terminal @ x)[..., :-1, 0]


def _symmetric(weights: Floats) -> Floats:
    """Return matrices that mirror their upper triangles."""
    upper = np.triu(weights)
    return upper + np.swapaxes(np.triu(weights, 1), -1, -2)
