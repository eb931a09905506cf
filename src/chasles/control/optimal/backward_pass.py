"""The backward pass: the regulator of the linear model along a motion that is not optimal yet.

Mazure's regulator minimises Σ ½ (δu, δx)ᵀ W (δu, δx) for δx⁺ = A δx + B δu, by the recursion of Riccati. Here the cost
has gradients g too, as the motion is not optimal yet, and each step misses the next state by a defect d:

    minimise  Σ ½ wᵀ H w + gᵀ w  for  x⁺ = A x + B u + d,   w = (u, x).

With one more state that is always 1 this is Mazure's problem again:

    [x⁺]   [A d] [x]   [B]          [H  g]
    [1 ] = [0 1] [1] + [0] u,   W = [gᵀ 0].

So the recursion is the same, and gives gains (K, k) of u = - K x - k, and the cost-to-go ½ xᵀ P x + pᵀ x of each node.

Sources: Mazure (1987), section 4; Rao, Wright and Rawlings, Application of interior-point methods to model predictive
control (1998); Mayne, A second-order gradient method (1966).
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chasles.control.linear_quadratic.riccati import recursion
from chasles.engine import Function, trace
from chasles.engine.program.scalar import Array

Floats = NDArray[np.float64]


class Direction(NamedTuple):
    """Solution of a linear-quadratic problem.

    Attributes
    ----------
    dW
        Changes of (u, x) at the nodes, (N + 1, m + 2n).
    costates
        Costates of the new motion, P x + p, (N + 1, 2n).
    K
        Gains of u = - K x - k, (N, m, 2n).
    """

    dW: Floats
    costates: Floats
    K: Floats


def solve_chain(A: Floats, B: Floats, d: Floats, H: Floats, g: Floats) -> Direction | None:
    """Solve the linear-quadratic problem of a motion, x at the first node being 0.

    Parameters
    ----------
    A, B, d
        Model of each step, (N, s, s), (N, s, m), (N, s).
    H, g
        Cost of (u, x) at each node, (N + 1, m + s, m + s), (N + 1, m + s); at the last without torques.

    Returns
    -------
    Direction or None
        None if the problem has no minimum: H has negative curvature in a direction that the model allows.
    """
    N, s, m = B.shape
    A_1 = np.zeros((N, s + 1, s + 1))
    A_1[:, :s, :s], A_1[:, :s, s], A_1[:, s, s] = A, d, 1.0
    B_1 = np.concatenate([B, np.zeros((N, 1, m))], axis=1)
    W = np.zeros((N + 1, m + s + 1, m + s + 1))
    W[:, :-1, :-1], W[:, :-1, -1], W[:, -1, :-1] = H, g, g
    K, P = recursion(s + 1, m, True)(A_1, B_1, np.ascontiguousarray(W[:N]), np.ascontiguousarray(W[N, m:, m:]))
    if not np.isfinite(K[0]).all():
        return None
    P = np.concatenate([P, W[N:, m:, m:]])
    closed = np.concatenate([A - B @ K[..., :s], (d - (B @ K[..., s:])[..., 0])[..., None]], axis=-1)
    dx = np.concatenate([np.zeros((1, s)), _rollout(s)(np.zeros(s), closed[:, None])[1].reshape(N, s)])
    du = -(K[..., :s] @ dx[:N, :, None])[..., 0] - K[..., s]
    dW = np.concatenate([np.concatenate([du, np.zeros((1, m))]), dx], axis=1)
    return Direction(dW, (P[:, :s, :s] @ dx[..., None])[..., 0] + P[:, :s, s], K[..., :s])


@cache
def _rollout(s: int) -> Function:
    """Scan of x⁺ = A x + d, for rows [A d] of each step."""

    def step(x: Array, row: Array) -> tuple[Array, Array]:
        following = row[:, :s] @ x + row[:, s]
        return following, following

    return Function(trace(step, {"x": (s,), "row": (s, s + 1)}, name="rollout", outputs=["next", "x"]), shape="scan")
